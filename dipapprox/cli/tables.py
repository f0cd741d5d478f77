"""`dipapprox tables`: the papers' tables, rerun."""

from __future__ import annotations

import argparse
import sys

from rich.table import Table as Grid

from dipapprox.cli import command
from dipapprox.cli.output import Output, make_folder, reporting
from dipapprox.experiments.tables.rows import make_tables
from dipapprox.experiments.tables.table import PaperTable, describe_machine, plan, write_tables

UNEXPLAINED = 1


def add_words(parser: argparse.ArgumentParser) -> None:
    help = "1 … 8, dipc-1 … 8, dipaut-1 … 4, coupling-1 (default: all)"
    parser.add_argument("names", nargs="*", metavar="TABLE", help=help)
    parser.add_argument("--quick", action="store_true", help="only rows that take little time")
    help = "write tables.md and CSV files there, too"
    parser.add_argument("--out", type=command.path, metavar="FOLDER", help=help)


def run(words: argparse.Namespace, out: Output) -> int:
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
    grid = Grid(*table.columns, title=f"{table.title} ({plan().source_of(table.name)})")
    for row in table.rows:
        grid.add_row(*row)
    notes = (f"[{number}] {text}" for number, text in table.notes.items())
    # Twelve columns do not fit a narrow terminal: whoever reads this scrolls or uses --out.
    Output(out.file, max(out.console.width, 200)).show(grid, *notes)
