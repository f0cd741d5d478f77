"""Values of cells while a path is followed: the checker's own evaluation of expressions.

A cell holds an exact linear form over the samples of the path, or a named value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from dipapprox.checking.facts import Line
from dipapprox.digits import brief_text
from dipapprox.language import core

Datum = Line | str
"""A number or linear form over samples, or a named value."""


class Stuck(Exception):
    """The program cannot be followed; the message says why."""


def value_of(expression: core.Expression, store: Mapping[str, Datum]) -> Datum:
    """Return the value of an expression.

    Raises:
        Stuck: If it cannot be computed.
    """
    match expression:
        case core.Constant(value):
            return datum_of(value)
        case core.Variable() | core.Element():
            name = place_of(expression, store)
            if name not in store:
                raise Stuck(f"'{name}' is read before it is assigned")
            return store[name]
        case core.Sum(left, right):
            return number_of(left, store) + number_of(right, store)
        case core.Product(left, right):
            first, second = number_of(left, store), number_of(right, store)
            if first.terms and second.terms:
                raise Stuck("a product of samples")
            constant, line = (second, first) if first.terms else (first, second)
            return line.times(constant.constant)
        case _:
            assert_never(expression)


def number_of(expression: core.Expression, store: Mapping[str, Datum]) -> Line:
    """Return the value of an expression that is no named value; see `value_of`."""
    value = value_of(expression, store)
    if isinstance(value, str):
        raise Stuck(f"arithmetic on the named value '{value}'")
    return value


def place_of(target: core.Variable | core.Element, store: Mapping[str, Datum]) -> str:
    """Return the name of the cell that is meant."""
    if isinstance(target, core.Variable):
        return target.name
    index = number_of(target.index, store)
    if index.terms or index.constant.denominator != 1 or not 1 <= index.constant <= target.size:
        raise Stuck(f"an index of '{target.array}' is out of range")
    return f"{target.array}[{brief_text(index.constant)}]"


def datum_of(value: core.Value) -> Datum:
    """Return a finite value as a datum."""
    return value if isinstance(value, str) else Line(value)


def closed(weight: core.Weight, store: Mapping[str, Datum]) -> core.Weight:
    """Return a weight with the values of all cells put in: it depends on eps only."""
    match weight:
        case core.Epsilon():
            return weight
        case core.WeightSum(left, right):
            return core.WeightSum(closed(left, store), closed(right, store))
        case core.WeightProduct(left, right):
            return core.WeightProduct(closed(left, store), closed(right, store))
        case core.Inverse(operand):
            return core.Inverse(closed(operand, store))
        case core.Exponential(exponent):
            return core.Exponential(closed(exponent, store))
        case _:
            line = number_of(weight, store)
            if line.terms:
                raise Stuck("the probability of a choice depends on a sample")
            return core.Constant(line.constant)
