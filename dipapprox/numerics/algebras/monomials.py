"""Integrals of many monomials Π f_k^(e_k) in few functions on float64 panels, all at once.

A star's probability is such an integral, and a program's stars differ in their exponents only. An
exponent e is q s + r with r < s: the powers f^r and f^(q s) that occur are tabulated once for all
monomials. Of the largest table every monomial has one entry X; what is left of them, mostly few
products Y, is multiplied out; and Σ_j H w_j Y_j X_j is a total.

Bounds, in the notation of `sampled`. Let v = X Y, exactly, at the nodes of a panel. By the argument
for products, (I) to (III) hold for it with m = m_X m_Y, A = A_X A_Y and k = k_X + k_Y + 2. So |v_j
- g(x_j)| <= E = κ m_0 (κ A - 1) for the exact monomial g, and

    |∫ g dx - Σ_j H w_j v_j|  <=  H (2 E + min_r κ m_r c_r)                           on one panel,

as the weights add up to 2 and by `Rule.total_error`. The computed sum differs from Σ H w_j v_j by
at most (n + P + 12) u Σ |H w_j v_j|: the stored w_j, H, two products of them with Y_j, a dot
product of n terms in any order, or fused, and a sum of P such products, in any order; up to
underflow, which is below 2^-950 (1 + m_0(X)) H for each panel, since fewer than 2^9 operations err
by at most 2^-1022 each, should subnormal numbers be flushed, and H >= 2^-60. All f_k are >= 0,
hence g >= 0, v_j >= -E and |v_j| <= v_j + 2 E, so that Σ |H w_j v_j| over all panels is at most Σ H
w_j v_j + 4 Σ H E. The bounds are computed with fewer than 2^20 roundings of nonnegative doubles:
they are multiplied by 1 + 2^-30.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.legendre import Rule
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.algebras.sampled import Sampled

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_TINY = 2.0**-950
_STEP = 256
"""s; a power of two, so that powers of its multiples are products of few of these."""

_MOST_DOUBLES = 2**18
"""In the products of the monomials that are integrated at a time: 2 MB."""

_BLOCK = 2**16
"""Doubles that are multiplied at a time: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
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
        """Pick entries."""
        return _Table(self.layers[places], self.roundings[places])


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
    lower, upper = np.empty(len(order)), np.empty(len(order))
    size = max(1, _MOST_DOUBLES // first.layers.size)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        products = _products(first, tables, places[chosen], nodes)
        lower[chosen], upper[chosen] = _integrals(powers, power[chosen], *products, rule, half)
    return lower, upper


def _integrals(
    powers: _Table, power: Integers, products: _Table, product: Integers, rule: Rule, half: Array
) -> tuple[Array, Array]:
    """Bound ∫ powers[power[i]] products[product[i]] for every i."""
    nodes, panels = len(rule.nodes), len(half)
    weighted = products.layers[:, :nodes] * (rule.from_left[:, -1:] * half)
    total = np.empty(len(power))
    size = max(1, _BLOCK // weighted[0].size)
    for block in (slice(start, start + size) for start in range(0, len(power), size)):
        factors = _rows(powers.layers[:, :nodes], power[block])
        total[block] = np.einsum("inp,inp->ip", factors, weighted[product[block]]).sum(axis=1)
    roundings = powers.roundings[power] + products.roundings[product] + 2
    if roundings.max() > 2**40:  # κ <= 1 + 1.01 k u needs it
        raise BrokenInvariant("a function went through more than 2^40 roundings")
    excess = 1.01 * UNIT_ROUNDOFF * roundings
    kappa = (1 + excess)[:, None]
    bounds = _rows(powers.layers[:, nodes:], power) * products.layers[product, nodes:]
    _raise_to_floor(bounds, 0)
    sup, amplification = kappa * bounds[:, 0], bounds[:, -1]
    values = sup * ((amplification - 1) + excess[:, None] * amplification)
    bounds[:, 1:-1] *= rule.total_error[:, None]
    sampling = kappa * np.fmin.reduce(bounds[:, 1:-1], axis=1)
    tiny = _TINY * (1 + _rows(powers.layers[:, nodes], power))
    rounding = (nodes + panels + 12) * UNIT_ROUNDOFF
    error = (values * (2 + 4 * rounding) + sampling + tiny) @ half + rounding * np.abs(total)
    error *= SAFE
    proved = np.isfinite(total) & np.isfinite(error)
    total, error = np.where(proved, total, 0.0), np.where(proved, error, np.inf)
    # The last subtraction and addition are rounded: an ulp is less than the slack in `rounding`.
    return np.maximum(total - error, 0.0), total + error


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
