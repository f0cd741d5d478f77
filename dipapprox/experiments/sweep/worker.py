"""A process that runs the cases of a sweep, one after the other; the other side is `pool`.

    case  ->  limits, run the case  ->  (outcome, whether it was the last one)
    too late -> the system ends this process, whatever it is in the middle of
    nobody is left who asks -> this process ends, even in the middle of a case

No outcome depends on what ran before: what a process could be to blame for that has run others
(memory, death) does not count, and the case runs again in a new one. Messages are pickled, framed
by `multiprocessing`: both sides are this package on this machine.
"""

from __future__ import annotations

import os
import resource
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from dipapprox.experiments.sweep.spec import Case
from dipapprox.experiments.sweep.sweep import run_case
from dipapprox.limits import peak_memory
from dipapprox.semantics.execution import shared_executions

_GRACE = 5.0
"""Seconds after the time limit before a case is ended; it should have given up by itself."""

_SLACK = 512 * 2**20
"""Bytes of address space beyond the memory limit: the resident set is checked by the case."""

_MOST_CASES = 1000  # cases that one process serves
_GROWTH = 128  # MiB by which the peak of its memory may grow before it is replaced


def _serve(connection: Connection) -> None:
    """Answer cases, until this process has served enough or has grown."""
    before, served, last = peak_memory(), 0, False
    cases = SimpleQueue[Case]()
    Thread(target=_listen, args=(connection, cases), daemon=True).start()
    connection.send(None)  # it has begun
    while not last:
        case, served = cases.get(), served + 1
        allowed, (_, hard) = _memory(case), resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            allowed = min(allowed, hard)
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
        signal.setitimer(signal.ITIMER_REAL, float(case.limits.seconds) + _GRACE)
        outcome = run_case(case)
        signal.setitimer(signal.ITIMER_REAL, 0)
        peak = peak_memory()
        excessive = peak > case.limits.memory
        last = excessive or peak > before + _GROWTH or served == _MOST_CASES
        connection.send((None if excessive and served > 1 else outcome, last))


def _listen(connection: Connection, cases: SimpleQueue[Case]) -> None:
    """Take cases, until whoever asks is gone."""
    try:
        while True:
            cases.put(connection.recv())
    finally:
        os._exit(0)


def _memory(case: Case) -> int:
    """The address space that a case may use, in bytes; the same, whatever ran before."""
    used = 0
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        used = int(pages) * resource.getpagesize()
    except OSError:  # it cannot be told
        pass
    return used + case.limits.memory * 2**20 + _SLACK


def main() -> None:
    """Serve the cases that come on standard input, a socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides when to stop
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    connection = Connection(os.dup(0))
    # What a case might read or print must not be a message.
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    with shared_executions():
        _serve(connection)


if __name__ == "__main__":
    main()
