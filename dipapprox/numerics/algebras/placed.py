"""Functions in balls that are asked for on panels: what shifts of functions need.

On one grid, t -> f(t + c) has its kinks and its ends elsewhere than f. Here a function knows its
own boundaries, between which it is analytic, and gives its polynomials on any panels that respect
these: laws are expanded there, integrals are composed with what maps the new panels into their own,
products and differences ask their parts, and t -> f(t + c) asks f at panels moved by c, exactly.
Only what is integrated is put on panels of its own: those of all its factors.

If u = δ + ρ w maps the new panel into the old one, |δ| + ρ <= 1, then p(u) + e(u) with |e| <= r
becomes p(δ + ρ w) + e: the remainder stays, and the 1-norm does not grow.

Boundaries are integers in units of 1 / `unit`. Functions are those of restricted laws, as in
`algebra`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb_poly

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import give_way, precision, to_ball
from dipapprox.data_classes import dataclass, field
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.ball_convolution import PanelPiece, constant_piece
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction
from dipapprox.numerics.algebras.grid import MAX_PANELS, Grid, PanelSpan

Marks = tuple[int, ...]
Value = Enclosure | NotEnclosed


class TooManyPanels(Exception):
    """Functions would need more panels than there is time and memory for."""


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A function on whatever panels it is wanted.

    Attributes:
        marks: Ascending boundaries: between them, and beyond the ends, the function is analytic.
        vanishes: Whether it is 0 beyond the left end, and beyond the right one.
        make: From boundaries, among them all of `marks` between their ends, to the function there.
    """

    marks: Marks
    vanishes: tuple[bool, bool]
    make: Callable[[Marks], BallFunction]
    _known: dict[Marks, BallFunction] = field(default_factory=dict, repr=False)

    def on(self, marks: Marks) -> BallFunction:
        """The function on panels, computed once."""
        found = self._known.get(marks)
        if found is None:
            found = self._known[marks] = self.make(marks)
        return found


