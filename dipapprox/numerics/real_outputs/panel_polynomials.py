"""Functions on the panels of a float64 grid in, polynomials near them out, on parts of panels, too.

In: h = Σ c_i f_i, f_i of a `Float64Algebra`. Out: on every panel a polynomial in Chebyshev form and
a bound of its distance from h; on request on the halves of the panel, and so on.

Values. v = Σ c_i v_i at the nodes is within e = Σ |c_i| E_i + (K + 3) u Σ |c_i| max |v_i| of h
there, with the functions' own bounds E of errors (`sampled`), and on the ellipses |h| <= M_r =
Σ |c_i| κ m_r. A coefficient known to a radius ρ adds ρ sup |f_i| to e and to M.

From values to a polynomial. Let q = Σ c_k T_k be any polynomial of degree < n with coefficients in
doubles: they are computed from the values, and nothing is asked of that. Let p interpolate h at the
n nodes. With the Lebesgue constant Λ of the nodes, |h - p| <= (1 + Λ) 2 M_r r^(1-n) / (r - 1) for
every r (Chebyshev coefficients of h beyond degree n - 1; Trefethen, theorems 8.1 and 15.1), and
|p - q| <= Λ max_j |h(x_j) - q(x_j)|. The latter is measured: q(x_j) is a sum of n products whose
matrix entries T_k(x_j) are within 2 u, so it is computed within (n + 4) u Σ |c_k|.

Λ <= n for Gauss-Legendre nodes: Σ_k l_k(u)² / w_k = Σ_{m<n} (2m + 1) / 2 P_m(u)² <= n² / 2, so
by Cauchy and Schwarz (Σ |l_k(u)|)² <= Σ w_k Σ l_k(u)² / w_k <= n².

Halves. T_k((w ∓ 1) / 2) = Σ_j L_jk T_j(w), the entries of L rational and rounded, so that new
coefficients err by at most (n + 3) u Σ_j Σ_k |L_jk| |c_k| together. Sums and products of
nonnegative doubles with fewer than 2^20 roundings are multiplied by 1 + 2^-30.

References:
    L. N. Trefethen, Approximation Theory and Approximation Practice, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.legendre import Rule, legendre_nodes, nearest
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import SAFE, UNIT_ROUNDOFF, above
from dipapprox.data_classes import dataclass
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.sampled import Sampled, panel_errors
from dipapprox.numerics.interpolation.polynomial import restricted_rows

Array = NDArray[np.float64]
_TINY = 2.0**-900
OVERFLOW = "doubles overflow: the panels are too wide for the functions"
"""Why there are no signs, and no masses."""


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """Σ c_i f_i on the panels of a grid."""

    values: Array  # at the nodes, shape (n, P)
    error: Array  # bounds of their errors, shape (P,)
    # bounds of the function's modulus on the panel and on the ellipses, (R + 1, P)
    majorants: Array

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def of(cls, function: Sampled, rule: Rule) -> Combination:
        """A function without batch axes alone."""
        nodes, errors = len(rule.nodes), panel_errors(function, rule)
        majorants = function.layers[nodes:-1] * errors.kappa
        return cls(function.layers[:nodes], errors.values, majorants)


@np.errstate(over="ignore", invalid="ignore")
def combination(
    terms: Sequence[tuple[Enclosure, Combination]], rule: Rule, panels: int
) -> Combination:
    """Add up functions, weighted; coefficients of modulus below 2^900."""
    values, error = np.zeros((len(rule.nodes), panels)), np.full(panels, _TINY)
    majorants = np.zeros((len(rule.ratios) + 1, panels))
    sizes = np.zeros(panels)
    for weight, function in terms:
        middle, radius = _split(weight)
        values += middle * function.values
        error += abs(middle) * function.error + radius * function.majorants[0]
        majorants += (abs(middle) + radius) * function.majorants
        sizes += abs(middle) * np.abs(function.values).max(axis=0)
    error += (len(terms) + 3) * UNIT_ROUNDOFF * sizes
    return Combination(values, error * SAFE, majorants * SAFE)


def _split(value: Enclosure) -> tuple[float, float]:
    """A double and a bound of its distance from a number."""
    middle = float((value.lower + value.upper) / 2)
    exact = Fraction(middle)
    return middle, above(max(value.upper - exact, exact - value.lower))


@dataclass(frozen=True, slots=True, eq=False)
class PanelPolynomials:
    """Polynomials on parts of panels."""

    coefficients: Array  # in Chebyshev form, shape (n, parts)
    distance: Array  # at least |h - polynomial| on the part; not finite where doubles overflow
    panel: NDArray[np.int64]  # numbers of the panels
    depth: int  # each part is one of 2**depth equal ones of its panel
    place: NDArray[np.int64]  # which, from the left, from 0
    half: Array  # half-widths of the parts, to the nearest double

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def of(cls, function: Combination, algebra: Float64Algebra) -> PanelPolynomials:
        """Interpolate on whole panels."""
        rule = algebra.rule
        nodes, panels = len(rule.nodes), len(algebra.half)
        tables = chebyshev_tables(nodes)
        coefficients = tables.from_values @ function.values
        rounding = (nodes + 4) * UNIT_ROUNDOFF * np.abs(coefficients).sum(axis=0)
        off = np.abs(tables.at_nodes @ coefficients - function.values).max(axis=0)
        # The rule's factor is (2 + λ) 2 r^(1-n) / (r - 1).
        factors = rule.partial_error * ((1 + nodes) / (2 + rule.norm) * SAFE)
        truncated = np.fmin.reduce(function.majorants[1:] * factors[:, None], axis=0)
        distance = (nodes * (off + rounding + function.error) + truncated) * SAFE
        numbers = np.arange(panels, dtype=np.int64)
        return cls(coefficients, distance, numbers, 0, np.zeros(panels, np.int64), algebra.half)

    @property
    def is_finite(self) -> bool:
        """Whether doubles did not overflow."""
        return bool(np.isfinite(self.distance).all())

    @np.errstate(over="ignore", invalid="ignore")
    def halved(self, chosen: NDArray[np.bool_]) -> PanelPolynomials:
        """Return the halves of the chosen parts, left before right."""
        nodes = len(self.coefficients)
        tables = chebyshev_tables(nodes)
        kept = self.coefficients[:, chosen]
        spread = (nodes + 3) * UNIT_ROUNDOFF * (tables.columns @ np.abs(kept))
        distance = np.repeat((self.distance[chosen] + spread) * SAFE, 2)
        halves = np.stack([tables.left @ kept, tables.right @ kept], axis=2)
        place = np.repeat(2 * self.place[chosen], 2)
        place[1::2] += 1
        return PanelPolynomials(
            halves.reshape(nodes, -1),
            distance,
            np.repeat(self.panel[chosen], 2),
            self.depth + 1,
            place,
            np.repeat(self.half[chosen] / 2, 2),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChebyshevTables:
    """Matrices for polynomials of degree < n in Chebyshev form, entries to the nearest double."""

    at_nodes: Array  # T_k at the Gauss-Legendre nodes, (node, k)
    from_values: Array  # about its inverse
    left: Array  # L for the left half
    right: Array  # L for the right half
    columns: Array  # at least Σ_j |L_jk|, for both


@cache
def chebyshev_tables(count: int) -> ChebyshevTables:
    """Make the tables for n nodes."""
    with precision(256):
        nodes, _ = legendre_nodes(count)
        # A node may be exactly 0, where odd polynomials are, too.
        values = [[arb.chebyshev_t(x, k) for k in range(count)] for x in nodes]
        rows = [[0.0 if each.is_zero() else nearest(each) for each in row] for row in values]
    at_nodes = np.array(rows)
    left, right = (_half(count, shift) for shift in (-1, 1))
    columns = np.maximum(np.abs(left).sum(axis=0), np.abs(right).sum(axis=0)) * SAFE
    return ChebyshevTables(at_nodes, np.linalg.inv(at_nodes), left, right, columns)


def _half(count: int, shift: int) -> Array:
    """L, exact but for the rounding of its entries."""
    rows, unit = restricted_rows(count, Fraction(shift, 2), Fraction(1, 2))
    table = np.zeros((count, count))
    for k, row in enumerate(rows):
        table[: k + 1, k] = [value / unit**k for value in row]
    return table
