"""Intervals of real numbers; an end may be infinite."""

from __future__ import annotations

from fractions import Fraction

Interval = tuple[Fraction | None, Fraction | None]
"""[lower, upper]; None: infinite."""

EVERYWHERE: Interval = (None, None)


def common(first: Interval, second: Interval) -> Interval:
    """Return the intersection of two intervals, empty if its ends are in the wrong order."""
    lower = [end for end in (first[0], second[0]) if end is not None]
    upper = [end for end in (first[1], second[1]) if end is not None]
    return max(lower, default=None), min(upper, default=None)


def mapped(interval: Interval, factor: Fraction, shift: Fraction) -> Interval:
    """Return the interval of factor * x + shift, factor != 0."""
    low, high = (None if end is None else factor * end + shift for end in interval)
    return (low, high) if factor > 0 else (high, low)
