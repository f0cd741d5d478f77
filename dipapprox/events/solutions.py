"""Numbers for laws, canonical events and conjunctions of independent events.

A *solution* is what an event comes down to: impossible, or independent canonical events whose
probabilities multiply to its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dipapprox.cache import Cache
from dipapprox.events.canonical import (
    LawKey,
    StarKind,
    canonical,
    law_key,
    normal_star,
    standard_kind,
    star_of,
)
from dipapprox.events.columns import Bag
from dipapprox.events.event import Chosen, Connected, Event, Impossible, Mixture, Star
from dipapprox.events.reduce import is_possible, reduce
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm

Numbers = tuple[int, ...]
"""Indices of independent events whose conjunction is meant; empty: probability exactly 1."""

IMPOSSIBLE = 0  # the solution of probability exactly 0
CERTAIN = 1  # the solution of probability exactly 1
_Laws = tuple[Distribution, tuple[Distribution, ...], tuple[Distribution, ...]]
"""Of a kind of stars: centre, below, above."""

_Image = tuple[int, StarKind, Numbers]
"""A kind of stars, its number, and where in a bag the counts of its laws are."""


_Factors = tuple[Connected, ...] | Impossible


def _count_terms(factors: _Factors) -> int:
    if isinstance(factors, Impossible):
        return 1
    guards = (guard for f in factors if isinstance(f, Event) for guard in f.guards)
    return 1 + sum([len(guard.terms) for guard in guards])


_factors: Cache[Event, _Factors] = Cache(300_000, _count_terms)
"""Canonical factors of events with sums, which take milliseconds, up to about so many terms.

The numbers of a program, its closed forms and what is possible ask for the same events.
"""


def _canonical_factors(event: Event) -> _Factors:
    reduced = reduce(event)
    if isinstance(reduced, Impossible):
        return reduced
    return tuple([canonical(factor) for factor in reduced.factors])


class Solutions:
    """Events, solutions (None for the impossible one) and laws that have been numbered so far."""

    def __init__(self) -> None:
        self.events: list[Connected] = []
        self.all: list[Numbers | None] = [None, ()]
        self.laws: list[Distribution] = []
        self._events: dict[Connected, int] = {}
        self._numbers: dict[Numbers | None, int] = {None: IMPOSSIBLE, (): CERTAIN}
        self._laws: dict[LawKey, int] = {}
        self._kinds: dict[_Laws, int] = {}
        self._possible: list[bool] = []  # by kind
        self._stars: dict[tuple[int, Numbers], int] = {}
        self._images: dict[tuple[int, Numbers], tuple[_Image, _Image]] = {}

    def __len__(self) -> int:
        return len(self.events) + len(self.all)

    def law(self, law: Distribution) -> int:
        """Return the number of a law."""
        number = self._laws.setdefault(law_key(law), len(self.laws))
        if number == len(self.laws):
            self.laws.append(law)
        return number

    def star(self, centre: int, leaves: Bag) -> int:
        """Solve a star; leaves are twice the numbers of laws, plus 1 above the centre."""
        entries = tuple([entry for entry, _ in leaves])
        images = self._images.get((centre, entries))
        if images is None:
            images = self._images[centre, entries] = self._images_of(centre, entries)
        balance = 0
        for entry, count in leaves:
            balance += -count if entry & 1 else count
        if balance == 0:
            sides = (
                tuple([(self.laws[e >> 1], n) for e, n in leaves if e & 1 == side])
                for side in (0, 1)
            )
            star = normal_star(Star(self.laws[centre], *sides))
            return self._solution((self._event(star),)) if is_possible(star) else IMPOSSIBLE
        number, kind, order = images[balance < 0]
        if not self._possible[number]:
            return IMPOSSIBLE
        return self._solution((self._star(number, tuple([leaves[k][1] for k in order]), kind),))

    def _images_of(self, centre: int, entries: Numbers) -> tuple[_Image, _Image]:
        """Bring the laws of stars into both normal forms."""
        sides = [[k for k, entry in enumerate(entries) if entry & 1 == side] for side in (0, 1)]
        places = sides[0] + sides[1]
        below, above = (tuple([self.laws[entries[k] >> 1] for k in side]) for side in sides)
        images = []
        for sign in (1, -1):
            kind = standard_kind(self.laws[centre], below, above, sign)
            images.append((self._kind(kind), kind, tuple([places[k] for k in kind.order])))
        return images[0], images[1]

    def _kind(self, kind: StarKind) -> int:
        key = kind.centre, kind.below, kind.above
        number = self._kinds.setdefault(key, len(self._possible))
        if number == len(self._possible):
            self._possible.append(is_possible(star_of(kind, (1,) * len(kind.order))))
        return number

    def _star(self, number: int, counts: Numbers, kind: StarKind) -> int:
        """Number a star by its kind and its counts: laws are many, and hash slowly."""
        found = self._stars.setdefault((number, counts), len(self.events))
        if found == len(self.events):
            self.events.append(star_of(kind, counts))
        return found

    def event(self, laws: Iterable[int], guards: Sequence[LinearForm]) -> int:
        """Solve any event."""
        event = Event(tuple([self.laws[law] for law in laws]), tuple(guards))
        if any(len(guard.terms) > 2 for guard in guards):
            factors = _factors.find(event, lambda: _canonical_factors(event))
        else:
            factors = _canonical_factors(event)
        if isinstance(factors, Impossible):
            return IMPOSSIBLE
        return self._solution(tuple([self._event(factor) for factor in factors]))

    def alone(self, event: Mixture | Chosen) -> int:
        """Solve a mixture, or a set of outcomes."""
        return self._solution((self._event(event),))

    def joined(self, left: int, right: int) -> int:
        """The conjunction of two independent solutions."""
        first, second = self.all[left], self.all[right]
        return IMPOSSIBLE if first is None or second is None else self._solution(first + second)

    def _event(self, event: Connected) -> int:
        if isinstance(event, Star):
            below, above = (tuple([law for law, _ in s]) for s in (event.below, event.above))
            counts = tuple([count for _, count in (*event.below, *event.above)])
            kind = StarKind(event.centre, below, above, tuple(range(len(counts))))
            return self._star(self._kind(kind), counts, kind)
        number = self._events.setdefault(event, len(self.events))
        if number == len(self.events):
            self.events.append(event)
        return number

    def _solution(self, numbers: Numbers) -> int:
        if len(numbers) > 1:  # the order of factors does not matter for their product
            numbers = tuple(sorted(numbers))
        number = self._numbers.setdefault(numbers, len(self.all))
        if number == len(self.all):
            self.all.append(numbers)
        return number
