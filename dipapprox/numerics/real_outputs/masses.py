"""Parts and intervals in, the masses of the intervals out: as probabilities of events.

That a published number lies in an interval is two more guards, so every method that encloses
events encloses masses, to any width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.cache import Cache
from dipapprox.events.event import Connected, Part
from dipapprox.events.intervals import Interval, within
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Method

_REMEMBERED = 20_000

EVERYWHERE: tuple[Interval, ...] = ((None, None),)
"""The whole line."""


class IntervalMasses:
    """Probabilities of events and masses of intervals; what was computed is remembered.

    Args:
        method: How events are enclosed.
    """

    def __init__(self, method: Method, limits: Limits) -> None:
        self._method = method
        self._limits = limits
        self._known: Cache[Connected, tuple[int, Enclosure | NotEnclosed]] = Cache(_REMEMBERED)

    def of_parts(
        self, parts: Sequence[Part], intervals: Sequence[Interval], bits: int
    ) -> Enclosure | NotEnclosed:
        """Enclose the mass that parts with one published number each have on disjoint intervals.

        Args:
            parts: Their measures add up.
            intervals: With ends of any precision.
            bits: Wanted width: 2**-bits.
        """
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

    def _sum(self, products: list[list[Connected]], bits: int) -> Enclosure | NotEnclosed:
        """Enclose Σ Π Pr[event]."""
        most = max(map(len, products), default=1)
        own = bits + (len(products) * most).bit_length()
        obstacle = self._require({event for each in products for event in each}, own)
        if obstacle is not None:
            return obstacle
        lower = upper = Fraction(0)
        for each in products:
            low = high = Fraction(1)
            for event in each:
                answer = self._known.get(event)
                if answer is None or isinstance(answer[1], NotEnclosed):
                    answer = (0, UNIT)  # forgotten: there are more events than are remembered
                found = answer[1]
                assert isinstance(found, Enclosure)
                low, high = low * found.lower, high * found.upper
            lower, upper = lower + low, upper + high
        return Enclosure(lower, upper)

    def _require(self, events: Iterable[Connected], bits: int) -> NotEnclosed | None:
        missing = []
        for event in events:
            known = self._known.get(event)
            if known is None or known[0] < bits:
                missing.append(event)
        if missing:
            answers = self._method.enclose(missing, bits, self._limits)
            for event, answer in zip(
                missing, (answers[k] for k in range(len(missing))), strict=True
            ):
                known = self._known.get(event)
                if known is not None and isinstance(known[1], Enclosure):
                    answer = (
                        known[1].intersect(answer) if isinstance(answer, Enclosure) else known[1]
                    )
                self._known.put(event, (bits, answer))
        for event in events:
            known = self._known.get(event)
            if known is not None and isinstance(known[1], NotEnclosed):
                return known[1]
        return None
