"""Building core expressions and conditions with their constant parts computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong, check_size
from dipapprox.source import Span

TRUE = core.All(())
FALSE = core.Any(())
_LARGEST_POWER = 1000


def compare(
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
        return TRUE if relation.holds(left.value, right.value) else FALSE
    return core.Comparison(left, relation, right, span=node.span)


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
    """Return the value of a constant that is a number."""
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


def folded_sum(terms: Iterable[Any], span: Span | None) -> Any:
    """Add up expressions, or weights; the constants among them are one."""
    constant = Fraction(0)
    others: list[Any] = []
    for term in terms:
        if isinstance(term, core.Constant):
            constant += as_number(term)
            check_size(constant, span)
        else:
            others.append(term)
    if constant or not others:
        others.append(core.Constant(constant, span=span))
    return balanced(others, core.Sum, span)


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
