"""Formulas in `eps` and `delta`: what a privacy claim may say instead of a number.

    formula  ::=  formula (+ | -) formula  |  formula (* | /) formula  |  (+ | -) formula
               |  formula ^ formula  |  function ( formula )  |  ( formula )  |  number  |  name
    function ::=  sqrt | log | exp          log is the natural logarithm

Precedence from loosest to tightest: + -, * /, sign, ^; all but ^ group to the left. Numbers are
exact: 0.1 is 1/10. A formula is parsed by precedence climbing; every node knows its span, so that
errors of syntax and of evaluation point at their place.

The leaves are those of programs (`ast`). What stands above them differs: every node is a formula,
which no checker has to tell from draws, choices and comparisons; operations are binary, as formulas
are never printed, and are evaluated in four ways; messages stop at the first fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from operator import add, mul, sub
from typing import assert_never

from dipapprox.data_classes import Record
from dipapprox.digits import read_decimal
from dipapprox.errors import SourceError, did_you_mean, shorten
from dipapprox.language.ast import Name, Number
from dipapprox.language.traversal import nodes_in
from dipapprox.source import BLANKS, Diagnostic, Located, SourceFile, Span, unlike_ascii


class FormulaFunction(Enum):
    """A function of one real argument; the value is its spelling."""

    SQRT = "sqrt"
    LOG = "log"
    EXP = "exp"


class Operator(Enum):
    """An operation on two reals; the value is its spelling."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    POWER = "^"


class Negation(Located):
    """-operand."""

    operand: Formula


class Operation(Located):
    """left operator right."""

    left: Formula
    operator: Operator
    right: Formula


class FormulaCall(Located):
    """function(argument)."""

    function: FormulaFunction
    argument: Formula


Formula = Number | Name | Negation | Operation | FormulaCall  # names are `eps` and `delta`

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)|(?P<mark>[-+*/^()]))",
    re.ASCII,
)
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}
_SIGN_STRENGTH = 3
LONGEST = 800
_DEEPEST = 100
"""Characters of a formula, and levels of nesting: trees stay within reach of recursion."""

_MOST_BITS = 10_000  # of a power that is computed exactly
_MOST_FACTORS = 400_000
"""Of powers of powers, written out: their values are longer than what a single power has."""

_FUNCTIONS = [function.value for function in FormulaFunction]
_HINT = "a formula is made of numbers, {names}, + - * / ^, parentheses, sqrt, log and exp"


def mentions_epsilon(formula: Formula) -> bool:
    return "eps" in names_of(formula)


def names_of(formula: Formula) -> frozenset[str]:
    return frozenset(node.name for node in nodes_in(formula) if isinstance(node, Name))


def rational_value(formula: Formula, values: Mapping[str, Fraction]) -> Fraction | None:
    """Return the value of a formula that is made of rational operations; None if it is not.

    Args:
        values: Of its names. A name without a value has none.
    """
    match formula:
        case Number():
            return formula.value
        case Name():
            return values.get(formula.name)
        case Negation(operand):
            value = rational_value(operand, values)
            return None if value is None else -value
        case FormulaCall():
            return None
        case Operation(left, operator, right):
            first, second = rational_value(left, values), rational_value(right, values)
            if first is None or second is None:
                return None
            return _combined(first, operator, second)
        case _:
            assert_never(formula)


def _combined(first: Fraction, operator: Operator, second: Fraction) -> Fraction | None:
    if operator is Operator.DIVIDE:
        return first / second if second else None
    if operator is not Operator.POWER:
        return _LINEAR[operator](first, second)
    size = first.numerator.bit_length() + first.denominator.bit_length()
    small = second.denominator == 1 and size * abs(second) <= _MOST_BITS
    return first ** int(second) if small and (first or second >= 0) else None


_LINEAR: dict[Operator, Callable[[Fraction, Fraction], Fraction]] = {
    Operator.ADD: add,
    Operator.SUBTRACT: sub,
    Operator.MULTIPLY: mul,
}


def _written_out(formula: Formula) -> Fraction:
    """Return by what powers multiply the factors of a formula, if they are written out."""
    match formula:
        case Number() | Name():
            return Fraction(1)
        case Negation(operand) | FormulaCall(_, operand):
            return _written_out(operand)
        case Operation(left, Operator.POWER, right):
            return max(_written_out(left) * _exponent(right), _written_out(right))
        case Operation(left, _, right):
            return max(_written_out(left), _written_out(right))
        case _:
            assert_never(formula)


def _exponent(formula: Formula) -> Fraction:
    """Return the size of an exponent, at least 1; 1 where it is no rational number."""
    value = rational_value(formula, {})
    return Fraction(1) if value is None else max(abs(value), Fraction(1))


