"""The privacy profile: the largest delta as a function of the eps_prv, certified everywhere.

With x = e^eps_prv, the largest delta D(x) of all pairs is non-increasing and convex: it is the
maximum over pairs and sets S of the lines p(S) - x q(S). So between certified points

    D lies below the chord of two neighbouring points, and
    D lies above the lines of every pair and set, such as those that attain D at the points,
    and above its value at the next point.

Both envelopes are exact rational arithmetic; what is rounded is rounded outward.

**The least eps_prv** at which all pairs stay within delta: Newton's method from below.

    x := 1
    D(x) certainly <= delta ------------------> the answer is at most ln x
    a pair is certainly above delta at x?  ---> solve this pair exactly (`least_factor`):
        ^                                       the answer is at least ln x*; x := a bit above x*
        +-----------------------------------------------+

Every round finds another pair, with a larger solution; in practice two or three rounds do. Where
little is known of what is enough for a pair, others that need more than it is known to need come
first. It is no search over parts of an interval: convexity leads to the answer from one side, and
`refined` climbs the precisions of each round.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, short
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended, GivenBy
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, LimitReached, UserError
from dipapprox.language.domains import exact_rational
from dipapprox.numerics.powers import logarithm
from dipapprox.pairs.divergence import Factor, eps_prv_factor, refined
from dipapprox.pairs.maximum import FactorAt, Maximum, Together
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.details import LARGEST_FACTOR, LeastFactor, PairDetails, PairsBounds
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


def trace(maxima: Together, details: PairDetails, budgets: Sequence[Fraction]) -> Envelope:
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


_GENEROUS = Fraction(1, 16)
_LARGEST_SLACK = Fraction(2**64)
_NEAR = 2  # what is tried beyond a factor that was not told to be enough is so much farther
LEAST = "the least ε_prv"
BUDGET = "least budget"
"""What is bounded, and the word for what linear programmes over final states prove."""


ANYTHING = Extended(Fraction(0), None)  # what is known of a number >= 0


def least_eps_prv(
    maxima: Together,
    details: PairDetails,
    delta: Fraction,
    width: Fraction,
    known: Extended = ANYTHING,
    claimed: Fraction | None = None,
) -> PairsBounds:
    """Bound the least eps_prv >= 0 at which the largest delta is at most `delta`.

    Args:
        width: Wanted of the bounds, > 0; what comes back is proved even if wider.
        known: What else bounds it: a budget, from above.
        claimed: All that matters is whether this is enough; of sets of pairs no more is asked then.

    Returns:
        The bounds; with a far upper one, or none, where a limit ends the search after a lower one
        is known: `Together.ended` says which.

    Raises:
        LimitReached: If finite inputs have too many pairs to say anything.
        Contradiction: If a pair demands more than the budget.
    """

    def decided(found: Enclosure) -> bool:
        return found.upper <= delta or found.lower > delta

    bits = (width.denominator // width.numerator).bit_length() + 48
    # Polynomials for sets of pairs are known less well than single pairs.
    slack = min(width, Fraction(1)) / (256 if maxima.pairs is not None else 16)
    trial, first_slack = Fraction(1), slack
    place = None if claimed is None or maxima.pairs is not None else _just_below(claimed, bits)
    least, demand = Fraction(1), LeastFactor(Fraction(1), None, ())
    attaining: Pair | None = None
    used, enough_by = 0, ""
    climbing = maxima.pairs is None and not place  # an upper end is looked for, of sets of pairs
    vain: Fraction | None = None  # the slack with which sets of pairs were not told to be enough
    roof = None if known.upper is None else eps_prv_factor(known.upper, bits).upper
    told: _Told = [(Fraction(1), Fraction(1))]
    while True:
        found, easy = None, Fraction(0)
        try:
            if climbing and demand.upper and not (vain or _enough(told, delta)):
                # Sets of pairs are hard to bound near what is demanded, and easy well above.
                easy = _rounded_up(demand.upper * (1 + _GENEROUS), _GENEROUS)
                if roof is None or easy < roof:
                    found = maxima.sharpened(_exactly(easy), decided)
                    told.append((easy, found.delta.upper))
                    if found.delta.upper <= delta:
                        enough_by = found.by[1]
                    elif found.delta.lower > delta:
                        trial = easy
                    else:
                        vain = _GENEROUS
            if found is None or trial != easy:
                found = maxima.sharpened(_exactly(trial), decided)
                told.append((trial, found.delta.upper))
            used = max(used, found.bits)
            enough = found.delta.upper <= delta
            if enough:
                enough_by = found.by[1]
            if enough and (attaining is None or found.pair is None or trial != place):
                break
            solved = None
            if enough or found.delta.lower > delta or attaining is None:
                solved = _most_demanding(maxima, details, found, delta, slack)
        except LimitReached as reached:
            if attaining is None and maxima.pairs is not None and not maxima.out_of_time:
                raise
            maxima.ended = reached.reason  # what is demanded stays demanded
            break
        if solved is not None:
            own, own_bits, pair = solved
            used = max(used, own_bits)
            if own.lower is None:
                infinite = Extended(None, None, own.by).meet(known, LEAST)
                return PairsBounds(infinite, pair, used, own.outputs)
            if own.upper is None and own.lower >= LARGEST_FACTOR:
                maxima.ended = "eps_prv above 10000 is not searched for"
            if attaining is None or own.lower > least:
                least, demand = own.lower, own
                attaining, vain, slack = pair, None, first_slack
            if known.upper is not None and logarithm(least, bits).lower >= known.upper - width:
                break  # the budget is the upper end
        elif climbing and demand.upper:
            vain, top = max(slack, vain or slack), _enough(told, delta) or roof
            slack = 64 * vain if top is None else _between(vain, top / demand.upper - 1)
            if not vain * _NEAR < slack < _LARGEST_SLACK:
                break
            trial = _rounded_up(demand.upper * (1 + slack), slack)
            continue
        else:
            slack *= 64
        if claimed is not None and place is not None:
            settled = known.upper is not None and known.upper <= claimed
            if settled or trial == place or least > place:
                break
            trial = place
            continue
        if demand.upper is None or slack > _LARGEST_SLACK:
            break
        trial = _rounded_up(max(demand.upper, trial) * (1 + slack), slack)
    enough_at = _enough(told, delta, chords=vain is not None or maxima.ended is not None)
    lower = max(logarithm(least, bits).lower, Fraction(0))
    upper = None if enough_at is None else logarithm(enough_at, bits).upper
    ends = Extended(lower, upper, demand.by, enough_by).meet(known, LEAST)
    return PairsBounds(ends, attaining, used, demand.outputs, least)


def _enough(told: _Told, delta: Fraction, *, chords: bool = False) -> Fraction | None:
    """Return the least factor that is enough: where the largest delta, at most something at some
    factors, is at most `delta`; or where chords between them are, as it is convex."""
    found = [x for x, most in told if most <= delta]
    for (x, more), (y, less) in permutations(told if chords else (), 2):
        if less <= delta < more and x < y:
            place = x + (more - delta) / (more - less) * (y - x)
            found.append(_rounded_up(place, Fraction(1, 2**_BITS)))
    return min(found, default=None)


def _most_demanding(
    maxima: Together, details: PairDetails, found: Maximum, delta: Fraction, slack: Fraction
) -> tuple[LeastFactor, int, Pair]:
    """Solve a pair, and others that need more as long as what is enough is known badly."""
    assert found.pair is not None, "without pairs every delta is 0"
    most, used = _solved(maxima.ladder, details, found.pair, delta, slack)
    pair, seen = found.pair, {found.pair}
    while maxima.pairs is not None and most.lower is not None and most.lower < LARGEST_FACTOR:
        trial = _rounded_up(most.lower * (1 + slack), slack)
        if most.upper is not None and most.upper <= trial:
            break
        try:
            other = maxima.sharpened(_exactly(trial), lambda _: True)
            if other.pair is None or other.pair in seen or other.delta.lower <= delta:
                break
            own, bits = _solved(maxima.ladder, details, other.pair, delta, slack)
        except LimitReached as reached:
            maxima.ended = reached.reason
            break
        seen.add(other.pair)
        used = max(used, bits)
        if own.lower is None or own.lower > most.lower:
            most, pair = own, other.pair
    return most, used, pair


_Told = list[tuple[Fraction, Fraction]]  # at a factor the largest delta is at most that
_Rungs = tuple[tuple[LeastFactor, int], ...]
"""What a pair needs, as known at the precisions asked for."""


def _solved(
    ladder: tuple[int, ...], details: PairDetails, pair: Pair, delta: Fraction, slack: Fraction
) -> tuple[LeastFactor, int]:
    """Solve one pair for its least factor, to half of `slack`, relatively, if bits allow."""

    def again(bits: int, known: _Rungs) -> _Rungs | None:
        try:
            solved = details.least_factor(pair, delta, bits)
        except LimitReached:
            if not known:
                raise
            return None
        return None if isinstance(solved, NotEnclosed) else (*known, (solved, bits))

    def narrow(known: _Rungs) -> bool:
        own, _ = known[-1]
        if own.lower is None:
            return True
        if own.upper is not None:
            return own.upper - own.lower <= slack * own.lower / 2
        if delta or len(known) < 3:
            return False
        # Of delta 0 all that counts is one ratio: more bits say more of what is less likely only.
        before = known[-3][0]
        if before.upper is not None or before.lower is None:
            return False
        return own.lower - before.lower <= slack * own.lower / 16

    nothing: _Rungs = ()
    found = refined(ladder, again, narrow, nothing)
    return found[-1] if found else (LeastFactor(Fraction(1), None, ()), 0)


def _between(less: Fraction, more: Fraction) -> Fraction:
    """Return about the square root of the product of two numbers; the first one if it is more."""
    quotient = (more / less).__floor__()
    return less * 2 ** (quotient.bit_length() // 2) if quotient > 1 else less


def _rounded_up(value: Fraction, slack: Fraction) -> Fraction:
    """Round up to a short fraction, by a small part of the slack."""
    unit = 2 ** ((slack.denominator // slack.numerator).bit_length() + 8)
    return Fraction(-(-value.numerator * unit // value.denominator), unit)


def _just_below(eps_prv: Fraction, bits: int) -> Fraction:
    """Return a short factor >= 1 whose logarithm is known to be at most an eps_prv >= 0."""
    factor = eps_prv_factor(eps_prv, bits).lower * (1 - Fraction(1, 2**40))
    unit = 2**48
    return max(Fraction(factor.numerator * unit // factor.denominator, unit), Fraction(1))


def _exactly(factor: Fraction) -> FactorAt:
    """A factor that is known exactly, whatever the bits."""
    return lambda _bits: Factor(factor, factor)
