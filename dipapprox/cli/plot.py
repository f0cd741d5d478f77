"""Curves as pictures, with matplotlib: the optional extra `plots`."""

from __future__ import annotations

import importlib
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

from dipapprox.errors import UserError
from dipapprox.privacy.profiles.profile_result import PrivacyCurve

_FORMATS = (".svg", ".png", ".pdf")
_STEPS = 8
"""Drawn points between two certified ones: envelopes are curved over the budget."""


def plot_format(path: Path) -> str:
    """Return the format that a file name stands for.

    Raises:
        UserError: If it stands for none.
    """
    if path.suffix.lower() not in _FORMATS:
        raise UserError(
            f"--plot cannot write '{path.name}'", f"the name must end in {', '.join(_FORMATS)}"
        )
    return path.suffix.lower().removeprefix(".")


def plot_curve(curve: PrivacyCurve, path: Path) -> None:
    """Draw the two envelopes of a privacy profile, and the certified points.

    Raises:
        UserError: If matplotlib is missing or the file cannot be written.
    """
    kind = plot_format(path)
    figure = _load("matplotlib.figure").Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    points = curve.envelope.points
    budgets, lower, upper = _drawn(curve)
    axes.fill_between(budgets, lower, upper, color="tab:blue", alpha=0.35, label="certified")
    axes.plot(budgets, upper, color="tab:blue", linewidth=1.2)
    if len(points) <= 60:
        axes.plot(
            [float(p.budget) for p in points],
            [float(p.delta.upper) for p in points],
            ".",
            color="tab:blue",
        )
    axes.set_xlabel("budget $\\varepsilon_{prv}$")
    axes.set_ylabel("least $\\delta$")
    axes.set_title(f"{curve.run.program} at $\\varepsilon$ = {curve.run.epsilon}")
    axes.set_xlim(budgets[0], budgets[-1])
    axes.set_ylim(bottom=0)
    axes.legend()
    try:
        figure.savefig(path, format=kind)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from None


def _drawn(curve: PrivacyCurve) -> tuple[list[float], list[float], list[float]]:
    """Sample both envelopes, to drawing accuracy; the certified numbers are in JSON and CSV."""
    points = curve.envelope.points
    budgets, lower, upper = [], [], []
    for left, right in pairwise(points):
        start, end = exp(float(left.budget)), exp(float(right.budget))
        for step in range(_STEPS + 1):
            share = step / _STEPS
            budget = float(left.budget) + share * float(right.budget - left.budget)
            x = exp(budget)
            chord = (x - start) / (end - start)
            high = float(left.delta.upper)
            high += chord * float(right.delta.upper - left.delta.upper)
            lines = [float(p.line.intercept) - float(p.line.slope) * x for p in (left, right)]
            budgets.append(budget)
            upper.append(high)
            lower.append(min(max(*lines, float(right.delta.lower)), high))
    return budgets, lower, upper


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UserError(
            "--plot needs matplotlib, which is not installed",
            "pip install 'dipapprox[plots]'",
        ) from None
