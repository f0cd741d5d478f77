"""Exact probabilities of choices and loops, circuits of weights, and what is no distribution."""

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import LimitReached, Limits, UserError
from dipapprox.events.event import Chosen
from dipapprox.exact.choices.absorption import absorption
from dipapprox.exact.choices.circuits import chosen_probability, enclose_choices, is_possible_choice
from dipapprox.exact.choices.validity import check_choices, law_at, objection
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import ChainLaw, ChoiceLaw, FiniteLaw, count_outcomes
from dipapprox.limits import limited
from dipapprox.semantics.outcomes import ALWAYS, OutcomeSets
from dipapprox.semantics.state import Choice
from tests import cases as asked
from tests.cases import refuses
from tests.exact.events import chosen, circuit_of, equal, value_at
from tests.semantics.interpreter import law_probability

ONE = ExponentialPolynomial.constant(1)
GROWING = ExponentialPolynomial.monomial(1, 0, 1)  # e^ε
STAY = ExponentialRatio.of(GROWING, {GROWING + ONE: 1})  # e^ε / (1 + e^ε)
LEAVE = ExponentialRatio.of(ONE, {GROWING + ONE: 1})
SURELY = ExponentialRatio.constant(1)


def probability(law: ChoiceLaw, *outcomes: int, eps: Fraction | int = 1) -> ExponentialRatio:
    return chosen_probability(chosen(law, outcomes, eps))


def test_states_that_never_end_take_their_probability_with_them() -> None:
    law = ChainLaw((((1, STAY), (2, LEAVE)), (), ((2, SURELY),)), (1,))
    assert equal(absorption(law)[1], STAY)
    trapped = ChainLaw((((1, SURELY),), ((0, SURELY),), ()), (2,))
    assert not absorption(trapped)


@st.composite
def chains(draw: st.DrawFn) -> list[list[tuple[int, int]]]:
    """Weights w of steps: (target, exponent k) with w = e^{kε}; states 4 and 5 are ends."""
    rows = []
    for _ in range(4):
        targets = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
        ends = draw(st.sampled_from([4, 5]))
        targets = sorted({*targets, ends})
        rows.append([(target, draw(st.integers(-1, 2))) for target in targets])
    return rows


@given(chains(), st.sampled_from([Fraction(1, 2), Fraction(3), Fraction(7, 5)]))
def test_elimination_agrees_with_rational_arithmetic(rows, base) -> None:
    """A rational number takes the place of e^ε."""
    law_rows = []
    numbers = []
    for row in rows:
        weights = [ExponentialPolynomial.monomial(1, 0, k) for _, k in row]
        total = weights[0]
        for weight in weights[1:]:
            total = total + weight
        law_rows.append(
            tuple(
                (target, ExponentialRatio.of(weight, {total: 1}))
                for (target, _), weight in zip(row, weights, strict=True)
            )
        )
        whole = sum((base**k for _, k in row), Fraction(0))
        shares = [(target, ExponentialRatio.constant(base**k / whole)) for target, k in row]
        numbers.append(tuple(shares))
    law = ChainLaw((*law_rows, (), ()), (4, 5))
    fixed = ChainLaw((*numbers, (), ()), (4, 5))
    found = [value_at(probability(law, outcome), 1, 1 / base) for outcome in (0, 1)]
    assert found == [law_probability(fixed, (outcome,)) for outcome in (0, 1)]
    assert sum(found) == 1


def test_a_fixed_law_has_the_value_of_the_function() -> None:
    """(1 - ε)/2 and (1 + ε)/2 at 1/3, alone and as steps of a loop."""
    eps = ExponentialPolynomial.monomial(Fraction(1, 2), 1)
    half = ExponentialPolynomial.constant(Fraction(1, 2))
    less, more = ExponentialRatio(half - eps), ExponentialRatio(half + eps)
    third = Fraction(1, 3)
    fixed = law_at(FiniteLaw((less, more)), third)
    assert probability(fixed, 0) == ExponentialRatio.constant(third)
    loop = ChainLaw((((1, less), (2, more)), ((0, more), (3, less)), (), ()), (2, 3))
    # x = 2/3 + 1/3 · 2/3 · x
    found = probability(law_at(loop, third), 0)
    assert found == ExponentialRatio.constant(Fraction(6, 7))
    assert equal(probability(loop, 0).at(third), found)


UP = ExponentialPolynomial.monomial(1, 0, 1)
DOWN = ExponentialPolynomial.monomial(1, 0, Fraction(-1, 2))
EPS = ExponentialPolynomial.monomial(1, 1)
THIRD = ExponentialRatio.constant(Fraction(1, 3))
LAWS: tuple[ChoiceLaw, ...] = (
    FiniteLaw((ExponentialRatio.of(UP, {UP + ONE: 1}), ExponentialRatio.of(ONE, {UP + ONE: 1}))),
    FiniteLaw((ExponentialRatio(DOWN), ExponentialRatio(ONE - DOWN))),
    FiniteLaw((THIRD, THIRD, THIRD)),
    FiniteLaw(
        (
            ExponentialRatio.of(EPS * UP, {EPS * UP + DOWN: 1}),
            ExponentialRatio.of(DOWN, {EPS * UP + DOWN: 1}),
        )
    ),
)


