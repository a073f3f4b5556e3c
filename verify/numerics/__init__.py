"""Floats: what hardware numerics do to a law that is exact in real arithmetic.

The papers prove their claims for real numbers and add "within hardware numerics". Here that remainder is computed, as
exact rationals of the floats at hand, and not estimated. Modules: rationals (exact vectors), arithmetic (which floats),
one_step (the law of one emitted token), bounds (what it may differ by), mismatch (drafts from another law than the
declared one), near_equal (laws an ulp apart), precision (models in another dtype), replay (the same uniforms again),
rows, measure and mixed (real laws), worked (examples in fractions), driver_step (the sample driver's own draws),
verdicts and controls (what it amounts to).

Claims: SS-4, SS-5, SS-8, SS-9.
"""
