"""Names and kinds in expressions and conditions, before the parameters are known.

Reals are affine combinations of samples; finite values are numbers, named values and truth
values. A finite number may stand where a real is expected, never the other way round. Random
integers (discrete Laplace noise) and reals never meet in one sum, comparison or variable (DiPC
paper, Figure 1).
"""

from __future__ import annotations

from itertools import pairwise

from dipapprox.errors import Diagnosis, did_you_mean
from dipapprox.language import ast
from dipapprox.language.call_checker import CallChecker
from dipapprox.language.symbols import (
    EPSILON,
    Kind,
    Role,
    Symbol,
    kind_of,
)
from dipapprox.language.traversal import operands_of
from dipapprox.source import Span


class ExpressionChecker:
    """Checks expressions against `symbols`, which the caller extends by loop variables."""

    def __init__(self, symbols: dict[str, Symbol], diagnosis: Diagnosis) -> None:
        self.symbols = symbols
        self.diagnosis = diagnosis
        self.calls = CallChecker(symbols, diagnosis, self)

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
            hint = f"{kind.describe()}s cannot be used here" if kind & Kind.RANDOM else ""
            self._error("type error", f"{where} is needed, but this is a {kind.describe()}",
                        node.span, hint)  # fmt: skip
        elif static and not self.is_static(node):
            self._error(
                "type error", "a constant is needed here", node.span,
                "only numbers, parameters and loop variables are constant",
            )  # fmt: skip

    def is_static(self, node: ast.Expression) -> bool:
        match node:
            case ast.Name(name):
                symbol = self.symbols.get(name)
                return symbol is None or symbol.role in (Role.PARAMETER, Role.LOOP, Role.VALUE)
            case ast.Index() | ast.Call() | ast.Choose() | ast.Disc():
                return False
            case _:
                return all(self.is_static(operand) for operand in operands_of(node))

    def operand(self, node: ast.Expression, purpose: str) -> Kind:
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
                self.calls.call(node)
            case ast.Choose(options):
                for option in options:
                    self.calls.option(option)
            case ast.Disc(value, points):
                self.operand(value, "'disc'")
                for point in points:
                    self.number(point, "a point of 'disc'", static=True)
            case ast.Negative(operand):
                self.operand(operand, "'-'")
            case ast.Sum(operands, operators):
                kinds = [self.operand(operand, f"'{operators[0]}'") for operand in operands]
                self.unmixed(kinds, "in one sum", node)
            case ast.Product():
                self._product(node)
            case ast.Power(base, exponent):
                self.number(base, "the base of a power")
                self.number(exponent, "an exponent", static=True)
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

    def unmixed(self, kinds: list[Kind], where: str, node: ast.Expression) -> None:
        """Check that reals and random integers do not meet."""
        random = [kind & Kind.RANDOM for kind in kinds]
        if Kind.REAL in random and Kind.INTEGER in random:
            self._error(
                "type error", f"reals and random integers {where}", node.span,
                "integer samples can only be combined with each other and with finite numbers",
            )  # fmt: skip

    def _product(self, node: ast.Product) -> None:
        random: list[Kind] = []
        for position, operand in enumerate(node.operands):
            operator = node.operators[max(0, position - 1)]
            kind = self.operand(operand, f"'{operator}'")
            if position and operator == "/" and not self.is_static(operand):
                self._error(
                    "type error", "division by something that is not constant", operand.span,
                    "divide by numbers, parameters and loop variables only",
                )  # fmt: skip
            elif kind & Kind.RANDOM:
                random.append(kind)
        if len(random) > 1:
            what = random[0].describe()
            self._error(
                "type error", f"product of two {what}s", node.span,
                f"random expressions must be linear: a constant times a {what}",
            )  # fmt: skip

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
                kinds.append(self.operand(operand, f"'{operator}'"))
                continue
            kinds.append(self.expression(operand))
            if kinds[-1] == Kind.TRUTH and not isinstance(
                operand, ast.Name | ast.Index | ast.Truth
            ):
                self._error(
                    "type error", "conditions cannot be compared", operand.span,
                    "write 'b' or 'not b', and combine conditions with 'and', 'or'",
                )  # fmt: skip
        self.unmixed(kinds, "in one comparison", node)
        for operator, (left, right) in zip(node.operators, pairwise(kinds), strict=True):
            both = left | right
            if both & Kind.RANDOM and both & Kind.NAMED:
                self._error("type error", "a real is compared with a named value", node.span)
            elif {left, right} == {Kind.NUMBER, Kind.NAMED}:
                self._error(
                    "type error", "a number is compared with a named value", node.span,
                    "they are never equal: compare with one of the values of the domain",
                )  # fmt: skip
            elif operator in ("=", "!=") and both & Kind.TRUTH and left and right and left != right:
                self._error(
                    "type error", "a condition is compared with something else", node.span,
                    "write 'b' or 'not b', or compare it with another Boolean variable",
                )  # fmt: skip
