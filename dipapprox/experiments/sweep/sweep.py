"""A sweep: cases that are not yet in the ledger are run, and entered as they finish.

Cases that follow one another mostly ask about the same program: the last few are remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from dipapprox.data_classes import Record
from dipapprox.errors import NO_MEMORY, LimitReached, SourceError, UserError
from dipapprox.experiments.sweep.ledger import Ledger
from dipapprox.experiments.sweep.pool import run_locally, run_on_cluster
from dipapprox.experiments.sweep.spec import (
    Case,
    CaseOutcome,
    NamedProgram,
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
from dipapprox.limits import Limits
from dipapprox.privacy.scope import widening_by_pairs

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
    program: NamedProgram,
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
def _parsed(program: NamedProgram) -> ast.Program:
    return parse_program(program.text, program.language, program.name)
