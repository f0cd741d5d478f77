"""Lowest terms of P(Y) / Π (1 - Y^d)^e: the denominator's prime factors are cyclotomic.

1 - Y^d is the product of the cyclotomic polynomials Φ_m, m | d, with Φ_1 taken as 1 - Y. Those that
divide P are cancelled, and the others are joined to factors 1 + Y^k and 1 - Y^k again where they
are all there. Every Φ_m is positive for 0 < Y < 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm

from flint import fmpz_poly

from dipapprox.data_classes import dataclass

_LARGEST = 4096
"""Highest degree that is treated as a dense polynomial."""

Polynomial = tuple[tuple[int, int], ...]
"""((k, c), …): Σ c Y^k, ascending."""


@dataclass(frozen=True, slots=True)
class LowestTerms:
    """A quotient without common factor.

    Attributes:
        numerator: Coefficients by exponent.
        denominator: Factors that are positive on (0, 1), with their exponents.
    """

    numerator: Mapping[int, Fraction]
    denominator: tuple[tuple[Polynomial, int], ...]


def lowest_terms(
    numerator: Mapping[int, Fraction], denominator: Mapping[int, int]
) -> LowestTerms | None:
    """Cancel; None if degrees are too high for that.

    Args:
        numerator: Exponents >= 0 with coefficients, not all 0.
        denominator: {d: e}: Π (1 - Y^d)^e, d >= 1, e >= 1.
    """
    lowest = min(numerator)
    if max(numerator) - lowest > _LARGEST or max(denominator, default=0) > _LARGEST:
        return None
    scale = lcm(*(c.denominator for c in numerator.values()))
    dense = [0] * (max(numerator) - lowest + 1)
    for exponent, c in numerator.items():
        dense[exponent - lowest] = c.numerator * (scale // c.denominator)
    polynomial = fmpz_poly(dense)
    factors: dict[int, int] = {}
    for d, e in denominator.items():
        for m in _divisors(d):
            factors[m] = factors.get(m, 0) + e
    for m in sorted(factors):
        cyclotomic = _cyclotomic(m)
        while factors[m]:
            quotient, remainder = divmod(polynomial, cyclotomic)
            if remainder:
                break
            polynomial = quotient
            factors[m] -= 1
    return LowestTerms(
        {k + lowest: Fraction(int(c), scale) for k, c in enumerate(polynomial.coeffs()) if c},
        tuple(_joined(factors)),
    )


def _joined(factors: dict[int, int]) -> Iterator[tuple[Polynomial, int]]:
    """Write Π Φ_m^(factors[m]) with factors 1 + Y^k and 1 - Y^k as far as they go."""
    for m in sorted(factors, reverse=True):
        groups = [(tuple(_divisors(m)), ((0, 1), (m, -1)))]  # 1 - Y^m is the product over d | m,
        if m % 2 == 0:  # and 1 + Y^k = (1 - Y^2k) / (1 - Y^k)
            half = set(_divisors(m // 2))
            plus = tuple(d for d in _divisors(m) if d not in half)
            groups.insert(0, (plus, ((0, 1), (m // 2, 1))))
        for group, polynomial in groups:
            times = min(factors.get(d, 0) for d in group)
            if times:
                for d in group:
                    factors[d] -= times
                yield polynomial, times
        if factors[m]:
            coefficients = _cyclotomic(m).coeffs()
            yield tuple((k, int(c)) for k, c in enumerate(coefficients) if c), factors[m]
            factors[m] = 0


def _cyclotomic(m: int) -> fmpz_poly:
    return fmpz_poly([1, -1]) if m == 1 else fmpz_poly.cyclotomic(m)


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
