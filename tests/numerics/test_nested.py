"""Nests of integrals: cut-offs, quadrature, values at points and in boxes, and whole events."""

from fractions import Fraction

import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import LimitReached, Limits
from dipapprox.arithmetic.boxes import Box
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.events.event import Event
from dipapprox.integrals.integral import Integral, Level, Multiply, Plan, parts
from dipapprox.integrals.optimizer import plan
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.nested.engine import (
    Nested,
    enclose_plan,
    hoisted,
    open_ends,
    ranges,
    truncate,
    variables,
)
from dipapprox.numerics.nested.evaluation import Effort, NodeEvaluator, integrate, make_evaluator
from tests.event_strategies import REAL_FAMILIES, gauss, less, of_family
from tests.numerics.one_by_one import alone, enclosed

ENGINE = Nested(Strategy.LEAST_NESTING)
both = pytest.mark.parametrize("family", REAL_FAMILIES)


def chain(family: Family, length: int) -> Event:
    samples = tuple(of_family(family, 0, 1) for _ in range(length))
    return Event(samples, tuple(less(i, i + 1) for i in range(length - 1)))


def test_the_truncated_box_of_example_6() -> None:
    """∫ over |t| <= 16, x1 in [-32, t], x2 in [t, 33]: three finite ranges, no tails."""
    t = LinearForm.symbol(0)
    ends = [LinearForm.constant_form(value) for value in (-16, 16, -32, 33)]
    first, second = Level(gauss(0, 8), 1, ends[2], t), Level(gauss(1, 8), 2, t, ends[3])
    body = Multiply((Integral(first, None), Integral(second, None)))
    whole = Integral(Level(gauss(0, 4), 0, ends[0], ends[1]), body)
    found = enclose_plan(whole, 50)
    assert found.width <= Fraction(1, 2**50)
    assert abs(found.lower - Fraction("0.2403760929249837317")) <= Fraction(1, 2**50)


MILLION = 10**6


@both
@pytest.mark.parametrize("eps", [Fraction(1, MILLION), Fraction(50)])
def test_extreme_epsilons(family, eps) -> None:
    samples = (
        of_family(family, 0, 2 / eps),
        *(of_family(family, k % 2, 4 / eps) for k in range(4)),
    )
    event = Event(samples, (less(1, 0), less(2, 0), less(3, 0), less(0, 4)))
    complement = Event(samples, (less(1, 0), less(2, 0), less(3, 0), less(4, 0)))
    whole = Event(samples[:4], event.guards[:3])
    parts = enclosed(ENGINE, event) + enclosed(ENGINE, complement)
    assert parts.meets(enclosed(ENGINE, whole))


def test_limits_stop_the_quadrature() -> None:
    with pytest.raises(LimitReached, match="time limit"), limited(Limits(seconds=0.02)):
        alone(ENGINE, chain(GAUSSIAN, 6), 100)


def nests(whole: Plan) -> list[Integral]:
    return [each for each in ranges(whole) if each.body is not None]


laws = st.builds(
    Distribution,
    st.sampled_from(REAL_FAMILIES),
    st.fractions(-50, 50, max_denominator=4),
    st.sampled_from([Fraction(1, 1000), Fraction(1), Fraction(3, 2), Fraction(500)]),
)


@given(st.lists(laws, min_size=2, max_size=5), st.data(), st.integers(4, 60))
def test_cut_offs_make_all_ends_finite_and_invert_nothing(samples, data, bits) -> None:
    pairs = [(i, j) for j in range(1, len(samples)) for i in [data.draw(st.integers(0, j - 1))]]
    event = Event(tuple(samples), tuple(less(*pair) for pair in pairs))
    tree = hoisted(plan(event, Strategy.LEAST_NESTING))
    truncated = truncate(tree, bits)
    assert open_ends(truncated) == 0
    assert not variables(truncated)
    before, after = nests(tree), nests(truncated)
    assert len(before) == len(after)
    _check_ranges(truncated, tree, ())


