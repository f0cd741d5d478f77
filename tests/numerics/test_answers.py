"""Answers of methods: what is put in comes out, as doubles or one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.probability import EventStore
from tests.numerics.test_parallel import EVENTS


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
