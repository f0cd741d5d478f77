"""Order events in, enclosures out: a grid with its algebra and the functions computed on it.

In: plans, what they require of a grid, and how fine and precise to work (`RefinementLevel`). Out:
an `Enclosure` of each probability: the value computed with restricted laws is at most the
probability and misses at most the lost mass (`grid`). All memory is bounded; what does not fit is
refused.

Stars are taken all at once, in doubles, in a first attempt at most. In: stars. Out: what they need
of a grid, and on one bounds of their probabilities as arrays. What these do not enclose narrowly
enough goes the way of all other events (`engine`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import Array
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, field
from dipapprox.events.event import Connected, Event, Star, laws_of
from dipapprox.events.reduce import is_plain
from dipapprox.laws.distribution import Distribution, cutoff_interval, law_order
from dipapprox.limits import check_limits
from dipapprox.numerics.algebras import balls
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import build_grid, build_lattice
from dipapprox.numerics.elimination.plan import Evaluation, FunctionTable, Terms, enclosed_sum
from dipapprox.numerics.elimination.planning import OrderEvent
from dipapprox.numerics.elimination.refinement import (
    GridEvent,
    GridRequirements,
    RefinementLevel,
    bytes_per_panel,
    has_few_laws,
    is_small,
)

MEMORY = 2**28  # bytes that the functions of one evaluator may take, about


class GridEvaluator:
    """An algebra on a grid, which keeps all but 2**(1 - kept) of every law it is required for.

    It remembers at most `capacity` functions, of a table, that were computed on it.
    """

    def __init__(
        self,
        required: GridRequirements,
        kept: int,
        algebra: Float64Algebra | balls.BallAlgebra,
        table: FunctionTable,
        capacity: int,
    ) -> None:
        self.required = required
        self.kept = kept
        self._algebra = algebra
        self._table = table
        self._capacity = capacity
        self._lost = max(span.lost for span in algebra.grid.spans.values())
        self._forget()

    @property
    def fullness(self) -> float:
        """The share of its memory that an evaluator has used."""
        used = self._evaluation.remembered / self._capacity
        if isinstance(self._algebra, Float64Algebra):
            return used
        return max(used, self._algebra.off_grid / self._algebra.room)

    def _forget(self) -> None:
        if not isinstance(self._algebra, Float64Algebra):
            self._algebra.off_grid = 0
        # Of what kind the functions are, the algebra and its evaluation alone know.
        self._evaluation: Evaluation[Any, Enclosure | NotEnclosed] = Evaluation(
            self._algebra, self._table
        )

    def enclose(self, events: Sequence[GridEvent]) -> list[Enclosure | NotEnclosed]:
        """Enclose the probabilities of events with plans whose requirements this one meets."""
        terms = [event.terms for event in events]
        values = self._values(terms) or [self._alone(each) for each in terms]
        # The mass that the restricted laws of the samples lack, for every number of samples.
        lost = {n: self._lost * n for n in {event.required.samples for event in events}}
        found: list[Enclosure | NotEnclosed] = []
        for value, event in zip(values, events, strict=True):
            if isinstance(value, Enclosure):
                error = event.order.error if isinstance(event.order, OrderEvent) else 0
                most = value.upper + lost[event.required.samples] + error
                value = Enclosure(value.lower - error, most).intersect(UNIT, "elimination")
            found.append(value)
        return found

    def enclose_stars(self, stars: Stars) -> Iterator[StarBounds]:
        """Bound the probabilities of stars whose requirements this evaluator in doubles meets."""
        assert isinstance(self._algebra, Float64Algebra)
        lost = max(float(self._lost), 2.0**-1000)  # a power of two, which may underflow
        return stars.bounds(self._algebra, lost)

    def _values(self, plans: Sequence[Terms]) -> list[Enclosure | NotEnclosed] | None:
        """The values of some plans; None if there is no room for their functions."""
        if self._evaluation.remembered + self._evaluation.cost(plans) > self._capacity:
            return None
        try:
            return [enclosed_sum(each) for each in self._evaluation.values(plans)]
        except balls.TooManyPanels:
            return None

    def _alone(self, plan: Terms) -> Enclosure | NotEnclosed:
        """The value of one plan, after forgetting what was computed if there is no room."""
        found = self._values((plan,))
        if found is None:
            self._forget()
            found = self._values((plan,))
        if found is None:
            return NotEnclosed("its functions are more than the memory holds")
        return found[0]


def new_evaluator(
    required: GridRequirements,
    kept: int,
    level: RefinementLevel,
    table: FunctionTable,
    max_panels: int,
) -> GridEvaluator | NotEnclosed:
    """Make an evaluator with a grid of at most `max_panels` panels."""
    algebra: Algebra | NotEnclosed = NotEnclosed("not looked for")
    if not level.bits and has_few_laws(required) and is_small(required):
        key = required.scope(), kept, level, min(max_panels, _SHARED)
        algebra = _shared.find(key, lambda: open_algebra(required, *key[1:]))
    if isinstance(algebra, NotEnclosed):
        algebra = open_algebra(required, kept, level, max_panels)
    if isinstance(algebra, NotEnclosed):
        return algebra
    each = bytes_per_panel(level) * algebra.grid.panels
    return GridEvaluator(required, kept, algebra, table, max(MEMORY // each, 32))


if TYPE_CHECKING:
    Algebra = Float64Algebra | balls.BallAlgebra


def open_algebra(
    required: GridRequirements, kept: int, level: RefinementLevel, max_panels: int
) -> Algebra | NotEnclosed:
    """Make an algebra on a grid; see `GridEvaluator` and `new_evaluator`."""
    laws, points = sorted(required.laws, key=law_order), required.points
    if required.moved:
        points = points.union(*(cutoff_interval(law, kept) for law in laws))
    if required.sums:
        if level.bits:
            max_panels = min(max_panels, _MOST_IN_BALLS)
        grid = build_lattice(laws, points, required.sums, kept, level.fineness, max_panels)
    else:
        grid = build_grid(laws, points, kept, level.fineness, max_panels)
    if isinstance(grid, NotEnclosed):
        return grid
    try:
        if not level.bits:
            doubles = Float64Algebra(grid)
            if required.sums:
                doubles.require_sums()
            return doubles
        # Panels of one width are narrow for all but the narrowest laws.
        degree = 3 * level.degree // 5 if required.sums else level.degree
        exact = balls.BallAlgebra(grid.also_in(required.shifts), level.bits, degree)
        exact.room = MEMORY // bytes_per_panel(level)
        return exact
    except ValueError as error:
        return NotEnclosed(str(error))


_MOST_IN_BALLS = 512  # most panels of one width in balls: a sum takes up to a second for so many
_SHARED = 256  # most panels of a grid that the process remembers
_Key = tuple[tuple[object, ...], int, RefinementLevel, int]

_shared: Cache[_Key, Algebra | NotEnclosed] = Cache(16)
"""Grids in doubles for few laws, with the node values of these, which take longer to prove than to
use: inputs, runs and, as events have normal forms, values of eps share them. A function takes
at most 60 kB and a law at most seven times as much, so that all of them stay below 90 MB; commonly
it is 1 MB."""


def forget_grids() -> None:
    """Forget what the process remembers; for measurements of what the first run costs."""
    _shared.clear()


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


class _Round(Record, frozen=False):
    """The stars round one law: columns of functions, and the exponents that are not 0."""

    places: list[int] = field(default_factory=list)  # positions of the stars
    samples: list[int] = field(default_factory=list)  # how many samples each star has
    # of the functions: distribution functions of laws, and (True) 1 minus these
    columns: dict[tuple[Distribution, bool], int] = field(default_factory=dict)
    entries: list[int] = field(default_factory=list)  # row, column, exponent, one after the other


class Stars:
    """Stars that share a grid, as exponents of distribution functions."""

    def __init__(self) -> None:
        self._laws: frozenset[Distribution] = frozenset()
        self._rounds: dict[Distribution, _Round] = defaultdict(_Round)

    def add(self, place: int, star: Star) -> bool:
        """Add a star, unless one of its laws has no density or there are too many laws then."""
        own = laws_of(star)
        if not self._laws.issuperset(own):
            laws = self._laws.union(own)
            if any(law.family.is_discrete for law in laws):
                return False
            if not is_small(GridRequirements(laws, frozenset(), 1)):
                return False
            self._laws = laws
        around = self._rounds[star.centre]
        samples, row, columns = 1, len(around.places), around.columns
        for leaves, above in ((star.below, False), (star.above, True)):
            for law, count in leaves:
                around.entries += row, columns.setdefault((law, above), len(columns)), count
                samples += count
        around.places.append(place)
        around.samples.append(samples)
        return True

    @property
    def required(self) -> GridRequirements:
        """What one grid for all of them must offer."""
        most = max(max(each.samples) for each in self._rounds.values())
        return GridRequirements(self._laws, frozenset(), most)

    def bounds(self, algebra: Float64Algebra, lost: float) -> Iterator[StarBounds]:
        """Bound the probabilities; `lost` bounds the mass that any law loses on the grid."""
        for centre, around in self._rounds.items():
            check_limits()
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
