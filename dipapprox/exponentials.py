"""Exponential polynomials in the privacy parameter: Σ c ε^n e^{qε}, exact.

They are the probabilities of programs with Laplace noise of scales a/ε (DiPC paper, section 3.2,
"pseudo-polynomials"). The functions ε^n e^{qε}, n a natural and q a rational number, are linearly
independent over the rationals, so a sum is the zero function exactly if it has no terms. At a
fixed rational ε its value is a sum of c e^q, whose equality to 0 is as easy to see (Lindemann).

Products of long sums ask the limits of the run (`limits.ask`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from math import prod
from operator import or_

from dipapprox.data_classes import Record
from dipapprox.digits import exact_repr
from dipapprox.limits import ask, asking, check_bits

Exponent = tuple[int, Fraction]
"""(n, q) of ε^n e^{qε}."""


class ExponentialPolynomial(Record):
    """Σ c ε^n e^{qε}. Build with `of`, `constant` or `monomial`.

    Attributes:
        terms: ((n, q), c) with c != 0, each exponent once, ascending.
    """

    terms: tuple[tuple[Exponent, Fraction], ...]

    @classmethod
    def of(cls, terms: Mapping[Exponent, Fraction]) -> ExponentialPolynomial:
        """Normalise a mapping of coefficients."""
        return cls(tuple(sorted((exponent, c) for exponent, c in terms.items() if c)))

    @classmethod
    def constant(cls, value: Fraction | int) -> ExponentialPolynomial:
        return cls.monomial(value)

    @classmethod
    def monomial(
        cls, coefficient: Fraction | int, power: int = 0, rate: Fraction | int = 0
    ) -> ExponentialPolynomial:
        """coefficient * ε^power * e^{rate ε}, power >= 0."""
        return cls.of({(power, Fraction(rate)): Fraction(coefficient)})

    def __repr__(self) -> str:
        terms = (f"(({n}, {exact_repr(q)}), {exact_repr(c)})" for (n, q), c in self.terms)
        return f"ExponentialPolynomial(terms=({''.join(f'{term}, ' for term in terms).rstrip()}))"

    def __bool__(self) -> bool:
        """Whether this is not the zero function."""
        return bool(self.terms)

    def __add__(self, other: ExponentialPolynomial) -> ExponentialPolynomial:
        return exponential_sum((self, other))

    def __neg__(self) -> ExponentialPolynomial:
        return ExponentialPolynomial(tuple((exponent, -c) for exponent, c in self.terms))

    def __sub__(self, other: ExponentialPolynomial) -> ExponentialPolynomial:
        return exponential_sum((self, -other))

    def __mul__(self, other: ExponentialPolynomial) -> ExponentialPolynomial:
        """Multiply; a limit is reached where coefficients are too long, or `ask` says so."""
        check_bits(self.longest + other.longest)
        total: dict[Exponent, Fraction] = {}
        for (n, q), c in self.terms:
            ask()
            for (m, r), d in other.terms:
                exponent = n + m, q + r
                total[exponent] = total.get(exponent, Fraction(0)) + c * d
        return ExponentialPolynomial.of(total)

    def __pow__(self, exponent: int) -> ExponentialPolynomial:
        result, square = ExponentialPolynomial.constant(1), self
        while exponent:
            if exponent & 1:
                result = result * square
            square, exponent = (square * square if exponent > 1 else square), exponent >> 1
        return result

    @property
    def longest(self) -> int:
        """Bits of the longest coefficient."""
        ratios = (c.as_integer_ratio() for _, c in self.terms)
        return max((a.bit_length() + b.bit_length() for a, b in ratios), default=0)

    def scaled(self, factor: Fraction | int) -> ExponentialPolynomial:
        """factor * self."""
        if not factor:
            return ExponentialPolynomial(())
        return ExponentialPolynomial(tuple((exponent, c * factor) for exponent, c in self.terms))

    def dilated(self, factor: Fraction) -> ExponentialPolynomial:
        """ε -> self(factor * ε), factor > 0."""
        return ExponentialPolynomial.of(
            {(n, q * factor): c * power(factor, n) for (n, q), c in self.terms}
        )

    def at(self, eps: Fraction) -> ExponentialPolynomial:
        """The value at a rational `eps` > 0, as Σ c e^{qε'} at ε' = 1: no powers are left.

        It is 0 exactly if the result has no terms.
        """
        at_one = eps == 1
        if at_one and not any(n for (n, _), _ in self.terms):
            return self
        rates: dict[tuple[int, int], Fraction] = {}
        for (n, q), c in asking(self.terms):
            exponent = (q if at_one else q * eps).as_integer_ratio()
            value = c if at_one else c * power(eps, n)
            rates[exponent] = rates[exponent] + value if exponent in rates else value
        return ExponentialPolynomial.of({(0, Fraction(*q)): c for q, c in rates.items()})

    def as_constant(self) -> Fraction | None:
        """The value of a constant function; None if this is none."""
        match self.terms:
            case ():
                return Fraction(0)
            case (((0, rate), value),) if not rate:
                return value
            case _:
                return None

    def as_multiple_of(self, other: ExponentialPolynomial) -> Fraction | None:
        """The constant c != 0 with self = c * other; None if there is none."""
        if not self.terms or len(self.terms) != len(other.terms):
            return None
        multiple = self.terms[0][1] / other.terms[0][1]
        same = all(
            key == key_ and c == multiple * c_
            for (key, c), (key_, c_) in zip(self.terms, other.terms, strict=True)
        )
        return multiple if same else None


def power(base: Fraction, exponent: int) -> Fraction:
    """base ** exponent, exponent >= 0.

    Raises:
        LimitReached: If it is too long.
    """
    check_bits(exponent * (base.numerator.bit_length() + base.denominator.bit_length() - 2))
    return base**exponent


def exponential_sum(functions: Iterable[ExponentialPolynomial]) -> ExponentialPolynomial:
    total: dict[Exponent, Fraction] = {}
    for function in functions:
        for exponent, c in function.terms:
            known = total.get(exponent)
            total[exponent] = c if known is None else known + c
    return ExponentialPolynomial.of(total)


ZERO = ExponentialPolynomial(())
ONE = ExponentialPolynomial.constant(1)


class ExponentialRatio(Record):
    """numerator / Π factor^exponent.

    Discrete Laplace noise, exponential mechanisms and finite distributions need denominators.

    Attributes:
        numerator: Any exponential polynomial.
        denominator: (factor, exponent >= 1), each factor once, none constant. Whoever makes a
            ratio sees to it that no factor is 0 for any ε that it is used with.
    """

    numerator: ExponentialPolynomial
    denominator: tuple[tuple[ExponentialPolynomial, int], ...] = ()

    @classmethod
    def of(
        cls, numerator: ExponentialPolynomial, factors: Mapping[ExponentialPolynomial, int]
    ) -> ExponentialRatio:
        """Normalise: constant factors go into the numerator, which is no multiple of a factor.

        Raises:
            ZeroDivisionError: If a factor is the zero function.
        """
        kept: dict[ExponentialPolynomial, int] = {}
        for factor, exponent in factors.items():
            value = factor.as_constant()
            if value is None:
                kept[factor] = kept.get(factor, 0) + exponent
            else:
                numerator = numerator.scaled(1 / value**exponent)
        for factor, exponent in kept.items():
            if exponent and (multiple := numerator.as_multiple_of(factor)) is not None:
                # A constant is left, which is no multiple of another factor.
                numerator = ExponentialPolynomial.constant(multiple)
                kept[factor] -= 1
                break
        order = sorted(((f, e) for f, e in kept.items() if e), key=lambda each: each[0].terms)
        return cls(numerator, tuple(order) if numerator else ())

    @classmethod
    def constant(cls, value: Fraction | int) -> ExponentialRatio:
        return cls(ExponentialPolynomial.constant(value))

    def as_constant(self) -> Fraction | None:
        """The value of a constant numerator over nothing; None if this is none."""
        return None if self.denominator else self.numerator.as_constant()

    def __add__(self, other: ExponentialRatio) -> ExponentialRatio:
        common = common_denominator((self, other))
        return ExponentialRatio.of(self.over(common) + other.over(common), common)

    def over(self, common: Mapping[ExponentialPolynomial, int]) -> ExponentialPolynomial:
        """The numerator over a multiple of the denominator."""
        missing = Counter(common) - Counter(dict(self.denominator))
        return prod((f**exponent for f, exponent in missing.items()), start=self.numerator)

    def __neg__(self) -> ExponentialRatio:
        return ExponentialRatio(-self.numerator, self.denominator)

    def __sub__(self, other: ExponentialRatio) -> ExponentialRatio:
        return self + (-other)

    def __mul__(self, other: ExponentialRatio) -> ExponentialRatio:
        factors = dict(self.denominator)
        for factor, exponent in other.denominator:
            factors[factor] = factors.get(factor, 0) + exponent
        return ExponentialRatio.of(self.numerator * other.numerator, factors)

    def inverse(self) -> ExponentialRatio:
        """1 / self, for a function that is not 0 for any ε that it is used with."""
        below = ExponentialRatio(ONE).over(dict(self.denominator))
        return ExponentialRatio.of(below, {self.numerator: 1})

    def dilated(self, factor: Fraction) -> ExponentialRatio:
        """ε -> self(factor * ε), factor > 0."""
        denominator = {f.dilated(factor): e for f, e in self.denominator}
        return ExponentialRatio.of(self.numerator.dilated(factor), denominator)

    def at(self, eps: Fraction) -> ExponentialRatio:
        """The value at a rational `eps` > 0, as a ratio without powers at ε' = 1."""
        factors: dict[ExponentialPolynomial, int] = {}
        for factor, exponent in self.denominator:
            value = factor.at(eps)
            factors[value] = factors.get(value, 0) + exponent
        return ExponentialRatio.of(self.numerator.at(eps), factors)


def common_denominator(ratios: Iterable[ExponentialRatio]) -> Counter[ExponentialPolynomial]:
    """The least common multiple of denominators, as it is written."""
    return reduce(or_, (Counter(dict(ratio.denominator)) for ratio in ratios), Counter())
