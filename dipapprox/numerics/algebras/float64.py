"""The float64 function algebra: the first tier, vectorised, with proved errors.

Functions are `sampled.Sampled`; the mathematics of every bound is in `sampled`, `legendre` and
`arithmetic.double_functions`.

Integrals of many monomials Π f_k^(e_k) in few functions on float64 panels, all at once.

A star's probability is such an integral, and a program's stars differ in their exponents only. An
exponent e is q s + r with r < s: the powers f^r and f^(q s) that occur are tabulated once for all
monomials. Of the largest table every monomial has one entry; what is left of them, mostly few
products, is multiplied out. So every monomial is a product of two, and integrated as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.legendre import Rule, legendre_rule
from dipapprox.arithmetic.rounding import FLOOR, Array
from dipapprox.data_classes import Record
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.algebras import convolution as convolutions
from dipapprox.numerics.algebras.grid import Grid
from dipapprox.numerics.algebras.sampled import (
    FARTHEST,
    Sampled,
    definite,
    difference,
    indefinite,
    multiply_each,
    restricted_laws,
)

NODES = 20
_BATCH = 2**17  # doubles that stay in the processor's cache
_MOST_TOGETHER = 64  # products in a batch: milliseconds
_TOGETHER = 256  # most panels of other laws that are sampled with one; more do not make it faster
RATIOS = (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 18.0)


class Float64Algebra:
    """A `FunctionAlgebra` on one grid. Threads may share it: what it remembers is never changed.

    In `restrict` and `moved` functions may carry leading batch axes (numpy rules). Sums are on a
    lattice.
    """

    __slots__ = ("_kernels", "_laws", "_nodes", "grid", "half", "rule", "together")

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
        self._nodes = nodes
        each = (nodes + len(ratios) + 2) * grid.panels
        self.together = min(max(1, _BATCH // each), _MOST_TOGETHER)
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
        whole = multiply_each(products, self._nodes)
        return [
            Sampled(layers, int(k), whole.least)
            for layers, (k,) in zip(whole.layers, np.atleast_2d(whole.roundings), strict=True)
        ]

    def product_totals(
        self, products: Sequence[Sequence[Sampled]]
    ) -> list[Enclosure | NotEnclosed]:
        lower, upper = definite(multiply_each(products, self._nodes), self.rule, self.half)
        return [
            Enclosure(Fraction(low), Fraction(high))
            if isfinite(low) and isfinite(high)
            else NotEnclosed("doubles overflow: the panels are too wide for the functions")
            for low, high in zip(lower.tolist(), upper.tolist(), strict=True)
        ]

    def monomials(
        self, law: Distribution, functions: Sequence[Sampled], exponents: NDArray[np.int64]
    ) -> tuple[Array, Array]:
        """Bound ∫ density Π functions[k]^exponents[i, k] for all i; see `monomial_integrals`."""
        span = self.grid.spans[law]
        first, last = span.first, span.last  # the density vanishes elsewhere
        density, *factors = [each.on(first, last) for each in (self.density(law), *functions)]
        return monomial_integrals(density, factors, exponents, self.rule, self.half[first:last])

    def running(self, products: Sequence[Sequence[Sampled]], from_left: bool) -> list[Sampled]:
        whole = indefinite(multiply_each(products, self._nodes), self.rule, self.half, from_left)
        return [Sampled(layers, 1, whole.least) for layers in whole.layers]

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


# --- stars ----------------------------------------------------------------------------------------

Integers = NDArray[np.int64]
_STEP = 256  # s; a power of two, so that powers of its multiples are products of few of these
_MOST_DOUBLES = 2**18  # in the products of the monomials that are integrated at a time: 2 MB
_BLOCK = 2**16  # doubles that are multiplied at a time: they stay in the processor's cache


class _Table(Record, eq=False):
    """Some functions >= 0: their layers, (count, n + R + 2, P), and their roundings, (count,)."""

    layers: Array
    roundings: Integers

    def __len__(self) -> int:
        return len(self.layers)

    def times(self, other: _Table, nodes: int) -> _Table:
        """Multiply entry by entry; one of them may have a single entry."""
        layers = self.layers * other.layers
        _raise_to_floor(layers, nodes)
        return _Table(layers, self.roundings + other.roundings + 2)

    def at(self, places: Integers) -> _Table:
        return _Table(_rows(self.layers, places), self.roundings[places])


@np.errstate(over="ignore", invalid="ignore")
def monomial_integrals(
    first: Sampled, functions: Sequence[Sampled], exponents: Integers, rule: Rule, half: Array
) -> tuple[Array, Array]:
    """Bound ∫ first Π functions[k]^exponents[i, k] over all panels for every i.

    Args:
        first: A factor of all of them; like the others, at least one, without batch axes.
        exponents: >= 0, shape (count, functions).
        half: The panels' half-widths.

    Returns:
        Certified lower bounds, >= 0, and upper bounds, each of shape (count,); inf where nothing
        could be proved.
    """
    nodes = len(rule.nodes)
    factors = [
        _powers(function, part, nodes)
        for function, column in zip(functions, exponents.T, strict=True)
        for part in (column % _STEP, column - column % _STEP)
        if part.any()
    ]
    if not factors:
        factors.append(_powers(functions[0], exponents[:, 0], nodes))
    factors.sort(key=lambda factor: len(factor[0]))
    powers, power = factors.pop()
    tables = [table for table, _ in factors]
    places = np.array([column for _, column in factors], np.int64).reshape(-1, len(power)).T
    # Equal products are neighbours, and so are the powers that they are multiplied by.
    order = np.lexsort((power, *places.T))
    lower, upper = np.empty((2, len(order)))
    size = max(1, _MOST_DOUBLES // first.layers.size)
    block = max(1, _BLOCK // first.layers.size)
    for start in range(0, len(order), size):
        many = order[start : start + size]
        products, product = _products(first, tables, places[many], nodes)
        for place in range(0, len(many), block):
            chosen, own = many[place : place + block], product[place : place + block]
            whole = powers.at(power[chosen]).times(products.at(own), nodes)
            function = Sampled(whole.layers, whole.roundings[:, None], FLOOR)
            lower[chosen], upper[chosen] = definite(function, rule, half)
    return lower, upper


def _rows(table: Array, places: Integers) -> Array:
    """table[places], without a copy for a run of neighbours."""
    first, last = int(places[0]), int(places[-1])
    if last - first == len(places) - 1 and bool((np.diff(places) == 1).all()):
        return table[first : last + 1]
    return table[places]


def _powers(function: Sampled, exponents: Integers, nodes: int) -> tuple[_Table, Integers]:
    """Return powers of a function, and which of them each exponent is.

    f^e = f^(e - p) f^p with the largest power of two p < e, for all e with the same p at once.
    """
    wanted = set(exponents.tolist())
    known = {0, 1} | wanted
    while wanted:
        halves = {1 << (e - 1).bit_length() - 1 for e in wanted if e > 1}
        wanted = (halves | {e - (1 << (e - 1).bit_length() - 1) for e in wanted if e > 1}) - known
        known |= wanted
    ascending = np.array(sorted(known))
    layers = np.ones((len(ascending), *function.layers.shape))
    roundings = np.zeros(len(ascending), np.int64)
    layers[1], roundings[1] = function.layers, function.roundings
    half, low = 1, 2
    while low < len(ascending):
        high = int(np.searchsorted(ascending, 2 * half, "right"))
        if high > low:
            base = int(np.searchsorted(ascending, half))
            rest = np.searchsorted(ascending, ascending[low:high] - half)
            np.multiply(_rows(layers, rest), layers[base], out=layers[low:high])
            _raise_to_floor(layers[low:high], nodes)
            roundings[low:high] = roundings[rest] + roundings[base] + 2
        half, low = 2 * half, high
    return _Table(layers, roundings), np.searchsorted(ascending, exponents)


def _products(
    first: Sampled, tables: Sequence[_Table], places: Integers, nodes: int
) -> tuple[_Table, Integers]:
    """Return the different products first Π tables[k][places[i, k]], and which i has which."""
    numbers: dict[tuple[int, ...], int] = {}
    chosen = np.array([numbers.setdefault(tuple(row), len(numbers)) for row in places.tolist()])
    found = _Table(first.layers[None], np.array([first.roundings], np.int64))
    for table, column in zip(tables, np.array(list(numbers), np.int64).T, strict=True):
        found = found.times(table.at(column), nodes)
    return found, chosen


def _raise_to_floor(layers: Array, nodes: int) -> None:
    """Raise the majorants in some layers to the floor, as (III) requires."""
    majorants = layers[..., nodes:-1, :]
    np.maximum(majorants, FLOOR, out=majorants)
