"""A fork server: one process that has everything imported, and children of it that run the cases.

    (number, case)  ->  waiting  ->  an idle child: limits, run the case  ->  (number, outcome)
                                       |
                                       +-- too late: killed, and the outcome says so
                                       +-- dead: the case runs once more, in a new child
    end of the requests, even in the middle of a case -> the children are killed, the server ends
    the server is killed -> so are its children

A child serves many cases, as most take less time than a fork and the imports after it. No outcome
depends on what ran before it: what a used child could be to blame for (memory, death) does not
count, and the case runs again in a new one. A child that has grown is replaced.

Run with `python -m`; the other side is `pool`. Messages are pickled tuples, framed by
`multiprocessing`: both sides are this package on this machine.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import resource
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NoReturn

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.experiments.sweep.spec import Case, CaseOutcome
from dipapprox.experiments.sweep.sweep import run_case
from dipapprox.limits import peak_memory
from dipapprox.processes import end_with
from dipapprox.semantics.execution import shared_executions

_GRACE = 5.0
"""Seconds after the time limit before a case is killed; it should have given up by itself."""

_SLACK = 512 * 2**20
"""Bytes of address space beyond the memory limit: the resident set is checked by the case."""

_MOST_CASES = 1000  # cases that one child serves
_GROWTH = 128  # MiB by which the peak of a child's memory may grow before it is replaced
_NAP = 3600.0  # seconds that are waited at once, as the system may not count far
_KILLED = CaseOutcome(None, "killed twice from outside: did the machine run out of memory?", 0.0)


class _Request(Record, frozen=False):
    """A case on its way, as whoever asks numbers it; `again` in its second run, for which the child
    must be new."""

    number: int
    case: Case
    again: bool = False


class _Child(Record, frozen=False, eq=False):
    """A child as the server sees it: the requests that it got, and the one that it is busy with."""

    process: int
    connection: Connection
    served: int = 0
    request: _Request | None = None
    started: float = 0.0

    def hand_over(self, request: _Request) -> None:
        """Let the child, which is idle, run a case."""
        self.served += 1
        self.request = request
        self.started = time.monotonic()
        # It may be dead; then the end of its replies tells.
        with contextlib.suppress(OSError):
            self.connection.send(request.case)

    def deadline(self) -> float:
        """Return when the child is killed if it has not answered."""
        if self.request is None:
            return math.inf
        return self.started + float(self.request.case.limits.seconds) + _GRACE

    def end(self) -> int:
        """Kill the child, if it is not dead; return its status."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        self.connection.close()
        return os.waitpid(self.process, 0)[1]