def _check_ranges(
    truncated: Plan, original: Plan, boxes: tuple[tuple[Fraction, Fraction], ...]
) -> None:
    """A new end lies beyond the other end's whole range, over boxes of the outer variables."""
    if isinstance(truncated, Integral) and truncated.body is not None:
        level = truncated.level
        assert level.lower is not None and level.upper is not None
        padded = boxes + ((Fraction(0), Fraction(0)),) * (level.variable - len(boxes))
        low, high = (each.extent(lambda k: padded[int(k)]) for each in (level.lower, level.upper))
        if original.level.lower is None or original.level.upper is None:
            assert low[1] <= high[0]
        assert list(truncated.breaks) == sorted(set(truncated.breaks))
        boxes = (*padded[: level.variable], (low[0], high[1]))
    for inner, old in zip(parts(truncated), parts(original), strict=True):
        _check_ranges(inner, old, boxes)


EFFORT = Effort(60, arb(2) ** -20, 20_000, 20_000, lambda: None)


def density(x: arb) -> arb:
    return GAUSSIAN.pdf(x, 0)


def density_bound(z: acb) -> arb:
    return GAUSSIAN.pdf_bound(Box.around(z), 0)


ends = st.fractions(-9, 9, max_denominator=16)


@given(ends, ends)
def test_gaussian_integrals_contain_the_distribution_function(a, b) -> None:
    with precision(100):
        lower, upper = to_ball(a).mid(), to_ball(b).mid()
        found = integrate(density, density_bound, lower, upper, EFFORT)
        assert found.overlaps(GAUSSIAN.mass(lower, upper, 0, 0))
        enclosure = to_enclosure(found)
    assert enclosure.width < Fraction(1, 2**54)


def test_an_empty_range_is_exactly_zero() -> None:
    assert integrate(density, density_bound, arb(1), arb(1), EFFORT).is_zero()


@pytest.mark.parametrize("error", [LimitReached("time limit: 1 s"), KeyboardInterrupt()])
def test_exceptions_arrive_as_they_were_raised_and_at_once(error) -> None:
    calls = 0

    def failing(x: arb) -> arb:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise error
        return density(x)

    with precision(100), pytest.raises(type(error)) as caught:
        integrate(failing, density_bound, arb(-8), arb(8), EFFORT)
    assert caught.value is error
    assert calls == 5


BALL_BITS = 90
NESTED = Effort(60, arb(2) ** -10, 20_000, 20_000, lambda: None)
branches = st.sampled_from([(GAUSSIAN, 0), (LAPLACE, -1), (LAPLACE, 1)])
START = Fraction(-9, 2)


def squared_nest(family: Family, side: int, breaks: tuple[Fraction, ...] = ()) -> NodeEvaluator:
    law = Distribution(family, Fraction(0), Fraction(1))
    leaf = Integral(Level(law, -1, None, LinearForm.symbol(1), 0, side), None)
    ends = LinearForm.constant_form(START), LinearForm.symbol(0)
    return make_evaluator(Integral(Level(law, 1, *ends, side, side), leaf, breaks), NESTED)


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
def test_breaks_do_not_change_the_value(point, breaks) -> None:
    with precision(BALL_BITS):
        places = tuple(sorted({*breaks}))
        nest = squared_nest(GAUSSIAN, 0, places)
        for _ in range(2):  # the second time from the panels that were kept
            found = nest.value([to_ball(point), arb(0)])
            assert found.overlaps(closed_form(GAUSSIAN, 0, acb(to_ball(point))).real)
            assert found.rad() < arb(2) ** -50


@given(branches, points, points, lengths, lengths, unit, unit)
def test_bounds_hold_on_complex_boxes(branch, real, imaginary, width, height, across, up) -> None:
    with precision(BALL_BITS):
        box = acb(
            to_ball(real) + arb(0, to_ball(width).upper()),
            to_ball(imaginary) + arb(0, to_ball(height).upper()),
        )
        z = acb(to_ball(real + across * width), to_ball(imaginary + up * height))
        bound = squared_nest(*branch).bound([box, arb(0)])
        assert not closed_form(*branch, z).abs_lower() > bound
