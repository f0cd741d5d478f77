"""The claimed δ(ε): a function of the decidable class, or a real constant known by brackets.

1/10, eps/100, 1 - exp(-eps/2), 2/(1 + exp(eps))     exponential ratios: exact
exp(-2), sqrt(1/50), exp(-2)/3                       constants: two rationals around them
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from dipapprox.errors import SourceError, UserError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.ast_expressions import Name, Number
from dipapprox.language.formula import (
    Call,
    Formula,
    Function,
    Negation,
    Operation,
    Operator,
    parse_formula,
)
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.formula_values import Undefined, evaluate
from dipapprox.source import Diagnostic

_HINT = "delta is a constant, or made of numbers, eps and exp(a * eps), a rational, with + - * / ^n"
_LARGEST_POWER = 100


@dataclass(frozen=True, slots=True)
class Delta:
    """A claimed δ.

    Attributes:
        text: As the user wrote it.
        exact: The function of ε; None for a constant that is not obviously rational.
        formula: Of that constant, without `eps`.
    """

    text: str
    exact: ExponentialRatio | None
    formula: Formula

    @property
    def is_zero(self) -> bool:
        """Whether pure privacy is claimed: single outputs suffice then."""
        return self.exact is not None and not self.exact.numerator

    def bounds(self, bits: int) -> tuple[ExponentialRatio, ExponentialRatio]:
        """Return functions below and above δ: itself twice if it is exact."""
        if self.exact is not None:
            return self.exact, self.exact
        value = self._value(bits)
        return ExponentialRatio.constant(value.lower), ExponentialRatio.constant(value.upper)

    def enclosure(self, bits: int) -> Enclosure:
        """Enclose a constant δ."""
        constant = None if self.exact is None else self.exact.numerator.as_constant()
        return self._value(bits) if constant is None else Enclosure.exact(constant)

    def _value(self, bits: int) -> Enclosure:
        try:
            value = evaluate(self.formula, {}, bits).value
        except Undefined as undefined:
            raise _error(undefined.reason, self.formula) from None
        return Enclosure(
            _rounded(value.lower, bits, up=False), _rounded(value.upper, bits, up=True)
        )


def read_delta(text: str) -> Delta:
    """Read --delta.

    Raises:
        SourceError: If it is no formula, or not of the class.
        UserError: If a constant is not in [0, 1].
    """
    formula = parse_formula(text, "--delta", ("eps",))
    exact = _constant(formula) if not mentions_epsilon(formula) else as_ratio(formula)
    number = _number(exact)
    shown = " ".join(text.split()) if number is None else str(number)
    delta = Delta(shown, exact, formula)
    if not mentions_epsilon(formula):
        value = delta.enclosure(64)
        if value.upper < 0 or value.lower > 1:
            raise UserError(f"delta must be in [0, 1], got {text}")
    return delta


def constant_delta(value: Fraction) -> Delta:
    """Claim a rational number.

    Raises:
        UserError: If it is not in [0, 1].
    """
    return read_delta(str(value))


def mentions_epsilon(formula: Formula) -> bool:
    """Whether `eps` occurs in a formula."""
    match formula:
        case Number():
            return False
        case Name():
            return True
        case Negation(operand) | Call(_, operand):
            return mentions_epsilon(operand)
        case Operation(left, _, right):
            return mentions_epsilon(left) or mentions_epsilon(right)
        case _:
            assert_never(formula)


def _number(function: ExponentialRatio | None) -> Fraction | None:
    if function is None or function.denominator:
        return None
    return function.numerator.as_constant()


def _constant(formula: Formula) -> ExponentialRatio | None:
    """Return a rational constant; None for others."""
    try:
        found = as_ratio(formula)
    except SourceError:
        return None
    return None if _number(found) is None else found


def as_ratio(formula: Formula) -> ExponentialRatio:
    """Turn a formula in `eps` into an exponential ratio.

    Raises:
        SourceError: If it is none, or divides by 0.
    """
    match formula:
        case Number(value):
            return ExponentialRatio.constant(value)
        case Name():
            return ExponentialRatio(ExponentialPolynomial.monomial(1, power=1))
        case Negation(operand):
            return -as_ratio(operand)
        case Operation(left, operator, right):
            return _operation(as_ratio(left), operator, as_ratio(right), right)
        case Call(Function.EXP, argument):
            return _exponential(argument)
        case Call(function, argument):
            raise _error(f"'{function.value}' of eps is outside the decidable class", argument)
        case _:
            assert_never(formula)


def _operation(
    left: ExponentialRatio, operator: Operator, right: ExponentialRatio, place: Formula
) -> ExponentialRatio:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.DIVIDE:
            if not right.numerator:
                raise _error("division by zero", place)
            return left * right.inverse()
        case Operator.POWER:
            return _power(left, right, place)
        case _:
            assert_never(operator)


def _power(base: ExponentialRatio, power: ExponentialRatio, place: Formula) -> ExponentialRatio:
    exponent = power.numerator.as_constant()
    if power.denominator or exponent is None or exponent.denominator != 1:
        raise _error("an exponent must be a whole number", place)
    if abs(exponent) > _LARGEST_POWER:
        raise _error(f"an exponent beyond {_LARGEST_POWER}", place)
    if exponent < 0:
        if not base.numerator:
            raise _error("division by zero", place)
        base = base.inverse()
    result = ExponentialRatio.constant(1)
    for _ in range(abs(int(exponent))):
        result = result * base
    return result


def _exponential(argument: Formula) -> ExponentialRatio:
    exponent = as_ratio(argument)
    match exponent.numerator.terms, exponent.denominator:
        case (), ():
            return ExponentialRatio.constant(1)
        case (((1, rate), factor),), () if not rate:
            return ExponentialRatio(ExponentialPolynomial.monomial(1, rate=factor))
        case _:
            raise _error("an exponent must be a rational multiple of eps", argument)


def _rounded(value: Fraction, bits: int, *, up: bool) -> Fraction:
    """Round outward to few bits: denominators of thousands of digits slow every sign down."""
    scale = 2 ** (bits + 2)
    return Fraction((ceil if up else floor)(value * scale), scale)


def _error(message: str, place: Formula) -> SourceError:
    return SourceError([Diagnostic("value error", message, place.span, _HINT)])
