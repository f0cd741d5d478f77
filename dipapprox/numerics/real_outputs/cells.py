"""Two densities in, cells of the line with proved masses and ratios out.

In: f, g >= 0, combinations of functions of a `Float64Algebra`. Out: parts of the panels, on each of
them bounds of ∫ f and ∫ g, and numbers a <= b with a g <= f <= b g.

Masses. ∫ T_k over [-1, 1] is 2 / (1 - k²) for even k, else 0. On a part of half-width H errors are
2 H (distance), and H (n + 6) u Σ |weight_k c_k| for roundings: of weights, H, products and sums.

Ratios. With polynomials F, G of distances d, e from f, g, and any number r >= 0,

    |f - r g|  <=  |F_0 - r G_0| + Σ_{k>0} |F_k - r G_k| + d + r e  =: E      on the part,

so f / g is within E / m of r if g >= m > 0; G_0 - Σ_{k>0} |G_k| - e is such an m. With r = F_0/G_0
this is as narrow as rounding lets it be where f is a multiple of g. Coefficients of F - r G are
computed within 2 u (|F_k| + 2 r |G_k|).

A part is halved where its ratios are too wide for its mass. Sums and products of nonnegative
doubles with fewer than 2^20 roundings are multiplied by 1 + 2^-30.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.rounding import SAFE, UNIT_ROUNDOFF
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.real_outputs.panel_polynomials import (
    OVERFLOW,
    Combination,
    PanelPolynomials,
)

Array = NDArray[np.float64]
MOST_CELLS = 2**17  # more are not made: what is too wide then stays so
_DEEPEST = 50
_TINY = 2.0**-900


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Disjoint parts of the line, and two measures on them; all arrays of one shape."""

    first: tuple[Array, Array]  # bounds of the first measure of each cell, (lower, upper), >= 0
    second: tuple[Array, Array]  # of the second
    # on the cell and all of its subsets the first measure is at least so many times the second
    least: Array
    most: Array  # at most so many times; infinite where that is not known


def cells_of(
    first: Combination,
    second: Combination,
    algebra: Float64Algebra,
    spread: float,
    negligible: float,
    limits: Limits,
) -> Cells | NotEnclosed:
    """Cut the panels into cells of about one ratio of f to g each, functions of the algebra.

    Args:
        spread: By how much the ratios of one cell may differ, relatively, > 0 (best effort).
        negligible: A first measure of a cell that does not matter, > 0.
    """
    own, other = PanelPolynomials.of(first, algebra), PanelPolynomials.of(second, algebra)
    if not (own.is_finite and other.is_finite):
        return NotEnclosed(OVERFLOW)
    found: list[tuple[Array, ...]] = []
    count = 0
    for depth in range(_DEEPEST + 1):
        limits.check()
        masses, others = _masses(own), _masses(other)
        least, most, noise = _ratios(own, other)
        with np.errstate(over="ignore", invalid="ignore"):
            wide = most - least > spread * least
            # Where rounding is all that is left, halves are no better.
            open_ = wide & (masses[1] > negligible) & ~noise
        if depth == _DEEPEST or count + len(open_) > MOST_CELLS:
            open_[:] = False
        done = ~open_
        count += int(done.sum())
        found.append(tuple(each[done] for each in (*masses, *others, least, most)))
        if done.all():
            break
        own, other = own.halved(open_), other.halved(open_)
    p, p_most, q, q_most, least, most = (np.concatenate(each) for each in zip(*found, strict=True))
    if not (np.isfinite(p_most).all() and np.isfinite(q_most).all()):
        return NotEnclosed(OVERFLOW)
    return Cells((p, p_most), (q, q_most), least, most)


@np.errstate(over="ignore", invalid="ignore")
def _masses(parts: PanelPolynomials) -> tuple[Array, Array]:
    """Bound the integrals over the parts."""
    nodes = len(parts.coefficients)
    weights = np.array([0.0 if k % 2 else 2 / (1 - k * k) for k in range(nodes)])
    sizes = np.abs(weights) @ np.abs(parts.coefficients)
    middle = parts.half * (weights @ parts.coefficients)
    error = parts.half * (2 * parts.distance + (nodes + 6) * UNIT_ROUNDOFF * sizes)
    error = error * SAFE + _TINY
    return np.maximum(middle - error, 0.0), np.maximum(middle, 0.0) + error * SAFE


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _ratios(
    own: PanelPolynomials, other: PanelPolynomials
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Bound f / g on the parts, and tell where that is as good as it gets."""
    f, g = own.coefficients, other.coefficients
    ratio = np.where(g[0] > 0, np.maximum(f[0], 0.0) / np.where(g[0] > 0, g[0], 1.0), 0.0)
    differences = np.abs(f - ratio * g).sum(axis=0)
    size_f, size_g = np.abs(f).sum(axis=0), np.abs(g).sum(axis=0)
    unsure = own.distance + ratio * other.distance
    unsure += 4 * UNIT_ROUNDOFF * (size_f + ratio * size_g) + _TINY
    error = (differences + unsure) * SAFE
    # What is below the floor by rounding is not trusted.
    rest = (np.abs(g[1:]).sum(axis=0) + other.distance) * SAFE + _TINY
    floor = (g[0] - rest) / SAFE
    known = (floor > 0) & np.isfinite(error)
    away = error / np.where(known, floor, 1.0) * SAFE
    least = np.where(known, np.maximum(np.nextafter(ratio - away, -np.inf), 0.0), 0.0)
    most = np.where(known, np.nextafter(ratio + away, np.inf), np.inf)
    most = np.where(np.isnan(most), np.inf, most)
    flat = differences <= unsure
    nothing = np.abs(g[0]) + np.abs(g[1:]).sum(axis=0) <= 2 * other.distance
    return least, most, flat | nothing
