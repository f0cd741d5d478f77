"""Results of sweeps for people: a heading, a matrix or a table for every program and task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table

from dipapprox.experiments.sweep.plots import MEANING, SYMBOLS
from dipapprox.experiments.sweep.summary import Group, Matrix, Row, matrix_of

_MOST_ROWS = 60
"""Rows of a table; more are only counted."""


def summary_report(groups: Iterable[Group]) -> Iterator[RenderableType]:
    """Yield what to print."""
    for group in groups:
        counts = ", ".join(f"{number} {word}" for word, number in sorted(group.counts().items()))
        fixed = ", ".join(f"{name} = {value}" for name, value in group.fixed.items())
        yield f"{group.task} {group.program}: {len(group.rows)} cases: {counts}"
        if fixed:
            yield f"  {fixed}"
        matrix = matrix_of(group)
        yield _rows(group) if matrix is None else _matrix(matrix)


def _matrix(matrix: Matrix) -> Table:
    (down, rows), (across, columns) = matrix.down, matrix.across
    verdicts = any(
        row is not None and row.answer in SYMBOLS for line in matrix.cells for row in line
    )
    meaning = MEANING if verdicts else "the number asked for, six digits"
    table = Table(f"{down} ╲ {across}", caption=f"{meaning}; seconds")
    for value in columns:
        table.add_column(str(value), justify="right")
    for value, line in zip(rows, matrix.cells, strict=True):
        table.add_row(str(value), *map(_cell, line))
    return table


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{SYMBOLS.get(row.answer) or _short(row.answer)}; {row.seconds:.2f}"


def _short(number: str) -> str:
    """Shorten a decimal for a cell; the file has all digits."""
    try:
        return f"{float(number):.6g}"
    except ValueError:  # a fraction, or none
        return number


def _rows(group: Group) -> Table:
    table = Table(*group.varying, "answer", "", "seconds")
    for row in group.rows[:_MOST_ROWS]:
        values = [row.values.get(name, "") for name in group.varying]
        table.add_row(*values, row.answer, row.detail, f"{row.seconds:.2f}")
    if len(group.rows) > _MOST_ROWS:
        table.caption = f"{len(group.rows) - _MOST_ROWS} more rows"
    return table
