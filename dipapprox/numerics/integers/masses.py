"""Probabilities of integer samples in fixed point, and the discrete laws in it.

Everything is a non-negative integer in units of 2^-unit and *below* the truth; how much is missing
in all is known exactly, because the true probabilities of a law sum to 1. So neither truncation nor
rounding needs a bound of its own: what the kept values do not sum up to is missing.

Discrete Laplace, q = e^(-1/b):     Pr[mean + d] = (1 - q)/(1 + q) q^|d|.
Discrete Gaussian, f(d) = e^(-d²/2σ²): Pr[mean + d] = f(d) / Σ f, a value of Jacobi's θ₃ below; and

    Σ f <= 1 + 2 Σ_{1 <= d <= R} f(d) + 2 ∫_R^∞ f(x) dx,    ∫_R^∞ f = σ √(π/2) erfc(R / σ√2),

as f decreases on [R, ∞). Only this bound from above enters values from below.

References:
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    definition 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from math import ceil, isqrt
from typing import assert_never

from flint import arb, fmpz_poly

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import Decay, Family
from dipapprox.limits import ask, asking
from dipapprox.numerics.decimals import rational

MOST_VALUES = 2**20
"""Most integers that one sample, or a sum of samples, is kept on."""

_GUARD_BITS = 32


@dataclass(frozen=True, slots=True)
class Masses:
    """An integer variable: Pr[first + k] >= values[k] in units of 2^-unit.

    Attributes:
        first: The least integer kept.
        values: For each integer from there on; they sum to at most 2^unit.
        missing: The true probabilities of any set of integers exceed the sum of its values by at
            most this, in the same units.
    """

    first: int
    values: Sequence[int]
    missing: int

    @property
    def last(self) -> int:
        """The greatest integer kept; below `first` if there is none."""
        return self.first + len(self.values) - 1

    def between(self, low: int | None, high: int | None) -> Masses:
        """Put 0 where the variable is not in [low, high]."""
        start = 0 if low is None else min(max(low - self.first, 0), len(self.values))
        stop = len(self.values) if high is None else max(high + 1 - self.first, start)
        return Masses(self.first + start, self.values[start:stop], self.missing)


def law_masses(law: Distribution, unit: int) -> Masses | NotEnclosed:
    """Tabulate a discrete law with an integer mean.

    Args:
        law: Discrete Laplace or discrete Gaussian.
        unit: Wanted accuracy; what is missing is about 2^-unit for each integer kept.
    """
    if law.mean.denominator != 1:
        return NotEnclosed(f"the mean {law.mean} of an integer sample is no integer")
    radius = _radius(law, unit)
    if 2 * radius + 1 > MOST_VALUES:
        wide = f"noise of scale {rational(law.scale)} takes more than {MOST_VALUES} values"
        return NotEnclosed(f"integer-sums: {wide}")
    with precision(unit + _GUARD_BITS + 2 * radius.bit_length()):
        half = [_floor(value, unit) for value in asking(_probabilities(law, radius))]
    return _of_law(int(law.mean) - radius, [*half[:0:-1], *half], unit)


def combined(parts: Sequence[tuple[int, Masses]], unit: int) -> Masses | NotEnclosed:
    """Tabulate Σ factor * variable for independent variables, factors other than 0.

    Products of polynomials are exact; then values are rounded down again.
    """
    span = 1 + sum(abs(factor) * (len(each.values) - 1) for factor, each in parts)
    if span > MOST_VALUES:
        return NotEnclosed(f"integer-sums: a sum of samples takes more than {MOST_VALUES} values")
    total: Masses | None = None
    for factor, each in parts:
        ask()
        own = _multiplied(factor, each)
        if total is None:
            total = own
            continue
        product = fmpz_poly(list(total.values)) * fmpz_poly(list(own.values))
        values = [int(value) >> unit for value in asking(product.coeffs())]
        missing = total.missing + own.missing + len(values)
        total = Masses(total.first + own.first, values, missing)
    if total is None:
        raise BrokenInvariant("a sum of no samples")
    return total


def _multiplied(factor: int, masses: Masses) -> Masses:
    """The law of factor * variable."""
    values = masses.values if factor > 0 else masses.values[::-1]
    first = factor * (masses.first if factor > 0 else masses.last)
    between = [0] * (abs(factor) - 1)
    if between:
        values = list(chain.from_iterable([value, *between] for value in values))
    return Masses(first, values, masses.missing)


def _of_law(first: int, values: list[int], unit: int) -> Masses:
    """What a whole law lacks is what its values do not sum up to; zeros at the ends are dropped."""
    missing = (1 << unit) - sum(values)
    if missing < 0:
        raise BrokenInvariant("lower bounds of probabilities sum to more than 1")
    kept = [place for place, value in enumerate(values) if value]
    start, stop = (kept[0], kept[-1] + 1) if kept else (0, 0)
    return Masses(first + start, values[start:stop], missing)


def _radius(law: Distribution, unit: int) -> int:
    """How far from its mean a law has probabilities of 2^-unit; it need not be exact."""
    match law.family:
        case Family.DISCRETE_LAPLACE:
            return ceil(law.scale * unit * Fraction(7, 10)) + 1
        case Family.DISCRETE_GAUSSIAN:
            return isqrt(ceil(law.scale**2 * unit * Fraction(7, 5))) + 1
        case _:
            raise ValueError(f"{law.family.value} is not discrete")


def _probabilities(law: Distribution, radius: int) -> list[arb]:
    """Enclose Pr[mean + d] for d = 0, …, radius, or at least bound it from below."""
    if not law.family.is_discrete:
        raise ValueError(f"{law.family.value} is not discrete")
    decay = law.family.decay
    match decay:
        case Decay.LINEAR:
            q = (-1 / to_ball(law.scale)).exp()
            return list(_products((1 - q) / (1 + q), q, arb(1), radius))
        case Decay.SQUARED:
            return _bells(law, radius)
        case _:
            assert_never(decay)


def _bells(law: Distribution, radius: int) -> list[arb]:
    """Those of discrete Gaussian noise: f(d) = q^(d²), and the norm is at most 2 Σ f + 1."""
    q = (-1 / (2 * to_ball(law.scale * law.scale))).exp()
    # f(d + 1) / f(d) = q^(2 d + 1)
    bells = list(_products(arb(1), q, q * q, radius))
    scale = to_ball(law.scale)
    tail = scale * (arb.pi() / 2).sqrt() * (radius / (scale * arb(2).sqrt())).erfc()
    norm = 2 * sum(asking(bells[1:]), tail) + 1
    return [bell / norm for bell in asking(bells)]


def _products(value: arb, ratio: arb, growth: arb, count: int) -> Iterator[arb]:
    """Yield value, value * ratio, value * ratio² * growth, …: each ratio is `growth` the last."""
    yield value
    for _ in asking(range(count)):
        value = value * ratio
        ratio = ratio * growth
        yield value


def _floor(value: arb, unit: int) -> int:
    """The greatest integer certainly not above value * 2^unit, at least 0."""
    lower = value.lower()
    if not lower.is_finite():
        return 0
    mantissa, exponent = (int(part) for part in lower.man_exp())
    if mantissa <= 0:
        return 0
    shift = exponent + unit
    return mantissa << shift if shift >= 0 else mantissa >> min(-shift, mantissa.bit_length())
