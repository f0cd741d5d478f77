"""`dipapprox sweep`: many cases, resumable; and what a results file shows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from dipapprox.cli import flags
from dipapprox.cli.command import Status
from dipapprox.cli.output import make_folder, show
from dipapprox.cli.progress import reporting
from dipapprox.cli.sweep_report import count_cases, summary_report
from dipapprox.errors import LimitReached, UserError
from dipapprox.experiments.sweep.ledger import read_lines
from dipapprox.experiments.sweep.plots import plot_groups
from dipapprox.experiments.sweep.pool import WorkerLost
from dipapprox.experiments.sweep.spec import read_spec
from dipapprox.experiments.sweep.summary import groups_of
from dipapprox.experiments.sweep.sweep import Sweep
from dipapprox.questions import numbers

DESCRIPTION = (
    "Run all cases of a grid in processes of their own and write one line of\nJSON for each."
)

EXAMPLES = """examples:
  dipapprox sweep grid.toml --out results.jsonl --jobs 2
  dipapprox sweep grid.toml --out results.jsonl --cluster tcp://10.0.0.1:8786
  dipapprox sweep --summary results.jsonl --plot pictures

A spec is a TOML file; a case is one combination of the values of its axes:

  [limits]                          # for each case
  timeout = 60                      # seconds
  memory = 2000                     # MiB

  [[grid]]
  task = "verify"                   # or profile, calibrate, decide
  programs = ["svt_gauss.dpg"]      # relative to the spec
  parameters = { N = { from = 1, to = 5 } }
  eps = [0.1, 0.5, 1]
  delta = { from = 0.01, to = 0.1, step = 0.01 }

Other axes: eps_prv, widen, pairs, precision, max_precision, engine, tier, merge, width; for decide
budget, delta, interval, widen, pairs and merge.

An interrupted sweep goes on where it stopped when the same command is run again.

exit status: 0 all cases are in the file (whatever their answers), 2 bad input or usage,
3 processes kept dying, 130 interrupted
"""


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the words of the command to its parser."""
    parser.add_argument(
        "spec", nargs="?", type=flags.path, metavar="SPEC", help="a TOML file that describes a grid"
    )
    parser.add_argument(
        "--out", type=flags.path, metavar="FILE", help="the results file, made or continued"
    )
    parser.add_argument(
        "--jobs", default="1", metavar="N", help="cases at the same time (default: %(default)s)"
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="run the cases on this Dask cluster (tcp://host:port)"
    )
    parser.add_argument(
        "--summary", type=flags.path, metavar="FILE", help="show a results file, run nothing"
    )
    parser.add_argument(
        "--plot",
        type=flags.path,
        metavar="FOLDER",
        help="with --summary: draw heat maps, times, and numbers against noise, as SVG and PNG",
    )


def run(words: argparse.Namespace, console: Console) -> int:
    """Run the sweep or show the file, and return the exit status.

    Raises:
        UserError: If the words ask for nothing, or for two things.
    """
    if words.summary is not None:
        if words.spec is not None or words.out is not None or words.cluster is not None:
            raise UserError("--summary shows a results file and runs nothing")
        return _summary(words.summary, words.plot, console)
    if words.spec is None or words.out is None:
        raise UserError(
            "sweep needs a SPEC and --out FILE, or --summary FILE",
            "dipapprox sweep grid.toml --out results.jsonl",
        )
    if words.plot is not None:
        raise UserError("--plot goes with --summary")
    jobs = numbers.whole(1)(words.jobs, "--jobs")
    sweep = Sweep(read_spec(words.spec), words.out, jobs, words.cluster)
    with reporting("cases") as reporter:
        try:
            sweep.run(reporter)
        except KeyboardInterrupt:
            print(
                f"interrupted: {sweep.before + sweep.done} cases are in {words.out}; "
                "the same command goes on from there",
                file=sys.stderr,
            )
            return Status.INTERRUPTED
        except WorkerLost as lost:
            raise LimitReached(
                f"{lost}; {sweep.before + sweep.done} cases are kept in {words.out}"
            ) from lost
    failed = f", {sweep.failed} of them without an answer" if sweep.failed else ""
    cases = count_cases(sweep.cases)
    show(console, f"{cases}: {sweep.before} finished before, {sweep.done} now{failed}")
    return 0


def _summary(path: Path, plots: Path | None, console: Console) -> int:
    groups = groups_of(read_lines(path))
    if not groups:
        raise UserError(f"'{path}' has no finished cases")
    if plots is not None:
        make_folder(plots)
    show(console, *summary_report(groups, console.width))
    if plots is not None:
        written = plot_groups(groups, plots)
        names = "\n".join(map(str, written)) or "nothing to draw: no two numbers vary alone, no N"
        show(console, names)
    return 0