class PlacedAlgebra:
    """An algebra of such functions: `FunctionAlgebra`.

    Args:
        unit: All boundaries of `grids`, constants and shifts are multiples of 1 / unit.
        grids: For every law, moved to the mean 0, panels that serve it.
        bits: Working precision.
        degree: Of all polynomials.
        most: Panels of all functions together.
        limits: Asked at every panel.
    """

    def __init__(
        self,
        unit: int,
        grids: Mapping[Distribution, Grid],
        bits: int,
        degree: int,
        most: int,
        limits: Limits,
    ) -> None:
        self._unit, self._grids = unit, grids
        self._bits, self._degree, self._limits = bits, degree, limits
        self._most = most
        self._made = 0
        self._leaves: dict[tuple[str, Distribution], Placed] = {}
        self._algebras: dict[Marks, BallAlgebra] = {}

    @property
    def together(self) -> int:
        """How many products to hand over at a time."""
        return 1

    @property
    def fullness(self) -> float:
        """The share of its panels that an algebra has used."""
        return self._made / self._most

    # --- laws -----------------------------------------------------------------------------------

    def density(self, law: Distribution) -> Placed:
        """The density of the restricted law."""
        return self._leaf("density", law, (True, True))

    def cdf(self, law: Distribution) -> Placed:
        """t -> mass of the restricted law below t."""
        return self._leaf("cdf", law, (True, False))

    def survival(self, law: Distribution) -> Placed:
        """t -> mass of the restricted law above t."""
        return self._leaf("survival", law, (False, True))

    def _leaf(self, kind: str, law: Distribution, vanishes: tuple[bool, bool]) -> Placed:
        """A function of a law; laws that differ by a shift share it."""
        centred = law.affine(_ONE, -law.mean)
        leaf = self._leaves.get((kind, centred))
        if leaf is None:
            grid = self._grids[centred]
            own = tuple([mark * (self._unit // grid.unit) for mark in grid.marks])
            lost = grid.spans[centred].lost

            def make(marks: Marks) -> BallFunction:
                # The law's span has to be made of panels, also where nobody asks.
                inside = sorted({*marks, *own})
                first, last = inside.index(own[0]), inside.index(own[-1])
                spans = {centred: PanelSpan(first, last, lost)}
                algebra = self._on(Grid(self._unit, tuple(inside), spans))
                function: BallFunction = getattr(algebra, kind)(centred)
                return tuple([function[bisect_left(inside, mark)] for mark in marks[:-1]])

            leaf = self._leaves[kind, centred] = Placed(own, vanishes, make)
        return self.moved(leaf, -law.mean)

    # --- operations -----------------------------------------------------------------------------

    def moved(self, function: Placed, offset: Fraction) -> Placed:
        """t -> function(t + offset)."""
        if not offset:
            return function
        by = self._units(offset)
        marks = tuple([mark - by for mark in function.marks])
        return Placed(
            marks, function.vanishes, lambda there: function.on(tuple([m + by for m in there]))
        )

    def difference(self, upper: Placed, lower: Placed) -> Placed:
        """t -> upper(t) - lower(t), which is known to lie between 0 and `upper`."""
        marks = self._counted({*upper.marks, *lower.marks})

        def make(there: Marks) -> BallFunction:
            return self._algebra(there).difference(upper.on(there), lower.on(there))

        return Placed(marks, upper.vanishes, make)

    def restrict(self, function: Placed, lower: Fraction | None, upper: Fraction | None) -> Placed:
        """t -> function(t) between the bounds, else 0."""
        low = None if lower is None else self._units(lower)
        high = None if upper is None else self._units(upper)
        cuts = {cut for cut in (low, high) if cut is not None}

        def make(there: Marks) -> BallFunction:
            # Panels count from 0.
            ends = [
                None if cut is None else Fraction(cut - there[0], self._unit) for cut in (low, high)
            ]
            return self._algebra(there).restrict(function.on(there), *ends)

        left, right = function.vanishes
        vanishes = left or low is not None, right or high is not None
        return Placed(self._counted({*function.marks, *cuts}), vanishes, make)

    def products(self, products: Sequence[Sequence[Placed]]) -> list[Placed]:
        """Multiply the factors of every product, at least one."""
        return [self._product(factors) for factors in products]

    def _product(self, factors: Sequence[Placed]) -> Placed:
        starts = [f.marks[0] for f in factors if f.vanishes[0]]
        ends = [f.marks[-1] for f in factors if f.vanishes[1]]
        low = max(starts) if starts else min(f.marks[0] for f in factors)
        high = min(ends) if ends else max(f.marks[-1] for f in factors)
        if low >= high:  # it is 0
            low, high = high, low + self._unit
        inside = {low, high}
        for function in factors:
            inside.update(_within(function.marks, (low, high)))

        def make(there: Marks) -> BallFunction:
            functions = [function.on(there) for function in factors]
            (product,) = self._algebra(there).products((functions,))
            return product

        return Placed(self._counted(inside), (bool(starts), bool(ends)), make)

    # --- integrals --------------------------------------------------------------------------------

    def running(self, products: Sequence[Sequence[Placed]], from_left: bool) -> list[Placed]:
        """t -> ∫ over (-∞, t), else over (t, ∞), of every product."""
        return [self._integral(self._product(factors), from_left) for factors in products]

    def _integral(self, function: Placed, from_left: bool) -> Placed:
        own = self._ends(function)
        algebra, known = self._algebra(own), function.on(own)
        (integral,) = algebra.running([(known,)], from_left)

        def make(there: Marks) -> BallFunction:
            with precision(self._bits):
                return tuple(self._continued(integral, own, there, from_left))

        return Placed(own, (from_left, not from_left), make)

    def _continued(
        self, integral: BallFunction, own: Marks, there: Marks, from_left: bool
    ) -> Iterator[PanelPiece | None]:
        """An integral from an end on finer panels; beyond its own it is nothing, or constant."""
        for low, high in pairwise(there):
            self._limits.check()
            give_way()
            if high <= own[0] or low >= own[-1]:
                is_whole = (low >= own[-1]) == from_left
                piece = integral[-1 if from_left else 0] if is_whole else None
                end = to_ball(Fraction(1 if from_left else -1))
                if piece is not None:
                    value = constant_piece(piece.polynomial(end)).polynomial
                    piece = PanelPiece(value, piece.radius)
                yield piece
                continue
            panel = bisect_right(own, low) - 1
            start, stop = own[max(panel, 0)], own[panel + 1]
            if low < start or high > stop:
                raise BrokenInvariant("panels are not finer than those that they replace")
            piece = integral[panel]
            if piece is not None and (low, high) != (start, stop):
                center = Fraction(low + high - start - stop, stop - start)
                half = Fraction(high - low, stop - start)
                line = arb_poly([to_ball(center), to_ball(half)])
                piece = PanelPiece(piece.polynomial(line), piece.radius)
            yield piece

    def convolution(self, left: Placed, right: Placed, check: Callable[[], None]) -> Placed:
        """No sums here.

        Raises:
            ValueError: Always.
        """
        raise ValueError("functions on panels of their own are not convolved")

    def plus_sample(self, function: Placed, law: Distribution, check: Callable[[], None]) -> Placed:
        """No sums here; see `convolution`."""
        raise ValueError("functions on panels of their own are not convolved")

    def product_totals(self, products: Sequence[Sequence[Placed]]) -> list[Value]:
        """∫ over the line of every product."""
        found: list[Value] = []
        for function in self.products(products):
            own = self._ends(function)
            found += self._algebra(own).product_totals([(function.on(own),)])
        return found

    @staticmethod
    def _ends(function: Placed) -> Marks:
        if not all(function.vanishes):
            raise BrokenInvariant("an integral that must be at most 1 does not converge")
        return function.marks

    # --- panels -----------------------------------------------------------------------------------

    def _on(self, grid: Grid) -> BallAlgebra:
        algebra = BallAlgebra(grid, self._bits, self._degree)
        algebra.limits = self._limits
        return algebra

    def _algebra(self, marks: Marks) -> BallAlgebra:
        """Panels that count from 0: only their widths matter."""
        here = tuple([mark - marks[0] for mark in marks])
        known = self._algebras.get(here)
        if known is None:
            known = self._algebras[here] = self._on(Grid(self._unit, here, {}))
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


def _within(marks: Marks, ends: tuple[int, int]) -> Marks:
    """The marks strictly between two."""
    return marks[bisect_right(marks, ends[0]) : bisect_left(marks, ends[1])]
