"""Stars in, bounds of their probabilities in doubles out, all at once: the first attempt at most.

In: stars. Out: what they need of a grid, and on one bounds of their probabilities as arrays. What
these do not enclose narrowly enough goes the way of all other events (`engine`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.data_classes import dataclass, field
from dipapprox.events.event import Connected, Event, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.elimination.order_event import is_plain
from dipapprox.numerics.elimination.refinement import GridRequirements, is_small

Array = NDArray[np.float64]

StarBounds = tuple[list[int], Array, Array]
"""Positions of events, and proved bounds of their probabilities as in `rounding`."""


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
    """The stars round one law: columns of functions, and the exponents that are not 0."""

    places: list[int] = field(default_factory=list)  # positions of the stars
    samples: list[int] = field(default_factory=list)  # how many samples each star has
    # of the functions: distribution functions of laws, and (True) 1 minus these
    columns: dict[tuple[Distribution, bool], int] = field(default_factory=dict)
    # columns of the distribution functions, by the identity of the law: laws hash slowly
    below: dict[int, int] = field(default_factory=dict)
    above: dict[int, int] = field(default_factory=dict)  # columns of 1 minus these, likewise
    entries: list[int] = field(default_factory=list)  # row, column, exponent, one after the other

    def learn(self, star: Star) -> None:
        """Give the functions of a star columns."""
        sides = (star.below, self.below, False), (star.above, self.above, True)
        for leaves, known, above in sides:
            for law, _ in leaves:
                known[id(law)] = self.columns.setdefault((law, above), len(self.columns))


class Stars:
    """Stars that share a grid, as exponents of distribution functions."""

    def __init__(self) -> None:
        self._laws: set[Distribution] = set()
        self._rounds: dict[Distribution, _Round] = {}
        self._around: dict[int, _Round] = {}  # by the identity of the centre
        self._learnt: list[Star] = []  # kept alive: the identities of their laws are keys

    def add(self, place: int, star: Star) -> bool:
        """Add a star, unless one of its laws has no density or there are too many laws then."""
        samples = 1
        try:
            around = self._around[id(star.centre)]
            row = len(around.places)
            entries: list[int] = []
            for leaves, known in ((star.below, around.below), (star.above, around.above)):
                for law, count in leaves:
                    entries += row, known[id(law)], count
                    samples += count
        except KeyError:
            return self._learn(star) and self.add(place, star)
        around.entries += entries
        around.places.append(place)
        around.samples.append(samples)
        return True

    def _learn(self, star: Star) -> bool:
        """Get to know the laws of a star, if all have densities and one grid serves them all."""
        laws = {star.centre, *(law for law, _ in (*star.below, *star.above))}
        fresh = laws - self._laws
        if any(law.family.is_discrete for law in fresh):
            return False
        if fresh and not is_small(GridRequirements(frozenset(fresh | self._laws), frozenset(), 1)):
            return False
        self._laws |= fresh
        around = self._rounds.setdefault(star.centre, _Round())
        self._around[id(star.centre)] = around
        self._learnt.append(star)
        around.learn(star)
        return True

    @property
    def required(self) -> GridRequirements:
        """What one grid for all of them must offer."""
        most = max(max(each.samples) for each in self._rounds.values())
        return GridRequirements(frozenset(self._laws), frozenset(), most)

    def bounds(self, algebra: Float64Algebra, lost: float, limits: Limits) -> Iterator[StarBounds]:
        """Bound the probabilities; `lost` bounds the mass that any law loses on the grid."""
        for centre, around in self._rounds.items():
            limits.check()
            functions = [
                algebra.survival(law) if above else algebra.cdf(law)
                for law, above in around.columns
            ]
            exponents = np.zeros((len(around.places), len(functions)), np.int64)
            rows, columns, counts = np.array(around.entries, np.int64).reshape(-1, 3).T
            np.add.at(exponents, (rows, columns), counts)  # laws may be listed more than once
            lower, upper = algebra.monomials(centre, functions, exponents)
            # The product and the sum are rounded, once each.
            upper = (upper + lost * np.array(around.samples)) * (1 + 2.0**-51)
            lower, upper = rounding.floored(np.minimum(lower, 1.0), np.minimum(upper, 1.0))
            yield around.places, lower, upper
