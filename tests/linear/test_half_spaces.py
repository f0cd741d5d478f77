"""Interior and implication against an independent linear programming code (scipy's HiGHS)."""

from __future__ import annotations

import numpy as np
from event_strategies import events
from hypothesis import given
from scipy.optimize import linprog

from dipapprox.events.event import Event
from dipapprox.linear.half_spaces import has_interior, implies


def greatest_slack(event: Event) -> float:
    """max { t <= 1 : form + t <= 0 for every guard }, in floating point."""
    size = len(event.samples)
    rows = [[*(float(g.coefficient(s)) for s in range(size)), 1.0] for g in event.guards]
    bounds = [(None, None)] * size + [(None, 1)]
    right = [-float(g.constant) for g in event.guards]
    objective = np.array([0.0] * size + [-1.0])
    result = linprog(objective, A_ub=np.array(rows), b_ub=right, bounds=bounds)
    assert result.success
    return float(-result.fun)


@given(events())
def test_has_interior_agrees_with_linear_programming(event: Event) -> None:
    assert has_interior(event.guards) == (greatest_slack(event) > 1e-7)


@given(events(most=4))
def test_implies_agrees_with_linear_programming(event: Event) -> None:
    *premises, conclusion = event.guards
    opposite = Event(event.samples, (*premises, -conclusion))
    assert implies(premises, conclusion) == (greatest_slack(opposite) <= 1e-7)
