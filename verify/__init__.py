"""Turns evidence about a decoder into a verdict and a report, and holds the command line.

It stands above everything else: nothing in algorithms, proofs or corpora may import it.
"""
