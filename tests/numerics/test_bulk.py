"""From inputs to probabilities, one input and many at once, against events made one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.canonical import canonical
from dipapprox.events.catalogue import Catalogue, by_input
from dipapprox.events.event import Connected, Independent, Star, spelled_out
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.language.core import Input, Program
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.sources import open_method
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.semantics.strategies import programs

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.dpg"))
HALF = Fraction(1, 2)

Spelled = Counter[tuple[int, frozenset[tuple[Connected, int]]]]
"""How often a final state has an output and a multiset of events: their order has no meaning."""


def rows_of(states: FinalStates, most: int, seed: int = 0) -> list[Input]:
    """All inputs, or a random choice of them."""
    domains = [cell.domain for cell in states.program.inputs]
    every = list(islice(product(*domains), 4096))
    return every if len(every) <= most else random.Random(seed).sample(every, most)


def one_by_one(states: FinalStates, input: Input, eps: Fraction) -> Spelled:
    """The slow way: instantiate, reduce, bring into normal form, state by state."""
    found = Spelled()
    for output, event, chosen in Instantiator(states, eps).events(input):
        reduced = reduce(event)
        if isinstance(reduced, Independent):
            events = [*map(canonical, reduced.factors), *([chosen] if chosen else [])]
            found[output, frozenset(Counter(events).items())] += 1
    return found


def by_catalogue(
    catalogue: Catalogue, states: FinalStates, inputs: Sequence[Input]
) -> list[Spelled]:
    """The fast way: columns over all inputs."""
    found = [Spelled() for _ in inputs]
    for group in catalogue.columns(inputs):
        for place, solved in by_input(group):
            for output, number in solved:
                numbers = catalogue.solutions[number]
                if numbers is not None:
                    events = Counter(catalogue.events[k] for k in numbers)
                    found[place][output, frozenset(events.items())] += 1
    return found


def check_roads(states: FinalStates, inputs: list[Input]) -> None:
    expected = [one_by_one(states, input, HALF) for input in inputs]
    catalogue = Catalogue(states, HALF)
    assert by_catalogue(catalogue, states, inputs) == expected
    # The same again over few inputs (another code path) and with what is known by now.
    for start in range(0, min(len(inputs), 20), 5):
        part = by_catalogue(catalogue, states, inputs[start : start + 5])
        assert part == expected[start : start + 5]
    for event in catalogue.events:
        if isinstance(event, Star):
            assert canonical(spelled_out(event)) == event


@given(programs(), st.booleans(), st.integers(0, 2**30))
def test_random_programs(program: Program, merge: bool, seed: int) -> None:
    states = execute(program, merge, Limits())
    check_roads(states, rows_of(states, 36, seed))


def source_of(name: str, **parameters: int) -> tuple[FinalStates, OutputProbabilities]:
    exact = {key: Fraction(value) for key, value in parameters.items()}
    path = next(path for path in PROGRAMS if path.stem == name)
    states = execute(load(path, exact), True, Limits())
    method = open_method(Options(engine=Engine.NESTED))
    return states, OutputProbabilities(states, HALF, method, Limits())


def exact_rows(
    source: OutputProbabilities, inputs: list[Input], bits: int
) -> list[tuple[Enclosure, ...]]:
    found = [source.distribution(input, bits) for input in inputs]
    assert not any(isinstance(each, NotEnclosed) for each in found)
    return [each for each in found if not isinstance(each, NotEnclosed)]


@pytest.mark.parametrize(
    ("name", "parameters"), [("svt_mix1", {}), ("noisy_max_laplace", {}), ("m_range_gauss", {})]
)
def test_arrays_contain_the_probabilities(name: str, parameters: dict[str, int]) -> None:
    states, source = source_of(name, **parameters)
    inputs = rows_of(states, 64)
    found = source.table(inputs, 30)
    assert found.obstacle is None
    assert found.lower.shape == found.upper.shape == (len(inputs), len(states.outputs))
    assert (found.lower >= 0).all() and (found.upper <= 1).all()
    assert (found.upper - found.lower <= 2.0**-30).all()
    fine = exact_rows(source, inputs[:12], 60)
    for place, enclosures in enumerate(fine):
        for output, exact in enumerate(enclosures):
            assert Fraction(found.lower[place, output]) <= exact.upper
            assert exact.lower <= Fraction(found.upper[place, output])
    generator = random.Random(1)
    outputs = [generator.randrange(len(states.outputs)) for _ in inputs * 2]
    places = [generator.randrange(len(inputs)) for _ in outputs]
    cells = source.cells(outputs, [inputs[place] for place in places], 30)
    assert cells.lower.shape == (len(outputs),)
    assert (cells.upper - cells.lower <= 2.0**-30).all()
    assert (cells.lower <= found.upper[places, outputs]).all()
    assert (found.lower[places, outputs] <= cells.upper).all()


class Failing:
    """Encloses nothing, or everything alike."""

    name = "failing"

    def __init__(self, answer: Enclosure | NotEnclosed) -> None:
        self.answer = answer
        self.batches: list[int] = []

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        assert len(set(events)) == len(events)
        self.batches.append(len(events))
        return Answers.of([self.answer for _ in events])


def test_lies_are_noticed() -> None:
    states, _ = source_of("svt_gauss", N=3)
    inputs = rows_of(states, 8)
    for answer in (Enclosure(Fraction(1, 100), Fraction(1, 50)), Enclosure.exact(Fraction(9, 10))):
        source = OutputProbabilities(states, HALF, Failing(answer), Limits())
        with pytest.raises(BrokenInvariant, match="sum"):
            source.table(inputs, 20)


def test_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dipapprox.events.catalogue._REMEMBERED", 20)
    states, source = source_of("svt_gauss", N=4)
    inputs = rows_of(states, 16)
    first = source.table(inputs, 30)
    for input in inputs:
        source.distribution(input, 30)
    again = source.table(inputs, 30)
    assert (again.lower <= first.upper).all() and (first.lower <= again.upper).all()
