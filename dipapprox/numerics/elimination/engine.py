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

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from dipapprox import graphs
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, better
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected, Event
from dipapprox.laws.tails import cutoff_interval
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.grid import MAX_PANELS
from dipapprox.numerics.elimination.elements import SumEvent
from dipapprox.numerics.elimination.grid_evaluator import (
    GridEvaluator,
    Planned,
    new_evaluator,
    read_star,
    share_grids,
)
from dipapprox.numerics.elimination.order_event import Bound, BoundedSample, OrderEvent, order_event
from dipapprox.numerics.elimination.plan import FunctionTable
from dipapprox.numerics.elimination.planning import Order, plan_of
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
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.kinds import Tier, as_continuous
from dipapprox.numerics.methods import Answers

_SHARED_PANELS = 256
"""Most panels of a grid that two events share which could have smaller ones; where only doubles are
kept, for every event: building grids then takes longer than using them."""

_TABLE = 200_000  # most functions in the table, computed or not, when a batch begins
_TOGETHER = 128  # most events in a batch
_MANY = 16  # stars that are worth a way of their own


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Events for one grid, by position, to one width."""

    grid_events: Mapping[int, GridEvent]
    required: GridRequirements
    bits: int
    limits: Limits


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

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose`."""
        found = Answers(len(events))
        grid_events: dict[int, GridEvent] = {}
        excess: dict[int, Fraction] = {}
        self._enclose_stars(events, bits, limits, found)
        for place in found.unanswered():
            plain = as_continuous(events[place])
            order = _order(plain, bits) if isinstance(plain, Event) else plain
            if isinstance(order, OrderEvent) and order.has_offsets:
                order, excess[place] = without_certain(order, bits + 1)
            if isinstance(order, NotEnclosed):
                found[place] = order
            else:
                grid_events[place] = GridEvent(order, requirements(order, limits))
        for group in grouped(grid_events):
            for start in range(0, len(group.places), _TOGETHER):
                places = group.places[start : start + _TOGETHER]
                # Bounds that were dropped take half of the wanted width.
                wanted = bits + any(place in excess for place in places)
                try:
                    batch = _Batch(
                        {k: grid_events[k] for k in places}, group.required, wanted, limits
                    )
                    for place, answer in self._enclose_batch(batch).items():
                        if isinstance(answer, Enclosure) and place in excess:
                            least = max(answer.lower - excess[place], Fraction(0))
                            answer = Enclosure(least, answer.upper)
                        found[place] = answer
                except LimitReached as reached:
                    widest = max((events[k] for k in places), key=_cycles)
                    if not isinstance(widest, Event) or _cycles(widest) < 2:
                        raise
                    raise LimitReached(reached.reason, widest) from reached
        return found

    def _enclose_stars(
        self, events: Sequence[Connected], bits: int, limits: Limits, found: Answers
    ) -> None:
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
            for places, lower, upper in evaluator.enclose_stars(together, limits):
                narrow = upper - lower <= 2.0**-bits
                found.bound(np.array(places)[narrow], lower[narrow], upper[narrow])
            self._furthest = self._furthest or level

    def _enclose_batch(self, batch: _Batch) -> dict[int, Enclosure | NotEnclosed]:
        if len(self._table) > _TABLE:
            self._table = FunctionTable()
            self._evaluators = {}
        found: dict[int, Enclosure | NotEnclosed] = {}
        pending: dict[int, Planned] = {}
        for place, each in batch.grid_events.items():
            batch.limits.check()
            terms = plan_of(each.order, batch.limits, self._table)
            if isinstance(terms, NotEnclosed):
                found[place] = terms
            else:
                error = each.order.error if isinstance(each.order, SumEvent) else Fraction(0)
                pending[place] = Planned(terms, each.required.samples, error)
        tier = Tier.BALLS if batch.required.shifts else self._tier
        hopeful = pending
        before: dict[int, Enclosure | NotEnclosed] = {}
        for level in double_levels(tier):
            for place in self._climb(batch, level, hopeful, found):
                del pending[place]
            hopeful = {
                place: plan
                for place, plan in pending.items()
                if place in hopeful and doubles_may_do(before.get(place), found[place], batch.bits)
            }
            before = {place: found[place] for place in hopeful}
        # The balls' errors are relative: what is known to be tiny needs fewer bits.
        spared = leading_zeros(pending, found, batch.bits)
        for level in ball_levels(batch.bits - spared, tier):
            for place in self._climb(batch, level, pending, found):
                del pending[place]
        return found

    def _climb(
        self,
        batch: _Batch,
        level: RefinementLevel,
        pending: Mapping[int, Planned],
        found: dict[int, Enclosure | NotEnclosed],
    ) -> list[int]:
        """Try once more to enclose what is `pending`; return what is narrow enough now."""
        if not pending:
            return []
        answers = self._answers(batch, level, pending)
        wanted = Fraction(1, 2**batch.bits)
        done = []
        for place, answer in zip(pending, answers, strict=True):
            best = found[place] = better(found.get(place), answer, "elimination")
            if isinstance(best, Enclosure) and best.width <= wanted:
                done.append(place)
        self._forget_others(level)
        if any(isinstance(answer, Enclosure) for answer in answers):
            self._furthest = max(self._furthest or level, level, key=lambda each: each.bits)
        return done

    def _answers(
        self, batch: _Batch, level: RefinementLevel, pending: Mapping[int, Planned]
    ) -> list[Enclosure | NotEnclosed]:
        plans = list(pending.values())
        evaluator = self._evaluator(batch.required, level, batch.bits, events=len(plans))
        if isinstance(evaluator, GridEvaluator):
            return evaluator.enclose(plans, batch.limits)
        answers: list[Enclosure | NotEnclosed] = []
        for place, plan in pending.items():
            required = batch.grid_events[place].required
            alone = self._evaluator(required, level, batch.bits, events=1)
            answers += (
                (alone,) if isinstance(alone, NotEnclosed) else alone.enclose((plan,), batch.limits)
            )
        return answers

    def _forget_others(self, level: RefinementLevel) -> None:
        """Forget evaluators, the finest first, until they share the memory of one."""
        others = sorted(
            self._evaluators.keys() - {level}, key=lambda each: (each.bits, each.fineness)
        )
        while sum(self._evaluators[each].fullness for each in others) > 1:
            del self._evaluators[others.pop()]

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


