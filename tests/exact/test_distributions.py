"""Exact output distributions: of programs at every eps, and against enclosures at one."""

from fractions import Fraction
from itertools import product

import pytest

import dipapprox
from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.exact.distributions import ExactDistributions, ratio_sum
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.texts import text_of

Q = Fraction
NOTHING: dict[str, int] = {}


def states_of(text: str, parameters: dict[str, int] = NOTHING) -> FinalStates:
    return execute(dipapprox.parse(text, parameters), True, Limits())


def program(name: str, **parameters: int) -> FinalStates:
    return states_of(text_of(name), parameters)


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
    pytest.param("m_range_laplace", 2, marks=pytest.mark.thorough),
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
                assert value.meets(bound)
                assert value.width < Q(1, 2**79) and bound.width < Q(1, 2**40)


def test_weights_that_do_not_sum_to_one_are_noticed() -> None:
    states = states_of(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
        "out <- choose { 0 : 1 / (1 + eps), 1 : 1 / 2 }\n"
    )
    with pytest.raises(BrokenInvariant):
        ExactDistributions(states, None, Limits()).distribution((Q(0),))
