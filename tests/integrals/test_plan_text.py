"""How plans read: golden texts of the paper's Example 6 and of a general guard."""

from __future__ import annotations

from fractions import Fraction

from event_strategies import gauss, laplace, less

from dipapprox.events.event import Event
from dipapprox.integrals import plan as plans
from dipapprox.integrals.integral import Add, Multiply
from dipapprox.integrals.optimizer import plan
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm

LABELS = ("t", "r[1]", "r[2]")
# DiPApprox Example 6: G = {r1 < rT, r2 >= rT}
EXAMPLE = Event((gauss(0, 4), gauss(0, 8), gauss(1, 8)), (less(1, 0), less(0, 2)))


def test_latex_of_the_example() -> None:
    found = plan(EXAMPLE, Strategy.LEAST_NESTING, Limits())
    assert plans.latex(found, LABELS) == (
        r"\int_{-\infty}^{\infty} h_{t}(t) "
        r"\left[ \int_{-\infty}^{t} h_{r_{1}}(r_{1}) \,dr_{1} \right] "
        r"\left[ \int_{t}^{\infty} h_{r_{2}}(r_{2}) \,dr_{2} \right] \,dt"
    )
    assert plans.latex(Add(()), ()) == "0"
    assert plans.latex(Multiply(()), ()) == "1"


def test_general_guards_and_sums_read_naturally() -> None:
    guard = LinearForm.of({0: Fraction(2), 1: Fraction(-1, 2), 2: Fraction(-1)}, Fraction(1))
    event = Event((laplace(0),) * 3, (guard,))
    assert plans.form_text(-guard, ("a", "b", "c")) == "-2*a + 1/2*b + c - 1"
    assert plans.form_text(LinearForm.constant_form(-3), ()) == "-3"
    shown = plans.text(plan(event, Strategy.LEAST_NESTING, Limits()), ("a", "b", "c"))
    assert shown.startswith("sum of\n  integral over ")
    never = Event((gauss(0), gauss(0)), (less(0, 1), less(1, 0)))
    assert plans.text(plan(never, Strategy.PAPER, Limits()), ("a", "b")) == "0"
