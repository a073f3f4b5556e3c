"""Language models behind one interface: exact toys, transformers models, text drafters, and where models are found."""
