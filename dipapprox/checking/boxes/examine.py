"""What a certificate states of all real inputs, compared with what the check finds.

All pairs are sets again (`sets`); of each the largest δ is bounded by the check's own models
(`models`, `bounds`), or it is cut, or reduced to edges and corners as the file says, after what it
says of slopes has been found as well. Where the file says nothing more, or what is not found, the
check goes on by itself: what is left out of a file costs time, not truth. Single pairs are enclosed
as those of finite inputs. That a certificate is true means that nothing is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import assert_never

from dipapprox.certificates.verdicts import CertificateOfDP, Cut, RecordedBoxes, Reduction
from dipapprox.checking import pairs
from dipapprox.checking.boxes.bounds import SetBounds
from dipapprox.checking.boxes.chords import ChordModels
from dipapprox.checking.boxes.infinity import moved
from dipapprox.checking.boxes.models import BoxModels, Row
from dipapprox.checking.boxes.sets import (
    Pairs,
    Range,
    all_pairs,
    extent,
    on_one_side,
    possible,
    real_ranges,
)
from dipapprox.checking.boxes.vertices import vertex_pairs
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.factor import Factor, factor_of
from dipapprox.checking.inputs import pair_text, values_of
from dipapprox.checking.partial_result import PartialResult, interval_text
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure

_BITS, _MOST_BITS = 60, 700
_LARGEST_FACTOR = 2.0**200

_MOST_SETS, _SETS_PER_STEP = 2_000, 40
"""Sets that are bounded in one check: so many, and so many more for each recorded step."""


def examine_boxes(
    record: CertificateOfDP,
    evidence: RecordedBoxes,
    derived: Distributions,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive again what the record states about all pairs of real inputs, and compare.

    Raises:
        UserError: If a recorded input is none.
        Stuck, NoBounds: If the check cannot follow or enclose something.
        LimitReached: If `limits` run out.
    """
    program, claim = derived.program, record.claim
    stated = record.delta_enclosure.enclosure
    if record.pairs.count is not None:
        partial.differ("pairs.count", "there are infinitely many")
    best = values_of(evidence.input, program.inputs), values_of(evidence.adjacent, program.inputs)
    if best[0] != best[1] and not pairs.are_adjacent(program, *best):
        partial.differ("evidence", f"{pair_text(best)} is no adjacent pair")
        return
    exact = _SinglePairs(derived, claim.eps_prv, record.computed.precision)
    own = exact.delta(best, claim.delta)
    partial.compare("evidence.delta_enclosure", evidence.delta_enclosure.enclosure, own)
    for where, number in (("verdict", claim.delta), ("delta_enclosure", stated.upper)):
        if own.lower > number:
            partial.differ(where, f"{pair_text(best)} has a larger delta")
    ranges = _ranges(program, evidence)
    if ranges is None:
        partial.differ("evidence.ends", "there is one for each real input without bounds")
        return
    roots = all_pairs(program, ranges)
    if len(roots) != len(evidence.roots):
        partial.differ("evidence.roots", f"there are {len(roots)}, not {len(evidence.roots)}")
    if partial.differences:
        return
    # Nothing below what is claimed needs to be shown, and nothing above what is stated holds.
    aim = min(claim.delta, stated.upper)
    rows = [row for root in roots for row in (root.first, root.second)]
    free = [place for place, own in enumerate(real_ranges(program)) if own is None]
    beyond = moved(derived, rows, ranges, free, limits) if free else Fraction(0)
    factor = factor_of(claim.eps_prv, _BITS)
    if beyond and factor.upper is None:
        raise Stuck("too large an eps_prv where inputs have no bounds")
    room = aim - beyond * (1 + (factor.upper or 0))
    if room < 0:
        partial.reason = "what is beyond the ends of inputs without bounds may be more than delta"
        return
    models = _models(derived, len(ranges), rows, limits)
    replay = _Replay(evidence, models, exact, claim.eps_prv, (room, aim), partial, limits)
    done = replay.run(roots)
    partial.sets = replay.sets
    if not done:
        return
    partial.inputs, partial.bits = exact.inputs, exact.bits
    partial.delta = Enclosure(min(own.lower, aim), aim)
    partial.compare("delta_enclosure", stated, partial.delta)
    if stated.lower > own.upper:
        partial.reason = partial.reason or f"no recorded pair has the delta {interval_text(stated)}"


