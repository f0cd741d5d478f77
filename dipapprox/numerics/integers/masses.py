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

from collections.abc import Sequence
from itertools import chain

from flint import arb, fmpz_poly

from dipapprox.arithmetic.decimals import rational
from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import precision
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import ask, asking

MOST_VALUES = 2**20
"""Most integers that one sample, or a sum of samples, is kept on."""

_GUARD_BITS = 32


@dataclass(frozen=True, slots=True)
class IntegerMasses:
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

    def between(self, low: int | None, high: int | None) -> IntegerMasses:
        """Put 0 where the variable is not in [low, high]."""
        start = 0 if low is None else min(max(low - self.first, 0), len(self.values))
        stop = len(self.values) if high is None else max(high + 1 - self.first, start)
        return IntegerMasses(self.first + start, self.values[start:stop], self.missing)


def law_masses(law: Distribution, unit: int) -> IntegerMasses | NotEnclosed:
    """Tabulate a discrete law with an integer mean.

    Args:
        law: Discrete Laplace or discrete Gaussian.
        unit: Wanted accuracy; what is missing is about 2^-unit for each integer kept.
    """
    if law.mean.denominator != 1:
        return NotEnclosed(f"the mean {law.mean} of an integer sample is no integer")
    radius = law.integers.radius(law.scale, unit)
    if 2 * radius + 1 > MOST_VALUES:
        wide = f"noise of scale {rational(law.scale)} takes more than {MOST_VALUES} values"
        return NotEnclosed(f"integer-sums: {wide}")
    with precision(unit + _GUARD_BITS + 2 * radius.bit_length()):
        half = [_floor(value, unit) for value in asking(law.integers.masses(law.scale, radius))]
    return _of_law(int(law.mean) - radius, [*half[:0:-1], *half], unit)


def combined(parts: Sequence[tuple[int, IntegerMasses]], unit: int) -> IntegerMasses | NotEnclosed:
    """Tabulate Σ factor * variable for independent variables, factors other than 0.

    Products of polynomials are exact; then values are rounded down again.
    """
    span = 1 + sum(abs(factor) * (len(each.values) - 1) for factor, each in parts)
    if span > MOST_VALUES:
        return NotEnclosed(f"integer-sums: a sum of samples takes more than {MOST_VALUES} values")
    total: IntegerMasses | None = None
    for factor, each in parts:
        ask()
        own = _multiplied(factor, each)
        if total is None:
            total = own
            continue
        product = fmpz_poly(list(total.values)) * fmpz_poly(list(own.values))
        values = [int(value) >> unit for value in asking(product.coeffs())]
        missing = total.missing + own.missing + len(values)
        total = IntegerMasses(total.first + own.first, values, missing)
    if total is None:
        raise BrokenInvariant("a sum of no samples")
    return total


def _multiplied(factor: int, masses: IntegerMasses) -> IntegerMasses:
    """The law of factor * variable."""
    values = masses.values if factor > 0 else masses.values[::-1]
    first = factor * (masses.first if factor > 0 else masses.last)
    between = [0] * (abs(factor) - 1)
    if between:
        values = list(chain.from_iterable([value, *between] for value in values))
    return IntegerMasses(first, values, masses.missing)


def _of_law(first: int, values: list[int], unit: int) -> IntegerMasses:
    """What a whole law lacks is what its values do not sum up to; zeros at the ends are dropped."""
    missing = (1 << unit) - sum(values)
    if missing < 0:
        raise BrokenInvariant("lower bounds of probabilities sum to more than 1")
    kept = [place for place, value in enumerate(values) if value]
    start, stop = (kept[0], kept[-1] + 1) if kept else (0, 0)
    return IntegerMasses(first + start, values[start:stop], missing)


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
