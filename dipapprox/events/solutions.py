"""Numbers for laws, canonical events and conjunctions of independent events.

A *solution* is what an event comes down to: impossible, or independent canonical events whose
probabilities multiply to its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dipapprox.distributions import Distribution
from dipapprox.events.canonical import canonical
from dipapprox.events.columns import Bag
from dipapprox.events.event import Chosen, Connected, Event, Impossible, Star
from dipapprox.events.reduce import reduce
from dipapprox.events.standardisation import LawKey, law_key
from dipapprox.events.stars import normal_star
from dipapprox.events.supports import is_possible
from dipapprox.semantics.linear import LinearForm

Numbers = tuple[int, ...]
"""Indices of independent events whose conjunction is meant; empty: probability exactly 1."""

IMPOSSIBLE = 0
"""The solution of probability exactly 0."""

CERTAIN = 1
"""The solution of probability exactly 1."""


class Solutions:
    """Everything that has been numbered so far.

    Attributes:
        events: Canonical connected events by number.
        all: The solutions by number; None for the impossible one.
        laws: Laws by number.
    """

    def __init__(self) -> None:
        self.events: list[Connected] = []
        self.all: list[Numbers | None] = [None, ()]
        self.laws: list[Distribution] = []
        self._events: dict[Connected, int] = {}
        self._numbers: dict[Numbers | None, int] = {None: IMPOSSIBLE, (): CERTAIN}
        self._laws: dict[LawKey, int] = {}

    def __len__(self) -> int:
        return len(self.events) + len(self.all)

    def law(self, law: Distribution) -> int:
        """Return the number of a law."""
        number = self._laws.setdefault(law_key(law), len(self.laws))
        if number == len(self.laws):
            self.laws.append(law)
        return number

    def star(self, centre: int, leaves: Bag) -> int:
        """Solve a star.

        Args:
            centre: A law.
            leaves: Twice the number of the law, plus 1 if the leaf is above the centre.
        """
        sides = tuple(
            tuple((self.laws[entry >> 1], count) for entry, count in leaves if entry & 1 == side)
            for side in (0, 1)
        )
        star = normal_star(Star(self.laws[centre], *sides))
        if not is_possible(star):
            return IMPOSSIBLE
        return self._solution((self._event(star),))

    def event(self, laws: Iterable[int], guards: Sequence[LinearForm]) -> int:
        """Solve any event."""
        reduced = reduce(Event(tuple(self.laws[law] for law in laws), tuple(guards)))
        if isinstance(reduced, Impossible):
            return IMPOSSIBLE
        return self._solution(tuple(self._event(canonical(f)) for f in reduced.factors))

    def chosen(self, event: Chosen) -> int:
        """Solve a set of outcomes."""
        return self._solution((self._event(event),))

    def joined(self, left: int, right: int) -> int:
        """The conjunction of two independent solutions."""
        first, second = self.all[left], self.all[right]
        return IMPOSSIBLE if first is None or second is None else self._solution(first + second)

    def _event(self, event: Connected) -> int:
        number = self._events.setdefault(event, len(self.events))
        if number == len(self.events):
            self.events.append(event)
        return number

    def _solution(self, numbers: Numbers) -> int:
        # The order of factors does not matter for their product.
        numbers = tuple(sorted(numbers))
        number = self._numbers.setdefault(numbers, len(self.all))
        if number == len(self.all):
            self.all.append(numbers)
        return number
