"""Rational functions of Y = e^{-uε} whose denominators are products of 1 - Y^d.

They are the coefficients in sums over integers: geometric series have denominators 1 - Y^d and no
others, so a denominator is known in factors, each positive for 0 < Y < 1. Numerators are sparse:
means, and with them exponents, may be huge. In: integers. Out: exponential ratios in ε.

References:
    DiPC paper, Lemma 17: such are the probabilities of events of discrete Laplace samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from dipapprox.data_classes import Record
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio

_CONTEXT = fmpq_mpoly_ctx.get(("Y",), Ordering.lex)
_LONGEST = 100_000  # most terms of an expanded denominator
_MOST_WORK = 300_000_000
"""Most products of terms in one step: some seconds, in which nothing can stop it."""

Denominator = tuple[tuple[int, int], ...]  # (d, e), each d once, ascending, e >= 1: Π (1 - Y^d)^e


class SumTooLong(Exception):
    """A coefficient would need too many terms: rates without a simple ratio, or a deep tree."""


def _rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


class LatticeRatio(Record):
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
        return LatticeRatio(self.numerator * _rational(factor), self.shift, self.denominator)

    def shifted(self, exponent: int) -> LatticeRatio:
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
        """Substitute Y = e^{-unit * ε}."""
        numerator = {
            (0, -(int(k) + self.shift) * unit): Fraction(int(c.p), int(c.q))
            for (k,), c in self.numerator.terms()
        }
        one = ExponentialPolynomial.constant(1)
        factors = {
            one - ExponentialPolynomial.monomial(1, 0, -d * unit): e for d, e in self.denominator
        }
        return ExponentialRatio.of(ExponentialPolynomial.of(numerator), factors)


def constant(value: Fraction | int) -> LatticeRatio:
    return LatticeRatio(_CONTEXT.constant(_rational(value)))


ZERO = constant(0)
ONE = constant(1)


def inverse_of_one_minus(d: int) -> LatticeRatio:
    return LatticeRatio(ONE.numerator, 0, ((d, 1),))


def lattice_sum(ratios: Iterable[LatticeRatio]) -> LatticeRatio:
    """Add up ratios over their least common denominator; SumTooLong if that has too many terms."""
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
