"""Methods in order: who answers what, what is said when none does, and in how many steps."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected, Event, Mixture
from dipapprox.integrals.integral import Strategy
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.methods import Answers, InOrder, Method, MixtureMethod, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from dipapprox.numerics.probability import EventStore
from tests.event_strategies import gauss, laplace, less
from tests.numerics.alone import alone
from tests.numerics.recording import Recording
from tests.numerics.test_parallel import EVENTS

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


def test_mixtures_have_the_ends_of_their_factors_asked_for_with_bits_to_spare() -> None:
    quarter, third = Q(1, 4), Q(1, 3)
    recorded = Recording(Enclosure(quarter, third))
    mixture = Mixture(((2, ((EVENTS[0], 1), (EVENTS[1], 2))), (1, ((EVENTS[1], 1),))))
    found = MixtureMethod(lambda: recorded).enclose([mixture], 10, Limits())[0]
    assert found == Enclosure(2 * quarter**3 + quarter, 2 * third**3 + third)
    assert recorded.bits == [10 + (7).bit_length()], "of seven factors"


def test_limits_of_the_run_are_not_swallowed() -> None:
    with pytest.raises(LimitReached, match="time limit"):
        alone(both(), WIDE, 30, Limits(seconds=0.0))


def test_engines_that_contradict_each_other_are_noticed() -> None:
    with pytest.raises(BrokenInvariant, match="disjoint"):
        coarse, nested = Recording(Enclosure(Q(1, 2), Q(3, 4))), Nested(Strategy.LEAST_NESTING)
        alone(in_turn(coarse, nested, steps=10**6), KNOT, 40, Limits())


class Scripted:
    """Gives the answers it was made with, one batch after the other."""

    name = "scripted"

    def __init__(self, *batches: Answers) -> None:
        self._batches = list(batches)

    def enclose(self, events: object, bits: int, limits: Limits) -> Answers:
        return self._batches.pop(0)


def doubles(*ends: tuple[float, float]) -> Answers:
    found = Answers(len(ends))
    lower, upper = np.array(ends).T
    found.bound(np.arange(len(ends)), lower, upper)
    return found


def test_a_store_intersects_whatever_comes() -> None:
    third = Enclosure(Fraction(1, 3), Fraction(2, 3))
    store = EventStore(
        Scripted(
            doubles((0.25, 0.75), (0.0, 0.5)),
            Answers.of([third, NotEnclosed("too hard")]),
            doubles((0.5, 0.75), (0.25, 1.0)),
        ),
        Limits(),
    )
    assert store.enclosure(0) == UNIT
    store.require(EVENTS[:2], [0, 1], 3)
    assert store.enclosure(0) == Enclosure(Fraction(1, 4), Fraction(3, 4))
    store.require(EVENTS[:2], [0, 1], 4)
    assert store.enclosure(0) == third
    assert store.enclosure(1) == Enclosure(Fraction(0), Fraction(1, 2))
    assert store.obstacle([0, 1], 4) == "too hard"
    assert store.obstacle([0, 1], 1) is None  # that much is known
    store.require(EVENTS[:2], [0, 1], 5)
    assert store.enclosure(0) == Enclosure(Fraction(1, 2), Fraction(2, 3))
    assert store.enclosure(1) == Enclosure(Fraction(1, 4), Fraction(1, 2))
    assert store.obstacle([0, 1], 5) is None
    for number in (0, 1):
        known = store.enclosure(number)
        assert Fraction(store.lower[number]) <= known.lower
        assert known.upper <= Fraction(store.upper[number])
