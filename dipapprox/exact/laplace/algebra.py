"""The exact function algebra: piecewise exponential polynomials, for Laplace-type laws.

Where the other algebras have panels and errors, functions here live on the whole line and are what
they are: pieces (`pieces`) between marks. Every scale s of a law stands for s / ε, so values are
functions of ε. They are computed in coordinates in which rates and marks are integers (`pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import fmpq

from dipapprox.exact.laplace import pieces
from dipapprox.exact.laplace.pieces import Piece, Units
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.laws.distribution import Distribution, exponential_sides
from dipapprox.numerics.algebras.piecewise import Ends, Marks, Piecewise, PiecewiseAlgebra, union

Function = Piecewise[Piece]  # of u, with marks in η


class TooManyTerms(Exception):
    """A product has more terms than there is time and memory for."""


_MOST_TERMS = 4_000_000  # most pairs of terms that one product may multiply: a few seconds' work


class ExactAlgebra(PiecewiseAlgebra[Piece, Piece, ExponentialPolynomial]):
    """The algebra in some units: nothing is lost. `produced` counts the terms of its functions."""

    __slots__ = ("produced", "units")

    def __init__(self, units: Units) -> None:
        super().__init__({}, {})
        self.units = units
        self.produced = 0

    def mark(self, point: Fraction) -> int:
        return self.units.mark(point)

    def convolution(self, left: Function, right: Function, check: Callable[[], None]) -> Function:
        """t -> ∫ left(r) right(t - r) dr; TooManyTerms if the functions are too long.

        A piece of `right` between two marks wants t - r between them: as a sum of functions of t
        times functions of r, it gives differences of antiderivatives of the latter with `left`.
        """
        parts: list[tuple[int, Function]] = []
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
                    moved = self.shifted(primitive, -end)
                    parts.append((sign, self.product(moved, Piecewise((), (of_sum,)))))
        return self._sum(parts)

    def plus_sample(
        self, function: Function, law: Distribution, check: Callable[[], None]
    ) -> Function:
        return self.convolution(function, self.density(law), check)

    def _sum(self, parts: Sequence[tuple[int, Function]]) -> Function:
        marks: Marks = ()
        for _, part in parts:
            marks = union(marks, part.marks)
        columns = zip(
            *([piece for piece, _, _ in part.on(marks)] for _, part in parts), strict=True
        )
        signs = [sign for sign, _ in parts]
        found = [pieces.combined(zip(signs, column, strict=True)) for column in columns]
        return self._made(marks, found or [{}])

    def _primitive(self, function: Function) -> Function:
        """A continuous antiderivative."""
        marks, found = function.marks, [pieces.antiderivative(function.pieces[0])]
        for mark, piece in zip(marks, function.pieces[1:], strict=True):
            primitive = pieces.antiderivative(piece)
            before, here = pieces.at_mark(found[-1], mark), pieces.at_mark(primitive, mark)
            found.append(pieces.combined([(1, primitive), (1, before), (-1, here)]))
        return self._made(marks, found)

    # --- pieces -------------------------------------------------------------------------------

    def _is_nothing(self, piece: Piece) -> bool:
        return not piece

    def _times(self, pairs: Sequence[tuple[Piece, Piece]]) -> list[Piece]:
        """Raises TooManyTerms if the factors are too long."""
        if sum(len(f) * len(g) for f, g in pairs) > _MOST_TERMS:
            raise TooManyTerms
        return [pieces.product(f, g) for f, g in pairs]

    def _minus(self, upper: Piece, lower: Piece) -> Piece:
        return pieces.combined([(1, upper), (-1, lower)])

    def _part(self, piece: Piece, ends: Ends, part: Ends) -> Piece:
        return piece

    def _moved(self, piece: Piece, by: int) -> Piece:
        return pieces.moved(piece, by)

    def _density(self, law: Distribution) -> Function:
        a, mark = self.units.rate(law), self.units.mark(law.mean)
        rising, falling = pieces.monomial(-a * mark, a), pieces.monomial(a * mark, -a)
        sides = exponential_sides(law)
        left, right = (
            {monomial: fmpq(a, len(sides))} if side in sides else {}
            for side, monomial in ((-1, rising), (1, falling))
        )
        return Piecewise((mark,), (left, right))

    def _integral(
        self, piece: Piece, ends: Ends, before: Piece, from_left: bool
    ) -> tuple[Piece, Piece]:
        """Add to the antiderivative what makes it continuous, and 0 at the end."""
        sign = 1 if from_left else -1
        start, end = ends if from_left else ends[::-1]
        primitive = pieces.antiderivative(piece)
        at_start = (
            pieces.at_infinity(primitive, -sign)
            if start is None
            else pieces.at_mark(primitive, start)
        )
        constant = pieces.combined([(1, before), (-sign, at_start)])
        found = pieces.combined([(sign, primitive), (1, constant)])
        return found, {} if end is None else pieces.at_mark(found, end)

    def _made(self, marks: Marks, pieces: Sequence[Piece]) -> Function:
        self.produced += sum(map(len, pieces))
        return super()._made(marks, pieces)

    def _total(self, function: Function) -> ExponentialPolynomial:
        """Σ over the pieces of the differences of antiderivatives."""
        found: list[tuple[int, Piece]] = []
        for piece, (low, high) in zip(function.pieces, function.ends, strict=True):
            primitive = pieces.antiderivative(piece)
            for sign, place in ((1, high), (-1, low)):
                if place is None:
                    found.append((sign, pieces.at_infinity(primitive, sign)))
                else:
                    found.append((sign, pieces.at_mark(primitive, place)))
        return pieces.as_function(pieces.combined(found), self.units.step)
