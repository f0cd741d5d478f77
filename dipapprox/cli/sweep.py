"""`dipapprox sweep`: many cases, resumable; and what a results file shows.

For people: a heading, a matrix or a table for every program and task.

`dipapprox tables`: the papers' tables, rerun.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table

from dipapprox.cli import command
from dipapprox.cli.command import Status
from dipapprox.cli.output import Output, make_folder, reporting
from dipapprox.errors import LimitReached, UserError
from dipapprox.experiments.pictures import plot_groups
from dipapprox.experiments.sweep import summary
from dipapprox.experiments.sweep.ledger import read_lines
from dipapprox.experiments.sweep.pool import WorkerLost
from dipapprox.experiments.sweep.spec import read_spec
from dipapprox.experiments.sweep.sweep import Sweep
from dipapprox.experiments.tables.rows import make_tables
from dipapprox.experiments.tables.table import PaperTable, describe_machine, plan, write_tables
from dipapprox.privacy.description import count
from dipapprox.questions import arguments

_MOST_ROWS = 60  # rows of a table; more are only counted
_WIDE = Console(width=10_000)  # to measure tables on


def summary_report(groups: Iterable[summary.Group], width: int) -> Iterator[RenderableType]:
    """Yield what to print on lines of `width` characters."""
    for group in groups:
        counts = ", ".join(
            f"{number} {'without an answer' if word == '-' else word}"
            for word, number in sorted(group.counts().items())
        )
        fixed = group.fixed_text()
        yield f"{group.task} {group.program}: {count(len(group.rows), 'case')}: {counts}"
        if fixed:
            yield f"  {fixed}"
        for line in group.about():
            yield f"  {line}"
        yield _fitting(group, width)


def _fitting(group: summary.Group, width: int) -> Table:
    """A matrix, upright or turned, that fits with whole words; else a line for every case."""
    matrix = summary.matrix_of(group)
    if matrix is not None:
        for shape in (matrix, matrix.turned()):
            if len(shape.cells) <= _MOST_ROWS:
                table = _matrix(shape)
                if Measurement.get(_WIDE, _WIDE.options, table).maximum <= width:
                    return table
    return _rows(group)


def _matrix(matrix: summary.Matrix) -> Table:
    (down, rows), (across, columns) = matrix.down, matrix.across
    meaning = summary.MEANING if matrix.has_verdicts else "the number asked for, six digits"
    table = Table(f"{down} ╲ {across}", caption=f"{meaning}; seconds")
    for value in columns:
        table.add_column(summary.readable(value), justify="right")
    for value, line in zip(rows, matrix.cells, strict=True):
        table.add_row(summary.readable(value), *map(_cell, line))
    return table


def _cell(row: summary.CaseRow | None) -> str:
    if row is None:
        return ""
    return f"{summary.SYMBOLS.get(row.answer) or _short(row.answer)}; {row.seconds:.2f}"


def _short(number: str) -> str:
    """Shorten a decimal for a cell; the file has all digits."""
    try:
        return f"{float(number):.6g}"
    except ValueError:  # a fraction, or none
        return number


def _rows(group: summary.Group) -> Table:
    table = Table(*group.varying, "answer", "", "seconds")
    for row in group.rows[:_MOST_ROWS]:
        values = [summary.readable_text(row.values.get(name, "")) for name in group.varying]
        table.add_row(*values, row.answer, row.detail, f"{row.seconds:.2f}")
    if len(group.rows) > _MOST_ROWS:
        left = len(group.rows) - _MOST_ROWS
        table.caption = f"{left} more rows; --plot draws all that can be drawn"
    return table


def add_sweep(parser: argparse.ArgumentParser) -> None:
    help = "a TOML file that describes a grid"
    parser.add_argument("spec", nargs="?", type=command.path, metavar="SPEC", help=help)
    help = "the results file, made or continued"
    parser.add_argument("--out", type=command.path, metavar="FILE", help=help)
    help = "cases at the same time (default: %(default)s)"
    parser.add_argument("--jobs", default="1", metavar="N", help=help)
    help = "run the cases on this Dask cluster (tcp://host:port)"
    parser.add_argument("--cluster", metavar="ADDRESS", help=help)
    help = "show a results file, run nothing"
    parser.add_argument("--summary", type=command.path, metavar="FILE", help=help)
    help = "with --summary: draw heat maps, times, and numbers against noise, as SVG and PNG"
    parser.add_argument("--plot", type=command.path, metavar="FOLDER", help=help)


def run_sweep(words: argparse.Namespace, out: Output) -> int:
    if words.summary is not None:
        if words.spec is not None or words.out is not None or words.cluster is not None:
            raise UserError("--summary shows a results file and runs nothing")
        return _summary(words.summary, words.plot, out)
    if words.spec is None or words.out is None:
        hint = "dipapprox sweep grid.toml --out results.jsonl"
        raise UserError("sweep needs a SPEC and --out FILE, or --summary FILE", hint)
    if words.plot is not None:
        raise UserError("--plot goes with --summary")
    jobs = arguments.whole(1)(words.jobs, "--jobs")
    sweep = Sweep(read_spec(words.spec), words.out, jobs, words.cluster)
    with reporting("cases") as reporter:
        try:
            sweep.run(reporter)
        except KeyboardInterrupt:
            kept = f"{sweep.kept()} cases are in {words.out}"
            message = f"interrupted: {kept}; the same command goes on from there"
            print(message, file=sys.stderr)
            return Status.INTERRUPTED
        except WorkerLost as lost:
            message = f"{lost}; {sweep.kept()} cases are kept in {words.out}"
            raise LimitReached(message) from lost
    failed = f", {sweep.failed} of them without an answer" if sweep.failed else ""
    cases = count(sweep.cases, "case")
    out.show(f"{cases}: {sweep.before} finished before, {sweep.done} now{failed}")
    return 0


def _summary(path: Path, plots: Path | None, out: Output) -> int:
    groups = summary.groups_of(read_lines(path))
    if not groups:
        raise UserError(f"'{path}' has no finished cases")
    if plots is not None:
        make_folder(plots)
    out.show(*summary_report(groups, out.console.width))
    if plots is not None:
        written = plot_groups(groups, plots)
        names = "\n".join(map(str, written)) or "nothing to draw: no two numbers vary alone, no N"
        out.show(names)
    return 0


UNEXPLAINED = 1


def add_tables(parser: argparse.ArgumentParser) -> None:
    help = "1 … 8, dipc-1 … 8, dipaut-1 … 4, coupling-1 (default: all)"
    parser.add_argument("names", nargs="*", metavar="TABLE", help=help)
    parser.add_argument("--quick", action="store_true", help="only rows that take little time")
    help = "write tables.md and CSV files there, too"
    parser.add_argument("--out", type=command.path, metavar="FOLDER", help=help)


def run_tables(words: argparse.Namespace, out: Output) -> int:
    chosen = plan().chosen(words.names)
    if words.out is not None:
        make_folder(words.out)
    made = []
    with reporting("tables") as reporter:
        for table in make_tables(plan(), chosen, quick=words.quick, progress=reporter):
            made.append(table)
            _show(table, out)
    if words.out is not None:
        names = [table.name for table in made] if len(made) < len(plan().tables) else []
        quick = ["--quick"] if words.quick else []
        line = " ".join(["dipapprox tables", *names, *quick, f"--out {words.out}"])
        written = write_tables(plan(), made, words.out, line, describe_machine())
        out.show(f"wrote {written[0]} and {len(written) - 1} CSV files")
    unexplained = [f"table {table.name}: {each}" for table in made for each in table.unexplained]
    for each in unexplained:
        print(f"unexplained: {each}", file=sys.stderr)
    return UNEXPLAINED if unexplained else 0


def _show(table: PaperTable, out: Output) -> None:
    grid = Table(*table.columns, title=f"{table.title} ({plan().source_of(table.name)})")
    for row in table.rows:
        grid.add_row(*row)
    notes = (f"[{number}] {text}" for number, text in table.notes.items())
    # Twelve columns do not fit a narrow terminal: whoever reads this scrolls or uses --out.
    Output(out.file, max(out.console.width, 200)).show(grid, *notes)
