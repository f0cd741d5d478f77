"""Names and kinds in expressions and conditions, before the parameters are known.

Reals are affine combinations of samples; finite values are numbers and named values. A finite
number may stand where a real is expected, never the other way round.
"""

from __future__ import annotations

from itertools import pairwise

from dipapprox.language import ast
from dipapprox.language.diagnosis import Diagnosis, did_you_mean
from dipapprox.language.kinds import kind_of
from dipapprox.language.symbols import (
    DISTRIBUTIONS,
    EPSILON,
    SELECTIONS,
    Kind,
    Role,
    Symbol,
)
from dipapprox.source import Span


class ExpressionChecker:
    """Checks expressions against `symbols`, which the caller extends by loop variables."""

    def __init__(self, symbols: dict[str, Symbol], diagnosis: Diagnosis) -> None:
        self.symbols = symbols
        self.diagnosis = diagnosis

    def _error(self, kind: str, message: str, span: Span | None, hint: str = "") -> None:
        self.diagnosis.report(kind, message, span, hint)

    def shape(self, place: ast.Target, symbol: Symbol) -> None:
        """Check that an array is indexed and a scalar is not."""
        if isinstance(place, ast.Index):
            self.number(place.index, where="an index")
            if not symbol.is_array:
                self._error(
                    "type error", f"'{place.name}' is no array", place.span,
                    f"write '{place.name}', or use another name for the array",
                )  # fmt: skip
        elif symbol.is_array:
            self._error(
                "type error", f"'{place.name}' is an array", place.span,
                f"write '{place.name}[i]' for one of its elements",
            )  # fmt: skip

    def number(self, node: ast.Expression, where: str = "a number", static: bool = False) -> None:
        """Check an expression that must be a finite number."""
        kind = self.expression(node)
        if kind & ~Kind.NUMBER:
            hint = "reals cannot be used here" if kind & Kind.REAL else ""
            self._error("type error", f"{where} is needed, but this is a {kind.describe()}",
                        node.span, hint)  # fmt: skip
        elif static and not self.is_static(node):
            self._error(
                "type error", "a constant is needed here", node.span,
                "only numbers, parameters and loop variables are constant",
            )  # fmt: skip

    def is_static(self, node: ast.Expression) -> bool:
        match node:
            case ast.Number() | ast.Truth():
                return True
            case ast.Name(name):
                symbol = self.symbols.get(name)
                return symbol is None or symbol.role in (Role.PARAMETER, Role.LOOP, Role.VALUE)
            case ast.Negative(operand) | ast.Not(operand):
                return self.is_static(operand)
            case ast.Index() | ast.Call():
                return False
            case _:
                return all(self.is_static(operand) for operand in node.operands)

    def _operand(self, node: ast.Expression, purpose: str) -> Kind:
        """Check an operand of arithmetic or of an ordered comparison: a number or a real."""
        kind = self.expression(node)
        if kind & (Kind.NAMED | Kind.TRUTH):
            hint = "named values can only be compared with = and !="
            if kind & Kind.TRUTH:
                hint = "conditions are combined with 'and', 'or', 'not'"
            self._error(
                "type error", f"{purpose} needs numbers or reals, but this is a {kind.describe()}",
                node.span, hint,
            )  # fmt: skip
        return kind

    def expression(self, node: ast.Expression, wanted: bool = False) -> Kind:
        """Check an expression of any kind and return its kind.

        Args:
            node: The expression.
            wanted: Whether it is the whole right-hand side of an assignment.
        """
        match node:
            case ast.Number():
                pass
            case ast.Name(name) | ast.Index(name):
                self._name(node, name)
            case ast.Call():
                self._call(node)
            case ast.Negative(operand):
                self._operand(operand, "'-'")
            case ast.Sum(operands, operators):
                for operand in operands:
                    self._operand(operand, f"'{operators[0]}'")
            case ast.Product():
                self._product(node)
            case _:
                self.condition(node)
        return kind_of(node, self.symbols)

    def _name(self, node: ast.Name | ast.Index, name: str) -> None:
        symbol = self.symbols.get(name)
        if symbol is not None:
            self.shape(node, symbol)
        elif name == EPSILON:
            self._error(
                "type error", "'eps' can only be used in the scale of a distribution", node.span,
                "e.g. 'Gauss(q, 2/eps)'; use a parameter for other constants",
            )  # fmt: skip
        else:
            known = [*self.symbols, EPSILON]
            hint = did_you_mean(name, known, "it is neither declared nor assigned anywhere")
            self._error("name error", f"unknown name '{name}'", node.span, hint)

    def _product(self, node: ast.Product) -> None:
        reals = 0
        for position, operand in enumerate(node.operands):
            operator = node.operators[max(0, position - 1)]
            kind = self._operand(operand, f"'{operator}'")
            if position and operator == "/" and not self.is_static(operand):
                self._error(
                    "type error", "division by something that is not constant", operand.span,
                    "divide by numbers, parameters and loop variables only",
                )  # fmt: skip
            elif kind & Kind.REAL:
                reals += 1
        if reals > 1:
            self._error(
                "type error", "product of two reals", node.span,
                "real expressions must be linear: a constant times a real",
            )  # fmt: skip

    def _call(self, node: ast.Call) -> None:
        if node.name in DISTRIBUTIONS:
            if len(node.arguments) != 2:
                self._error(
                    "type error", f"'{node.name}' takes 2 arguments, got {len(node.arguments)}",
                    node.span, f"write '{node.name}(mean, scale)', e.g. '{node.name}(q, 2/eps)'",
                )  # fmt: skip
                return
            mean, scale = node.arguments
            kind = self.expression(mean)
            if kind & ~Kind.NUMBER:
                self._error(
                    "type error", f"the mean must be a finite number, but this is a "
                    f"{kind.describe()}", mean.span,
                    "draw with mean 0 and add the real" if kind & Kind.REAL else "",
                )  # fmt: skip
            self._scale(scale)
        elif node.name in SELECTIONS:
            whole_array = len(node.arguments) == 1 and isinstance(node.arguments[0], ast.Name)
            argument = node.arguments[0]
            if whole_array and isinstance(argument, ast.Name):
                symbol = self.symbols.get(argument.name)
                if symbol is not None and symbol.is_array:
                    if symbol.kind & (Kind.NAMED | Kind.TRUTH):
                        self._error("type error", f"'{node.name}' needs numbers or reals",
                                    argument.span)  # fmt: skip
                    return
            for value in node.arguments:
                self._operand(value, f"'{node.name}'")
        else:
            known = (*DISTRIBUTIONS, *SELECTIONS)
            hint = did_you_mean(node.name, known, f"functions are {', '.join(known)}")
            symbol = self.symbols.get(node.name)
            if symbol is not None and symbol.is_array:
                hint = f"array elements are written '{node.name}[i]'"
            self._error("name error", f"unknown function '{node.name}'", node.span, hint)

    def _scale(self, node: ast.Expression) -> None:
        """Check the names of a scale; its form is checked when the parameters are known."""
        match node:
            case ast.Name(name) if name == EPSILON:
                pass
            case ast.Sum(operands) | ast.Product(operands):
                for operand in operands:
                    self._scale(operand)
            case ast.Negative(operand):
                self._scale(operand)
            case _:
                self.number(node, where="a scale", static=True)

    # --- conditions ---------------------------------------------------------------------------

    def condition(self, node: ast.Expression) -> None:
        match node:
            case ast.Truth():
                pass
            case ast.Not(operand):
                self.condition(operand)
            case ast.And(operands) | ast.Or(operands):
                for operand in operands:
                    self.condition(operand)
            case ast.Comparison():
                self._comparison(node)
            case _:
                kind = self.expression(node)
                if kind & ~Kind.TRUTH:
                    self._error(
                        "type error", f"a condition is needed, but this is a {kind.describe()}",
                        node.span, "compare it with something, e.g. 'x >= 1'",
                    )  # fmt: skip

    def _comparison(self, node: ast.Comparison) -> None:
        ordered = [operator not in ("=", "!=") for operator in node.operators]
        kinds = []
        for position, operand in enumerate(node.operands):
            if any(ordered[max(0, position - 1) : position + 1]):
                operator = node.operators[max(0, position - 1)]
                kinds.append(self._operand(operand, f"'{operator}'"))
                continue
            kinds.append(self.expression(operand))
            if kinds[-1] & Kind.TRUTH:
                self._error(
                    "type error", "conditions cannot be compared", operand.span,
                    "write 'b' or 'not b', and combine conditions with 'and', 'or'",
                )  # fmt: skip
        for left, right in pairwise(kinds):
            if (left | right) & Kind.REAL and (left | right) & Kind.NAMED:
                self._error("type error", "a real is compared with a named value", node.span)
            elif {left, right} == {Kind.NUMBER, Kind.NAMED}:
                self._error(
                    "type error", "a number is compared with a named value", node.span,
                    "they are never equal: compare with one of the values of the domain",
                )  # fmt: skip
