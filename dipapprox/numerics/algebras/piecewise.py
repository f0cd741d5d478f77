"""Functions that are known piece by piece: what algebras do with them, whatever a piece is.

In: pieces between marks on the line, and beyond the first and last. Out: products, restrictions,
shifts, differences and integrals, piece by piece on common marks. Whoever has pieces of some kind
says how two are multiplied and subtracted, how one is integrated, and what one is on a part of its
interval: closed forms (`exact.laplace.algebra`) are the same there, polynomials in balls (`balls`)
are composed with the line that maps the part into the whole.

Algebra. The function algebra: what elimination needs to know about functions of one real variable.

Elimination integrates the samples of an event out one by one; what is left of a sub-tree is a
univariate function of the sample it hangs on. An algebra represents such functions. Two do it on a
grid, with proved errors: `float64.Float64Algebra` (vectorised doubles) and `balls.BallAlgebra` (any
precision); their integrals are enclosures. `exact.laplace.algebra.ExactAlgebra` needs no grid: its
functions are piecewise exponential polynomials, and so are its integrals, as functions of eps.

On a grid every law μ stands for its restriction μ' to its span (see `grid.py`); `lost` bounds what
is dropped, elsewhere nothing is. With it, exactly and in every algebra, for t inside the grid:

    density = dμ'/dt,   cdf(t) = μ'(-∞, t),   survival(t) = μ'(t, ∞),   cdf + survival = mass
    cdf, survival = ∫ density from the left, from the right,   total(density) = mass >= 1 - lost

Convolutions are restricted to the grid, too: whatever of a sum lies outside is dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

from dipapprox.data_classes import Record
from dipapprox.laws.distribution import Distribution

F = TypeVar("F")
V = TypeVar("V")


class FunctionAlgebra(Protocol[F, V]):
    """Functions F closed under products, shifts and integration; their integrals are values V."""

    @property
    def together(self) -> int:
        """How many products to hand over at a time: enough to be quick, few milliseconds' work."""

    def density(self, law: Distribution) -> F:
        """The density of the restricted law. Laws are those the algebra was made for."""

    def cdf(self, law: Distribution) -> F:
        """t -> mass of the restricted law below t."""

    def survival(self, law: Distribution) -> F:
        """t -> mass of the restricted law above t."""

    def restrict(self, function: F, lower: Fraction | None, upper: Fraction | None) -> F:
        """t -> function(t) for lower <= t <= upper, else 0. None: no bound."""

    def difference(self, upper: F, lower: F) -> F:
        """t -> upper(t) - lower(t), which is known to lie between 0 and `upper`."""

    def moved(self, function: F, offset: Fraction) -> F:
        """t -> function(t + offset)."""

    def convolution(self, left: F, right: F, check: Callable[[], None]) -> F:
        """t -> ∫ left(r) right(t - r) dr; `check` is called now and then, and raises to stop."""

    def plus_sample(self, function: F, law: Distribution, check: Callable[[], None]) -> F:
        """t -> ∫ function(r) φ(t - r) dr for the density φ of a law, which is not restricted."""

    def products(self, products: Sequence[Sequence[F]]) -> list[F]:
        """Multiply the factors of every product, at least one; batches as for `running`."""

    def running(self, products: Sequence[Sequence[F]], from_left: bool) -> list[F]:
        """t -> ∫ over (-∞, t), else over (t, ∞), of every product of at least one function.

        One batch is cheaper than many calls, the more so if like beginnings are neighbours.
        """

    def product_totals(self, products: Sequence[Sequence[F]]) -> list[V]:
        """∫ over the line of every product, as for `running`."""


P = TypeVar("P")
C = TypeVar("C")
Marks = tuple[int, ...]
Ends = tuple[int | None, int | None]  # of an interval, in units; None: infinite


class Piecewise(Record, Generic[P], eq=False):
    """A function: pieces[k] between marks[k - 1] and marks[k], which ascend, in units."""

    marks: Marks
    pieces: tuple[P, ...]

    @property
    def ends(self) -> list[Ends]:
        """Between which marks each piece lies."""
        return list(pairwise((None, *self.marks, None)))

    def on(self, marks: Marks) -> Iterator[tuple[P, Ends, Ends]]:
        """Between finer marks: the piece that is there, where it lies, and between which marks."""
        own, place, start = (*self.marks, None), 0, None
        for mark in (*marks, None):
            yield self.pieces[place], (own[place - 1] if place else None, own[place]), (start, mark)
            place, start = place + (own[place] == mark), mark


