"""Convolutions of sampled functions on panels of one width, with proved errors.

In: a function f >= 0 on panels [k w, (k+1) w], and a *kernel* g: a function on such panels, or the
density of a law. Out: h(t) = ∫ f(r) g(t - r) dr on such panels. With θ in [0, 1] for the place on a
panel, f_k, g_d for the functions on panels, and d = m - k,

    h_m(θ) = w Σ_k ( ∫_0^θ f_k(ρ) g_d(θ - ρ) dρ + ∫_θ^1 f_k(ρ) g_{d-1}(1 + θ - ρ) dρ ).      (1)

S >= |f| and its node values, E bounds the errors of these, M_r >= |f| on the ellipse E_r with the
semi-axes a, b.

Laws. The density of a law is one entire function on either side of its mean, and if the differences
of two panels do not meet the mean, the summand is ∫_0^1 f_k(ρ) g((d + θ - ρ) w) dρ: quadrature with
weights ω_i >= 0, which errs by `Rule.total_error` times M_r(f_k) G_r(d), where

    G_r(d) = sup { |g((d + z) w)| : |Re z| <= (a + 1) / 2, |Im z| <= b / 2 },

|φ(x + iy)| = φ(x) exp(y² / 2), |exp(-x - iy)| = exp(-x). So errors of f grow by Σ ω_i g, about the
mass of g, and not at all from one convolution to the next. For θ on E_r the integral may be taken
over real ρ: |h_m| gets w S(f_k) G_r(d), whatever the majorants of f.

All else. Let p, q interpolate f_k, g_d at the n Gauss-Legendre nodes. The first integral at a node
θ_j is p' A_j q for a matrix A_j, exactly; so is the second for B_j[a, b] = A_{j*}[a*, b*], * the
reflection of the nodes. The interpolation error I is at most (1 + Λ) 2 M_r r^(1 - n) / (r - 1)
(`legendre`), where Λ = Σ_mi (2m + 1) / 2 w_i |P_m(x_i)| bounds the sup of a polynomial by its
largest node value, as its coefficients in Legendre's basis are Σ_i (2m + 1) / 2 w_i P_m(x_i) v_i
and |P_m| <= 1. The error of the summand is at most

    I_f S_g + (S_f + I_f) I_g + E_f Σ_a |(A_j q)_a| + E_g Σ_b |(p' A_j)_b| + E_f E_g Σ |A_j|

(the same with B_j), for p and q as they are computed.

Where θ is on E_r the segments from 0 and 1 to it, and so all arguments in (1), are inside E_r by
convexity; |θ| + |1 - θ| <= a, the sum of the distances to the foci, so that |h_m| gets at most
w a M_r(f_k) max(M_r(g_d), M_r(g_{d-1})); for a law, sup |g| up to (a - 1) / 2 panels from its mean.

Rounding. Entries of A_j err by `matrix_error` in all, p' A_j by (n + 1) u S_f Σ |A_j|, the dot
products of length n or 2n by (2n + 1) u, and sums over k, added in pairs, by (log2 K + 4) u with
the products by w, relative to Σ_b |(p' A_j)_b| S_g or S_f Σ ω_i g. Numbers below 2^-1022, which may
be flushed, make less than 2^-930, as w and 1 / w are at most 2^30 and there are fewer than 2^20.

A_j comes from the same rule on [0, θ_j], which is exact for the degree 2n - 2.

The sup of h on a panel is the 1-norm of the coefficients of the interpolating polynomial in
Legendre's basis, plus interpolation and node errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb, arb_mat

from dipapprox.arithmetic.legendre import Rule, double_above, legendre_nodes
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF, Array
from dipapprox.data_classes import Record
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.algebras.grid import Grid, PanelSpan
from dipapprox.numerics.algebras.sampled import FARTHEST, Sampled, panel_errors, restricted_laws

_BITS = 192


class Bilinear(Record, eq=False):
    """The matrices A_j and B_j, of doubles, and what their errors can do."""

    first: Array  # A_j[a, b], shape (n, n, n); symmetric in a, b
    second: Array  # B_j[a, b], likewise
    matrix_error: float  # bound of Σ_ab |errors of A_j[a, b] and B_j[a, b]|, for every j
    norm: float  # bound of Σ_ab |A_j[a, b]| + |B_j[a, b]|, for every j
    coefficients: Array  # (2m + 1) / 2 w_i P_m(x_i), shape (n, n), rounded
    lebesgue: float  # Λ, and more for what was rounded
    interpolation: Array  # (1 + Λ) 2 r^(1 - n) / (r - 1) for each ellipse, shape (R,)


@cache
def bilinear(count: int, ratios: tuple[float, ...]) -> Bilinear:
    with precision(_BITS):
        nodes, own = legendre_nodes(count)
        pairs = list(zip(nodes, own, strict=True))
        transform = arb_mat(
            [[(2 * m + 1) * w * x.legendre_p(arb(m)) / 2 for x, w in pairs] for m in range(count)]
        )
        weights = arb_mat(
            [[w / 2 if i == k else 0 for k in range(count)] for i, w in enumerate(own)]
        )
        first = np.empty((count,) * 3)
        wrong, sizes = [], []
        for j in range(count):
            theta = (nodes[j] + 1) / 2
            places = [theta * (x + 1) - 1 for x in nodes]  # of θ_j τ_i in [-1, 1]
            values = arb_mat([[x.legendre_p(arb(m)) for m in range(count)] for x in places])
            basis = values * transform  # basis[i, a] = l_a at θ_j τ_i
            mirrored = arb_mat(list(reversed(basis.tolist())))
            exact = (basis.transpose() * weights * mirrored * theta).entries()
            doubles = [float(entry.mid()) for entry in exact]
            first[j] = np.array(doubles).reshape(count, count)
            wrong.append(_one_norm(e - arb(d) for e, d in zip(exact, doubles, strict=True)))
            sizes.append(_one_norm(exact))
        coefficients = np.array([float(entry.mid()) for entry in transform.entries()])
        lebesgue = _one_norm(transform.entries()) * SAFE
        interpolation = [
            double_above((1 + arb(lebesgue)) * 2 * r ** (1 - count) / (r - 1))
            for r in map(arb, ratios)
        ]
    return Bilinear(
        first,
        np.ascontiguousarray(first[::-1, ::-1, ::-1]),
        2 * max(wrong) * SAFE,
        max(map(sum, zip(sizes, reversed(sizes), strict=True))) * SAFE,
        coefficients.reshape(count, count),
        lebesgue,
        np.array(interpolation),
    )


def _one_norm(entries: Iterable[arb]) -> float:
    """An upper bound of Σ |entry|."""
    return double_above(sum(map(abs, entries), arb(0)))


def interpolation_errors(ellipses: Array, matrices: Bilinear) -> Array:
    """Bound the interpolation errors of functions with the majorants `ellipses`, (R, P)."""
    found: Array = np.fmin.reduce(ellipses * matrices.interpolation[:, None], axis=0)
    found *= SAFE
    return found


_NEGLIGIBLE = 2.0**-100  # densities below this, times the scale, are bounded only


class ConvolutionKernel(Record, eq=False):
    """What a function is convolved with, prepared for the differences d = start, start + 1, …"""

    start: int  # the first difference of panels
    # by node of h, node of f and d: ω_i g((d + θ_j - ρ_i) w), 0 where that is not the rule, shape
    # (n, n, D) or (0, 0, D) if it is nowhere
    table: Array
    table_error: Array  # bound of Σ_i |errors of the table| for each d, shape (D,)
    products: range  # the differences where g_d and g_{d-1} are multiplied, a range
    pairs: Array  # node values of g_d above those of g_{d-1}, at `products`, shape (2n, …)
    sup: Array  # max(S_d, S_{d-1}), likewise 0 outside `products`, shape (D,)
    error: Array  # the same of E
    truncated: Array  # the same of I
    growth: Array  # factors by which node errors of f grow to those of a node of h, shape (n, D)
    real: Array  # G_r(d), 0 where that is not the rule, shape (R, D)
    local: Array  # the factor of M_r(f_k) elsewhere, shape (R, D)
    beyond: Array  # bounds of G_r(d) for all differences that were left out, shape (R,)


def function_kernel(function: Sampled, start: int, rule: Rule) -> ConvolutionKernel:
    """Prepare a function without batch axes whose first panel is [start w, (start + 1) w]."""
    first, last = support(function, rule)
    inner = function.on(first, last)
    matrices = bilinear(len(rule.nodes), tuple(rule.ratios.tolist()))
    error, sup, ellipses = bounds_of(inner, rule)
    pairs = _pairs(inner.layers[: len(rule.nodes)])
    size = pairs.shape[1]
    sup = _max_of_neighbours(sup)
    return ConvolutionKernel(
        start + first,
        np.zeros((0, 0, size)),
        np.zeros(size),
        range(size),
        pairs,
        sup,
        _max_of_neighbours(error),
        _max_of_neighbours(interpolation_errors(ellipses, matrices)),
        _growth(pairs, sup, matrices),
        np.zeros((len(rule.ratios), size)),
        rule.wide[:, None] * _max_of_neighbours(ellipses),
        np.zeros(len(rule.ratios)),
    )


def require_reach(law: Distribution, width: Fraction, reach: int) -> None:
    """See to it that a law is near enough for panels that are up to `reach` panels apart."""
    if abs(law.mean / width) + reach > FARTHEST * min(law.scale / width, Fraction(1)):
        raise ValueError("a law is too far from the panels")


def law_kernel(law: Distribution, width: Fraction, reach: int, rule: Rule) -> ConvolutionKernel:
    """Prepare the density of a law for differences of up to `reach` panels.

    A ValueError if a law with a kink has a mean that is no multiple of w, or lies too far away.
    """
    matrices = bilinear(len(rule.nodes), tuple(rule.ratios.tolist()))
    nodes, size = len(rule.nodes), 2 * reach + 1
    mean = law.mean / width
    require_reach(law, width, reach)
    table, relative, real, local = _tables(law, width, reach, rule)
    pairs, sup, error, truncated = np.zeros((2 * nodes, 0)), *np.zeros((3, size))
    products = range(0)
    masses = np.abs(table).sum(axis=1) * SAFE
    growth_of_errors = masses
    if law.real.has_kink:
        if mean.denominator > 1:
            raise ValueError("the mean of a kernel is not a boundary")
        place = mean.numerator + reach
        if 0 <= place < size:
            products = range(place, place + 1)
            near = _around_mean(law, width, rule)
            near_error, near_sup, ellipses = bounds_of(near, rule)
            pairs = _pairs(near.layers[:nodes])[:, 1:2]
            sup[place], error[place] = near_sup.max(), near_error.max()
            truncated[place] = interpolation_errors(ellipses, matrices).max()
            growth_of_errors = masses.copy()
            growth_of_errors[:, [place]] = _growth(pairs, sup[place : place + 1], matrices)
    # Where it is negligible the density is left out.
    kept = np.nonzero((real + local)[0] * float(law.scale) > _NEGLIGIBLE)[0]
    first, last = (int(kept[0]), int(kept[-1]) + 1) if len(kept) else (0, 0)
    used = slice(first, last)
    outside = np.concatenate([real[:, :first], real[:, last:]], axis=1)
    return ConvolutionKernel(
        first - reach,
        table[..., used],
        (masses.max(axis=0) * relative)[used],
        range(*(k - first for k in (products.start, products.stop))),
        pairs,
        sup[used],
        error[used],
        truncated[used],
        growth_of_errors[:, used],
        real[:, used],
        local[:, used],
        outside.max(axis=1, initial=0.0),
    )


def _pairs(values: Array) -> Array:
    nothing = np.zeros((len(values), 1))
    this, before = np.hstack([values, nothing]), np.hstack([nothing, values])
    return np.concatenate([this, before])


def _growth(pairs: Array, sup: Array, matrices: Bilinear) -> Array:
    """Σ_a |(A_j g_d)_a| + |(B_j g_{d-1})_a| by j; rounding is below 2^-30 of S Σ |A_j|."""
    nodes = len(pairs) // 2
    first = np.abs(np.matmul(matrices.first, pairs[:nodes])).sum(axis=1)
    second = np.abs(np.matmul(matrices.second, pairs[nodes:])).sum(axis=1)
    found: Array = (first + second) * SAFE + 2.0**-29 * matrices.norm * sup
    return found


def _around_mean(law: Distribution, width: Fraction, rule: Rule) -> Sampled:
    """The density of a law of exponential type on the panels before and after its mean."""
    place = (law.mean / width).numerator
    sides = [min(side, 0) for side in law.family.sides]
    marks = tuple((place + k) * width.numerator for k in range(sides[0], sides[-1] + 2))
    grid = Grid(width.denominator, marks, {law: PanelSpan(0, len(sides), Fraction(0))})
    ((density, _, _),) = restricted_laws([law], grid, rule)
    layers = np.zeros((len(density.layers), 2))
    layers[-1] = 1.0
    for panel, side in enumerate(sides):
        layers[:, side + 1] = density.layers[:, panel]
    return Sampled(layers, density.roundings, density.least)


def _tables(
    law: Distribution, width: Fraction, reach: int, rule: Rule
) -> tuple[Array, Array, Array, Array]:
    """The table of a law, the relative errors of its entries by difference, `real` and `local`.

    z = (d - μ/w + (x_j - x_i) / 2) w/σ is at most w/σ from (d - μ/w) w/σ, with an error of at most
    2^-50 (|d - μ/w| + |μ/w| + 1) w/σ; so the density's relative error is at most 1.01 times what
    `moved` says, and 2^-48 with those of its factors.
    """
    mean, ratio, scale = (float(x) for x in (law.mean / width, width / law.scale, law.scale))
    differences = np.arange(-reach, reach + 1, dtype=np.float64) - mean
    between = (rule.nodes[:, None] - rule.nodes[None, :]) / 2
    z = (differences + between[..., None]) * ratio
    moved = 2.0**-50 * (np.abs(differences) + 1 + abs(mean)) * ratio
    weights = rule.from_left[:, -1] / (2 * scale)
    table = law.real.at_differences(z, differences) * weights[None, :, None]
    relative = 1.01 * law.real.moved(differences * ratio, ratio, moved) + 2.0**-48
    slack = 2.0**-30 * (1 + abs(mean) + reach)
    return table, relative, *law.real.beyond(differences, slack, ratio, scale, rule)


def bounds_of(function: Sampled, rule: Rule) -> tuple[Array, Array, Array]:
    """Bounds E, S and the majorants on ellipses of every panel."""
    errors = panel_errors(function, rule)
    sup, *ellipses = function.layers[len(rule.nodes) : -1] * (errors.kappa * SAFE)
    return errors.values * SAFE, sup + errors.values * SAFE, np.array(ellipses)


def _max_of_neighbours(panels: Array) -> Array:
    """max(x_d, x_{d-1}) for all d, 0 beyond the ends; along the last axis, one longer."""
    nothing = np.zeros((*panels.shape[:-1], 1))
    found: Array = np.maximum(
        np.concatenate([panels, nothing], axis=-1), np.concatenate([nothing, panels], axis=-1)
    )
    return found


def support(function: Sampled, rule: Rule) -> tuple[int, int]:
    """The first panel on which a function is not 0, and the one after the last."""
    (places,) = np.nonzero(function.layers[len(rule.nodes)])
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)


_TINY = 2.0**-930


def convolve(
    function: Sampled,
    kernel: ConvolutionKernel,
    rule: Rule,
    width: Fraction,
    check: Callable[[], None],
) -> Sampled:
    """Return h on the panels on which f is; no batch axes.

    Args:
        kernel: g; that of a law covers all differences of two panels.
        width: w, in [2^-30, 2^30].
        check: Called for every node; raises to stop.
    """
    nodes, panels = len(rule.nodes), function.layers.shape[-1]
    matrices = bilinear(nodes, tuple(rule.ratios.tolist()))
    layers = np.zeros_like(function.layers)
    layers[-1] = 1.0
    first, last = support(function, rule)
    if first >= last:
        return Sampled(layers, 1, 1.0)
    inner = function.on(first, last)
    error_f, sup_f, ellipses = bounds_of(inner, rule)
    w = float(width)
    # What was left out of a law is bounded by S(f_k) times its largest value, everywhere.
    beyond = kernel.beyond * (sup_f.sum() * w * SAFE)
    if kernel.beyond.any():
        layers[nodes] = beyond[0] + FLOOR
        layers[nodes + 1 : -1] = beyond[:, None] + FLOOR
        layers[-1] = 2.0
    # Differences from panels of f to panels of h, counted from the kernel's first.
    low = max(-(last - 1) - kernel.start, 0)
    high = min(panels - first - kernel.start, len(kernel.sup))
    if low >= high:
        return Sampled(layers, 1, FLOOR)
    truncated_f = interpolation_errors(ellipses, matrices)
    used, size = slice(low, high), last - first
    offset = first + kernel.start + low  # of the first panel reached, on the panels of f
    inside = slice(max(-offset, 0), min(panels - offset, size + high - low - 1))
    target = slice(inside.start + offset, inside.stop + offset)
    values, growth_g = _values(inner.layers[:nodes].T, kernel, used, matrices, check)

    def folded(left: Array, right: Array) -> Array:
        return np.convolve(left, right[..., used])[inside]

    ulps = 1.01 * UNIT_ROUNDOFF
    products = (nodes + 2) * matrices.norm * ulps + matrices.matrix_error
    sums = (2 * nodes + 8 + size.bit_length()) * ulps
    error = folded(sup_f, kernel.table_error + products * kernel.sup)
    error += folded(growth_g * sums, kernel.sup)
    error += folded(truncated_f, kernel.sup) + folded(sup_f + truncated_f, kernel.truncated)
    error += folded(growth_g + error_f * matrices.norm, kernel.error)
    grown = error_f + sums * sup_f if len(kernel.table) else error_f
    error += np.max([folded(grown, factors) for factors in kernel.growth], axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        sampling = [
            folded(own, real) * (factor / 2)
            for own, real, factor in zip(ellipses, kernel.real, rule.total_error, strict=True)
        ]
        error += np.fmin.reduce(sampling)
        error = error * (SAFE * w) + beyond[0] + _TINY
        majorants = np.array(
            [
                folded(sup_f, real) + folded(own, local)
                for own, real, local in zip(ellipses, kernel.real, kernel.local, strict=True)
            ]
        )
        majorants = majorants * (w * SAFE) + beyond[:, None] + FLOOR
        found = values[:, inside] * w
        sup = np.abs(matrices.coefficients @ found).sum(axis=0)
        sup += (nodes + 6) * UNIT_ROUNDOFF * matrices.lebesgue * np.abs(found).max(axis=0)
        sup += matrices.lebesgue * error + interpolation_errors(majorants, matrices)
        sup = sup * SAFE + FLOOR
    layers[:nodes, target] = found
    layers[nodes, target] = sup
    layers[nodes + 1 : -1, target] = majorants
    layers[-1, target] = 1 + error * SAFE / sup
    return Sampled(layers, 1, FLOOR)


def _values(
    f: Array, kernel: ConvolutionKernel, used: slice, matrices: Bilinear, check: Callable[[], None]
) -> tuple[Array, Array]:
    """Add up the summands of (1), over w, by panel of h.

    Args:
        f: Node values by panel, shape (K, n).
        used: The differences that are needed, D of them.

    Returns:
        The sums, shape (n, K + D - 1), and max_j Σ_b |(p' A_j)_b| + |(p' B_j)_b| for each panel.
    """
    (size, nodes), columns = f.shape, used.stop - used.start
    products = range(max(kernel.products.start, used.start), min(kernel.products.stop, used.stop))
    pairs = kernel.pairs[
        :, slice(*(k - kernel.products.start for k in (products.start, products.stop)))
    ]
    place = slice(products.start - used.start, products.stop - used.start)
    found = np.empty((nodes, size + columns - 1))
    growth_of_errors = np.zeros(size)
    for j in range(nodes):
        check()
        # Row k of the summands, moved by k places: one more column, then rows of the old length.
        moved = np.zeros((size, size + columns))
        if len(kernel.table):
            np.matmul(f, kernel.table[j][:, used], out=moved[:, :columns])
        if products:
            both = np.concatenate([f @ matrices.first[j], f @ matrices.second[j]], axis=1)
            np.maximum(growth_of_errors, np.abs(both).sum(axis=1), out=growth_of_errors)
            moved[:, place] += both @ pairs
        rows = moved.reshape(-1)[: size * (size + columns - 1)].reshape(size, -1)
        found[j] = _sum_in_pairs(rows)
    # Rounding of the products is below 2^-30 of max |p| Σ |A_j|.
    growth_of_errors += 2.0**-29 * matrices.norm * np.abs(f).max(axis=1)
    return found, growth_of_errors * SAFE


def _sum_in_pairs(rows: Array) -> Array:
    while len(rows) > 1:
        half = (len(rows) + 1) // 2
        rows[: len(rows) - half] += rows[half:]
        rows = rows[:half]
    total: Array = rows[0]
    return total
