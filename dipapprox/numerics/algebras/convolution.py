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

The sup of h on a panel is the 1-norm of the coefficients of the interpolating polynomial in
Legendre's basis, plus interpolation and node errors.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dipapprox.arithmetic.legendre import Rule
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF, Array
from dipapprox.numerics.algebras.kernels import (
    Bilinear,
    ConvolutionKernel,
    bilinear,
    bounds_of,
    interpolation_errors,
    support,
)
from dipapprox.numerics.algebras.sampled import Sampled

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
