"""Statements about algorithms, discharged by solvers and by Rocq.

They stand apart because they read the very decoders that are run, and must never be imported by them.
"""
