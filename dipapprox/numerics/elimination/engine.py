"""The method `elimination`: events in, enclosures out, by elimination over a function algebra.

    event -> order event -> elimination plan -> float64 on a grid -> narrow enough?  yes -> done
                                                  ^                     | no
                                                  +-- finer; balls, more bits and degrees --+

In: events, many at once. Out: an `Enclosure` of each probability, or why the guards have no such
plan.

Bounds x_i <= x_j + w that hold but for negligible tails are dropped: then what is left is often a
plain order. Let every x_i lie in an interval I_i but for a mass of at most m. If the bound holds
for all x_i in I_i and x_j in I_j, the event A without it satisfies

    Pr[A without it] - 2 m  <=  Pr[A]  <=  Pr[A without it].

So v[a] <- v[a] - 1000, which takes a value out of the race, costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dipapprox import graphs
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, better
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected, Event
from dipapprox.laws.distribution import Distribution, cutoff_interval
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.grid import MAX_PANELS
from dipapprox.numerics.elimination import sum_event as sums
from dipapprox.numerics.elimination.grid_evaluator import (
    GridEvaluator,
    new_evaluator,
    read_star,
    share_grids,
)
from dipapprox.numerics.elimination.plan import FunctionTable
from dipapprox.numerics.elimination.planning import (
    BoundedElement,
    OrderEvent,
    eliminate,
    order_event,
)
from dipapprox.numerics.elimination.refinement import (
    GridEvent,
    GridRequirements,
    RefinementLevel,
    ball_levels,
    double_levels,
    doubles_may_do,
    grouped,
    is_small,
    leading_zeros,
    requirements,
)
from dipapprox.numerics.methods import Answers, Tier, as_continuous

_SHARED_PANELS = 256
"""Most panels of a grid that two events share which could have smaller ones; where only doubles are
kept, for every event: building grids then takes longer than using them."""

_TABLE = 200_000  # most functions in the table, computed or not, when a batch begins
_TOGETHER = 128  # most events in a batch
_MANY = 16  # stars that are worth a way of their own


class Eliminated:
    """The method `elimination`. It remembers grids and functions: similar events share them."""

    def __init__(self, tier: Tier = Tier.AUTO) -> None:
        self._tier = tier
        self._table = FunctionTable()
        self._evaluators: dict[RefinementLevel, GridEvaluator] = {}
        self._furthest: RefinementLevel | None = None

    @property
    def name(self) -> str:
        """The word in reports, with the furthest algebra that was needed so far."""
        if self._furthest is None:
            return "elimination"
        bits = self._furthest.bits
        return f"elimination (balls, {bits} bits)" if bits else "elimination (float64)"

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        found = Answers(len(events))
        grid_events: list[GridEvent] = []
        self._enclose_stars(events, bits, found)
        for place in range(len(events)):
            if found.encloses(place):
                continue
            plain = as_continuous(events[place])
            order = order_event(plain) if isinstance(plain, Event) else plain
            if isinstance(order, NotEnclosed) and isinstance(plain, Event):
                order = sums.sums_compared(plain, bits)
            dropped = Fraction(0)
            if isinstance(order, OrderEvent) and order.has_offsets:
                order, dropped = without_certain(order, bits + 1)
            if isinstance(order, NotEnclosed):
                found[place] = order
            else:
                grid_events.append(GridEvent(place, order, requirements(order), dropped))
        for required, group in grouped(grid_events):
            for start in range(0, len(group), _TOGETHER):
                batch = group[start : start + _TOGETHER]
                # Bounds that were dropped take half of the wanted width.
                wanted = bits + any(event.dropped for event in batch)
                try:
                    self._enclose_batch(batch, required, wanted)
                except LimitReached as reached:
                    widest = max((events[event.place] for event in batch), key=_cycles)
                    if not isinstance(widest, Event) or _cycles(widest) < 2:
                        raise
                    raise LimitReached(reached.reason, widest) from reached
                for event in batch:
                    answer = event.found or NotEnclosed("not tried")
                    if isinstance(answer, Enclosure) and event.dropped:
                        least = max(answer.lower - event.dropped, Fraction(0))
                        answer = Enclosure(least, answer.upper)
                    found[event.place] = answer
        return found

    def _enclose_stars(self, events: Sequence[Connected], bits: int, found: Answers) -> None:
        """Enclose the stars for which doubles on the coarsest grid suffice, if there are many."""
        read = ((place, read_star(event)) for place, event in enumerate(events))
        stars = [(place, star) for place, star in read if star is not None]
        level = RefinementLevel(1)
        if level not in double_levels(self._tier) or len(stars) < _MANY:
            return
        for together in share_grids(stars):
            evaluator = self._evaluator(together.required, level, bits, events=len(stars))
            if not isinstance(evaluator, GridEvaluator):
                continue
            for places, lower, upper in evaluator.enclose_stars(together):
                narrow = upper - lower <= 2.0**-bits
                found.bound(np.array(places)[narrow], lower[narrow], upper[narrow])
            self._furthest = self._furthest or level

    def _enclose_batch(
        self, batch: Sequence[GridEvent], required: GridRequirements, bits: int
    ) -> None:
        """Enclose events for one grid, to one width, as far as that is possible."""
        if len(self._table) > _TABLE:
            self._table = FunctionTable()
            self._evaluators = {}
        pending: list[GridEvent] = []
        for event in batch:
            check_limits()
            terms = eliminate(event.order, self._table)
            if isinstance(terms, NotEnclosed):
                event.found = terms
            else:
                event.terms = terms
                pending.append(event)

        def climb(level: RefinementLevel, events: list[GridEvent]) -> None:
            """Try once more; what is narrow enough then is pending no more."""
            if not events:
                return
            answers = self._answers(events, required, level, bits)
            wanted = Fraction(1, 2**bits)
            for event, answer in zip(events, answers, strict=True):
                best = event.found = better(event.found, answer, "elimination")
                if isinstance(best, Enclosure) and best.width <= wanted:
                    pending.remove(event)
            # The finest are forgotten first, until they share the memory of one.
            others = sorted(
                self._evaluators.keys() - {level}, key=lambda each: (each.bits, each.fineness)
            )
            while sum(self._evaluators[each].fullness for each in others) > 1:
                del self._evaluators[others.pop()]
            if any(isinstance(answer, Enclosure) for answer in answers):
                self._furthest = max(self._furthest or level, level, key=lambda each: each.bits)

        tier = Tier.BALLS if required.shifts else self._tier
        hopeful = list(pending)
        for level in double_levels(tier):
            before = [event.found for event in hopeful]
            climb(level, hopeful)
            hopeful = [
                event
                for event, known in zip(hopeful, before, strict=True)
                if event in pending and doubles_may_do(known, event.found, bits)
            ]
        # The balls' errors are relative: what is known to be tiny needs fewer bits.
        spared = leading_zeros([event.found for event in pending], bits)
        for level in ball_levels(bits - spared, tier):
            climb(level, list(pending))

    def _answers(
        self,
        events: Sequence[GridEvent],
        required: GridRequirements,
        level: RefinementLevel,
        bits: int,
    ) -> list[Enclosure | NotEnclosed]:
        evaluator = self._evaluator(required, level, bits, events=len(events))
        if isinstance(evaluator, GridEvaluator):
            return evaluator.enclose(events)
        answers: list[Enclosure | NotEnclosed] = []
        for event in events:
            alone = self._evaluator(event.required, level, bits, events=1)
            answers += (alone,) if isinstance(alone, NotEnclosed) else alone.enclose((event,))
        return answers

    def _evaluator(
        self, required: GridRequirements, level: RefinementLevel, bits: int, *, events: int
    ) -> GridEvaluator | NotEnclosed:
        """Find or make an evaluator for so many events; it serves what the last one did as well, if
        that costs little."""
        # In steps of 16, so that events of different sizes find the same grid good enough.
        kept = -(-(max(bits, 48) + required.samples.bit_length() + 4) // 16) * 16
        last = self._evaluators.get(level)
        made: GridEvaluator | NotEnclosed | None = None
        if last is not None:
            both = last.required | required
            if kept <= last.kept and both.scope() == last.required.scope():
                return last
            if is_small(both):
                made = new_evaluator(both, max(kept, last.kept), level, self._table, _SHARED_PANELS)
        if not isinstance(made, GridEvaluator):
            most = MAX_PANELS if events == 1 else _SHARED_PANELS * (1 if level.bits else events)
            made = new_evaluator(required, kept, level, self._table, min(most, MAX_PANELS))
        if isinstance(made, GridEvaluator):
            self._evaluators[level] = made
        return made


def _cycles(event: Connected) -> int:
    """How far the comparisons of an event are from a tree."""
    return len(event.guards) - len(event.samples) + 1 if isinstance(event, Event) else 0


_GUARD_BITS = 4
_ONE = Fraction(1)


def without_certain(event: OrderEvent, bits: int) -> tuple[OrderEvent, Fraction]:
    """Drop bounds, as long as the samples stay connected.

    Returns:
        What is left, and by how much, at most 2**-bits, its probability may exceed the event's.
    """
    kept = bits + _GUARD_BITS + len(event.bounds).bit_length()
    laws = [each.source for each in event.elements if isinstance(each.source, Distribution)]
    ranges = [_range(law, each, kept) for law, each in zip(laws, event.elements, strict=True)]
    left = set(event.bounds)
    for bound in sorted(event.bounds, key=lambda each: -each[2]):
        i, j, w = bound
        if ranges[i][1] <= ranges[j][0] + w:
            others = [each[:2] for each in left - {bound}]
            if len(graphs.components(len(ranges), others)) == 1:
                left.remove(bound)
    if len(left) == len(event.bounds):
        return event, Fraction(0)
    # Shift samples again: fewer bounds may make an order.
    guards = [LinearForm.of({i: _ONE, j: -_ONE}, -w) for i, j, w in sorted(left)]
    for k, sample in enumerate(event.elements):
        if sample.lower is not None:
            guards.append(LinearForm.of({k: -_ONE}, sample.lower))
        if sample.upper is not None:
            guards.append(LinearForm.of({k: _ONE}, -sample.upper))
    order = order_event(Event(tuple(laws), tuple(guards)))
    if isinstance(order, NotEnclosed):
        raise BrokenInvariant("differences are no differences any more")
    return order, (len(event.bounds) - len(left)) * Fraction(4, 2**kept)


def _range(law: Distribution, sample: BoundedElement, kept: int) -> tuple[Fraction, Fraction]:
    low, high = cutoff_interval(law, kept)
    return (
        low if sample.lower is None else max(low, sample.lower),
        high if sample.upper is None else min(high, sample.upper),
    )
