"""Reports as a pure function of verdicts.

No clock, no machine path and no randomness goes into them, so that two reports can be compared line by line.
"""
