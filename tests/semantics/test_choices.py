"""Random choices among finitely many values, and while loops: weights, laws, Markov chains."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.errors import LimitReached, SourceError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language import core
from dipapprox.laws.choices import ChainLaw
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import Limits
from dipapprox.semantics.evaluation import PathFault
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from dipapprox.semantics.statements import weight_value
from tests.semantics.examples import (
    Operand,
    assign,
    cells,
    choose,
    compare,
    draw,
    expression,
    program,
)
from tests.semantics.interpreter import set_probability

EPS = core.Epsilon()
ONE = ExponentialPolynomial.constant(1)
BIT = cells("out", 1, (0, 1))


def number(value: int | str) -> core.Constant:
    return core.Constant(Fraction(value))


def power(rate: int | str) -> core.Exponential:
    """e^(rate * eps)"""
    return core.Exponential(core.WeightProduct(number(rate), EPS))


def grown(rate: int | str) -> ExponentialPolynomial:
    return ExponentialPolynomial.monomial(1, 0, Fraction(rate))


def pick(
    name: str,
    options: Sequence[tuple[Operand, core.Weight]],
    site: int,
    proportional: bool = False,
) -> core.Choose:
    pairs = tuple((expression(value), weight) for value, weight in options)
    return core.Choose(core.Variable(name), pairs, proportional, site)


def coin(name: str, site: int, chance: str = "1/2") -> core.Choose:
    return pick(name, [(1, number(chance)), (0, number(str(1 - Fraction(chance))))], site)


def value_of(weight: core.Weight) -> ExponentialRatio:
    def read(expression: core.Expression) -> Fraction:
        assert isinstance(expression, core.Constant)
        assert isinstance(expression.value, Fraction)
        return expression.value

    return weight_value(weight, read, None)


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (EPS, ExponentialRatio(ExponentialPolynomial.monomial(1, 1))),
        (power("-1/2"), ExponentialRatio(grown("-1/2"))),
        (power(0), ExponentialRatio.constant(1)),
        # 1 / e^eps is no fraction
        (core.Inverse(power(1)), ExponentialRatio(grown(-1))),
        (
            core.WeightProduct(power(1), core.Inverse(core.WeightSum(number(1), power(1)))),
            ExponentialRatio(grown(1), ((ONE + grown(1), 1),)),
        ),
        # (eps^2) / eps, in an exponent, too
        (
            core.Exponential(
                core.WeightProduct(core.WeightProduct(EPS, EPS), core.Inverse(EPS)),
            ),
            ExponentialRatio(grown(1)),
        ),
        (
            core.WeightProduct(core.Inverse(number(4)), number(2)),
            ExponentialRatio.constant(Fraction(1, 2)),
        ),
    ],
)
def test_weights_are_functions_of_eps(weight: core.Weight, expected: ExponentialRatio) -> None:
    assert value_of(weight) == expected


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (core.Exponential(number(1)), "not a rational multiple of eps"),
        (core.Exponential(core.Inverse(EPS)), "not a rational multiple of eps"),
        (core.Exponential(core.WeightProduct(EPS, EPS)), "not a rational multiple of eps"),
        (
            core.Inverse(core.WeightSum(EPS, core.WeightProduct(number(-1), EPS))),
            "division by zero",
        ),
    ],
)
def test_weights_outside_the_class_are_faults(weight: core.Weight, message: str) -> None:
    with pytest.raises(PathFault, match=message):
        value_of(weight)


# --- execution ------------------------------------------------------------------------------------


def test_faults_of_outcomes_name_them() -> None:
    body = [pick("out[1]", [(0, number("1/2")), (2, number("1/2"))], 0)]
    with pytest.raises(SourceError, match=r"'out\[1\]' gets 2.*choice 2 is 2"):
        execute(program((), BIT, body), True, Limits())
    silent = [pick("x", [(0, number("1/2")), (2, number("1/2"))], 0)]
    unread = choose(compare("x", ">", 5), [assign("out[1]", "nothing")], [assign("out[1]", 0)])
    assert len(execute(program((), BIT, [*silent, unread]), True, Limits()).states) == 1
    zero = [pick("out[1]", [(0, number(0))], 0, proportional=True)]
    with pytest.raises(SourceError, match="all weights of a choice are 0"):
        execute(program((), BIT, zero), True, Limits())


def test_samples_may_not_be_chosen() -> None:
    body = [draw("r", 0, 0, family=LAPLACE), pick("x", [("r", number(1))], 1)]
    with pytest.raises(SourceError, match="a real is used where a finite value is needed"):
        execute(program((), BIT, [*body, assign("out[1]", 0)]), True, Limits())


ALWAYS = compare(0, "=", 0)
DIGITS = cells("out", 1, range(-5, 10))


def loop(condition: core.Condition, *body: core.Statement) -> core.While:
    return core.While(condition, body)


def add(name: str, step: int) -> core.Statement:
    return assign(name, core.Sum(core.Variable(name), core.Constant(Fraction(step))))


def final(
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
    states = final([assign("x", 2), game, assign("out[1]", "x")], merge)
    (choice,) = states.choices
    assert isinstance(choice.law, ChainLaw)
    assert len(choice.law.transitions) == 5
    assert probabilities(states) == {Fraction(4): Fraction(4, 5), Fraction(0): Fraction(1, 5)}


ONE_HALF = number("1/2")
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
                choose(compare("x", "=", 0), [pick("x", [(1, ONE_HALF), (2, ONE_HALF)], 0)]),
            ),
        ],
        [draw("r", 0, 0), loop(compare("r", ">", 0), assign("x", 1))],
    ],
    ids=["always", "periodic", "trap", "sample"],
)
def test_endless_loops_are_refused(body: list[core.Statement]) -> None:
    for merge in (True, False):
        with pytest.raises(SourceError, match="the loop never ends"):
            final([*body, assign("out[1]", 0)], merge)


def test_endless_counting_runs_into_a_limit() -> None:
    count = loop(compare("n", ">=", 0), add("n", 1))
    with pytest.raises(LimitReached, match="loop limit"):
        final([assign("n", 0), count, assign("out[1]", 0)], limits=Limits(states=50))
    walk = loop(compare("b", "=", 1), add("n", 1), coin("b", 0))
    start = [assign("n", 0), assign("b", 1)]
    with pytest.raises(LimitReached, match="loop limit"):
        final([*start, walk, assign("out[1]", 0)], limits=Limits(states=50))


def test_draws_in_loops_are_refused() -> None:
    body = [loop(ALWAYS, draw("r", 0, 0, family=LAPLACE)), assign("out[1]", 0)]
    with pytest.raises(SourceError, match="a sample is drawn in a while loop"):
        final(body)


def test_faults_in_loops_are_found() -> None:
    body = [assign("out[1]", 0), loop(compare("out[1]", "<", 9), coin("b", 0), add("out[1]", 4))]
    with pytest.raises(SourceError, match=r"'out\[1\]' gets 12, which is not in its domain"):
        final(body)


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
