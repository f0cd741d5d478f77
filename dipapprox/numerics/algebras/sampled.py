"""Sampled analytic functions on float64 panels, and the proved errors of their operations.

A function f >= 0 on a panel is kept as its values at n Gauss-Legendre nodes and R + 1 majorants,
bounds of |f| on the panel (r = 1) and on Bernstein ellipses round it (r > 1). Products are then
products of arrays, integrals are one matrix product, and what sampling loses is bounded by the
majorants through `legendre.Rule`: geometrically small in n. No coefficient is ever computed.

State of one panel: v_1..v_n, m_0..m_R, A >= 1, all in one column, and for the whole function an
integer k of roundings. With u = 2^-53, κ = (1 + 1.001 u)^k and x_j, E_r the exact nodes and
ellipses,

    (I)   |f| <= κ m_r on E_r, for r = 0..R,        (II)  |v_j - f(x_j)| <= κ m_0 (κ A - 1),
    (III) m_r = 0 implies f = 0 on the panel, v = 0; otherwise m_r >= 2^-900.

Product. Columns are multiplied entry by entry, k = k_f + k_g + 2. From (II), writing e_f = κ_f A_f,
|v w - f g| <= |v - f||w| + |f||w - g| <= κ_f κ_g m_f m_g ((e_f - 1) e_g + (e_g - 1)), which is
κ_f κ_g m_f m_g (e_f e_g - 1); rounding v w adds at most (u + 2^-90) |v w| <= (u + 2^-90) κ_f κ_g
m_f m_g e_f e_g, so that (II) holds with e_f e_g (1 + u + 2^-90), and the roundings of m_f m_g and
A_f A_g are each made good by a factor 1 / (1 - u); (1 + u + 2^-90) / (1 - u) <= (1 + 1.001 u)^2.
Products below 2^-900 are raised to it, which keeps (III) and makes every underflow smaller than
2^-90 m: 2^-1022 at most, should subnormal numbers be flushed, and 2^-1022 |w| where v is read as 0.

Integrals. With half-width H, E = κ m_0 (κ A - 1) and V = κ m_0 κ A >= |v_j|, on one panel

    |H Σ_k W_jk v_k - ∫_{-1}^{x_j} f dx|  <=  H (λ E + min_r κ m_r c_r + g λ V + 2^-950)

with g = (n + 6) u:
the values' errors, sampling (`Rule.partial_error`, for the panel's total `Rule.total_error`), and
rounding: entries of W are within 2 u, a sum of n products in any order or fused has (n + 1) u, H
and its product 2 u; fewer than 2^9 operations with subnormal numbers err by 2^-1022 each, 2^-1013
together, below 2^-950 H. Panels before it are added up with an error of P u times their sum. The
integral's majorants are m_0 = sup of the integral (its last value, as f >= 0) and m_r = m_0 + H b_r
κ m_r(f): every point of E_r is within b_r of the panel, along a segment inside E_r. All these
bounds are themselves sums and products of nonnegative doubles with fewer than 2^20 roundings: they
are multiplied by 1 + 2^-30. Overflow gives inf or nan, and no enclosure.

References:
    N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 3.5.

Integrals of many monomials Π f_k^(e_k) in few functions on float64 panels, all at once.

A star's probability is such an integral, and a program's stars differ in their exponents only. An
exponent e is q s + r with r < s: the powers f^r and f^(q s) that occur are tabulated once for all
monomials. Of the largest table every monomial has one entry; what is left of them, mostly few
products, is multiplied out. So every monomial is a product of two, and integrated as any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.legendre import Rule
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF, Array
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant

Roundings = int | NDArray[np.int64]
_TINY = 2.0**-950


class Sampled(Record, eq=False):
    """A function >= 0, or an array of such functions, on the P panels of a grid."""

    layers: Array  # shape (…, n + R + 2, P): the values at the nodes, the majorants, A
    roundings: Roundings  # k, at most 2^40; in a batch one for all, or an array (…, 1)
    least: float  # positive lower bound of all non-zero majorants, >= 2^-900

    def on(self, first: int, last: int) -> Sampled:
        """The function on the panels first, …, last - 1."""
        return Sampled(self.layers[..., first:last], self.roundings, self.least)


class PanelErrors(Record, eq=False):
    """Bounds for one integration, each of shape (…, P): see the module's notation."""

    values: Array  # E, the errors of the node values
    rounding: Array  # g λ V, what rounding adds to a product with W, before the factor H
    kappa: float | Array  # κ, a number or of shape (…, 1)


@np.errstate(over="ignore", invalid="ignore")
def multiply_each(
    products: Sequence[Sequence[Sampled]], nodes: int, scratch: Array | None = None
) -> Sampled:
    """Multiply the factors of every product (at least one, without batch axes): a batch.

    In fresh memory, or in `scratch`, shape (at least as many, n + R + 2, P).
    """
    if scratch is None:
        scratch = np.empty((len(products), *products[0][0].layers.shape))
    layers = scratch[: len(products)]
    roundings = np.empty((len(products), 1), np.int64)
    lowest = 1.0
    for place, (first, *others) in enumerate(products):
        product, least, count = layers[place], first.least, first.roundings
        before = first.layers
        for factor in others:
            np.multiply(before, factor.layers, out=product)
            before = product
            least *= factor.least
            if least < FLOOR:
                np.maximum(product[nodes:-1], FLOOR, out=product[nodes:-1])
                least = FLOOR
            count = count + factor.roundings + 2
        if not others:
            product[...] = before
        roundings[place] = count
        lowest = min(lowest, least)
    return Sampled(layers, roundings, lowest)