class _Server:
    """The loop of the server: requests (number, case) become replies (number, outcome), in the
    order in which cases finish, with so many children at a time."""

    def __init__(self, requests: Connection, replies: Connection, jobs: int) -> None:
        self.requests = requests
        self.replies = replies
        self.jobs = jobs
        self.waiting: deque[_Request] = deque()
        self.children: list[_Child] = []

    def serve(self) -> None:
        """Serve requests until their end."""
        try:
            while True:
                self.dispatch()
                first = min((c.deadline() for c in self.children), default=math.inf)
                ready = wait(
                    [self.requests, *(child.connection for child in self.children)],
                    min(max(first - time.monotonic(), 0.0), _NAP),
                )
                if self.requests in ready:
                    try:
                        self.waiting.append(_Request(*self.requests.recv()))
                    except (EOFError, OSError):  # OSError: in the middle of a message
                        break
                for child in [c for c in self.children if c.connection in ready]:
                    self.hear(child)
                now = time.monotonic()
                for child in [c for c in self.children if c.deadline() <= now]:
                    self.punish(child)
        except BrokenPipeError:  # nobody listens
            pass
        finally:
            for child in self.children:
                child.end()

    def dispatch(self) -> None:
        """Hand waiting requests to idle children, as many as there may be."""
        while self.waiting:
            child = next((c for c in self.children if c.request is None), None)
            if child is not None and self.waiting[0].again and child.served:
                self.end(child)
                child = None
            if child is None:
                if len(self.children) >= self.jobs:
                    break
                child = self.fork()
            child.hand_over(self.waiting.popleft())

    def hear(self, child: _Child) -> None:
        """Take what a child says: an outcome, None if its past is to blame, or that it is dead."""
        try:
            outcome, last = child.connection.recv()
        except (EOFError, OSError):
            self.bury(child)
            return
        request, child.request = child.request, None
        if last:
            self.end(child)
        if request is None:
            raise BrokenInvariant("an idle child spoke")
        if outcome is None:
            self.repeat(request)
        else:
            self.replies.send((request.number, outcome))

    def bury(self, child: _Child) -> None:
        """See what a child died of."""
        status = self.end(child)
        request = child.request
        if request is None:
            return
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not request.again and (killed or child.served > 1):
            self.repeat(request)  # not the fault of the case, or not surely
        elif killed:
            self.replies.send((request.number, _KILLED))
        else:
            # Libraries end the process when they get no memory.
            memory = request.case.limits.memory
            self.fail(child, request, f"memory limit: {memory} MiB (the process died)")

    def punish(self, child: _Child) -> None:
        """Kill a child that is too late."""
        self.end(child)
        if child.request is not None:
            seconds = float(child.request.case.limits.seconds)
            self.fail(child, child.request, f"time limit: {seconds:g} s")

    def fail(self, child: _Child, request: _Request, failure: str) -> None:
        outcome = CaseOutcome(None, failure, time.monotonic() - child.started)
        self.replies.send((request.number, outcome))

    def repeat(self, request: _Request) -> None:
        request.again = True
        self.waiting.appendleft(request)

    def end(self, child: _Child) -> int:
        self.children.remove(child)
        return child.end()

    def fork(self) -> _Child:
        mine, its = Pipe()
        server = os.getpid()
        process = os.fork()
        if process == 0:
            others = (child.connection for child in self.children)
            _live(its, server, (mine, self.requests, self.replies, *others))
        its.close()
        child = _Child(process, mine)
        self.children.append(child)
        return child


def _live(connection: Connection, server: int, held: Iterable[Connection]) -> NoReturn:
    """Serve cases in this process, a child of the server, and end it."""
    status = 1
    try:
        end_with(server)
        # What the server holds open must end with the server: whoever asks waits for that.
        for other in held:
            other.close()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with shared_executions():
            _serve(connection)
        status = 0
    except EOFError:  # the server is gone
        status = 0
    finally:
        os._exit(status)


def _serve(connection: Connection) -> None:
    """Answer cases, until this process has served enough or has grown."""
    before = peak_memory()
    for served in range(1, _MOST_CASES + 1):
        case = connection.recv()
        _limit(case)
        outcome = run_case(case)
        peak = peak_memory()
        excessive = peak > case.limits.memory
        last = excessive or peak > before + _GROWTH or served == _MOST_CASES
        connection.send((None if excessive and served > 1 else outcome, last))
        if last:
            break


def _limit(case: Case) -> None:
    """Set the limits of this process for the next case; the same, whatever ran before."""
    # Where no signal comes when the server is killed, this ends the child some time.
    seconds = time.process_time() + float(case.limits.seconds) + 2 * _GRACE
    _restrict(resource.RLIMIT_CPU, math.ceil(seconds))
    _restrict(resource.RLIMIT_AS, _address_space() + case.limits.memory * 2**20 + _SLACK)


def _restrict(kind: int, allowed: int) -> None:
    """Set a limit of this process, which a later case may have set higher."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(kind, (allowed, hard))


def _address_space() -> int:
    """Return this process's address space in bytes, 0 where that cannot be told."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def main() -> None:
    """Serve the requests on standard input; the argument is the number of children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides when to stop
    requests = Connection(os.dup(0), writable=False)
    replies = Connection(os.dup(1), readable=False)
    # What a case might read or print must not be a message.
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    gc.freeze()  # what is imported is no garbage: children need not look at it, nor copy it
    _Server(requests, replies, int(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
