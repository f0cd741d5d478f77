"""Who answers what, one input and many at once, in how many steps and processes."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import islice, product
from math import prod
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Engine, Options
from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant, Contradiction, LimitReached
from dipapprox.events.canonical import canonical
from dipapprox.events.catalogue import Catalogue, by_input
from dipapprox.events.event import Connected, Event, Mixture, Star, spelled_out
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.exact.choices.circuits import chosen_probability
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input, Value
from dipapprox.language.load import load
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits, check_limits, current, limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.methods import Answers, InOrder, Method, MixtureMethod, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.parallel import Parallel
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy.subjects import open_method
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.cases import HOPELESS, cases, part, refuses, text_of
from tests.event_strategies import gauss, laplace, less
from tests.numerics.one_by_one import Recording, alone
from tests.scrambled import raw_events
from tests.semantics.interpreter import Noise, distribution
from tests.semantics.strategies import programs

Q = Fraction
CHAIN = Event((gauss(0), gauss(1), laplace(0)), (less(0, 1), less(1, 2)))
KNOT = Event(
    (gauss(0), gauss(1)),
    (LinearForm.of({0: Q(1), 1: Q(1)}, Q(-1)), LinearForm.of({0: Q(1), 1: Q(2)}, Q(-2))),
)
STEPS = 600
WIDE = Event(
    tuple(gauss(i) for i in range(8)),
    tuple(LinearForm.of({i: Q(1), i + 1: Q(2), i + 2: Q(-1)}, Q(0)) for i in range(6)),
)


def everything(event: Connected) -> bool:
    return True


def in_turn(first: Method, second: Method, *, narrows: bool = True, steps: int = STEPS) -> InOrder:
    """A quick method, and a slow one for what it leaves open."""
    slow = TriedMethod(lambda: second, everything, narrows, steps=steps)
    return InOrder([TriedMethod(lambda: first, everything), slow], first.name)


def both() -> InOrder:
    return in_turn(Eliminated(), Nested(Strategy.LEAST_NESTING))


def test_a_component_out_of_reach_is_named_and_leaves_time_for_others() -> None:
    found, other = both().enclose([WIDE, KNOT], 30)
    assert isinstance(found, NotEnclosed) and isinstance(other, Enclosure)
    assert "elimination: a guard compares 3 samples" in found.reason
    assert f"nested: work limit: more than {STEPS} steps" in found.reason


class _Patient:
    """A second engine that never ends, and counts how often it asked."""

    name = "patient"

    def __init__(self) -> None:
        self.steps = 0

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        while True:
            check_limits()
            self.steps += 1


def test_the_time_of_the_user_ends_all(work_clock) -> None:
    with pytest.raises(LimitReached) as reached, limited(Limits(seconds=0.5, started=0.0)):
        in_turn(Eliminated(), _Patient()).enclose([CHAIN, WIDE], 30)
    assert reached.value.reason.startswith("time limit: 0.5 s (elimination (float64): a guard")
    assert reached.value.event == WIDE


def test_what_took_too_long_is_not_tried_again_in_a_larger_size() -> None:
    late = Recording(LimitReached("time limit: 0 s"))
    engine = in_turn(Eliminated(), late)
    for bits in (80, 40, 60, 40):
        assert isinstance(alone(engine, KNOT, bits), NotEnclosed)
    assert late.bits == [80, 40]


def test_mixtures_have_the_ends_of_their_factors_asked_for_with_bits_to_spare() -> None:
    quarter, third = Q(1, 4), Q(1, 3)
    recorded = Recording(Enclosure(quarter, third))
    mixture = Mixture(((2, ((EVENTS[0], 1), (EVENTS[1], 2))), (1, ((EVENTS[1], 1),))))
    found = MixtureMethod(lambda: recorded).enclose([mixture], 10)[0]
    assert found == Enclosure(2 * quarter**3 + quarter, 2 * third**3 + third)
    assert recorded.bits == [10 + (7).bit_length()], "of seven factors"


def test_limits_of_the_run_are_not_swallowed() -> None:
    with limited(Limits(seconds=0.0)):
        refuses(LimitReached, "time limit", alone, both(), WIDE, 30)


def test_engines_that_contradict_each_other_are_noticed() -> None:
    with pytest.raises(BrokenInvariant, match="disjoint"):
        coarse, nested = Recording(Enclosure(Q(1, 2), Q(3, 4))), Nested(Strategy.LEAST_NESTING)
        alone(in_turn(coarse, nested, steps=10**6), KNOT, 40)


def doubles(*ends: tuple[float, float]) -> Answers:
    found = Answers(len(ends))
    lower, upper = np.array(ends).T
    found.bound(np.arange(len(ends)), lower, upper)
    return found


def test_what_is_known_intersects_whatever_comes() -> None:
    third = Enclosure(Fraction(1, 3), Fraction(2, 3))
    known = Answers(2)
    assert known.enclosure(0) == UNIT
    known.update([0, 1], doubles((0.25, 0.75), (0.0, 0.5)), "first")
    assert known[0] == Enclosure(Fraction(1, 4), Fraction(3, 4))
    known.update([0, 1], Answers.of([third, NotEnclosed("too hard")]), "second")
    assert known[0] == third
    assert known[1] == Enclosure(Fraction(0), Fraction(1, 2))
    assert known.reasons == {1: "too hard"}
    assert known.wide(2) == [0, 1]
    assert known.wide(1) == []
    known.update([0, 1], doubles((0.5, 0.75), (0.25, 1.0)), "third")
    assert known[0] == Enclosure(Fraction(1, 2), Fraction(2, 3))
    assert known[1] == Enclosure(Fraction(1, 4), Fraction(1, 2))
    assert known.reasons == {}
    for number in (0, 1):
        found = known.enclosure(number)
        assert Fraction(known.lower[number]) <= found.lower
        assert found.upper <= Fraction(known.upper[number])
    with pytest.raises(Contradiction, match="fourth"):
        known.update([1], doubles((0.75, 1.0)), "fourth")


# --- Several processes ----------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent.parent
NESTED = partial(Nested, Strategy.LEAST_NESTING)


def event(shift: int) -> Event:
    """x0 <= x1, two Gaussians `shift` apart."""
    laws = (Distribution(GAUSSIAN, Fraction(mean), Fraction(1)) for mean in (0, shift))
    return Event(tuple(laws), (LinearForm.of({0: Fraction(1), 1: Fraction(-1)}),))


EVENTS = [event(shift) for shift in range(12)]


class Stubborn:
    """Answers never, and does not ask the limits."""

    name = "stubborn"

    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        while True:
            signal.pause()

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        return Answers.of([self.one(event, bits) for event in events])


class Dying(Stubborn):
    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        os._exit(1)


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    """Those of other tests in this process may be about to end."""
    before = active_children()
    yield
    assert not {*active_children()} - {*before}


def test_workers_answer_as_one_process_does() -> None:
    alone = NESTED().enclose(EVENTS, 40)
    shared = Parallel(NESTED, 2, patience=0.0)
    assert shared.enclose(EVENTS, 40) == alone
    assert shared.name == "nested"


def test_short_batches_start_no_process() -> None:
    patient = Parallel(NESTED, 2, patience=1000.0)
    assert len(patient.enclose(EVENTS, 40)) == len(EVENTS)
    assert patient.enclose([], 40) == Answers(0)


def test_the_time_limit_holds() -> None:
    with pytest.raises(LimitReached, match="time limit"), limited(Limits(seconds=1.0)):
        Parallel(Stubborn, 1, patience=0.0).enclose(EVENTS, 40)


class Telling(Stubborn):
    """Says which limits are those of the worker."""

    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        return NotEnclosed(str(current().seconds))


def test_workers_ask_the_limits_of_the_run() -> None:
    with limited(Limits(seconds=1000.0)):
        found = Parallel(Telling, 1, patience=-1.0).enclose(EVENTS, 40)
    assert [found[k] for k in range(len(EVENTS))] == [NotEnclosed("1000.0")] * len(EVENTS)


def test_a_worker_that_dies_is_a_limit() -> None:
    with pytest.raises(LimitReached, match="worker process"):
        Parallel(Dying, 1, patience=0.0).enclose(EVENTS, 40)


class Announced(Stubborn):
    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        os.write(1, b"begun\n")  # in one piece, whoever else writes
        return super().one(event, bits)


@pytest.mark.parametrize("end", part([signal.SIGINT, signal.SIGKILL], 2))
def test_no_worker_outlives_the_process(end) -> None:
    script = (
        "import signal\n"
        "from test_methods import EVENTS, Announced, Parallel\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    Parallel(Announced, 2, patience=0.0).enclose(EVENTS, 40)\n"
    )
    paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        assert process.stdout.readline() == "begun\n"
        if end == signal.SIGINT:
            os.killpg(process.pid, end)  # as the terminal does
        else:
            process.kill()
        # Its output ends when nobody holds it open any more, workers included.
        _, errors = process.communicate(timeout=HOPELESS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -end
    assert ("KeyboardInterrupt" in errors) == (end == signal.SIGINT)
    assert "spawn_main" not in errors and "SpawnProcess" not in errors, "workers say nothing"


# --- From inputs to probabilities, one input and many at once, against events made one by one -----

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
        if reduced is not None:
            events = [*map(canonical, reduced), *([chosen] if chosen else [])]
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
    states = execute(program, merge)
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
    states = execute(dipapprox.parse(text), merge)
    inputs = rows_of(states, 16)
    check_roads(states, inputs)
    catalogue = Catalogue(states, HALF)
    by_catalogue(catalogue, states, inputs)
    assert distinct in (None, len(catalogue.events))


@pytest.mark.parametrize("text", [WALK, "input q in {0, 1}\noutput out in 0..1\n" + RESPONSE])
def test_probabilities_of_choices_are_those_of_the_enumerated_runs(text) -> None:
    program = dipapprox.parse(text)
    states = execute(program, True)
    catalogue, nothing_drawn = Catalogue(states, HALF), Noise(random.Random(0))
    for input in rows_of(states, 16):
        found = Counter[tuple[Value, ...]]()
        for output, numbers in catalogue.states([input])[0]:
            chances = [
                chosen_probability(catalogue.events[each]).numerator.as_constant()
                for each in numbers
            ]
            found[states.outputs[output]] += prod(chances, start=Fraction(1))
        assert +found == distribution(program, input, nothing_drawn)
    assert catalogue.where(0).startswith("a choice where out = ")


def source_of(name: str, **parameters: int) -> tuple[FinalStates, OutputProbabilities]:
    exact = {key: Fraction(value) for key, value in parameters.items()}
    path = next(path for path in PROGRAMS if path.stem == name)
    states = execute(load(path, exact), True)
    method = open_method(Options(engine=Engine.NESTED))
    return states, OutputProbabilities(states, HALF, method)


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
    failing = OutputProbabilities(states, HALF, Recording(NotEnclosed("no idea")))
    found = failing.distribution(inputs[0], 20)
    assert found.reason.startswith("the guards of line 22 tie")
    assert found.reason.endswith(": no idea")
    for answer in (Enclosure(Fraction(1, 100), Fraction(1, 50)), Enclosure.exact(Fraction(9, 10))):
        lying = Recording(answer)
        source = OutputProbabilities(states, HALF, lying)
        refuses(BrokenInvariant, "sum", source.table, inputs, 20)
        assert len(set(lying.asked)) == len(lying.asked) > 1
        refuses(BrokenInvariant, "sum", source.distribution, inputs[0], 20)


def test_memory_is_given_back(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.events.catalogue._REMEMBERED", 20)
    states, source = source_of("svt_gauss", N=4)
    inputs = rows_of(states, 16)
    first = source.table(inputs, 30)
    for input in inputs:
        source.distribution(input, 30)
    again = source.table(inputs, 30)
    assert (again.lower <= first.upper).all() and (first.lower <= again.upper).all()
