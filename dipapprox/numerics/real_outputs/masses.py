"""Parts and intervals in, the masses of the intervals out: as probabilities of events.

That a published number lies in an interval is two more guards, so every method that encloses
events encloses masses, to any width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from math import prod

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, better, enclosing, sure
from dipapprox.cache import Cache
from dipapprox.events.event import Connected, Part
from dipapprox.events.intervals import Interval, within
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Method

_REMEMBERED = 20_000

EVERYWHERE: tuple[Interval, ...] = ((None, None),)
"""The whole line."""


class IntervalMasses:
    """Probabilities of events and masses of intervals; what was computed is remembered."""

    def __init__(self, method: Method, limits: Limits) -> None:
        self._method = method
        self._limits = limits
        self._known: Cache[Connected, tuple[int, Enclosure | NotEnclosed]] = Cache(_REMEMBERED)

    def of_parts(
        self, parts: Sequence[Part], intervals: Sequence[Interval], bits: int
    ) -> Enclosure | NotEnclosed:
        """Enclose the mass that parts with one published number each have on disjoint intervals."""
        products = [
            [*part.events, *found]
            for part in parts
            for interval in intervals
            if (found := within(part.marginals[0], interval)) is not None
        ]
        return self._sum(products, bits)

    def product(self, events: Iterable[Connected], bits: int) -> Enclosure | NotEnclosed:
        """Enclose the probability of independent events together."""
        return self._sum([list(events)], bits)

    @enclosing
    def _sum(self, products: list[list[Connected]], bits: int) -> Enclosure:
        """Enclose Σ Π Pr[event]."""
        most = max(map(len, products), default=1)
        own = bits + (len(products) * most).bit_length()
        answers = self._enclosed(dict.fromkeys(chain.from_iterable(products)), own)
        found = {event: sure(answer) for event, answer in answers}
        lower = upper = Fraction(0)
        for each in products:
            lower += prod((found[event].lower for event in each), start=Fraction(1))
            upper += prod((found[event].upper for event in each), start=Fraction(1))
        return Enclosure(lower, upper)

    def _enclosed(
        self, events: Iterable[Connected], bits: int
    ) -> Iterator[tuple[Connected, Enclosure | NotEnclosed]]:
        """Enclose different events, those not known well enough in one batch."""
        known = {event: self._known.get(event) for event in events}
        missing = [event for event, each in known.items() if each is None or each[0] < bits]
        found = self._method.enclose(missing, bits, self._limits) if missing else ()
        for event, answer in zip(missing, found, strict=True):
            before = known[event]
            own = better(None if before is None else before[1], answer)
            known[event] = self._known.put(event, (bits, own))
        return ((event, each[1]) for event, each in known.items() if each is not None)
