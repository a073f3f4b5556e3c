"""Sequential and classical tests of a law.

Their calibration and power are held here too, so that NOT REFUTED can say what it excludes.
"""
