"""Noise on the integers: discrete Laplace and discrete Gaussian samples of mean 0 and a scale.

    DLap      Pr[Z = d] = (1 - q) / (1 + q) q^|d|, q = e^(-1 / b) with the scale b, as the sum of
              q^|d| is (1 + q) / (1 - q)
    DGauss    Pr[Z = d] is proportional to f(d) = e^(-d² / (2 σ²)), the scale is σ

The norm of the latter is a value of Jacobi's θ₃; as f falls on [R, ∞),

    Σ f <= 1 + 2 Σ_{1 <= d <= R} f(d) + 2 ∫_R^∞ f(x) dx,    ∫_R^∞ f = σ √(π/2) erfc(R / σ√2).

References:
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    definition 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

from dipapprox.laws.family import BOTH_SIDES, IntegerFamily
from dipapprox.laws.libraries import flint, precision
from dipapprox.limits import asking

if TYPE_CHECKING:
    from flint import arb


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
