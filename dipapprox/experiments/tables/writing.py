"""Tables to files: one Markdown file for all, one CSV file for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dipapprox.errors import UserError
from dipapprox.experiments.tables.plan import Plan
from dipapprox.experiments.tables.table import Table

_HEADING = """# The papers' tables, rerun

Written by `{command}`; anyone can rerun it. Published numbers are printed as they are, from the
long versions of the papers; machines differ, and a ratio is the published time divided by ours.
Our times are those of one run, from parsed arguments to the answer. In DiPApprox's tables the
published machine is a 1.4 GHz Core i5, with a limit of 600 s; in DiPC's a Core i7-8550U, running
Mathematica.

Ours: {machine}
"""


def write_tables(
    plan: Plan, tables: Sequence[Table], folder: Path, command: str, machine: Mapping[str, str]
) -> tuple[Path, ...]:
    """Write `tables.md` and `table-NAME.csv` into a folder; return the files.

    Raises:
        UserError: If that fails.
    """
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
