"""Half-spaces and one-sided noise in all engines: closed forms, erfc, mirror images, scipy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dipapprox import Enclosure, Limits, NotEnclosed
from dipapprox.events.event import Event, Star
from dipapprox.events.reduce import connected_parts
from dipapprox.exponentials import ExponentialRatio
from dipapprox.integrals.integral import Strategy
from dipapprox.laws.distribution import Distribution, FiniteLaw
from dipapprox.laws.families import DISCRETE_LAPLACE, EXPONENTIAL, GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.closed_form import (
    GUARD_BY_GUARD,
    enclose_closed_form,
    exponential_comparison,
    has_half_spaces,
)
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import Tier
from dipapprox.numerics.methods import InOrder, Method, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from tests.chosen import chosen
from tests.event_strategies import CONTINUOUS, events, gauss, laplace, less
from tests.numerics.alone import alone

SMALL = st.fractions(min_value=-4, max_value=4, max_denominator=5)
POSITIVE = st.fractions(min_value=Fraction(1, 4), max_value=4, max_denominator=4)


@st.composite
def half_spaces(draw: st.DrawFn, family: Family, most: int) -> Event:
    size = draw(st.integers(1, most))
    laws = tuple(Distribution(family, draw(SMALL), draw(POSITIVE)) for _ in range(size))
    terms = {k: draw(SMALL.filter(bool)) for k in range(size)}
    return Event(laws, (LinearForm.of(terms, draw(SMALL)),))


def complement(event: Event) -> Event:
    return Event(event.samples, (-event.guards[0],))


@given(half_spaces(GAUSSIAN, 4), st.integers(10, 300))
def test_gaussian_half_spaces(event, bits) -> None:
    found = enclose_closed_form(event, bits)
    other = enclose_closed_form(complement(event), bits)
    assert 0 <= found.lower <= found.upper <= 1 and found.width <= Fraction(1, 2**bits)
    assert 1 in found + other
    (guard,) = event.guards
    terms = [(guard.coefficient(k), law) for k, law in enumerate(event.samples)]
    mean = float(guard.constant + sum(c * law.mean for c, law in terms))
    deviation = math.sqrt(sum((c * law.scale) ** 2 for c, law in terms))
    expected = math.erfc(mean / deviation / math.sqrt(2)) / 2
    slack = Fraction(1e-13)
    assert found.lower - slack <= Fraction(expected) <= found.upper + slack


ROWS = st.lists(
    st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), min_size=2, max_size=3
)


def event(rows: list[list[int]], constants: list[Fraction]) -> Event:
    """Σ row x + constant <= 0 for every row, x standard Gaussian."""
    guards = [
        LinearForm.of({k: Fraction(c) for k, c in enumerate(row) if c}, constant)
        for row, constant in zip(rows, constants, strict=True)
    ]
    return Event(((Distribution(GAUSSIAN, Fraction(0), Fraction(1)),) * 3), tuple(guards))


@given(ROWS, st.data())
def test_bounds_hold_whatever_the_dependence(rows, data) -> None:
    far = st.sampled_from([Fraction(-12), Fraction(0), Fraction(9)])
    constants = [data.draw(far) for _ in rows]
    asked = event(rows, constants)
    assert has_half_spaces(asked)
    found = GUARD_BY_GUARD.enclose([asked], 10, Limits())[0]
    matrix = np.array(rows, float)
    law = stats.multivariate_normal(
        np.zeros(len(rows)), matrix @ matrix.T, allow_singular=True, seed=1
    )
    true = law.cdf(-np.array([float(c) for c in constants]))
    if isinstance(found, Enclosure):
        assert found.width <= Fraction(1, 2**10)
        assert float(found.lower) - 1e-3 <= true <= float(found.upper) + 1e-3
    else:
        assert 1e-4 < true < 1 - 1e-4 or Fraction(0) in constants or len(set(constants)) > 1


def test_guards_that_may_or_may_not_hold_are_left_to_others() -> None:
    asked = event([[1, 1, 0], [1, -1, 1]], [Fraction(0), Fraction(0)])
    assert isinstance(GUARD_BY_GUARD.enclose([asked], 10, Limits())[0], NotEnclosed)


Q = Fraction
BALLS, NESTED = Eliminated(Tier.BALLS), Nested(Strategy.LEAST_NESTING)
ENGINES: tuple[Method, ...] = (Eliminated(), BALLS, NESTED)
each_engine = pytest.mark.parametrize("engine", ENGINES, ids=["float64", "balls", "nested"])


def plus(mean: int | Fraction, scale: int | Fraction = 1) -> Distribution:
    return Distribution(EXPONENTIAL, Q(mean), Q(scale))


def enclose(engine: Method, event: Event | Star, bits: int = 40) -> Enclosure:
    found = alone(engine, event, bits, Limits())
    assert 0 <= found.lower <= found.upper <= 1 and found.width <= Q(1, 2**bits)
    return found


def mirrored(event: Event) -> Event:
    """The same event of -x."""
    laws = (Distribution(x.family.mirror, -x.mean, x.scale) for x in event.samples)
    guards = (LinearForm((-g).terms, g.constant) for g in event.guards)
    return Event(tuple(laws), tuple(guards))


def assert_near(found: Enclosure, reference: float, tolerance: float = 1e-14) -> None:
    """The reference, a rounded number, lies in the enclosure up to its own error."""
    assert found.lower - Q(tolerance) <= Q(reference) <= found.upper + Q(tolerance)


@each_engine
@pytest.mark.parametrize("d", [Q(0), Q(1, 3), Q(5)])
def test_private_argmax_with_one_sided_noise(engine, d) -> None:
    """DiPC, oracle of noisy max with one-sided noise 2/eps: Pr[E1 >= E2 + d] = e^(-d eps/2)/2."""
    eps = Q(3, 7)
    event = Event((plus(0, 2 / eps),) * 2, (less(1, 0, 0) + LinearForm.constant_form(d),))
    expected = math.exp(-d * eps / 2) / 2
    assert_near(enclose(engine, event), expected)
    closed = enclose_closed_form(event, 200)
    assert closed.width <= Q(1, 2**200)
    assert_near(closed, expected)
    coefficients = exponential_comparison(event.samples, event.guards[0])
    assert sum(c for c, q in coefficients if q == -d * eps / 2) == Q(1, 2)


rationals = st.fractions(-3, 3, max_denominator=4)
scales = st.sampled_from([Q(1, 3), Q(1), Q(5, 2)])
one_sided = st.sampled_from(CONTINUOUS[1:])


@given(
    st.lists(st.builds(Distribution, one_sided, rationals, scales), min_size=1, max_size=2),
    st.lists(rationals.filter(bool), min_size=2, max_size=2),
    rationals,
)
def test_closed_forms_agree_with_the_engines(laws, slopes, shift) -> None:
    guard = LinearForm.of(dict(enumerate(slopes[: len(laws)])), shift)
    event = Event(tuple(laws), (guard,))
    closed, mirror = enclose_closed_form(event, 60), enclose_closed_form(mirrored(event), 60)
    assert isinstance(mirror, Enclosure)
    assert closed.width <= Q(1, 2**60) and closed.meets(mirror)
    for engine in ENGINES:
        assert enclose(engine, event).meets(closed)


@given(events(most=4, families=CONTINUOUS, general=False))
def test_engines_and_mirror_images_agree(event) -> None:
    """Gaussian, Laplace and one-sided samples mixed, with equal means and constants at them."""
    for _, part in connected_parts(event) or ():
        enclosures = [
            found
            for engine in ENGINES
            for each in (part, mirrored(part))
            if isinstance(found := alone(engine, each, 24, Limits()), Enclosure)
        ]
        assert len(enclosures) >= 2  # not all guards are orders, but `nested` takes them all
        for found in enclosures:
            assert found.width <= Q(1, 2**24)
            assert all(found.meets(other) for other in enclosures)


def test_what_has_no_density_is_refused_with_the_reason() -> None:
    integer = Distribution(DISCRETE_LAPLACE, Q(0), Q(1))
    half = ExponentialRatio.constant(Q(1, 2))
    choice = chosen(FiniteLaw((half, half)), [0])
    guard = LinearForm.of({0: Q(1), 1: Q(-1)}, Q(-1, 2))
    cases = {
        choice: "choice",
        Event((integer, integer), (guard,)): "integer samples",
        Event((gauss(0), integer), (guard,)): "integer samples",
        Event((integer,), (LinearForm.of({0: Q(1)}, Q(-1, 2)),)): "integer samples",
        Star(integer, (), ((integer, 2),)): "integer samples",
    }
    steps = [
        TriedMethod(lambda each=each: each, lambda event: True) for each in (ENGINES[0], NESTED)
    ]
    for engine in (*ENGINES, InOrder(steps, "both")):
        plain = Event((gauss(0), laplace(0)), (less(0, 1),))
        *found, last = engine.enclose([*cases, plain], 30, Limits())
        assert isinstance(last, Enclosure)
        for answer, reason in zip(found, cases.values(), strict=True):
            assert isinstance(answer, NotEnclosed) and reason in answer.reason
