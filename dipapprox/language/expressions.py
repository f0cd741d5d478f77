"""Surface expressions to core expressions and conditions, constants folded.

Draws and selections inside expressions are taken out: they are emitted as statements that assign
fresh variables ("best#1"), which no program can name. They stand before the whole statement, so in
`q = 1 and Gauss(z, 1/eps) > 0` the draw happens, and z is read, whatever q is. A draw that is not
used changes no probability; comparisons themselves are evaluated by short circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong, check_size
from dipapprox.language.declarations import MOST_CELLS
from dipapprox.language.symbols import Role, Symbol

Take = Callable[[ast.Call], core.Expression]
"""Emits the statements of a call and returns the variable with its value."""

TRUE = core.All(())
FALSE = core.Any(())
_ONE = Fraction(1)


class Expressions:
    """Elaborates expressions under the current values of parameters and loop variables.

    Attributes:
        constants: Parameters and loop variables; changed by the statement elaborator.
        sizes: Sizes of the arrays; of local ones what is known so far.
    """

    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        constants: dict[str, Fraction],
        sizes: dict[str, int],
        take: Take,
    ) -> None:
        self.symbols = symbols
        self.constants = constants
        self.sizes = sizes
        self._take = take

    def value(self, node: ast.Expression) -> core.Expression:
        """Elaborate a number, named value or real.

        Raises:
            Wrong: If it cannot have a value.
        """
        match node:
            case ast.Number(value):
                return core.Constant(value, span=node.span)
            case ast.Name(name):
                if name in self.constants:
                    return core.Constant(self.constants[name], span=node.span)
                if self.symbols[name].role is Role.VALUE:
                    return core.Constant(name, span=node.span)
                return core.Variable(name, span=node.span)
            case ast.Index():
                return self.place(node)
            case ast.Call():
                return self._take(node)
            case ast.Negative(operand):
                return scaled(Fraction(-1), self.value(operand), node)
            case ast.Sum():
                return self._sum(node)
            case ast.Product():
                return self._product(node)
            case _:
                raise Wrong(
                    "type error", "a condition is used as a number", node.span,
                    "assign it to a variable of its own first",
                )  # fmt: skip

    def place(self, node: ast.Target) -> core.Variable | core.Element:
        """Elaborate a scalar or an array element; constant indices give its cell."""
        if isinstance(node, ast.Name):
            return core.Variable(node.name, span=node.span)
        index = self.value(node.index)
        size = self.sizes.get(node.name)
        if not isinstance(index, core.Constant):
            return core.Element(node.name, size or 0, index, span=node.span)
        value = index.value
        assert isinstance(value, Fraction)
        if value.denominator != 1:
            raise Wrong(
                "value error", f"an index must be a whole number, got {value}", node.index.span
            )
        local = self.symbols[node.name].role is Role.LOCAL
        if value < 1 or (size is not None and not local and value > size):
            allowed = "1, 2, …" if local else f"1..{size}"
            raise Wrong(
                "value error", f"index {value} of '{node.name}' is out of range", node.span,
                f"allowed are {allowed}; arrays begin at 1",
            )  # fmt: skip
        if value > MOST_CELLS:
            raise Wrong("limit", f"arrays have at most {MOST_CELLS} elements", node.index.span)
        return core.Variable(f"{node.name}[{value}]", span=node.span)

    def _sum(self, node: ast.Sum) -> core.Expression:
        constant = Fraction(0)
        terms: list[core.Expression] = []
        for operator, operand in zip(("+", *node.operators), node.operands, strict=True):
            term = self.value(operand)
            if isinstance(term, core.Constant):
                number = _number(term)
                constant += number if operator == "+" else -number
                check_size(constant, node.span)
            else:
                terms.append(term if operator == "+" else scaled(Fraction(-1), term, operand))
        if constant or not terms:
            terms.append(core.Constant(constant, span=node.span))
        return _balanced(terms, node)

    def _product(self, node: ast.Product) -> core.Expression:
        factor = _ONE
        others: list[core.Expression] = []
        for operator, operand in zip(("*", *node.operators), node.operands, strict=True):
            value = self.value(operand)
            if not isinstance(value, core.Constant):
                others.append(value)
                continue
            number = _number(value)
            if operator == "/" and number == 0:
                raise Wrong("value error", "division by zero", operand.span)
            factor = factor * number if operator == "*" else factor / number
            check_size(factor, node.span)
        if not others:
            return core.Constant(factor, span=node.span)
        product = others[0]
        for other in others[1:]:
            product = core.Product(product, other, span=node.span)
        return scaled(factor, product, node)

    def is_array(self, name: str) -> bool:
        """Whether a name stands for an array."""
        return name in self.symbols and self.symbols[name].is_array

    # --- conditions ---------------------------------------------------------------------------

    def condition(self, node: ast.Expression, positive: bool = True) -> core.Condition:
        """Elaborate a condition, or its negation, with `not` pushed into the comparisons."""
        match node:
            case ast.Truth(value):
                return TRUE if value == positive else FALSE
            case ast.Not(operand):
                return self.condition(operand, not positive)
            case ast.And(operands) | ast.Or(operands):
                parts = []
                for operand in operands:
                    parts.append(self.condition(operand, positive))
                return combine(parts, isinstance(node, ast.And) == positive, node)
            case ast.Comparison(operands, operators):
                values = []
                for operand in operands:
                    values.append(self.value(operand))
                links = []
                for i, operator in enumerate(operators):
                    links.append(_compare(values[i], operator, values[i + 1], positive, node))
                return combine(links, positive, node)
            case _:
                relation = core.Relation.EQUAL if positive else core.Relation.NOT_EQUAL
                one = core.Constant(_ONE, span=node.span)
                return core.Comparison(self.value(node), relation, one, span=node.span)

    def is_condition(self, node: ast.Expression) -> bool:
        """Whether `node` is written as a condition, not as a variable that holds one."""
        return isinstance(node, ast.Truth | ast.Not | ast.And | ast.Or | ast.Comparison)


def _compare(
    left: core.Expression,
    operator: str,
    right: core.Expression,
    positive: bool,
    node: ast.Expression,
) -> core.Condition:
    relation = core.Relation(operator)
    if not positive:
        relation = relation.negated()
    if isinstance(left, core.Constant) and isinstance(right, core.Constant):
        return TRUE if _holds(left.value, relation, right.value) else FALSE
    return core.Comparison(left, relation, right, span=node.span)


def _holds(left: core.Value, relation: core.Relation, right: core.Value) -> bool:
    match relation:
        case core.Relation.EQUAL:
            return left == right
        case core.Relation.NOT_EQUAL:
            return left != right
    assert isinstance(left, Fraction)
    assert isinstance(right, Fraction)
    match relation:
        case core.Relation.LESS:
            return left < right
        case core.Relation.LESS_EQUAL:
            return left <= right
        case core.Relation.GREATER:
            return left > right
        case core.Relation.GREATER_EQUAL:
            return left >= right
        case _:
            assert_never(relation)


def combine(parts: list[core.Condition], conjunction: bool, node: ast.Expression) -> core.Condition:
    """Build a flat conjunction or disjunction; constant parts and single parts vanish."""
    neutral, absorbing = (TRUE, FALSE) if conjunction else (FALSE, TRUE)
    shape = core.All if conjunction else core.Any
    kept: list[core.Condition] = []
    for part in parts:
        if part == absorbing:
            return absorbing
        if isinstance(part, shape):
            kept.extend(part.parts)
        else:
            kept.append(part)
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else shape(tuple(kept), span=node.span)


def scaled(factor: Fraction, expression: core.Expression, node: ast.Expression) -> core.Expression:
    """Return factor * expression, folded."""
    if factor == 1:
        return expression
    if isinstance(expression, core.Constant):
        return core.Constant(factor * _number(expression), span=node.span)
    if isinstance(expression, core.Product) and isinstance(expression.left, core.Constant):
        return scaled(factor * _number(expression.left), expression.right, node)
    return core.Product(core.Constant(factor, span=node.span), expression, span=node.span)


def _number(constant: core.Constant) -> Fraction:
    assert isinstance(constant.value, Fraction)  # the checker keeps named values out
    return constant.value


def _balanced(terms: list[core.Expression], node: ast.Expression) -> core.Expression:
    """Add up terms as a tree of logarithmic depth."""
    while len(terms) > 1:
        terms = [
            core.Sum(terms[i], terms[i + 1], span=node.span) if i + 1 < len(terms) else terms[i]
            for i in range(0, len(terms), 2)
        ]
    return terms[0]
