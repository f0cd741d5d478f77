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

Cells. In: f, g >= 0, combinations of functions. Out: parts of the panels, on each of them bounds of
∫ f and ∫ g, and numbers a <= b with a g <= f <= b g.

Masses. ∫ T_k over [-1, 1] is 2 / (1 - k²) for even k, else 0. On a part of half-width H errors are
2 H (distance), and H (n + 6) u Σ |weight_k c_k| for roundings: of weights, H, products and sums.

Ratios. With polynomials F, G of distances d, e from f, g, and any number r >= 0,

    |f - r g|  <=  |F_0 - r G_0| + Σ_{k>0} |F_k - r G_k| + d + r e  =: E      on the part,

so f / g is within E / m of r if g >= m > 0; G_0 - Σ_{k>0} |G_k| - e is such an m. With r = F_0/G_0
this is as narrow as rounding lets it be where f is a multiple of g. Coefficients of F - r G are
computed within 2 u (|F_k| + 2 r |G_k|).

A part is halved where its ratios are too wide for its mass.

References:
    L. N. Trefethen, Approximation Theory and Approximation Practice, 2013.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.legendre import Rule, legendre_nodes, nearest
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball
from dipapprox.arithmetic.rounding import FLOOR, SAFE, UNIT_ROUNDOFF, Array, above, below
from dipapprox.data_classes import Record
from dipapprox.events.event import Interval
from dipapprox.limits import check_limits
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.sampled import Sampled, panel_errors
from dipapprox.numerics.interpolation.polynomial import restricted_rows

_TINY = 2.0**-900
OVERFLOW = "doubles overflow: the panels are too wide for the functions"
"""Why there are no signs, and no masses."""


class Combination(Record, eq=False):
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


class PanelPolynomials(Record, eq=False):
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


class ChebyshevTables(Record, eq=False):
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
    bits = count + 32  # T_k has multiples of 2^-k: nothing is rounded or left out
    table = np.zeros((count, count))
    for k, row in enumerate(restricted_rows(count, Fraction(shift, 2), Fraction(1, 2), bits)):
        table[: k + 1, k] = row
    return table * 2.0**-bits


MOST_CELLS = 2**17  # more are not made: what is too wide then stays so
_DEEPEST = 50


class Cells(Record, eq=False):
    """Disjoint parts of the line, and two measures on them; all arrays of one shape."""

    first: tuple[Array, Array]  # bounds of the first measure of each cell, (lower, upper), >= 0
    second: tuple[Array, Array]  # of the second
    # on the cell and all of its subsets the first measure is at least so many times the second
    least: Array
    most: Array  # at most so many times; infinite where that is not known


def one_cell(first: Enclosure, second: Enclosure) -> Cells:
    """Return a point of two masses as a cell."""
    least = below(first.lower / second.upper) if second.upper else 0.0
    most = above(first.upper / second.lower) if second.lower else np.inf
    ends = (below(first.lower), above(first.upper), below(second.lower), above(second.upper))
    own, most_own, other, most_other, low, high = (np.array([x]) for x in (*ends, least, most))
    # What may be 0 gets the smallest upper bound.
    return Cells((own, most_own), (other, np.maximum(most_other, FLOOR)), low, high)


