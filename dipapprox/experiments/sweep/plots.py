"""Pictures of results: heat maps over two numbers, time against N, noise against guarantee."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import nan
from pathlib import Path
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.experiments.pictures import (
    LEAST_BUDGET,
    LEAST_DELTA,
    PROGRAM_EPSILON,
    line_style,
    new_figure,
    save,
    set_delta_axis,
    set_heading,
    set_legend,
    set_whole_ticks,
)
from dipapprox.experiments.sweep.summary import (
    FULL,
    MEANING,
    SYMBOLS,
    CaseRow,
    Group,
    Matrix,
    Measured,
    Series,
    matrix_of,
    numeric_fields,
    readable,
    series_of,
)

_Line = tuple[str, list[tuple[Fraction, Measured]]]  # a label, and a number at each value

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
_WIDE = 50  # values that span this factor or more stand on a logarithmic axis


def plot_groups(groups: Iterable[Group], folder: Path) -> tuple[Path, ...]:
    """Draw what can be drawn of every group, as SVG and PNG; return the files."""
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
    """Answers in cells; colours are margins, verdicts or numbers, never times."""
    (down, rows), (across, columns) = matrix.down, matrix.across
    figure, axes = new_figure(2.6 + 0.7 * len(columns), 1.8 + 0.35 * len(rows))
    colours = _colours(matrix)
    values = [[nan if cell is None else colours.of(cell) for cell in line] for line in matrix.cells]
    known = [value for line in values for value in line if value == value]
    low, high = colours.ends or (min(known, default=0.0), max(known, default=1.0))
    image = axes.imshow(values, aspect="auto", cmap=colours.map, vmin=low, vmax=high)
    axes.set_facecolor("#dddddd")  # where there is nothing to colour
    for i, line in enumerate(matrix.cells):
        for j, cell in enumerate(line):
            if cell is not None:
                symbol = SYMBOLS.get(cell.answer, f"{cell.answer:.6}")
                shade = "white" if colours.dark(values[i][j], low, high) else "black"
                axes.text(j, i, symbol, ha="center", va="center", color=shade)
    axes.set_xticks(range(len(columns)), [readable(v) for v in columns])
    axes.set_yticks(range(len(rows)), [readable(v) for v in rows])
    axes.set_xlabel(_AXES.get(across, across))
    axes.set_ylabel(_AXES.get(down, down))
    title = f"{group.task} {Path(group.program).stem}"
    set_heading(axes, title, [*[MEANING] * matrix.has_verdicts, *_about(group)])
    if colours.label:
        figure.colorbar(image, label=colours.label)
    return figure


class _Colours(Record):
    """What the colours of a map stand for: beside the scale, "" for none; its ends, None for those
    of the values; and what number a cell has, not a number where there is none."""

    label: str
    map: str
    ends: tuple[float, float] | None
    of: Callable[[CaseRow], float]

    def dark(self, value: float, low: float, high: float) -> bool:
        """Whether the colour of a value needs a light text on it."""
        if value != value or low == high:
            return value == value and self.ends is None
        share = (value - low) / (high - low)
        return share < 0.5 if self.ends is None else not 0.15 < share < 0.85


def _colours(matrix: Matrix) -> _Colours:
    """Choose: the margin of the claim; the verdict where a margin is missing; or the number."""
    decided = [row for row in matrix.rows if row.answer in ("DP", "Not_DP")]
    if not matrix.has_verdicts:
        quantities = [row.number.quantity for row in matrix.rows if row.number is not None]
        label = _ASKED[quantities[0]] if quantities else ""
        return _Colours(label, "cividis", None, lambda row: row.number.upper if row.number else nan)
    if decided and all(cell.margin is not None for cell in decided):
        label = "claimed δ / needed δ, power of ten"
        return _Colours(
            label, "PuOr_r", (-FULL, FULL), lambda row: nan if row.margin is None else row.margin
        )
    verdicts = {"DP": 1.0, "Not_DP": -1.0}
    return _Colours("", "PuOr_r", (-1.5, 1.5), lambda row: verdicts.get(row.answer, nan))


def _about(group: Group) -> Iterator[str]:
    """Say what is fixed, and what the answers are about."""
    fixed = group.fixed_text()
    if fixed:
        yield fixed
    yield from group.about()


def _times(group: Group, name: str, series: Iterable[Series]) -> Any:
    figure, axes = new_figure()
    values_on_axis: list[Fraction] = []
    for number, each in enumerate(series):
        values_on_axis += (value for value, _ in each.points)
        values = [float(value) for value, _ in each.points]
        seconds = [row.seconds for _, row in each.points]
        axes.plot(values, seconds, label=each.label, **line_style(number))
    axes.set_yscale("log")
    axes.set_ylabel("time (seconds per case)")
    title = f"{group.task} {Path(group.program).stem}: time against {name}"
    _finish(figure, axes, name, title, group, values_on_axis)
    return figure


def _measured_series(group: Group, name: str) -> dict[str, list[_Line]]:
    """Collect the numbers along a field, by what they are."""
    found: dict[str, list[_Line]] = {}
    for each in series_of(group, name):
        points = [(value, row.number) for value, row in each.points if row.number]
        if len(points) > 1:
            found.setdefault(points[0][1].quantity, []).append((each.label, points))
    return found


def _numbers(group: Group, quantity: str, name: str, lines: Iterable[_Line]) -> Any:
    """Guarantee against noise, or against any other field; bars are the enclosures. Lines only join
    what belongs together: nothing is certified between the points."""
    figure, axes = new_figure()
    values_on_axis: list[Fraction] = []
    ends: list[float] = []
    for number, (label, points) in enumerate(lines):
        values_on_axis += (value for value, _ in points)
        values = [float(value) for value, _ in points]
        found = [measured for _, measured in points]
        ends += [each.upper for each in found]
        middles = [(m.lower + m.upper) / 2 for m in found]
        halves = [(m.upper - m.lower) / 2 for m in found]
        style = line_style(number)
        axes.errorbar(values, middles, yerr=halves, label=label, capsize=2, **style)
    axes.set_ylim(bottom=0)
    if quantity == "delta":
        set_delta_axis(axes.yaxis, ends)
    axes.set_ylabel(_ASKED[quantity])
    stem = Path(group.program).stem
    title = f"{stem}: {_WORDS[quantity]} against {_WORDS.get(name, name)}"
    _finish(figure, axes, name, title, group, values_on_axis)
    return figure


def _finish(
    figure: Any, axes: Any, name: str, title: str, group: Group, values: Iterable[Fraction]
) -> None:
    """Lay out what pictures of lines share: the axis of a field, the heading, the names."""
    known = list(values)
    axes.set_xlabel(_AXES.get(name, name))
    if min(known) > 0 and max(known) >= _WIDE * min(known):
        axes.set_xscale("log")
    elif all(value.denominator == 1 for value in known):
        set_whole_ticks(axes.xaxis)
    if name == "delta":
        set_delta_axis(axes.xaxis, map(float, known))
    set_heading(axes, title, _about(group))
    axes.grid(alpha=0.3)
    set_legend(figure, axes)
