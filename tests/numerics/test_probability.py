"""Output distributions: exact zeros, sums of one, precision, the cache."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.numerics.alone import alone
from tests.thorough import part

PROGRAMS = Path(__file__).parents[2] / "programs"
HALF = Fraction(1, 2)


class Counting:
    """A method that counts its calls and can be made to fail or to lie."""

    name = "counting"

    def __init__(self, answer: Enclosure | NotEnclosed | None = None) -> None:
        self.calls = 0
        self.answer = answer
        self.engine = Nested(Strategy.LEAST_NESTING)

    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        self.calls += 1
        return self.answer or alone(self.engine, event, bits, limits)

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        return Answers.of([self.one(event, bits, limits) for event in events])


def states_of(name: str, merge: bool = True, **parameters: int) -> FinalStates:
    exact = {key: Fraction(value) for key, value in parameters.items()}
    return execute(load(PROGRAMS / f"{name}.dpg", exact), merge, Limits())


def rows_of(states: FinalStates) -> list[Input]:
    return list(product(*(cell.domain for cell in states.program.inputs)))


def distribution(source: OutputProbabilities, input: Input, bits: int) -> tuple[Enclosure, ...]:
    found = source.distribution(input, bits)
    assert isinstance(found, tuple)
    assert all(each.lower >= 0 and each.upper <= 1 for each in found)
    assert all(each.width <= Fraction(1, 2**bits) for each in found)
    low, high = sum(e.lower for e in found), sum(e.upper for e in found)
    assert low <= 1 <= high
    return found


def test_svt_gauss_oracles() -> None:
    states = states_of("svt_gauss", N=2)
    source = OutputProbabilities(states, HALF, Nested(Strategy.LEAST_NESTING), Limits())
    expected = {
        # outputs (1,0), (0,1), (0,0) at eps = 1/2: symmetry and bivariate normal integrals
        (0, 0): ("0.5", "0.2179528915755125342", "0.2820471084244874658"),
        (0, 1): ("0.5", "0.2404104725151407021", "0.2595895274848592979"),
        (1, 0): ("0.5445103537446830091", "0.1959001187704576931", "0.2595895274848592979"),
        (1, 1): ("0.5445103537446830091", "0.2163347112413346041", "0.2391549350139823868"),
    }
    order = [states.outputs.index(tuple(map(Fraction, o))) for o in ((1, 0), (0, 1), (0, 0))]
    for queries, references in expected.items():
        input = tuple(map(Fraction, queries))
        found = distribution(source, input, 58)
        for k, reference in zip(order, references, strict=True):
            slack = Fraction(1, 10**19)
            assert found[k].lower - slack <= Fraction(reference) <= found[k].upper + slack


@pytest.mark.parametrize("merge", part([True, False], 2))
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("svt_gauss", {"N": 3}), ("noisy_max_laplace", {}), ("m_range_laplace", {})],
)
def test_outputs_sum_to_one_for_every_input(
    name: str, parameters: dict[str, int], merge: bool
) -> None:
    states = states_of(name, merge, **parameters)
    source = OutputProbabilities(states, HALF, Nested(Strategy.LEAST_NESTING), Limits())
    for input in rows_of(states):
        assert len(distribution(source, input, 40)) == len(states.outputs)


def test_failures_are_values_and_lies_are_noticed() -> None:
    states = states_of("svt_gauss", N=2)
    input = rows_of(states)[0]
    failing = OutputProbabilities(states, HALF, Counting(NotEnclosed("no idea")), Limits())
    found = failing.distribution(input, 20)
    assert isinstance(found, NotEnclosed)
    assert found.reason.startswith("the guards of line 22 tie")
    assert found.reason.endswith(": no idea")
    lying = Counting(Enclosure(Fraction(1, 100), Fraction(1, 50)))
    with pytest.raises(BrokenInvariant, match="sum"):
        OutputProbabilities(states, HALF, lying, Limits()).distribution(input, 20)
