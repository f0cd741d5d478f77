"""Intervals of real numbers; an end may be infinite.

That a published number lies in one is two more guards on the same samples, so whatever encloses
events encloses masses, too.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.events.canonical import canonical_factors
from dipapprox.events.event import Connected, Event, Marginal
from dipapprox.linear.form import LinearForm

Interval = tuple[Fraction | None, Fraction | None]  # [lower, upper]; None: infinite

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


def within(marginal: Marginal, interval: Interval) -> list[Connected] | None:
    """Return independent events that together say it; None if their probability is 0."""
    lower, upper = interval
    if lower is not None and upper is not None and lower >= upper:
        return None
    guards = list(marginal.event.guards)
    if upper is not None:
        guards.append(marginal.form + LinearForm.constant_form(-upper))
    if lower is not None:
        guards.append(LinearForm.constant_form(lower) - marginal.form)
    return canonical_factors(Event(marginal.event.samples, tuple(guards)))
