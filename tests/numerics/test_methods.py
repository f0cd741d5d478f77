"""Who answers what, in how many steps and processes, and what is said when none does."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected, Event, Mixture
from dipapprox.integrals.integral import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits, ask
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.methods import Answers, InOrder, Method, MixtureMethod, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.parallel import Parallel
from dipapprox.numerics.probability import EventStore
from tests.cases import refuses
from tests.event_strategies import gauss, laplace, less
from tests.numerics.alone import alone
from tests.numerics.recording import Recording
from tests.thorough import part
from tests.waiting import HOPELESS

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
    found, other = both().enclose([WIDE, KNOT], 30, Limits())
    assert isinstance(found, NotEnclosed) and isinstance(other, Enclosure)
    assert "elimination: a guard compares 3 samples" in found.reason
    assert f"nested: work limit: more than {STEPS} steps" in found.reason


class _Patient:
    """A second engine that never ends, and counts how often it asked."""

    name = "patient"

    def __init__(self) -> None:
        self.steps = 0

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        while True:
            limits.check()
            self.steps += 1


def test_the_time_of_the_user_ends_all(work_clock) -> None:
    with pytest.raises(LimitReached) as reached:
        limits = Limits(seconds=0.5, started=0.0)
        in_turn(Eliminated(), _Patient()).enclose([CHAIN, WIDE], 30, limits)
    assert reached.value.reason.startswith("time limit: 0.5 s (elimination (float64): a guard")
    assert reached.value.event == WIDE


def test_what_took_too_long_is_not_tried_again_in_a_larger_size() -> None:
    late = Recording(LimitReached("time limit: 0 s"))
    engine = in_turn(Eliminated(), late)
    for bits in (80, 40, 60, 40):
        assert isinstance(alone(engine, KNOT, bits, Limits()), NotEnclosed)
    assert late.bits == [80, 40]


def test_mixtures_have_the_ends_of_their_factors_asked_for_with_bits_to_spare() -> None:
    quarter, third = Q(1, 4), Q(1, 3)
    recorded = Recording(Enclosure(quarter, third))
    mixture = Mixture(((2, ((EVENTS[0], 1), (EVENTS[1], 2))), (1, ((EVENTS[1], 1),))))
    found = MixtureMethod(lambda: recorded).enclose([mixture], 10, Limits())[0]
    assert found == Enclosure(2 * quarter**3 + quarter, 2 * third**3 + third)
    assert recorded.bits == [10 + (7).bit_length()], "of seven factors"


def test_limits_of_the_run_are_not_swallowed() -> None:
    refuses(LimitReached, "time limit", alone, both(), WIDE, 30, Limits(seconds=0.0))


def test_engines_that_contradict_each_other_are_noticed() -> None:
    with pytest.raises(BrokenInvariant, match="disjoint"):
        coarse, nested = Recording(Enclosure(Q(1, 2), Q(3, 4))), Nested(Strategy.LEAST_NESTING)
        alone(in_turn(coarse, nested, steps=10**6), KNOT, 40, Limits())


class Scripted:
    """Gives the answers it was made with, one batch after the other."""

    name = "scripted"

    def __init__(self, *batches: Answers) -> None:
        self._batches = list(batches)

    def enclose(self, events: object, bits: int, limits: Limits) -> Answers:
        return self._batches.pop(0)


def doubles(*ends: tuple[float, float]) -> Answers:
    found = Answers(len(ends))
    lower, upper = np.array(ends).T
    found.bound(np.arange(len(ends)), lower, upper)
    return found


def test_a_store_intersects_whatever_comes() -> None:
    third = Enclosure(Fraction(1, 3), Fraction(2, 3))
    store = EventStore(
        Scripted(
            doubles((0.25, 0.75), (0.0, 0.5)),
            Answers.of([third, NotEnclosed("too hard")]),
            doubles((0.5, 0.75), (0.25, 1.0)),
        ),
        Limits(),
    )
    assert store.enclosure(0) == UNIT
    store.require(EVENTS[:2], [0, 1], 3)
    assert store.enclosure(0) == Enclosure(Fraction(1, 4), Fraction(3, 4))
    store.require(EVENTS[:2], [0, 1], 4)
    assert store.enclosure(0) == third
    assert store.enclosure(1) == Enclosure(Fraction(0), Fraction(1, 2))
    assert store.obstacle([0, 1], 4) == "too hard"
    assert store.obstacle([0, 1], 1) is None  # that much is known
    store.require(EVENTS[:2], [0, 1], 5)
    assert store.enclosure(0) == Enclosure(Fraction(1, 2), Fraction(2, 3))
    assert store.enclosure(1) == Enclosure(Fraction(1, 4), Fraction(1, 2))
    assert store.obstacle([0, 1], 5) is None
    for number in (0, 1):
        known = store.enclosure(number)
        assert Fraction(store.lower[number]) <= known.lower
        assert known.upper <= Fraction(store.upper[number])


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

    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        while True:
            signal.pause()

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        return Answers.of([self.one(event, bits, limits) for event in events])


class Dying(Stubborn):
    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        os._exit(1)


def test_workers_answer_as_one_process_does() -> None:
    alone = NESTED().enclose(EVENTS, 40, Limits())
    shared = Parallel(NESTED, 2, patience=0.0)
    assert shared.enclose(EVENTS, 40, Limits()) == alone
    assert shared.name == "nested"
    assert active_children() == []


def test_short_batches_start_no_process() -> None:
    patient = Parallel(NESTED, 2, patience=1000.0)
    assert len(patient.enclose(EVENTS, 40, Limits())) == len(EVENTS)
    assert patient.enclose([], 40, Limits()) == Answers(0)


def test_the_time_limit_holds() -> None:
    with pytest.raises(LimitReached, match="time limit"):
        Parallel(Stubborn, 1, patience=0.0).enclose(EVENTS, 40, Limits(seconds=1.0))
    assert active_children() == []


class Telling(Stubborn):
    """Says what limits arithmetic asks that is handed none."""

    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        asked = list[Limits]()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Limits, "check", lambda self: asked.append(self))
            ask()
        return NotEnclosed(str(asked == [limits]))


def test_workers_ask_the_limits_of_the_run() -> None:
    found = Parallel(Telling, 1, patience=-1.0).enclose(EVENTS, 40, Limits(seconds=1000.0))
    assert [found[k] for k in range(len(EVENTS))] == [NotEnclosed("True")] * len(EVENTS)


def test_a_worker_that_dies_is_a_limit() -> None:
    with pytest.raises(LimitReached, match="worker process"):
        Parallel(Dying, 1, patience=0.0).enclose(EVENTS, 40, Limits())
    assert active_children() == []


class Announced(Stubborn):
    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        os.write(1, b"begun\n")  # in one piece, whoever else writes
        return super().one(event, bits, limits)


@pytest.mark.parametrize("end", part([signal.SIGINT, signal.SIGKILL], 2))
def test_no_worker_outlives_the_process(end) -> None:
    script = (
        "import signal\n"
        "from test_methods import EVENTS, Announced, Limits, Parallel\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    Parallel(Announced, 2, patience=0.0).enclose(EVENTS, 40, Limits())\n"
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
