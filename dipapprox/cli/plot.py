"""Answers as pictures (`experiments.pictures`)."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, nan
from pathlib import Path
from typing import TYPE_CHECKING

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
from dipapprox.privacy.heights import LARGEST_DRAWN, colours_of
from dipapprox.privacy.notation import valuation_text

if TYPE_CHECKING:
    from dipapprox.privacy.charts import Curve
    from dipapprox.privacy.probabilities import OutputDistribution
    from dipapprox.privacy.profiles.planes import Place, Planes

_IN_A_ROW = 3
"""Planes."""


def plot_along(chart: Curve, path: Path) -> None:
    """Draw a number that is enclosed along another.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    figure, axes = new_figure()
    places = [float(place) for place, _ in chart.points]
    lower = [float(each.lower) for _, each in chart.points]
    upper = [float(each.upper) for _, each in chart.points]
    axes.fill_between(places, lower, upper, color=COLOURS[0], alpha=0.35)
    axes.plot(places, upper, color=COLOURS[0], linewidth=1.2)
    axes.set_xlabel(chart.across)
    axes.set_ylabel(chart.up)
    set_heading(axes, chart.title, chart.notes)
    axes.set_xlim(places[0], places[-1])
    axes.set_ylim(bottom=0)
    set_delta_axis(axes.yaxis, upper)
    axes.grid(alpha=0.3)
    save(figure, path)


def plot_densities(found: OutputDistribution, path: Path) -> None:
    """Draw the mean densities of real outputs, outcome by outcome.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    figure, axes = new_figure()
    finite = found.output_cells[: len(found.output_cells) - found.real_outputs]
    for number, each in enumerate(found.histograms):
        edges = [float(part.lower) for part in each.bins] + [float(each.bins[-1].upper)]
        heights = [float(part.mass.upper / (part.upper - part.lower)) for part in each.bins]
        outputs = valuation_text(finite, each.outputs)
        label = f"{each.name}, {outputs}" if outputs else each.name
        axes.stairs(heights, edges, color=COLOURS[number % len(COLOURS)], label=label)
    axes.set_xlabel("published number (unit of the output)")
    axes.set_ylabel("density (probability per unit)")
    input = valuation_text(found.inputs, found.input)
    title = f"{found.program} at ε = {found.eps}" + (f" for {input}" if input else "")
    set_heading(axes, title, found.about())
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    set_legend(figure, axes)
    save(figure, path)


def plot_planes(found: Planes, path: Path) -> None:
    """Draw δ over planes through a pair of inputs.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    wide = min(len(found.planes), _IN_A_ROW)
    rows = ceil(len(found.planes) / wide)
    lines = found.notes()
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
