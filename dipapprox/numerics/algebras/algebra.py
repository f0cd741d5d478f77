"""The function algebra: what elimination needs to know about functions of one real variable.

Elimination integrates the samples of an event out one by one; what is left of a sub-tree is a
univariate function of the sample it hangs on. An algebra represents such functions. Two do it on a
grid, with proved errors: `float64.Float64Algebra` (vectorised doubles) and `balls.BallAlgebra` (any
precision); their integrals are enclosures. `exact.laplace.algebra.ExactAlgebra` needs no grid: its
functions are piecewise exponential polynomials, and so are its integrals, as functions of eps. What
balls and closed forms do piece by piece is one (`piecewise`).

On a grid every law μ stands for its restriction μ' to its span (see `grid.py`); `lost` bounds what
is dropped, elsewhere nothing is. With it, exactly and in every algebra, for t inside the grid:

    density = dμ'/dt,   cdf(t) = μ'(-∞, t),   survival(t) = μ'(t, ∞),   cdf + survival = mass
    cdf, survival = ∫ density from the left, from the right,   total(density) = mass >= 1 - lost

Convolutions are restricted to the grid, too: whatever of a sum lies outside is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

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
        """t -> function(t) for lower <= t <= upper, else 0. None: no bound.

        Raises:
            ValueError: If the algebra was not made for a bound.
        """

    def difference(self, upper: F, lower: F) -> F:
        """t -> upper(t) - lower(t), which is known to lie between 0 and `upper`."""

    def moved(self, function: F, offset: Fraction) -> F:
        """t -> function(t + offset).

        Raises:
            ValueError: If the algebra was not made for such offsets.
        """

    def convolution(self, left: F, right: F, check: Callable[[], None]) -> F:
        """t -> ∫ left(r) right(t - r) dr; `check` is called now and then, and raises to stop.

        Raises:
            ValueError: If the algebra was not made for sums.
        """

    def plus_sample(self, function: F, law: Distribution, check: Callable[[], None]) -> F:
        """t -> ∫ function(r) φ(t - r) dr for the density φ of a law, which is not restricted.

        Raises:
            ValueError: If the algebra was not made for sums with the law.
        """

    def products(self, products: Sequence[Sequence[F]]) -> list[F]:
        """Multiply the factors of every product, at least one; batches as for `running`."""

    def running(self, products: Sequence[Sequence[F]], from_left: bool) -> list[F]:
        """t -> ∫ over (-∞, t), else over (t, ∞), of every product of at least one function.

        One batch is cheaper than many calls, the more so if like beginnings are neighbours.
        """

    def product_totals(self, products: Sequence[Sequence[F]]) -> list[V]:
        """∫ over the line of every product, as for `running`."""


# --- long products from short ones, in any algebra ------------------------------------------------

Product = Callable[[F, F], F]


class SharedProducts(Generic[F]):
    """Multiplies the factors of many products; neighbours that begin alike share that part."""

    def __init__(self, product: Product[F]) -> None:
        self._product = product
        self._before: list[tuple[F, F]] = []  # the latest factors, and the products up to each

    def of(self, products: Sequence[Sequence[F]]) -> Iterator[F]:
        """Yield the product of each, of at least one factor."""
        before = self._before
        for factors in products:
            alike = 0
            while alike < min(len(before), len(factors)) and before[alike][0] is factors[alike]:
                alike += 1
            del before[alike:]
            for factor in factors[alike:]:
                so_far = self._product(before[-1][1], factor) if before else factor
                before.append((factor, so_far))
            yield before[-1][1]
