"""Privacy profiles as pictures (`experiments.pictures`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, nan
from pathlib import Path
from typing import TYPE_CHECKING

from dipapprox.errors import BrokenInvariant
from dipapprox.experiments.pictures import (
    COLOURS,
    LEAST_DELTA,
    new_figure,
    save,
    set_common_heading,
    set_delta_axis,
    set_heading,
    set_legend,
)
from dipapprox.privacy.notation import valuation_text

if TYPE_CHECKING:
    from dipapprox.privacy.compositions.result import ComposedAnswer
    from dipapprox.privacy.probabilities import OutputDistribution
    from dipapprox.privacy.profiles.planes import Plane
    from dipapprox.privacy.profiles.profile_result import PrivacyCurve, RenyiProfile

_STEPS = 8
"""Drawn points between two certified ones: envelopes are curved over the budget."""

_MOST_DOTS = 60


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
    set_heading(axes, title, (value for _, value in curve.scope.rows()))
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
    set_heading(axes, chart.title, (value for _, value in found.scope.rows()))
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
    set_heading(axes, title, (value for _, value in found.scope.rows()))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    set_legend(figure, axes)
    save(figure, path)


def plot_planes(
    title: str, lines: Iterable[str], pair: str, found: Sequence[Plane], path: Path
) -> None:
    """Draw where the worst pair of real inputs lies: δ over planes through it.

    Args:
        title: Of the picture.
        lines: What it is about.
        pair: The worst pair, whose other values are fixed in each plane.
        found: The planes.
        path: Where to.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    figure, axes = new_figure(max(3.4 * len(found) + 1, 6.4), 4.4)
    axes.remove()
    top = max((d for each in found for row in each.deltas for d in row if d is not None), default=0)
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for panel, each in zip(panels, found, strict=True):
        values = [float(value) for value in each.values]
        # Columns are values in u.
        columns = [
            [d if d is not None else nan for d in column]
            for column in zip(*each.deltas, strict=True)
        ]
        mesh = panel.pcolormesh(
            values, values, columns, shading="nearest", cmap="cividis", vmin=0, vmax=top or 1
        )
        panel.plot(*map(float, each.worst), marker="o", color=COLOURS[3], clip_on=False)
        panel.set_xlabel(f"{each.name} of the input (its unit)")
        panel.set_ylabel(f"{each.name} of the adjacent input (its unit)")
        panel.set_aspect("equal")
    figure.colorbar(mesh, ax=list(panels), label=LEAST_DELTA, shrink=0.7)
    fixed = f"all else as in the worst pair (dot): {pair}"
    set_common_heading(figure, title, (*lines, fixed))
    save(figure, path)
