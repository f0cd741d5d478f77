"""The δ of a decision, read again: an exact quotient in ε, or a constant in balls."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from flint import arb

from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import divided, exponential_of
from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    Call,
    Formula,
    Function,
    Negation,
    Operation,
    Operator,
    mentions_epsilon,
    parse_formula,
)
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_LARGEST_POWER = 100
_BITS = 256


@dataclass(frozen=True, slots=True)
class Delta:
    """δ(ε).

    Attributes:
        exact: In lowest terms; None for constants such as exp(-2).
        divisors: What `exact` divides by, before anything was cancelled.
    """

    exact: Quotient | None
    divisors: tuple[Quotient, ...]
    formula: Formula

    def enclose(self, eps: Fraction, bits: int) -> Enclosure:
        """Enclose the value at one ε.

        Raises:
            Stuck: If there is none.
        """
        with precision(bits + 32):
            found = to_enclosure(_ball(self.formula, to_ball(eps)))
        if not isinstance(found, Enclosure):
            raise Stuck("delta has no value")
        return found


def read_delta(text: str) -> Delta:
    """Read what a claim says of δ.

    Raises:
        Stuck: If it depends on eps and is no quotient of exponential polynomials.
        UserError: If it is no formula, or a constant beyond [0, 1].
    """
    formula = parse_formula(text, "claim.delta", ("eps",))
    divisors: list[Quotient] = []
    try:
        found = Delta(_quotient(formula, divisors), tuple(divisors), formula)
    except Stuck:
        if mentions_epsilon(formula):
            raise
        found = Delta(None, (), formula)
    if not mentions_epsilon(formula):
        value = found.enclose(Fraction(1), _BITS)
        if value.lower > 1 or value.upper < 0:
            raise UserError(f"delta must be in [0, 1], got {text[:80]}")
    return found


def _quotient(formula: Formula, divisors: list[Quotient]) -> Quotient:
    """Return the quotient, and add to `divisors` what is divided by."""
    match formula:
        case Number(value):
            return constant(value)
        case Name():
            return Quotient(ExponentialPolynomial.monomial(1, power=1))
        case Negation(operand):
            return constant(-1).times(_quotient(operand, divisors))
        case Operation(left, operator, right):
            first, second = _quotient(left, divisors), _quotient(right, divisors)
            return _combined(first, operator, second, divisors)
        case Call(Function.EXP, argument):
            return exponential_of(_quotient(argument, divisors))
        case Call():
            raise Stuck("delta is no quotient of exponential polynomials")
        case _:
            assert_never(formula)


def _combined(
    left: Quotient, operator: Operator, right: Quotient, divisors: list[Quotient]
) -> Quotient:
    match operator:
        case Operator.ADD:
            return left.plus(right)
        case Operator.SUBTRACT:
            return left.minus(right)
        case Operator.MULTIPLY:
            return left.times(right)
        case Operator.DIVIDE:
            divisors.append(right)
            return divided(left, right)
        case Operator.POWER:
            exponent = right.top.as_constant()
            if exponent is None or right.bottom.as_constant() is None:
                raise Stuck("delta has an exponent that is no number")
            if exponent.denominator > 1 or abs(exponent) > _LARGEST_POWER:
                raise Stuck("delta has an exponent that is no small integer")
            base = left
            if exponent < 0:
                divisors.append(left)
                base = divided(constant(1), left)
            result = constant(1)
            for _ in range(abs(exponent.numerator)):
                result = result.times(base)
            return result
        case _:
            assert_never(operator)


def _ball(formula: Formula, eps: arb) -> arb:
    match formula:
        case Number(value):
            return to_ball(value)
        case Name():
            return eps
        case Negation(operand):
            return -_ball(operand, eps)
        case Operation(left, Operator.POWER, Number(exponent)) if exponent.denominator == 1:
            if abs(exponent) > _LARGEST_POWER:
                raise Stuck("delta has a large exponent")
            return _ball(left, eps) ** exponent.numerator
        case Operation(left, operator, right):
            first, second = _ball(left, eps), _ball(right, eps)
            match operator:
                case Operator.ADD:
                    return first + second
                case Operator.SUBTRACT:
                    return first - second
                case Operator.MULTIPLY:
                    return first * second
                case Operator.DIVIDE:
                    return first / second
                case Operator.POWER:
                    return first**second
                case _:
                    assert_never(operator)
        case Call(function, operand):
            argument = _ball(operand, eps)
            match function:
                case Function.EXP:
                    return argument.exp()
                case Function.SQRT:
                    return argument.sqrt()
                case Function.LOG:
                    return argument.log()
                case _:
                    assert_never(function)
        case _:
            assert_never(formula)
