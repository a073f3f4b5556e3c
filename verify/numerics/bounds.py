"""How far one step in floats can be from the declared law: a bound that needs no law at all.

Let stored laws be P' = P(1 + d) + e with |d| <= u, |e| <= v, and likewise Q': u is the unit roundoff, v half the
smallest subnormal. With s = u + V v, V the number of ids, |P' - P| and |Q' - Q| are at most s in the 1-norm. To first
order:

1. the draft's law is within 2 s of Q: storing it, and its total not being 1;
2. each acceptance probability is within 3 u of min(1, P / Q), relatively: so the kept masses are within 5 s + V v of
   min(P, Q), and so is their total;
3. the residual's masses are within 2 s + 2 u of max(0, P - Q), and dividing them rounds by u: so what is emitted after
   a rejection is within 2 (2 s + 2 u) + 2 u of it;
4. half of twice (2.) plus (3.) is 10 u + 9 V v;
5. where running sums are not rescaled the rounding of the residual's total counts, (1 + log2 V) u for sums in pairs;
6. each of V thresholds of a draw is off by the roundoff of the running sums and by the grid of the coins, which adds
   4 V times their sum.

One third is added for the higher orders. Once V times the roundoff of the running sums reaches 1/4 nothing is left of
the bound, and this is no pessimism: see one_step.py on a large vocabulary.

An epsilon e in the denominator takes from each kept mass at most Q e / (Q + e): P e / (Q + e) where P <= Q, and
Q (Q + e - P) / (Q + e) where Q < P < Q + e. What is taken is drawn from the residual instead, so its total bounds the
total variation, and it is largest where Q is uniform (the summand is concave in Q): V e / (1 + V e).

Claims: SS-5, SS-9.
"""

import math

import torch

from draftproof.verify.numerics.arithmetic import PRECISIONS, Arithmetic


def bound(arithmetic: Arithmetic, size: int) -> float:
    """A total variation that no step in these floats exceeds, on laws over `size` >= 1 ids; 1 says that there is none.

    The stored laws are the floats nearest to the declared ones. Sums are assumed to be added in order or in pairs.
    """
    unit = arithmetic.roundoff
    half_subnormal = torch.finfo(arithmetic.dtype).smallest_normal * unit
    rounding = 10 * unit + 9 * size * half_subnormal
    if not arithmetic.rescaled:
        rounding += (1 + math.log2(size)) * unit
    draws = 4 * size * (2.0 ** -PRECISIONS[arithmetic.sums] + 2.0**-arithmetic.coin_bits)
    return min(1.0, 4 / 3 * (rounding + draws))


def epsilon_bound(epsilon: float, size: int) -> float:
    """A total variation that `epsilon` >= 0 in the denominator never exceeds, on laws over `size` ids."""
    return size * epsilon / (1 + size * epsilon)
