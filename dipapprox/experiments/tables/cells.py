"""Numbers as table cells."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.experiments.tables.published import LOST, seconds_of
from dipapprox.experiments.tables.runs import Found


def seconds_cell(found: Found) -> str:
    """Our time in seconds, or why there is no answer."""
    return f"{found.seconds:.3g}" if found.answer != "Unknown" else f"({found.reason})"


def published_cell(printed: str) -> str:
    """A printed time in seconds."""
    return LOST.get(printed, printed)


def ratio_cell(printed: str, found: Found) -> str:
    """How many times faster than the published time; machines differ."""
    seconds = seconds_of(printed)
    if found.answer == "Unknown":
        return "–"
    if seconds is None:
        return "answered" if printed in LOST else "–"
    ratio = float(seconds) / found.seconds
    return f"{float(f'{ratio:.2g}'):,.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def one_decimal(value: Fraction) -> str:
    """Round as the tables do: to one decimal, halves to even."""
    return f"{float(round(value, 1)):.1f}"
