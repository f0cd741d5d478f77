"""Time against N as a picture (`experiments.pictures`)."""

from __future__ import annotations

from pathlib import Path

from bench.cases import PRECISE
from bench.growth import ALONE
from bench.suite import Results
from bench.timing import Outcome
from dipapprox.errors import UserError
from dipapprox.experiments.pictures import line_style, new_figure, save

MISSING = "No plot: matplotlib is not installed (`pip install 'dipapprox[plots]'`)."


def plot_growth(results: Results, path: Path) -> bool:
    """Draw the families of growing N on logarithmic axes, published times as hollow circles.

    Returns:
        Whether matplotlib is there.

    Raises:
        UserError: If the file cannot be written.
    """
    try:
        figure, axes = new_figure(8.0, 5.0)
    except UserError:
        return False
    for number, (family, points) in enumerate(_families(results).items()):
        style = line_style(number)
        sizes, seconds, known = zip(*points, strict=True)
        axes.plot(sizes, seconds, label=family, **style)
        printed = [(n, s) for n, s in zip(sizes, known, strict=True) if s is not None]
        if printed:
            axes.plot(*zip(*printed, strict=True), "o", mfc="none", color=style["color"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("N (number of queries)")
    axes.set_ylabel("time (seconds, median)")
    axes.set_title("Engine time; hollow: published")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)
    return True


def _families(results: Results) -> dict[str, list[tuple[int, float, float | None]]]:
    """Collect (N, seconds, published seconds) by family, those with two points or more."""
    families: dict[str, list[tuple[int, float, float | None]]] = {}
    for row in results.get(ALONE.kind, ()):
        timing, printed = row.found["timing"], row.found["published"]
        if timing.outcome is Outcome.ANSWERED and row.case.case not in PRECISE:
            seconds = printed if isinstance(printed, float) else None
            point = row.found["n"], timing.median, seconds
            families.setdefault(row.found["family"], []).append(point)
    return {family: points for family, points in families.items() if len(points) > 1}
