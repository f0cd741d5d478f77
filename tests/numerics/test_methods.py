"""Methods in order: who answers, what is said when none does, and within how many steps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected, Event
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.methods import Answers, InOrder, Method, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from tests.event_strategies import gauss, laplace, less
from tests.numerics.alone import alone
from tests.numerics.recording import Recording

Q = Fraction
CHAIN = Event((gauss(0), gauss(1), laplace(0)), (less(0, 1), less(1, 2)))
KNOT = Event(
    (gauss(0), gauss(1)),
    (LinearForm.of({0: Q(1), 1: Q(1)}, Q(-1)), LinearForm.of({0: Q(1), 1: Q(2)}, Q(-2))),
)
STEPS = 600
WIDE = Event(
    tuple(gauss(i) for i in range(8)),
    tuple(LinearForm.of({i: Q(1), i + 1: Q(2), i + 2: Q(-1)}, Q(0)) for i in range(6)),
)


def everything(event: Connected) -> bool:
    return True


def in_turn(first: Method, second: Method, *, narrows: bool = True, steps: int = STEPS) -> InOrder:
    """A quick method, and a slow one for what it leaves open."""
    slow = TriedMethod(lambda: second, everything, narrows, steps=steps)
    return InOrder([TriedMethod(lambda: first, everything), slow], first.name)


def both() -> InOrder:
    return in_turn(Eliminated(), Nested(Strategy.LEAST_NESTING))


def test_a_component_out_of_reach_is_named_and_leaves_time_for_others() -> None:
    found, other = both().enclose([WIDE, KNOT], 30, Limits())
    assert isinstance(found, NotEnclosed) and isinstance(other, Enclosure)
    assert "elimination: a guard compares 3 samples" in found.reason
    assert f"nested: work limit: more than {STEPS} steps" in found.reason


class _Patient:
    """A second engine that never ends, and counts how often it asked."""

    name = "patient"

    def __init__(self) -> None:
        self.steps = 0

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        while True:
            limits.check()
            self.steps += 1


def test_the_time_of_the_user_ends_all(work_clock: object) -> None:
    with pytest.raises(LimitReached) as reached:
        limits = Limits(seconds=0.5, started=0.0)
        in_turn(Eliminated(), _Patient()).enclose([CHAIN, WIDE], 30, limits)
    assert reached.value.reason.startswith("time limit: 0.5 s (elimination (float64): a guard")
    assert reached.value.event == WIDE


def test_what_took_too_long_is_not_tried_again_in_a_larger_size() -> None:
    late = Recording(LimitReached("time limit: 0 s"))
    engine = in_turn(Eliminated(), late)
    for bits in (80, 40, 60, 40):
        assert isinstance(alone(engine, KNOT, bits, Limits()), NotEnclosed)
    assert late.bits == [80, 40]


def test_limits_of_the_run_are_not_swallowed() -> None:
    with pytest.raises(LimitReached, match="time limit"):
        alone(both(), WIDE, 30, Limits(seconds=0.0))


def test_engines_that_contradict_each_other_are_noticed() -> None:
    with pytest.raises(BrokenInvariant, match="disjoint"):
        coarse, nested = Recording(Enclosure(Q(1, 2), Q(3, 4))), Nested(Strategy.LEAST_NESTING)
        alone(in_turn(coarse, nested, steps=10**6), KNOT, 40, Limits())
