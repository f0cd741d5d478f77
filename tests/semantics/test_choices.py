"""Random choices among finitely many values, and while loops: weights, Markov chains, limits."""

from fractions import Fraction

import pytest

from dipapprox.errors import LimitReached, SourceError
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.semantics.interpreter import set_probability

ONE = ExponentialPolynomial.constant(1)


def program(body: str, inputs: str = "0, 1") -> core.Program:
    text = f"input q in {{{inputs}}}\noutput out in -5..9\nadjacent all\n{body}\n"
    return elaborate(parse(text), {}, "program")


def grown(rate: int | str) -> ExponentialPolynomial:
    """e^(rate * eps)"""
    return ExponentialPolynomial.monomial(1, 0, Fraction(rate))


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ("eps", ExponentialRatio(ExponentialPolynomial.monomial(1, 1))),
        ("exp(-eps/2)", ExponentialRatio(grown("-1/2"))),
        ("exp(0*eps)", ExponentialRatio.constant(1)),
        ("1/exp(eps)", ExponentialRatio(grown(-1))),  # which is no fraction
        ("exp(eps)/(1 + exp(eps))", ExponentialRatio(grown(1), ((ONE + grown(1), 1),))),
        ("eps^2/eps", ExponentialRatio(ExponentialPolynomial.monomial(1, 1))),
        ("(1/4)*2", ExponentialRatio.constant(Fraction(1, 2))),
    ],
)
def test_weights_are_functions_of_eps(weight: str, expected: ExponentialRatio) -> None:
    states = execute(program(f"out <- choose {{0 : {weight}, 1 : 1}}"), True, Limits())
    (choice,) = states.choices
    assert choice.law.weights[0] == expected


def test_outcomes_that_nothing_reads_are_no_faults() -> None:
    body = "x <- choose {0 : 1/2, 2 : 1/2}\nif x > 5 then out <- x + 9 else out <- 0 end"
    assert len(execute(program(body), True, Limits()).states) == 1


# --- while loops ----------------------------------------------------------------------------------


def probabilities(states: FinalStates) -> dict[object, Fraction]:
    """Of the outputs, for programs without guards and conditions."""
    found: dict[object, Fraction] = {}
    for state in states.states:
        assert state.path is None
        assert not state.conditions
        probability = set_probability(states, state.chosen)
        found[state.outputs[0]] = found.get(state.outputs[0], Fraction(0)) + probability
    return found


RUIN = """
x <- 2
while x > 0 and x < 4 do
    up <- choose {1 : 2/3, 0 : 1/3}
    if up = 1 then x <- x + 1 else x <- x - 1 end
end
out <- x
"""


@pytest.mark.parametrize("merge", [True, False])
def test_gamblers_ruin(merge: bool) -> None:
    """From 2, up with probability 2/3, until 0 or 4: Feller, volume 1, section XIV.2, gives 4/5."""
    states = execute(program(RUIN), merge, Limits())
    (choice,) = states.choices
    assert len(choice.law.transitions) == 5
    assert probabilities(states) == {Fraction(4): Fraction(4, 5), Fraction(0): Fraction(1, 5)}


@pytest.mark.parametrize(
    "loop",
    [
        "while n >= 0 do n <- n + 1 end",
        "b <- 1\nwhile b = 1 do n <- n + 1\nb <- choose {1 : 1/2, 0 : 1/2} end",
    ],
)
def test_endless_counting_runs_into_a_limit(loop: str) -> None:
    with pytest.raises(LimitReached, match="loop limit"):
        execute(program(f"n <- 0\n{loop}\nout <- 0"), True, Limits(states=50))


@pytest.mark.parametrize("merge", [True, False])
def test_faults_in_conditions_of_loops_belong_to_their_part_of_the_path(merge: bool) -> None:
    """`y` is unassigned; it is read where r > 0 only, and the loop is entered where r < 0 only."""
    body = """
    if q > 5 then y <- 1 end
    r <- Gauss(0, 1/eps)
    x <- 0
    if r < q then while x = 0 and (r < 0 or y = 0) do x <- choose {0 : 1/2, 1 : 1/2} end end
    out <- 0
    """
    assert len(execute(program(body, "-1, 0"), merge, Limits()).outputs) == 1
    with pytest.raises(SourceError, match="'y' is read before it is assigned"):
        execute(program(body, "-1, 1"), merge, Limits())
