"""Random choices that follow one another: where their courses meet, their weights add up."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.semantics.examples import assign, cells, choose, compare, program
from tests.semantics.interpreter import set_probability
from tests.semantics.test_choices import coin

COINS = 20
FEW = Limits(states=1000)
COUNTS = cells("out", 1, range(COINS + 1))


def plus(name: str, other: str) -> core.Statement:
    return assign(name, core.Sum(core.Variable(name), core.Variable(other)))


def chances(states: FinalStates) -> dict[object, Fraction]:
    """The probabilities of the choices behind every output, guards and conditions aside."""
    found: dict[object, Fraction] = {}
    for state in states.states:
        chance = set_probability(states, state.chosen)
        found[state.outputs[0]] = found.get(state.outputs[0], Fraction(0)) + chance
    return found


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
