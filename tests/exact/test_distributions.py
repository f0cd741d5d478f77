"""Exact output distributions: of programs at every eps, and against enclosures at one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.catalogue import Catalogue
from dipapprox.exact.distributions import ExactDistributions, ratio_sum
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exact.solved_inputs import SolvedInputs
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates

Q = Fraction
PROGRAMS = Path(__file__).parents[2] / "programs"
NOTHING: dict[str, int] = {}


def states_of(text: str, parameters: dict[str, int] = NOTHING) -> FinalStates:
    return execute(dipapprox.parse(text, parameters), True, Limits())


def program(name: str, **parameters: int) -> FinalStates:
    return states_of((PROGRAMS / f"{name}.dpg").read_text(encoding="utf-8"), parameters)


def rows_of(states: FinalStates) -> list[Input]:
    return list(product(*(cell.domain for cell in states.program.inputs)))


def found(source: ExactDistributions, input: Input) -> tuple[ExponentialRatio, ...]:
    distribution = source.distribution(input)
    assert isinstance(distribution, tuple), distribution
    return distribution


CASES = [
    ("svt_laplace_ge", 3),
    ("svt_laplace_leaky_3", 2),
    ("svt_laplace_leaky_4", 3),
    ("svt_laplace_leaky_5", 3),
    ("m_range_laplace", 2),
    ("k_min_max_laplace", 3),
    ("dipc/nmax2", 3),
    ("dipc/nmax3", 2),
    ("dipc/sparse", 3),
]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_outputs_sum_to_one_and_lie_in_the_enclosures(name: str, count: int) -> None:
    """For all ε as functions, at one ε as numbers, and next to elimination in doubles."""
    states, eps = program(name, N=count), Q(7, 5)
    for_all = ExactDistributions(states, None, Limits())
    at_one = ExactDistributions(states, eps, Limits())
    enclosed = OutputProbabilities(states, eps, Eliminated(), Limits())
    for place, input in enumerate(rows_of(states)):
        functions, numbers = found(for_all, input), found(at_one, input)
        assert not (ratio_sum(functions) - ExponentialRatio.constant(1)).numerator
        for function, number in zip(functions, numbers, strict=True):
            assert not (function.at(eps) - number).numerator.at(Q(1))
        if place < 4:
            bounds = enclosed.distribution(input, 40)
            assert not isinstance(bounds, NotEnclosed), bounds
            for number, bound in zip(numbers, bounds, strict=True):
                value = enclose_at(number, Q(1), 80, Limits())
                assert isinstance(value, Enclosure) and value.meets(bound)
                assert value.width < Q(1, 2**79) and bound.width < Q(1, 2**40)


def test_randomised_response() -> None:
    states = program("dipc/rand1", N=2)
    power = ExponentialPolynomial.monomial(1, 0, 1)
    half = ExponentialRatio.of(power, {power + ExponentialPolynomial.constant(1): 1})
    other = ExponentialRatio.constant(1) - half
    for input in rows_of(states):
        for out, function in zip(
            states.outputs, found(ExactDistributions(states, None, Limits()), input), strict=True
        ):
            kept = [half if a == b else other for a, b in zip(input, out, strict=True)]
            assert not (function - kept[0] * kept[1]).numerator


@given(data=st.data())
def test_rows_are_solved_in_blocks_as_one_by_one(data: st.DataObject) -> None:
    name, count = data.draw(st.sampled_from([("svt_laplace_leaky_3", 2), ("dipc/rand1", 3)]))
    states = program(name, N=count)
    catalogue = Catalogue(states, Q(1))
    solved = SolvedInputs(catalogue, states)
    for input in data.draw(st.lists(st.sampled_from(rows_of(states)), max_size=9)):
        assert solved.states(input) == tuple(catalogue.states((input,))[0])
        if data.draw(st.integers(0, 4)) == 0:
            solved.forget()


SCALES = """
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- 0
r <- Lap(q, SCALE)
s <- Lap(q, OTHER)
if r >= s then
    out <- 1
end
"""


@pytest.mark.parametrize(
    ("scale", "other", "works"),
    [
        ("1 / eps", "2 / eps", True),
        ("eps", "2 * eps", True),  # 1/2 whatever eps is
        ("1", "3", True),
        ("1", "1 / eps", False),
    ],
)
def test_scales_other_than_inverses_of_epsilon(scale: str, other: str, works: bool) -> None:
    states = states_of(SCALES.replace("SCALE", scale).replace("OTHER", other))
    answer = ExactDistributions(states, None, Limits()).distribution((Q(0),))
    if works:
        assert answer == (ExponentialRatio.constant(Q(1, 2)),) * 2
    else:
        assert isinstance(answer, NotEnclosed)
        assert answer.reason.startswith("outside-fragment") and "'r'" in answer.reason


def test_a_scale_outside_the_fragment_has_probabilities_at_one_epsilon() -> None:
    text = SCALES.replace("SCALE", "eps").replace("Lap(q, OTHER)", "Lap(1, 2 * eps)")
    states = states_of(text)
    assert isinstance(ExactDistributions(states, None, Limits()).distribution((Q(0),)), NotEnclosed)
    at_two = found(ExactDistributions(states, Q(2), Limits()), (Q(0),))
    # Laplace of scales 2 and 4 at distance 1: (b² e^(-1/b) - a² e^(-1/a)) / (2 (b² - a²))
    expected = ExponentialPolynomial.of({(0, -Q(1, 4)): Q(16, 24), (0, -Q(1, 2)): -Q(4, 24)})
    assert ExponentialRatio(expected) in at_two


def test_gaussian_noise_is_named() -> None:
    source = ExactDistributions(program("svt_gauss"), Q(1), Limits())
    answer = source.distribution((Q(0), Q(1)))
    assert isinstance(answer, NotEnclosed) and "Gaussian" in answer.reason


def test_weights_that_do_not_sum_to_one_are_noticed() -> None:
    states = states_of(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
        "out <- choose { 0 : 1 / (1 + eps), 1 : 1 / 2 }\n"
    )
    with pytest.raises(BrokenInvariant):
        ExactDistributions(states, None, Limits()).distribution((Q(0),))
