"""Values of formulas with their first two derivatives in `eps`, over points and intervals.

A `Jet` holds enclosures of f, f' and f'' that are valid for every eps of an interval at once;
over the interval of one point they are the value and the derivatives there. Rational formulas
over a point are evaluated exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record
from dipapprox.language.ast import Name, Number
from dipapprox.language.formula import (
    Formula,
    FormulaCall,
    FormulaFunction,
    Negation,
    Operation,
    Operator,
)
from dipapprox.numerics import intervals
from dipapprox.source import Span

_ZERO = Enclosure.exact(0)
_ONE = Enclosure.exact(1)
_LARGEST = 10_000
"""Largest exponent of exp, and of integer powers; beyond, results only fill memory."""


class Undefined(Exception):
    """A formula has no value for some eps of the interval, or may have none.

    Attributes:
        certain: Whether it has none for every eps of the interval; otherwise the interval may
            just be too wide.
    """

    def __init__(self, reason: str, span: Span | None, *, certain: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        self.certain = certain


class Jet(Record):
    """f and its derivatives by eps."""

    value: Enclosure  # encloses f(eps) for every eps of the interval
    # enclose f' and f''; None if a derivative may be infinite
    slopes: tuple[Enclosure, Enclosure] | None = (_ZERO, _ZERO)


_MINUS_ONE = Jet(Enclosure.exact(-1))


def eps_jet(lower: Fraction, upper: Fraction) -> Jet:
    return Jet(Enclosure(lower, upper), (_ONE, _ZERO))


def evaluate(formula: Formula, values: Mapping[str, Jet], bits: int) -> Jet:
    """Evaluate a formula over the interval that `values`, of all its names, are valid for.

    Args:
        bits: Relative precision of sqrt, log and exp.

    Raises:
        Undefined: If some operation has no result for some eps, or too large a one.
    """
    try:
        return _evaluate(formula, values, bits)
    except OverflowError:
        raise Undefined("a value is too large", formula.span, certain=False) from None


def _evaluate(formula: Formula, values: Mapping[str, Jet], bits: int) -> Jet:
    match formula:
        case Number(value):
            return Jet(Enclosure.exact(value))
        case Name(name):
            return values[name]
        case Negation(operand):
            return _product(_MINUS_ONE, _evaluate(operand, values, bits))
        case Operation(left, operator, right):
            first, second = _evaluate(left, values, bits), _evaluate(right, values, bits)
            match operator:
                case Operator.ADD:
                    return _sum(first, second)
                case Operator.SUBTRACT:
                    return _sum(first, _product(_MINUS_ONE, second))
                case Operator.MULTIPLY:
                    return _product(first, second)
                case Operator.DIVIDE:
                    return _product(first, _inverse(second, right.span))
                case Operator.POWER:
                    return _power(formula, first, second, bits)
                case _:
                    assert_never(operator)
        case FormulaCall(function, argument):
            return _call(function, _evaluate(argument, values, bits), argument.span, bits)
        case _:
            assert_never(formula)


def _sum(x: Jet, y: Jet) -> Jet:
    slopes = None
    if x.slopes is not None and y.slopes is not None:
        slopes = x.slopes[0] + y.slopes[0], x.slopes[1] + y.slopes[1]
    return Jet(x.value + y.value, slopes)


def _product(x: Jet, y: Jet) -> Jet:
    times = intervals.multiply
    slopes = None
    if x.slopes is not None and y.slopes is not None:
        (x1, x2), (y1, y2) = x.slopes, y.slopes
        mixed = times(Enclosure.exact(2), times(x1, y1))
        slopes = (
            times(x1, y.value) + times(x.value, y1),
            times(x2, y.value) + mixed + times(x.value, y2),
        )
    return Jet(times(x.value, y.value), slopes)


def _composed(x: Jet, value: Enclosure, first: Enclosure, second: Enclosure) -> Jet:
    """Return the jet of g(x), given g, g' and g'' over the values of x."""
    times = intervals.multiply
    slopes = None
    if x.slopes is not None:
        x1, x2 = x.slopes
        square = intervals.power(x1, 2)
        slopes = times(first, x1), times(second, square) + times(first, x2)
    return Jet(value, slopes)


def _inverse(x: Jet, span: Span | None) -> Jet:
    if 0 in x.value:
        certain = x.value == _ZERO
        raise Undefined("division by zero", span, certain=certain)
    value = intervals.reciprocal(x.value)
    square = intervals.power(value, 2)
    cube = intervals.power(value, 3)
    return _composed(x, value, intervals.multiply(_MINUS_ONE.value, square), cube + cube)


def _power(formula: Operation, x: Jet, y: Jet, bits: int) -> Jet:
    exponent = y.value.lower
    constant = y.value.width == 0 and y.slopes == (_ZERO, _ZERO)
    if constant and exponent.denominator == 1:
        if abs(exponent) > _LARGEST:
            reason = f"the exponent is beyond {_LARGEST}"
            raise Undefined(reason, formula.right.span, certain=True)
        if exponent >= 0:
            return _whole_power(x, int(exponent))
        return _whole_power(_inverse(x, formula.left.span), -int(exponent))
    # x^y = exp(y log x)
    logarithm = _call(FormulaFunction.LOG, x, formula.left.span, bits, "a fractional power of")
    return _call(FormulaFunction.EXP, _product(y, logarithm), formula.span, bits)


def _whole_power(x: Jet, n: int) -> Jet:
    if n == 0:
        return Jet(_ONE)
    if n == 1:
        return x
    times = intervals.multiply
    first = times(Enclosure.exact(n), intervals.power(x.value, n - 1))
    second = times(Enclosure.exact(n * (n - 1)), intervals.power(x.value, n - 2))
    return _composed(x, intervals.power(x.value, n), first, second)


def _call(function: FormulaFunction, x: Jet, span: Span | None, bits: int, word: str = "") -> Jet:
    lower, upper = x.value.lower, x.value.upper
    match function:
        case FormulaFunction.EXP:
            if max(-lower, upper) > _LARGEST:
                certain = lower > _LARGEST or upper < -_LARGEST
                raise Undefined(f"an exponent beyond {_LARGEST}", span, certain=certain)
            value = intervals.exponentiate(x.value, bits)
            return _composed(x, value, value, value)
        case FormulaFunction.LOG:
            if lower <= 0:
                reason = f"{word or 'the logarithm of'} a number that is not positive"
                raise Undefined(reason, span, certain=upper <= 0)
            value = intervals.logarithm(x.value, bits)
            first = intervals.reciprocal(x.value)
            second = intervals.multiply(_MINUS_ONE.value, intervals.power(first, 2))
            return _composed(x, value, first, second)
        case FormulaFunction.SQRT:
            if lower < 0:
                raise Undefined("the square root of a negative number", span, certain=upper < 0)
            value = intervals.square_root(x.value, bits)
            if value.lower > 0:
                first = intervals.reciprocal(value + value)
                cube = intervals.power(intervals.reciprocal(value), 3)
                fourth = intervals.multiply(Enclosure.exact(Fraction(-1, 4)), cube)
                return _composed(x, value, first, fourth)
            # The slope is infinite at 0, unless the argument does not move.
            return Jet(value, (_ZERO, _ZERO) if x.slopes == (_ZERO, _ZERO) else None)
        case _:
            assert_never(function)
