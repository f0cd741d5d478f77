"""From inputs to probabilities, one input and many at once, against events made one by one."""

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, product
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrambled import raw_events

import dipapprox
from dipapprox import Enclosure, Engine, Limits, NotEnclosed, Options
from dipapprox.errors import BrokenInvariant
from dipapprox.events.canonical import canonical
from dipapprox.events.catalogue import Catalogue, by_input
from dipapprox.events.event import Connected, Independent, Star, spelled_out
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.exact.choices.circuits import chosen_probability
from dipapprox.language.core import Input, Value
from dipapprox.language.load import load
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy.sources import open_method
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.cases import cases, refuses
from tests.numerics.recording import Recording
from tests.semantics.interpreter import Noise, distribution
from tests.semantics.strategies import programs
from tests.texts import text_of

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
    for output, event, chosen in raw_events(Instantiator(states, eps), states, input):
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
def test_random_programs(program, merge, seed) -> None:
    states = execute(program, merge, Limits())
    check_roads(states, rows_of(states, 36, seed))


RESPONSE = "out <- choose {q : 2/3, 1 - q : 1/3}\n"
NOISY_RESPONSE = text_of("numerics/bulk-noisy_response")
"""The truth about q[1] decides which comparison is made, of reals or integers."""

THRESHOLDS = text_of("numerics/bulk-thresholds")
"""Integers against inputs, alone and in differences: the guards vary with the input."""

WALK = text_of("numerics/bulk-walk")
"""At most three rounds of a walk whose drift is an input; it may stop the program."""

FIRST = text_of("numerics/bulk-first")
IN_GUARDS = FIRST.replace("Lap(q[i], 4 / eps)", "Lap(0, 4 / eps)").replace(
    "r >= t", "r + q[i] >= t"
)


@cases(
    "text, distinct",
    (NOISY_RESPONSE, None),
    (THRESHOLDS, None),
    (WALK, None),
    # It only matters how many of the k leaves below the threshold have mean 1: k + 1 cases,
    # twice where one leaf is above.
    (FIRST, 2 * (1 + 2 + 3 + 4) + 5),
    (IN_GUARDS, 2 * (1 + 2 + 3 + 4) + 5),
    # t <= 0, t <= 1, t >= 0, t >= 1, 0 <= t <= 1: the first and third are mirror images
    (FIRST.replace("r <- Lap(q[i], 4 / eps)", "r <- q[i]").replace("Lap", "Gauss"), 4),
)
@pytest.mark.parametrize("merge", [True, False])
def test_choices_integers_and_inputs_in_guards(text, distinct, merge) -> None:
    states = execute(dipapprox.parse(text), merge, Limits())
    inputs = rows_of(states, 16)
    check_roads(states, inputs)
    catalogue = Catalogue(states, HALF)
    by_catalogue(catalogue, states, inputs)
    assert distinct in (None, len(catalogue.events))


@pytest.mark.parametrize("text", [WALK, "input q in {0, 1}\noutput out in 0..1\n" + RESPONSE])
def test_probabilities_of_choices_are_those_of_the_enumerated_runs(text) -> None:
    program = dipapprox.parse(text)
    states = execute(program, True, Limits())
    catalogue, nothing_drawn = Catalogue(states, HALF), Noise(random.Random(0))
    for input in rows_of(states, 16):
        found = Counter[tuple[Value, ...]]()
        for output, numbers in catalogue.states([input])[0]:
            chances = [
                chosen_probability(catalogue.events[each], Limits()).numerator.as_constant()
                for each in numbers
            ]
            found[states.outputs[output]] += prod(chances, start=Fraction(1))
        assert +found == distribution(program, input, nothing_drawn)
    assert catalogue.where(0).startswith("a choice where out = ")


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


@cases("name, parameters", ("svt_mix1", {}), ("noisy_max_laplace", {}), ("m_range_gauss", {}))
def test_arrays_contain_the_probabilities(name, parameters) -> None:
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


def test_failures_are_values_and_lies_are_noticed() -> None:
    states, _ = source_of("svt_gauss", N=3)
    inputs = rows_of(states, 8)
    failing = OutputProbabilities(states, HALF, Recording(NotEnclosed("no idea")), Limits())
    found = failing.distribution(inputs[0], 20)
    assert found.reason.startswith("the guards of line 22 tie")
    assert found.reason.endswith(": no idea")
    for answer in (Enclosure(Fraction(1, 100), Fraction(1, 50)), Enclosure.exact(Fraction(9, 10))):
        lying = Recording(answer)
        source = OutputProbabilities(states, HALF, lying, Limits())
        refuses(BrokenInvariant, "sum", source.table, inputs, 20)
        assert len(set(lying.asked)) == len(lying.asked) > 1
        refuses(BrokenInvariant, "sum", source.distribution, inputs[0], 20)


def test_svt_gauss_oracles() -> None:
    states, source = source_of("svt_gauss", N=2)
    expected = {
        # outputs (1,0), (0,1), (0,0) at eps = 1/2: symmetry and bivariate normal integrals
        (0, 0): ("0.5", "0.2179528915755125342", "0.2820471084244874658"),
        (0, 1): ("0.5", "0.2404104725151407021", "0.2595895274848592979"),
        (1, 0): ("0.5445103537446830091", "0.1959001187704576931", "0.2595895274848592979"),
        (1, 1): ("0.5445103537446830091", "0.2163347112413346041", "0.2391549350139823868"),
    }
    order = [states.outputs.index(tuple(map(Fraction, o))) for o in ((1, 0), (0, 1), (0, 0))]
    for queries, references in expected.items():
        found = source.distribution(tuple(map(Fraction, queries)), 58)
        assert all(each.lower >= 0 and each.upper <= 1 for each in found)
        for k, reference in zip(order, references, strict=True):
            assert found[k].width <= Fraction(1, 2**58)
            assert abs(found[k].lower - Fraction(reference)) <= Fraction(1, 10**17)


def test_memory_is_given_back(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.events.catalogue._REMEMBERED", 20)
    states, source = source_of("svt_gauss", N=4)
    inputs = rows_of(states, 16)
    first = source.table(inputs, 30)
    for input in inputs:
        source.distribution(input, 30)
    again = source.table(inputs, 30)
    assert (again.lower <= first.upper).all() and (first.lower <= again.upper).all()
