"""Tables: what they show, of `published/tables.toml` and the printed figures beside it; and cells
as text with numbered notes, to Markdown and CSV.
"""

from __future__ import annotations

import csv
import io
import os
import platform
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert, field

from dipapprox.bundled import TABLES
from dipapprox.errors import UserError
from dipapprox.integrals.strategy import Strategy
from dipapprox.privacy.run import Engine

_PACKAGES = ("python-flint", "numpy", "igraph", "scipy")


def describe_machine() -> dict[str, str]:
    """Describe the machine, the software and the moment, as far as they can be found out."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
    }


def _commit() -> str:
    commit = _output_of("git", "rev-parse", "--short", "HEAD")
    changed = _output_of("git", "status", "--porcelain", "--", "dipapprox", "programs")
    return (commit or "unknown") + (" with changes" if changed else "")


def _processor() -> str:
    name = platform.processor() or platform.machine()
    if platform.system() == "Darwin":
        return _output_of("sysctl", "-n", "machdep.cpu.brand_string") or name
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        return name
    return f"{found[1]} ({platform.machine()})" if found else name


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _output_of(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


class PaperTable(Struct, frozen=True):
    name: str  # "1" … "8", "dipc-1" … "dipc-8"
    title: str
    columns: tuple[str, ...]
    # As wide as `columns`; a cell ends in " [k]" where note k explains a difference.
    rows: tuple[tuple[str, ...], ...]
    notes: Mapping[int, str]  # by their numbers
    # Differences from the published table without a note; there should be none.
    unexplained: tuple[str, ...]

    def as_markdown(self) -> str:
        lines = [f"## {self.title}", ""]
        lines.append(_line(self.columns))
        lines.append("|" + "---|" * len(self.columns))
        lines += map(_line, self.rows)
        if self.notes:
            lines.append("")
            lines += [f"{number}. {text}" for number, text in self.notes.items()]
        return "\n".join(lines) + "\n"

    def as_csv(self) -> str:
        """Return the rows as comma-separated values, headings first."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows((self.columns, *self.rows))
        return text.getvalue()


def _line(cells: Sequence[str]) -> str:
    """A row of Markdown; bars inside cells are escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class Notes(Struct):
    """Collects the notes of one table; each text gets one number."""

    numbers: dict[str, int] = {}
    unexplained: list[str] = []

    def mark(self, cell: str, note: str | None) -> str:
        """Return the cell with the number of a note, or as it is without one."""
        if note is None:
            return cell
        number = self.numbers.setdefault(note, len(self.numbers) + 1)
        return f"{cell} [{number}]"

    def compare(self, ours: str, published: str, note: str | None, where: str) -> str:
        """Return our cell; where the published one differs it needs a note."""
        if ours == published or published in ("", "T.O", "O.M"):
            return self.mark(ours, note) if note is not None and ours == published else ours
        if note is None or ours == "Unknown":
            self.unexplained.append(f"{where}: {ours}, published {published}")
            return f"{ours} (published {published}, unexplained)"
        return self.mark(ours, note)

    def table(
        self, name: str, title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
    ) -> PaperTable:
        texts = {number: text for text, number in self.numbers.items()}
        return PaperTable(name, title, columns, tuple(rows), texts, tuple(self.unexplained))


_HEADING = """# The papers' tables, rerun

Written by `{command}`; anyone can rerun it. Published numbers are printed as they are, from the
long versions of the papers; machines differ, and a ratio is the published time divided by ours.
Our times are those of one run, from parsed arguments to the answer. In DiPApprox's tables the
published machine is a 1.4 GHz Core i5, with a limit of 600 s; in DiPC's a Core i7-8550U, running
Mathematica.

