"""The exact function algebra: piecewise exponential polynomials, for Laplace-type laws.

Where the other algebras have panels and errors, functions here live on the whole line and are what
they are: pieces (`pieces`) between marks. Every scale s of a law stands for s / ε, so values are
functions of ε. They are computed in coordinates in which rates and marks are integers (`units`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from flint import fmpq

from dipapprox.data_classes import dataclass
from dipapprox.exact.laplace import pieces
from dipapprox.exact.laplace.pieces import Piece
from dipapprox.exact.laplace.units import Units
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.laws.distribution import Distribution, exponential_sides
from dipapprox.numerics.algebras.algebra import SharedProducts


@dataclass(frozen=True, slots=True, eq=False)
class Piecewise:
    """A function of u: pieces[k] between marks[k - 1] η and marks[k] η, ascending integers."""

    marks: tuple[int, ...]
    pieces: tuple[Piece, ...]

    def on(self, marks: tuple[int, ...]) -> Iterable[Piece]:
        """The pieces on a finer partition."""
        if marks == self.marks:
            return self.pieces
        return self._refined(marks)

    def _refined(self, marks: tuple[int, ...]) -> Iterator[Piece]:
        place, own = 0, self.marks
        for mark in marks:
            yield self.pieces[place]
            if place < len(own) and own[place] == mark:
                place += 1
        yield self.pieces[place]


class TooManyTerms(Exception):
    """A product has more terms than there is time and memory for."""


_MOST_TERMS = 4_000_000
"""Most pairs of terms that one product may multiply: a few seconds' work."""


