"""Functions that are asked for on panels: what shifts of functions need.

On one grid, t -> f(t + c) has its kinks and its ends elsewhere than f. Here a function knows its
own boundaries, between which it is analytic, and gives its values on any panels that respect these:
laws are sampled there, integrals continue what was integrated on their own panels, products and
differences ask their parts, and t -> f(t + c) asks f at panels moved by c, exactly. Only what is
integrated is put on panels of its own: those of all its factors.

Boundaries are integers in units of 1 / `unit`. Functions are those of restricted laws, as in
`algebra`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.data_classes import dataclass, field
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.algebras.algebra import FunctionAlgebra
from dipapprox.numerics.algebras.grid import MAX_PANELS, Grid, PanelSpan
from dipapprox.numerics.algebras.places import Place, places

F = TypeVar("F")

Marks = tuple[int, ...]
Value = Enclosure | NotEnclosed


class TooManyPanels(Exception):
    """Functions would need more panels than there is time and memory for."""


class PanelFunctions(Protocol[F]):
    """What can be done with functions on panels, of one representation."""

    def on(self, grid: Grid) -> FunctionAlgebra[F, Value]:
        """The algebra on some panels.

        Raises:
            ValueError: If the panels are too narrow or too wide for it.
        """

    def picked(self, function: F, panels: Sequence[int]) -> F:
        """The function on some of its panels."""

    def integral(self, function: F, grid: Grid, from_left: bool) -> Callable[[Sequence[Place]], F]:
        """∫ from an end, on whatever finer panels; their places are often the same object."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed(Generic[F]):
    """A function on whatever panels it is wanted.

    Attributes:
        marks: Ascending boundaries: between them, and beyond the ends, the function is analytic.
        vanishes: Whether it is 0 beyond the left end, and beyond the right one.
        make: From boundaries, among them all of `marks` between their ends, to the function there.
    """

    marks: Marks
    vanishes: tuple[bool, bool]
    make: Callable[[Marks], F]
    _known: dict[Marks, F] = field(default_factory=dict, repr=False)

    def on(self, marks: Marks) -> F:
        """The function on panels, computed once."""
        found = self._known.get(marks)
        if found is None:
            found = self._known[marks] = self.make(marks)
        return found


