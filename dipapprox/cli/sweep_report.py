"""Results of sweeps for people: a heading, a matrix or a table for every program and task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table

from dipapprox.experiments.sweep.plots import MEANING, SYMBOLS
from dipapprox.experiments.sweep.summary import (
    CaseRow,
    Group,
    Matrix,
    matrix_of,
    readable,
    readable_text,
)

_MOST_ROWS = 60
"""Rows of a table; more are only counted."""

_WIDE = Console(width=10_000)
"""To measure tables on."""


def summary_report(groups: Iterable[Group], width: int) -> Iterator[RenderableType]:
    """Yield what to print on lines of `width` characters."""
    for group in groups:
        counts = ", ".join(
            f"{number} {'without an answer' if word == '-' else word}"
            for word, number in sorted(group.counts().items())
        )
        fixed = group.fixed_text()
        yield f"{group.task} {group.program}: {count_cases(len(group.rows))}: {counts}"
        if fixed:
            yield f"  {fixed}"
        for line in group.about():
            yield f"  {line}"
        yield _fitting(group, width)


def count_cases(number: int) -> str:
    """Return "1 case", "2 cases"."""
    return f"{number} case" if number == 1 else f"{number} cases"


def _fitting(group: Group, width: int) -> Table:
    """A matrix, upright or turned, that fits with whole words; else a line for every case."""
    matrix = matrix_of(group)
    if matrix is not None:
        for shape in (matrix, matrix.turned()):
            if len(shape.cells) <= _MOST_ROWS:
                table = _matrix(shape)
                if Measurement.get(_WIDE, _WIDE.options, table).maximum <= width:
                    return table
    return _rows(group)


def _matrix(matrix: Matrix) -> Table:
    (down, rows), (across, columns) = matrix.down, matrix.across
    verdicts = any(
        row is not None and row.answer in SYMBOLS for line in matrix.cells for row in line
    )
    meaning = MEANING if verdicts else "the number asked for, six digits"
    table = Table(f"{down} ╲ {across}", caption=f"{meaning}; seconds")
    for value in columns:
        table.add_column(readable(value), justify="right")
    for value, line in zip(rows, matrix.cells, strict=True):
        table.add_row(readable(value), *map(_cell, line))
    return table


def _cell(row: CaseRow | None) -> str:
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
        values = [readable_text(row.values.get(name, "")) for name in group.varying]
        table.add_row(*values, row.answer, row.detail, f"{row.seconds:.2f}")
    if len(group.rows) > _MOST_ROWS:
        table.caption = (
            f"{len(group.rows) - _MOST_ROWS} more rows; --plot draws all that can be drawn"
        )
    return table
