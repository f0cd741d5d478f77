"""Which choices are probability distributions on an interval, and which loops end."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.choices.validity import Objection, check_choices, objection
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.choices import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.limits import Limits
from dipapprox.semantics.state import Choice

monomial = ExponentialPolynomial.monomial
ONE = monomial(1)
EPSILON = monomial(1, 1)
SURELY = ExponentialRatio.constant(1)
UNIT = EpsilonInterval(Fraction(0), Fraction(1))


def point(eps: Fraction | int) -> EpsilonInterval:
    return EpsilonInterval(Fraction(eps), Fraction(eps), True, True)


def ratio(top: ExponentialPolynomial, *bottom: ExponentialPolynomial) -> ExponentialRatio:
    return ExponentialRatio.of(top, dict.fromkeys(bottom, 1))


MORE, LESS = (
    ratio((ONE + EPSILON).scaled(Fraction(1, 2))),
    ratio((ONE - EPSILON).scaled(Fraction(1, 2))),
)
RAND2 = FiniteLaw((MORE, LESS))


def reason(law: ChoiceLaw, epsilons: EpsilonInterval) -> str | None:
    found = objection(law, epsilons, Limits())
    if found is None:
        return None
    assert found.proved
    return found.reason


def test_denominators_must_not_vanish() -> None:
    """ε / (2 ε - 1) and its complement are undefined at 1/2."""
    below = EPSILON.scaled(2) - ONE
    law = FiniteLaw((ratio(EPSILON, below), ratio(EPSILON - ONE, below)))
    expected = "weight 1 is not defined for every eps: its denominator can be 0"
    assert reason(law, ALL_EPSILONS) == expected
    assert reason(law, point(Fraction(1, 2))) == expected
    ends_there = EpsilonInterval(Fraction(1, 2), Fraction(3), True, True)
    assert reason(law, ends_there) == expected
    assert reason(law, EpsilonInterval(Fraction(1), Fraction(3), True, True)) is None
    # Where the denominator is negative, the sign of the whole counts.
    assert str(reason(law, EpsilonInterval(Fraction(0), Fraction(1, 2)))).startswith(
        "weight 1 is negative at eps = "
    )


def loop(stay: ExponentialRatio) -> ChainLaw:
    return ChainLaw((((0, stay), (1, SURELY - stay)), ()), (1,))


def test_a_loop_must_be_left_for_every_epsilon() -> None:
    half = ExponentialRatio.constant(Fraction(1, 2))
    assert reason(loop(half), ALL_EPSILONS) is None
    assert reason(loop(SURELY), ALL_EPSILONS) == "the loop does not end with probability 1"
    # Left with probability (1 - ε)/2: for ever in it at ε = 1.
    stay = SURELY - LESS
    assert reason(loop(stay), UNIT) is None
    with_end = EpsilonInterval(Fraction(0), Fraction(1), False, True)
    assert "does not end with probability 1" in str(reason(loop(stay), with_end))
    assert "does not end with probability 1 at eps = 1" in str(reason(loop(stay), point(1)))


def square_hole(centre: ExponentialPolynomial) -> ExponentialRatio:
    """(centre)² / (1 + centre²): a probability that is 0 where centre is."""
    return ratio(centre**2, ONE + centre**2)


def test_a_loop_that_is_not_left_at_one_irrational_epsilon() -> None:
    """e^ε - 2 = 0 at ε = log 2: the only zero of the way out."""
    hole = square_hole(monomial(1, 0, 1) - monomial(2))
    found = reason(loop(SURELY - hole), ALL_EPSILONS)
    assert "does not end with probability 1 near eps = " in str(found)
    assert abs(Fraction(str(found).split("= ")[1]) - Fraction(693147, 10**6)) < Fraction(1, 2**9)
    assert reason(loop(SURELY - hole), EpsilonInterval(Fraction(1), None)) is None


def test_a_trap_that_cannot_be_entered_where_it_is_closed() -> None:
    """At ε = log 2 the trap is not left, but not entered, either."""
    hole = square_hole(monomial(1, 0, 1) - monomial(2))
    law = ChainLaw((((1, hole), (2, SURELY - hole)), ((1, SURELY - hole), (2, hole)), ()), (2,))
    assert reason(law, ALL_EPSILONS) is None


def test_a_point_that_is_no_limit_of_its_neighbours_is_not_trusted() -> None:
    """At ε = 1 only: the weights are invalid on one side, and the functions have another value."""
    gap = EPSILON - ONE
    to_trap = ratio(gap)
    leave_left = ratio((gap**3).scaled(Fraction(1, 2)))
    leave_right = ratio(gap**4 - (gap**3).scaled(Fraction(1, 2)))
    trap = ((1, SURELY - leave_left - leave_right), (2, leave_left), (3, leave_right))
    law = ChainLaw((((1, to_trap), (2, SURELY - to_trap)), trap, (), ()), (2, 3))
    found = objection(law, point(1), Limits())
    assert isinstance(found, Objection)
    assert not found.proved
    assert "no limit of its neighbours" in found.reason


def test_steps_of_loops_must_be_distributions() -> None:
    law = ChainLaw((((0, MORE), (1, LESS)), ()), (1,))
    assert reason(law, ALL_EPSILONS) == "in a step of the loop, weight 2 is negative at eps = 2"
    assert reason(ChainLaw((((1, SURELY),), ()), ()), ALL_EPSILONS) == (
        "the loop can end in a state that is no outcome"
    )


def test_programs_are_refused_with_the_name_of_the_choice() -> None:
    choice = Choice(RAND2, 3, "out")
    check_choices([choice], UNIT, Limits())
    with pytest.raises(UserError, match="'out' is no probability distribution: weight 2 is neg"):
        check_choices([choice], ALL_EPSILONS, Limits())
    narrow = (EPSILON - ONE) ** 2 + monomial(Fraction(1, 10**9))
    weight = ratio(narrow, narrow + ONE)
    hard = Choice(FiniteLaw((weight, SURELY - weight)), 4, "hard")
    check_choices([hard], ALL_EPSILONS, Limits())
    with pytest.raises(LimitReached, match="'hard'"):
        check_choices([hard], ALL_EPSILONS, Limits(seconds=0.0))
