"""Nests of trees at real and complex points, against closed forms.

With one standard law for all, ∫ from c to z of f(x) F(x) dx = (F(z)² - F(c)²) / 2.
"""

from __future__ import annotations

from fractions import Fraction

from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.nested.evaluation import Effort, NodeEvaluator, Settings, make_evaluator
from dipapprox.numerics.nested.nest import Mass, Nest, NestRange

BITS = 90
SETTINGS = Settings(Effort(60, arb(2) ** -10, 20_000), 20_000, lambda: None)
branches = st.sampled_from([(GAUSSIAN, 0), (LAPLACE, -1), (LAPLACE, 1)])
START = Fraction(-9, 2)


def squared_nest(family: Family, side: int, breaks: tuple[Fraction, ...] = ()) -> NodeEvaluator:
    law = Distribution(family, Fraction(0), Fraction(1))
    leaf = Mass(NestRange(law, None, LinearForm.symbol(1), 0, side))
    span = NestRange(law, LinearForm.constant_form(START), LinearForm.symbol(0), side, side)
    return make_evaluator(Nest(span, 1, leaf, breaks), SETTINGS)


def closed_form(family: Family, side: int, z: acb) -> acb:
    return (cdf(family, side, z) ** 2 - cdf(family, side, acb(to_ball(START))) ** 2) / 2


def cdf(family: Family, side: int, z: acb) -> acb:
    if family is GAUSSIAN:
        return (-z / acb(2).sqrt()).erfc() / 2
    half = (z if side < 0 else -z).exp() / 2
    return half if side < 0 else 1 - half


points = st.fractions(-6, 6, max_denominator=32)
lengths = st.fractions(0, 3, max_denominator=32)
unit = st.fractions(-1, 1, max_denominator=16)


@given(points, st.lists(points, max_size=4))
def test_breaks_do_not_change_the_value(point: Fraction, breaks: list[Fraction]) -> None:
    with precision(BITS):
        places = tuple(sorted({*breaks}))
        nest = squared_nest(GAUSSIAN, 0, places)
        for _ in range(2):  # the second time from the panels that were kept
            found = nest.value([to_ball(point), arb(0)])
            assert found.overlaps(closed_form(GAUSSIAN, 0, acb(to_ball(point))).real)
            assert found.rad() < arb(2) ** -50


@given(branches, points, points, lengths, lengths, unit, unit)
def test_bounds_hold_on_complex_boxes(
    branch: tuple[Family, int],
    real: Fraction,
    imaginary: Fraction,
    width: Fraction,
    height: Fraction,
    across: Fraction,
    up: Fraction,
) -> None:
    with precision(BITS):
        box = acb(
            to_ball(real) + arb(0, to_ball(width).upper()),
            to_ball(imaginary) + arb(0, to_ball(height).upper()),
        )
        z = acb(to_ball(real + across * width), to_ball(imaginary + up * height))
        bound = squared_nest(*branch).bound([box, arb(0)])
        assert not closed_form(*branch, z).abs_lower() > bound
