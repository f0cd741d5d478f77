"""Pictures, with matplotlib (the optional extra `plots`): how those of sweeps look and are saved.

Colours are those of Okabe and Ito, told apart with every kind of colour vision; lines differ in
their markers as well. Axes name what they show and its unit. An SVG file carries its heading as a
title that screen readers find, and the same data give the same file, byte for byte.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from textwrap import wrap
from typing import Any

from dipapprox.errors import UserError
from dipapprox.privacy.charts import needs_powers

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
MARKERS = "os^vDPX"
PROGRAM_EPSILON = r"$\varepsilon$ of the program (no unit)"
LEAST_BUDGET = r"least budget $\varepsilon_{prv}$ (no unit)"
LEAST_DELTA = r"least $\delta$ (probability)"
_CHARACTERS = 72  # of a line above a picture
FORMATS = (".svg", ".png", ".pdf")


def new_figure(width: float = 6.4, height: float = 4.0) -> tuple[Any, Any]:
    """Return an empty figure, in inches, and its axes."""
    figure = _load("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def set_heading(axes: Any, title: str, lines: Iterable[str]) -> None:
    """Put a title above axes, and below it what the picture is about."""
    axes.set_title(_heading(title, lines), fontsize=10)


def set_common_heading(figure: Any, title: str, lines: Iterable[str]) -> None:
    """Put a title above all axes of a figure, and below it what the picture is about."""
    figure.suptitle(_heading(title, lines), fontsize=10)


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


def colour_norm(first: float, last: float, *, logarithmic: bool) -> Any:
    """Return how numbers from `first` to `last` become colours."""
    colors = _load("matplotlib.colors")
    return (colors.LogNorm if logarithmic else colors.Normalize)(first, last)


def set_whole_ticks(axis: Any) -> None:
    axis.set_major_locator(_load("matplotlib.ticker").MaxNLocator(integer=True))


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