def _order(event: Event, bits: int) -> Order | NotEnclosed:
    """Read an event as comparisons of samples, or else of sums."""
    order = order_event(event)
    return sum_event(event, bits) if isinstance(order, NotEnclosed) else order


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
    ranges = [_range(sample, kept) for sample in event.samples]
    left = set(event.bounds)
    for bound in sorted(event.bounds, key=lambda each: -each[2]):
        i, j, w = bound
        if ranges[i][1] <= ranges[j][0] + w:
            others = [each[:2] for each in left - {bound}]
            if len(graphs.components(len(ranges), others)) == 1:
                left.remove(bound)
    if len(left) == len(event.bounds):
        return event, Fraction(0)
    return _shifted(event.samples, left), (len(event.bounds) - len(left)) * Fraction(4, 2**kept)


def _shifted(samples: Sequence[BoundedSample], bounds: Iterable[Bound]) -> OrderEvent:
    """Shift samples again: fewer bounds may make an order."""
    guards = [LinearForm.of({i: _ONE, j: -_ONE}, -w) for i, j, w in sorted(bounds)]
    for k, sample in enumerate(samples):
        if sample.lower is not None:
            guards.append(LinearForm.of({k: -_ONE}, sample.lower))
        if sample.upper is not None:
            guards.append(LinearForm.of({k: _ONE}, -sample.upper))
    order = order_event(Event(tuple([sample.law for sample in samples]), tuple(guards)))
    if isinstance(order, NotEnclosed):
        raise BrokenInvariant("differences are no differences any more")
    return order


def _range(sample: BoundedSample, kept: int) -> tuple[Fraction, Fraction]:
    low, high = cutoff_interval(sample.law, kept)
    return (
        low if sample.lower is None else max(low, sample.lower),
        high if sample.upper is None else min(high, sample.upper),
    )
