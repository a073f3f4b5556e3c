"""What is computed: decoders as programs, laws, drivers, and the interfaces of models and tokenizers.

Nothing here imports a solver, a statistics library or anything from `verify`: what is audited stands on its own.
"""
