"""The exponential and the Gaussian tail on arrays of doubles, with proved error bounds.

libm, numpy and scipy promise nothing about the errors of `exp` and `erfc`. These functions use only
the IEEE operations +, -, * and rounding to an integer, each exact up to a relative error u = 2^-53
(or an absolute 2^-1022 below that, as subnormal numbers may be flushed), and tables made from
balls. With M(t) = ∫_0^∞ exp(-ts - s²/2) ds, for all doubles x <= 700 and 0 <= t <= 40,

    |exponential(x) - exp(x)| <= 2^-49 exp(x) + 2^-990                                         (1)
    |mills_ratio(t) - M(t)|   <= 2^-49 M(t)                                                    (2)
    (1 + 2^-30) exp(x) <= growth(x) <= (1 + 2^-21) exp(x) + 2^-988                             (3)

    |complement(w) - (1 - e^-w)| <= 2^-49 (1 - e^-w) + 2^-1021 for 0 <= w <= 1                 (4)

and exp(-t²/2) M(t) / sqrt(2 pi) is the mass that the standard Gaussian puts above t.

Proof of (1). For x in [-690, 700] let k = round(x / ln 2), |k| <= 1011, and ln 2 = L + l + c with
L a multiple of 2^-42, so that k L is exact, l a double, |l| <= 2^-42, |c| <= 2^-95. Then r = (x -
k L) - k l differs from x - k ln 2 by at most u |x - k L| + u |k l| + 2^-95 |k| + u |r| <= 0.8 u,
as |r| <= 0.35. The Taylor polynomial of degree 13 has a remainder of at most 0.35^14 e^0.35 / 14!
<= 0.1 u. In Horner's scheme the coefficient 1/j! takes part in at most 2j + 1 roundings and is
rounded once itself, so the error is at most 1.01 u Σ (2j + 2) |r|^j / j! = 1.01 u (2 + 2|r|)
e^|r| <= 3.9 u. As e^r >= 0.7, the relative error is at most (0.8 e^0.35 + 0.1 + 3.9) u / 0.7 <= 8
u; we claim twice that. The scaling by 2^k is exact. Below -690 the value at -690 is returned; it
and exp(x) lie in [0, 2^-990].

Proof of (2). M is a Laplace transform of a positive function, so |M^(j)| decreases for every j.
On the cell of half-width h around m the Taylor remainder is at most |M^(n)(m - h)| h^n / n!,
which balls at m - h enclose; M' = t M - 1 and so M^(n+1) = t M^(n) + n M^(n-1) give all derivatives
from M. The argument t - m is rounded once, so in Horner's scheme
the coefficient c_j takes part in at most 3j + 1 roundings: at most 1.01 u Σ (3j + 1) |c_j| h^j.
The sum of both and of the errors of the stored c_j is enclosed for every cell when the table is
made, and compared with 2^-49 M(m + h).

Proof of (3). `growth` uses the Taylor polynomial of degree 6, whose remainder is at most |r|^7
e^max(r, 0) / 7!: relative to e^r at most 0.35^7 e^0.35 / 7! <= 2^-22.3. All other errors are at
most 8 u as above. The value is raised by a factor 1 + 2^-22 + 2^-28 and by 2^-989.

Proof of (4). 1 - e^-w = w Σ (-w)^j / (j + 1)!, an alternating series of falling terms: those from
j = 19 on are at most 0.01 u. In Horner's scheme the others err by at most 1.01 u Σ (2j + 2) w^j /
(j + 1)! <= 2.02 u e^w <= 5.5 u, and the sum is at least 1 - 1/e >= 0.63. So with the last product
the relative error is at most 10 u; we claim 16 u.

Panels. What families need to bound their functions there.

A panel is the interval [c - h, c + h] in standard units; z = c + h w maps the reference interval
[-1, 1] onto it, and each Bernstein ellipse of the rule (`legendre.Rule`) onto an ellipse round
it. On ellipses suprema are those of the modulus on the boundary, by the maximum principle, and the
boundary is cut into arcs at equidistant real parts.

Values. Inputs c and h are correctly rounded. With u = 2^-53 and T = |c| + h <= 2^20 the computed
point t = fl(c + fl(h x)) is within d = 2^-50 T of the exact one. Where the hazard rate is at most
|t| + 1 this changes functions by factors within exp(± d (T + 1 + d)); as d (T + 1) is below 2^-9,
1.01 times the terms of first order bound all relative errors.

Cuts. Let the ellipse have the semi-axes A and B. The computed A' is at least A + 2^-30 (|c| + A),
and the cuts x_j = fl(c + A' e_j), e_j from -1 to 1, are within 2^-51 (|c| + A') <= 2^-20 A' of
c + A' e_j. So the outer cuts enclose the ellipse; and it lies inside the one with the semi-axes A'
and B, on which |Im z| <= B sqrt(1 - e²) (1 + 2^-18) beyond the computed cut at |e| <= 3/4.
Otherwise cuts need no error bounds: they are what they are.

Rounding. `growth` exceeds the exponential by 2^-30 in proportion, which covers the roundings of its
argument, at most 700 * 2^-51, or 2^-990 below -690, and of what is made of it. Where a lower bound
is wanted, the factor 1 - 2^-20 leaves as much, up to 2^-988, which is only taken from 1.

References:
    N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 5.1 (Horner).
"""

