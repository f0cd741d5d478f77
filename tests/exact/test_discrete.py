"""Exact probabilities of discrete Laplace events: closed forms, enumeration, laws."""

from fractions import Fraction

import pytest
from hypothesis import given

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.events.event import Event
from dipapprox.exact.integers.elimination import Integers, discrete_probability
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE, LAPLACE
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.kinds import is_discrete
from exact.integer_events import (
    STEPS,
    at_most,
    dlap,
    enumerated,
    equal,
    integer_events,
    total_of,
    value_at,
)

SIXTEENTH = Fraction(1, 16)
ONE = ExponentialRatio.constant(1)


def form_of(*samples: Distribution, guards: list[LinearForm]) -> ExponentialRatio:
    """The closed form of an event."""
    found = discrete_probability(Event(samples, tuple(guards)), Limits())
    assert isinstance(found, ExponentialRatio)
    return found


def q(rate: Fraction | int, power: int = 1) -> ExponentialPolynomial:
    """e^{-rate * power * ε}."""
    return ExponentialPolynomial.monomial(1, 0, -Fraction(rate) * power)


def one_plus(function: ExponentialPolynomial) -> ExponentialPolynomial:
    return ExponentialPolynomial.constant(1) + function


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(4), Fraction(2, 3)])
def test_two_equal_laws_tie_as_the_specification_says(scale: Fraction) -> None:
    """(1 - q)(1 + q²)/(1 + q)³ for ties, and half of the rest on either side (spec, 8.9)."""
    rate = 1 / scale
    top = (ExponentialPolynomial.constant(1) - q(rate)) * one_plus(q(rate, 2))
    tie = ExponentialRatio.of(top, {one_plus(q(rate)): 3})
    laws = (dlap(3, scale), dlap(3, scale))
    below = form_of(*laws, guards=[at_most(-1, z0=1, z1=-1)])
    both = [at_most(0, z0=1, z1=-1), at_most(0, z0=-1, z1=1)]
    assert equal(form_of(*laws, guards=both), tie)
    assert equal(below * ExponentialRatio.constant(2) + tie, ONE)


@pytest.mark.parametrize("k", [-4, 0, 3, 10**6])
def test_a_sum_of_two_is_a_difference_of_reflected_samples(k: int) -> None:
    plus = form_of(dlap(2), dlap(5, 3), guards=[at_most(k, z0=1, z1=1)])
    minus = form_of(dlap(2), dlap(-5, 3), guards=[at_most(k, z0=1, z1=-1)])
    assert equal(plus, minus)
    assert len(plus.numerator.terms) < 40


@given(integer_events())
def test_random_systems_agree_with_enumeration(event: Event) -> None:
    found = discrete_probability(event, Limits())
    if isinstance(found, NotEnclosed):  # residue classes may make a form too long: no wrong number
        assert found.reason.startswith("integration-budget")
        return
    box = enumerated(event, STEPS, SIXTEENTH, 4 if len(event.samples) > 3 else 6)
    assert value_at(found, STEPS, SIXTEENTH) in box
    assert box.width < Fraction(1, 10**4)


def test_residue_classes_add_up_to_one() -> None:
    """2 z0 - 3 z1 + 2 z2 falls into exactly one of the ranges below 0, 0 to 4, above 4."""
    row = {0: Fraction(2), 1: Fraction(-3), 2: Fraction(2)}
    up, down = LinearForm.of(row), -LinearForm.of(row)
    one = LinearForm.constant_form
    ranges = ([up + one(1)], [down, up - one(4)], [down + one(5)])
    laws = (dlap(1), dlap(0, 2), dlap(-2))
    assert equal(total_of([form_of(*laws, guards=guards) for guards in ranges]), ONE)


def test_huge_means_stay_short() -> None:
    """Far apart samples: e^{-distance ε} times a short ratio; a common shift changes nothing."""
    far = 10**12
    guards = [at_most(0, z0=1, z1=-1), at_most(0, z2=1, z1=-1)]
    here = form_of(dlap(0), dlap(2), dlap(-1, 2), guards=guards)
    there = form_of(dlap(far), dlap(far + 2), dlap(far - 1, 2), guards=guards)
    assert here == there
    apart = form_of(dlap(far), dlap(0), guards=[at_most(0, z0=1, z1=-1)])
    assert len(apart.numerator.terms) < 20
    assert max(rate for (_, rate), _ in apart.numerator.terms) == -far


def test_what_has_no_closed_form_says_why() -> None:
    guard = at_most(0, z0=1, z1=-1)
    mixed = Event((dlap(0), Distribution(LAPLACE, Fraction(0), Fraction(1))), (guard,))
    assert not is_discrete(mixed)
    assert isinstance(discrete_probability(mixed, Limits()), NotEnclosed)
    half = Distribution(DISCRETE_LAPLACE, Fraction(1, 2), Fraction(1))
    found = discrete_probability(Event((dlap(0), half), (guard,)), Limits())
    assert "1/2" in found.reason


def test_budgets_are_kept() -> None:
    rows = [{0: 3, 1: 5, 2: -7}, {0: -7, 1: 3, 2: 5}]
    guards = tuple(LinearForm.of({i: Fraction(a) for i, a in row.items()}) for row in rows)
    event = Event((dlap(0), dlap(0), dlap(0)), guards)
    found = discrete_probability(event, Limits(pieces=50))
    assert found.reason.startswith("integration-budget: more than 50 pieces")
    with pytest.raises(LimitReached):
        discrete_probability(event, Limits(seconds=0.0))


def test_closed_forms_that_are_too_long_say_so() -> None:
    """Rates without simple ratios: subsets of them have as many different sums."""
    scales = [4 + Fraction(i, 7) for i in range(12)]
    samples = (dlap(0, 2), *(dlap(0, scale) for scale in scales))
    guards = tuple(at_most(0, **{f"z{i + 1}": 1, "z0": -1}) for i in range(len(scales)))
    found = discrete_probability(Event(samples, guards), Limits())
    assert found.reason == "integration-budget: the closed form has too many terms"


LAW = Distribution(DISCRETE_LAPLACE, Fraction(0), Fraction(1))
tightened = Integers((LAW,) * 3, Fraction(1), Limits()).tightened


def test_rows_are_divided_and_rounded() -> None:
    assert tightened([((2, -4, 0), 5), ((1, -2, 0), 7)]) == (((1, -2, 0), 2),)
    assert tightened([((0, 0, 0), 0)]) == ()
    assert tightened([((0, 0, 0), -1)]) is None
    assert tightened([((2, 2, 0), 1), ((-2, -2, 0), -1)]) is None
