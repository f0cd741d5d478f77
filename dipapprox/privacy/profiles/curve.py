"""The privacy profile: the largest delta as a function of the eps_prv, certified everywhere.

With x = e^eps_prv, the largest delta D(x) of all pairs is non-increasing and convex: it is the
maximum over pairs and sets S of the lines p(S) - x q(S). So between certified points

    D lies below the chord of two neighbouring points, and
    D lies above the lines of every pair and set, such as those that attain D at the points,
    and above its value at the next point.

Both envelopes are exact rational arithmetic; what is rounded is rounded outward.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended, GivenBy
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.language.domains import exact_rational
from dipapprox.pairs.divergence import Factor, eps_prv_factor
from dipapprox.pairs.maxima import Maxima
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.details import PairDetails
from dipapprox.privacy.notation import Published

MOST_POINTS = 100_000
LARGEST_EPS_PRV = Fraction(1_000)  # points lie at budgets up to this
_DELTA = "δ at one ε_prv"
_BITS = 44  # of the attaining lines: what the tables have been computed with serves again
FACTOR_BITS = 96
_DIGITS = 20


class Line(Record):
    """A certified lower bound of the profile at every x >= 1: intercept - slope * x."""

    intercept: Fraction
    slope: Fraction

    def at(self, x: Fraction) -> Fraction:
        return self.intercept - self.slope * x

    def ends(self) -> tuple[str, str]:
        """Return intercept and slope as decimals that still give a lower bound."""
        intercept, _ = short(Enclosure.exact(self.intercept), _DIGITS)
        _, slope = short(Enclosure.exact(self.slope), _DIGITS)
        return intercept, slope


_NOTHING = Line(Fraction(0), Fraction(0))


class CurvePoint(Record):
    """The profile at one eps_prv."""

    eps_prv: Fraction
    factor: Factor
    delta: Enclosure
    # From the attaining pair; touches the profile at this point, up to `delta.width`. It is 0 if
    # none is known.
    line: Line = _NOTHING
    pair: Pair | None = None  # the attaining pair; None if there are no pairs, or none is known
    # The outputs that tell it apart at this eps_prv, or examples of them.
    outputs: tuple[tuple[Published, ...], ...] = ()
    at_least: int | None = None  # none if these are all; else how many there are, at least
    by: GivenBy = BY_ENCLOSURES


class Envelope(Record):
    """Points of a profile in order of their budgets, two or more, and what they prove between."""

    points: tuple[CurvePoint, ...]

    def at(self, eps_prv: Fraction | int | str) -> Enclosure:
        """Enclose the profile at any eps_prv between the first and the last point.

        Raises:
            UserError: If the eps_prv lies outside.
        """
        eps_prv = exact_rational(eps_prv, "eps_prv")
        first, last = self.points[0].eps_prv, self.points[-1].eps_prv
        if not first <= eps_prv <= last:
            raise UserError(f"the curve covers eps_prv in [{first}, {last}], got {eps_prv}")
        left = bisect_right(self.points, eps_prv, key=lambda point: point.eps_prv) - 1
        if self.points[left].eps_prv == eps_prv:
            return self.points[left].delta
        return self._between(left, eps_prv_factor(eps_prv, FACTOR_BITS))

    def gap(self, left: int) -> Fraction:
        """Bound the distance between the envelopes from point `left` to the next one.

        Both are piecewise linear: it is largest where one of the two bends, or at an end.
        """
        a, b = self.points[left], self.points[left + 1]
        low, high = a.factor.lower, _upper(b.factor)
        places = [low, high, _upper(a.factor)]
        for one, other in combinations((a.line, b.line, Line(b.delta.lower, Fraction(0))), 2):
            if one.slope != other.slope:
                places.append((one.intercept - other.intercept) / (one.slope - other.slope))
        return max(self._above(left, x) - self._below(left, x) for x in places if low <= x <= high)

    def _between(self, left: int, x: Factor) -> Enclosure:
        # The profile is non-increasing: its value at x lies between those at the ends of x.
        upper = self._above(left, x.lower)
        lower = self._below(left, _upper(x))
        if lower > upper:
            raise BrokenInvariant("the envelopes of the privacy profile cross")
        return Enclosure(lower, upper)

    def _above(self, left: int, x: Fraction) -> Fraction:
        # D(upper end of x_i) <= D(x_i) <= delta_i.upper: the chord's ends are exact points.
        a, b = self.points[left], self.points[left + 1]
        start, end = _upper(a.factor), _upper(b.factor)
        if x <= start:
            return a.delta.upper
        if x >= end:
            return b.delta.upper
        share = (x - start) / (end - start)
        chord = a.delta.upper + share * (b.delta.upper - a.delta.upper)
        return min(chord, a.delta.upper)

    def _below(self, left: int, x: Fraction) -> Fraction:
        # Before point b, D is at least D(x_b); an upper bound x of such a place may exceed x_b.
        a, b = self.points[left], self.points[left + 1]
        return max(a.line.at(x), b.line.at(x), b.delta.lower)


def trace(maxima: Maxima, details: PairDetails, budgets: Sequence[Fraction]) -> Envelope:
    """Certify the profile at budgets (ascending, at least two) and between them."""
    factors = [eps_prv_factor(eps_prv, FACTOR_BITS) for eps_prv in budgets]
    found = maxima.largest(factors)
    points = []
    for eps_prv, factor, each in zip(budgets, factors, found, strict=True):
        excess = None if each.pair is None else details.excess(each.pair, factor, _BITS)
        line = _NOTHING
        outputs: tuple[tuple[Published, ...], ...] = ()
        at_least = None
        if excess is not None:
            outputs, at_least = excess.outputs, excess.at_least
            # What is surely no more than 0 is no better than the line 0.
            if excess.possible:
                line = Line(excess.first, excess.second)
        shown = Extended(line.at(_upper(factor)), None, BY_ENCLOSURES[0])
        told = each.told.meet(shown, _DELTA)
        delta = told.enclosure()
        points.append(
            CurvePoint(eps_prv, factor, delta, line, each.pair, outputs, at_least, told.by)
        )
    return Envelope(monotone(points))


def evenly(low: Fraction, high: Fraction, count: int) -> tuple[Fraction, ...]:
    """Return `count` budgets from `low` to `high` at equal distances; a `UserError` if the range is
    empty or reversed, or the count is out of range."""
    if low < 0:
        raise UserError(f"the curve's eps_prv must be >= 0, got {low}")
    if high <= low:
        raise UserError(f"the curve's range must be LO < HI, got {low}:{high}")
    if high > LARGEST_EPS_PRV:
        raise UserError(f"the curve's eps_prv must be at most {LARGEST_EPS_PRV}, got {high}")
    if not isinstance(count, int) or not 2 <= count <= MOST_POINTS:
        raise UserError(f"a curve has 2 to {MOST_POINTS} points, got {count}")
    return tuple(low + (high - low) * k / (count - 1) for k in range(count))


def monotone(points: Sequence[CurvePoint]) -> tuple[CurvePoint, ...]:
    """Use that the profile is non-increasing: what bounds it at one point does at others."""
    told = [Extended(each.delta.lower, each.delta.upper, *each.by) for each in points]
    for k in range(len(points) - 2, -1, -1):
        after = told[k + 1]
        told[k] = told[k].meet(Extended(after.lower, None, after.least_by), _DELTA)
    for k in range(1, len(points)):
        before = told[k - 1]
        told[k] = told[k].meet(Extended.at_most(before.upper, before.most_by), _DELTA)
    return tuple(
        replace(each, delta=own.enclosure(), by=own.by)
        for each, own in zip(points, told, strict=True)
    )


def _upper(factor: Factor) -> Fraction:
    if factor.upper is None:
        raise BrokenInvariant("an eps_prv of a curve is not bounded")
    return factor.upper