from __future__ import annotations

from functools import cache
from math import factorial

import numpy as np
from flint import arb

from dipapprox.arithmetic.legendre import Rule
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import Array
from dipapprox.errors import BrokenInvariant

RELATIVE = 2.0**-49  # bound on the relative errors of `exponential`, `mills_ratio` and `complement`
EXCESS = 2.0**-20
"""More than `growth` is too large, in proportion: growth(x) (1 - EXCESS) <= exp(x) + 2^-988."""

UNDERFLOW = 2.0**-990  # bound on the further absolute error of `exponential`
_LOWEST = -690.0
_HIGHEST = 700.0
_TAYLOR = [1 / factorial(j) for j in range(14)]  # int / int is correctly rounded
_COMPLEMENT = [1 / factorial(j + 1) for j in range(19)]
_CELL = 0.125
_CELLS = 320
_NEAR = 80
_TERMS = 11


def exponential(x: Array) -> Array:
    """Return exp(x) within (1); for x > 700 an upper bound is not promised: use `growth`."""
    return _exponential(x, _TAYLOR)


def growth(x: Array) -> Array:
    """Return an upper bound of exp(x) within (3), and inf for x > 700."""
    bound = _exponential(x, _TAYLOR[:7])
    bound *= 1 + (2.0**-22 + 2.0**-28)
    bound += 2 * UNDERFLOW
    bound[x > _HIGHEST] = np.inf
    return bound


def _exponential(x: Array, taylor: list[float]) -> Array:
    high, low, inverse = _logarithm_of_two()
    x = np.clip(x, _LOWEST, _HIGHEST)
    k = np.rint(x * inverse)
    r = (x - k * high) - k * low
    value = r * taylor[-1]
    for coefficient in taylor[-2:0:-1]:
        value += coefficient
        value *= r
    value += 1.0
    value *= ((k.astype(np.int64) + 1023) << 52).view(np.float64)
    return value


def complement(w: Array) -> Array:
    """Return 1 - e^-w for 0 <= w <= 1 within (4)."""
    value = w * -_COMPLEMENT[-1]
    for coefficient in _COMPLEMENT[-2:0:-1]:
        value += coefficient
        value *= -w
    value += 1.0
    found: Array = value * w
    return found


def mills_ratio(t: Array) -> Array:
    """Return M(t) for 0 <= t <= 40 within (2), and M(40) for larger arguments."""
    # Laws are rarely kept beyond 10 standard deviations.
    table = _mills_table(_NEAR if t.max() <= _CELL * _NEAR else _CELLS)
    t = np.minimum(t, _CELL * _CELLS)
    cell = np.minimum((t * (1 / _CELL)).astype(np.int64), table.shape[1] - 1)
    x = t - (cell + 0.5) * _CELL
    coefficients = table.take(cell, axis=1)
    value: Array = coefficients[-1] * x
    for row in coefficients[-2:0:-1]:
        value += row
        value *= x
    value += coefficients[0]
    return value