def parse_formula(text: str, source: str, names: Sequence[str]) -> Formula:
    """Read a formula.

    Args:
        source: Where, for messages: "--eps-prv".
        names: The names that it may mention.
    """
    return _Parser(SourceFile(source, text), names).parse()


class _Token(Record):
    kind: str  # "number", "name", a mark, or "end"
    text: str
    span: Span


class _Parser:
    """Precedence climbing over a list of tokens."""

    def __init__(self, source: SourceFile, names: Sequence[str]) -> None:
        self._source = source
        self._names = names
        self._hint = _HINT.format(names=" and ".join(names) or "no names")
        self._tokens = self._split()
        self._next = 0
        self._depth = 0

    def parse(self) -> Formula:
        formula = self._formula(0)
        token = self._tokens[self._next]
        if token.kind != "end":
            raise self._error(f"expected an operator, got '{shorten(token.text)}'", token.span)
        return formula

    def _split(self) -> list[_Token]:
        text = self._source.text
        if len(text) > LONGEST:
            message = f"a formula of {len(text)} characters; at most {LONGEST} are allowed"
            raise self._error(message, self._span(0, 1))
        tokens = []
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                start = position + len(text[position:]) - len(text[position:].lstrip(BLANKS))
                if start == len(text):
                    break
                hint = unlike_ascii(text[start]) or None
                message = f"unexpected character '{text[start]}'"
                raise self._error(message, self._span(start), hint=hint)
            kind = found.lastgroup
            assert kind is not None
            word = found[kind]
            span = self._span(found.start(kind), found.end(kind))
            tokens.append(_Token(word if kind == "mark" else kind, word, span))
            position = found.end()
        return [*tokens, _Token("end", "", self._span(len(text.rstrip(BLANKS))))]

    def _formula(self, strength: int) -> Formula:
        """Read operands and the operators that bind tighter than `strength`."""
        self._depth += 1
        left = self._operand()
        while True:
            token = self._tokens[self._next]
            found = _STRENGTH.get(token.kind, 0)
            if found <= strength:
                break
            self._next += 1
            # A power's exponent may be a signed power: 2^-x^2 is 2^(-(x^2)).
            tight = _SIGN_STRENGTH if token.kind == "^" else found
            right = self._formula(tight)
            if token.kind == "^" and 1 < _written_out(left) > _MOST_FACTORS / _exponent(right):
                message = f"powers of powers with more than {_MOST_FACTORS} factors"
                raise self._error(message, token.span)
            assert left.span is not None and right.span is not None
            span = self._span(left.span.start, right.span.end)
            left = Operation(left, Operator(token.kind), right, span=span)
        self._depth -= 1
        return left

    def _operand(self) -> Formula:
        token = self._tokens[self._next]
        if self._depth > _DEEPEST:
            raise self._error("the formula is nested too deeply", token.span)
        self._next += 1
        match token.kind:
            case "number":
                value = read_decimal(token.text)
                if value is None:
                    raise self._error("the number is too long or too extreme", token.span)
                return Number(value, span=token.span)
            case "+":
                return self._formula(_SIGN_STRENGTH)
            case "-":
                operand = self._formula(_SIGN_STRENGTH)
                assert operand.span is not None
                return Negation(operand, span=self._span(token.span.start, operand.span.end))
            case "(":
                formula = self._formula(0)
                self._close()
                return formula
            case "name":
                return self._name(token)
            case "end":
                raise self._error("the formula ends where an operand is expected", token.span)
            case _:
                raise self._error(f"expected an operand, got '{token.text}'", token.span)

    def _name(self, token: _Token) -> Formula:
        if token.text in _FUNCTIONS:
            mark = self._tokens[self._next]
            if mark.kind != "(":
                raise self._error(f"'{token.text}' needs an argument in parentheses", token.span)
            self._next += 1
            argument = self._formula(0)
            end = self._close()
            span = self._span(token.span.start, end.span.end)
            return FormulaCall(FormulaFunction(token.text), argument, span=span)
        if token.text not in self._names:
            known = [*self._names, *_FUNCTIONS]
            raise self._error(
                f"unknown name '{shorten(token.text)}'",
                token.span,
                "name error",
                did_you_mean(token.text, known, self._hint),
            )
        return Name(token.text, span=token.span)

    def _close(self) -> _Token:
        token = self._tokens[self._next]
        if token.kind != ")":
            got = f"got '{token.text}'" if token.text else "but the formula ends"
            raise self._error(f"expected ')', {got}", token.span)
        self._next += 1
        return token

    def _span(self, start: int, end: int | None = None) -> Span:
        return Span(self._source, start, start + 1 if end is None else end)

    def _error(
        self, message: str, span: Span, kind: str = "syntax error", hint: str | None = None
    ) -> SourceError:
        return SourceError([Diagnostic(kind, message, span, self._hint if hint is None else hint)])
