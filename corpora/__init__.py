"""Data and its loaders: tiny models, prompts, adversarial strings, toy vocabularies. Imports nothing else of ours."""
