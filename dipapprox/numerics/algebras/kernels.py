"""Functions and laws prepared as kernels of convolutions; the mathematics is in `convolution`.

Bilinear. What the integrals of products of interpolating polynomials are, as matrices of doubles.

For polynomials p, q of degree < n by their values at the Gauss-Legendre nodes θ_j of [0, 1],

    ∫_0^{θ_j} p(ρ) q(θ_j - ρ) dρ = p' A_j q,      ∫_{θ_j}^1 p(ρ) q(1 + θ_j - ρ) dρ = p' B_j q,

from the same rule on [0, θ_j], which is exact for the degree 2n - 2. See `convolution`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb, arb_mat

from dipapprox.arithmetic.legendre import Rule, double_above, legendre_nodes
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import SAFE, Array
from dipapprox.data_classes import dataclass
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.algebras.grid import Grid, PanelSpan
from dipapprox.numerics.algebras.sampled import Sampled, panel_errors
from dipapprox.numerics.algebras.sampled_laws import DENSITY, FARTHEST, on_grid, restricted_laws

_BITS = 192


@dataclass(frozen=True, slots=True, eq=False)
class Bilinear:
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


@dataclass(frozen=True, slots=True, eq=False)
class ConvolutionKernel:
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
    (restricted,) = restricted_laws([law], grid, rule)
    density = on_grid(restricted, DENSITY)
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