def require_reach(program: Program, eps: Fraction, limits: Limits) -> None:
    """Make sure that the check can follow a program for all values of its real inputs.

    Raises:
        Stuck: If it cannot; no certificate of all pairs is confirmed then.
        LimitReached: If `limits` run out.
    """
    derived, known = Distributions(program, eps, limits), real_ranges(program)
    if program.real_outputs:
        vertex_pairs(derived, limits)
        return
    ranges = [(Fraction(0), Fraction(0)) if own is None else own for own in known]
    roots = all_pairs(program, ranges)
    rows = [row for root in roots for row in (root.first, root.second)]
    moved(derived, rows, ranges, [k for k, own in enumerate(known) if own is None], limits)
    _models(derived, len(ranges), rows, limits)


def _models(
    derived: Distributions, axes: int, rows: Sequence[Row], limits: Limits
) -> BoxModels | ChordModels:
    """Return models of all outputs: the sharper ones where noise and comparisons allow them."""
    sharp = BoxModels(derived, axes, _BITS, limits)
    try:
        sharp.require(rows)
    except Stuck:
        general = ChordModels(derived, axes, _BITS, limits)
        general.require(rows)
        return general
    return sharp


def _ranges(program: Program, evidence: RecordedBoxes) -> list[Range] | None:
    """Return the ranges of the real inputs, as far as they have none the recorded ones."""
    known = real_ranges(program)
    said = evidence.between(len(known))
    found = []
    if len(said) == len(known):
        for own, ends in zip(known, said, strict=True):
            if own is None and ends is not None:
                found.append((ends.low, ends.high))
            elif own is not None and ends is None:
                found.append(own)
    return found if len(found) == len(known) else None


class _SinglePairs:
    """Enclosures of δ for single pairs, narrow enough to be told from a number if that is possible.

    Attributes:
        inputs: How many inputs were followed.
        bits: The most that were needed.
    """

    def __init__(self, derived: Distributions, eps_prv: Fraction, asked: int) -> None:
        self._derived, self._eps_prv = derived, eps_prv
        self._first = max(_BITS, min(asked, _MOST_BITS))
        self._inputs: set[object] = set()
        self.bits = 0

    @property
    def inputs(self) -> int:
        """How many inputs were followed."""
        return len(self._inputs)

    def delta(self, pair: pairs.Pair, aim: Fraction, least: Factor | None = None) -> Enclosure:
        """Enclose δ of a pair; from above for a factor that is less than e^eps_prv, if it is given.

        Sets were reduced for that factor: it is its δ that must be small where they end.
        """
        if pair[0] == pair[1]:
            return Enclosure.exact(0)
        self._inputs |= set(pair)
        bits = self._first
        while True:
            self.bits = max(self.bits, bits)
            bounds = self._derived.at(bits)
            first, second = (bounds.for_input(input) for input in pair)
            factor = factor_of(self._eps_prv, bits)
            found = pairs.delta_of(first, second, bounds.unit, factor)
            if least is not None:
                most = pairs.delta_of(first, second, bounds.unit, least).upper
                found = Enclosure(found.lower, max(found.upper, most))
            if found.upper <= aim or found.lower > aim or bits >= _MOST_BITS:
                return found
            bits = min(2 * bits, _MOST_BITS)


