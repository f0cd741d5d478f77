"""The main engine: order events by elimination over a function algebra (`elimination`).

    event -> order event -> elimination plan -> float64 on a grid -> narrow enough?  yes -> done
                                                  ^                     | no
                                                  +-- finer; balls, more bits and degrees --+

In: events, many at once. Out: an `Enclosure` of each probability, or why the guards have no such
plan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import assert_never

import numpy as np

from dipapprox.data_classes import dataclass
from dipapprox.errors import LimitReached
from dipapprox.events.event import Connected, Event, Star
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.grid import MAX_PANELS
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.elimination.bench import Bench, Planned, new_bench
from dipapprox.numerics.elimination.needs import Asked, Needs, Order, grouped, is_small
from dipapprox.numerics.elimination.order_event import order_event
from dipapprox.numerics.elimination.plan import FunctionTable, Terms, eliminate, eliminate_star
from dipapprox.numerics.elimination.rungs import (
    Rung,
    Tier,
    ball_rungs,
    double_rungs,
    doubles_may_do,
)
from dipapprox.numerics.elimination.stars import read_star, share_grids
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.kinds import as_continuous

_SHARED_PANELS = 256
"""Most panels of a grid that two events share which could have smaller ones; where only doubles are
kept, for every event: building grids then takes longer than using them."""

_TABLE = 200_000
"""Most functions in the table, computed or not, when a batch begins."""

_TOGETHER = 128
"""Most events in a batch."""

_MANY = 16
"""Stars that are worth a road of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Events for one grid, by position, and how they are asked for."""

    asked: Mapping[int, Asked]
    needs: Needs
    bits: int
    limits: Limits


class Eliminated:
    """The method `elimination`. It remembers grids and functions: similar events share them.

    Args:
        tier: Which algebras may be used.
    """

    def __init__(self, tier: Tier = Tier.AUTO) -> None:
        self._tier = tier
        self._table = FunctionTable()
        self._benches: dict[Rung, Bench] = {}
        self._furthest: Rung | None = None

    @property
    def name(self) -> str:
        """The word in reports, with the furthest algebra that was needed so far."""
        match self._furthest:
            case None:
                return "elimination"
            case Rung(bits=0):
                return "elimination (float64)"
            case Rung(bits=bits):
                return f"elimination (balls, {bits} bits)"
            case _:
                assert_never(self._furthest)

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose`."""
        found = Answers(len(events))
        asked: dict[int, Asked] = {}
        self._enclose_stars(events, bits, limits, found)
        for place in found.unanswered():
            plain = as_continuous(events[place])
            order = order_event(plain) if isinstance(plain, Event) else plain
            if isinstance(order, NotEnclosed):
                found[place] = order
            else:
                asked[place] = Asked(order, Needs.of(order))
        for group in grouped(asked):
            for start in range(0, len(group.places), _TOGETHER):
                places = group.places[start : start + _TOGETHER]
                try:
                    batch = _Batch({k: asked[k] for k in places}, group.needs, bits, limits)
                    for place, answer in self._enclose_batch(batch).items():
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
        if self._tier is Tier.BALLS or len(stars) < _MANY:
            return
        rung = Rung(1)
        for together in share_grids(stars):
            bench = self._bench(together.needs, rung, bits, events=len(stars))
            if not isinstance(bench, Bench):
                continue
            for bounds in bench.enclose_stars(together, limits):
                narrow = bounds.upper - bounds.lower <= 2.0**-bits
                places = np.array(bounds.places)[narrow]
                found.bound(places, bounds.lower[narrow], bounds.upper[narrow])
            self._furthest = self._furthest or rung

    def _enclose_batch(self, batch: _Batch) -> dict[int, Enclosure | NotEnclosed]:
        if len(self._table) > _TABLE:
            self._table = FunctionTable()
            self._benches = {}
        found: dict[int, Enclosure | NotEnclosed] = {}
        pending: dict[int, Planned] = {}
        for place, each in batch.asked.items():
            terms = self._plan(each.order, batch.limits)
            if isinstance(terms, NotEnclosed):
                found[place] = terms
            else:
                pending[place] = Planned(terms, each.needs.samples)
        hopeful = pending
        before: dict[int, Enclosure | NotEnclosed] = {}
        for rung in double_rungs(self._tier):
            for place in self._climb(batch, rung, hopeful, found):
                del pending[place]
            hopeful = {
                place: plan
                for place, plan in pending.items()
                if place in hopeful and doubles_may_do(before.get(place), found[place], batch.bits)
            }
            before = {place: found[place] for place in hopeful}
        # The balls' errors are relative: what is known to be tiny needs fewer bits.
        spared = _leading_zeros(pending, found, batch.bits)
        for rung in ball_rungs(batch.bits - spared, self._tier):
            for place in self._climb(batch, rung, pending, found):
                del pending[place]
        return found

    def _plan(self, order: Order, limits: Limits) -> Terms | NotEnclosed:
        limits.check()
        if isinstance(order, Star):
            return eliminate_star(order, self._table)
        return eliminate(order, limits, self._table)

    def _climb(
        self,
        batch: _Batch,
        rung: Rung,
        pending: Mapping[int, Planned],
        found: dict[int, Enclosure | NotEnclosed],
    ) -> list[int]:
        """Try once more to enclose what is `pending`; return what is narrow enough now."""
        if not pending:
            return []
        bench = self._bench(batch.needs, rung, batch.bits, events=len(pending))
        if isinstance(bench, Bench):
            answers = bench.enclose(list(pending.values()), batch.limits)
        else:
            answers = []
            for place, plan in pending.items():
                alone = self._bench(batch.asked[place].needs, rung, batch.bits, events=1)
                answers += (
                    alone.enclose((plan,), batch.limits) if isinstance(alone, Bench) else [alone]
                )
        wanted = Fraction(1, 2**batch.bits)
        done = []
        for place, answer in zip(pending, answers, strict=True):
            best = found[place] = _better(found.get(place), answer)
            if isinstance(best, Enclosure) and best.width <= wanted:
                done.append(place)
        self._forget_others(rung)
        if any(isinstance(answer, Enclosure) for answer in answers):
            self._furthest = max(self._furthest or rung, rung, key=lambda each: each.bits)
        return done

    def _forget_others(self, rung: Rung) -> None:
        """Forget benches, those of the finest rungs first, until they share the memory of one."""
        others = sorted(self._benches.keys() - {rung}, key=lambda each: (each.bits, each.fineness))
        while sum(self._benches[each].fullness for each in others) > 1:
            del self._benches[others.pop()]

    def _bench(self, needs: Needs, rung: Rung, bits: int, *, events: int) -> Bench | NotEnclosed:
        """Find or make a bench for so many events; it serves what the last one did as well, if
        that costs little."""
        # In steps of 16, so that events of different sizes find the same grid good enough.
        kept = -(-(max(bits, 48) + needs.samples.bit_length() + 4) // 16) * 16
        last = self._benches.get(rung)
        made: Bench | NotEnclosed | None = None
        if last is not None:
            both = last.needs | needs
            if kept <= last.kept and both.scope() == last.needs.scope():
                return last
            if is_small(both):
                made = new_bench(both, max(kept, last.kept), rung, self._table, _SHARED_PANELS)
        if not isinstance(made, Bench):
            most = _shared_panels(rung, events) if events > 1 else MAX_PANELS
            made = new_bench(needs, kept, rung, self._table, most)
        if isinstance(made, Bench):
            self._benches[rung] = made
        return made


def _shared_panels(rung: Rung, events: int) -> int:
    return _SHARED_PANELS if rung.bits else min(_SHARED_PANELS * events, MAX_PANELS)


def _leading_zeros(
    pending: Collection[int], found: Mapping[int, Enclosure | NotEnclosed], bits: int
) -> int:
    """Return k such that all pending probabilities are at most 2**-k, k <= bits."""
    uppers = [each.upper for each in map(found.get, pending) if isinstance(each, Enclosure)]
    if len(uppers) < len(pending) or not uppers:
        return 0
    largest = max(uppers)
    zeros = largest.denominator.bit_length() - largest.numerator.bit_length() - 1
    return min(max(zeros, 0), bits)


def _better(
    known: Enclosure | NotEnclosed | None, found: Enclosure | NotEnclosed
) -> Enclosure | NotEnclosed:
    if isinstance(found, NotEnclosed):
        return found if known is None else known
    return found.intersect(known if isinstance(known, Enclosure) else UNIT, "elimination")


def _cycles(event: Connected) -> int:
    """How far the comparisons of an event are from a tree."""
    return len(event.guards) - len(event.samples) + 1 if isinstance(event, Event) else 0
