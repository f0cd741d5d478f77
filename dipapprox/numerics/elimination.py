"""The main engine: order events by elimination over a function algebra (`elimination`).

    event -> order event -> elimination plan -> float64 on a grid -> narrow enough?  yes -> done
                                                  ^                     | no
                                                  +-- finer; balls, more bits and degrees --+

In: events, many at once. Out: an `Enclosure` of each probability, or why the guards have no such
plan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected, Star
from dipapprox.limits import Limits
from dipapprox.numerics.elimination_bench import Asked, Bench, Needs, Rung, new_bench
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.grid import MAX_PANELS
from dipapprox.numerics.order_event import order_event


class Tier(Enum):
    """Which algebras may be used; the value is the word on the command line."""

    AUTO = "auto"
    FLOAT64 = "float64"
    BALLS = "balls"


def double_rungs(bits: int, tier: Tier) -> list[Rung]:
    """The attempts in doubles for a wanted width of 2**-bits.

    A finer grid is tried only if doubles are likely to be good enough; without, they give the size
    of the probability.
    """
    match tier:
        case Tier.BALLS:
            return []
        case Tier.FLOAT64:
            return [Rung(1), Rung(3)]
        case Tier.AUTO:
            return [Rung(1), Rung(3)] if bits <= _DOUBLES else [Rung(1)]
        case _:
            assert_never(tier)


def ball_rungs(bits: int, tier: Tier) -> list[Rung]:
    """The attempts in balls for `bits` correct bits behind the leading one.

    In steps of 64 bits; the first degree is what panels as wide as a scale need.
    """
    if tier is Tier.FLOAT64:
        return []
    return [
        Rung(1, _rounded_up(bits + 40), 5 * bits // 12 + 8),
        Rung(2, _rounded_up(bits + 100), bits // 2 + 20),
        Rung(8, _rounded_up(2 * bits + 160), 3 * bits // 4 + 50),
    ]


_DOUBLES = 48
"""Doubles rarely give enclosures narrower than 2**-48."""


def _rounded_up(bits: int) -> int:
    return -(-bits // 64) * 64


_SHARED_LAWS = 12
"""Most laws, and most constants, that one grid serves for the sake of sharing."""

_SHARED_PANELS = 256
"""Most panels of a grid that events share which could have smaller ones."""


class Eliminated:
    """The method `elimination`. It remembers grids and functions: similar events share them.

    Args:
        tier: Which algebras may be used.
    """

    def __init__(self, tier: Tier = Tier.AUTO) -> None:
        self._tier = tier
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

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; the batch of one."""
        return self.enclose_many((event,), bits, limits)[0]

    def enclose_many(
        self, events: Sequence[Connected], bits: int, limits: Limits
    ) -> list[Enclosure | NotEnclosed]:
        """Enclose Pr[event] for every event; see `Method.enclose_many`."""
        found: dict[int, Enclosure | NotEnclosed] = {}
        pending: dict[int, Asked] = {}
        for place, event in enumerate(events):
            limits.check()
            order = event if isinstance(event, Star) else order_event(event)
            if isinstance(order, NotEnclosed):
                found[place] = order
            else:
                pending[place] = Asked(order, Needs.of(order))
        for rung in double_rungs(bits, self._tier):
            self._climb(rung, pending, found, bits, limits)
        # The balls' errors are relative: what is known to be tiny needs fewer bits.
        for rung in ball_rungs(bits - _leading_zeros(pending, found, bits), self._tier):
            self._climb(rung, pending, found, bits, limits)
        return [found[place] for place in range(len(events))]

    def _climb(
        self,
        rung: Rung,
        pending: dict[int, Asked],
        found: dict[int, Enclosure | NotEnclosed],
        bits: int,
        limits: Limits,
    ) -> None:
        """Try once more to enclose what is `pending`; what is narrow enough leaves it."""
        if not pending:
            return
        answers = self._attempt(pending, rung, bits, limits)
        for place, answer in answers.items():
            best = found[place] = _better(found.get(place), answer)
            if isinstance(best, Enclosure) and best.width <= Fraction(1, 2**bits):
                del pending[place]
        if any(isinstance(answer, Enclosure) for answer in answers.values()):
            self._furthest = max(self._furthest or rung, rung, key=lambda each: each.bits)

    def _attempt(
        self, asked: Mapping[int, Asked], rung: Rung, bits: int, limits: Limits
    ) -> dict[int, Enclosure | NotEnclosed]:
        found: dict[int, Enclosure | NotEnclosed] = {}
        for group in _grouped(asked):
            members = [asked[place] for place in group.places]
            bench = self._bench(group.needs, rung, bits, shared=len(members) > 1)
            if isinstance(bench, Bench):
                answers = bench.enclose(members, limits)
            else:
                answers = []
                for each in members:
                    alone = self._bench(each.needs, rung, bits, shared=False)
                    answers += (
                        alone.enclose((each,), limits) if isinstance(alone, Bench) else [alone]
                    )
            found.update(zip(group.places, answers, strict=True))
        return found

    def _bench(self, needs: Needs, rung: Rung, bits: int, *, shared: bool) -> Bench | NotEnclosed:
        """Find or make a bench; it serves what the last one did as well, if that costs little."""
        # In steps of 16, so that events of different sizes find the same grid good enough.
        kept = -(-(max(bits, 48) + needs.samples.bit_length() + 4) // 16) * 16
        last = self._benches.get(rung)
        made: Bench | NotEnclosed | None = None
        if last is not None:
            both = last.needs | needs
            if kept <= last.kept and both.scope() == last.needs.scope():
                return last
            if _is_small(both):
                made = new_bench(both, max(kept, last.kept), rung, _SHARED_PANELS)
        if not isinstance(made, Bench):
            made = new_bench(needs, kept, rung, _SHARED_PANELS if shared else MAX_PANELS)
        if isinstance(made, Bench):
            self._benches[rung] = made
        return made


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
    if not isinstance(known, Enclosure):
        known = UNIT
    if not found.meets(known):
        raise BrokenInvariant("elimination: disjoint enclosures of one probability")
    return found.intersect(known)


@dataclass(slots=True)
class _Group:
    """Events that may share a grid, by position, and what they need together."""

    places: list[int]
    needs: Needs


def _grouped(asked: Mapping[int, Asked]) -> list[_Group]:
    """Collect events with few laws and constants between them, those with the most first."""
    groups: list[_Group] = []
    for place in sorted(asked, key=lambda place: -len(asked[place].needs.laws)):
        needs = asked[place].needs
        if groups:
            together = groups[-1].needs | needs
            if together is groups[-1].needs or _is_small(together):
                groups[-1].places.append(place)
                groups[-1].needs = together
                continue
        groups.append(_Group([place], needs))
    return groups


def _is_small(needs: Needs) -> bool:
    return len(needs.laws) <= _SHARED_LAWS and len(needs.points) <= _SHARED_LAWS
