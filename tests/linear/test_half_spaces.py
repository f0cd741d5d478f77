"""Interior and implication against an independent linear programming code (scipy's HiGHS)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from event_strategies import events
from hypothesis import given
from scipy.optimize import linprog

from dipapprox.events.event import Event
from dipapprox.linear.form import LinearForm
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


def test_a_cycle_of_weight_zero_has_no_interior() -> None:
    third = Fraction(1, 3)
    cycle = [
        LinearForm.of({0: Fraction(1), 1: Fraction(-1)}, third),
        LinearForm.of({1: Fraction(3), 2: Fraction(-3)}, Fraction(-2)),
        LinearForm.of({2: Fraction(1), 0: Fraction(-1)}, third),
    ]
    assert not has_interior(cycle)
    assert has_interior([*cycle[:2], cycle[2] + LinearForm.constant_form(Fraction(-1, 10**30))])


def test_a_degenerate_general_system_has_no_interior() -> None:
    # a + b + c <= 0, a >= 0, b >= 0, c >= 0: the origin alone
    forms = [LinearForm.of({0: Fraction(1), 1: Fraction(1), 2: Fraction(1)})]
    forms += [LinearForm.of({k: Fraction(-1)}) for k in range(3)]
    assert not has_interior(forms)
    assert has_interior([forms[0] + LinearForm.constant_form(Fraction(-1, 10**30)), *forms[1:]])
