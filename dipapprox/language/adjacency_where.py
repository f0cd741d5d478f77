"""Adjacency by a condition on pairs: `adjacent l0 1 where q'[i] >= q[i] for i in 1..N`.

In: a rule, and a condition in the inputs of a pair, q of the first and q' of the second. Out: the
pairs that obey the rule and fulfil the condition, in this order; listed, as domains are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from operator import add, mul
from typing import Any, assert_never

from dipapprox.data_classes import replace
from dipapprox.language import ast, core, printer
from dipapprox.language.constants import Wrong
from dipapprox.language.core import EUCLIDEAN, Cell, Input, Listed, Rule, Value
from dipapprox.language.domains import AllReals
from dipapprox.language.expressions import Expressions
from dipapprox.language.symbols import ABSOLUTE, EXTREMES, Role, Symbol
from dipapprox.language.tokens import PRIME

MOST_PAIRS = 500_000  # pairs that are tried


Pair = tuple[Input, Input]
_Read = Callable[[Input, Input], Any]
_Test = Callable[[Input, Input], bool]
FUNCTIONS_OF_PAIRS: Mapping[str, Callable[[list[Fraction]], Fraction]] = {
    ABSOLUTE: lambda numbers: abs(numbers[0]),
    **EXTREMES,
}
PARTS = "a condition on pairs is made of inputs and numbers"
PARTS_HINT = f"its functions are {', '.join(map(repr, FUNCTIONS_OF_PAIRS))}"


def primed(symbols: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """Return the inputs of a program once more, as those of the second input of a pair."""
    inputs = (symbol for symbol in symbols.values() if symbol.role is Role.INPUT)
    return {s.name + PRIME: replace(s, name=s.name + PRIME) for s in inputs}


def listed_pairs(
    declaration: ast.AdjacentWhere | ast.AdjacentRule,
    rule: Rule,
    parameters: Mapping[str, Fraction],
    cells: Sequence[Cell],
    symbols: Mapping[str, Symbol],
) -> Listed:
    """List the pairs of an adjacency by a rule and, where there is one, a condition.

    Raises:
        Wrong: If inputs may be any real numbers, if there are too many pairs, or none.
    """
    span = declaration.span
    for cell in cells:
        if isinstance(cell.domain, AllReals):
            what = f"'{EUCLIDEAN}' lists pairs"
            hint = "if every entry is published with Gaussian noise of one scale, one 'input x in "
            hint += "real' with 'linf r' says the same; else write 'l1' or 'linf'"
            if isinstance(declaration, ast.AdjacentWhere):
                what, hint = "a condition on pairs", "write 'adjacent linf 1', or a rule alone"
            message = f"{what}, but '{cell.variable}' is any real number"
            raise Wrong("type error", message, span, hint)
    if prod(len(cell.domain) for cell in cells) > MOST_PAIRS:
        raise _too_many(declaration)
    tests: tuple[_Test, ...] = ()
    text = f"{EUCLIDEAN} {rule.radius}" if isinstance(rule, core.Euclidean) else ""
    if isinstance(declaration, ast.AdjacentWhere):
        tests = tuple(_conditions(declaration, parameters, cells, symbols))
        text = printer.print_expression(declaration)
    kept: list[Pair] = []
    tried = 0
    for first in product(*(cell.domain for cell in cells)):
        for second in _neighbours(first, cells, rule):
            tried += 1
            if tried > MOST_PAIRS:
                raise _too_many(declaration)
            if all(test(first, second) for test in tests):
                kept.append((first, second))
    if not kept:
        raise Wrong("value error", "no two different inputs fulfil this", span)
    found = set(kept)
    one_way = any((second, first) not in found for first, second in kept)
    if not one_way:
        once: dict[Pair, None] = {}
        for first, second in kept:
            if (second, first) not in once:
                once[first, second] = None
        kept = list(once)
    return Listed(tuple(kept), one_way, text)


def _too_many(declaration: ast.AdjacentWhere | ast.AdjacentRule) -> Wrong:
    done, hint = "list", "smaller domains, or 'linf' or 'l1', whose pairs are not listed"
    if isinstance(declaration, ast.AdjacentWhere):
        done = "try the condition on"
        hint = "smaller domains, or a rule: 'adjacent l0 1 where …'"
    message = f"more than {MOST_PAIRS} pairs of inputs to {done}"
    return Wrong("limit", message, declaration.span, hint)


def _neighbours(first: Input, cells: Sequence[Cell], rule: Rule) -> Iterator[Input]:
    """Yield the inputs that differ from one and obey a rule, each once."""
    found: list[tuple[Input, Fraction]] = [((), Fraction(0))]
    for value, cell in zip(first, cells, strict=True):
        found = [
            ((*start, other), cost)
            for start, spent in found
            for other in cell.domain
            if (cost := _cost(value, other, spent, rule)) is not None
        ]
    return (second for second, _ in found if second != first)


def _cost(value: Value, other: Value, spent: Fraction, rule: Rule) -> Fraction | None:
    """Return what is spent after a change of a cell; None if the rule forbids it."""
    if isinstance(rule, core.Everyone) or value == other:
        return spent
    limit, adds = rule.radius, True
    if isinstance(rule, core.Within) and rule.norm is core.Norm.L0:
        cost = Fraction(1)
    elif isinstance(value, str) or isinstance(other, str):
        return None
    elif isinstance(rule, core.Euclidean):
        cost, limit = (other - value) ** 2, rule.radius**2
    else:
        forbidden = {core.Norm.INCREASING: other < value, core.Norm.DECREASING: other > value}
        if forbidden.get(rule.norm):
            return None
        cost, adds = abs(other - value), rule.norm is core.Norm.L1
    total = spent + cost if adds else cost
    if total > limit:
        return None
    return total if adds else spent


# --- the condition --------------------------------------------------------------------------------


def _conditions(
    declaration: ast.AdjacentWhere,
    parameters: Mapping[str, Fraction],
    cells: Sequence[Cell],
    symbols: Mapping[str, Symbol],
) -> Iterator[_Test]:
    sizes: dict[str, int] = {}
    places: dict[str, _Read] = {}
    for number, cell in enumerate(cells):
        index = "" if cell.index is None else f"[{cell.index}]"
        places[cell.name] = partial(_cell_of, 0, number)
        places[f"{cell.variable}{PRIME}{index}"] = partial(_cell_of, 1, number)
        if cell.index is not None:
            for name in (cell.variable, cell.variable + PRIME):
                sizes[name] = max(sizes.get(name, 0), cell.index)

    def take(node: ast.Expression) -> core.Variable:
        if not isinstance(node, ast.Call) or node.name not in FUNCTIONS_OF_PAIRS:
            raise Wrong("type error", PARTS, node.span, PARTS_HINT)
        values = [
            _read(value, places)
            for argument in node.arguments
            for value in expressions.elements(argument)
        ]
        function = FUNCTIONS_OF_PAIRS[node.name]
        # No input has such a name: '#' begins a comment.
        place = core.Variable(f"{node.name}#{len(places)}", span=node.span)
        places[place.name] = lambda u, v: function([read(u, v) for read in values])
        return place

    expressions = Expressions({**symbols, **primed(symbols)}, dict(parameters), sizes, take)
    for _ in expressions.turns(declaration.turns):
        yield _test(expressions.condition(declaration.condition), places)


def _cell_of(side: int, number: int, *pair: Input) -> Value:
    return pair[side][number]


def _test(condition: core.Condition, places: Mapping[str, _Read]) -> _Test:
    match condition:
        case core.Comparison(left, relation, right):
            one, other = _read(left, places), _read(right, places)
            return lambda u, v: relation.holds(one(u, v), other(u, v))
        case core.All(parts) | core.Any(parts):
            joined = all if isinstance(condition, core.All) else any
            tests = [_test(part, places) for part in parts]
            return lambda u, v: joined(test(u, v) for test in tests)
        case _:
            assert_never(condition)


def _read(node: core.Expression, places: Mapping[str, _Read]) -> _Read:
    match node:
        case core.Constant(value):
            return lambda u, v: value
        case core.Variable(name):
            if name not in places:
                raise Wrong("name error", f"'{name}' is no input", node.span)
            return places[name]
        case core.Element(array, size, index):
            position = _read(index, places)
            numbers = {Fraction(i): places[f"{array}[{i}]"] for i in range(1, size + 1)}

            def element(u: Input, v: Input) -> Any:
                at = position(u, v)
                if isinstance(at, str) or at not in numbers:
                    message = f"index of '{array}' is {at}"
                    raise Wrong("value error", message, node.span)
                return numbers[at](u, v)

            return element
        case core.Sum(left, right) | core.Product(left, right):
            one, other = _read(left, places), _read(right, places)
            combine = add if isinstance(node, core.Sum) else mul  # numbers: the checker saw to that
            return lambda u, v: combine(one(u, v), other(u, v))
        case _:
            assert_never(node)
