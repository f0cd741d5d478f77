"""Constant expressions: exact values of numbers, parameters and loop variables; noise scales."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.distributions import Scale
from dipapprox.language import ast
from dipapprox.language.diagnosis import Diagnosis
from dipapprox.language.symbols import EPSILON
from dipapprox.source import Span

_MOST_BITS = 10_000


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
"""coefficient * eps ** power"""


def evaluate(node: ast.Expression, constants: Mapping[str, Fraction]) -> Fraction:
    """Evaluate a constant expression without eps.

    Raises:
        Wrong: If it is not constant, divides by zero or gets too large.
    """
    coefficient, power = _monomial(node, constants)
    assert power == 0  # the checker lets eps into scales only
    return coefficient


def evaluate_integer(node: ast.Expression, constants: Mapping[str, Fraction], what: str) -> int:
    """Evaluate a constant expression that must be a whole number; `what` names it in messages."""
    value = evaluate(node, constants)
    if value.denominator != 1:
        raise Wrong("value error", f"{what} must be a whole number, got {value}", node.span)
    return value.numerator


def evaluate_scale(node: ast.Expression, constants: Mapping[str, Fraction]) -> Scale:
    """Evaluate a scale a/eps or a, however it is written, exactly.

    Raises:
        Wrong: If it is not of that form or not > 0.
    """
    coefficient, power = _monomial(node, constants)
    if power not in (0, -1):
        raise Wrong(
            "value error", f"a scale must be a/eps or a constant, this grows like eps^{power}",
            node.span, "e.g. '2 * Delta / eps'",
        )  # fmt: skip
    if coefficient <= 0:
        shown = f"{coefficient}/eps" if power else str(coefficient)
        raise Wrong("value error", f"a scale must be > 0, got {shown}", node.span)
    return Scale(coefficient, power)


def _monomial(node: ast.Expression, constants: Mapping[str, Fraction]) -> Monomial:
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
            coefficient, power = _monomial(operand, constants)
            return -coefficient, power
        case ast.Sum(operands, operators):
            return _sum(node, operands, operators, constants)
        case ast.Product(operands, operators):
            coefficient, power = _monomial(operands[0], constants)
            for operator, operand in zip(operators, operands[1:], strict=True):
                factor, shift = _monomial(operand, constants)
                if operator == "*":
                    coefficient, power = coefficient * factor, power + shift
                elif factor == 0:
                    raise Wrong("value error", "division by zero", operand.span)
                else:
                    coefficient, power = coefficient / factor, power - shift
                check_size(coefficient, node.span)
            return coefficient, power
        case _:
            raise Wrong("type error", "a constant is needed here", node.span)


def _sum(
    node: ast.Expression,
    operands: tuple[ast.Expression, ...],
    operators: tuple[str, ...],
    constants: Mapping[str, Fraction],
) -> Monomial:
    total, power = _monomial(operands[0], constants)
    for operator, operand in zip(operators, operands[1:], strict=True):
        term, term_power = _monomial(operand, constants)
        if term and total and term_power != power:
            raise Wrong(
                "value error", "terms with different powers of eps in a scale", node.span,
                "a scale is a/eps or a constant; draw two samples and add them",
            )  # fmt: skip
        power = power if total else term_power
        total = total + term if operator == "+" else total - term
        check_size(total, node.span)
    return total, power


def check_size(value: Fraction, span: Span | None) -> None:
    """Refuse numbers so long that computing with them would take for ever."""
    if value.numerator.bit_length() + value.denominator.bit_length() > _MOST_BITS:
        raise Wrong("limit", f"a constant has more than {_MOST_BITS} bits", span)