def example(seed: int) -> tuple[list[Choice], OutcomeSets, list[int]]:
    """Choices, and sets that split them up."""
    random = Random(seed)
    laws = [random.choice(LAWS) for _ in range(6)]
    sets, parts = OutcomeSets(), [ALWAYS]
    for number, law in enumerate(laws):
        groups: list[list[int]] = [[], [], []]
        for part in parts:
            for each in sets.split(part, number, count_outcomes(law)):
                random.choice(groups).append(each)
        parts = [sets.union(group) for group in groups if group]
    return [Choice(law, k, "x") for k, law in enumerate(laws)], sets, parts


def contains(sets: OutcomeSets, number: int, outcomes: tuple[int, ...]) -> bool:
    choice, own, children = sets.nodes[number]
    if choice < 0:
        return number == ALWAYS or any(contains(sets, child, outcomes) for child in children)
    below = dict(zip(own, children, strict=True)).get(outcomes[choice])
    return below is not None and contains(sets, below, outcomes)


@pytest.mark.parametrize("seed", asked.part(range(12), 3))
def test_values_are_sums_over_all_combinations(seed) -> None:
    choices, sets, parts = example(seed)
    circuit, roots = circuit_of(choices, sets.nodes, parts)
    eps = Fraction(3, 4)
    events = [Chosen(circuit, root, eps) for root in roots]
    enclosed = enclose_choices(events, 80)
    total = ExponentialRatio.constant(0)
    for part, event in zip(parts, events, strict=True):
        expected = 0.0
        for outcomes in product(*(range(count_outcomes(c.law)) for c in choices)):
            if contains(sets, part, outcomes):
                expected += prod(
                    value(choice.law, k, eps) for choice, k in zip(choices, outcomes, strict=True)
                )
        found = enclosed[event]
        assert found.width <= found.upper / 2**79
        assert abs(float(found.lower) - expected) < 1e-12
        function = chosen_probability(event)
        exact = enclose_at(function, Fraction(1), 80)
        assert exact.meets(found)
        assert is_possible_choice(event)
        total = total + function
    assert not (total - ExponentialRatio.constant(1)).numerator


def value(law: ChoiceLaw, outcome: int, eps: Fraction) -> float:
    found = enclose_at(law.weights[outcome], eps, 60)
    return float(found.lower)


monomial = ExponentialPolynomial.monomial
EPSILON = monomial(1, 1)
UNIT = EpsilonInterval(Fraction(0), Fraction(1))


def point(eps: Fraction | int) -> EpsilonInterval:
    return EpsilonInterval(Fraction(eps), Fraction(eps), True, True)


def ratio(top: ExponentialPolynomial, *bottom: ExponentialPolynomial) -> ExponentialRatio:
    return ExponentialRatio.of(top, dict.fromkeys(bottom, 1))


MORE, LESS = (
    ratio((ONE + EPSILON).scaled(Fraction(1, 2))),
    ratio((ONE - EPSILON).scaled(Fraction(1, 2))),
)


def reason(law: ChoiceLaw, epsilons: EpsilonInterval) -> str | None:
    found = objection(law, epsilons)
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
    found = objection(law, point(1))
    assert not found.proved
    assert "no limit of its neighbours" in found.reason


def test_steps_of_loops_must_be_distributions() -> None:
    law = ChainLaw((((0, MORE), (1, LESS)), ()), (1,))
    assert reason(law, ALL_EPSILONS) == "in a step of the loop, weight 2 is negative at eps = 2"
    assert reason(ChainLaw((((1, SURELY),), ()), ()), ALL_EPSILONS) == (
        "the loop can end in a state that is no outcome"
    )


def test_programs_are_refused_with_the_name_of_the_choice() -> None:
    choice = Choice(FiniteLaw((MORE, LESS)), 3, "out")
    check_choices([choice], UNIT)
    with pytest.raises(UserError, match="'out' is no probability distribution: weight 2 is neg"):
        check_choices([choice], ALL_EPSILONS)
    narrow = (EPSILON - ONE) ** 2 + monomial(Fraction(1, 10**9))
    weight = ratio(narrow, narrow + ONE)
    hard = Choice(FiniteLaw((weight, SURELY - weight)), 4, "hard")
    check_choices([hard], ALL_EPSILONS)
    with limited(Limits(seconds=0.0)):
        refuses(LimitReached, "'hard'", check_choices, [hard], ALL_EPSILONS)
