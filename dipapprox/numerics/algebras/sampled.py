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

Laws on panels: node values with proved errors, majorants on ellipses. First standard laws, on any
panels; from them the restricted laws of a grid, on all its panels.

The density, the distribution function and 1 minus it, the survival function, come from the same
exponentials, on many panels at once: commonly those of all laws of a grid. Values, their errors and
bounds on ellipses are the families'. On the panel itself the functions are monotone, but for
densities round 0: their suprema are the values at an end.

Restricted laws (see `grid` for what restriction means). With F the distribution function, a and b
the span's ends:

              left of the span     on the span        right of it
    density   0                    F'(t)              0
    cdf       0                    F(t) - F(a)        F(b) - F(a)
    survival  F(b) - F(a)          F(b) - F(t)        0

F(a) and 1 - F(b) are what is sampled at these ends; for one-sided laws one of them is 0. The laws
are those of one family: in standard units they are one law, on the panels of all their spans.

References:
    N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.double_functions import UNDERFLOW
from dipapprox.arithmetic.legendre import Rule
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF, UP, Array
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import RealFamily
from dipapprox.numerics.algebras.grid import Grid

Roundings = int | NDArray[np.int64]
_TINY = 2.0**-950
FARTHEST = 2**20
"""How many scales a panel may reach from a mean: the relative errors stay below 1 %."""


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
def multiply_each(products: Sequence[Sequence[Sampled]], nodes: int) -> Sampled:
    """Multiply the factors of every product (at least one, without batch axes): a batch."""
    layers = np.empty((len(products), *products[0][0].layers.shape))
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


# --- laws -----------------------------------------------------------------------------------------


class Samples(Record, eq=False):
    """Density, distribution function and survival function, in this order, on P panels."""

    values: Array  # at the left end, the n nodes and the right end, shape (3, n + 2, P)
    error: Array  # absolute error of all values of a panel, shape (3, P)
    majorants: Array  # on the panel and the R ellipses, shape (3, R + 1, P); finite or inf


def sample_law(family: RealFamily, center: Array, half: Array, rule: Rule) -> Samples:
    """Sample the standard law; no panel may straddle 0 if there is a kink, or be too far away."""
    reach = np.abs(center) + half
    if not reach.max() <= FARTHEST:
        raise BrokenInvariant("a panel reaches further from a mean than error bounds allow")
    t = half * rule.points[:, None] + center
    if not np.isin(np.sign(center), (0, *family.sides)).all():
        raise BrokenInvariant("a one-sided law was sampled where it has no mass")
    density, tail = found = family.at(t)
    errors = family.errors(t, found, reach)
    # An end that is nearer to 0 than its own error may be on the wrong side of it: in proportion,
    # f(0) is then at most 2^-60 larger than the density there.
    right = np.broadcast_to(center > 0, t.shape) if family.has_kink else t > 0
    straddling = right[-1] > right[0]
    values, body = np.empty((3, *t.shape)), 1 - tail
    values[0] = density
    values[1] = np.where(right, body, tail)
    values[2] = np.where(right, tail, body)
    error = errors[[0, 1, 1]] + 2 * UNDERFLOW
    error[1] += UNIT_ROUNDOFF * right[-1]
    error[2] += UNIT_ROUNDOFF * ~right[0]
    # On the panel, the distribution function is largest at the right end, survival at the left.
    majorants = np.empty((3, len(rule.ratios) + 1, len(center)))
    majorants[0, 0] = np.where(straddling, float(family.steep), np.maximum(density[0], density[-1]))
    majorants[1, 0], majorants[2, 0] = values[1, -1], values[2, 0]
    majorants[:, 0] += error
    majorants[:, 0] *= UP
    majorants[:, 1:] = family.ellipses(center, half, rule)
    return Samples(values, error, majorants)


_RESTRICTED_UP = 1 + 2.0**-45


def _on_grid(law: Distribution, grid: Grid, inside: Array, ends: tuple[Array, Array]) -> Array:
    """Layers on the whole grid from those on the span: beyond it they are constant."""
    span = grid.spans[law]
    layers = np.empty((len(inside), grid.panels))
    layers[:, : span.first], layers[:, span.last :] = ends
    layers[:, span.first : span.last] = inside
    layers.setflags(write=False)
    return layers


