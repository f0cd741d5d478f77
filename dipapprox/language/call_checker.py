"""Names and kinds in draws, selections, mechanisms and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from dipapprox.errors import Diagnosis, did_you_mean
from dipapprox.language import ast
from dipapprox.language.symbols import (
    ABSOLUTE,
    CLAMP,
    DISCRETISATION,
    DISTRIBUTIONS,
    EPSILON,
    EXPONENTIAL,
    LOGARITHM,
    MECHANISM,
    ROOT,
    ROUNDINGS,
    SELECTIONS,
    Kind,
    Role,
    Symbol,
)
from dipapprox.source import Span

_OF_NUMBERS = (CLAMP, ABSOLUTE, *ROUNDINGS)
_GUMBEL = (
    "there is no Gumbel noise; the argmax of scores with Gumbel noise of scale 1/rate is "
    "'Exp(rate, scores)'"
)
_STUDENT = "there is no Student-t noise; real noise is Gauss, Lap, LapPlus and LapMinus"
_MEANT = {
    "gumbel": _GUMBEL,
    "student": _STUDENT,
    "studentt": _STUDENT,
    "student_t": _STUDENT,
    "cauchy": "there is no Cauchy noise; real noise is Gauss, Lap, LapPlus and LapMinus",
    "normal": "write 'Gauss(mean, standard deviation)'",
    "laplace": "write 'Lap(mean, scale)'",
    "geometric": "write 'DLap(mean, scale)': two-sided geometric noise",
    "uniform": "write 'choose {1..6}' for one of finitely many values",
    "bernoulli": "write 'choose {1 : p, 0 : 1 - p}'",
}
"""What is meant by names of other libraries, in lower case."""
REPEATED = "draw it before the loop, or use 'for', which is unrolled"


class Operands(Protocol):
    """Checks of expressions by what they must be."""

    def expression(self, node: ast.Expression) -> Kind:
        """Check an expression of any kind and return its kind."""

    def operand(self, node: ast.Expression, purpose: str) -> Kind:
        """Check a number or a random value and return its kind."""

    def number(self, node: ast.Expression, where: str = "a number", static: bool = False) -> None:
        """Check a finite number."""

    def unmixed(self, kinds: list[Kind], where: str, node: ast.Expression) -> None:
        """Check that reals and random integers do not meet."""


class CallChecker:
    """Checks calls and the options of choices.

    Attributes:
        repeated: Whether they stand inside a `while`.
    """

    def __init__(
        self, symbols: dict[str, Symbol], diagnosis: Diagnosis, operands: Operands
    ) -> None:
        self._symbols = symbols
        self._diagnosis = diagnosis
        self._operands = operands
        self.repeated = False

    def _error(self, kind: str, message: str, span: Span | None, hint: str = "") -> None:
        self._diagnosis.report(kind, message, span, hint)

    def call(self, node: ast.Call) -> None:
        if node.name in DISTRIBUTIONS:
            self._draw(node)
        elif node.name == MECHANISM:
            self._mechanism(node)
        elif node.name in SELECTIONS:
            self._selection(node)
        elif node.name == CLAMP:
            self._clamp(node)
        elif node.name == ABSOLUTE:
            self._absolute(node)
        elif node.name in ROUNDINGS:
            self._rounding(node, is_clamped=False)
        elif node.name == EXPONENTIAL:
            self._error(
                "type error", f"'{EXPONENTIAL}' can only be used in the weights of 'choose'",
                node.span, "e.g. 'choose {1 : exp(eps)/(1 + exp(eps)), 0 : 1/(1 + exp(eps))}'",
            )  # fmt: skip
        elif node.name in (ROOT, LOGARITHM):
            self._error(
                "type error", f"'{node.name}' can only be used in the scale of a distribution",
                node.span, "numbers elsewhere are rational: e.g. 'Gauss(q, sqrt(2) / eps)'",
            )  # fmt: skip
        elif node.name == DISCRETISATION:
            self._error(
                "type error", "'disc' takes a value and points, separated by ';'", node.span,
                "write e.g. 'disc(r; -1 < 0 < 1)'",
            )  # fmt: skip
        else:
            known = (*DISTRIBUTIONS, MECHANISM, *SELECTIONS, *_OF_NUMBERS, DISCRETISATION)
            hint = did_you_mean(node.name, known, f"functions are {', '.join(known)}")
            hint = _MEANT.get(node.name.lower(), hint)
            symbol = self._symbols.get(node.name)
            if symbol is not None and symbol.is_array:
                hint = f"array elements are written '{node.name}[i]'"
            self._error("name error", f"unknown function '{node.name}'", node.span, hint)

    def _draw(self, node: ast.Call) -> None:
        if len(node.arguments) != 2:
            self._error(
                "type error", f"'{node.name}' takes 2 arguments, got {len(node.arguments)}",
                node.span, f"write '{node.name}(mean, scale)', e.g. '{node.name}(q, 2/eps)'",
            )  # fmt: skip
            return
        mean, scale = node.arguments
        kind = self._operands.expression(mean)
        if kind & ~Kind.NUMBER:
            self._error(
                "type error", f"the mean must be a finite number, but this is a "
                f"{kind.describe()}", mean.span,
                f"draw with mean 0 and add the {kind.describe()}" if kind & Kind.RANDOM else "",
            )  # fmt: skip
        self._scale(scale)
        if self.repeated:
            self._error("type error", "a 'while' cannot draw samples", node.span, REPEATED)

    def _mechanism(self, node: ast.Call) -> None:
        if len(node.arguments) < 2:
            self._error(
                "type error", f"'{MECHANISM}' needs a rate and scores", node.span,
                f"write '{MECHANISM}(eps/2, score)', for an array, or '{MECHANISM}(eps/2, a, b)'",
            )  # fmt: skip
            return
        rate, *scores = node.arguments
        self._scale(rate)
        array = self._whole_array(scores)
        if array is None:
            for score in scores:
                self._operands.number(score, "a score")
        elif array.kind & ~Kind.NUMBER:
            self._error("type error", "scores must be finite numbers", scores[0].span)

    def _clamp(self, node: ast.Call) -> None:
        """Check a clamp: of a number, random or not, between two constants."""
        if len(node.arguments) != 3:
            self._error(
                "type error", f"'{CLAMP}' takes 3 arguments, got {len(node.arguments)}", node.span,
                f"write '{CLAMP}(z, -5, 5)': the number, the least and the largest value",
            )  # fmt: skip
            return
        value, *ends = node.arguments
        if isinstance(value, ast.Call) and value.name in ROUNDINGS:
            self._rounding(value, is_clamped=True)
        else:
            self._once(node, self._operands.operand(value, f"'{CLAMP}'") & Kind.REAL)
        for end in ends:
            self._operands.number(end, f"an end of '{CLAMP}'", static=True)

    def _absolute(self, node: ast.Call) -> None:
        if len(node.arguments) != 1:
            self._error(
                "type error", f"'{ABSOLUTE}' takes 1 argument, got {len(node.arguments)}",
                node.span, f"write '{ABSOLUTE}(x)'",
            )  # fmt: skip
            return
        self._once(node, self._operands.operand(node.arguments[0], f"'{ABSOLUTE}'"))

    def _rounding(self, node: ast.Call, is_clamped: bool) -> None:
        """Check a rounding, to whole numbers or to multiples of a constant."""
        if len(node.arguments) not in (1, 2):
            self._error(
                "type error", f"'{node.name}' takes 1 or 2 arguments, got {len(node.arguments)}",
                node.span, f"write '{node.name}(x)', or '{node.name}(x, 5)' for multiples of 5",
            )  # fmt: skip
            return
        value, *step = node.arguments
        kind = self._operands.operand(value, f"'{node.name}'")
        if kind & Kind.RANDOM and not is_clamped:
            self._error(
                "type error",
                f"'{node.name}' of a {kind.describe()} may be any multiple: too many values",
                node.span, f"clamp it to finitely many: '{CLAMP}({node.name}(x), -5, 5)'",
            )  # fmt: skip
        self._once(node, kind)
        for each in step:
            self._operands.number(each, "a step", static=True)

    def _once(self, node: ast.Call, kind: Kind) -> None:
        """Refuse functions of samples inside 'while'."""
        if self.repeated and kind & Kind.RANDOM:
            self._error(
                "type error", f"'{node.name}' of samples inside 'while'", node.span,
                "take it before the loop",
            )  # fmt: skip

    def _selection(self, node: ast.Call) -> None:
        array = self._whole_array(node.arguments)
        if array is not None:
            kind = array.kind
            if kind & (Kind.NAMED | Kind.TRUTH):
                self._error(
                    "type error", f"'{node.name}' needs numbers or reals", node.arguments[0].span
                )
        else:
            kinds = [self._operands.operand(value, f"'{node.name}'") for value in node.arguments]
            self._operands.unmixed(kinds, f"in one '{node.name}'", node)
            kind = Kind.NOTHING
            for each in kinds:
                kind |= each
        self._once(node, kind)

    def _whole_array(self, arguments: Sequence[ast.Expression]) -> Symbol | None:
        """Return the array that is the only argument, if it is one."""
        if len(arguments) != 1 or not isinstance(arguments[0], ast.Name):
            return None
        symbol = self._symbols.get(arguments[0].name)
        return symbol if symbol is not None and symbol.is_array else None

    # --- choices ------------------------------------------------------------------------------

    def option(self, option: ast.Option) -> None:
        if isinstance(option.value, ast.Range):
            for end in (option.value.first, option.value.last):
                self._operands.number(end, "an end of a range", static=True)
            return
        if option.turns is None:
            self._one_option(option.value, option.weight)
            return
        name = option.turns.variable
        for end in (option.turns.first, option.turns.last):
            self._operands.number(end, "an end of a range", static=True)
        if name == EPSILON or name in self._symbols:
            self._error(
                "name error", f"'{name}' is the name of something else", option.turns.span,
                "choose another name for the variable of the options",
            )  # fmt: skip
            return
        self._symbols[name] = Symbol(name, Role.LOOP, False, option.turns.span, Kind.NUMBER)
        self._one_option(option.value, option.weight)
        del self._symbols[name]

    def _one_option(self, value: ast.Expression, weight: ast.Expression | None) -> None:
        kind = self._operands.expression(value)
        if kind & Kind.RANDOM:
            self._error(
                "type error", f"values of 'choose' are finite, but this is a {kind.describe()}",
                value.span, "choose a number and compare or multiply afterwards",
            )  # fmt: skip
        if weight is not None:
            self._weight(weight)

    def _weight(self, node: ast.Expression) -> None:
        """Check a weight: made of finite numbers, eps and exp(…)."""
        match node:
            case ast.Call(name, arguments) if name == EXPONENTIAL:
                if len(arguments) != 1:
                    self._error("type error", f"'{EXPONENTIAL}' takes 1 argument", node.span)
                for argument in arguments:
                    self._weight(argument)
            case _:
                self._in_eps(node, self._weight, "a weight", static=False)

    def _scale(self, node: ast.Expression) -> None:
        """Check the names of a scale; its form is checked when the parameters are known."""
        match node:
            case ast.Call(name, arguments) if name in (ROOT, LOGARITHM):
                if len(arguments) != 1:
                    self._error("type error", f"'{name}' takes 1 argument", node.span)
                for argument in arguments:
                    self._scale(argument)
            case _:
                self._in_eps(node, self._scale, "a scale", static=True)

    def _in_eps(
        self,
        node: ast.Expression,
        part: Callable[[ast.Expression], None],
        where: str,
        *,
        static: bool,
    ) -> None:
        """Check arithmetic with eps and finite numbers: its parts by `part`, numbers as told."""
        match node:
            case ast.Name(name) if name == EPSILON:
                pass
            case ast.Sum(operands) | ast.Product(operands):
                for operand in operands:
                    part(operand)
            case ast.Negative(operand):
                part(operand)
            case ast.Power(base, exponent):
                part(base)
                self._operands.number(exponent, "an exponent", static=True)
            case _:
                self._operands.number(node, where, static=static)
