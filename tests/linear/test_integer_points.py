"""Integer points of inequalities, against enumeration; what has none has probability 0."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer
from dipapprox.linear.half_spaces import Inequality, have_integer_point

BOX = range(-3, 4)


def within_the_box(size: int) -> list[Inequality]:
    return [Inequality(((k, sign),), 3) for k in range(size) for sign in (1, -1)]


@st.composite
def systems(draw: st.DrawFn) -> tuple[int, list[Inequality]]:
    size = draw(st.integers(1, 3))
    found = []
    for _ in range(draw(st.integers(1, 5))):
        row = draw(st.lists(st.integers(-4, 4), min_size=size, max_size=size))
        terms = tuple((k, a) for k, a in enumerate(row) if a)
        if terms:
            found.append(Inequality(terms, draw(st.integers(-6, 3))))
    return size, found


@given(systems())
def test_it_is_what_enumeration_says(drawn: tuple[int, list[Inequality]]) -> None:
    size, system = drawn
    expected = any(
        all(sum(a * point[k] for k, a in each.terms) <= each.bound for each in system)
        for point in product(BOX, repeat=size)
    )
    assert have_integer_point([*system, *within_the_box(size)]) is expected


def test_what_goes_on_for_ever_is_given_up() -> None:
    """2 x - 2 y = 1 after division: a strip without integer points and without end."""
    strip = [Inequality(((0, 3), (1, -3)), 2), Inequality(((0, -3), (1, 3)), -1)]
    assert have_integer_point(strip) in (None, False)


_THREE = """input q in {{0, 1}}
output o in {{0, 1}}
adjacent all
x <- {noise}(q, 1/eps)
y <- {noise}(0, 1/eps)
z <- {noise}(0, 1/eps)
o <- 0
if x >= 0 and x <= y and x + y <= z and {last} then
    o <- 1
end"""


@pytest.mark.parametrize("noise", ["DGauss", "DLap"])
@pytest.mark.parametrize("last", ["y < 0", "2*z <= x + y - 1", "z <= 0 and x + y >= 1"])
def test_impossible_events_have_probability_0(noise: str, last: str) -> None:
    program = dipapprox.parse(_THREE.format(noise=noise, last=last))
    verdict = dipapprox.verify(program, eps=1, eps_prv="0", delta="0")
    assert verdict.answer is Answer.DP
    assert verdict.delta_enclosure.upper == 0
