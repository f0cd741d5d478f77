"""Cells as text in, a reproduced table with numbered notes out; tables to Markdown and CSV."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dipapprox.data_classes import Record, field
from dipapprox.errors import UserError
from dipapprox.experiments.tables.plan import Plan

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


class PaperTable(Record):
    name: str  # "1" … "8", "dipc-1" … "dipc-8"
    title: str
    columns: tuple[str, ...]
    # As wide as `columns`; a cell ends in " [k]" where note k explains a difference.
    rows: tuple[tuple[str, ...], ...]
    notes: Mapping[int, str]  # by their numbers
    # Differences from the published table without a note; there should be none.
    unexplained: tuple[str, ...]

    def as_markdown(self) -> str:
        """Return the table as Markdown."""
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


class Notes(Record, frozen=False):
    """Collects the notes of one table; each text gets one number."""

    numbers: dict[str, int] = field(default_factory=dict)
    unexplained: list[str] = field(default_factory=list)

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
        """Return the finished table."""
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
