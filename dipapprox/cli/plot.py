"""Charts of answers as files: SVG as in reports, other formats with matplotlib (`pictures`)."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, nan
from pathlib import Path

from dipapprox.experiments.pictures import (
    COLOURS,
    colour_norm,
    new_figure,
    save,
    set_common_heading,
    set_delta_axis,
    set_heading,
    set_legend,
)
from dipapprox.privacy.charts import Curve, Picture
from dipapprox.privacy.profiles.planes import LARGEST_DRAWN, Place, Planes, colours_of

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
    norm = colour_norm(colours.first, colours.last, logarithmic=colours.logarithmic)
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
            panel.plot(*_coordinates(peaks), ".", color=COLOURS[1], markersize=4)
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
    set_common_heading(figure, found.title, (*lines, dots))
    save(figure, path)


def _coordinates(places: Iterable[Place]) -> list[list[float]]:
    return [[float(value) for value in side] for side in zip(*places, strict=True)]