class ExactAlgebra:
    """The algebra in some units; it implements `FunctionAlgebra` with nothing lost.

    Args:
        units: Fit all laws and constants that will be used.

    Attributes:
        produced: How many terms its functions had so far, all together.
    """

    __slots__ = ("_leaves", "_products", "produced", "units")

    def __init__(self, units: Units) -> None:
        self.units = units
        self.produced = 0
        self._products = SharedProducts(self.product)
        self._leaves: dict[tuple[str, Distribution], Piecewise] = {}

    @property
    def together(self) -> int:
        """How many products to hand over at a time."""
        return 1

    def density(self, law: Distribution) -> Piecewise:
        """The density of the law.

        Raises:
            ValueError: If the law is not of Laplace type.
        """
        return self._cached("density", law, lambda: self._density(law))

    def cdf(self, law: Distribution) -> Piecewise:
        """t -> mass of the law below t."""
        return self._cached("cdf", law, lambda: self._integrate(self.density(law), True))

    def survival(self, law: Distribution) -> Piecewise:
        """t -> mass of the law above t."""
        return self._cached("survival", law, lambda: self._integrate(self.density(law), False))

    def restrict(
        self, function: Piecewise, lower: Fraction | None, upper: Fraction | None
    ) -> Piecewise:
        """t -> function(t) between the bounds, else 0."""
        low = None if lower is None else self.units.mark(lower)
        high = None if upper is None else self.units.mark(upper)
        marks = pieces.union(function.marks, [mark for mark in (low, high) if mark is not None])
        kept = []
        for k, piece in enumerate(function.on(marks)):
            below = high is None or (k < len(marks) and marks[k] <= high)
            above = low is None or (k > 0 and marks[k - 1] >= low)
            kept.append(piece if below and above else {})
        return Piecewise(marks, tuple(kept))

    def product(self, left: Piecewise, right: Piecewise) -> Piecewise:
        """t -> left(t) right(t).

        Raises:
            TooManyTerms: If the factors are too long.
        """
        marks = left.marks if left.marks == right.marks else pieces.union(left.marks, right.marks)
        both = list(zip(left.on(marks), right.on(marks), strict=True))
        if sum(len(f) * len(g) for f, g in both) > _MOST_TERMS:
            raise TooManyTerms
        return self._made(marks, [pieces.product(f, g) for f, g in both])

    def moved(self, function: Piecewise, offset: Fraction) -> Piecewise:
        """t -> function(t + offset)."""
        by = self.units.mark(offset)
        marks = tuple(mark - by for mark in function.marks)
        return self._made(marks, [pieces.moved(piece, by) for piece in function.pieces])

    def difference(self, upper: Piecewise, lower: Piecewise) -> Piecewise:
        """t -> upper(t) - lower(t)."""
        marks = pieces.union(upper.marks, lower.marks)
        both = zip(upper.on(marks), lower.on(marks), strict=True)
        return self._made(marks, [pieces.combined([(1, f), (-1, g)]) for f, g in both])

    def convolution(
        self, left: Piecewise, right: Piecewise, check: Callable[[], None]
    ) -> Piecewise:
        """t -> ∫ left(r) right(t - r) dr.

        A piece of `right` between two marks wants t - r between them: as a sum of functions of t
        times functions of r, it gives differences of antiderivatives of the latter with `left`.

        Raises:
            TooManyTerms: If the functions are too long.
        """
        parts: list[tuple[int, Piecewise]] = []
        for k, piece in enumerate(right.pieces):
            above = right.marks[k] if k < len(right.marks) else None
            below = right.marks[k - 1] if k else None
            for of_sum, of_part in pieces.by_difference(piece):
                check()
                weighted = self.product(left, Piecewise((), (of_part,)))
                if above is None or below is None:
                    primitive = self._integrate(weighted, from_left=above is None)
                    ends = [(1, below if above is None else above)]
                else:
                    primitive = self._primitive(weighted)
                    ends = [(1, below), (-1, above)]
                for sign, end in ends:
                    assert end is not None
                    moved = _shifted(primitive, end)
                    parts.append((sign, self.product(moved, Piecewise((), (of_sum,)))))
        return self._sum(parts)

    def plus_sample(
        self, function: Piecewise, law: Distribution, check: Callable[[], None]
    ) -> Piecewise:
        """t -> ∫ function(r) φ(t - r) dr for the density φ of a law."""
        return self.convolution(function, self.density(law), check)

    def _sum(self, parts: Sequence[tuple[int, Piecewise]]) -> Piecewise:
        marks: tuple[int, ...] = ()
        for _, part in parts:
            marks = pieces.union(marks, part.marks)
        columns = zip(*(part.on(marks) for _, part in parts), strict=True)
        signs = [sign for sign, _ in parts]
        found = [pieces.combined(zip(signs, column, strict=True)) for column in columns]
        return self._made(marks, found or [{}])

    def _primitive(self, function: Piecewise) -> Piecewise:
        """A continuous antiderivative."""
        marks, found = function.marks, [pieces.antiderivative(function.pieces[0])]
        for mark, piece in zip(marks, function.pieces[1:], strict=True):
            primitive = pieces.antiderivative(piece)
            before, here = pieces.at_mark(found[-1], mark), pieces.at_mark(primitive, mark)
            found.append(pieces.combined([(1, primitive), (1, before), (-1, here)]))
        return self._made(marks, found)

    def products(self, products: Sequence[Sequence[Piecewise]]) -> list[Piecewise]:
        """Multiply the factors of each."""
        return list(self._products.of(products))

    def product_totals(
        self, products: Sequence[Sequence[Piecewise]]
    ) -> list[ExponentialPolynomial]:
        """∫ over the line of every product of functions."""
        return [self._total(function) for function in self._products.of(products)]

    def running(self, products: Sequence[Sequence[Piecewise]], from_left: bool) -> list[Piecewise]:
        """t -> ∫ over (-∞, t), or over (t, ∞), of every product of functions."""
        return [self._integrate(function, from_left) for function in self._products.of(products)]

    def _cached(self, kind: str, law: Distribution, make: Callable[[], Piecewise]) -> Piecewise:
        key = (kind, law)
        if key not in self._leaves:
            self._leaves[key] = make()
        return self._leaves[key]

    def _density(self, law: Distribution) -> Piecewise:
        a, mark = self.units.rate(law), self.units.mark(law.mean)
        rising, falling = pieces.monomial(-a * mark, a), pieces.monomial(a * mark, -a)
        sides = exponential_sides(law)
        left, right = (
            {monomial: fmpq(a, len(sides))} if side in sides else {}
            for side, monomial in ((-1, rising), (1, falling))
        )
        return Piecewise((mark,), (left, right))

    def _integrate(self, function: Piecewise, from_left: bool) -> Piecewise:
        """Add to every antiderivative what makes it continuous, and 0 at the end."""
        marks = function.marks
        primitives = [pieces.antiderivative(piece) for piece in function.pieces]
        order = range(len(primitives)) if from_left else range(len(primitives) - 1, -1, -1)
        sign = 1 if from_left else -1
        found: list[Piece] = [{}] * len(primitives)
        before: Piece = {}  # the integral up to the piece
        for k in order:
            start = k - 1 if from_left else k
            if 0 <= start < len(marks):
                at_start = pieces.at_mark(primitives[k], marks[start])
            else:
                at_start = pieces.at_infinity(primitives[k], -sign)
            constant = pieces.combined([(1, before), (-sign, at_start)])
            found[k] = pieces.combined([(sign, primitives[k]), (1, constant)])
            end = k if from_left else k - 1
            if 0 <= end < len(marks):
                before = pieces.at_mark(found[k], marks[end])
        return self._made(marks, found)

    def _made(self, marks: tuple[int, ...], found: Sequence[Piece]) -> Piecewise:
        self.produced += sum(map(len, found))
        return Piecewise(marks, tuple(found))

    def _total(self, function: Piecewise) -> ExponentialPolynomial:
        """Σ over the pieces of the differences of antiderivatives."""
        marks = function.marks
        ends: list[tuple[int, Piece]] = []
        for k, piece in enumerate(function.pieces):
            primitive = pieces.antiderivative(piece)
            for sign, place in ((1, k), (-1, k - 1)):
                if 0 <= place < len(marks):
                    ends.append((sign, pieces.at_mark(primitive, marks[place])))
                else:
                    ends.append((sign, pieces.at_infinity(primitive, sign)))
        return pieces.as_function(pieces.combined(ends), self.units.step)


def _shifted(function: Piecewise, mark: int) -> Piecewise:
    """u -> function(u - mark * η)."""
    if not mark:
        return function
    marks = tuple(own + mark for own in function.marks)
    return Piecewise(marks, tuple(pieces.shifted(piece, mark) for piece in function.pieces))
