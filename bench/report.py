"""Results as a Markdown page, tables for people, and as JSON lines: one object for each row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.growth import ALONE
from bench.rows import json_of, markdown
from bench.suite import TABLES, Results, figures

_INTRODUCTION = """# Benchmarks

Written by `make bench`; everything below was measured in one run, in milliseconds of wall-clock
time unless said otherwise, medians of the runs in brackets. Contestants of a row took turns.
"> x" marks a run that was stopped after x: its ratio is a lower bound."""

BUSY = (
    "The machine was busy: more processes wanted a processor than there are, so times are too "
    "long; ratios suffer less, since the contestants of a row took turns."
)


def page(
    results: Results, machine: Mapping[str, str], plot: str | None, notes: Sequence[str]
) -> str:
    """Return the page.

    Args:
        results: What was measured.
        machine: Its description.
        plot: File name of the plot; None if there is none.
        notes: What a reader should know about this run.
    """
    reached = [(each.name, each.goal, each.found, each.standing.value) for each in figures(results)]
    parts = [_INTRODUCTION, "\n".join(f"- {name}: {text}" for name, text in machine.items())]
    parts += [*notes, "## Figures to reach"]
    parts += [markdown(("case", "goal", "found", "standing"), reached)]
    for kind, (table, _) in TABLES.items():
        if rows := results.get(kind):
            parts += [table.text, table.page(rows)]
            parts += [f"![time against N]({plot})"] if plot is not None and table is ALONE else []
    return "\n\n".join(parts) + "\n"


def records(results: Results, machine: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """Yield a record of the machine, then one for every measurement and every figure."""
    yield {"kind": "machine", **machine}
    for kind in TABLES:
        for row in results.get(kind, ()):
            yield {"kind": kind, "case": row.name, **json_of(row.found)}
    for each in figures(results):
        told = {"goal": each.goal, "found": each.found, "standing": each.standing.value}
        yield {"kind": "figure", "case": each.name, **told}


def write_records(results: Results, machine: Mapping[str, str], path: Path) -> None:
    """Write the records to a file, each in a line of its own."""
    lines = [json.dumps(record, ensure_ascii=False) for record in records(results, machine)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
