"""The sub-commands of the command line, one module each, so that the root stays a list of what can be asked."""