def cells_of(
    functions: Sequence[Combination],
    base: Combination,
    algebra: Float64Algebra,
    spread: float,
    negligible: float,
) -> list[Cells] | NotEnclosed:
    """Cut the panels into cells of about one ratio of each function to a base, all of the algebra.

    Args:
        spread: By how much the ratios of one cell may differ, relatively, > 0 (best effort).
        negligible: A first measure of a cell that does not matter, > 0.

    Returns:
        The same cells for all functions, with the base as the second measure.
    """
    other = PanelPolynomials.of(base, algebra)
    owns = [PanelPolynomials.of(each, algebra) for each in functions]
    if not all(each.is_finite for each in (*owns, other)):
        return NotEnclosed(OVERFLOW)
    found: list[list[Array]] = []
    count = 0
    for depth in range(_DEEPEST + 1):
        check_limits()
        columns = [*_masses(other)]
        open_ = np.zeros(len(other.half), np.bool_)
        for own in owns:
            masses, (least, most, noise) = _masses(own), _ratios(own, other)
            with np.errstate(over="ignore", invalid="ignore"):
                wide = most - least > spread * least
                # Where rounding is all that is left, halves are no better.
                open_ |= wide & (masses[1] > negligible) & ~noise
            columns += [*masses, least, most]
        if depth == _DEEPEST or count + len(open_) > MOST_CELLS:
            open_[:] = False
        done = ~open_
        count += int(done.sum())
        found.append([each[done] for each in columns])
        if done.all():
            break
        other, *owns = (each.halved(open_) for each in (other, *owns))
    q, q_most, *told = (np.concatenate(each) for each in zip(*found, strict=True))
    if not all(np.isfinite(each).all() for each in (q_most, *told[1::4])):
        return NotEnclosed(OVERFLOW)
    rows = zip(*[iter(told)] * 4, strict=True)
    return [Cells((p, p_most), (q, q_most), least, most) for p, p_most, least, most in rows]


@np.errstate(over="ignore", invalid="ignore")
def _masses(parts: PanelPolynomials) -> tuple[Array, Array]:
    """Bound the integrals over the parts of what is nowhere negative."""
    middle, error = _integrals(parts)
    return np.maximum(middle - error, 0.0), np.maximum(middle, 0.0) + error * SAFE


def _integrals(parts: PanelPolynomials) -> tuple[Array, Array]:
    """About the integrals over the parts, and bounds of how far off they are."""
    nodes = len(parts.coefficients)
    weights = np.array([0.0 if k % 2 else 2 / (1 - k * k) for k in range(nodes)])
    sizes = np.abs(weights) @ np.abs(parts.coefficients)
    middle = parts.half * (weights @ parts.coefficients)
    error = parts.half * (2 * parts.distance + (nodes + 6) * UNIT_ROUNDOFF * sizes)
    return middle, error * SAFE + _TINY


@np.errstate(over="ignore", invalid="ignore")
def integral(
    function: Combination, algebra: Float64Algebra, intervals: Iterable[Interval]
) -> Enclosure | NotEnclosed:
    """Enclose the integral of a function over disjoint intervals, where the grid is."""
    parts, marks = PanelPolynomials.of(function, algebra), algebra.grid.marks
    if not parts.is_finite:
        return NotEnclosed(OVERFLOW)
    middles, errors = _integrals(parts)
    unit, first, last = algebra.grid.unit, Fraction(marks[0]), Fraction(marks[-1])
    total = error = Fraction(0)
    for ends in intervals:
        start = first if ends[0] is None else min(max(ends[0] * unit, first), last)
        end = last if ends[1] is None else min(max(ends[1] * unit, first), last)
        for panel in range(bisect_right(marks, start) - 1, bisect_left(marks, end)):
            low, high = marks[panel], marks[panel + 1]
            if start <= low and high <= end:
                total += Fraction(float(middles[panel]))
                error += Fraction(float(errors[panel]))
                continue
            width = Fraction(high - low, unit)
            inner = max(start, Fraction(low)), min(end, Fraction(high))
            left, right = (2 * (x - low) / (high - low) - 1 for x in inner)
            own = _between(parts.coefficients[:, panel].tolist(), left, right)
            total += width / 2 * own.lower
            error += width * (own.width + Fraction(float(parts.distance[panel])))
    return Enclosure(total - error, total + error)


def _between(coefficients: Sequence[float], start: Fraction, end: Fraction) -> Enclosure:
    """Enclose ∫ Σ c_k T_k; that of T_k is (T_(k+1) / (k+1) - T_(k-1) / (k-1)) / 2 for k > 1."""
    with precision(128):
        found = arb(0)
        for sign, place in ((-1, to_ball(start)), (1, to_ball(end))):
            t = [arb.chebyshev_t(place, k) for k in range(len(coefficients) + 1)]
            of = [t[1], t[1] ** 2 / 2]
            of += [(t[k + 1] / (k + 1) - t[k - 1] / (k - 1)) / 2 for k in range(2, len(t) - 1)]
            for c, each in zip(coefficients, of, strict=True):
                found += sign * arb(c) * each
        return enclosure_of(found)


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
