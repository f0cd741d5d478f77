"""The weights of choices: surface expressions in eps to core weights.

Weights are made of finite numbers, eps, + - * /, integer powers and exp(q * eps), so that they are
exponential ratios once the values of the variables are known (DiPC paper, section 3.2).
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong, check_size, evaluate_exponent, power
from dipapprox.language.expressions import Expressions
from dipapprox.language.folding import as_number, balanced, check_tree, folded_sum
from dipapprox.language.symbols import EPSILON, EXPONENTIAL
from dipapprox.source import Span


def elaborate_weight(node: ast.Expression, expressions: Expressions) -> core.Weight:
    """Elaborate a weight, constants folded.

    Raises:
        Wrong: If it divides by zero or an exponent is not linear in eps.
    """

    def weight(node: ast.Expression) -> core.Weight:
        match node:
            case ast.Name(name) if name == EPSILON:
                return core.Epsilon()
            case ast.Call(name, (argument,)) if name == EXPONENTIAL:
                exponent = weight(argument)
                if not _degrees(exponent) <= {1}:
                    raise Wrong(
                        "value error", "an exponent must be a number times eps", argument.span,
                        "e.g. 'exp(eps/2)' or 'exp(-q * eps)'",
                    )  # fmt: skip
                return core.Exponential(exponent, span=node.span)
            case ast.Negative(operand):
                return _product([core.Constant(Fraction(-1)), weight(operand)], node.span)
            case ast.Sum(operands, operators):
                terms = []
                for operator, operand in zip(("+", *operators), operands, strict=True):
                    sign = core.Constant(Fraction(1 if operator == "+" else -1))
                    terms.append(_product([sign, weight(operand)], operand.span))
                total: core.Weight = folded_sum(terms, core.WeightSum, node.span)
                return total
            case ast.Product(operands, operators):
                factors = []
                for operator, operand in zip(("*", *operators), operands, strict=True):
                    factor = weight(operand)
                    factors.append(_inverse(factor, operand.span) if operator == "/" else factor)
                return _product(factors, node.span)
            case ast.Power(base, exponent_node):
                times = evaluate_exponent(exponent_node, expressions.constants)
                product = _product([weight(base)] * abs(times), node.span)
                check_tree(product, node.span)
                return product if times >= 0 else _inverse(product, node.span)
            case _:
                return expressions.value(node)

    return weight(node)


def _product(factors: list[core.Weight], span: Span | None) -> core.Weight:
    constant = Fraction(1)
    others: list[core.Weight] = []
    for factor in factors:
        match factor:
            case core.Constant():
                constant *= as_number(factor)
            case core.WeightProduct(core.Constant() as coefficient, rest):
                constant *= as_number(coefficient)
                others.append(rest)
            case _:
                others.append(factor)
        check_size(constant, span)
    if constant == 0 or constant != 1 or not others:
        others.insert(0, core.Constant(constant, span=span))
    product: core.Weight = balanced(others, core.WeightProduct, span)
    return product


def _inverse(factor: core.Weight, span: Span | None) -> core.Weight:
    if not isinstance(factor, core.Constant):
        return core.Inverse(factor, span=span)
    return core.Constant(power(as_number(factor), -1, span), span=span)


_ELSEWHERE = frozenset([-1])
"""Stands for everything that is not a polynomial in eps."""


def _degrees(weight: core.Weight) -> frozenset[int]:
    """Return the powers of eps in a polynomial weight; others give one that is none."""
    match weight:
        case core.Epsilon():
            return frozenset([1])
        case core.Constant(value):
            return frozenset([0] if value else [])
        case core.WeightSum(left, right):
            return _degrees(left) | _degrees(right)
        case core.WeightProduct(left, right):
            pairs = [(i, j) for i in _degrees(left) for j in _degrees(right)]
            if any(i < 0 or j < 0 for i, j in pairs):
                return _ELSEWHERE
            return frozenset(i + j for i, j in pairs)
        case core.Inverse(operand):
            return frozenset([0]) if _degrees(operand) == {0} else _ELSEWHERE
        case core.Exponential():
            return _ELSEWHERE
        case _:
            return frozenset([0])
