"""What happens to a fork server and its children when they are killed, not only to the sweep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
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

LONG = Case(
    "verify",
    ProgramFile("range.dpg", "dpg", (BUNDLED / "m_range_gauss.dpg").read_text()),
    {"N": "40"},
    {"eps": "1/2", "delta": "1/100", "engine": "nested"},
    CaseLimits(Fraction(60), 1000),
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


def child_of(server: int, other_than: int = 0) -> int:
    """Wait for a child of the server, and return its process."""
    for _ in range(_LOOKS):
        for folder in Path("/proc").glob("[0-9]*"):
            pid = int(folder.name)
            if pid != other_than and _parent(pid) == server:
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


@needs_proc
def test_a_killed_server_takes_its_case_with_it_and_is_missed_at_once() -> None:
    with server() as process:
        child = child_of(process.pid)
        time.sleep(0.2)  # the child has begun
        process.kill()
        assert process.stdout is not None
        assert has_ended(child)
        assert process.stdout.readline() == ""  # nobody else holds the pipe open


@needs_proc
def test_a_case_that_somebody_killed_runs_again_and_is_not_called_too_large() -> None:
    with server() as process:
        first = child_of(process.pid)
        os.kill(first, signal.SIGKILL)
        second = child_of(process.pid, other_than=first)
        os.kill(second, signal.SIGKILL)
        assert process.stdout is not None
        reply = json.loads(process.stdout.readline())
    assert reply["result"] is None
    assert "killed twice from outside" in reply["failure"]
