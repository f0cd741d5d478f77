"""The method for mixtures: sums of many equal probabilities, from enclosures of the different ones.

    Pr[mixture] = Σ count · Π Pr[event]^power

If every event is enclosed to 2**-b, and there are k events in each of n disjoint events, the sum is
enclosed to n·k·2**-b: events are asked for with as many more bits. Sums and products are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected, Event, Mixture, Star
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers, Method


class MixtureMethod:
    """Encloses mixtures by another method, which remembers nothing for it."""

    def __init__(self, make: Callable[[], Method]) -> None:
        self._method = make()

    @property
    def name(self) -> str:
        """The words of the other method."""
        return self._method.name

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every mixture; see `Method.enclose`."""
        mixtures = [event for event in events if isinstance(event, Mixture)]
        if len(mixtures) < len(events):
            raise BrokenInvariant("an event that is no mixture was taken for one")
        wanted: dict[Event | Star, int] = {}
        for mixture in mixtures:
            own = bits + _spare_bits(mixture)
            for _, factors in mixture.terms:
                for factor, _ in factors:
                    wanted[factor] = max(own, wanted.get(factor, 0))
        found: dict[Event | Star, Enclosure | NotEnclosed] = {}
        for need in sorted(set(wanted.values())):
            batch = [event for event, own in wanted.items() if own == need]
            answers = self._method.enclose(batch, need, limits)
            found.update(zip(batch, answers, strict=True))
        return Answers.of([_sum(mixture, found) for mixture in mixtures])


def _spare_bits(mixture: Mixture) -> int:
    return sum(n * sum(power for _, power in factors) for n, factors in mixture.terms).bit_length()


def _sum(
    mixture: Mixture, found: dict[Event | Star, Enclosure | NotEnclosed]
) -> Enclosure | NotEnclosed:
    lower = upper = Fraction(0)
    for count, factors in mixture.terms:
        least = most = Fraction(count)
        for factor, power in factors:
            answer = found[factor]
            if isinstance(answer, NotEnclosed):
                return answer
            least *= answer.lower**power
            most *= answer.upper**power
        lower += least
        upper += most
    return Enclosure(lower, max(lower, upper)).intersect(UNIT, "mixtures")
