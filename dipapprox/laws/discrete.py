"""Noise on the integers: discrete Laplace and discrete Gaussian samples of mean 0 and a scale.

    DLap      Pr[Z = d] = (1 - q) / (1 + q) q^|d|, q = e^(-1 / b) with the scale b, as the sum of
              q^|d| is (1 + q) / (1 - q)
    DGauss    Pr[Z = d] is proportional to f(d) = e^(-d² / (2 σ²)), the scale is σ

The norm of the latter is a value of Jacobi's θ₃; as f falls on [R, ∞),

    Σ f <= 1 + 2 Σ_{1 <= d <= R} f(d) + 2 ∫_R^∞ f(x) dx,    ∫_R^∞ f = σ √(π/2) erfc(R / σ√2).

The scale. Both are e^(-t |d|^p) / θ(t), p = 1 and t = 1 / b, p = 2 and t = 1 / (2 σ²). With the
logarithm of the scale t falls at the rate p t, so s = p (t |Z|^p - M), M = t E|Z|^p, and
ds = -p² (t |Z|^p - M + V), V = t² Var |Z|^p; E s² = p² V. If M <= V then ds <= 0, so that
E|ds| = E s²: a `bend` is p² V.

    DLap      M = t / sinh t <= 1, V = t² cosh t / sinh² t. M <= V, as sinh t <= t cosh t; V <= 3/2,
              term by term: Σ t^2n / (2n - 2)! and Σ 2^(2n-1) t^2n / (2n)!, n >= 1. The mass at
              |Z| >= d is at most 2 e^(-t d), so E max(t |Z| - A, 0) <= 2 e^-A.
    DGauss    θ(t) = √(π/t) θ(u), u = π²/t (Jacobi), says M(t) = 1/2 - M(u) and V(t) = 1/2 + V(u) -
              2 M(u), so V - M is the same at t and u, and M <= 1/2. Where t >= π, E Z² <= 1/12 and
              Var Z² >= E Z² (1 - E Z²), so M <= V; and with E Z⁴ <= 2.01 e^-t, E Z² >= 1.84 e^-t,
              V <= 2.01 t² e^-t < 7/8, 1/2 + V - 2 M <= 1/2 + (2.01 t² - 3.68 t) e^-t < 7/8. So
              V <= 7/8. Pr[|Z| >= λ σ] <= 2 e^(-λ²/2), so E max(2 t Z² - A, 0) <= 4 e^(-A/2).

As s >= -1 for both, |s| is at most 1, or p t |Z|^p.

References:
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    definition 1 and lemma 14 (E e^(xZ) <= e^(σ² x² / 2)).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

from dipapprox.arithmetic import precision
from dipapprox.laws.family import BOTH_SIDES, IntegerFamily, flint
from dipapprox.limits import asking

if TYPE_CHECKING:
    from flint import arb

_BITS = 32


def _products(value: arb, ratio: arb, growth: arb | int, count: int) -> Iterator[arb]:
    """Yield value, value * ratio, value * ratio² * growth, … and so on, `count` after the first."""
    yield value
    for _ in asking(range(count)):
        value = value * ratio
        ratio = ratio * growth
        yield value


class DiscreteLaplaceNoise(IntegerFamily):
    name, constant, title = "DLap", "DISCRETE_LAPLACE", "discrete Laplace"
    shifts = BOTH_SIDES
    is_exponential = True
    bend = Fraction(3, 2)
    drift = Fraction(5, 8)  # sqrt(3/2) / 2 < 0.613

    def excess(self, cut: Fraction) -> Fraction:
        """2 e^-A, A = max(c² - 1, 1)."""
        return 2 * precision.exponential(-max(cut**2 - 1, Fraction(1)), _BITS).upper

    def radius(self, scale: Fraction, bits: int) -> int:
        """7/10 > ln 2."""
        return ceil(scale * bits * Fraction(7, 10)) + 1

    def masses(self, scale: Fraction, radius: int) -> list[arb]:
        """A geometric sequence."""
        q = (-1 / precision.to_ball(scale)).exp()
        return list(_products((1 - q) / (1 + q), q, 1, radius))


DISCRETE_LAPLACE = DiscreteLaplaceNoise()


class DiscreteGaussianNoise(IntegerFamily):
    name, constant, title = "DGauss", "DISCRETE_GAUSSIAN", "discrete Gaussian"
    shifts = ()
    is_exponential = False
    bend = Fraction(7, 2)
    drift = Fraction(15, 16)  # sqrt(7/2) / 2 < 0.936

    def excess(self, cut: Fraction) -> Fraction:
        """4 e^(-A/2), A = max(c² - 1, 1)."""
        return 4 * precision.exponential(-max(cut**2 - 1, Fraction(1)) / 2, _BITS).upper

    def radius(self, scale: Fraction, bits: int) -> int:
        """7/5 > 2 ln 2."""
        return isqrt(ceil(scale**2 * bits * Fraction(7, 5))) + 1

    def masses(self, scale: Fraction, radius: int) -> list[arb]:
        """Below the truth, as the norm is bounded from above: f(d + 1) / f(d) = q^(2 d + 1)."""
        width = precision.to_ball(scale)
        q = (-1 / (2 * precision.to_ball(scale * scale))).exp()
        bells = list(_products(flint.arb(1), q, q * q, radius))
        tail = width * (flint.arb.pi() / 2).sqrt() * (radius / (width * flint.arb(2).sqrt())).erfc()
        norm = 2 * sum(asking(bells[1:]), tail) + 1
        return [bell / norm for bell in asking(bells)]


DISCRETE_GAUSSIAN = DiscreteGaussianNoise()
