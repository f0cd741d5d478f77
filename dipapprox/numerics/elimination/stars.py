"""Stars in doubles, all at once: the first attempt at most events of most programs.

In: stars. Out: what they need of a grid, and on one bounds of their probabilities as arrays. What
these do not enclose narrowly enough goes the way of all other events (`engine`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dipapprox.distributions import Distribution
from dipapprox.events.event import Connected, Event, Star
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.elimination.needs import Needs, is_small
from dipapprox.numerics.elimination.order_event import is_plain

Array = NDArray[np.float64]


def read_star(event: Connected) -> Star | None:
    """Return the star that an event is, if it is spelled as one or compares two samples."""
    match event:
        case Star():
            return event
        case Event((first, second), (guard,)) if is_plain(guard):
            low, high = (first, second) if guard.coefficient(0) > 0 else (second, first)
            return Star(high, ((low, 1),), ())
        case _:
            return None


def share_grids(stars: Iterable[tuple[int, Star]]) -> list[Stars]:
    """Collect stars by position; those with laws that have no density are left out."""
    groups: list[Stars] = []
    for place, star in stars:
        if groups and groups[-1].add(place, star):
            continue
        alone = Stars()
        if alone.add(place, star):
            groups.append(alone)
    return groups


@dataclass(slots=True)
class _Round:
    """The stars round one law: columns of functions, and the exponents that are not 0.

    Attributes:
        places: Positions of the stars.
        samples: How many samples each star has.
        below: Columns of the distribution functions, by the law's number.
        above: Columns of 1 minus these.
        entries: Row, column, exponent, one after the other.
    """

    places: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    below: dict[int, int] = field(default_factory=dict)
    above: dict[int, int] = field(default_factory=dict)
    entries: list[int] = field(default_factory=list)


class Stars:
    """Stars that share a grid, as exponents of distribution functions."""

    def __init__(self) -> None:
        self._laws: dict[Distribution, int] = {}
        # Laws hash slowly; like stars mostly share their parts.
        self._numbers: dict[int, int] = {}
        self._rounds: dict[int, _Round] = {}

    def add(self, place: int, star: Star) -> bool:
        """Add a star, unless one of its laws has no density or there are too many laws then."""
        numbers = self._numbers
        try:
            centre = numbers[id(star.centre)]
            below = [(numbers[id(law)], count) for law, count in star.below]
            above = [(numbers[id(law)], count) for law, count in star.above]
        except KeyError:
            laws = [star.centre, *(law for law, _ in (*star.below, *star.above))]
            return self._learn(laws) and self.add(place, star)
        around = self._rounds.get(centre)
        if around is None:
            around = self._rounds[centre] = _Round()
        row, samples = len(around.places), 1
        for leaves, columns in ((below, around.below), (above, around.above)):
            for law, count in leaves:
                if law not in columns:
                    columns[law] = len(around.below) + len(around.above)
                around.entries += row, columns[law], count
                samples += count
        around.places.append(place)
        around.samples.append(samples)
        return True

    def _learn(self, laws: list[Distribution]) -> bool:
        """Number some laws, if all of them have densities and one grid serves them all."""
        fresh = set(laws) - self._laws.keys()
        if any(law.family.is_discrete for law in fresh):
            return False
        if fresh and not is_small(Needs(frozenset(fresh | self._laws.keys()), frozenset(), 1)):
            return False
        for law in laws:
            self._numbers[id(law)] = self._laws.setdefault(law, len(self._laws))
        return True

    @property
    def needs(self) -> Needs:
        """What one grid for all of them must offer."""
        most = max(max(each.samples) for each in self._rounds.values())
        return Needs(frozenset(self._laws), frozenset(), most)

    def bounds(self, algebra: Float64Algebra, lost: float, limits: Limits) -> Iterator[Bounds]:
        """Bound the probabilities; `lost` bounds the mass that any law loses on the grid.

        Raises:
            LimitReached: If `limits`, asked before every law, run out.
        """
        laws = list(self._laws)
        for centre, around in self._rounds.items():
            limits.check()
            functions = {k: algebra.cdf(laws[law]) for law, k in around.below.items()}
            functions |= {k: algebra.survival(laws[law]) for law, k in around.above.items()}
            exponents = np.zeros((len(around.places), len(functions)), np.int64)
            rows, columns, counts = np.array(around.entries, np.int64).reshape(-1, 3).T
            exponents[rows, columns] = counts
            ordered = [functions[k] for k in range(len(functions))]
            lower, upper = algebra.monomials(laws[centre], ordered, exponents)
            # The product and the sum are rounded, once each.
            upper = (upper + lost * np.array(around.samples)) * (1 + 2.0**-51)
            yield Bounds(around.places, np.minimum(lower, 1.0), np.minimum(upper, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Proved bounds of the probabilities of the events at some positions."""

    places: list[int]
    lower: Array
    upper: Array
