"""A fork server: one process that has everything imported and forks a child for every case.

    request line (stdin) -> fork -> child: hard limits, run the case -> reply line (stdout)
                              |
                              +-- too late, or dead: killed, and the reply says so
    end of stdin, even in the middle of a case -> the child is killed, the server ends
    the server is killed -> so is the child

A child starts with empty memories, so a case's answer does not depend on what ran before it, and
whatever it does to itself (memory, crashes) stays its own. Run with `python -m`; the other side is
`FORKSERVER` in `worker`.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from dipapprox.experiments.sweep.case import Case, Outcome
from dipapprox.experiments.sweep.execution import run_case
from dipapprox.experiments.sweep.messages import case_of, outcome_fields
from dipapprox.processes import end_with

_GRACE = 5.0
"""Seconds after the time limit before a case is killed; it should have given up by itself."""

_SLACK = 512 * 2**20
"""Bytes of address space beyond the memory limit: the resident set is checked by the case."""

_KILLED = Outcome(None, "killed twice from outside: did the machine run out of memory?", 0.0)


def main() -> None:
    """Serve requests until the end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides when to stop
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a case might print must not look like a reply
    pending = b""
    while chunk := os.read(0, 1 << 16):
        pending += chunk
        while b"\n" in pending:
            line, _, pending = pending.partition(b"\n")
            case = case_of(json.loads(line))
            # A kill from outside says nothing about the case: it gets a second chance.
            outcome = _in_child(case, replies) or _in_child(case, replies) or _KILLED
            replies.write(json.dumps(outcome_fields(outcome)) + "\n")
            replies.flush()


def _in_child(case: Case, replies: TextIO) -> Outcome | None:
    """Run a case in a child; None if somebody else killed it."""
    started = time.monotonic()
    reading, writing = os.pipe()
    server = os.getpid()
    child = os.fork()
    if child == 0:
        # What the server holds open must end with the server: whoever asks waits for that.
        os.close(reading)
        os.close(replies.fileno())
        _child(case, writing, server)
    os.close(writing)
    try:
        text = _wait(child, reading, started + float(case.limits.seconds) + _GRACE)
    finally:
        os.close(reading)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - started
    if text is None:
        return Outcome(None, f"time limit: {float(case.limits.seconds):g} s", seconds)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None
    if status:
        # Libraries end the process when they get no memory.
        return Outcome(None, f"memory limit: {case.limits.memory} MiB (the process died)", seconds)
    fields: Mapping[str, object] = json.loads(text)
    result, failure = fields["result"], fields["failure"]
    assert result is None or isinstance(result, dict)
    assert failure is None or isinstance(failure, str)
    return Outcome(result, failure, seconds)


def _child(case: Case, writing: int, server: int) -> None:
    """Run the case in this process, a child of the server, and end it."""
    status = 1
    try:
        end_with(server)
        # Where no signal comes when the server is killed, this ends the child some time.
        seconds = math.ceil(case.limits.seconds + 2 * _GRACE)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if hard == resource.RLIM_INFINITY or seconds < hard:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        used = _address_space()
        allowed = used + case.limits.memory * 2**20 + _SLACK
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or allowed < hard:
            resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        text = json.dumps(outcome_fields(run_case(case))).encode()
        while text:
            text = text[os.write(writing, text) :]
        status = 0
    finally:
        os._exit(status)


def _wait(child: int, reading: int, deadline: float) -> bytes | None:
    """Return what the child wrote before it ended; None if it is too late, then it is killed."""
    text = b""
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([reading, 0], [], [], max(left, 0.0))
        if reading in ready:
            chunk = os.read(reading, 1 << 16)
            if not chunk:
                return text
            text += chunk
        elif ready:  # only the end of input comes in the middle of a case
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            sys.exit(0)
        elif left <= 0:
            os.kill(child, signal.SIGKILL)
            return None


def _address_space() -> int:
    """Return this process's address space in bytes, 0 where that cannot be told."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


if __name__ == "__main__":
    main()
