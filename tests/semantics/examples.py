"""Core programs written by hand, and short names for their parts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.language import core
from dipapprox.language.core import Relation
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import GAUSSIAN
from dipapprox.laws.family import Family

UNIT = Scale(Fraction(1), -1)

Operand = int | str | Fraction | core.Expression
"""What stands for an expression: a name is a variable, a number a constant."""


def constant(value: int | str | Fraction) -> core.Constant:
    return core.Constant(value if isinstance(value, str) else Fraction(value))


def expression(item: Operand) -> core.Expression:
    match item:
        case str():
            return core.Variable(item)
        case int() | Fraction():
            return constant(item)
        case _:
            return item


def compare(left: Operand, relation: str, right: Operand) -> core.Comparison:
    return core.Comparison(expression(left), Relation(relation), expression(right))


def assign(name: str, value: Operand) -> core.Assign:
    return core.Assign(core.Variable(name), expression(value))


def draw(
    name: str, mean: Operand, site: int, scale: Scale = UNIT, family: Family = GAUSSIAN
) -> core.Draw:
    return core.Draw(core.Variable(name), family, expression(mean), scale, site)


def choose(
    condition: core.Condition,
    then: Sequence[core.Statement] = (),
    otherwise: Sequence[core.Statement] = (),
) -> core.If:
    return core.If(condition, tuple(then), tuple(otherwise))


def cells(name: str, size: int, domain: Sequence[int | str]) -> tuple[core.Cell, ...]:
    values = tuple(v if isinstance(v, str) else Fraction(v) for v in domain)
    return tuple(core.Cell(f"{name}[{i}]", name, i, values) for i in range(1, size + 1))


def program(
    inputs: tuple[core.Cell, ...],
    outputs: tuple[core.Cell, ...],
    body: Sequence[core.Statement],
) -> core.Program:
    return core.Program("example", {}, inputs, outputs, tuple(body), core.Everyone())
