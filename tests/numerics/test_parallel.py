"""Several processes: the same answers, limits that hold, no process left behind."""

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

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.events.event import Connected, Event
from dipapprox.integrals.integral import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits, ask
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.parallel import Parallel
from tests.thorough import part
from tests.waiting import HOPELESS

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
    """Takes its process with it."""

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
    """Says that it has begun."""

    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        os.write(1, b"begun\n")  # in one piece, whoever else writes
        return super().one(event, bits, limits)


@pytest.mark.parametrize("end", part([signal.SIGINT, signal.SIGKILL], 2))
def test_no_worker_outlives_the_process(end: signal.Signals) -> None:
    script = (
        "import signal\n"
        "from test_parallel import EVENTS, Announced, Limits, Parallel\n"
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
