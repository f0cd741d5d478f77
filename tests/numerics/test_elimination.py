"""The elimination engine against counting, closed forms and the nested engine."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import factorial

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from tests.families import REAL_FAMILIES
from tests.numerics.alone import alone

Q = Fraction
NO_SHIFT = Q(0)
ENGINE = Eliminated()  # shared on purpose: what it remembers must not matter


def below(i: int, j: int, shift: Fraction = NO_SHIFT) -> LinearForm:
    """x_i + shift <= x_j."""
    return LinearForm.of({i: Q(1), j: Q(-1)}, shift)


def enclose(event: Event, bits: int = 40) -> Enclosure:
    found = alone(ENGINE, event, bits, Limits())
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
