"""Random choices among finitely many values: weights, laws, merging."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.errors import SourceError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language import core
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import Limits
from dipapprox.semantics.evaluation import PathFault
from dipapprox.semantics.execution import execute
from dipapprox.semantics.statements import weight_value
from tests.semantics.examples import (
    Operand,
    assign,
    cells,
    choose,
    compare,
    draw,
    expression,
    program,
)

EPS = core.Epsilon()
ONE = ExponentialPolynomial.constant(1)
BIT = cells("out", 1, (0, 1))


def number(value: int | str) -> core.Constant:
    return core.Constant(Fraction(value))


def power(rate: int | str) -> core.Exponential:
    """e^(rate * eps)"""
    return core.Exponential(core.WeightProduct(number(rate), EPS))


def grown(rate: int | str) -> ExponentialPolynomial:
    return ExponentialPolynomial.monomial(1, 0, Fraction(rate))


def pick(
    name: str,
    options: Sequence[tuple[Operand, core.Weight]],
    site: int,
    proportional: bool = False,
) -> core.Choose:
    pairs = tuple((expression(value), weight) for value, weight in options)
    return core.Choose(core.Variable(name), pairs, proportional, site)


def coin(name: str, site: int, chance: str = "1/2") -> core.Choose:
    return pick(name, [(1, number(chance)), (0, number(str(1 - Fraction(chance))))], site)


def value_of(weight: core.Weight) -> ExponentialRatio:
    def read(expression: core.Expression) -> Fraction:
        assert isinstance(expression, core.Constant)
        assert isinstance(expression.value, Fraction)
        return expression.value

    return weight_value(weight, read, None)


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (EPS, ExponentialRatio(ExponentialPolynomial.monomial(1, 1))),
        (power("-1/2"), ExponentialRatio(grown("-1/2"))),
        (power(0), ExponentialRatio.constant(1)),
        # 1 / e^eps is no fraction
        (core.Inverse(power(1)), ExponentialRatio(grown(-1))),
        (
            core.WeightProduct(power(1), core.Inverse(core.WeightSum(number(1), power(1)))),
            ExponentialRatio(grown(1), ((ONE + grown(1), 1),)),
        ),
        # (eps^2) / eps, in an exponent, too
        (
            core.Exponential(
                core.WeightProduct(core.WeightProduct(EPS, EPS), core.Inverse(EPS)),
            ),
            ExponentialRatio(grown(1)),
        ),
        (
            core.WeightProduct(core.Inverse(number(4)), number(2)),
            ExponentialRatio.constant(Fraction(1, 2)),
        ),
    ],
)
def test_weights_are_functions_of_eps(weight: core.Weight, expected: ExponentialRatio) -> None:
    assert value_of(weight) == expected


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (core.Exponential(number(1)), "not a rational multiple of eps"),
        (core.Exponential(core.Inverse(EPS)), "not a rational multiple of eps"),
        (core.Exponential(core.WeightProduct(EPS, EPS)), "not a rational multiple of eps"),
        (
            core.Inverse(core.WeightSum(EPS, core.WeightProduct(number(-1), EPS))),
            "division by zero",
        ),
    ],
)
def test_weights_outside_the_class_are_faults(weight: core.Weight, message: str) -> None:
    with pytest.raises(PathFault, match=message):
        value_of(weight)


# --- execution ------------------------------------------------------------------------------------


def test_faults_of_outcomes_name_them() -> None:
    body = [pick("out[1]", [(0, number("1/2")), (2, number("1/2"))], 0)]
    with pytest.raises(SourceError, match=r"'out\[1\]' gets 2.*choice 2 is 2"):
        execute(program((), BIT, body), True, Limits())
    silent = [pick("x", [(0, number("1/2")), (2, number("1/2"))], 0)]
    unread = choose(compare("x", ">", 5), [assign("out[1]", "nothing")], [assign("out[1]", 0)])
    assert len(execute(program((), BIT, [*silent, unread]), True, Limits()).states) == 1
    zero = [pick("out[1]", [(0, number(0))], 0, proportional=True)]
    with pytest.raises(SourceError, match="all weights of a choice are 0"):
        execute(program((), BIT, zero), True, Limits())


def test_samples_may_not_be_chosen() -> None:
    body = [draw("r", 0, 0, family=LAPLACE), pick("x", [("r", number(1))], 1)]
    with pytest.raises(SourceError, match="a real is used where a finite value is needed"):
        execute(program((), BIT, [*body, assign("out[1]", 0)]), True, Limits())
