"""The program of a function, executed with given samples.

In: statements as `exploration` makes them, values of inputs, and who says what is drawn. Out: the
values of all variables. exp, log and sqrt stand for themselves: any function that tells its
arguments apart will do, as both sides have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from hashlib import sha256

from dipapprox.data_classes import dataclass
from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.core import Relation, Value
from dipapprox.language.functions.run import cell_name
from dipapprox.language.functions.symbolic import refusal
from dipapprox.language.piecewise import rounded
from dipapprox.language.symbols import (
    CLAMP,
    DELTA,
    EPSILON,
    EXPONENTIAL,
    LOGARITHM,
    MECHANISM,
    ROOT,
    SELECTIONS,
)
from dipapprox.laws.families import FAMILIES

Held = Value | bool

_EPSILON, _DELTA = Fraction(3, 7), Fraction(1, 13)
_NOISE = [Fraction(*p) for p in ((0, 1), (1, 3), (1, 1), (1, 2), (3, 2), (2, 1), (5, 1), (40, 1))]
_MOST_BITS = 1_000
"""Of a power that is multiplied out; others only have to be told apart."""

_AT_ONE = {EXPONENTIAL: (0, 1), LOGARITHM: (1, 0), ROOT: (1, 1)}


@dataclass(frozen=True, slots=True)
class Draw:
    """What is drawn: a word of the language, and its arguments.

    Attributes:
        word: Of a family of noise, "Exp" or "choose".
        arguments: Their values.
    """

    word: str
    arguments: tuple[Held, ...]

    def sample(self, seed: int) -> Value:
        """Return one of the values that may be drawn."""
        family = FAMILIES.get(self.word)
        if family is None:
            values = self.arguments[::2] if self.word == "choose" else range(1, len(self.arguments))
            value = list(values)[seed % len(values)]
            return value if isinstance(value, str) else Fraction(value)
        noise = _NOISE[seed % len(_NOISE)] * (1 if seed // len(_NOISE) % 2 else -1)
        noise = family.possible(noise)
        mean = self.arguments[0]
        value = noise + (Fraction(mean) if not isinstance(mean, str) else 0)
        return Fraction(round(value)) if family.is_discrete else value


class NotExecuted(SourceError):
    """The program has what is not executed here; at the line of the function that it stands for."""

    def __init__(self, node: ast.Node) -> None:
        what = f"'{type(node).__name__.lower()}'"
        message = f"the program of this has {what}, which is not compared with the function"
        super().__init__(refusal("type error", message, "", node.span).diagnostics)


class Exited(Exception):
    """The program has ended."""


class Replay:
    """The variables of a program that is executed."""

    def __init__(self, given: Mapping[str, Held], drawn: Callable[[Draw], Value]) -> None:
        """Begin.

        Args:
            given: The inputs.
            drawn: Says what is drawn.
        """
        self.given = tuple(given)
        self.values: dict[str, Held] = dict(given)
        self._drawn = drawn

    def output(self, name: str) -> Held | None:
        """Return the value of an output, as it is compared."""
        return _compared(self.values.get(name, "nothing"))

    def compared(self, node: ast.Expression) -> Held:
        """Return the value of an expression, as it is compared."""
        return _compared(self.value(node))

    def execute(self, body: ast.Block) -> None:
        """Execute statements, until the program ends.

        Raises:
            NotExecuted: If there is one, or an expression in it, of another kind.
        """
        try:
            self._execute(body)
        except Exited:
            return

    def _execute(self, body: ast.Block) -> None:
        for statement in body:
            match statement:
                case ast.Assign((target,), value):
                    self.values[cell_name(target)] = self.value(value)
                case ast.If((branch,), otherwise):
                    self._execute(branch.body if self.value(branch.condition) else otherwise)
                case ast.Exit():
                    raise Exited
                case _:
                    raise NotExecuted(statement)

    def value(self, node: ast.Expression) -> Held:
        """Return the value of an expression."""
        match node:
            case ast.Number(value) | ast.Truth(value):
                return value
            case ast.Name() | ast.Index():
                return self._variable(node)
            case ast.Negative(operand):
                return -self.number(operand)
            case ast.Sum(operands, operators) | ast.Product(operands, operators):
                return self._chain(operands, operators)
            case ast.Power(base, exponent):
                return self._power(self.number(base), self.number(exponent))
            case ast.Comparison((left, right), (relation,)):
                return Relation(relation).holds(self._side(left), self._side(right))
            case ast.Not(operand):
                return not self.value(operand)
            case ast.And(operands):
                return all(bool(self.value(each)) for each in operands)
            case ast.Or(operands):
                return any(bool(self.value(each)) for each in operands)
            case ast.Choose(options):
                return self._chosen(options)
            case ast.Call(word, arguments):
                return self._called(word, [self.number(each) for each in arguments])
            case _:
                raise NotExecuted(node)

    def number(self, node: ast.Expression) -> Fraction:
        """Return the number that an expression is."""
        value = _compared(self.value(node))
        assert isinstance(value, Fraction)
        return value

    def _side(self, node: ast.Expression) -> Value:
        value = self.value(node)
        return Fraction(value) if isinstance(value, bool) else value

    def _variable(self, node: ast.Target) -> Held:
        name = cell_name(node)
        if name in self.values:
            value = self.values[name]
            return value == "true" if value in ("true", "false") else value
        return {EPSILON: _EPSILON, DELTA: _DELTA}.get(name, name)

    def _chain(self, operands: tuple[ast.Expression, ...], operators: tuple[str, ...]) -> Fraction:
        found = self.number(operands[0])
        for operator, operand in zip(operators, operands[1:], strict=True):
            value = self.number(operand)
            match operator:
                case "+":
                    found += value
                case "-":
                    found -= value
                case "*":
                    found *= value
                case _:
                    found /= value
        return found

    def _power(self, base: Fraction, exponent: Fraction) -> Fraction:
        size = max(abs(base.numerator), base.denominator).bit_length()
        if exponent.denominator == 1 and abs(exponent) * size <= _MOST_BITS:
            return Fraction(base**exponent.numerator)
        return _told_apart("^", base, exponent)

    def _chosen(self, options: tuple[ast.Option, ...]) -> Held:
        arguments: list[Held] = []
        for option in options:
            weight = self.number(option.weight) if option.weight is not None else Fraction(1)
            if weight != 0:
                assert not isinstance(option.value, ast.Range)
                arguments += [_compared(self.value(option.value)), weight]
        if len(arguments) == 2:
            return arguments[0]
        return self._drawn(Draw("choose", tuple(arguments)))

    def _called(self, word: str, given: list[Fraction]) -> Held:
        if word in FAMILIES or word == MECHANISM:
            return self._drawn(Draw(word, tuple(given)))
        if word in SELECTIONS:
            best = (max if word.endswith("max") else min)(given)
            return Fraction(given.index(best) + 1) if word.startswith("arg") else best
        if word == CLAMP:
            return min(max(given[0], given[1]), given[2])
        if word == "round":
            return rounded("round", *given)
        at, value = _AT_ONE[word]
        return Fraction(value) if given == [at] else _told_apart(word, *given)


def _compared(value: Held) -> Held:
    """Return a value as it is compared: truth values are 1 and 0."""
    if value in ("true", "false"):
        return Fraction(value == "true")
    return Fraction(value) if isinstance(value, bool) else value


def _told_apart(word: str, *given: Fraction) -> Fraction:
    """Return a number > 0 that is another one for other arguments."""
    digest = sha256(f"{word} {given}".encode()).digest()
    return Fraction(int.from_bytes(digest[:8], "big") + 1, 2**62)
