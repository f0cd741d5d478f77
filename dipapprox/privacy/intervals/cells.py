"""Cells of an interval of epsilons: points where probabilities are known, and proofs in between.

A point holds the output probabilities of all inputs at one eps and what they say about the
claim there. A cell lies between two points; `tube` proves the claim on all of it, or tells how
much is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.numerics import intervals
from dipapprox.numerics.bulk import Bounds
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.formula_values import Jet, Undefined
from dipapprox.pairs.growth import Factor, eps_prv_factor
from dipapprox.pairs.hockey_stick import bounds_in_doubles, rounding_factor
from dipapprox.pairs.pair_list import PairList
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds
from dipapprox.privacy.intervals.formula_claim import BITS, FormulaClaim
from dipapprox.privacy.intervals.tube import Minorant, ends, radii

_EIGHTH = Fraction(1, 8)

_RESOLVED = 2.0**-40

_LARGEST_FACTOR = Fraction(2**900)
"""Any minorant of e^eps_prv will do; this one scales everything and stays within doubles."""


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One eps.

    Attributes:
        table: Probabilities of all inputs of the pair list.
        factor: Bounds of e^eps_prv.
        delta: Encloses the claimed delta.
        largest: Encloses the largest delta_{u,u'}.
        worst: Index of the pair with the greatest certified delta_{u,u'}.
    """

    eps: Fraction
    table: Bounds
    factor: Factor
    delta: Enclosure
    largest: Enclosure
    worst: int

    @property
    def violated(self) -> bool:
        """Whether the claim is certainly wrong at this eps."""
        return self.largest.lower > self.delta.upper

    @property
    def holds(self) -> bool:
        """Whether the claim is certainly right at this eps."""
        return self.largest.upper <= self.delta.lower

    @property
    def resolved(self) -> bool:
        """Whether more bits would not help: doubles have no better bounds to offer."""
        lower, upper = self.table.lower, self.table.upper
        return bool(np.all(upper - lower <= upper * _RESOLVED))


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """All epsilons between two points.

    Attributes:
        excess: Upper bound of delta_{u,u'} less the claim, over all pairs and the cell; the claim
            holds on the cell if it is <= 0.
        largest: Upper bound of delta_{u,u'} at the claimed budgets, over all pairs and the cell.
    """

    lower: Point
    upper: Point
    excess: Fraction
    largest: Fraction

    @property
    def width(self) -> Fraction:
        """Length of the cell."""
        return self.upper.eps - self.lower.eps


def make_point(
    eps: Fraction, table: Bounds, claim: FormulaClaim, pairs: PairList, limits: Limits
) -> Point:
    """Compare a claim with the probabilities at one eps, over all pairs."""
    eps_prv, delta = claim.at(eps, BITS)
    factor = _factor(eps_prv)
    if not len(pairs):
        return Point(eps, table, factor, delta, Enclosure.exact(0), 0)
    formed = bounds_in_doubles(table.lower, table.upper, factor)
    lower = pairs.sums(table.lower, formed.high_scaled, limits)
    upper = pairs.sums(table.upper, formed.low_scaled, limits)
    worst = int(np.argmax(lower))
    error = rounding_factor(table.lower.shape[1])
    least = Fraction(float(lower[worst])) * (2 - error)
    most = Fraction(float(upper.max())) * error
    if least > min(most, Fraction(1)):
        raise BrokenInvariant("the largest delta has a lower bound above its upper bound")
    return Point(eps, table, factor, delta, Enclosure(least, min(most, Fraction(1))), worst)


def make_cell(
    lower: Point,
    upper: Point,
    claim: FormulaClaim,
    derivatives: DerivativeBounds,
    pairs: PairList,
    limits: Limits,
) -> Cell:
    """Bound how far the claim fails between two points."""
    width = upper.eps - lower.eps
    nothing = Cell(lower, upper, Fraction(2), Fraction(1))
    if not len(pairs):
        return Cell(lower, upper, Fraction(0), Fraction(0))
    try:
        eps_prv, delta = claim.over(lower.eps, upper.eps)
    except Undefined:
        return nothing
    radius = radii(lower.table, upper.table, width, derivatives.rates(lower.eps))
    error = rounding_factor(lower.table.lower.shape[1])
    claimed = _minorant(lower.delta, upper.delta, delta, width)
    allowed = claimed.at_lower, claimed.at_upper
    best = nothing
    for factor in _factors(lower, upper, eps_prv, width):
        tube = ends(lower.table, upper.table, radius, factor)
        most = [
            Fraction(float(pairs.sums(end.upper, end.scaled, limits).max())) * error for end in tube
        ]
        excess = max(found - limit for found, limit in zip(most, allowed, strict=True))
        if excess < best.excess:
            best = Cell(lower, upper, excess, min(max(most), Fraction(1)))
        if excess <= 0:
            break
    return best


def _factors(lower: Point, upper: Point, eps_prv: Jet, width: Fraction) -> Iterator[Minorant]:
    """Yield minorants of e^eps_prv: a constant, then the lowered chord."""
    whole = _factor(eps_prv.value)
    least = whole.lower
    if eps_prv.slopes is not None and (
        eps_prv.slopes[0].lower >= 0 or eps_prv.slopes[0].upper <= 0
    ):
        # A monotone eps_prv is least at an end; interval evaluation would lose some of it.
        least = max(least, min(lower.factor.lower, upper.factor.lower))
    least = min(least, _LARGEST_FACTOR)
    yield Minorant(least, least)
    if eps_prv.slopes is None or whole.upper is None:
        return
    # (e^b)'' = e^b (b'^2 + b'')
    bend = intervals.power(eps_prv.slopes[0], 2) + eps_prv.slopes[1]
    curvature = intervals.multiply(Enclosure(whole.lower, whole.upper), bend).upper
    chord = _lowered(lower.factor.lower, upper.factor.lower, curvature, width)
    if all(0 < end <= _LARGEST_FACTOR for end in (chord.at_lower, chord.at_upper)):
        yield chord


def _factor(eps_prv: Enclosure) -> Factor:
    return Factor(
        eps_prv_factor(eps_prv.lower, BITS).lower, eps_prv_factor(eps_prv.upper, BITS).upper
    )


def _minorant(lower: Enclosure, upper: Enclosure, over: Jet, width: Fraction) -> Minorant:
    """Return the lowered chord, or the least value where the function may not be smooth."""
    if over.slopes is None:
        return Minorant(over.value.lower, over.value.lower)
    return _lowered(lower.lower, upper.lower, over.slopes[1].upper, width)


def _lowered(lower: Fraction, upper: Fraction, curvature: Fraction, width: Fraction) -> Minorant:
    """A function with second derivative <= curvature is at most width²/8 of it below its chord."""
    drop = max(curvature, Fraction(0)) * width**2 * _EIGHTH
    return Minorant(lower - drop, upper - drop)
