"""The elimination engine against counting, closed forms and the nested engine."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.events.event import Event, Star, spelled_out
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from tests.families import REAL_FAMILIES
from tests.numerics.alone import alone

Q = Fraction
NO_SHIFT = Q(0)
ENGINE = Eliminated()  # shared on purpose: what it remembers must not matter
each_family = pytest.mark.parametrize("family", REAL_FAMILIES)


def below(i: int, j: int, shift: Fraction = NO_SHIFT) -> LinearForm:
    """x_i + shift <= x_j."""
    return LinearForm.of({i: Q(1), j: Q(-1)}, shift)


def enclose(event: Event, bits: int = 40) -> Enclosure:
    found = alone(ENGINE, event, bits, Limits())
    assert isinstance(found, Enclosure), found
    assert UNIT.lower <= found.lower and found.upper <= UNIT.upper
    return found


def equal(family: Family, count: int) -> tuple[Distribution, ...]:
    return (Distribution(family, Q(1, 3), Q(2, 7)),) * count


@st.composite
def orders(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A connected order on up to six elements."""
    size = draw(st.integers(2, 6))
    names = draw(st.permutations(range(size)))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True))
    for j in range(1, size):
        if not any(j in edge for edge in edges if min(edge) < j):
            edges.append((draw(st.integers(0, j - 1)), j))
    return size, [(names[i], names[j]) for i, j in edges]


@given(order=orders(), family=st.sampled_from(REAL_FAMILIES))
def test_equal_samples_count_linear_extensions(
    order: tuple[int, list[tuple[int, int]]], family: Family
) -> None:
    size, edges = order
    extensions = sum(
        all(ranks[i] < ranks[j] for i, j in edges) for ranks in permutations(range(size))
    )
    value = enclose(Event(equal(family, size), tuple(below(i, j) for i, j in edges)))
    assert Q(extensions, factorial(size)) in value
    assert value.width < Q(1, 2**40)


@each_family
def test_stars_are_what_they_spell(family: Family) -> None:
    centre = Distribution(family, Q(1, 2), Q(2))
    low, high = (Distribution(family, Q(mean), Q(1)) for mean in (0, 1))
    for below_, above_ in (((low, 3), (high, 1)), ((high, 2),)), (((low, 7),), ()):
        star = Star(centre, below_, above_)
        value, spelled = enclose_star(star), enclose(spelled_out(star))
        assert value.meets(spelled) and value.width < Q(1, 2**40)
    law = equal(family, 1)[0]
    assert Q(1, 1001) in enclose_star(Star(law, ((law, 1000),), ()))


def enclose_star(star: Star) -> Enclosure:
    (found,) = ENGINE.enclose([star], 40, Limits())
    assert isinstance(found, Enclosure)
    return found


def test_what_is_not_an_order_is_handed_over() -> None:
    samples = equal(GAUSSIAN, 3)
    three = LinearForm.of({0: Q(1), 1: Q(1), 2: Q(-1)}, Q(0))
    other = LinearForm.of({0: Q(1), 1: Q(-1), 2: Q(2)}, Q(0))
    found = alone(ENGINE, Event(samples, (three, other)), 30, Limits())
    assert isinstance(found, NotEnclosed) and "3 samples" in found.reason
    wedge = (below(0, 1), LinearForm.of({0: Q(-2), 1: Q(1)}, Q(0)))
    found = alone(ENGINE, Event(samples[:2], wedge), 30, Limits())
    assert isinstance(found, NotEnclosed) and "cycle" in found.reason
