"""A marginal and an interval in; out, the event that the published number lies in it.

That is two more guards on the same samples, so whatever encloses events encloses masses, too.
"""

from __future__ import annotations

from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event, Impossible, Marginal
from dipapprox.events.intervals import Interval
from dipapprox.events.reduce import reduce
from dipapprox.linear.form import LinearForm


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
    found = reduce(Event(marginal.event.samples, tuple(guards)))
    if isinstance(found, Impossible):
        return None
    return [canonical(factor) for factor in found.factors]