class _Replay:
    """All sets are shown to have no larger δ than `aim[0]`; one above `aim[1]` is a difference.

    Attributes:
        sets: How many were bounded.
    """

    def __init__(
        self,
        evidence: RecordedBoxes,
        models: BoxModels | ChordModels,
        exact: _SinglePairs,
        eps_prv: Fraction,
        aim: tuple[Fraction, Fraction],
        partial: PartialResult,
        limits: Limits,
    ) -> None:
        self._evidence, self._models, self._exact = evidence, models, exact
        (self._aim, self._stated), self._partial, self._limits = aim, partial, limits
        factor = factor_of(eps_prv, _BITS)
        self._factor = _double_below(factor)
        self._excess = _excess(factor, self._factor)
        self.sets = 0

    def run(self, roots: list[Pairs]) -> bool:
        """Return whether nothing is left; otherwise say why."""
        waiting = list(zip(roots, self._evidence.roots, strict=True))
        while waiting:
            self._limits.check()
            own, number = waiting.pop()
            if own.is_empty:
                continue
            pair = own.pair
            if pair is not None:
                if not self._is_small(pair):
                    return False
                continue
            step = None if number is None else self._evidence.steps[number]
            match step:
                case None:
                    follow = self._alone(own)
                case Cut():
                    follow = self._cut(own, step)
                case Reduction():
                    follow = self._reduced(own, step)
                case _:
                    assert_never(step)
            if follow is None:
                return False
            waiting += follow
        return True

    def _is_small(self, pair: pairs.Pair) -> bool:
        factor = Fraction(self._factor)
        delta = self._exact.delta(pair, self._aim, Factor(factor, factor))
        if delta.upper <= self._aim:
            return True
        if delta.lower > self._stated:
            self._partial.differ(
                "verdict, delta_enclosure", f"{pair_text(pair)} has a larger delta"
            )
        else:
            found = f"delta of {pair_text(pair)} lies inside {interval_text(delta)}"
            self._partial.reason = f"{found} at {self._exact.bits} bits"
        return False

    def _bounds(self, own: Pairs) -> SetBounds | None:
        self.sets += 1
        most = _MOST_SETS + _SETS_PER_STEP * len(self._evidence.steps)
        if self.sets > most:
            self._partial.reason = f"more than {most} sets of pairs would be needed"
            return None
        first, second = (
            self._models.on(row, [extent(polygon, side) for polygon in own.polygons])
            for side, row in enumerate((own.first, own.second))
        )
        return SetBounds(own, first, second, self._factor)

    def _alone(self, own: Pairs) -> list[_Waiting] | None:
        """Bound a set; if that does not do, reduce or cut it. None: it cannot be."""
        bounds = self._bounds(own)
        if bounds is None:
            return None
        if Fraction(bounds.largest()) <= self._aim:
            return []
        reduced = own.reduced(bounds.directions())
        if reduced != [own]:
            return [(each, None) for each in reduced]
        widths = [
            (high - low, axis, side)
            for axis, polygon in enumerate(own.polygons)
            for side in (0, 1)
            for low, high in (extent(polygon, side),)
        ]
        _, axis, side = max(widths)
        low, high = extent(own.polygons[axis], side)
        return [(each, None) for each in own.cut(axis, side, (low + high) / 2)]

    def _cut(self, own: Pairs, step: Cut) -> list[_Waiting] | None:
        if step.input < len(own.polygons):
            low, high = extent(own.polygons[step.input], step.side)
            if low < step.place < high and len(step.parts) == 2:
                parts = own.cut(step.input, step.side, step.place)
                return list(zip(parts, step.parts, strict=True))
        self._partial.differ("evidence.steps", f"no set is cut at {brief_text(step.place)}")
        return None

    def _reduced(self, own: Pairs, step: Reduction) -> list[_Waiting] | None:
        bounds = self._bounds(own)
        if bounds is None:
            return None
        known = bounds.directions()
        if len(step.directions) != len(known) or not all(map(on_one_side, step.directions)):
            self._partial.differ("evidence.steps", "directions that are none")
            return None
        # Where no move along a direction is possible, nothing is said of it.
        said = list(map(possible, own.polygons, step.directions))
        if all(set(each) <= set(found) for each, found in zip(said, known, strict=True)):
            reduced = own.reduced(step.directions)
            if len(reduced) == len(step.parts):
                return list(zip(reduced, step.parts, strict=True))
            self._partial.differ("evidence.steps", f"there are {len(reduced)} edges and corners")
            return None
        for axis, each in enumerate(said):
            if any(bounds.falls(axis, direction, self._excess) for direction in each):
                self._partial.differ("evidence.steps", "delta falls along a direction")
                return None
        # The models do not tell as much on this set: they will on its parts.
        return self._alone(own)


_Waiting = tuple[Pairs, int | None]
"""A set, and the number of its recorded step."""


def _excess(factor: Factor, taken: float) -> float:
    """Bound how far e^eps_prv is above the factor taken; infinite where that is much."""
    more = None if factor.upper is None else factor.upper - Fraction(taken)
    return inf if more is None or more > 1 else nextafter(float(more), inf)


def _double_below(factor: Factor) -> float:
    found = min(float(min(factor.lower, Fraction(_LARGEST_FACTOR))), _LARGEST_FACTOR)
    return found if Fraction(found) <= factor.lower else nextafter(found, 0.0)
