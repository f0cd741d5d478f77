"""Adjacency by a condition, and by the Euclidean norm: the pairs are those that are said."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.errors import SourceError
from dipapprox.language.core import Listed
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.selections import AllPairs, is_symmetric
from dipapprox.privacy.verdict import Answer
from tests.texts import text_of

Pair = tuple[tuple[int, int], tuple[int, int]]

RULES: dict[str, Callable[[Pair], bool]] = {
    "": lambda p: True,
    "all": lambda p: True,
    "linf 1": lambda p: max(map(abs, change(p))) <= 1,
    "l1 2": lambda p: sum(map(abs, change(p))) <= 2,
    "l2 3/2": lambda p: sum(d * d for d in change(p)) <= 2,
    "l0 1": lambda p: sum(d != 0 for d in change(p)) <= 1,
    "increasing 2": lambda p: all(0 <= d <= 2 for d in change(p)),
    "decreasing 1": lambda p: all(-1 <= d <= 0 for d in change(p)),
}

CONDITIONS: dict[str, Callable[[Pair], bool]] = {
    "q'[i] >= q[i] for i in 1..2": lambda p: min(change(p)) >= 0,
    "q[1] + q[2] = q'[1] + q'[2]": lambda p: sum(change(p)) == 0,
    "q[i] = q'[i] or q[i] = 0 or q'[i] = 0 for i in 1..N": lambda p: all(
        u == v or not u or not v for u, v in zip(*p, strict=True)
    ),
    "not (q[1] < q'[2] and -q[2] <= 2*q'[1] - 3)": lambda p: (
        not (p[0][0] < p[1][1] and -p[0][1] <= 2 * p[1][0] - 3)
    ),
    "q'[1] = 2 or q[1 + q'[1]] = 2": lambda p: p[1][0] == 2 or p[0][p[1][0]] == 2,
}


def change(pair: Pair) -> list[int]:
    return [v - u for u, v in zip(*pair, strict=True)]


@given(rule=st.sampled_from(sorted(RULES)), condition=st.sampled_from(sorted(CONDITIONS)))
def test_the_pairs_are_those_of_the_rule_and_the_condition(rule: str, condition: str) -> None:
    text = (
        f"param N = 2\ninput q[N] in 0..2\noutput out in 0..1\nadjacent {rule} where {condition}\n"
        "out <- Lap(q[1], 1/eps) > 1"
    )
    points = list(product(range(3), repeat=2))
    expected = {
        pair
        for pair in product(points, repeat=2)
        if pair[0] != pair[1] and RULES[rule](pair) and CONDITIONS[condition](pair)
    }
    if not expected:
        with pytest.raises(SourceError, match="no two different inputs"):
            dipapprox.parse(text)
        return
    program = dipapprox.parse(text)
    found = list(select_pairs(program, AllPairs()))
    assert len(found) == len(set(found)) == count_selected(program, AllPairs())
    assert set(found) == expected
    assert is_symmetric(program, AllPairs()) == all((v, u) in expected for u, v in expected)


REMOVAL = text_of("language/adjacency_where-3")


def test_adding_and_removing_one_row() -> None:
    found = dipapprox.verify(dipapprox.parse(REMOVAL), eps=1, delta=0)
    assert found.answer is Answer.DP
    where = "row[i] = row'[i] or row[i] = none or row'[i] = none for i in 1..3"
    assert f"adjacent l0 1 where {where}" in found.scope.text
    assert found.pairs == 3 * 9 * 4


def test_one_order_only_is_said_and_checked() -> None:
    text = (
        "input q in 0..1\noutput out in 0..1\nadjacent where q' > q\n"
        "out <- choose {q : 1/2, 0 : 1/2}"
    )
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv="log(2)")
    assert found.delta_enclosure.upper == 0
    assert "in this order only" in found.run.scope.text
    back = dipapprox.profile(dipapprox.parse(text.replace("q' >", "q' <")), eps=1, eps_prv="log(2)")
    assert back.delta_enclosure.lower > 0


@dipapprox.mechanism(adjacent="l0 1 where q'[i] >= q[i] for i in 1..N")
def risen(
    q: Annotated[list[dipapprox.Quantity], "[N] in 0..2"], eps: dipapprox.Weight, N: int = 2
) -> Annotated[bool, "in bool"]:
    return dipapprox.laplace(sum(q), 2 / eps) > 1


def test_python_functions_have_it_too() -> None:
    assert "where q'[i] >= q[i] for i in 1..2" in risen.text()
    found = dipapprox.verify(risen, eps=1, delta=0)
    assert found.answer is Answer.DP
    assert found.pairs == 2 * 3 * 3


VECTOR = """
input q[{n}] in 0..2
output y[{n}] in real
adjacent l2 {radius}
for i in 1..{n} do y[i] <- Gauss(q[i], {scale} / eps) end
"""
LEAST = Fraction("4.3771780957")
"""The least ε_prv of Gaussian noise at a distance of one standard deviation for δ = 1e-5, as the
analytic Gaussian mechanism has it (Balle and Wang 2018), rounded."""


@pytest.mark.parametrize(("n", "radius", "scale"), [(1, 2, 2), (2, 2, 2), (3, "5/4", 1)])
def test_gaussian_vectors_are_as_private_as_numbers(
    n: int, radius: int | str, scale: int | str
) -> None:
    text = VECTOR.format(n=n, radius=radius, scale=scale)
    profile = dipapprox.profile(dipapprox.parse(text), eps=1, delta="1e-5")
    found = profile.eps_prv_enclosure
    assert abs(found.lower - LEAST) < Fraction(1, 10**9)
    assert found.upper - found.lower < Fraction(1, 10**8)


def test_pairs_on_a_square() -> None:
    text = VECTOR.format(n=2, radius="3/2", scale=1)
    adjacency = dipapprox.parse(text).adjacency
    assert isinstance(adjacency, Listed)
    assert len(adjacency.pairs) == 20  # of 9 points on a square: 12 sides and 8 diagonals
