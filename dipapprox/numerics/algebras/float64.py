"""The float64 function algebra: the first tier, vectorised, with proved errors.

Functions are `sampled.Sampled`; the mathematics of every bound is in `sampled`, `legendre`,
`sampled_laws` and `arithmetic.double_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.legendre import Rule, legendre_rule
from dipapprox.arithmetic.rounding import Array
from dipapprox.deferred import Deferred
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.algebras.grid import Grid
from dipapprox.numerics.algebras.sampled import (
    Sampled,
    definite,
    difference,
    indefinite,
    monomial_integrals,
    multiply_each,
)
from dipapprox.numerics.algebras.sampled_laws import FARTHEST, restricted_laws

if TYPE_CHECKING:
    from dipapprox.numerics.algebras import convolution as convolutions
else:
    convolutions = Deferred("dipapprox.numerics.algebras.convolution")

NODES = 20
_BATCH = 2**17  # doubles
_TOGETHER = 256  # most panels of other laws that are sampled with one; more do not make it faster
RATIOS = (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 18.0)


class Float64Algebra:
    """A `FunctionAlgebra` on one grid. Threads may share it: what it remembers is never changed.

    In `restrict` and `moved` functions may carry leading batch axes (numpy rules). Sums are on a
    lattice.
    """

    together = 64

    __slots__ = ("_height", "_kernels", "_laws", "_nodes", "grid", "half", "rule")

    def __init__(self, grid: Grid, nodes: int = NODES, ratios: tuple[float, ...] = RATIOS) -> None:
        """Prepare the grid; a ValueError if a width, a scale or a reach is out of range.

        Args:
            grid: Panels with half-widths in [2^-60, 2^60], laws with scales in the same range;
                no panel of a law reaches further than `FARTHEST` scales from its mean.
            nodes: Nodes per panel, 2 to 64.
            ratios: Ellipses, ascending, > 1.
        """
        widths = [high - low for low, high in pairwise(grid.marks)]
        lengths = [Fraction(min(widths), grid.unit), Fraction(max(widths), grid.unit)]
        lengths += [law.scale for law in grid.spans]
        if not 2.0**-59 <= min(lengths) <= max(lengths) <= 2.0**60:
            raise ValueError("panel widths or scales are out of the range of doubles")
        for law, span in grid.spans.items():
            ends = (Fraction(grid.marks[place], grid.unit) for place in (span.first, span.last))
            if any(abs(end - law.mean) > FARTHEST * law.scale for end in ends):
                raise ValueError("a panel reaches too far from a mean for doubles")
        self.grid = grid
        self.rule: Rule = legendre_rule(nodes, ratios)
        self._nodes, self._height = nodes, nodes + len(ratios) + 2
        self.half = np.array([width / (2 * grid.unit) for width in widths])
        self._laws: dict[Distribution, tuple[Sampled, Sampled, Sampled]] = {}
        self._kernels: dict[Distribution, convolutions.ConvolutionKernel] = {}

    def density(self, law: Distribution) -> Sampled:
        return self._law(law)[0]

    def cdf(self, law: Distribution) -> Sampled:
        return self._law(law)[1]

    def survival(self, law: Distribution) -> Sampled:
        return self._law(law)[2]

    def restrict(
        self, function: Sampled, lower: Fraction | None, upper: Fraction | None
    ) -> Sampled:
        first = 0 if lower is None else self.grid.index(lower)
        last = self.grid.panels if upper is None else self.grid.index(upper)
        layers = function.layers.copy()
        for outside in (slice(0, first), slice(max(first, last), None)):
            layers[..., outside] = 0.0
            layers[..., -1, outside] = 1.0
        return Sampled(layers, function.roundings, function.least)

    def difference(self, upper: Sampled, lower: Sampled) -> Sampled:
        return difference(upper, lower, self._nodes)

    def moved(self, function: Sampled, offset: Fraction) -> Sampled:
        """On a lattice, for a function that is 0 beyond the end there."""
        steps, panels = self.grid.steps(offset), self.grid.panels
        layers = np.zeros_like(function.layers)
        layers[..., -1, :] = 1.0
        first, last = max(-steps, 0), min(panels - steps, panels)
        if first < last:
            layers[..., first:last] = function.layers[..., first + steps : last + steps]
        return Sampled(layers, function.roundings, function.least)

    def convolution(self, left: Sampled, right: Sampled, check: Callable[[], None]) -> Sampled:
        start, width = self._lattice()
        return convolutions.convolve(
            left, convolutions.function_kernel(right, start, self.rule), self.rule, width, check
        )

    def plus_sample(
        self, function: Sampled, law: Distribution, check: Callable[[], None]
    ) -> Sampled:
        _, width = self._lattice()
        if law not in self._kernels:
            self._kernels[law] = convolutions.law_kernel(law, width, self.grid.panels, self.rule)
        return convolutions.convolve(function, self._kernels[law], self.rule, width, check)

    def require_sums(self) -> None:
        """See to it that functions can be added up on the grid; a ValueError if not."""
        _, width = self._lattice()
        for law in self.grid.spans:
            convolutions.require_reach(law, width, self.grid.panels)

    def _lattice(self) -> tuple[int, Fraction]:
        start, width = self.grid.lattice()
        if not 2.0**-30 <= width <= 2.0**30:
            raise ValueError("panel widths are out of the range of doubles")
        return start, width

    def products(self, products: Sequence[Sequence[Sampled]]) -> list[Sampled]:
        found: list[Sampled] = []
        for batch in self._batches(products):
            whole = multiply_each(batch, self._nodes)
            found += [
                Sampled(layers, int(k), whole.least)
                for layers, (k,) in zip(whole.layers, np.atleast_2d(whole.roundings), strict=True)
            ]
        return found

    def product_totals(
        self, products: Sequence[Sequence[Sampled]]
    ) -> list[Enclosure | NotEnclosed]:
        found: list[Enclosure | NotEnclosed] = []
        scratch: Array | None = None
        for batch in self._batches(products):
            if scratch is None:  # the first batch is the largest
                scratch = np.empty((len(batch), self._height, self.grid.panels))
            lower, upper = definite(
                multiply_each(batch, self._nodes, scratch), self.rule, self.half
            )
            found += [
                Enclosure(Fraction(low), Fraction(high))
                if isfinite(low) and isfinite(high)
                else NotEnclosed("doubles overflow: the panels are too wide for the functions")
                for low, high in zip(lower.tolist(), upper.tolist(), strict=True)
            ]
        return found

    def monomials(
        self, law: Distribution, functions: Sequence[Sampled], exponents: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Bound ∫ density Π functions[k]^exponents[i, k] for all i; see `monomial_integrals`."""
        span = self.grid.spans[law]
        first, last = span.first, span.last  # the density vanishes elsewhere
        density, *factors = [each.on(first, last) for each in (self.density(law), *functions)]
        return monomial_integrals(density, factors, exponents, self.rule, self.half[first:last])

    def running(self, products: Sequence[Sequence[Sampled]], from_left: bool) -> list[Sampled]:
        found: list[Sampled] = []
        for batch in self._batches(products):
            whole = indefinite(multiply_each(batch, self._nodes), self.rule, self.half, from_left)
            found += [Sampled(layers, 1, whole.least) for layers in whole.layers]
        return found

    def _batches(
        self, products: Sequence[Sequence[Sampled]]
    ) -> Iterator[Sequence[Sequence[Sampled]]]:
        """Split, so that a batch stays in the processor's cache."""
        size = max(1, _BATCH // (self._height * self.grid.panels))
        for start in range(0, len(products), size):
            yield products[start : start + size]

    def _law(self, law: Distribution) -> tuple[Sampled, Sampled, Sampled]:
        """Sample a law, and with it those of its family that will be asked for next."""
        if law not in self._laws:
            laws, panels = [law], 0
            for other, span in self.grid.spans.items():
                if other.family is law.family and other not in self._laws and other != law:
                    panels += span.last - span.first
                    if panels > _TOGETHER:
                        break
                    laws.append(other)
            self._laws.update(zip(laws, restricted_laws(laws, self.grid, self.rule), strict=True))
        return self._laws[law]
