"""Data and its loaders: the tiny model zoo, prompts and toy vocabularies. Imports nothing else of draftproof."""
