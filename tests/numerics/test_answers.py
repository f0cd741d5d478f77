"""Answers of methods: what is put in comes out, as doubles or one by one."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.probability import EventStore
from tests.numerics.test_parallel import EVENTS

DOUBLES = st.floats(0, 1)
FRACTIONS = st.fractions(0, 1)


def enclosures(numbers: st.SearchStrategy[Fraction]) -> st.SearchStrategy[Enclosure]:
    return st.tuples(numbers, numbers).map(lambda ends: Enclosure(min(ends), max(ends)))


GIVEN = st.one_of(
    enclosures(DOUBLES.map(Fraction)).map(lambda found: (found, True)),
    enclosures(FRACTIONS).map(lambda found: (found, False)),
    st.just((NotEnclosed("no"), False)),
)


def answers_of(given_: list[tuple[Enclosure | NotEnclosed, bool]]) -> Answers:
    """Enclosures with True go into the arrays."""
    found = Answers(len(given_))
    for place, (answer, _) in enumerate(given_):
        if place not in bulk_of(given_):
            found[place] = answer
    assert found.unanswered() == bulk_of(given_)
    ends = [given_[place][0] for place in bulk_of(given_)]
    lower = [float(each.lower) for each in ends if isinstance(each, Enclosure)]
    upper = [float(each.upper) for each in ends if isinstance(each, Enclosure)]
    found.bound(np.array(bulk_of(given_), np.int64), np.array(lower), np.array(upper))
    return found


def bulk_of(given_: list[tuple[Enclosure | NotEnclosed, bool]]) -> list[int]:
    return [place for place, (_, bulk) in enumerate(given_) if bulk]


@given(st.lists(GIVEN, max_size=8), st.integers(1, 60))
def test_what_is_put_in_comes_out(
    given_: list[tuple[Enclosure | NotEnclosed, bool]], bits: int
) -> None:
    found = answers_of(given_)
    expected = [answer for answer, _ in given_]
    assert list(found) == expected
    assert found == Answers.of(expected)
    assert pickle.loads(pickle.dumps(found)) == found
    wanted = Fraction(1, 2**bits)
    for place, answer in enumerate(expected):
        narrow = isinstance(answer, Enclosure) and answer.width <= wanted
        rounded = isinstance(answer, Enclosure) and float(answer.width) == wanted
        assert rounded or (place in found.wide(bits)) != narrow
        if isinstance(answer, Enclosure):
            assert found.lower[place] <= answer.upper and answer.lower <= found.upper[place]


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


@pytest.mark.parametrize("second", [doubles((0.75, 1.0)), Answers.of([Enclosure.exact(1)])])
def test_a_store_notices_contradictions(second: Answers) -> None:
    store = EventStore(Scripted(doubles((0.0, 0.5)), second), Limits())
    store.require(EVENTS[:1], [0], 3)
    with pytest.raises(BrokenInvariant, match=r"disjoint .* by scripted"):
        store.require(EVENTS[:1], [0], 4)
