"""Time against N as a picture, with matplotlib: the optional extra `plots`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from dipapprox.experiments.benchmarks.published import published
from dipapprox.experiments.benchmarks.suite import PRECISE, Results
from dipapprox.experiments.benchmarks.timing import Outcome

MISSING = "No plot: matplotlib is not installed (`pip install 'dipapprox[plots]'`)."


def plot_growth(results: Results, path: Path) -> bool:
    """Draw the families of growing N on logarithmic axes, published times as hollow circles.

    Returns:
        Whether matplotlib is there.
    """
    try:
        figures: Any = importlib.import_module("matplotlib.figure")
        style: Any = importlib.import_module("matplotlib")
    except ImportError:
        return False
    figure = figures.Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    for number, (family, points) in enumerate(_families(results).items()):
        colour, marker = f"C{number % 10}", "os^v"[number // 10 % 4]
        sizes, seconds, known = zip(*points, strict=True)
        axes.plot(sizes, seconds, marker=marker, color=colour, label=family, linewidth=1)
        printed = [(n, s) for n, s in zip(sizes, known, strict=True) if s is not None]
        if printed:
            axes.plot(*zip(*printed, strict=True), "o", mfc="none", color=colour)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("N")
    axes.set_ylabel("seconds, median")
    axes.set_title("Engine time; hollow: published")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    with style.rc_context({"svg.hashsalt": "dipapprox"}):  # the same ids in every file
        figure.savefig(path, format="svg", metadata={"Date": None})
    return True


def _families(results: Results) -> dict[str, list[tuple[int, float, float | None]]]:
    """Collect (N, seconds, published seconds) by family, those with two points or more."""
    families: dict[str, list[tuple[int, float, float | None]]] = {}
    for family, case, growth in results.alone:
        if growth.timing.outcome is Outcome.ANSWERED and case not in PRECISE:
            known = published(case)
            printed = known.printed if known is not None else None
            seconds = printed if isinstance(printed, float) else None
            families.setdefault(family, []).append((case.n, growth.timing.median, seconds))
    return {family: points for family, points in families.items() if len(points) > 1}
