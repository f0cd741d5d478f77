"""Pictures of results: heat maps over two numbers, time against N, noise against guarantee."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dipapprox.experiments.pictures import (
    LEAST_BUDGET,
    LEAST_DELTA,
    PROGRAM_EPSILON,
    line_style,
    new_figure,
    save,
    set_heading,
)
from dipapprox.experiments.sweep.summary import (
    Group,
    Matrix,
    Measured,
    Series,
    matrix_of,
    numeric_fields,
    series_of,
)

SYMBOLS = {"DP": "✓", "Not_DP": "✗", "Unknown": "?", "-": "–"}
"""What stands for an answer in a cell; the colour only shows the time."""

MEANING = "✓ DP  ✗ Not_DP  ? Unknown"

_Line = tuple[str, list[tuple[float, Measured]]]
"""A label, and a number at each value."""

_AXES = {
    "eps": PROGRAM_EPSILON,
    "eps_prv": r"budget $\varepsilon_{prv}$ (no unit)",
    "delta": r"$\delta$ (probability)",
    "N": "N (array cells)",
}
"""What stands at an axis, with its unit; other fields by their names."""

_ASKED = {
    "eps_prv": LEAST_BUDGET,
    "delta": LEAST_DELTA,
    "eps": r"certified $\varepsilon$ of the program (no unit)",
}
_WORDS = {"eps_prv": "budget", "delta": "δ", "eps": "ε"}
_WIDE = 50
"""Values that span this factor or more stand on a logarithmic axis."""
_MANY = 6
"""Names of more lines than these stand beside the picture."""


def plot_groups(groups: Iterable[Group], folder: Path) -> tuple[Path, ...]:
    """Draw what can be drawn of every group, as SVG and PNG; return the files.

    Raises:
        UserError: If matplotlib is missing or a file cannot be written.
    """
    written: list[Path] = []
    for group in groups:
        stem = re.sub(r"\W+", "-", f"{group.task}-{Path(group.program).stem}").strip("-")
        matrix = matrix_of(group)
        if matrix is not None:
            written += _both(_heat_map(group, matrix), folder / f"{stem}-map")
        for name in numeric_fields(group, whole=True):
            series = series_of(group, name)
            if series:
                written += _both(_times(group, name, series), folder / f"{stem}-time-{name}")
        for name in numeric_fields(group):
            for quantity, lines in _measured_series(group, name).items():
                picture = _numbers(group, quantity, name, lines)
                written += _both(picture, folder / f"{stem}-{quantity}-by-{name}")
    return tuple(written)


def _both(figure: Any, stem: Path) -> list[Path]:
    paths = [stem.with_name(stem.name + suffix) for suffix in (".svg", ".png")]
    for path in paths:
        save(figure, path)
    return paths


def _heat_map(group: Group, matrix: Matrix) -> Any:
    """Seconds as colours, verdicts as symbols."""
    (down, rows), (across, columns) = matrix.down, matrix.across
    figure, axes = new_figure(2.0 + 0.7 * len(columns), 1.6 + 0.35 * len(rows))
    seconds = [[float("nan") if c is None else c.seconds for c in line] for line in matrix.cells]
    image = axes.imshow(seconds, aspect="auto", cmap="cividis")
    known = [s for line in seconds for s in line if s == s]
    middle = (min(known) + max(known)) / 2
    for i, line in enumerate(matrix.cells):
        for j, cell in enumerate(line):
            if cell is not None:
                symbol = SYMBOLS.get(cell.answer, f"{cell.answer:.6}")
                shade = "black" if cell.seconds > middle else "white"
                axes.text(j, i, symbol, ha="center", va="center", color=shade)
    axes.set_xticks(range(len(columns)), [f"{float(v):g}" for v in columns])
    axes.set_yticks(range(len(rows)), [f"{float(v):g}" for v in rows])
    axes.set_xlabel(_AXES.get(across, across))
    axes.set_ylabel(_AXES.get(down, down))
    title = f"{group.task} {Path(group.program).stem}: answer and time"
    verdicts = any(c is not None and c.answer in SYMBOLS for line in matrix.cells for c in line)
    set_heading(axes, f"{title}\n{MEANING}" if verdicts else title, group.about())
    figure.colorbar(image, label="time (seconds)")
    return figure


def _times(group: Group, name: str, series: Iterable[Series]) -> Any:
    figure, axes = new_figure()
    for number, each in enumerate(series):
        values = [float(value) for value, _ in each.points]
        seconds = [row.seconds for _, row in each.points]
        axes.plot(values, seconds, label=each.label, **line_style(number))
    axes.set_yscale("log")
    axes.set_ylabel("time (seconds per case)")
    title = f"{group.task} {Path(group.program).stem}: time against {name}"
    _finish(axes, name, title, group.about())
    return figure


def _measured_series(group: Group, name: str) -> dict[str, list[_Line]]:
    """Collect the numbers along a field, by what they are."""
    found: dict[str, list[_Line]] = {}
    for each in series_of(group, name):
        points = [(float(value), row.number) for value, row in each.points if row.number]
        if len(points) > 1:
            found.setdefault(points[0][1].quantity, []).append((each.label, points))
    return found


def _numbers(group: Group, quantity: str, name: str, lines: Iterable[_Line]) -> Any:
    """Guarantee against noise, or against any other field; bars are the enclosures.

    Lines only join what belongs together: nothing is certified between the points.
    """
    figure, axes = new_figure()
    for number, (label, points) in enumerate(lines):
        values, found = zip(*points, strict=True)
        middles = [(m.lower + m.upper) / 2 for m in found]
        halves = [(m.upper - m.lower) / 2 for m in found]
        style = line_style(number)
        axes.errorbar(values, middles, yerr=halves, label=label, capsize=2, **style)
        if min(values) > 0 and max(values) >= _WIDE * min(values):
            axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(_ASKED[quantity])
    stem = Path(group.program).stem
    title = f"{stem}: {_WORDS[quantity]} against {_WORDS.get(name, name)}"
    _finish(axes, name, title, group.about())
    return figure


def _finish(axes: Any, name: str, title: str, about: Iterable[str]) -> None:
    axes.set_xlabel(_AXES.get(name, name))
    set_heading(axes, title, about)
    axes.grid(alpha=0.3)
    if len(axes.get_legend_handles_labels()[0]) > _MANY:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    else:
        axes.legend(fontsize=8)
