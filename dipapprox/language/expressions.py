"""Surface expressions to core expressions and conditions, constants folded.

Draws, choices and selections inside expressions are taken out, as are conditions where a value is
needed: they are emitted as statements that assign fresh variables ("best#1"), which no program can
name. They stand before the whole statement, so in
`q = 1 and Gauss(z, 1/eps) > 0` the draw happens, and z is read, whatever q is. A draw that is not
used changes no probability; comparisons themselves are evaluated by short circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dipapprox.language import ast, constants, core, symbols
from dipapprox.language.constants import ScaleInUse, Wrong
from dipapprox.language.domains import MOST_CELLS
from dipapprox.language.expression_checker import kind_of
from dipapprox.language.symbols import Kind, Role, Symbol
from dipapprox.language.traversal import operands_of
from dipapprox.source import Span

Take = Callable[[ast.Expression], core.Expression]
"""Emits the statements that compute an expression and returns the variable with its value."""

_ONE, _MINUS_ONE = Fraction(1), Fraction(-1)
Place = core.Variable | core.Element
TRUE, FALSE = core.All(()), core.Any(())
_LARGEST_POWER = 1000


class Expressions:
    """Elaborates expressions under the current values of parameters and loop variables.

    The statement elaborator changes these, the constants. The sizes of local arrays grow.
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
        self.take = take
        self._known: dict[tuple[str, int], Any] = {}
        self._kept: list[ast.Expression] = []

    # What mentions no loop variable is the same in every turn: it is elaborated once, and shared.
    # By identity: nodes of which something is known are kept alive.

    def _keep(self, what: str, node: ast.Expression, found: Any) -> Any:
        """Note what is found of a node; return that."""
        self._known[what, id(node)] = found
        self._kept.append(node)
        return found

    def _share(self, what: str, node: ast.Expression, found: Any) -> Any:
        return self._keep(what, node, found) if self._is_fixed(node) else found

    def _is_fixed(self, node: ast.Expression) -> bool:
        """Whether a value is the same in every turn of every loop and emits no statements."""
        found: bool | None = self._known.get(("fixed", id(node)))
        if found is not None:
            return found
        match node:
            case ast.Name(name):
                found = name in self.symbols or name == symbols.EPSILON  # loop variables are not
            case (
                ast.Number() | ast.Truth() | ast.Index() | ast.Negative() | ast.Sum()
                | ast.Product() | ast.Power() | ast.Call(symbols.ROOT | symbols.LOGARITHM)
            ):  # fmt: skip
                found = all(map(self._is_fixed, operands_of(node)))
            case _:
                found = False
        self._keep("fixed", node, found)
        return found

    def turns(self, turns: ast.Turns | None) -> Iterator[None]:
        """Give the variable each of its numbers, one after the other; None is one turn."""
        if turns is None:
            yield
            return
        try:
            for number in constants.evaluate_range(turns, self.constants):
                self.constants[turns.variable] = Fraction(number)
                yield
        finally:
            self.constants.pop(turns.variable, None)

    def scale(self, node: ast.Expression) -> ScaleInUse:
        found: ScaleInUse | None = self._known.get(("scale", id(node)))
        return found or self._share("scale", node, constants.evaluate_scale(node, self.constants))

    def value(self, node: ast.Expression) -> core.Expression:
        """Elaborate a number, a named or truth value, or a random value."""
        found: core.Expression | None = self._known.get(("value", id(node)))
        return found or self._share("value", node, self._value(node))

    def _value(self, node: ast.Expression) -> core.Expression:
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
            case ast.Truth(value):
                return core.Constant(constants.truth_name(value), span=node.span)
            case ast.Negative() | ast.Sum() | ast.Product() | ast.Power():
                found: core.Expression = self._arithmetic(node, self.value)
                if isinstance(found, core.Inverse):  # the checker has seen to quotients
                    message = "division by something that is not constant"
                    hint = "only constants and weights may have a negative exponent"
                    raise Wrong("type error", message, operands_of(node)[0].span, hint)
                return found
            case _:
                return self.take(node)

    def place(self, node: ast.Target) -> Place:
        """Elaborate a scalar or an array element; constant indices give its cell."""
        if isinstance(node, ast.Name):
            return core.Variable(node.name, span=node.span)
        size = self.sizes.get(node.name)
        name = node.index.name if isinstance(node.index, ast.Name) else ""
        value = self.constants.get(name)  # of a parameter or loop variable
        if value is None:
            index = self.value(node.index)
            if not isinstance(index, core.Constant):
                return core.Element(node.name, size or 0, index, span=node.span)
            assert isinstance(index.value, Fraction)
            value = index.value
        if value.denominator != 1:
            message = f"an index must be a whole number, got {value}"
            raise Wrong("value error", message, node.index.span)
        number = value.numerator
        local = self.symbols[node.name].role is Role.LOCAL
        if number < 1 or (size is not None and not local and number > size):
            allowed = "1, 2, …" if local else f"1..{size}"
            message = f"index {number} of '{node.name}' is out of range"
            hint = f"allowed are {allowed}; arrays begin at 1"
            raise Wrong("value error", message, node.span, hint)
        if number > MOST_CELLS:
            raise Wrong("limit", f"arrays have at most {MOST_CELLS} elements", node.index.span)
        return core.Variable(f"{node.name}[{number}]", span=node.span)

    def weight(self, node: ast.Expression) -> core.Weight:
        """Elaborate the weight of an option: an exponential ratio (DiPC paper, section 3.2);
        `Wrong` if it divides by zero or an exponent is not linear in eps."""
        match node:
            case ast.Name(symbols.EPSILON):
                return core.Epsilon()
            case ast.Call(symbols.EXPONENTIAL, (argument,)):
                exponent = self.weight(argument)
                if not degrees_of(exponent) <= {1}:
                    message = "an exponent must be a number times eps"
                    hint = "e.g. 'exp(eps/2)' or 'exp(-q * eps)'"
                    raise Wrong("value error", message, argument.span, hint)
                return core.Exponential(exponent, span=node.span)
            case ast.Negative() | ast.Sum() | ast.Product() | ast.Power():
                weight: core.Weight = self._arithmetic(node, self.weight)
                return weight
            case _:
                return self.value(node)

    def _arithmetic(
        self,
        node: ast.Negative | ast.Sum | ast.Product | ast.Power,
        part: Callable[[ast.Expression], Any],
    ) -> Any:
        """Combine operands, of which `part` makes expressions, or weights."""
        match node:
            case ast.Negative(operand):
                return scaled(_MINUS_ONE, part(operand), node)
            case ast.Sum(operands, operators):
                constant, others = Fraction(0), list[Any]()
                for operator, operand in zip(("+", *operators), operands, strict=True):
                    term = part(operand)
                    term = term if operator == "+" else scaled(_MINUS_ONE, term, operand)
                    if isinstance(term, core.Constant):
                        constant += as_number(term)
                        constants.check_size(constant, node.span)
                    else:
                        others.append(term)
                if constant or not others:
                    others.append(core.Constant(constant, span=node.span))
                return balanced(others, core.Sum, node.span)
            case ast.Product(operands, operators):
                return self._product(node, [*map(part, operands)])
            case ast.Power(base, exponent):
                factor, times = part(base), constants.evaluate_exponent(exponent, self.constants)
                if times == 0 or isinstance(factor, core.Constant):
                    number = (
                        _ONE if times == 0 else constants.power(as_number(factor), times, node.span)
                    )
                    return core.Constant(number, span=node.span)
                product = balanced([factor] * abs(times), core.Product, node.span)
                check_tree(product, node.span)
                return product if times > 0 else core.Inverse(product, span=node.span)

    def _product(self, node: ast.Product, values: list[Any]) -> Any:
        factor = _ONE
        others: list[Any] = []
        for operator, operand, value in zip(
            ("*", *node.operators), node.operands, values, strict=True
        ):
            if not isinstance(value, core.Constant):
                others.append(value if operator == "*" else core.Inverse(value, span=operand.span))
                continue
            number = as_number(value)
            if operator == "/" and number == 0:
                raise Wrong("value error", "division by zero", operand.span)
            factor = factor * number if operator == "*" else factor / number
            constants.check_size(factor, node.span)
        if not others:
            return core.Constant(factor, span=node.span)
        return scaled(factor, balanced(others, core.Product, node.span), node)

    def is_boolean(self, node: ast.Expression) -> bool:
        """Whether an expression is a truth value; as a variable, it holds `true` or `false`."""
        match node:
            case ast.Name(name) | ast.Index(name):
                return name in self.symbols and self.symbols[name].kind == Kind.TRUTH
            case ast.Choose():
                return kind_of(node, self.symbols) == Kind.TRUTH
            case _:
                return isinstance(node, ast.Truth | ast.Not | ast.And | ast.Or | ast.Comparison)

    def elements(self, node: ast.Expression) -> list[core.Expression]:
        """Elaborate an argument that may be an array: all its elements, or one value."""
        symbol = self.symbols.get(node.name) if isinstance(node, ast.Name) else None
        if symbol is None or not symbol.is_array:
            return [self.value(node)]
        size = self.sizes.get(symbol.name)
        if size is None:
            message = f"no element of '{symbol.name}' is assigned by a constant index"
            hint = "assign its elements in a loop first"
            raise Wrong("value error", message, node.span, hint)
        return [core.Variable(f"{symbol.name}[{i}]", span=node.span) for i in range(1, size + 1)]

    # --- conditions ---------------------------------------------------------------------------

    def condition(self, node: ast.Expression, positive: bool = True) -> core.Condition:
        """Elaborate a condition, or its negation, with `not` pushed into the comparisons."""
        what = "condition" if positive else "negation"
        found: core.Condition | None = self._known.get((what, id(node)))
        if found is None:
            found = self._condition(node, positive)
            if isinstance(node, ast.Comparison) and all(map(self._is_fixed, node.operands)):
                self._keep(what, node, found)
        return found

    def _condition(self, node: ast.Expression, positive: bool) -> core.Condition:
        match node:
            case ast.Truth(value):
                return TRUE if value == positive else FALSE
            case ast.Not(operand):
                return self.condition(operand, not positive)
            case ast.And(operands) | ast.Or(operands):
                parts: list[core.Condition] = []
                for operand in operands:
                    parts.append(self.condition(operand, positive))
                return combine(parts, isinstance(node, ast.And) == positive, node)
            case ast.Comparison(operands, operators):
                values = []
                for operand in operands:
                    values.append(self.value(operand))
                links: list[core.Condition] = []
                for (left, right), operator in zip(pairwise(values), operators, strict=True):
                    relation = core.Relation(operator)
                    relation = relation if positive else relation.negated()
                    if isinstance(left, core.Constant) and isinstance(right, core.Constant):
                        links.append(TRUE if relation.holds(left.value, right.value) else FALSE)
                    else:
                        links.append(core.Comparison(left, relation, right, span=node.span))
                return combine(links, positive, node)
            case _:
                relation = core.Relation.EQUAL if positive else core.Relation.NOT_EQUAL
                true = core.Constant(constants.truth_name(True), span=node.span)
                return core.Comparison(self.value(node), relation, true, span=node.span)


# --- constant parts computed ----------------------------------------------------------------------


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
        return core.Constant(factor * as_number(expression), span=node.span)
    if isinstance(expression, core.Product) and isinstance(expression.left, core.Constant):
        return scaled(factor * as_number(expression.left), expression.right, node)
    return core.Product(core.Constant(factor, span=node.span), expression, span=node.span)


def as_number(constant: core.Constant) -> Fraction:
    assert isinstance(constant.value, Fraction)  # the checker keeps named values out
    return constant.value


def terms_of(
    node: core.Expression, factor: Fraction = Fraction(1)
) -> Iterator[tuple[Fraction, core.Expression | None]]:
    """Yield the terms of factor · node as (coefficient, what it multiplies; None for 1)."""
    match node:
        case core.Constant(Fraction() as value):
            yield factor * value, None
        case core.Sum(left, right):
            yield from terms_of(left, factor)
            yield from terms_of(right, factor)
        case core.Product(core.Constant(Fraction() as value), other):
            yield from terms_of(other, factor * value)
        case _:
            yield factor, node


def balanced(terms: list[Any], shape: type[Any], span: Span | None) -> Any:
    """Combine expressions, or weights, at least one, to a tree of logarithmic depth."""
    while len(terms) > 1:
        terms = [
            shape(terms[i], terms[i + 1], span=span) if i + 1 < len(terms) else terms[i]
            for i in range(0, len(terms), 2)
        ]
    return terms[0]