def restricted_laws(
    laws: Sequence[Distribution], grid: Grid, rule: Rule
) -> list[tuple[Sampled, Sampled, Sampled]]:
    """Sample restricted laws of one family, at least one: density, cdf and survival of each."""
    family = laws[0].real
    panels = [_standard_panels(law, grid) for law in laws]
    counts = [len(centers) for centers, _ in panels]
    ends: NDArray[np.int64] = np.cumsum(counts)
    starts = ends - counts
    center, half = (np.array(list(chain(*lists))) for lists in zip(*panels, strict=True))
    standard = sample_law(family, center, half, rule)
    # By function and law: the masses left of the span for the distribution function, right of it
    # for the survival function.
    outside, outside_error = np.zeros((2, 3, len(laws)))
    if -1 in family.sides:
        outside[1] = standard.values[1, 0, starts]
        outside_error[1] = standard.error[1, starts]
    if 1 in family.sides:
        outside[2] = standard.values[2, -1, ends - 1]
        outside_error[2] = standard.error[2, ends - 1]
    scale = np.ones((3, len(laws)))
    scale[0] = [float(law.scale) for law in laws]
    layers = _layers(
        _reduced(standard, *np.repeat([scale, outside, outside_error], counts, axis=2))
    )
    totals = _totals(outside, outside_error, rule)
    least = min(float(each[..., len(rule.nodes) : -1, :].min()) for each in (layers, totals))
    nothing = np.zeros_like(totals[:, :1])
    nothing[-1] = 1.0
    found = []
    for k, law in enumerate(laws):
        inside, total = layers[..., starts[k] : ends[k]], totals[:, k : k + 1]
        beyond = (nothing, nothing), (nothing, total), (total, nothing)
        density, cdf, survival = (
            Sampled(_on_grid(law, grid, *each), 1, least)
            for each in zip(inside, beyond, strict=True)
        )
        found.append((density, cdf, survival))
    return found


def _standard_panels(law: Distribution, grid: Grid) -> tuple[list[float], list[float]]:
    """Centres and half-widths of the span's panels in standard units, correctly rounded.

    Python divides integers with one rounding: over a common denominator d, with mean = m / n and
    scale = s / t, a centre is ((low + high) / (2 d) - m / n) t / s.
    """
    span = grid.spans[law]
    marks, denominator = grid.marks[span.first : span.last + 1], grid.unit
    (m, n), (s, t) = law.mean.as_integer_ratio(), law.scale.as_integer_ratio()
    below, wide = 2 * denominator * n * s, 2 * denominator * s
    factor, shift = n * t, 2 * denominator * m * t
    center = [((low + high) * factor - shift) / below for low, high in pairwise(marks)]
    half = [(high - low) * t / wide for low, high in pairwise(marks)]
    return center, half


def _reduced(samples: Samples, scale: Array, level: Array, level_error: Array) -> Samples:
    """function / scale - level, which is still >= 0; every argument has shape (3, P).

    The scale, the quotient and the difference are rounded once each: a density is divided, the
    other functions lose a constant. No value exceeds the majorant on the panel by more than its
    error, and that is taken care of by the last factor. The other majorants grow by the constant.
    """
    values = samples.values / scale[:, None] - level[:, None]
    majorants = samples.majorants / scale[:, None] * _RESTRICTED_UP
    error = samples.error / scale + level_error + _ROUNDINGS * UNIT_ROUNDOFF * majorants[:, 0]
    majorants[:, 1:] += (level + level_error)[:, None] * _RESTRICTED_UP
    return Samples(values, error * _RESTRICTED_UP, majorants)


_ROUNDINGS = np.array([[3.0], [1.0], [1.0]])


def _totals(outside: Array, outside_error: Array, rule: Rule) -> Array:
    """Return the layers of the masses inside, constants; shape (n + R + 2, laws)."""
    beyond = outside.sum(axis=0)
    value = np.maximum(1 - beyond, 0.0)
    error = (outside_error.sum(axis=0) + UNIT_ROUNDOFF * (beyond + 0.5)) * _RESTRICTED_UP
    bound = np.maximum((value + error) * _RESTRICTED_UP, FLOOR)
    layers = np.empty((len(rule.nodes) + len(rule.ratios) + 2, len(value)))
    layers[: len(rule.nodes)] = value
    layers[len(rule.nodes) : -1] = bound
    layers[-1] = 1 + error / bound * SAFE
    return layers


def _layers(samples: Samples) -> Array:
    """Arrange functions that vanish nowhere as `Sampled` does."""
    majorants = np.maximum(samples.majorants, FLOOR)
    amplification = 1 + samples.error / majorants[..., 0, :] * SAFE
    values = samples.values[..., 1:-1, :]
    return np.concatenate([values, majorants, amplification[..., None, :]], axis=-2)
