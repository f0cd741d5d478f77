"""While loops: unrolled, or as Markov chains."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.errors import LimitReached, SourceError
from dipapprox.language import core
from dipapprox.laws.choices import ChainLaw
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.interpreter import set_probability
from tests.semantics.test_choices import BIT, coin, number, pick

ALWAYS = compare(0, "=", 0)
DIGITS = cells("out", 1, range(-5, 10))


def loop(condition: core.Condition, *body: core.Statement) -> core.While:
    return core.While(condition, body)


def add(name: str, step: int) -> core.Statement:
    return assign(name, core.Sum(core.Variable(name), core.Constant(Fraction(step))))


def run(
    body: Sequence[core.Statement], merge: bool = True, limits: Limits | None = None
) -> FinalStates:
    return execute(program((), DIGITS, body), merge, limits or Limits())


def probabilities(states: FinalStates) -> dict[object, Fraction]:
    """Of the outputs, for programs without guards and conditions."""
    found: dict[object, Fraction] = {}
    for state in states.states:
        assert state.path is None
        assert not state.conditions
        probability = set_probability(states, state.chosen)
        found[state.outputs[0]] = found.get(state.outputs[0], Fraction(0)) + probability
    return found


@pytest.mark.parametrize("merge", [True, False])
def test_gamblers_ruin(merge: bool) -> None:
    """From 2, up with probability 2/3, until 0 or 4: Feller, volume 1, section XIV.2, gives 4/5."""
    move = choose(compare("up", "=", 1), [add("x", 1)], [add("x", -1)])
    game = loop(core.All((compare("x", ">", 0), compare("x", "<", 4))), coin("up", 0, "2/3"), move)
    states = run([assign("x", 2), game, assign("out[1]", "x")], merge)
    (choice,) = states.choices
    assert isinstance(choice.law, ChainLaw)
    assert len(choice.law.transitions) == 5
    assert probabilities(states) == {Fraction(4): Fraction(4, 5), Fraction(0): Fraction(1, 5)}


HALF = number("1/2")
NEGATED = core.Product(core.Constant(Fraction(-1)), core.Variable("x"))


@pytest.mark.parametrize(
    "body",
    [
        [loop(ALWAYS, assign("x", 1))],
        [assign("x", 1), loop(compare("x", "<", 2), assign("x", NEGATED))],
        # a trap that is entered with probability 1/2
        [
            assign("x", 0),
            loop(
                compare("x", "<", 2),
                choose(compare("x", "=", 0), [pick("x", [(1, HALF), (2, HALF)], 0)]),
            ),
        ],
        [draw("r", 0, 0), loop(compare("r", ">", 0), assign("x", 1))],
    ],
    ids=["always", "periodic", "trap", "sample"],
)
def test_endless_loops_are_refused(body: list[core.Statement]) -> None:
    for merge in (True, False):
        with pytest.raises(SourceError, match="the loop never ends"):
            run([*body, assign("out[1]", 0)], merge)


def test_endless_counting_runs_into_a_limit() -> None:
    count = loop(compare("n", ">=", 0), add("n", 1))
    with pytest.raises(LimitReached, match="loop limit"):
        run([assign("n", 0), count, assign("out[1]", 0)], limits=Limits(states=50))
    walk = loop(compare("b", "=", 1), add("n", 1), coin("b", 0))
    start = [assign("n", 0), assign("b", 1)]
    with pytest.raises(LimitReached, match="loop limit"):
        run([*start, walk, assign("out[1]", 0)], limits=Limits(states=50))


def test_draws_in_loops_are_refused() -> None:
    body = [loop(ALWAYS, draw("r", 0, 0, family=LAPLACE)), assign("out[1]", 0)]
    with pytest.raises(SourceError, match="a sample is drawn in a while loop"):
        run(body)


def test_faults_in_loops_are_found() -> None:
    body = [assign("out[1]", 0), loop(compare("out[1]", "<", 9), coin("b", 0), add("out[1]", 4))]
    with pytest.raises(SourceError, match=r"'out\[1\]' gets 12, which is not in its domain"):
        run(body)


@pytest.mark.parametrize("merge", [True, False])
def test_faults_in_conditions_of_loops_belong_to_their_part_of_the_path(merge: bool) -> None:
    """`y` is unassigned; it is read where r > 0 only, and the loop is entered where r < 0 only."""
    stop = core.All((compare("x", "=", 0), core.Any((compare("r", "<", 0), compare("y", "=", 0)))))
    rounds = loop(stop, coin("x", 0))
    body = [draw("r", 0, 1), assign("x", 0), choose(compare("r", "<", "q[1]"), [rounds])]
    example = program(cells("q", 1, (-1, 0)), BIT, [*body, assign("out[1]", 0)])
    assert len(execute(example, merge, Limits()).outputs) == 1
    wider = program(cells("q", 1, (-1, 1)), BIT, [*body, assign("out[1]", 0)])
    with pytest.raises(SourceError, match="'y' is read before it is assigned"):
        execute(wider, merge, Limits())
