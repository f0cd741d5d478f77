"""The claimed δ(ε): a function of the decidable class, or one that is known by brackets.

1/10, eps/100, 1 - exp(-eps/2), 2/(1 + exp(eps))     exponential ratios: exact
exp(-2), sqrt(1/50), exp(-2)/3                       constants: two rationals around them
exp(-2)*eps, eps/100 + exp(-eps - 1)                 two ratios around them

A formula is read as a sum of c ε^n e^{qε} whose coefficients are enclosed, over denominators that
are exact. If all coefficients are known, it is the function. Else, as ε^n e^{qε} > 0, their lower
ends make a lower bound for every ε, the upper ends an upper one, if no denominator is negative.

If one ε is asked about, all but sqrt and log are exact: sums of c e^r with rational c and r, whose
equality to 0 is decidable (Lindemann and Weierstrass).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil, floor
from operator import mul
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record, replace
from dipapprox.digits import exact_text
from dipapprox.errors import SourceError, UserError
from dipapprox.exponentials import Exponent, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    LONGEST,
    Formula,
    FormulaCall,
    FormulaFunction,
    Negation,
    Operation,
    Operator,
    mentions_epsilon,
    parse_formula,
)
from dipapprox.numerics import intervals
from dipapprox.numerics.formula_values import Undefined, eps_jet, evaluate
from dipapprox.pairs.divergence import precisions
from dipapprox.source import Diagnostic

_HINT = (
    "delta is a constant, or made of constants, eps and exp(a * eps), a rational, with + - * / ^n"
)
_FIRST_BITS = 64
LAST_BITS = 1024  # of the brackets around a δ


class Delta(Record):
    text: str
    exact: ExponentialRatio | None  # the function of ε; None if it has irrational constants
    formula: Formula
    # The only ε that is asked about; None if there are more. At a rational ε every constant e^r is
    # one of the functions e^{qε}, so that formulas in exp are exact.
    point: Fraction | None = None

    @property
    def is_zero(self) -> bool:
        """Whether pure privacy is claimed: single outputs suffice then."""
        return self.exact is not None and not self.exact.numerator

    def at_point(self, eps: Fraction) -> Delta:
        try:
            exact: ExponentialRatio | None = as_ratio(self.formula, eps)
        except SourceError:
            exact = self.exact
        return replace(self, exact=exact, point=eps)

    def bounds(self, bits: int) -> tuple[ExponentialRatio, ExponentialRatio]:
        """Return functions below and above δ: itself twice if it is exact."""
        if self.exact is not None:
            return self.exact, self.exact
        if self.point is None and mentions_epsilon(self.formula):
            return enclosing_ratios(self.formula, bits)
        value = self.enclosure(bits)
        return ExponentialRatio.constant(value.lower), ExponentialRatio.constant(value.upper)

    def brackets(self) -> Iterator[tuple[ExponentialRatio, ExponentialRatio]]:
        """Yield functions below and above δ, closer and closer; itself twice, once, if exact."""
        for bits in precisions(_FIRST_BITS, LAST_BITS):
            low, high = self.bounds(bits)
            yield low, high
            if low == high:
                break

    def enclosure(self, bits: int) -> Enclosure:
        """Enclose a constant δ, or a δ at one ε."""
        constant = None if self.exact is None else self.exact.numerator.as_constant()
        if constant is not None:
            return Enclosure.exact(constant)
        value = _value(self.formula, self.point, bits)
        return Enclosure(_rounded(value.lower, bits, up=False), _rounded(value.upper, bits))


def read_delta(text: str, name: str = "delta") -> Delta:
    """Read the claimed delta; `name` is what messages call it.

    Raises:
        SourceError: If it is no formula, or not of the class.
        UserError: If a constant is not in [0, 1].
    """
    formula = parse_formula(text, name, ("eps",))
    low, high = enclosing_ratios(formula, _FIRST_BITS)
    exact = low if low == high else None
    number = None if exact is None else exact.as_constant()
    shown = " ".join(text.split())
    if number is not None and len(exact_text(number)) <= LONGEST:
        shown = exact_text(number)
    delta = Delta(shown, exact, formula)
    if not mentions_epsilon(formula):
        value = delta.enclosure(_FIRST_BITS)
        if value.upper < 0 or value.lower > 1:
            raise UserError(f"{name} must be in [0, 1], got {text}")
    return delta


def as_ratio(formula: Formula, point: Fraction | None = None) -> ExponentialRatio:
    """Turn a formula in `eps` into an exponential ratio, with which it agrees at least at a
    `point`; a `SourceError` if it is none, or divides by 0."""
    low, high = enclosing_ratios(formula, _FIRST_BITS, point)
    if low != high:
        raise _error("an irrational constant: the function is known by brackets only", formula)
    return low


def enclosing_ratios(
    formula: Formula, bits: int, point: Fraction | None = None
) -> tuple[ExponentialRatio, ExponentialRatio]:
    """Return functions at most, and at least, a formula for every ε > 0, or one `point` that alone
    counts: one twice if it is exact; a `SourceError` if it is no such sum, divides by 0, or a
    constant in it has no value."""
    found = _enclosed(formula, bits, point)
    terms = found.terms.items()
    if not any(c.width for _, c in terms):
        exact = ExponentialPolynomial.of({e: c.lower for e, c in terms})
        return (ratio := ExponentialRatio.of(exact, found.denominator)), ratio
    if found.unsigned is not None:
        raise _error("a denominator must be of one sign term by term", found.unsigned)
    low = ExponentialPolynomial.of({e: _rounded(c.lower, bits, up=False) for e, c in terms})
    high = ExponentialPolynomial.of({e: _rounded(c.upper, bits) for e, c in terms})
    return (
        ExponentialRatio.of(low, found.denominator),
        ExponentialRatio.of(high, found.denominator),
    )


_LARGEST_POWER = 100
_MOST_PRODUCTS = 5_000  # of terms, in one product of a formula: nobody could use a longer one
_MOST_BELOW = 1_000
"""Terms of the factors in a denominator, repeated ones included: sums multiply them out."""

_MOST_BITS = 100_000  # of a coefficient

_CONSTANT: Exponent = (0, Fraction(0))
_LINEAR: Exponent = (1, Fraction(0))

_Terms = Mapping[Exponent, Enclosure]


class _TooLong(Exception):
    """A function is too long when it is multiplied out."""


class _Enclosed(Record):
    """Σ c ε^n e^{qε} over Π factor^exponent; of no c is it known that it is 0."""

    terms: _Terms
    denominator: Mapping[ExponentialPolynomial, int]
    # What has been divided by, the sign of which is not seen; None if there is nothing: then all
    # factors are > 0 for every ε > 0.
    unsigned: Formula | None = None

    @property
    def constant(self) -> Enclosure | None:
        """Its value if it does not mention ε."""
        if self.denominator or self.terms.keys() - {_CONSTANT}:
            return None
        return self.terms.get(_CONSTANT, Enclosure.exact(0))

    def __neg__(self) -> _Enclosed:
        return replace(self, terms=_scaled(self.terms, Enclosure.exact(-1)))

    def __add__(self, other: _Enclosed) -> _Enclosed:
        common = Counter(self.denominator) | Counter(other.denominator)
        total: dict[Exponent, Enclosure] = {}
        for each in (self, other):
            terms = each.terms
            for factor, exponent in common.items():
                below = {e: Enclosure.exact(c) for e, c in factor.terms}
                for _ in range(exponent - each.denominator.get(factor, 0)):
                    terms = _multiplied(terms, below)
            for place, c in terms.items():
                total[place] = total[place] + c if place in total else c
        return _Enclosed(_without_zeros(total), common, self.unsigned or other.unsigned)

    def __mul__(self, other: _Enclosed) -> _Enclosed:
        factors = Counter(self.denominator) + Counter(other.denominator)
        if sum(len(factor.terms) * exponent for factor, exponent in factors.items()) > _MOST_BELOW:
            raise _TooLong
        terms = _multiplied(self.terms, other.terms)
        return _Enclosed(terms, factors, self.unsigned or other.unsigned)


def _number(value: Enclosure) -> _Enclosed:
    return _Enclosed({_CONSTANT: value} if value != Enclosure.exact(0) else {}, {})


def _enclosed(formula: Formula, bits: int, point: Fraction | None) -> _Enclosed:
    if point is not None or mentions_epsilon(formula):
        return _composed(formula, bits, point)
    value = _number(_value(formula, None, bits))
    if isinstance(formula, FormulaCall) or not any(c.width for c in value.terms.values()):
        return value
    try:
        # A long rational number has been rounded.
        found = _composed(formula, bits, point)
    except SourceError:
        return value
    return value if any(c.width for c in found.terms.values()) else found


def _composed(formula: Formula, bits: int, point: Fraction | None) -> _Enclosed:
    match formula:
        case Number(value):
            return _number(Enclosure.exact(value))
        case Name():
            if point is not None:
                return _number(Enclosure.exact(point))
            return _Enclosed({_LINEAR: Enclosure.exact(1)}, {})
        case Negation(operand):
            return -_enclosed(operand, bits, point)
        case Operation():
            try:
                return _operation(formula, bits, point)
            except _TooLong:
                message = "too long a function of eps when it is multiplied out"
                raise _error(message, formula) from None
        case FormulaCall(FormulaFunction.EXP, argument):
            return _exponential(argument, bits, point)
        case FormulaCall(function, argument):
            raise _error(f"'{function.value}' of eps is outside the decidable class", argument)
        case _:
            assert_never(formula)


def _operation(formula: Operation, bits: int, point: Fraction | None) -> _Enclosed:
    first, second = _enclosed(formula.left, bits, point), _enclosed(formula.right, bits, point)
    match formula.operator:
        case Operator.ADD:
            return first + second
        case Operator.SUBTRACT:
            return first + -second
        case Operator.MULTIPLY:
            return first * second
        case Operator.DIVIDE:
            return first * _inverse(second, formula.right)
        case Operator.POWER:
            power = second.constant
            if power is None or power.width or power.lower.denominator != 1:
                raise _error("an exponent must be a whole number", formula.right)
            if abs(power.lower) > _LARGEST_POWER:
                raise _error(f"an exponent beyond {_LARGEST_POWER}", formula.right)
            base = first if power.lower >= 0 else _inverse(first, formula.left)
            return reduce(mul, [base] * abs(int(power.lower)), _number(Enclosure.exact(1)))
        case _:
            assert_never(formula.operator)


def _exponential(argument: Formula, bits: int, point: Fraction | None) -> _Enclosed:
    """e^(c + q ε), c any constant; at one ε, c = (c / ε) ε."""
    found = _enclosed(argument, bits, point)
    rate = found.terms.get(_LINEAR, Enclosure.exact(0))
    constant = found.terms.get(_CONSTANT, Enclosure.exact(0))
    if found.denominator or found.terms.keys() - {_CONSTANT, _LINEAR} or rate.width:
        raise _error("an exponent must be a rational multiple of eps", argument)
    if point is not None:
        return _Enclosed({(0, constant.lower / point): Enclosure.exact(1)}, {})
    try:
        return _Enclosed({(0, rate.lower): intervals.exponentiate(constant, bits)}, {})
    except (ValueError, OverflowError):
        raise _error("a constant exponent is too large", argument) from None


def _multiplied(first: _Terms, second: _Terms) -> _Terms:
    longest = sum(max(map(_bits, each.values()), default=0) for each in (first, second))
    if len(first) * len(second) > _MOST_PRODUCTS or longest > _MOST_BITS:
        raise _TooLong
    total: dict[Exponent, Enclosure] = {}
    for (n, q), c in first.items():
        for (m, r), d in second.items():
            exponent, product = (n + m, q + r), c * d
            total[exponent] = total[exponent] + product if exponent in total else product
    return _without_zeros(total)


def _scaled(terms: _Terms, factor: Enclosure) -> _Terms:
    return {exponent: c * factor for exponent, c in terms.items()}


def _without_zeros(terms: _Terms) -> _Terms:
    return {exponent: c for exponent, c in terms.items() if c.lower or c.upper}


def _bits(c: Enclosure) -> int:
    ratios = (end.as_integer_ratio() for end in (c.lower, c.upper))
    return max(a.bit_length() + b.bit_length() for a, b in ratios)


def _rounded(value: Fraction, bits: int, *, up: bool = True) -> Fraction:
    """Round outward to few bits: denominators of thousands of digits slow every sign down."""
    scale = 2 ** (bits + 2)
    if scale % value.denominator == 0:
        return value
    return Fraction((ceil if up else floor)(value * scale), scale)


def _inverse(found: _Enclosed, place: Formula) -> _Enclosed:
    """1 / what is 0 nowhere that counts."""
    below = ExponentialRatio.constant(1).over(found.denominator)
    top: _Terms = {e: Enclosure.exact(c) for e, c in below.terms}
    match tuple(found.terms.items()):
        case ():
            raise _error("division by zero", place)
        case (((0, rate), c),) if 0 not in c:
            shifted = {(n, q - rate): value for (n, q), value in top.items()}
            inverse = Enclosure(1 / c.upper, 1 / c.lower)
            return _Enclosed(_scaled(shifted, inverse), {}, found.unsigned)
        case _:
            pass
    if any(c.width for c in found.terms.values()):
        raise _error("a denominator must not mix eps with irrational constants", place)
    bottom = ExponentialPolynomial.of({e: c.lower for e, c in found.terms.items()})
    if all(c < 0 for _, c in bottom.terms):
        bottom, top = -bottom, _scaled(top, Enclosure.exact(-1))
    seen = all(c > 0 for _, c in bottom.terms)
    return _Enclosed(top, {bottom: 1}, found.unsigned or (None if seen else place))


def _value(formula: Formula, point: Fraction | None, bits: int) -> Enclosure:
    """Enclose a constant, or a formula at one ε."""
    values = {} if point is None else {"eps": eps_jet(point, point)}
    try:
        return evaluate(formula, values, bits).value
    except Undefined as undefined:
        raise _error(undefined.reason, formula) from None


def _error(message: str, place: Formula) -> SourceError:
    return SourceError([Diagnostic("value error", message, place.span, _HINT)])
