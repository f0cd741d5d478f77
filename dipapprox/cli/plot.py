"""Privacy profiles as pictures (`experiments.pictures`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import ceil, exp, nan
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.errors import BrokenInvariant
from dipapprox.experiments.pictures import (
    COLOURS,
    LEAST_DELTA,
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
    from dipapprox.privacy.compositions.result import ComposedAnswer
    from dipapprox.privacy.probabilities import OutputDistribution
    from dipapprox.privacy.profiles.planes import Place, Planes
    from dipapprox.privacy.profiles.profile_result import PrivacyCurve, RenyiProfile

_STEPS = 8
"""Drawn points between two certified ones: envelopes are curved over the budget."""

_MOST_DOTS = 60
_IN_A_ROW = 3
"""Planes."""


def plot_curve(curve: PrivacyCurve, path: Path) -> None:
    """Draw the two envelopes of a privacy profile, and the certified points.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    figure, axes = new_figure()
    points = curve.envelope.points
    budgets, lower, upper = _drawn(curve)
    axes.fill_between(budgets, lower, upper, color=COLOURS[0], alpha=0.35)
    axes.plot(budgets, upper, color=COLOURS[0], linewidth=1.2)
    if len(points) <= _MOST_DOTS:
        certified = [float(p.delta.upper) for p in points]
        axes.plot([float(p.eps_prv) for p in points], certified, ".", color=COLOURS[0])
    axes.set_xlabel(r"budget $\varepsilon_{prv}$ (no unit)")
    axes.set_ylabel(LEAST_DELTA)
    title = f"{curve.program} at ε = {curve.eps}: privacy profile"
    set_heading(axes, title, curve.about())
    axes.set_xlim(budgets[0], budgets[-1])
    axes.set_ylim(bottom=0)
    set_delta_axis(axes.yaxis, upper)
    axes.grid(alpha=0.3)
    save(figure, path)


def plot_renyi(found: RenyiProfile, path: Path) -> None:
    """Draw bounds of Rényi divergences by their order.

    Raises:
        UserError: If there are not two orders to draw, matplotlib is missing or the file cannot be
            written.
    """
    chart = found.chart()
    if chart is None:
        raise found.nothing_to_draw()
    figure, axes = new_figure()
    orders = [float(order) for order, _ in chart.points]
    lower, upper = (
        [float(end) for end in ends]
        for ends in zip(*((bounds.lower, bounds.upper) for _, bounds in chart.points), strict=True)
    )
    axes.fill_between(orders, lower, upper, color=COLOURS[0], alpha=0.35)
    axes.plot(orders, upper, color=COLOURS[0], linewidth=1.2)
    axes.set_xlabel("order $a$ (no unit)")
    axes.set_ylabel("largest $D_a$ (nats)")
    set_heading(axes, chart.title, found.about())
    axes.set_xlim(orders[0], orders[-1])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    save(figure, path)


def plot_composed(found: ComposedAnswer, path: Path) -> None:
    """Draw the privacy profile of a composition.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    curve = found.curve
    if curve is None:
        raise BrokenInvariant("no curve was asked")
    figure, axes = new_figure()
    points = curve.points
    budgets, lower, upper = [], [], []
    for left, right in pairwise(points):
        for step in range(_STEPS):
            place = left.eps_prv + (right.eps_prv - left.eps_prv) * step / _STEPS
            between = curve.at(place)
            budgets.append(float(place))
            lower.append(float(between.lower))
            upper.append(float(between.upper))
    budgets.append(float(points[-1].eps_prv))
    lower.append(float(points[-1].delta.lower))
    upper.append(float(points[-1].delta.upper))
    axes.fill_between(budgets, lower, upper, color=COLOURS[0], alpha=0.35)
    axes.plot(budgets, upper, color=COLOURS[0], linewidth=1.2)
    axes.set_xlabel(r"budget $\varepsilon_{prv}$ (no unit)")
    axes.set_ylabel(LEAST_DELTA)
    runs = found.pipeline.runs
    set_heading(axes, "privacy profile of a composition", (run.text() for run in runs))
    axes.set_xlim(budgets[0], budgets[-1])
    axes.set_ylim(bottom=0)
    set_delta_axis(axes.yaxis, upper)
    axes.grid(alpha=0.3)
    save(figure, path)


def _drawn(curve: PrivacyCurve) -> tuple[list[float], list[float], list[float]]:
    """Sample both envelopes, to drawing accuracy; the certified numbers are in JSON and CSV."""
    points = curve.envelope.points
    budgets, lower, upper = [], [], []
    for left, right in pairwise(points):
        start, end = exp(float(left.eps_prv)), exp(float(right.eps_prv))
        for step in range(_STEPS + 1):
            share = step / _STEPS
            budget = float(left.eps_prv) + share * float(right.eps_prv - left.eps_prv)
            x = exp(budget)
            chord = (x - start) / (end - start)
            high = float(left.delta.upper)
            high += chord * float(right.delta.upper - left.delta.upper)
            lines = [float(p.line.intercept) - float(p.line.slope) * x for p in (left, right)]
            budgets.append(budget)
            upper.append(high)
            lower.append(min(max(*lines, float(right.delta.lower)), high))
    return budgets, lower, upper


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
