"""A sweep: cases that are not yet in the ledger are run, and entered as they finish.

As a program it is a process that runs cases, one after the other; the other side is `pool`.

    case  ->  limits, run the case  ->  (outcome, whether it was the last one)
    too late -> the system ends this process, whatever it is in the middle of
    nobody is left who asks -> this process ends, even in the middle of a case

No outcome depends on what ran before: what a process could be to blame for that has run others
(memory, death) does not count, and the case runs again in a new one. Messages are pickled, framed
by `multiprocessing`: both sides are this package on this machine. Cases that follow one another
mostly ask about the same program: the last few are remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from dipapprox.data_classes import Record
from dipapprox.errors import NO_MEMORY, LimitReached, SourceError, UserError
from dipapprox.experiments.sweep.ledger import Ledger, read_lines
from dipapprox.experiments.sweep.pool import run_locally, run_on_cluster
from dipapprox.experiments.sweep.spec import (
    Case,
    CaseOutcome,
    Spec,
    answer,
    cases_of,
    claimed_delta,
    record,
)
from dipapprox.language import ast
from dipapprox.language.core import Program
from dipapprox.language.domains import AS_DECLARED, parse_rational, widening_of
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, parse_program
from dipapprox.language.symbols import DELTA, needs_delta
from dipapprox.limits import Limits, peak_memory
from dipapprox.privacy.description import ProgramText
from dipapprox.privacy.scope import widening_by_pairs
from dipapprox.semantics.execution import shared_executions

Progress = Callable[[int, int], None]  # called with the cases done and their total


class Sweep(Record, frozen=False):
    """One run of a sweep; the counts are right whenever it ends."""

    spec: Spec
    out: Path
    jobs: int = 1  # processes on this machine
    cluster: str | None = None  # address of a Dask scheduler; None: this machine
    cases: int = 0
    before: int = 0  # finished by earlier runs
    done: int = 0  # finished by this run
    failed: int = 0  # of those, cases without an answer

    def run(self, progress: Progress) -> None:
        """Run all cases that are not finished; before anything runs, programs are checked."""
        check_programs(self.spec)
        total = hashlib.sha256()  # of all cases
        for case in cases_of(self.spec):
            total.update(case.key.encode())
            self.cases += 1
        with Ledger(self.out, total.hexdigest(), self.cases) as ledger:
            self.before = len(ledger.finished)
            progress(self.before, self.cases)
            waiting = (case for case in cases_of(self.spec) if case.key not in ledger.finished)
            batches = (
                run_locally(waiting, self.jobs)
                if self.cluster is None
                else run_on_cluster(waiting, self.cluster)
            )
            with contextlib.closing(batches):
                for answered in batches:
                    ledger.append([record(case, outcome) for case, outcome in answered])
                    self.done += len(answered)
                    self.failed += sum(outcome.result is None for _, outcome in answered)
                    progress(self.before + self.done, self.cases)

    def kept(self) -> int:
        """How many cases are in the file: it may be one batch more than was counted."""
        return sum(1 for _ in read_lines(self.out)) if self.out.exists() else 0


def check_programs(spec: Spec) -> None:
    """Elaborate every program with the first and the last value of every parameter; what only goes
    wrong in between becomes a failure of its case."""
    for case in _corners(spec):
        try:
            program_of(case)
        except SourceError:
            raise
        except UserError as error:
            raise UserError(f"{case.program.name}: {error.message}", error.hint) from None


def _corners(spec: Spec) -> Iterator[Case]:
    for grid in spec.grids:
        for program in grid.programs:
            for end in (0, -1):
                chosen = {axis.name: axis.values[end] for axis in grid.parameters}
                axes = (axis for axis in grid.axes if axis.name in ("eps", "delta"))
                fields = {axis.name: axis.values[end] for axis in axes}
                yield Case(grid.task, program, chosen, fields, spec.limits)


# --- One case, in whatever process this is called in ----------------------------------------------


def run_case(case: Case) -> CaseOutcome:
    """Answer a case within its limits; errors are outcomes, too."""
    limits = Limits(seconds=float(case.limits.seconds), memory=case.limits.memory)
    started = time.monotonic()
    result: dict[str, object] | None = None
    failure: str | None = None
    try:
        program = program_of(case)
        result = answer(program, case.task, case.fields, limits)
        result.pop("seconds", None)
    except UserError as error:
        failure = "error: " + error.render().removeprefix("error: ")
    except LimitReached as limit:
        failure = limit.reason
    except MemoryError:
        failure = NO_MEMORY
    except Exception as bug:  # one bad case must not end a sweep of thousands
        failure = f"internal error: {type(bug).__name__}: {bug} (a bug, please report)"
    return CaseOutcome(result, failure, time.monotonic() - started)


def program_of(case: Case) -> Program:
    """Return the program that a case asks about, the same object as long as it is remembered.

    The pairs asked about extend the domain of a `.dip` program; its undeclared `delta` is that of
    the case.
    """
    pairs = case.fields.get("pairs", "all") if case.program.language == DIP else None
    parameters = tuple(case.parameters.items())
    delta = claimed_delta(case.task, case.fields) if needs_delta(_parsed(case.program)) else None
    if delta is not None and DELTA not in case.parameters:
        parameters += ((DELTA, str(delta)),)
    return _elaborated(case.program, parameters, case.fields.get("widen"), pairs)


@lru_cache(maxsize=4)
def _elaborated(
    program: ProgramText,
    parameters: tuple[tuple[str, str], ...],
    widen: str | None,
    pairs: str | None,
) -> Program:
    values = {name: parse_rational(value, f"parameter '{name}'") for name, value in parameters}
    name = program.name.rpartition("/")[2].rpartition(".")[0] or program.name
    found = elaborate(_parsed(program), values, name, widening_of(widen), irrational=True)
    wider = AS_DECLARED if pairs is None else widening_by_pairs(pairs, found)
    if wider is AS_DECLARED:
        return found
    return elaborate(_parsed(program), values, name, wider, irrational=True)


@lru_cache(maxsize=4)
def _parsed(program: ProgramText) -> ast.Program:
    return parse_program(program.text, program.language, program.name)


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
        with contextlib.suppress(ConnectionError):  # who asked is gone, and this will notice
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
        pages = Path("/proc/self/statm").read_bytes().split()[0]
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
