"""Affine functions below what a claim says over an interval of epsilons.

A function with second derivative <= c is at most width² c⁺ / 8 below its chord; so the chord,
lowered by that, is a minorant.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.numerics import intervals
from dipapprox.numerics.formula_values import Jet
from dipapprox.pairs.growth import Factor, eps_prv_factor
from dipapprox.privacy.intervals.formula_claim import BITS

_EIGHTH = Fraction(1, 8)

_LARGEST_FACTOR = Fraction(2**900)
"""Any minorant of e^eps_prv will do; this one scales everything and stays within doubles."""


@dataclass(frozen=True, slots=True)
class Minorant:
    """An affine function below another one over an interval, by its values at the ends."""

    at_lower: Fraction
    at_upper: Fraction


def growth_at(eps_prv: Enclosure) -> Factor:
    """Enclose e^eps_prv, for all of an interval."""
    return Factor(
        eps_prv_factor(eps_prv.lower, BITS).lower, eps_prv_factor(eps_prv.upper, BITS).upper
    )


def below(lower: Enclosure, upper: Enclosure, over: Jet, width: Fraction) -> Minorant:
    """Return the lowered chord, or the least value where the function may not be smooth.

    Args:
        lower: The value at the lower end.
        upper: The value at the upper end.
        over: Between them.
        width: Of the interval.
    """
    if over.slopes is None:
        return Minorant(over.value.lower, over.value.lower)
    return _lowered(lower.lower, upper.lower, over.slopes[1].upper, width)


def growths_below(
    lower: Factor, upper: Factor, eps_prv: Jet, width: Fraction
) -> Iterator[Minorant]:
    """Yield minorants of e^eps_prv, > 0: a constant, then the lowered chord.

    Args:
        lower: Bounds of e^eps_prv at the lower end.
        upper: At the upper end.
        eps_prv: Between them.
        width: Of the interval.
    """
    whole = growth_at(eps_prv.value)
    least = whole.lower
    if eps_prv.slopes is not None and (
        eps_prv.slopes[0].lower >= 0 or eps_prv.slopes[0].upper <= 0
    ):
        # A monotone eps_prv is least at an end; interval evaluation would lose some of it.
        least = max(least, min(lower.lower, upper.lower))
    least = min(least, _LARGEST_FACTOR)
    yield Minorant(least, least)
    if eps_prv.slopes is None or whole.upper is None:
        return
    # (e^b)'' = e^b (b'^2 + b'')
    bend = intervals.power(eps_prv.slopes[0], 2) + eps_prv.slopes[1]
    curvature = intervals.multiply(Enclosure(whole.lower, whole.upper), bend).upper
    chord = _lowered(lower.lower, upper.lower, curvature, width)
    if all(0 < end <= _LARGEST_FACTOR for end in (chord.at_lower, chord.at_upper)):
        yield chord


def _lowered(lower: Fraction, upper: Fraction, curvature: Fraction, width: Fraction) -> Minorant:
    drop = max(curvature, Fraction(0)) * width**2 * _EIGHTH
    return Minorant(lower - drop, upper - drop)
