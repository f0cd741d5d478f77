"""Probabilities as analytic functions of real inputs: how large they are for complex inputs.

A final state whose guards are free of inputs has, for samples X_k with means μ_k(u), scales σ_k and
standard densities f_k, and other samples whose laws do not depend on u, the probability

    P(u) = ∫_G Π f_k((x_k - μ_k(u)) / σ_k) / σ_k dx dQ.

**Lemma.** Let f_k be analytic for |Im z| < s_k, and let its moduli there, on lines parallel to the
real one, have integrals of at most m_k(|Im z|), m_k increasing (`RealFamily.modulus`). Then P is
analytic in u where |Im μ_k| < s_k σ_k for all k, and |P(u)| <= Π m_k(|Im μ_k| / σ_k).
Proof. That product bounds the integral of the integrand's modulus over all noise. Differentiation
under the integral is allowed: on compact sets of u something integrable dominates the integrand.

From that, the coefficients of the Chebyshev series of P on a box with half-widths h_i: for
u_i = c_i + h_i z_i, let z_i lie inside the Bernstein ellipse of parameter ρ_i > 1, where
|Im z_i| <= (ρ_i - 1/ρ_i) / 2. Then |a_κ| <= 2^(number of κ_i > 0) M(ρ) Π ρ_i^(-κ_i) with M the
bound of the lemma there, for every ρ (Trefethen, *Approximation Theory and Approximation Practice*,
theorem 8.1, variable by variable). What a partial sum with κ_i < n_i leaves out is at most the sum
of these over all other κ: geometric sums, evaluated here in rationals and rounded up. For a
derivative in z_m the terms have the further factor κ_m², a bound of |T'_κ| on [-1, 1].

Each of the inputs that move a sample may take it an equal share of the way to the end of its strip.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import exp, inf, log, prod, sqrt

from dipapprox.arithmetic.rounding import above
from dipapprox.data_classes import Record
from dipapprox.laws.family import RealFamily

_RHOS = tuple(Fraction(round(64 * 1.06**k), 64) for k in range(1, 110))
"""Parameters of ellipses that are tried, 1.06 to 600."""

_MOST_TERMS = 400

Row = tuple[RealFamily, tuple[Fraction, ...]]
"""A sample around real inputs: |∂μ / ∂u_i| / σ for each axis."""

State = tuple[Row, ...]  # the samples of a final state that move


def _modulus(state: State, imaginary: Sequence[Fraction]) -> Fraction:
    """Bound |P| where |Im u_i| is at most `imaginary[i]`."""
    found = Fraction(1)
    for family, row in state:
        moved = sum((s * y for s, y in zip(row, imaginary, strict=True)), Fraction(0))
        found *= family.modulus(moved)
    return found


class Tails(Record):
    """What a partial sum of a Chebyshev series leaves out, at most; see the module."""

    value: float  # of the function, anywhere in the box
    slopes: tuple[float, ...]  # of its derivatives in z_1, z_2, …


def size_for(states: Sequence[State], axis: int, half: Fraction, tolerance: float) -> int:
    """Guess how many terms along an axis, at least 2, leave out about `tolerance`: no claim.

    The states are those of one output: their probabilities add up. `half`: of the box.
    """
    return _terms(*_growth(states, axis, half), tolerance)


@cache
def tails(states: tuple[State, ...], halves: tuple[Fraction, ...], sizes: tuple[int, ...]) -> Tails:
    """Bound what the partial sum with κ_i < sizes[i] leaves out; see the module."""
    axes = range(len(halves))
    growths = [_growth(states, axis, half) for axis, half in enumerate(halves)]
    value = Fraction(0)
    slopes = [Fraction(0) for _ in axes]
    for axis in axes:
        rhos = [_best(*growths[j], sizes[j]) if j == axis else _moderate(*growths[j]) for j in axes]
        imaginary = [half * (rho - 1 / rho) / 2 for half, rho in zip(halves, rhos, strict=True)]
        size = sum((_modulus(state, imaginary) for state in states), Fraction(0))
        plain = [_tail(rhos[j], sizes[j]) if j == axis else 1 + _tail(rhos[j], 1) for j in axes]
        steep = [_steep_tail(rhos[j], sizes[j] if j == axis else 1) for j in axes]
        whole = prod(plain, start=size)
        value += whole
        for m in axes:
            slopes[m] += whole / plain[m] * steep[m]
    return Tails(above(value), tuple(map(above, slopes)))


def _growth(states: Sequence[State], axis: int, half: Fraction) -> tuple[float, float]:
    """Say how the logarithm of P grows off the line, about, and the largest ρ of all in reach.

    The former is half² Σ_k slope_k² of the worst state, other axes counted where samples share
    them, as for Gaussian noise: strips of others are so narrow that theirs is about that.
    """
    totals = (sum(float(row[axis]) * float(sum(row)) for _, row in s) for s in states)
    shares = [
        float(family.strip / (row[axis] * sum(map(bool, row)) * half))
        for state in states
        for family, row in state
        if family.strip is not None and row[axis]
    ]
    high = min(shares, default=inf) * (1 - 2.0**-20)
    return max(totals, default=0.0) * float(half) ** 2, high + sqrt(high * high + 1)


@cache
def _terms(weight: float, most: float, tolerance: float) -> int:
    size = 2  # a linear form has two
    if most < _RHOS[0]:
        return _MOST_TERMS
    while size < _MOST_TERMS and _logarithm(weight, _best(weight, most, size), size) > log(
        tolerance
    ):
        size += 1
    return size


def _logarithm(weight: float, rho: Fraction, size: int) -> float:
    """About the logarithm of the tail from `size` on."""
    x = float(rho)
    return weight * (x - 1 / x) ** 2 / 8 + log(2 / (1 - 1 / x)) - size * log(x)


@cache
def _best(weight: float, most: float, size: int) -> Fraction:
    return min(_in_reach(most), key=lambda rho: _logarithm(weight, rho, size))


@cache
def _moderate(weight: float, most: float) -> Fraction:
    def size(rho: Fraction) -> float:
        exponent = weight * float(rho - 1 / rho) ** 2 / 8
        return exp(min(exponent, 500.0)) * (1 + 2 / (float(rho) - 1))

    return min(_in_reach(most), key=size)


def _in_reach(most: float) -> list[Fraction]:
    return [rho for rho in _RHOS if rho <= most]


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
