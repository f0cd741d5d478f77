"""Polynomials in Chebyshev form on a box, close to a function by a proved bound; and their bounds.

    values at nodes -> coefficients in doubles, taken as exact -> proved distance to the function
        -> restricted to a smaller box: value, gradient and rest

Let P be the function, q the partial sum of its Chebyshev series with κ_i < n_i, p the polynomial
with the computed coefficients, of the same degrees. |P - q| <= T is known (`analytic`).

**Distance.** At every node x, |p(x) - q(x)| <= |p(x) - v(x)| + |v(x) - P(x)| + T =: ε, where v are
the middles of the enclosures of P(x). p - q has degrees < n_i, so on the box |p - q| <= Λ ε with Λ
the product of the Lebesgue constants of the nodes, and its derivative in z_i is at most
(n_i - 1)² Λ ε (Markov). So it does not matter how the coefficients were found.

**Nodes.** Those used are the doubles nearest to the n Chebyshev points cos((2j + 1) π / 2n), or
near ones: each is within ξ = 2^-50 of a point. The Lebesgue constant L of the points is at most
1 + (2/π) ln n (Rivlin, *The Chebyshev Polynomials*, 1.3). A polynomial f of degree < n with
|f| <= 1 at the nodes has |f| <= 1 + ξ n² ‖f‖ at the points, so ‖f‖ <= L (1 + ξ n² ‖f‖): the
constant of the nodes is at most L / (1 - L ξ n²).

**Rounding.** A sum of products computed in doubles, in any order and with fused operations or
without, is the exact sum with every term multiplied by some 1 + θ, |θ| <= γ_m = m u / (1 - m u)
<= m 2^-52, u = 2^-53, m counting roundings on the way of a term (Higham, *Accuracy and Stability*,
3.1), as long as nothing underflows; what does is below 2^-1022 each time, and `_TINY` is added for
all of it. Matrices of values of Chebyshev polynomials are computed in rationals and rounded once,
those of their restrictions to intervals with more bits than doubles have, and what they are off is
counted. Then coefficients with Σ|a| = ν are restricted with an error of at most ν Π κ_i m 2^-52,
κ_i the largest row sum of the matrix of axis i, m = Σ (n_i + 2); an error measured as a sum over
coefficients.

**Model.** On the smaller box, with coefficients b in its coordinates z, |T_κ| <= 1 and |T'_κ| <= κ²
on [-1, 1]: the value is within Σ|b_κ| over all κ but 0 and unit vectors of b_0 + Σ b_i z_i, and the
derivative in z_i within Σ κ_i² |b_κ| over all κ but the unit vector i of b_i. Those of second
degree are told apart from the others: in sums of several functions they often cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import lcm, prod

import numpy as np
from flint import arb

from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import Array, above, total_above
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.numerics.interpolation.analytic import Tails
from dipapprox.numerics.powers import logarithm

_XI = Fraction(1, 2**50)
_NODE_BITS = 80
_TINY = 2.0**-900
_ULP = 2.0**-52
_NEGLIGIBLE = 2.0**-60
"""Columns of a restriction that together are below it are left out, and counted."""
_ROW_BITS, _TRIMMED = 128, 28  # of restrictions; of these bits at the ends of rows

Interval = tuple[Fraction, Fraction]


@cache
def nodes(count: int) -> tuple[Fraction, ...]:
    """Return `count` doubles in [-1, 1], within 2^-50 of the Chebyshev points of that number."""
    # Balls, and a double next to it: off by at most 2^-53 and what the ball's radius says.
    with precision(_NODE_BITS):
        points = [(arb(2 * j + 1) / (2 * count)).cos_pi() for j in range(count)]
        if max(float(point.rad()) for point in points) > 2.0**-53:
            raise BrokenInvariant("a Chebyshev point is not known to 53 bits")
        return tuple(Fraction(float(point.mid())) for point in points)


def lebesgue(count: int) -> Fraction:
    """Bound the Lebesgue constant of `nodes(count)` from above; see the module."""
    # 2/pi < 0.6367.
    points = 1 + Fraction(6367, 10_000) * logarithm(Fraction(count), _NODE_BITS).upper
    return points / (1 - points * _XI * count**2)


@cache
def _values(count: int) -> tuple[Array, Array]:
    """Return T_k(x_j) as [j, k], correctly rounded, and its inverse, about."""
    rows = []
    for x in nodes(count):
        a, unit = x.numerator, x.denominator
        row = [1, a]  # T_k(x) unit^k
        while len(row) < count:
            row.append(2 * a * row[-1] - unit * unit * row[-2])
        rows.append([value / unit**k for k, value in enumerate(row[:count])])
    table = np.array(rows)
    inverse = table.T * (2.0 / count)
    inverse[0] /= 2
    return table, inverse


class Restriction(Record, eq=False):
    """The matrix R with T_k(x) = Σ_m R[k, m] T_m(z) for x in a part of [-1, 1]."""

    matrix: Array  # rounded; columns that are negligible are left out
    norm: float  # at least every row's sum of absolute values
    dropped: float  # at least every row's sum over the columns left out, and what rows are off


_restrictions: Cache[tuple[int, Fraction, Fraction], Restriction] = Cache(20_000)


def restriction(count: int, centre: Fraction, half: Fraction) -> Restriction:
    """Return the restriction to centre + half [-1, 1]."""
    return _restrictions.find((count, centre, half), lambda: _restriction(count, centre, half))


def restricted_rows(count: int, centre: Fraction, half: Fraction, bits: int) -> list[list[int]]:
    """Return integers R: T_k(centre + half z) = Σ_m R[k][m] T_m(z) / 2^bits, k < count, about.

    Off by less than count^4 2^(_TRIMMED + 1 - bits), as a sum over m: x = centre + half z, a part
    of [-1, 1], gives row_(k+1) = 2 x row_k - row_(k-1) + δ_k with what is rounded and left out, at
    most count 2^(_TRIMMED + 1), so row k is off by Σ_j U_(k-j)(x) δ_j. As a sum over coefficients
    |U_n| <= (n + 1) max |T_i|, i <= n, and |T_i|² <= 2i + 1 (Parseval). Exact where all are
    multiples of 2^(_TRIMMED + 1 - bits).
    """
    unit = lcm(centre.denominator, half.denominator)
    c, h = int(2 * centre * unit), int(half * unit)
    # 2 z T_m = T_(m+1) + T_|m-1|: alike for all m where the coefficient of T_0 stands twice.
    rows = [[2 << bits], [(c << bits) // unit, (h << bits) // unit]][:count]
    while len(rows) < count:
        size = max(map(len, rows[-2:])) + 1
        last, before = (row + [0] * (size + 1 - len(row)) for row in (rows[-1], rows[-2]))
        new = [
            (c * last[m] + h * (last[abs(m - 1)] + last[m + 1])) // unit - before[m]
            for m in range(size)
        ]
        while new and not abs(new[-1]) >> _TRIMMED:
            new.pop()
        rows.append(new)
    return [[value if m else value // 2 for m, value in enumerate(row)] for row in rows]


def _restriction(count: int, centre: Fraction, half: Fraction) -> Restriction:
    rows = restricted_rows(count, centre, half, _ROW_BITS)
    matrix = np.zeros((count, max(map(len, rows))))
    for k, row in enumerate(rows):
        matrix[k, : len(row)] = row
    matrix *= 2.0**-_ROW_BITS
    # Sums of what is right of each column, rounded up: entries are rounded once, sums as in
    # `total_above`.
    sums = np.abs(matrix)[:, ::-1].cumsum(axis=1)[:, ::-1] * (1 + 2 * (count + 4) * _ULP)
    largest = sums.max(axis=0)
    kept = max(int(np.count_nonzero(largest > _NEGLIGIBLE)), min(count, 2))
    # Twice what rows are off: the sum is rounded, too.
    off = count**4 * 2.0 ** (_TRIMMED + 2 - _ROW_BITS)
    dropped = off + float(largest[kept:].max(initial=0.0))
    norm = float(largest[0]) * (1 + 2 * _ULP) + off
    return Restriction(np.ascontiguousarray(matrix[:, :kept]), norm, dropped)


class Model(Record, eq=False):
    """A function on a box: value + Σ gradient_i (u_i - centre_i), up to `spread`."""

    value: float  # at the centre, of the polynomial
    gradient: Array  # by axis, per unit of u_i; 0 where the box has no width
    spread: float  # most distance of the function from this form, anywhere in the box
    steepness: Array  # most distance of the function's derivatives from `gradient`; 0 likewise
    # by two axes i <= j, the coefficients of T_2(z_i) and of z_i z_j, which `spread` holds as well;
    # else 0
    bends: Array
    rest: float  # most distance from the form with the bends
    noise: float  # what smaller boxes have of `rest`, too


class RestrictedPolynomial(Record, eq=False):
    """Close to a function on a part of a box: Σ table[κ] T_κ(z), z in [-1, 1] on every axis."""

    table: Array  # by degree in each axis; 0 beyond degree 0 where the part has no width
    widths: tuple[Fraction, ...]  # half-widths of the part
    noise: float  # most distance from the function; smaller parts have that, too
    slopes: tuple[float, ...]  # most distance of the derivatives in the z_i, by axis

    def model(self) -> Model:
        """Return the linear form, and what is left; see the module."""
        table, axes = self.table, range(len(self.widths))
        sizes = np.array(np.abs(table))
        units = [tuple(int(j == i) for j in axes) for i in axes]
        value = float(table[(0,) * len(axes)])
        gradient, steepness = np.zeros(len(axes)), np.zeros(len(axes))
        moving = [i for i in axes if self.widths[i]]
        for i in moving:
            degrees = np.arange(sizes.shape[i], dtype=np.float64) ** 2
            weighted = sizes * degrees.reshape([-1 if j == i else 1 for j in axes])
            weighted[units[i]] = 0.0
            rest = float(total_above(weighted.reshape(-1))) + self.slopes[i]
            own = float(self.widths[i])
            gradient[i] = table[units[i]] / own
            steepness[i] = rest / own * (1 + 8 * _ULP)
        sizes[(0,) * len(axes)] = 0.0
        for i in moving:
            sizes[units[i]] = 0.0
        spread = float(total_above(sizes.reshape(-1))) + self.noise
        bends = np.zeros((len(axes), len(axes)))
        for i, j in combinations_with_replacement(moving, 2):
            second = tuple(int(k == i) + int(k == j) for k in axes)
            if all(k < size for k, size in zip(second, sizes.shape, strict=True)):
                bends[i, j] = table[second]
                sizes[second] = 0.0
        rest = float(total_above(sizes.reshape(-1))) + self.noise
        up = 1 + 4 * _ULP
        return Model(value, gradient, spread * up, steepness, bends, rest * up, self.noise)


class Polynomial(Record, eq=False):
    """Close to a function on a box."""

    centres: tuple[Fraction, ...]  # of the box, by axis
    halves: tuple[Fraction, ...]  # its half-widths, > 0
    coefficients: Array  # by degree in each axis
    norm: float  # at least the sum of their absolute values
    error: float  # most distance from the function
    slopes: tuple[float, ...]  # most distance of the derivatives in the coordinates z_i, by axis

    def restricted(self, box: Sequence[Interval]) -> RestrictedPolynomial:
        """Restrict the polynomial to a part of the box; see the module."""
        table = self.coefficients
        grown, dropped, roundings = self.norm, 0.0, 0
        widths = []
        for axis, (low, high) in enumerate(box):
            centre, half = self.centres[axis], self.halves[axis]
            width = (high - low) / 2
            widths.append(width)
            found = restriction(table.shape[0], ((low + high) / 2 - centre) / half, width / half)
            table = _first_to_last(table, found.matrix)
            roundings += len(found.matrix) + 2
            grown *= found.norm
            dropped += found.dropped
        # Each axis' dropped columns stand for at most dropped Π (other norms) <= dropped grown.
        rounding = grown * (roundings * _ULP + dropped) * (1 + 64 * _ULP) + _TINY
        slopes = tuple(
            ((count - 1) ** 2 * rounding + slope * above(width / half)) * (1 + 8 * _ULP)
            if width
            else 0.0
            for count, slope, width, half in zip(
                self.coefficients.shape, self.slopes, widths, self.halves, strict=True
            )
        )
        return RestrictedPolynomial(
            table, tuple(widths), (rounding + self.error) * (1 + _ULP), slopes
        )


def fit(
    centres: tuple[Fraction, ...],
    halves: tuple[Fraction, ...],
    lower: Array,
    upper: Array,
    tails: Tails,
) -> Polynomial:
    """Find a polynomial near a function from bounds of its values at centre + half · nodes(n_i).

    Args:
        lower: By the node of each axis.
        tails: Of the function's Chebyshev series, from the degrees n_i on.
    """
    middle = (lower + upper) / 2
    coefficients = middle
    for count in middle.shape:
        coefficients = _first_to_last(coefficients, _values(count)[1].T)
    norm = float(total_above(np.abs(coefficients).reshape(-1)))
    values, roundings = coefficients, 0
    for count in middle.shape:
        values = _first_to_last(values, _values(count)[0].T)
        roundings += count + 2
    # Both ends of the enclosures: no rounded middle matters.
    off = np.maximum(np.abs(values - lower), np.abs(upper - values)).max()
    residual = float(off) * (1 + 4 * _ULP) + norm * roundings * _ULP + _TINY
    gap = Fraction(residual) + Fraction(tails.value)
    own = prod(map(lebesgue, middle.shape), start=gap)
    slopes = tuple(
        above((count - 1) ** 2 * own + Fraction(each))
        for count, each in zip(middle.shape, tails.slopes, strict=True)
    )
    return Polynomial(
        centres, halves, coefficients, norm, above(own + Fraction(tails.value)), slopes
    )


def _first_to_last(table: Array, matrix: Array) -> Array:
    """Multiply every line along the first axis by a matrix; the axis becomes the last one."""
    lines = table.reshape(len(matrix), -1).T @ matrix
    return lines.reshape(*table.shape[1:], matrix.shape[1])
