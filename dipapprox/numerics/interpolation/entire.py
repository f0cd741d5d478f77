"""Probabilities as entire functions of real inputs: how large they are for complex inputs.

A final state whose guards are free of inputs has, for Gaussian samples X_k with means μ_k(u) and
standard deviations σ_k, and other samples whose laws do not depend on u, the probability

    P(u) = ∫_G Π φ((x_k - μ_k(u)) / σ_k) / σ_k dx dQ.

**Lemma.** P is entire in u, and |P(u)| <= exp(Σ_k (Im μ_k(u))² / 2σ_k²).
Proof. |φ((x - a - ib) / σ)| = φ((x - a) / σ) e^(b²/2σ²), and a probability is at most 1.
Differentiation under the integral is allowed: on compact sets of u the integrand is dominated by
such densities.

From that, the coefficients of the Chebyshev series of P on a box with half-widths h_i: for
u_i = c_i + h_i z_i, let z_i lie inside the Bernstein ellipse of parameter ρ_i > 1, where
|Im z_i| <= (ρ_i - 1/ρ_i) / 2. Then |a_κ| <= 2^(number of κ_i > 0) M(ρ) Π ρ_i^(-κ_i) with M the
bound of the lemma there, for every ρ (Trefethen, *Approximation Theory and Approximation Practice*,
theorem 8.1, variable by variable). What a partial sum with κ_i < n_i leaves out is at most the sum
of these over all other κ: geometric sums, evaluated here in rationals and rounded up. For a
derivative in z_m the terms have the further factor κ_m², a bound of |T'_κ| on [-1, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import ceil, exp, log, prod

from dipapprox.arithmetic.precision import exponential
from dipapprox.arithmetic.rounding import above
from dipapprox.data_classes import Record

_RHOS = tuple(Fraction(round(64 * 1.06**k), 64) for k in range(1, 110))
"""Parameters of ellipses that are tried, 1.06 to 600."""

_LARGEST_EXPONENT = 600  # beyond, a bound e^x is of no use


class StateBound(Record):
    """How the means of the Gaussian samples of a final state move with real inputs."""

    # for each sample that moves and each axis, |∂μ_k / ∂u_i| / σ_k, exact
    slopes: tuple[tuple[Fraction, ...], ...]

    def exponent(self, imaginary: Sequence[Fraction]) -> Fraction:
        """Σ_k (Im μ_k)² / 2σ_k² where |Im u_i| is at most `imaginary[i]`."""
        rows = (zip(row, imaginary, strict=True) for row in self.slopes)
        moved = (sum((s * y for s, y in row), Fraction(0)) for row in rows)
        return sum((each**2 for each in moved), Fraction(0)) / 2


class Tails(Record):
    """What a partial sum of a Chebyshev series leaves out, at most; see the module."""

    value: float  # of the function, anywhere in the box
    slopes: tuple[float, ...]  # of its derivatives in z_1, z_2, …


def sizes_for(
    states: Sequence[StateBound], halves: Sequence[Fraction], tolerance: float
) -> tuple[int, ...]:
    """Guess how many terms per axis, at least 2, leave out about `tolerance`; nothing is claimed.

    The states are those of one output: their probabilities add up. `halves`: of the box.
    """
    return tuple(size_for(states, axis, half, tolerance) for axis, half in enumerate(halves))


def size_for(states: Sequence[StateBound], axis: int, half: Fraction, tolerance: float) -> int:
    """Guess how many terms one axis wants; see `sizes_for`."""
    return _terms(_weight(states, axis, half), tolerance)


def tails(states: Sequence[StateBound], halves: Sequence[Fraction], sizes: Sequence[int]) -> Tails:
    """Bound what the partial sum with κ_i < sizes[i] leaves out; see the module."""
    axes = range(len(halves))
    weights = [_weight(states, axis, half) for axis, half in enumerate(halves)]
    value = Fraction(0)
    slopes = [Fraction(0) for _ in axes]
    for axis in axes:
        rhos = [_best(weights[j], sizes[j]) if j == axis else _moderate(weights[j]) for j in axes]
        imaginary = [half * (rho - 1 / rho) / 2 for half, rho in zip(halves, rhos, strict=True)]
        size = sum((_exponential(state.exponent(imaginary)) for state in states), Fraction(0))
        plain = [_tail(rhos[j], sizes[j]) if j == axis else 1 + _tail(rhos[j], 1) for j in axes]
        steep = [_steep_tail(rhos[j], sizes[j] if j == axis else 1) for j in axes]
        whole = prod(plain, start=size)
        value += whole
        for m in axes:
            slopes[m] += whole / plain[m] * steep[m]
    return Tails(above(value), tuple(map(above, slopes)))


def _weight(states: Sequence[StateBound], axis: int, half: Fraction) -> float:
    """About half² Σ_k slope_k² of the worst state, other axes counted where samples share them."""
    totals = (sum(float(row[axis]) * float(sum(row)) for row in s.slopes) for s in states)
    return max(totals, default=0.0) * float(half) ** 2


@cache
def _terms(weight: float, tolerance: float) -> int:
    size = 2  # a linear form has two
    while size < 400 and _logarithm(weight, float(_best(weight, size)), size) > log(tolerance):
        size += 1
    return size


def _logarithm(weight: float, rho: float, size: int) -> float:
    """About the logarithm of the tail from `size` on."""
    return weight * (rho - 1 / rho) ** 2 / 8 + log(2 / (1 - 1 / rho)) - size * log(rho)


@cache
def _best(weight: float, size: int) -> Fraction:
    return min(_RHOS, key=lambda rho: _logarithm(weight, float(rho), size))


@cache
def _moderate(weight: float) -> Fraction:
    def size(rho: Fraction) -> float:
        exponent = weight * float(rho - 1 / rho) ** 2 / 8
        return exp(min(exponent, 500.0)) * (1 + 2 / (float(rho) - 1))

    return min(_RHOS, key=size)


def _exponential(exponent: Fraction) -> Fraction:
    """An upper bound of e^exponent."""
    if exponent > _LARGEST_EXPONENT:
        return Fraction(2) ** (3 * ceil(exponent) // 2 + 2)
    return exponential(exponent, 24).upper


def _tail(rho: Fraction, size: int) -> Fraction:
    """Σ over k >= size of 2 ρ^(-k)."""
    x = 1 / rho
    return 2 * x**size / (1 - x)


def _steep_tail(rho: Fraction, size: int) -> Fraction:
    """Σ over k >= size of 2 k² ρ^(-k)."""
    x = 1 / rho
    rest = 1 - x
    inner = size**2 / rest + 2 * size * x / rest**2 + x * (1 + x) / rest**3
    return 2 * x**size * inner
