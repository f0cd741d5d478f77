"""What happens to the workers of a pool when they are killed, not only to the sweep."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.experiments.sweep import pool
from dipapprox.experiments.sweep.pool import Pool, Worker, WorkerLost
from dipapprox.experiments.sweep.spec import Answered, Case, CaseLimits, CaseOutcome
from dipapprox.privacy.description import ProgramText
from tests.cases import HOPELESS, cases, text_of

LONG = Case(
    "verify",
    ProgramText("range.dpg", "dpg", text_of("m_range_gauss")),
    {"N": "40"},
    {"eps": "1/2", "delta": "1/100", "engine": "nested"},
    CaseLimits(Fraction(60), 1000),
)
"""A case that ends by its time limit only."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")


QUICK = Case(
    "verify",
    ProgramText("svt.dpg", "dpg", text_of("svt_gauss")),
    {"N": "1"},
    {"eps": "1/2", "delta": "1/100"},
    CaseLimits(Fraction(60), 1000),
)


@contextmanager
def running(jobs: int = 1) -> Iterator[Pool]:
    with contextlib.closing(Pool(jobs)) as found:
        yield found


class InBackground:
    """Cases that a pool runs, while a test does something to it."""

    def __init__(self, running: Pool, *asked: Case) -> None:
        self._found = list[Answered]()
        self._thread = threading.Thread(target=self._run, args=(running, asked), daemon=True)
        self._thread.start()

    def _run(self, running: Pool, asked: Sequence[Case]) -> None:
        with contextlib.suppress(WorkerLost):  # a test has closed it
            for batch in running.run(iter(asked)):
                self._found += batch

    def outcomes(self) -> list[CaseOutcome]:
        self._thread.join()
        return [outcome for _, outcome in self._found]


def worker_of(running: Pool, *others: Worker) -> Worker:
    """Wait for a worker that has got a case."""
    for _ in range(_LOOKS):
        for each in {*running._workers} - {*others}:
            if each.served:
                return each
        time.sleep(0.02)
    raise AssertionError("there is no worker")


_LOOKS = 1500
"""How often is looked before a test gives up."""


