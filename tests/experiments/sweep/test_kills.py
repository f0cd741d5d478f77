"""What happens to a fork server and its children when they are killed, not only to the sweep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.experiments.sweep.case import Case
from dipapprox.experiments.sweep.messages import case_fields
from dipapprox.experiments.sweep.spec import CaseLimits, ProgramFile
from dipapprox.experiments.sweep.worker import FORK_SERVER
from dipapprox.language.load import BUNDLED
from tests.waiting import wait_until

LONG = Case(
    "verify",
    ProgramFile("range.dpg", "dpg", (BUNDLED / "m_range_gauss.dpg").read_text()),
    {"N": "40"},
    {"eps": "1/2", "delta": "1/100", "engine": "nested"},
    CaseLimits(Fraction(10**6), 1000),
)
"""A case that ends by its time limit only."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux only")


@contextmanager
def server() -> Iterator[subprocess.Popen[str]]:
    """A fork server that is busy with `LONG`."""
    words = [sys.executable, "-m", FORK_SERVER]
    process = subprocess.Popen(
        words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(case_fields(LONG)) + "\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()


def child_of(server: subprocess.Popen[str], other_than: int = 0) -> int:
    """Wait for a child of the server, and return its process."""
    found: list[int] = []

    def looked() -> bool:
        pids = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
        found.extend(pid for pid in pids if pid != other_than and _parent(pid) == server.pid)
        return bool(found)

    wait_until(looked, server)
    return found[0]


def _stat(pid: int) -> list[str]:
    """What /proc/PID/stat says behind the name, the state first; nothing if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] == "Z" else fields


def _parent(pid: int) -> int | None:
    """The parent of a process that runs; None if it has ended."""
    return int(fields[1]) if (fields := _stat(pid)) else None


def _works(pid: int) -> bool:
    """Whether a process has used the processor for a while: some hundredths of a second."""
    return bool(fields := _stat(pid)) and int(fields[11]) + int(fields[12]) >= 5


@needs_proc
def test_a_killed_server_takes_its_case_with_it_and_is_missed_at_once() -> None:
    with server() as process:
        child = child_of(process)
        wait_until(lambda: _works(child), process)
        process.kill()
        assert process.stdout is not None
        wait_until(lambda: _parent(child) is None)
        assert process.stdout.readline() == ""  # nobody else holds the pipe open


@needs_proc
def test_a_case_that_somebody_killed_runs_again_and_is_not_called_too_large() -> None:
    with server() as process:
        first = child_of(process)
        os.kill(first, signal.SIGKILL)
        second = child_of(process, other_than=first)
        os.kill(second, signal.SIGKILL)
        assert process.stdout is not None
        reply = json.loads(process.stdout.readline())
    assert reply["result"] is None
    assert "killed twice from outside" in reply["failure"]
