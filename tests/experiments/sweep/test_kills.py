"""What happens to a fork server and its children when they are killed, not only to the sweep."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.experiments.sweep import pool
from dipapprox.experiments.sweep.pool import Pool, Server, WorkerLost
from dipapprox.experiments.sweep.spec import Case, CaseLimits, CaseOutcome, NamedProgram
from tests.cases import cases
from tests.texts import text_of

LONG = Case(
    "verify",
    NamedProgram("range.dpg", "dpg", text_of("m_range_gauss")),
    {"N": "40"},
    {"eps": "1/2", "delta": "1/100", "engine": "nested"},
    CaseLimits(Fraction(60), 1000),
)
"""A case that ends by its time limit only."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")


QUICK = Case(
    "verify",
    NamedProgram("svt.dpg", "dpg", text_of("svt_gauss")),
    {"N": "1"},
    {"eps": "1/2", "delta": "1/100"},
    CaseLimits(Fraction(60), 1000),
)


@contextmanager
def serving(jobs: int = 1) -> Iterator[Server]:
    with contextlib.closing(Server(jobs)) as server:
        yield server


def answer(server: Server, case: Case) -> CaseOutcome:
    server.requests.send((7, case))
    reply = server.replies.get()
    assert reply[0] == 7
    return reply[1]


def children_of(server: int) -> list[int]:
    """The children of the server that live now."""
    processes = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return [process for process in processes if _parent(process) == server]


def child_of(server: int, other_than: int = 0) -> int:
    """Wait for a child of the server, and return its process."""
    for _ in range(_LOOKS):
        for pid in children_of(server):
            if pid != other_than:
                return pid
        time.sleep(0.02)
    raise AssertionError("the server has no child")


_LOOKS = 1500
"""How often is looked before a test gives up."""


def has_ended(pid: int) -> bool:
    """Wait for the end of a process; False if it does not come, as `LONG` takes far longer."""
    for _ in range(_LOOKS):
        if _parent(pid) is None:
            return True
        time.sleep(0.02)
    return False


def _parent(pid: int) -> int | None:
    """The parent of a process that runs; None if it has ended."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)


def impatient(monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    """Let fork servers have other settings."""
    code = f"from dipapprox.experiments.sweep import fork_server as s\n{settings}\ns.main()"
    monkeypatch.setattr(pool, "_FORK_SERVER", (sys.executable, "-c", code))


@needs_proc
def test_a_killed_server_takes_its_case_with_it_and_is_missed_at_once() -> None:
    with serving() as server:
        server.requests.send((0, LONG))
        child = child_of(server.process.pid)
        time.sleep(0.2)  # the child has begun
        server.process.kill()
        assert has_ended(child)
        assert server.replies.get() is None  # nobody else holds the pipe open


@needs_proc
def test_a_server_ends_with_its_requests_and_takes_its_cases_with_it() -> None:
    with serving(jobs=2) as server:
        server.requests.send((0, LONG))
        one = child_of(server.process.pid)
        server.requests.send((1, LONG))
        other = child_of(server.process.pid, other_than=one)
    assert has_ended(one)
    assert has_ended(other)
    assert server.process.returncode == 0
    assert server.replies.get() is None


@needs_proc
def test_a_case_that_somebody_killed_runs_again_and_is_not_called_too_large() -> None:
    with serving() as server:
        server.requests.send((0, LONG))
        first = child_of(server.process.pid)
        os.kill(first, signal.SIGKILL)
        second = child_of(server.process.pid, other_than=first)
        os.kill(second, signal.SIGKILL)
        reply = server.replies.get()
    assert reply[1].result is None
    assert reply[1].failure is not None
    assert "killed twice from outside" in reply[1].failure


@needs_proc
def test_a_child_serves_many_cases_and_one_that_died_idle_is_not_missed() -> None:
    patient = replace(QUICK, limits=CaseLimits(Fraction(10**7), 1000))
    with serving() as server:
        results = [answer(server, patient).result]
        child = child_of(server.process.pid)
        results += [answer(server, QUICK).result for _ in range(3)]
        assert child_of(server.process.pid) == child
        os.kill(child, signal.SIGKILL)
        results += [answer(server, QUICK).result]
        assert child_of(server.process.pid, other_than=child)
    assert results[0] is not None
    assert all(result == results[0] for result in results)


_GREEDY = """
run = s.run_case
def greedy(case):
    large = b"x" * (300 << 20) if case.limits.memory == 1000 else b""
    return run(case)
s.run_case = greedy
s._GROWTH = 10**6"""


@needs_proc
def test_no_case_pays_for_the_memory_of_those_before_it(monkeypatch) -> None:
    impatient(monkeypatch, _GREEDY)
    with serving() as server:
        large = answer(server, QUICK)
        child = child_of(server.process.pid)
        small = answer(server, replace(QUICK, limits=CaseLimits(Fraction(60), 200)))
        assert child_of(server.process.pid, other_than=child) != child
    assert small.result == large.result
    assert small.result["verdict"] == "DP"


@needs_proc
@cases("settings, children", ("s._MOST_CASES = 2", [1, 0, 1, 0]), ("s._GROWTH = -1", [0, 0]))
def test_children_that_served_much_or_grew_are_replaced(monkeypatch, settings, children) -> None:
    impatient(monkeypatch, settings)
    with serving() as server:
        for count in children:
            assert answer(server, QUICK).result is not None
            assert len(children_of(server.process.pid)) == count


@needs_proc
def test_a_child_that_does_not_look_at_its_clock_is_killed(monkeypatch) -> None:
    impatient(monkeypatch, "s._GRACE = 0.1")
    with serving() as server:
        server.requests.send((0, replace(LONG, limits=CaseLimits(Fraction(1, 2), 1000))))
        child = child_of(server.process.pid)
        os.kill(child, signal.SIGSTOP)
        server.requests.send((1, QUICK))
        replies = [server.replies.get(), server.replies.get()]
        assert has_ended(child)
    assert replies[0][0] == 0
    assert replies[0][1].failure == "time limit: 0.5 s"
    assert replies[1][1].result is not None


@needs_proc
def test_a_pool_whose_server_is_killed_gives_every_answer_once() -> None:
    cases = [replace(QUICK, fields={**QUICK.fields, "eps": str(k)}) for k in range(1, 40)]
    with contextlib.closing(Pool(2)) as running:
        batches = running.run(iter(cases))
        found = next(batches)
        running._server.process.kill()
        for batch in batches:
            found += batch
    assert len(found) == len(cases)
    assert {case.key for case, _ in found} == {case.key for case in cases}
    assert all(outcome.result is not None for _, outcome in found)


def test_servers_that_die_at_once_are_given_up(monkeypatch) -> None:
    monkeypatch.setattr(pool, "_FORK_SERVER", (sys.executable, "-c", "raise SystemExit(1)"))
    with contextlib.closing(Pool(2)) as running, pytest.raises(WorkerLost, match="died twice"):
        list(running.run(iter([QUICK])))
