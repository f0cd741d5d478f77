"""Random choices that follow one another: where their courses meet, their weights add up."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from dipapprox.exact.choices.probability import chosen_probability
from dipapprox.semantics.regions import Region, Regions

from dipapprox.events.event import Chosen
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.test_choices import coin

COINS = 20
FEW = Limits(states=1000)
COUNTS = cells("out", 1, range(COINS + 1))
BIT = cells("q", 1, (0, 1))


def plus(name: str, other: str) -> core.Statement:
    return assign(name, core.Sum(core.Variable(name), core.Variable(other)))


def chances(states: FinalStates) -> dict[object, Fraction]:
    """The probabilities of the choices behind every output, guards and conditions aside."""
    found: dict[object, Fraction] = {}
    for state in states.states:
        chance = Fraction(1)
        for number, outcomes in state.choices:
            event = Chosen(states.choices[number].law, outcomes, Fraction(1))
            probability = chosen_probability(event, Limits())
            assert isinstance(probability, ExponentialRatio)
            chance *= constant(probability)
        found[state.outputs[0]] = found.get(state.outputs[0], Fraction(0)) + chance
    return found


def constant(function: ExponentialRatio) -> Fraction:
    """The value of a function that does not depend on eps."""
    value = Fraction(0)
    for _, coefficient in function.numerator.terms:
        value += coefficient
    for factor, power in function.denominator:
        value /= sum((c for _, c in factor.terms), Fraction(0)) ** power
    return value


def sum_of_coins(*between: core.Statement) -> list[core.Statement]:
    body = [assign("s", 0)]
    for site in range(COINS):
        body += [coin("c", site), *between, plus("s", "c")]
    return body


def binomial() -> dict[object, Fraction]:
    return {Fraction(k): Fraction(comb(COINS, k), 2**COINS) for k in range(COINS + 1)}


def test_a_sum_of_coins_has_one_state_for_each_value() -> None:
    states = execute(program((), COUNTS, [*sum_of_coins(), assign("out[1]", "s")]), True, FEW)
    assert len(states.states) == COINS + 1
    assert chances(states) == binomial()


def test_branches_and_exits_between_choices_are_followed() -> None:
    """Heads so far in a row: the first tails ends the program."""
    body: list[core.Statement] = [assign("s", 0)]
    for site in range(COINS):
        tails = choose(compare("c", "=", 0), [assign("out[1]", "s"), core.Exit()], [plus("s", "c")])
        body += [coin("c", site), tails]
    states = execute(program((), COUNTS, [*body, assign("out[1]", "s")]), True, FEW)
    ended = {Fraction(k): Fraction(1, 2 ** (k + 1)) for k in range(COINS)}
    assert chances(states) == {**ended, Fraction(COINS): Fraction(1, 2**COINS)}


def test_conditions_on_inputs_between_choices_split_once() -> None:
    none = choose(compare("q[1]", "=", 0), [assign("c", 0)], [])
    body = [*sum_of_coins(none), assign("out[1]", "s")]
    states = execute(program(BIT, COUNTS, body), True, FEW)
    counted = {value: chance for value, chance in chances(states).items() if value != 0}
    assert counted == {value: p for value, p in binomial().items() if value != 0}
    assert len(states.states) == COINS + 2


def test_thresholds_between_choices_split_once() -> None:
    """A sample that was drawn before decides whether the coins count."""
    none = choose(compare("x", "<", 0), [assign("c", 0)], [])
    body = [draw("x", 0, COINS), *sum_of_coins(none), assign("out[1]", "s")]
    states = execute(program((), COUNTS, body), True, FEW)
    assert len(states.states) == COINS + 2


def test_comparisons_with_what_was_chosen_stay_outside() -> None:
    """Else every outcome would be told apart by the answers of all others."""
    body = (
        draw("x", 0, 9),
        coin("c", 0),
        coin("d", 1),
        plus("c", "d"),
        choose(compare("x", "<", "c"), [coin("out[1]", 2)], [coin("out[1]", 3)]),
        coin("d", 4),
        coin("e", 5),
        plus("d", "e"),
        assign("out[1]", "d"),
    )
    _, first, *_, last, _, _ = Regions(program((), COUNTS, body), True).pieces(body)
    assert isinstance(first, Region) and isinstance(last, Region)
    assert first.statements == body[1:3]
    assert last.statements == body[5:7]


@pytest.mark.parametrize("wanted", [True, False])
def test_choices_that_never_meet_stay_choices_of_their_own(wanted: bool) -> None:
    outputs = cells("out", 3, (0, 1))
    body = [coin(f"out[{k}]", k) for k in range(1, 4)]
    states = execute(program((), outputs, body), wanted, Limits())
    assert len(states.choices) == 3
    assert len(states.states) == 8


def test_states_that_are_not_merged_are_those_of_all_courses() -> None:
    body = [assign("s", 0)]
    for site in range(5):
        body += [coin("c", site), plus("s", "c")]
    states = execute(program((), COUNTS, [*body, assign("out[1]", "s")]), False, Limits())
    assert len(states.states) == 2**5


def test_what_sees_nothing_of_each_other_is_apart() -> None:
    """Twelve pairs of coins: a law of four outcomes each, not one of 3^12."""
    outputs = cells("out", 12, (0, 1, 2))
    body: list[core.Statement] = []
    for k in range(1, 13):
        body += [coin("a", 2 * k), coin("b", 2 * k + 1), plus("a", "b"), assign(f"out[{k}]", "a")]
    whole = program((), outputs, body)
    pieces = Regions(whole, True).pieces(whole.body)
    assert sum(isinstance(piece, Region) for piece in pieces) == 12