def has_ended(pid: int) -> bool:
    """Wait for the end of a process; False if it does not come, as `LONG` takes far longer."""
    for _ in range(_LOOKS):
        if not _lives(pid):
            return True
        time.sleep(0.02)
    return False


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def impatient(monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    """Let workers have other settings."""
    code = f"from dipapprox.experiments.sweep import sweep as w\n{settings}\nw.main()"
    monkeypatch.setattr(pool, "_WORKER", (sys.executable, "-c", code))


@needs_proc
def test_workers_end_with_their_pool_and_take_their_cases_with_them() -> None:
    with running(jobs=2) as own:
        asked = InBackground(own, LONG, LONG)
        one = worker_of(own)
        other = worker_of(own, one)
    assert has_ended(one.process.pid) and has_ended(other.process.pid)
    assert asked.outcomes() == []


def test_a_worker_ends_with_whoever_asks_it_in_the_middle_of_a_case() -> None:
    worker = Worker()
    with contextlib.closing(worker.connection) as own:
        own.recv()  # it has begun
        own.send(LONG)
    assert worker.process.wait(HOPELESS) == 0


@needs_proc
def test_a_case_that_somebody_killed_runs_again_and_is_not_called_too_large() -> None:
    with running() as own:
        asked = InBackground(own, LONG)
        first = worker_of(own)
        os.kill(first.process.pid, signal.SIGKILL)
        second = worker_of(own, first)
        os.kill(second.process.pid, signal.SIGKILL)
        (outcome,) = asked.outcomes()
    assert outcome.result is None
    assert outcome.failure is not None
    assert "killed twice from outside" in outcome.failure


@needs_proc
def test_a_worker_serves_many_cases_and_one_that_died_idle_is_not_missed() -> None:
    patient = replace(QUICK, limits=CaseLimits(Fraction(10**7), 1000))
    with running() as own:
        results = [own.outcome(patient).result]
        worker = worker_of(own)
        results += [own.outcome(QUICK).result for _ in range(3)]
        assert worker_of(own) is worker
        os.kill(worker.process.pid, signal.SIGKILL)
        results += [own.outcome(QUICK).result]
        assert worker_of(own, worker)
    assert results[0] is not None
    assert all(result == results[0] for result in results)


def test_no_case_pays_for_the_memory_of_those_before_it(monkeypatch) -> None:
    """One that leaves a worker too large for it is run again, and not called too large."""
    made = list[Worker]()
    impatient(monkeypatch, "w.peak_memory = lambda: 500")
    monkeypatch.setattr(pool, "Worker", lambda: made.append(Worker()) or made[-1])
    with running() as own:
        large = own.outcome(QUICK)
        small = own.outcome(replace(QUICK, limits=CaseLimits(Fraction(60), 200)))
    assert [worker.served for worker in made] == [2, 1]
    assert small.result == large.result
    assert small.result["verdict"] == "DP"


@needs_proc
@cases("settings, workers", ("w._MOST_CASES = 2", [1, 0]), ("w._GROWTH = -1", [0]))
def test_workers_that_served_much_or_grew_are_replaced(monkeypatch, settings, workers) -> None:
    impatient(monkeypatch, settings)
    with running() as own:
        for count in workers:
            assert own.outcome(QUICK).result is not None
            assert len(own._workers) == count


_ASLEEP = """
import time
run = w.run_case
w.run_case = lambda case: run(case) if case.limits.seconds > 1 else time.sleep(3600)
w._GRACE = 0.1"""


@needs_proc
def test_a_case_that_does_not_look_at_its_clock_is_ended(monkeypatch) -> None:
    impatient(monkeypatch, _ASLEEP)
    with running() as own:
        asked = InBackground(own, replace(LONG, limits=CaseLimits(Fraction(1, 2), 1000)), QUICK)
        late, quick = asked.outcomes()
    assert late.failure == "time limit: 0.5 s"
    assert quick.result is not None


@needs_proc
def test_a_pool_whose_worker_is_killed_gives_every_answer_once() -> None:
    asked = [replace(QUICK, fields={**QUICK.fields, "eps": str(k)}) for k in range(1, 12)]
    with running(jobs=2) as own:
        batches = own.run(iter(asked))
        found = next(batches)
        worker_of(own).process.kill()
        for batch in batches:
            found += batch
    assert len(found) == len(asked)
    assert {case.key for case, _ in found} == {case.key for case in asked}
    assert all(outcome.result is not None for _, outcome in found)


def test_workers_that_die_at_once_are_given_up(monkeypatch) -> None:
    monkeypatch.setattr(pool, "_WORKER", (sys.executable, "-c", "raise SystemExit(1)"))
    with running(jobs=2) as own, pytest.raises(WorkerLost, match="died twice"):
        list(own.run(iter([QUICK])))


def test_what_came_beside_a_failure_is_kept() -> None:
    """And the failure, of whatever carries cases, tells which case it is about."""
    others = [replace(QUICK, fields={**QUICK.fields, "eps": str(k)}) for k in (1, 2)]
    outcome = CaseOutcome({}, None, 0.0)

    def start(bundle: Sequence[Case]) -> Future[list[CaseOutcome]]:
        made = Future[list[CaseOutcome]]()
        if bundle == [others[0]]:
            made.set_exception(KeyError("a message that nobody reads"))
        else:
            made.set_result([outcome])
        return made

    batches = pool._run(iter([QUICK, *others]), start, lambda: 1)
    assert {case.key for case, _ in next(batches)} == {QUICK.key, others[1].key}
    with pytest.raises(WorkerLost, match=f"case {others[0].key}: KeyError"):
        next(batches)