Ours: {machine}
"""


def write_tables(
    plan: Plan, tables: Sequence[PaperTable], folder: Path, command: str, machine: Mapping[str, str]
) -> tuple[Path, ...]:
    """Write `tables.md` and `table-NAME.csv` into a folder; return the files."""
    described = ", ".join(f"{key} {value}" for key, value in machine.items())
    parts = [_HEADING.format(command=command, machine=described)]
    source = ""
    for table in tables:
        if plan.source_of(table.name) != source:
            source = plan.source_of(table.name)
            parts.append(f"# {source}\n")
        parts.append(table.as_markdown())
    texts = {"tables.md": "\n".join(parts)}
    texts |= {f"table-{table.name}.csv": table.as_csv() for table in tables}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write to '{folder}': {error.strerror}") from None
    return tuple(folder / name for name in texts)


# --- What they show -------------------------------------------------------------------------------


Printed = Mapping[str, str]  # one printed row, by column


class RowQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """A question about the program, or the automaton, of every row."""

    # At the printed eps, or at all of the program's interval, or about an automaton.
    ask: Literal["verify", "decide", "prove"]
    pairs: str = ""  # "all", "single", or a pair with printed values in braces
    eps: str = "eps"  # the column of eps; the claimed budget and delta are in `eps_prv` and `delta`
    budget: str = "1"  # for all epsilons: the claimed multiple of eps
    queries: int = 0  # how many more the program has than are printed
    engine: Engine = Engine.AUTO  # for one eps, as strategy
    strategy: Strategy = Strategy.LEAST_NESTING  # "none": states are not merged, either
    seconds: float = 120.0  # most that it may take


class TableGrid(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of one answer over two columns of the figures."""

    down: str  # the column whose values head the rows
    head: str  # heading of these
    across: str  # the column whose values head the columns
    heads: str  # what stands before each of them
    cell: str  # the answer
    time: str  # the column of the printed time


class ColumnLayout(Struct, frozen=True, forbid_unknown_fields=True):
    """Columns that several tables may have."""

    program: str  # the column that names the program
    answers: dict[str, RowQuestion]  # by name
    columns: tuple[tuple[str, ...], ...] = ()  # heading, kind, and what the kind needs: see `rows`
    grid: TableGrid | None = None  # instead of columns
    domain: tuple[str, ...] | None = None  # of every input, where not the program's own


class TablePlan(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    figures: str
    title: str
    layout: str
    # Greatest values of rows that take little time, by column; `every`: of a grid's rows.
    quick: dict[str, int]
    # Rows that are not printed, each `after` the row of a program, or at the end.
    added: tuple[dict[str, str], ...] = ()


class ProgramPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """A program as a paper names it."""

    file: str  # below the folder of bundled programs, without the extension
    # But for N; {…} stands for a printed value.
    parameters: dict[str, str] = field(default_factory=dict, name="with")
    interval: str = "0..inf"  # of eps, where all are asked about
    # Printed values of inputs that the program calls otherwise.
    words: dict[str, str] = field(default_factory=dict)


class AutomatonPlan(Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """Why cells, of tables and headings, differ from the printed ones, or what they mean."""

    tables: tuple[str, ...]
    at: tuple[str, ...]
    text: str
    # Values that a row must have, by column.
    when: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unless: dict[str, tuple[str, ...]] = field(default_factory=dict)  # values that it must not have

    def is_at(self, table: str, heading: str, row: Printed) -> bool:
        return (
            table in self.tables
            and heading in self.at
            and all(row[column] in values for column, values in self.when.items())
            and not any(row[column] in values for column, values in self.unless.items())
        )


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]  # papers, by the beginning of their tables' names
    tables: tuple[TablePlan, ...]  # in the order of the papers
    layouts: dict[str, ColumnLayout]  # by name
    programs: dict[str, ProgramPlan]  # by printed name; `NAME, SEQ` before `NAME`
    # Likewise, but those of a family and those with a text beside the figures.
    automata: dict[str, AutomatonPlan]
    notes: tuple[Note, ...]  # the first that fits counts

    def source_of(self, name: str) -> str:
        """Say which paper a table is from."""
        return self.sources[name.partition("-")[0] if "-" in name else ""]

    def chosen(self, names: Iterable[str]) -> tuple[TablePlan, ...]:
        """Return tables by their names; without any, all."""
        known = {table.name: table for table in self.tables}
        wanted = tuple(names)
        for name in wanted:
            if name not in known:
                raise UserError(f"there is no table '{name}'", f"tables: {', '.join(known)}")
        return tuple(known[name] for name in wanted) or self.tables


@cache
def plan() -> Plan:
    return convert(tomllib.loads(_text("tables.toml")), Plan)


def printed_rows(figures: str) -> tuple[Printed, ...]:
    """Return the rows of a CSV file of published figures."""
    return tuple(csv.DictReader(_text(f"{figures}.csv").splitlines()))


def _text(name: str) -> str:
    path = TABLES / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None
