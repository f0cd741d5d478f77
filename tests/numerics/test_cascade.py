"""Two engines in turn: who answers, what is said when none does, and within which time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected, Event
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.cascade import Cascade
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.nested.engine import Nested
from dipapprox.semantics.linear import LinearForm
from tests.event_strategies import gauss, laplace, less

Q = Fraction
CHAIN = Event((gauss(0), gauss(1), laplace(0)), (less(0, 1), less(1, 2)))
BAND = Event((gauss(0), gauss(1)), (less(0, 1), less(1, 0, -1)))
WIDE = Event(
    tuple(gauss(i) for i in range(8)),
    tuple(LinearForm.of({i: Q(1), i + 1: Q(2), i + 2: Q(-1)}, Q(0)) for i in range(6)),
)


def both() -> Cascade:
    return Cascade(Eliminated(), Nested(Strategy.LEAST_NESTING))


def test_the_name_says_who_answered() -> None:
    engine = both()
    assert engine.name == "elimination"
    assert isinstance(engine.enclose(CHAIN, 40, Limits()), Enclosure)
    assert engine.name == "elimination (float64)"
    assert isinstance(engine.enclose(BAND, 40, Limits()), Enclosure)
    assert engine.name == "elimination (float64) + nested"
    assert isinstance(engine.enclose(CHAIN, 80, Limits()), Enclosure)
    assert engine.name == "elimination (balls, 128 bits) + nested"
    alone = both()
    assert isinstance(alone.enclose(BAND, 40, Limits()), Enclosure)
    assert alone.name == "nested"


@pytest.mark.usefixtures("work_clock")
def test_answers_keep_their_places() -> None:
    limits = Limits(seconds=1.0, started=0.0)
    answers = both().enclose_many([BAND, CHAIN, WIDE, BAND], 30, limits)
    first, chain, wide, last = answers
    assert isinstance(first, Enclosure) and isinstance(last, Enclosure)
    # x0 ~ N(0, 1), x1 ~ N(1, 1), x0 <= x1 <= x0 + 1: half of a centred band of x1 - x0.
    assert first == last and Q("0.2602499389065233") in first
    assert isinstance(chain, Enclosure) and chain.width < Q(1, 2**30)
    assert isinstance(wide, NotEnclosed)


@pytest.mark.usefixtures("work_clock")
def test_a_component_out_of_reach_is_named_and_leaves_time_for_others() -> None:
    limits = Limits(seconds=1.5, started=0.0)
    found, _ = both().enclose_many([WIDE, BAND], 30, limits)
    assert isinstance(found, NotEnclosed)
    assert "elimination: a guard compares 3 samples" in found.reason
    assert "nested: its part of the time limit of 1.5 s was too short" in found.reason
    limits.check()


class _Patient:
    """A second engine that uses up its time, and remembers how much it had."""

    name = "patient"

    def __init__(self) -> None:
        self.had: list[float | None] = []

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        self.had.append(limits.seconds)
        while True:
            limits.check()

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        return Answers.of([self.enclose(event, bits, limits) for event in events])


@pytest.mark.usefixtures("work_clock")
def test_the_only_event_of_the_second_engine_has_all_the_time() -> None:
    patient = _Patient()
    with pytest.raises(LimitReached) as reached:
        limits = Limits(seconds=0.5, started=0.0)
        Cascade(Eliminated(), patient).enclose_many([CHAIN, WIDE], 30, limits)
    assert patient.had == [0.5]
    assert reached.value.reason.startswith("time limit: 0.5 s (elimination (float64): a guard")
    assert reached.value.event == WIDE


class _Late:
    """A second engine that never ends in time, and counts how often it was asked."""

    name = "late"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        self.asked.append(bits)
        raise LimitReached("time limit: 0 s")

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        return Answers.of([self.enclose(event, bits, limits) for event in events])


def test_what_took_too_long_is_not_tried_again_in_a_larger_size() -> None:
    late = _Late()
    engine = Cascade(Eliminated(), late)
    for bits in (80, 40, 60, 40):
        assert isinstance(engine.enclose(BAND, bits, Limits()), NotEnclosed)
    assert late.asked == [80, 40]


def test_limits_of_the_run_are_not_swallowed() -> None:
    with pytest.raises(LimitReached, match="time limit"):
        both().enclose(WIDE, 30, Limits(seconds=0.0))


class _Coarse:
    """A first engine that encloses everything in [1/4, 3/4]."""

    name = "coarse"

    def __init__(self, quarters: int = 1) -> None:
        self.answer = Enclosure(Q(quarters, 4), Q(3, 4))

    def enclose_many(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        return Answers.of([self.answer for _ in events])

    def enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        return self.answer


def test_wide_enclosures_get_a_second_chance() -> None:
    nested = Nested(Strategy.LEAST_NESTING)
    found = Cascade(_Coarse(), nested).enclose(BAND, 40, Limits())
    assert isinstance(found, Enclosure) and found.width <= Q(1, 2**40)
    alone = Cascade(_Coarse(), nested, again=False)
    assert alone.enclose(BAND, 40, Limits()) == _Coarse().answer
    assert alone.name == "coarse"
    late = Cascade(_Coarse(), _Late())
    assert late.enclose(BAND, 40, Limits()) == _Coarse().answer


def test_engines_that_contradict_each_other_are_noticed() -> None:
    with pytest.raises(BrokenInvariant, match="disjoint"):
        Cascade(_Coarse(2), Nested(Strategy.LEAST_NESTING)).enclose(BAND, 40, Limits())