def check_tree(root: core.Weight, span: Span | None) -> None:
    """Refuse a product of shared factors, a power of powers, that is too large when walked."""
    sizes: dict[int, int] = {}

    def size(node: core.Weight) -> int:
        known = sizes.get(id(node))
        if known is None:
            match node:
                case core.Sum(left, right) | core.Product(left, right):
                    known = size(left) + size(right)
                case core.Inverse(inner) | core.Exponential(inner):
                    known = 1 + size(inner)
                case _:
                    known = 1
            sizes[id(node)] = known
        return known

    if size(root) > _LARGEST_POWER:
        message = f"a power with more than {_LARGEST_POWER} factors and terms"
        raise Wrong("limit", message, span)


_ELSEWHERE = frozenset([-1])  # stands for everything that is not a polynomial in eps


def degrees_of(weight: core.Weight) -> frozenset[int]:
    """Return the powers of eps in a polynomial weight; others give one that is none."""
    match weight:
        case core.Epsilon():
            return frozenset([1])
        case core.Constant(value):
            return frozenset([0] if value else [])
        case core.Sum(left, right):
            return degrees_of(left) | degrees_of(right)
        case core.Product(left, right):
            pairs = [(i, j) for i in degrees_of(left) for j in degrees_of(right)]
            if any(i < 0 or j < 0 for i, j in pairs):
                return _ELSEWHERE
            return frozenset(i + j for i, j in pairs)
        case core.Inverse(operand):
            return frozenset([0]) if degrees_of(operand) == {0} else _ELSEWHERE
        case core.Exponential():
            return _ELSEWHERE
        case _:
            return frozenset([0])