class PlacedAlgebra(Generic[F]):
    """An algebra of such functions: `FunctionAlgebra`.

    Args:
        panels: Their representation.
        unit: All boundaries of `grids`, constants and shifts are multiples of 1 / unit.
        grids: For every law, moved to the mean 0, panels that serve it.
        most: Panels of all functions together.
    """

    def __init__(
        self,
        panels: PanelFunctions[F],
        unit: int,
        grids: Mapping[Distribution, Grid],
        most: int,
    ) -> None:
        self._panels = panels
        self._unit = unit
        self._grids = grids
        self._most = most
        self._made = 0
        self._leaves: dict[tuple[str, Distribution], Placed[F]] = {}
        self._algebras: dict[Marks, FunctionAlgebra[F, Value]] = {}
        self._places: dict[tuple[Marks, Marks], tuple[Place, ...]] = {}

    @property
    def together(self) -> int:
        """How many products to hand over at a time."""
        return 1

    @property
    def fullness(self) -> float:
        """The share of its panels that an algebra has used."""
        return self._made / self._most

    # --- laws -----------------------------------------------------------------------------------

    def density(self, law: Distribution) -> Placed[F]:
        """The density of the restricted law."""
        return self._leaf("density", law, (True, True))

    def cdf(self, law: Distribution) -> Placed[F]:
        """t -> mass of the restricted law below t."""
        return self._leaf("cdf", law, (True, False))

    def survival(self, law: Distribution) -> Placed[F]:
        """t -> mass of the restricted law above t."""
        return self._leaf("survival", law, (False, True))

    def _leaf(self, kind: str, law: Distribution, vanishes: tuple[bool, bool]) -> Placed[F]:
        """A function of a law; laws that differ by a shift share it."""
        centred = law.affine(_ONE, -law.mean)
        leaf = self._leaves.get((kind, centred))
        if leaf is None:
            grid = self._grids[centred]
            own = tuple([mark * (self._unit // grid.unit) for mark in grid.marks])
            lost = grid.spans[centred].lost

            def make(marks: Marks) -> F:
                # The law's span has to be made of panels, also where nobody asks.
                inside = sorted({*marks, *own})
                first, last = inside.index(own[0]), inside.index(own[-1])
                spans = {centred: PanelSpan(first, last, lost)}
                algebra = self._panels.on(Grid(self._unit, tuple(inside), spans))
                law_function: Callable[[Distribution], F] = getattr(algebra, kind)
                where = [bisect_left(inside, mark) for mark in marks[:-1]]
                return self._panels.picked(law_function(centred), where)

            leaf = self._leaves[kind, centred] = Placed(own, vanishes, make)
        return self.moved(leaf, -law.mean)

    # --- operations -----------------------------------------------------------------------------

    def moved(self, function: Placed[F], offset: Fraction) -> Placed[F]:
        """t -> function(t + offset)."""
        if not offset:
            return function
        by = self._units(offset)
        marks = tuple([mark - by for mark in function.marks])
        return Placed(
            marks, function.vanishes, lambda there: function.on(tuple([m + by for m in there]))
        )

    def difference(self, upper: Placed[F], lower: Placed[F]) -> Placed[F]:
        """t -> upper(t) - lower(t), which is known to lie between 0 and `upper`."""
        marks = self._counted({*upper.marks, *lower.marks})

        def make(there: Marks) -> F:
            return self._algebra(there).difference(upper.on(there), lower.on(there))

        return Placed(marks, upper.vanishes, make)

    def restrict(
        self, function: Placed[F], lower: Fraction | None, upper: Fraction | None
    ) -> Placed[F]:
        """t -> function(t) between the bounds, else 0."""
        low = None if lower is None else self._units(lower)
        high = None if upper is None else self._units(upper)
        cuts = {cut for cut in (low, high) if cut is not None}

        def make(there: Marks) -> F:
            # Panels count from 0.
            ends = [
                None if cut is None else Fraction(cut - there[0], self._unit) for cut in (low, high)
            ]
            return self._algebra(there).restrict(function.on(there), *ends)

        left, right = function.vanishes
        vanishes = left or low is not None, right or high is not None
        return Placed(self._counted({*function.marks, *cuts}), vanishes, make)

    def product(self, left: Placed[F], right: Placed[F]) -> Placed[F]:
        """t -> left(t) right(t)."""
        return self.products(((left, right),))[0]

    def power(self, function: Placed[F], exponent: int) -> Placed[F]:
        """t -> function(t) ** exponent, exponent >= 1."""
        return Placed(
            function.marks,
            function.vanishes,
            lambda there: self._algebra(there).power(function.on(there), exponent),
        )

    def products(self, products: Sequence[Sequence[Placed[F]]]) -> list[Placed[F]]:
        """Multiply the factors of every product, at least one."""
        return [self._product(factors) for factors in products]

    def _product(self, factors: Sequence[Placed[F]]) -> Placed[F]:
        starts = [f.marks[0] for f in factors if f.vanishes[0]]
        ends = [f.marks[-1] for f in factors if f.vanishes[1]]
        low = max(starts) if starts else min(f.marks[0] for f in factors)
        high = min(ends) if ends else max(f.marks[-1] for f in factors)
        if low >= high:  # it is 0
            low, high = high, low + self._unit
        inside = {low, high}
        for function in factors:
            inside.update(_within(function.marks, (low, high)))

        def make(there: Marks) -> F:
            functions = [function.on(there) for function in factors]
            (product,) = self._algebra(there).products((functions,))
            return product

        return Placed(self._counted(inside), (bool(starts), bool(ends)), make)

    # --- integrals --------------------------------------------------------------------------------

    def from_left(self, function: Placed[F]) -> Placed[F]:
        """t -> ∫ function over (-∞, t)."""
        return self._integral(function, from_left=True)

    def from_right(self, function: Placed[F]) -> Placed[F]:
        """t -> ∫ function over (t, ∞)."""
        return self._integral(function, from_left=False)

    def running(self, products: Sequence[Sequence[Placed[F]]], from_left: bool) -> list[Placed[F]]:
        """t -> ∫ over (-∞, t), else over (t, ∞), of every product."""
        return [self._integral(self._product(factors), from_left) for factors in products]

    def _integral(self, function: Placed[F], from_left: bool) -> Placed[F]:
        own = self._ends(function)
        continued = self._panels.integral(function.on(own), self._grid(own), from_left)

        def make(there: Marks) -> F:
            # By distances: functions that are moved alike have the same places.
            key = _from(own[0], own), _from(own[0], there)
            found = self._places.get(key)
            if found is None:
                found = self._places[key] = places(own, there)
            return continued(found)

        return Placed(own, (from_left, not from_left), make)

    def convolution(
        self, left: Placed[F], right: Placed[F], check: Callable[[], None]
    ) -> Placed[F]:
        """No sums here.

        Raises:
            ValueError: Always.
        """
        raise ValueError("functions on panels of their own are not convolved")

    def plus_sample(
        self, function: Placed[F], law: Distribution, check: Callable[[], None]
    ) -> Placed[F]:
        """No sums here; see `convolution`."""
        raise ValueError("functions on panels of their own are not convolved")

    def totals(self, functions: Sequence[Placed[F]]) -> list[Value]:
        """∫ function over the line, for each function."""
        found: list[Value] = []
        for function in functions:
            own = self._ends(function)
            found += self._algebra(own).totals((function.on(own),))
        return found

    def product_totals(self, products: Sequence[Sequence[Placed[F]]]) -> list[Value]:
        """∫ over the line of every product."""
        return self.totals(self.products(products))

    @staticmethod
    def _ends(function: Placed[F]) -> Marks:
        if not all(function.vanishes):
            raise BrokenInvariant("an integral that must be at most 1 does not converge")
        return function.marks

    # --- panels -----------------------------------------------------------------------------------

    def _grid(self, marks: Marks) -> Grid:
        """Panels that count from 0: only their widths matter."""
        return Grid(self._unit, _from(marks[0], marks), {})

    def _algebra(self, marks: Marks) -> FunctionAlgebra[F, Value]:
        here = _from(marks[0], marks)
        known = self._algebras.get(here)
        if known is None:
            known = self._algebras[here] = self._panels.on(self._grid(here))
        return known

    def _counted(self, marks: Iterable[int]) -> Marks:
        """Sort boundaries, if there is room for functions between them."""
        found = tuple(sorted(marks))
        self._made += len(found)
        if len(found) > MAX_PANELS + 1 or self._made > self._most:
            raise TooManyPanels
        return found

    def _units(self, number: Fraction) -> int:
        factor, rest = divmod(self._unit, number.denominator)
        if rest:
            raise BrokenInvariant("a shift is no multiple of the unit")
        return number.numerator * factor


_ONE = Fraction(1)


def _from(start: int, marks: Marks) -> Marks:
    return tuple([mark - start for mark in marks]) if start else marks


def _within(marks: Marks, ends: tuple[int, int]) -> Marks:
    """The marks strictly between two."""
    return marks[bisect_right(marks, ends[0]) : bisect_left(marks, ends[1])]
