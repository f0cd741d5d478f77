"""Circuits of weights against sums over all combinations of outcomes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import pytest

from dipapprox.events.event import Chosen
from dipapprox.exact.choices.circuits import chosen_probability, enclose_choices, is_possible_choice
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.choices import ChoiceLaw, FiniteLaw, count_outcomes
from dipapprox.limits import Limits
from dipapprox.semantics.outcomes import ALWAYS, OutcomeSets
from dipapprox.semantics.state import Choice
from tests import thorough
from tests.chosen import circuit_of

ONE = ExponentialPolynomial.constant(1)
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


@pytest.mark.parametrize("seed", thorough.part(range(12), 3))
def test_values_are_sums_over_all_combinations(seed: int) -> None:
    choices, sets, parts = example(seed)
    circuit, roots = circuit_of(choices, sets.nodes, parts)
    eps = Fraction(3, 4)
    events = [Chosen(circuit, root, eps) for root in roots]
    enclosed = enclose_choices(events, 80, Limits())
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
        function = chosen_probability(event, Limits())
        exact = enclose_at(function, Fraction(1), 80, Limits())
        assert exact.meets(found)
        assert is_possible_choice(event, Limits())
        total = total + function
    assert not (total - ExponentialRatio.constant(1)).numerator


def value(law: ChoiceLaw, outcome: int, eps: Fraction) -> float:
    assert isinstance(law, FiniteLaw)
    found = enclose_at(law.weights[outcome], eps, 60, Limits())
    return float(found.lower)