class PiecewiseAlgebra(ABC, Generic[P, C, V]):
    """A `FunctionAlgebra` of pieces P, whose integrals up to a mark are C and over the line V.

    Batches are of one: what products share is remembered anyway. A function that is 0 has the piece
    `nothing` and the integral `zero`.
    """

    __slots__ = ("_before", "_leaves", "_nothing", "_zero")

    def __init__(self, nothing: P, zero: C) -> None:
        self._nothing, self._zero = nothing, zero
        self._before: list[tuple[Piecewise[P], Piecewise[P]]] = []
        self._leaves: dict[tuple[str, Distribution], Piecewise[P]] = {}

    # --- what a piece is ----------------------------------------------------------------------

    @abstractmethod
    def mark(self, point: Fraction) -> int:
        """A point in units; a ValueError if it is no multiple of the unit."""

    @abstractmethod
    def _density(self, law: Distribution) -> Piecewise[P]: ...

    @abstractmethod
    def _is_nothing(self, piece: P) -> bool: ...

    @abstractmethod
    def _times(self, pairs: Sequence[tuple[P, P]]) -> list[P]:
        """The product of two functions, piece by piece."""

    @abstractmethod
    def _minus(self, upper: P, lower: P) -> P:
        """The difference, which is known to lie between 0 and `upper`."""

    @abstractmethod
    def _part(self, piece: P, ends: Ends, part: Ends) -> P:
        """A piece between `ends` as one on a part of that."""

    @abstractmethod
    def _moved(self, piece: P, by: int) -> P:
        """u -> piece(u + by), between marks that are moved as well."""

    @abstractmethod
    def _integral(self, piece: P, ends: Ends, before: C, from_left: bool) -> tuple[P, C]:
        """u -> before + ∫ from the left end to u, or from u to the right end; and all of it."""

    @abstractmethod
    def _total(self, function: Piecewise[P]) -> V: ...

    def _made(self, marks: Marks, pieces: Sequence[P]) -> Piecewise[P]:
        """A new function; for algebras that count what they make."""
        return Piecewise(marks, tuple(pieces))

    # --- the algebra --------------------------------------------------------------------------

    together = 1

    def density(self, law: Distribution) -> Piecewise[P]:
        return self._cached("density", law, lambda: self._density(law))

    def cdf(self, law: Distribution) -> Piecewise[P]:
        return self._cached("cdf", law, lambda: self._integrate(self.density(law), True))

    def survival(self, law: Distribution) -> Piecewise[P]:
        return self._cached("survival", law, lambda: self._integrate(self.density(law), False))

    def restrict(
        self, function: Piecewise[P], lower: Fraction | None, upper: Fraction | None
    ) -> Piecewise[P]:
        low = None if lower is None else self.mark(lower)
        high = None if upper is None else self.mark(upper)
        # Where the function is 0 there is nothing to cut.
        places = ((cut, bisect_left(function.marks, cut)) for cut in (low, high) if cut is not None)
        cuts = [cut for cut, k in places if not self._is_nothing(function.pieces[k])]
        marks = union(function.marks, cuts)
        kept = [
            self._part(piece, whole, (start, end))
            if (high is None or (end is not None and end <= high))
            and (low is None or (start is not None and start >= low))
            else self._nothing
            for piece, whole, (start, end) in function.on(marks)
        ]
        return self._made(marks, kept)

    def product(self, left: Piecewise[P], right: Piecewise[P]) -> Piecewise[P]:
        """t -> left(t) right(t)."""
        marks, pairs = self._aligned(left, right, zeros=True)
        return self._made(marks, self._times(pairs))

    def moved(self, function: Piecewise[P], offset: Fraction) -> Piecewise[P]:
        return self.shifted(function, self.mark(offset))

    def shifted(self, function: Piecewise[P], by: int) -> Piecewise[P]:
        """u -> function(u + by), in units."""
        marks = tuple([mark - by for mark in function.marks])
        return self._made(marks, [self._moved(piece, by) for piece in function.pieces])

    def difference(self, upper: Piecewise[P], lower: Piecewise[P]) -> Piecewise[P]:
        marks, pairs = self._aligned(upper, lower)
        return self._made(marks, [self._minus(*pair) for pair in pairs])

    def products(self, products: Sequence[Sequence[Piecewise[P]]]) -> list[Piecewise[P]]:
        return list(self._multiplied(products))

    def product_totals(self, products: Sequence[Sequence[Piecewise[P]]]) -> list[V]:
        return [self._total(function) for function in self._multiplied(products)]

    def running(
        self, products: Sequence[Sequence[Piecewise[P]]], from_left: bool
    ) -> list[Piecewise[P]]:
        return [self._integrate(function, from_left) for function in self._multiplied(products)]

    def _multiplied(self, products: Sequence[Sequence[Piecewise[P]]]) -> Iterator[Piecewise[P]]:
        """Multiply factors; neighbours that begin alike share that part."""
        before = self._before  # the latest factors, and the products up to each
        for factors in products:
            alike = 0
            while alike < min(len(before), len(factors)) and before[alike][0] is factors[alike]:
                alike += 1
            del before[alike:]
            for factor in factors[alike:]:
                before.append((factor, self.product(before[-1][1], factor) if before else factor))
            yield before[-1][1]

    # --- on marks -----------------------------------------------------------------------------

    def _aligned(
        self, left: Piecewise[P], right: Piecewise[P], *, zeros: bool = False
    ) -> tuple[Marks, list[tuple[P, P]]]:
        """Two functions on common marks; `zeros`: where one is 0 the other may be so as well."""
        if left.marks == right.marks:
            return left.marks, list(zip(left.pieces, right.pieces, strict=True))
        marks = union(left.marks, right.marks)
        sides = left.on(marks), right.on(marks)
        nothing, found = self._nothing, []
        for (f, wide, ends), (g, broad, _) in zip(*sides, strict=True):
            if zeros and (self._is_nothing(f) or self._is_nothing(g)):
                found.append((nothing, nothing))
            else:
                found.append((self._part(f, wide, ends), self._part(g, broad, ends)))
        return marks, found

    def _integrate(self, function: Piecewise[P], from_left: bool) -> Piecewise[P]:
        pieces, ends = function.pieces, function.ends
        order = range(len(pieces))
        before, found = self._zero, list(pieces)
        for k in order if from_left else reversed(order):
            found[k], before = self._integral(pieces[k], ends[k], before, from_left)
        return self._made(function.marks, found)

    def _cached(
        self, kind: str, law: Distribution, make: Callable[[], Piecewise[P]]
    ) -> Piecewise[P]:
        key = (kind, law)
        if key not in self._leaves:
            self._leaves[key] = make()
        return self._leaves[key]


def union(marks: Marks, others: Sequence[int]) -> Marks:
    """All marks, ascending."""
    more = () if marks == others else set(others).difference(marks)
    return tuple(sorted((*marks, *more))) if more else marks
