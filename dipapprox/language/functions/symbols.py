"""What symbols have in common, and the exact numbers beside them.

A symbol holds the expression of the language (`ast`) that says what it is, and the run that it
belongs to. Functions are never run: only this package computes with symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor
from typing import Any, Protocol

from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.core import Relation, Value
from dipapprox.source import Diagnostic, Span

Valuation = Mapping[str, Value | bool]
"""Values of variables with finitely many of them, by name."""

Compute = Callable[[Valuation], Any]

Exact = int | Fraction

OFFERED = "only + - * / with numbers, comparisons, and what dipapprox offers"

_NUMBERS = frozenset((int, bool, Fraction))


class Run(Protocol):
    """The path that symbols belong to."""

    @property
    def here(self) -> Span | None:
        """Where in the file something is being computed."""

    def decide(self, condition: Any) -> bool:
        """Say whether a condition holds on the path that is being followed."""

    def value_of(self, quantity: Any) -> Value:
        """Say which value a quantity with finitely many has on the path."""

    def where(self, condition: Any, yes: object, no: object) -> Any:
        """Make a variable that has one value or the other."""

    def declares(self, text: str) -> bool:
        """Say whether a text is a value of an input or an output."""

    def is_text(self, quantity: Any) -> bool:
        """Say whether a quantity is a named value."""

    def refusal(self, kind: str, message: str, hint: str = "") -> SourceError:
        """Return the error that ends the path: the function cannot be a program."""


def refusal(kind: str, message: str, hint: str = "", span: Span | None = None) -> SourceError:
    """Return the error for what is written at a place."""
    return SourceError([Diagnostic(kind, message, span, hint)])


class Symbolic:
    """What all of them have: an expression, and no value of their own."""

    __slots__ = ("cells", "compute", "node", "run")

    WHAT = "a quantity"

    def __init__(
        self, run: Run, node: ast.Expression, cells: frozenset[str], compute: Compute | None
    ) -> None:
        """Hold an expression.

        Args:
            run: The path that it belongs to.
            node: The expression.
            cells: The variables with finitely many values in it.
            compute: Its value, given theirs; None if it is random or any real number.
        """
        self.run = run
        self.node = node
        self.cells = cells
        self.compute = compute

    def refusal(self, message: str, hint: str = OFFERED) -> SourceError:
        """Return the error for an operation of which nothing is known."""
        return self.run.refusal("type error", f"{self.WHAT} {message}", hint)

    def value(self) -> int | Fraction:
        """Return the number that it is on the path: each is a path."""
        raise self.refusal("has no value to compute with")


class Valued(Symbolic):
    """A symbol that may have finitely many values; `//`, `%`, `**` compute with each of them."""

    __slots__ = ()

    def value(self) -> int | Fraction:
        """Return the number that it is on the path: each is a path."""
        value = self.run.value_of(self)
        if isinstance(value, str):
            raise self.run.refusal("type error", f"'{value}' is no number")
        return int(value) if value.denominator == 1 else value

    def __index__(self) -> int:
        """Return the whole number that it is on the path."""
        value = self.value()
        if not isinstance(value, int):
            raise self.run.refusal("type error", f"{value} is no whole number")
        return value

    def __int__(self) -> int:
        value = self.value()
        return floor(value) if value >= 0 else -floor(-value)


def is_number(value: object) -> bool:
    """Whether a known value is an exact number, by its very class."""
    return type(value) in _NUMBERS


def exact(run: Run, value: object, what: str) -> Fraction:
    """Take an exact number.

    Raises:
        SourceError: If it is none.
    """
    if isinstance(value, int | Fraction) and is_number(value):
        return Fraction(value)
    if isinstance(value, Symbolic):
        message = f"{what} must be known, but this depends on inputs or samples"
        raise run.refusal("type error", message)
    if isinstance(value, float):
        raise run.refusal("type error", f"{what} must be a number, got {value!r}")
    raise run.refusal("type error", f"{what} must be a number, got {type(value).__name__}")


def number_node(value: Fraction, span: Span | None = None) -> ast.Expression:
    """Return an exact number as an expression: a decimal, or else a quotient."""
    if value < 0:
        return ast.Negative(number_node(-value, span), span=span)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return ast.Number(value, span=span)
    parts = (ast.Number(Fraction(value.numerator)), ast.Number(Fraction(value.denominator)))
    return ast.Product(parts, ("/",), span=span)


def chained(
    left: ast.Expression, operator: str, right: ast.Expression, span: Span | None
) -> ast.Expression:
    """Return a sum or product; one that goes on to the right stays flat, as programs write it."""
    kind: type[ast.Sum | ast.Product] = ast.Sum if operator in "+-" else ast.Product
    if isinstance(left, kind):
        operands, operators = (*left.operands, right), (*left.operators, operator)
        return kind(operands, operators, span=span)
    return kind((left, right), (operator,), span=span)


def negated(node: ast.Expression) -> ast.Expression:
    """Return the opposite of a condition."""
    match node:
        case ast.Comparison(operands, (one,)):
            opposite = Relation(one).negated().value
            return ast.Comparison(operands, (opposite,), span=node.span)
        case ast.Not(operand):
            return operand
        case _:
            return ast.Not(node, span=node.span)
