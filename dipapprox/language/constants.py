"""Constant expressions: exact values of numbers, parameters and loop variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.errors import BrokenInvariant, Diagnosis
from dipapprox.language import ast
from dipapprox.language.symbols import ABSOLUTE, EPSILON, EXTREMES, LOGARITHM, ROOT
from dipapprox.source import Span

_MOST_BITS = 10_000
_LARGEST_EXPONENT = 100


class Wrong(Exception):
    """A place that cannot be elaborated: caught where work can go on, one per statement."""

    def __init__(self, kind: str, message: str, span: Span | None, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.span = span
        self.hint = hint

    def report(self, diagnosis: Diagnosis) -> None:
        """Hand it to a diagnosis."""
        diagnosis.report(self.kind, self.message, self.span, self.hint)


Monomial = tuple[Fraction, int]
"""(coefficient, degree): coefficient * eps ** degree"""


def evaluate(node: ast.Expression, constants: Mapping[str, Fraction]) -> Fraction:
    """Evaluate a constant expression without eps.

    Raises:
        Wrong: If it is not constant, divides by zero or gets too large.
    """
    coefficient, degree = monomial(node, constants)
    if degree:
        raise BrokenInvariant("the checker let eps into something other than a scale")
    return coefficient


def truth_name(value: bool) -> str:
    """Return the named value that Boolean cells and variables hold."""
    return "true" if value else "false"


def evaluate_integer(
    node: ast.Expression, constants: Mapping[str, Fraction], what: str, hint: str = ""
) -> int:
    """Evaluate a constant expression that must be a whole number; `what` names it in messages."""
    value = evaluate(node, constants)
    if value.denominator != 1:
        raise Wrong("value error", f"{what} must be a whole number, got {value}", node.span, hint)
    return value.numerator


def evaluate_rate(node: ast.Expression, constants: Mapping[str, Fraction]) -> Fraction:
    """Evaluate the rate a*eps of an exponential mechanism; returns a.

    Raises:
        Wrong: If it is not of that form or not > 0.
    """
    coefficient, degree = monomial(node, constants)
    if degree != 1 or coefficient <= 0:
        raise Wrong(
            "value error", "a rate must be a*eps with a number a > 0", node.span,
            "e.g. 'Exp(eps/2, score)'; to prefer small scores, negate them",
        )  # fmt: skip
    return coefficient


def evaluate_exponent(node: ast.Expression, constants: Mapping[str, Fraction]) -> int:
    """Evaluate the exponent of a power.

    Raises:
        Wrong: If it is not a whole number of moderate size.
    """
    exponent = evaluate_integer(node, constants, "an exponent")
    if abs(exponent) > _LARGEST_EXPONENT:
        message = f"exponents go up to {_LARGEST_EXPONENT}, got {exponent}"
        raise Wrong("limit", message, node.span)
    return exponent


def power(base: Fraction, exponent: int, span: Span | None) -> Fraction:
    """Return base ^ exponent, of moderate size.

    Raises:
        Wrong: If it is too large, or divides by zero.
    """
    if base == 0 and exponent < 0:
        raise Wrong("value error", "division by zero", span)
    value = base**exponent
    check_size(value, span)
    return value


def monomial(node: ast.Expression, constants: Mapping[str, Fraction]) -> Monomial:
    """Evaluate a rational multiple of a power of eps.

    Raises:
        Wrong: If it is none.
    """
    match node:
        case ast.Number(value):
            return value, 0
        case ast.Name(name):
            if name in constants:
                return constants[name], 0
            if name == EPSILON:
                return Fraction(1), 1
            hint = "a parameter must be declared above the place that uses it"
            raise Wrong("type error", f"'{name}' is not constant here", node.span, hint)
        case ast.Negative(operand):
            coefficient, degree = monomial(operand, constants)
            return -coefficient, degree
        case ast.Sum(operands, operators):
            return _sum(node, operands, operators, constants)
        case ast.Product(operands, operators):
            coefficient, degree = monomial(operands[0], constants)
            for operator, operand in zip(operators, operands[1:], strict=True):
                factor, shift = monomial(operand, constants)
                if operator == "*":
                    coefficient, degree = coefficient * factor, degree + shift
                elif factor == 0:
                    raise Wrong("value error", "division by zero", operand.span)
                else:
                    coefficient, degree = coefficient / factor, degree - shift
                check_size(coefficient, node.span)
            return coefficient, degree
        case ast.Power(base, exponent):
            coefficient, degree = monomial(base, constants)
            times = evaluate_exponent(exponent, constants)
            return power(coefficient, times, node.span), degree * times
        case ast.Call(name, (_, *_) as arguments) if name in EXTREMES or name == ABSOLUTE:
            return _extreme(node, name, [monomial(each, constants) for each in arguments])
        case ast.Call(name) if name in (ROOT, LOGARITHM):
            message = f"a rational number is needed here, and '{name}' stands in scales only"
            raise Wrong("type error", message, node.span)
        case _:
            raise Wrong("type error", "a constant is needed here", node.span)


def _extreme(node: ast.Expression, name: str, given: Sequence[Monomial]) -> Monomial:
    """Return max, min or abs of multiples of one power of eps, which is > 0."""
    numbers = [coefficient for coefficient, _ in given]
    degree = common_degree(node, name, given)
    return abs(numbers[0]) if name == ABSOLUTE else EXTREMES[name](numbers), degree


def common_degree(node: ast.Expression, name: str, given: Sequence[Monomial]) -> int:
    """Return the power of eps that numbers are multiples of, those that are 0 apart.

    Raises:
        Wrong: If there are several: which number is larger depends on eps.
    """
    degrees = {degree for coefficient, degree in given if coefficient}
    if len(degrees) > 1:
        message = f"'{name}' of different powers of eps"
        hint = "which is larger depends on eps; a scale is a/eps, a constant or a*eps"
        raise Wrong("value error", message, node.span, hint)
    return degrees.pop() if degrees else 0


def _sum(
    node: ast.Expression,
    operands: tuple[ast.Expression, ...],
    operators: tuple[str, ...],
    constants: Mapping[str, Fraction],
) -> Monomial:
    total, degree = monomial(operands[0], constants)
    for operator, operand in zip(operators, operands[1:], strict=True):
        term, term_degree = monomial(operand, constants)
        if term and total and term_degree != degree:
            raise Wrong(
                "value error", "terms with different powers of eps in a scale", node.span,
                "a scale is a/eps, a constant or a*eps; draw two samples and add them",
            )  # fmt: skip
        degree = degree if total else term_degree
        total = total + term if operator == "+" else total - term
        check_size(total, node.span)
    return total, degree


def check_size(value: Fraction, span: Span | None) -> None:
    """Refuse numbers so long that computing with them would take for ever."""
    if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        raise Wrong("limit", f"a constant has more than {_MOST_BITS} bits", span)
