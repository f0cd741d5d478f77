"""Rational functions of Y = e^{-uε} whose denominators are products of 1 - Y^d.

They are the coefficients in sums over integers: geometric series have denominators 1 - Y^d and no
others, so a denominator is known in factors, each positive for 0 < Y < 1. Numerators are sparse:
means, and with them exponents, may be huge. In: integers. Out: exponential ratios in ε.

References:
    DiPC paper, Lemma 17: such are the probabilities of events of discrete Laplace samples.

Lowest terms of P(Y) / Π (1 - Y^d)^e: the denominator's prime factors are cyclotomic.

1 - Y^d is the product of the cyclotomic polynomials Φ_m, m | d, with Φ_1 taken as 1 - Y. Those that
divide P are cancelled, and the others are joined to factors 1 + Y^k and 1 - Y^k again where they
are all there. Every Φ_m is positive for 0 < Y < 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm, prod

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz_poly

from dipapprox.data_classes import dataclass
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio

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


_CONTEXT = fmpq_mpoly_ctx.get(("Y",), Ordering.lex)

_LONGEST = 100_000
"""Most terms of an expanded denominator."""

_MOST_WORK = 300_000_000
"""Most products of terms in one step: some seconds, in which nothing can stop it."""

Denominator = tuple[tuple[int, int], ...]
"""(d, e), each d once, ascending, e >= 1: Π (1 - Y^d)^e."""


class SumTooLong(Exception):
    """A coefficient would need too many terms: rates without a simple ratio, or a deep tree."""


def _rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


@dataclass(frozen=True, slots=True)
class LatticeRatio:
    """Y^shift * numerator / Π (1 - Y^d)^e; it is 0 exactly if the numerator is."""

    numerator: fmpq_mpoly
    shift: int = 0
    denominator: Denominator = ()

    def __bool__(self) -> bool:
        """Whether this is not the zero function."""
        return bool(self.numerator)

    def __neg__(self) -> LatticeRatio:
        return LatticeRatio(-self.numerator, self.shift, self.denominator)

    def __add__(self, other: LatticeRatio) -> LatticeRatio:
        return lattice_sum((self, other))

    def __mul__(self, other: LatticeRatio) -> LatticeRatio:
        _require_little(len(self.numerator) * len(other.numerator))
        return LatticeRatio(
            self.numerator * other.numerator,
            self.shift + other.shift,
            _product(self.denominator, other.denominator),
        )

    def scaled(self, factor: Fraction | int) -> LatticeRatio:
        """factor * self."""
        return LatticeRatio(self.numerator * _rational(factor), self.shift, self.denominator)

    def shifted(self, exponent: int) -> LatticeRatio:
        """Y^exponent * self."""
        return LatticeRatio(self.numerator, self.shift + exponent, self.denominator)

    def times_powers(self, powers: Mapping[int, int]) -> LatticeRatio:
        """self * Π (1 - Y^d)^powers[d], exponents of any sign."""
        exponents = dict(self.denominator)
        for d, e in powers.items():
            exponents[d] = exponents.get(d, 0) - e
        above = tuple(sorted((d, -e) for d, e in exponents.items() if e < 0))
        below = tuple(sorted((d, e) for d, e in exponents.items() if e > 0))
        _require_little(len(self.numerator) * _length(above))
        return LatticeRatio(self.numerator * _expanded(above), self.shift, below)

    def as_exponentials(self, unit: Fraction) -> ExponentialRatio:
        """Substitute Y = e^{-unit * ε}; in lowest terms where that is cheap to reach."""
        if not self.numerator:
            return ExponentialRatio.constant(0)
        terms = {int(k): Fraction(int(c.p), int(c.q)) for (k,), c in self.numerator.terms()}
        lowest = lowest_terms(terms, dict(self.denominator))
        if lowest is None:
            factors: Sequence[tuple[Polynomial, int]] = [
                (((0, 1), (d, -1)), e) for d, e in self.denominator
            ]
        else:
            terms, factors = dict(lowest.numerator), lowest.denominator
        numerator = {k + self.shift: c for k, c in terms.items()}
        return ExponentialRatio.of(
            _exponentials(numerator.items(), unit),
            {_exponentials(factor, unit): e for factor, e in factors},
        )


def constant(value: Fraction | int) -> LatticeRatio:
    """The constant function `value`."""
    return LatticeRatio(_CONTEXT.constant(_rational(value)))


ZERO = constant(0)
ONE = constant(1)


def inverse_of_one_minus(d: int) -> LatticeRatio:
    """1 / (1 - Y^d), d >= 1."""
    return LatticeRatio(ONE.numerator, 0, ((d, 1),))


def lattice_sum(ratios: Iterable[LatticeRatio]) -> LatticeRatio:
    """Add up any number of ratios over their least common denominator.

    Raises:
        SumTooLong: If that has too many terms.
    """
    found = [ratio for ratio in ratios if ratio.numerator]
    if len(found) < 2:
        return found[0] if found else ZERO
    common: dict[int, int] = {}
    for denominator in {ratio.denominator for ratio in found}:
        for d, e in denominator:
            common[d] = max(common.get(d, 0), e)
    shift = min(ratio.shift for ratio in found)
    # Numerators over the same denominator first: they need one multiplication together.
    groups: dict[Denominator, fmpq_mpoly] = {}
    for ratio in found:
        numerator = ratio.numerator
        if ratio.shift != shift:
            numerator = numerator * _CONTEXT.from_dict({(ratio.shift - shift,): 1})
        known = groups.get(ratio.denominator)
        groups[ratio.denominator] = numerator if known is None else known + numerator
    total, work = ZERO.numerator, 0
    for denominator, numerator in groups.items():
        own = dict(denominator)
        gaps = ((d, e - own.get(d, 0)) for d, e in sorted(common.items()))
        missing = tuple((d, e) for d, e in gaps if e)
        work += len(numerator) * _length(missing)
        _require_little(work)
        total = total + numerator * _expanded(missing)
    return LatticeRatio(total, shift, tuple(sorted(common.items()))) if total else ZERO


def _require_little(work: int) -> None:
    if work > _MOST_WORK:
        raise SumTooLong


def _length(factors: Denominator) -> int:
    """At least the number of terms of Π (1 - Y^d)^e."""
    return min(1 + sum(d * e for d, e in factors), prod(e + 1 for _, e in factors))


@lru_cache(maxsize=256)
def _expanded(factors: Denominator) -> fmpq_mpoly:
    """Π (1 - Y^d)^e."""
    if _length(factors) > _LONGEST:
        raise SumTooLong
    product = ONE.numerator
    for d, e in factors:
        product = product * _CONTEXT.from_dict({(0,): 1, (d,): -1}) ** e
    return product


def _product(left: Denominator, right: Denominator) -> Denominator:
    if not left or not right:
        return left or right
    exponents = dict(left)
    for d, e in right:
        exponents[d] = exponents.get(d, 0) + e
    return tuple(sorted(exponents.items()))


def _exponentials(
    terms: Iterable[tuple[int, Fraction | int]], unit: Fraction
) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(0, -k * unit): Fraction(c) for k, c in terms})
