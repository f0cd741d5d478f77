"""The claimed δ(ε): a function of the decidable class, or a real constant known by brackets.

1/10, eps/100, 1 - exp(-eps/2), 2/(1 + exp(eps))     exponential ratios: exact
exp(-2), sqrt(1/50), exp(-2)/3                       constants: two rationals around them
exp(-2)*eps, eps/100 + exp(-eps - 1)                 two ratios around them (`delta_bounds`)

If one ε is asked about, all but sqrt and log are exact: sums of c e^r with rational c and r, whose
equality to 0 is decidable (Lindemann and Weierstrass).
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass, replace
from dipapprox.digits import exact_text
from dipapprox.errors import SourceError, UserError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    LONGEST,
    Call,
    Formula,
    Function,
    Negation,
    Operation,
    Operator,
    mentions_epsilon,
    parse_formula,
)
from dipapprox.numerics.formula_values import Undefined, eps_jet, evaluate
from dipapprox.privacy.decisions.delta_bounds import (
    LARGEST_POWER,
    MOST_BELOW,
    MOST_PRODUCTS,
    TOO_LONG,
    OutsideClass,
    enclosing_ratios,
    rounded,
)
from dipapprox.source import Diagnostic

_HINT = (
    "delta is a constant, or made of constants, eps and exp(a * eps), a rational, with + - * / ^n"
)
_FIRST_BITS = 64


@dataclass(frozen=True, slots=True)
class Delta:
    """A claimed δ.

    Attributes:
        text: As the user wrote it.
        exact: The function of ε; None if it has irrational constants.
        formula: The same as it was read.
        point: The only ε that is asked about; None if there are more. At a rational ε every
            constant e^r is one of the functions e^{qε}, so that formulas in exp are exact.
    """

    text: str
    exact: ExponentialRatio | None
    formula: Formula
    point: Fraction | None = None

    @property
    def is_zero(self) -> bool:
        """Whether pure privacy is claimed: single outputs suffice then."""
        return self.exact is not None and not self.exact.numerator

    @property
    def is_bracketed_function(self) -> bool:
        """Whether it varies with ε and is known between two functions only."""
        varies = self.point is None and mentions_epsilon(self.formula)
        return varies and self.exact is None

    def at_point(self, eps: Fraction) -> Delta:
        """Return the same for a question about one ε > 0."""
        try:
            exact: ExponentialRatio | None = as_ratio(self.formula, eps)
        except SourceError:
            exact = self.exact
        return replace(self, exact=exact, point=eps)

    def bounds(self, bits: int) -> tuple[ExponentialRatio, ExponentialRatio]:
        """Return functions below and above δ: itself twice if it is exact."""
        if self.exact is not None:
            return self.exact, self.exact
        if self.is_bracketed_function:
            return _bracketed(self.formula, bits)
        value = self._value(bits)
        return ExponentialRatio.constant(value.lower), ExponentialRatio.constant(value.upper)

    def enclosure(self, bits: int) -> Enclosure:
        """Enclose a constant δ."""
        constant = None if self.exact is None else self.exact.numerator.as_constant()
        return self._value(bits) if constant is None else Enclosure.exact(constant)

    def _value(self, bits: int) -> Enclosure:
        values = {} if self.point is None else {"eps": eps_jet(self.point, self.point)}
        try:
            value = evaluate(self.formula, values, bits).value
        except Undefined as undefined:
            raise _error(undefined.reason, self.formula) from None
        return Enclosure(rounded(value.lower, bits, up=False), rounded(value.upper, bits))


_MOST_BITS = 100_000
"""Of a coefficient."""


def read_delta(text: str, name: str = "delta") -> Delta:
    """Read the claimed delta; `name` is what messages call it.

    Raises:
        SourceError: If it is no formula, or not of the class.
        UserError: If a constant is not in [0, 1].
    """
    formula = parse_formula(text, name, ("eps",))
    varies = mentions_epsilon(formula)
    exact = _function(formula)
    if varies and exact is None:
        _bracketed(formula, _FIRST_BITS)
    number = _number(exact)
    shown = " ".join(text.split())
    if number is not None and len(exact_text(number)) <= LONGEST:
        shown = exact_text(number)
    delta = Delta(shown, exact, formula)
    if not varies:
        value = delta.enclosure(_FIRST_BITS)
        if value.upper < 0 or value.lower > 1:
            raise UserError(f"{name} must be in [0, 1], got {text}")
    return delta


def _function(formula: Formula) -> ExponentialRatio | None:
    """The function of ε that a formula is; None if it has irrational constants."""
    try:
        found = as_ratio(formula)
    except SourceError:
        return None
    return found if mentions_epsilon(formula) or _number(found) is not None else None


def _bracketed(formula: Formula, bits: int) -> tuple[ExponentialRatio, ExponentialRatio]:
    try:
        return enclosing_ratios(formula, bits)
    except OutsideClass as outside:
        raise _error(outside.reason, outside.place) from None
    except Undefined as undefined:
        raise _error(undefined.reason, formula) from None


def _number(function: ExponentialRatio | None) -> Fraction | None:
    if function is None or function.denominator:
        return None
    return function.numerator.as_constant()


def as_ratio(formula: Formula, point: Fraction | None = None) -> ExponentialRatio:
    """Turn a formula in `eps` into an exponential ratio.

    Args:
        formula: In `eps`.
        point: If given, the only ε at which the ratio has to agree with the formula.

    Raises:
        SourceError: If it is none, or divides by 0.
    """
    match formula:
        case Number(value):
            return ExponentialRatio.constant(value)
        case Name() if point is not None:
            return ExponentialRatio.constant(point)
        case Name():
            return ExponentialRatio(ExponentialPolynomial.monomial(1, power=1))
        case Negation(operand):
            return -as_ratio(operand, point)
        case Operation(left, operator, right):
            return _operation(as_ratio(left, point), operator, as_ratio(right, point), right)
        case Call(Function.EXP, argument):
            return _exponential(argument, point)
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
            return _product(left, right, place)
        case Operator.DIVIDE:
            if not right.numerator:
                raise _error("division by zero", place)
            return _product(left, right.inverse(), place)
        case Operator.POWER:
            return _power(left, right, place)
        case _:
            assert_never(operator)


def _power(base: ExponentialRatio, power: ExponentialRatio, place: Formula) -> ExponentialRatio:
    exponent = power.numerator.as_constant()
    if power.denominator or exponent is None or exponent.denominator != 1:
        raise _error("an exponent must be a whole number", place)
    if abs(exponent) > LARGEST_POWER:
        raise _error(f"an exponent beyond {LARGEST_POWER}", place)
    if exponent < 0:
        if not base.numerator:
            raise _error("division by zero", place)
        base = base.inverse()
    result = ExponentialRatio.constant(1)
    for _ in range(abs(int(exponent))):
        result = _product(result, base, place)
    return result


def _product(left: ExponentialRatio, right: ExponentialRatio, place: Formula) -> ExponentialRatio:
    one, other = left.numerator, right.numerator
    below = (*left.denominator, *right.denominator)
    if (
        len(one.terms) * len(other.terms) > MOST_PRODUCTS
        or one.longest + other.longest > _MOST_BITS
        or sum(len(factor.terms) * exponent for factor, exponent in below) > MOST_BELOW
    ):
        raise _error(TOO_LONG, place)
    return left * right


def _exponential(argument: Formula, point: Fraction | None) -> ExponentialRatio:
    exponent = as_ratio(argument, point)
    match exponent.numerator.terms, exponent.denominator:
        case (), ():
            return ExponentialRatio.constant(1)
        case (((0, rate), value),), () if not rate and point is not None:
            return ExponentialRatio(ExponentialPolynomial.monomial(1, rate=value / point))
        case (((1, rate), factor),), () if not rate:
            return ExponentialRatio(ExponentialPolynomial.monomial(1, rate=factor))
        case _:
            raise _error("an exponent must be a rational multiple of eps", argument)


def _error(message: str, place: Formula) -> SourceError:
    return SourceError([Diagnostic("value error", message, place.span, _HINT)])