@np.errstate(over="ignore", invalid="ignore")
def definite(function: Sampled, rule: Rule, half: Array) -> tuple[Array, Array]:
    """Bound ∫ over all panels from below and above, by 0 and inf if need be; batch-shaped."""
    errors = panel_errors(function, rule)
    sampling = _sampling_errors(function, rule.total_error[None], errors.kappa)[..., 0, :]
    panels = rule.from_left[:, -1] @ function.layers[..., : len(rule.nodes), :] * half
    error = half * (2 * errors.values + sampling + errors.rounding + _TINY)
    error += (function.layers.shape[-1] + 4) * UNIT_ROUNDOFF * np.abs(panels)
    value, error = panels.sum(axis=-1), error.sum(axis=-1) * SAFE
    proved = np.isfinite(value) & np.isfinite(error)
    # The last subtraction and addition are rounded: an ulp is accounted for.
    value, error = np.where(proved, value, 0.0), np.where(proved, error, np.inf)
    return np.maximum(value - error, 0.0), value + error


@np.errstate(over="ignore", invalid="ignore")
def indefinite(function: Sampled, rule: Rule, half: Array, from_left: bool) -> Sampled:
    """∫ from the left (right) end of the grid to t."""
    order = slice(None) if from_left else slice(None, None, -1)
    nodes, count = len(rule.nodes), function.layers.shape[-1]
    errors = panel_errors(function, rule)
    # Row 0: the panels' totals, row 1: the integrals inside them; λ and 2 are at most the norm.
    factors = np.stack([rule.total_error, rule.partial_error])
    sampling = _sampling_errors(function, factors, errors.kappa)
    within = rule.norm * errors.values + errors.rounding + _TINY
    within = half * (within[..., None, :] + sampling)
    matrix = (rule.from_left if from_left else rule.from_right).T
    integrals = np.matmul(matrix, function.layers[..., :nodes, :])
    integrals *= half
    total = integrals[..., nodes, :]
    total_error = within[..., 0, :] + (count + 4) * UNIT_ROUNDOFF * np.abs(total)
    after = np.cumsum(total[..., order], axis=-1)[..., order]
    after_error = np.cumsum(total_error[..., order], axis=-1)[..., order]
    before = after - total
    layers = np.empty_like(function.layers)
    values = np.add(integrals[..., :nodes, :], before[..., None, :], out=layers[..., :nodes, :])
    largest = np.abs(values).max(axis=-2)
    error = after_error + within[..., 1, :] + 4 * UNIT_ROUNDOFF * (largest + np.abs(after))
    majorants = function.layers[..., nodes:-1, :] * (half * errors.kappa)[..., None, :]
    sup = np.maximum((np.abs(after) + after_error) * SAFE, FLOOR)
    layers[..., nodes, :] = sup
    ellipses = layers[..., nodes + 1 : -1, :]
    np.multiply(majorants[..., 1:, :], rule.high[:, None], out=ellipses)
    ellipses += sup[..., None, :]
    ellipses *= SAFE
    layers[..., -1, :] = 1 + error * SAFE / sup
    return Sampled(layers, 1, max(FLOOR, float(sup.min())))  # the floor where it is nan


@np.errstate(over="ignore", invalid="ignore")
def difference(upper: Sampled, lower: Sampled, nodes: int) -> Sampled:
    """upper - lower, known to lie between 0 and `upper`; no batch axes.

    Majorants add up, but on the panel itself that of `upper` will do. One rounding of the values
    and of the majorants each; clipping at 0 only brings values nearer.
    """
    layers = np.empty_like(upper.layers)
    values = np.subtract(upper.layers[:nodes], lower.layers[:nodes], out=layers[:nodes])
    roundings = int(np.max(np.maximum(upper.roundings, lower.roundings))) + 1
    excess = 1.01 * UNIT_ROUNDOFF * roundings
    sup = upper.layers[nodes]
    error = UNIT_ROUNDOFF * np.abs(values).max(axis=0) + _TINY
    for each in (upper.layers, lower.layers):
        error += (1 + excess) * each[nodes] * ((each[-1] - 1) + excess * each[-1])
    np.maximum(values, 0.0, out=values)
    layers[nodes] = sup
    np.add(upper.layers[nodes + 1 : -1], lower.layers[nodes + 1 : -1], out=layers[nodes + 1 : -1])
    nothing = sup == 0.0
    layers[-1] = 1 + np.divide(error * SAFE, sup, out=np.zeros_like(error), where=~nothing)
    layers[:, nothing] = 0.0
    layers[-1, nothing] = 1.0
    return Sampled(layers, roundings, upper.least)


def _sampling_errors(function: Sampled, factors: Array, kappa: float | Array) -> Array:
    """min over r of κ m_r * factor, per panel; an ellipse with m_r = inf or nan says nothing.

    `factors` by row of errors and ellipse, shape (K, R).
    """
    majorants = function.layers[..., None, -1 - factors.shape[-1] : -1, :]
    least: Array = np.fmin.reduce(majorants * factors[..., None], axis=-2)
    return np.asarray(kappa)[..., None] * least


@np.errstate(over="ignore", invalid="ignore")
def panel_errors(function: Sampled, rule: Rule) -> PanelErrors:
    """Bound what the node values' errors and rounding can do."""
    if np.max(function.roundings) > 2**40:  # κ <= 1 + 1.01 k u needs it
        raise BrokenInvariant("a function went through more than 2^40 roundings")
    nodes = len(rule.nodes)
    excess = np.float64(1.01 * UNIT_ROUNDOFF) * function.roundings
    kappa = 1 + excess
    sup = kappa * function.layers[..., nodes, :]
    amplification = function.layers[..., -1, :]
    values = sup * ((amplification - 1) + excess * amplification)
    rounding = ((nodes + 6) * UNIT_ROUNDOFF * rule.norm * kappa) * sup * amplification
    return PanelErrors(values, rounding, kappa)


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
