"""Pictures of results: verdict and time over two numbers, and time against N."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dipapprox.experiments.pictures import COLOURS, MARKERS, new_figure, save
from dipapprox.experiments.sweep.summary import (
    Group,
    Matrix,
    Series,
    matrix_of,
    series_of,
    whole_parameters,
)

SYMBOLS = {"DP": "✓", "Not_DP": "✗", "Unknown": "?", "-": "–"}
"""What stands for an answer in a cell; the colour only shows the time."""


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
        for name in whole_parameters(group):
            series = series_of(group, name)
            if series:
                written += _both(_lines(group, name, series), folder / f"{stem}-time-{name}")
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
    axes.set_xlabel(across)
    axes.set_ylabel(down)
    axes.set_title(f"{group.task} {Path(group.program).stem}: answer and time")
    figure.colorbar(image, label="seconds")
    return figure


def _lines(group: Group, name: str, series: Iterable[Series]) -> Any:
    figure, axes = new_figure()
    for number, each in enumerate(series):
        sizes, seconds = zip(*each.points, strict=True)
        axes.plot(
            sizes,
            seconds,
            marker=MARKERS[number % len(MARKERS)],
            color=COLOURS[number % len(COLOURS)],
            linewidth=1.2,
            label=each.label,
        )
    axes.set_yscale("log")
    axes.set_xlabel(name)
    axes.set_ylabel("seconds per case")
    axes.set_title(f"{group.task} {Path(group.program).stem}: time against {name}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure
