"""Pictures with matplotlib (the optional extra `plots`): of sweeps, and of single answers.

Results of sweeps are heat maps over two numbers, time against N, noise against guarantee. Charts of
answers are SVG as in reports, other formats drawn here. Colours are those of Okabe and Ito, told
apart with every kind of colour vision; lines differ in their markers as well. Axes name what they
show and its unit. An SVG file carries its heading as a title that screen readers find, and the same
data give the same file, byte for byte.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from math import ceil, isfinite, nan
from pathlib import Path
from textwrap import wrap
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import UserError
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
from dipapprox.privacy.charts import Curve, Picture, needs_powers
from dipapprox.privacy.profiles.planes import LARGEST_DRAWN, Planes, colours_of

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
MARKERS = "os^vDPX"
_CHARACTERS = 72  # of a line above a picture
FORMATS = (".svg", ".png", ".pdf")


def new_figure(width: float = 6.4, height: float = 4.0) -> tuple[Any, Any]:
    """Return an empty figure, in inches, and its axes."""
    figure = _load("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def set_heading(axes: Any, title: str, lines: Iterable[str]) -> None:
    """Put a title above axes, and below it what the picture is about."""
    axes.set_title(_heading(title, lines), fontsize=10)


def _heading(title: str, lines: Iterable[str]) -> str:
    parts = [part for line in (title, *lines) for part in wrap(line, _CHARACTERS)]
    return "\n".join(parts)


def set_delta_axis(axis: Any, values: Iterable[float]) -> None:
    """Make `axes.xaxis` or `axes.yaxis`, of a δ, logarithmic where `needs_powers` says so of its
    values; zeros lie below its end."""
    known = [value for value in values if isfinite(value)]
    positive = [value for value in known if value > 0]
    if not needs_powers(known):
        return
    end = max(min(positive), max(positive) * 1e-12)
    name = "x" if axis.axis_name == "x" else "y"
    getattr(axis.axes, f"set_{name}scale")("log")
    getattr(axis.axes, f"set_{name}lim")(end / 2, max(positive) * 2)


def set_legend(figure: Any, axes: Any) -> None:
    """Name the lines beside the picture, never over it; a single one needs no name."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside right upper", fontsize=8)


def line_style(number: int) -> dict[str, Any]:
    """Return how the line of a number looks: no two of the first 49 alike."""
    marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[number % len(COLOURS)], "marker": marker, "linewidth": 1.2}


def check_picture(path: Path) -> None:
    """Refuse a picture of an answer that cannot be drawn, before anything is computed."""
    if picture_format(path) != "svg":
        _load("matplotlib.figure")


def picture_format(path: Path) -> str:
    """Return the format that a file name stands for."""
    if path.suffix.lower() not in FORMATS:
        hint = f"the name must end in {', '.join(FORMATS)}"
        raise UserError(f"--plot cannot write '{path.name}'", hint)
    return path.suffix.lower().removeprefix(".")


def save(figure: Any, path: Path) -> None:
    """Write a figure; the extension chooses the format."""
    kind = picture_format(path)
    # No date: the same data give the same file.
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    heading = figure.get_suptitle() or figure.axes[0].get_title()
    metadata = {"Title": " ".join(heading.split()), **undated}
    try:
        with _load("matplotlib").rc_context({"svg.hashsalt": "dipapprox"}):
            figure.savefig(path, format=kind, metadata=metadata, dpi=160)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from None


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        hint = "pip install 'dipapprox[plots]'; .svg files of one answer do not need it"
        raise UserError("this picture needs matplotlib, which is not installed", hint) from None


_Line = tuple[str, list[tuple[Fraction, Measured]]]  # a label, and a number at each value

_AXES = {
    "eps": r"$\varepsilon$ of the program (no unit)",
    "eps_prv": r"budget $\varepsilon_{prv}$ (no unit)",
    "delta": r"$\delta$ (probability)",
    "N": "N (array cells)",
}
"""What stands at an axis, with its unit; other fields by their names."""

_ASKED = {
    "eps_prv": r"least budget $\varepsilon_{prv}$ (no unit)",
    "delta": r"least $\delta$ (probability)",
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
        figure.set_layout_engine("none")  # the other file is laid out alike
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
    figure: Any, axes: Any, name: str, title: str, group: Group, known: list[Fraction]
) -> None:
    """Lay out what pictures of lines share: the axis of a field, the heading, the names."""
    axes.set_xlabel(_AXES.get(name, name))
    if min(known) > 0 and max(known) >= _WIDE * min(known):
        axes.set_xscale("log")
    elif all(value.denominator == 1 for value in known):
        axes.xaxis.set_major_locator(_load("matplotlib.ticker").MaxNLocator(integer=True))
    if name == "delta":
        set_delta_axis(axes.xaxis, map(float, known))
    set_heading(axes, title, _about(group))
    axes.grid(alpha=0.3)
    set_legend(figure, axes)


_IN_A_ROW = 3  # planes


def draw(chart: Curve | Planes, path: Path) -> None:
    """Draw a chart; the extension chooses the format, others than SVG need matplotlib."""
    if path.suffix.lower() == ".svg":
        Picture(chart).save(path)
    elif isinstance(chart, Planes):
        _draw_planes(chart, path)
    else:
        _draw_curve(chart, path)


def _draw_curve(chart: Curve, path: Path) -> None:
    figure, axes = new_figure()
    for number, (name, points) in enumerate(chart.lines):
        colour = COLOURS[number % len(COLOURS)]
        places = [float(place) for place, _ in points]
        lower = [float(each.lower) for _, each in points]
        upper = [float(each.upper) for _, each in points]
        axes.fill_between(places, lower, upper, color=colour, alpha=0.35)
        axes.plot(places, upper, color=colour, linewidth=1.2, label=name)
    axes.set_xlabel(chart.across)
    axes.set_ylabel(chart.up)
    set_heading(axes, chart.title, chart.notes)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    if chart.of_delta:
        set_delta_axis(axes.yaxis, [float(y.upper) for _, y in chart.lines[0][1]])
    axes.grid(alpha=0.3)
    set_legend(figure, axes)
    save(figure, path)


def _draw_planes(found: Planes, path: Path) -> None:
    wide = min(len(found.planes), _IN_A_ROW)
    rows = ceil(len(found.planes) / wide)
    lines = found.notes
    figure, axes = new_figure(max(3.1 * wide + 1, 6.4), 3.4 * rows + 0.25 * len(lines))
    axes.remove()
    colours = colours_of(found.planes)
    scales = _load("matplotlib.colors")
    scale = scales.LogNorm if colours.logarithmic else scales.Normalize
    norm = scale(colours.first, colours.last)
    panels = figure.subplots(rows, wide, squeeze=False).flatten()
    for panel in panels[len(found.planes) :]:
        panel.remove()
    for panel, each in zip(panels, found.planes, strict=False):
        sides = [[float(value) for value in side] for side in (each.columns, each.rows)]
        # Matplotlib wants rows of equal height in `up`. Too small for a logarithm is faintest.
        heights = [
            [nan if d is None else max(float(d.upper), colours.first) for d in row]
            for row in zip(*each.deltas, strict=True)
        ]
        mesh = panel.pcolormesh(*sides, heights, shading="nearest", cmap="cividis", norm=norm)
        mesh.set_rasterized(True)  # thousands of cells are no lines
        peaks = each.peaks()
        if peaks:
            places = ([*map(float, side)] for side in zip(*peaks, strict=True))
            panel.plot(*places, ".", color=COLOURS[1], markersize=4)
        panel.plot(*map(float, each.pair), marker="o", color=COLOURS[3], clip_on=False)
        panel.set_xlabel(each.across, fontsize=8)
        panel.set_ylabel(each.up, fontsize=8)
        panel.set_title(f"({each.fixed})", fontsize=8)
        panel.tick_params(labelsize=8)
        panel.set_aspect("equal")
    shown = list(panels[: len(found.planes)])
    figure.colorbar(mesh, ax=shown, label=r"$\delta$ of a pair (probability)", shrink=0.7)
    dots = f"dot: the {found.pair_name}"
    if any(set(each.peaks()) - {each.pair} for each in found.planes):
        dots += f"; small dots: {LARGEST_DRAWN}"
    figure.suptitle(_heading(found.title, (*lines, dots)), fontsize=10)
    save(figure, path)
