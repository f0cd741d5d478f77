"""The least eps_prv where all pairs differ by shifted noise: the largest that one of them needs.

In: what pairs differ by, in closed form. Out: bounds, as of `least_eps_prv`, whatever their size.

Of shifts of one family the largest needs most: the divergence at a budget L grows with the shift,
for Gaussian noise with the derivative φ(m/2 - L/m) in m, for Laplace noise as 1 - e^((L - t) / 2)
does in t (see `shifted_noise`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.precision import exponential
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.laws.family import Family
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.profiles.extended import INFINITE, Extended
from dipapprox.privacy.profiles.least_eps_prv import EpsPrvBounds

_LARGEST_SHOWN = 10_000
"""Of sets that demand more, probabilities are too small to be shown."""

_FACTOR_BITS = 80


def least_of_shifts(
    shifts: Sequence[tuple[ShiftedNoise, Pair]], delta: Fraction, width: Fraction
) -> EpsPrvBounds:
    """Bound the least eps_prv >= 0 at which the largest delta is at most `delta`.

    Args:
        shifts: Of the pairs that differ.
        delta: In [0, 1].
        width: Wanted of the bounds, > 0.
    """
    bits = (width.denominator // width.numerator).bit_length() + 1
    lower = upper = Fraction(0)
    attaining: Pair | None = None
    largest: dict[Family, tuple[ShiftedNoise, Pair]] = {}
    for shift, pair in shifts:
        known = largest.get(shift.family)
        if known is None or shift.square > known[0].square:
            largest[shift.family] = shift, pair
    for shift, pair in largest.values():
        found = shift.least_budget(delta, bits)
        if found is None:
            return EpsPrvBounds(INFINITE, pair, (), None, bits)
        if found.lower > lower:
            lower, attaining = found.lower, pair
        upper = max(upper, found.upper)
    factor = None
    if lower <= _LARGEST_SHOWN:
        # From below: the set of what is likelier is not empty then.
        factor = exponential(lower, _FACTOR_BITS).lower
    outputs = () if attaining is None or factor is None else None
    return EpsPrvBounds(Extended(lower, upper), attaining, outputs, factor, bits)