@cache
def _logarithm_of_two() -> tuple[float, float, float]:
    with precision(256):
        logarithm = arb.const_log2()
        high = float((logarithm * 2**42).floor().mid()) / 2**42
        low, inverse = float((logarithm - arb(high)).mid()), float((1 / logarithm).mid())
        if not (
            abs(logarithm - high - low) <= 2.0**-95
            and abs(low) <= 2.0**-42
            and abs(inverse * logarithm - 1) <= 2.0**-50
        ):
            raise BrokenInvariant("ln 2 is not known as well as the proof of `exponential` needs")
        return high, low, inverse


@cache
def _mills_table(cells: int) -> Array:
    """Taylor coefficients of M at the cells' midpoints, by degree and cell; checked against (2)."""
    table = np.empty((_TERMS, cells))
    with precision(192):
        powers = [(arb(_CELL) / 2) ** j for j in range(_TERMS + 1)]
        weights = [arb(1.01) * (3 * j + 1) / 2**53 * power for j, power in enumerate(powers)]
        left = _mills_series(arb(0), _TERMS + 1)
        for cell in range(cells):
            middle = _mills_series(arb(cell + 0.5) * _CELL, _TERMS)
            right = _mills_series(arb(cell + 1) * _CELL, _TERMS + 1)
            stored = [float(coefficient.mid()) for coefficient in middle]
            error = abs(left[_TERMS]) * powers[_TERMS]
            for exact, value, power, weight in zip(middle, stored, powers, weights, strict=False):
                error += abs(exact - value) * power + abs(value) * weight
            if not error <= right[0] * RELATIVE:
                raise BrokenInvariant("the table of Mills' ratio misses its error bound")
            table[:, cell] = stored
            left = right
    return table


def _mills_series(point: arb, length: int) -> list[arb]:
    """The Taylor coefficients of M, M(s) = sqrt(pi / 2) exp(s²/2) erfc(s / sqrt 2), at a point."""
    value = (point * point / 2).exp() * (point / arb(2).sqrt()).erfc() * (arb.pi() / 2).sqrt()
    series = [value, point * value - 1]
    for n in range(1, length - 1):
        series.append((point * series[n] + series[n - 1]) / (n + 1))
    return series


# --- panels ---------------------------------------------------------------------------------------

_ARCS = 8
_EDGES = np.linspace(-1.0, 1.0, _ARCS + 1)[:, None]
# Largest |Im w| / b on each arc of the left half: sqrt(1 - e²) at its right end, 1 next to 0.
_HEIGHTS = np.sqrt(1 - _EDGES[1 : _ARCS // 2 + 1] ** 2) * (1 + 2.0**-17)


def least_cosine(height: Array) -> Array:
    """Return a lower bound of cos y for |y| <= height.

    By Taylor's polynomial 1 - h²/2 + h⁴/24 - h⁶/720, which is below the cosine; rounding costs less
    than 2^-30. Beyond π the cosine is not monotone: -1 serves everywhere.
    """
    square = height * height
    cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30))
    found: Array = np.where(height < 3.125, np.maximum(cosine - 2.0**-30, -1.0), -1.0)
    return found


def arcs(center: Array, half: Array, rule: Rule) -> tuple[Array, Array]:
    """Cut the ellipses.

    Returns:
        The cuts x_j, (R, arcs + 1, P), and the largest |Im z| on the arcs of the left half, (R,
        arcs / 2, P): those of the right half are as high.
    """
    wide = rule.wide[:, None] * (half * (1 + 2.0**-29)) + 2.0**-29 * np.abs(center)
    high = rule.high[:, None] * half
    return wide[:, None, :] * _EDGES + center, high[:, None, :] * _HEIGHTS


def on_all(values: Array, edges: Array) -> Array:
    """Return numbers on all boxes between edges from those on the left half, if that is all."""
    if 2 * values.shape[1] == edges.shape[1] - 1:
        return np.concatenate([values, values[:, ::-1]], axis=1)
    return values
