"""A sweep: cases that are not yet in the ledger are run, and entered as they finish."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from dipapprox.data_classes import Record
from dipapprox.errors import SourceError, UserError
from dipapprox.experiments.sweep.execution import program_of
from dipapprox.experiments.sweep.ledger import Ledger
from dipapprox.experiments.sweep.pool import run_locally, run_on_cluster
from dipapprox.experiments.sweep.spec import Case, Spec, cases_of, record

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
        digest, self.cases = digest_of(self.spec)
        with Ledger(self.out, digest, self.cases) as ledger:
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


def digest_of(spec: Spec) -> tuple[str, int]:
    """Return a hash of all cases of a sweep, and their number."""
    total, size = hashlib.sha256(), 0
    for case in cases_of(spec):
        total.update(case.key.encode())
        size += 1
    return total.hexdigest(), size


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
