"""Every answer names what it is about, and no answer is true or false by itself."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Outcome, UserError
from dipapprox.language.core import Input
from dipapprox.pairs.selections import AllPairs, Pair
from dipapprox.privacy.scope import scope_of

ONE, ZERO = Fraction(1), Fraction(0)
BODY = "output out in {0, 1}\nout <- 0\n"
COUNT = """
input q in {0, 1}
output out in {0, 1}
adjacent linf 1
x <- Lap(q, 1 / eps)
out <- 0
if x >= 1 then out <- 1 end
"""


def pair(first: str, second: str) -> Pair:
    return input(first), input(second)


def input(text: str) -> Input:
    return tuple(Fraction(word) for word in text.split(","))


# --- the text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declarations", "text"),
    [
        ("input q[3] in {0, 1}\nadjacent linf 1", "inputs q[1..3] in {0, 1}, adjacent linf 1"),
        ("input q[1] in -5..5\nadjacent l1 1/2", "inputs q[1] in -5..5, adjacent l1 1/2"),
        ("input a, b in {1, 0}\nadjacent l0 2", "inputs a, b in {1, 0}, adjacent l0 2"),
        (
            "input a in {x, y}\ninput q[2] in 0..3\ninput t in 0..3",
            "inputs a in {x, y}, q[1..2], t in 0..3, adjacent all",
        ),
        ("input a in {2, 4, 6, 8}\nadjacent all", "inputs a in {2, 4, 6, 8}, adjacent all"),
        ("input a in 0..2\nadjacent {(0) ~ (1); (1) ~ (0)}",
         "inputs a in {0, 1, 2}, adjacent {(0) ~ (1)}"),
        ("input q[9] in 0..1\nadjacent {" + "; ".join(
            f"({','.join('0' * 9)}) ~ ({','.join('0' * k + '1' + '0' * (8 - k))})"
            for k in range(9)) + "}",
         "inputs q[1..9] in {0, 1}, adjacent as listed in the program: 9 pairs"),
    ],
)  # fmt: skip
def test_domains_and_adjacency_in_words(declarations: str, text: str) -> None:
    program = dipapprox.parse(f"{declarations}\n{BODY}")
    assert scope_of(program, AllPairs()).text == f"for {text}"


# --- every answer --------------------------------------------------------------------------------


def test_words_of_answers_have_no_truth() -> None:
    for word in (*Answer, *Outcome):
        with pytest.raises(UserError, match="neither true nor false") as refused:
            assert not word
        assert str(next(iter(type(word)))) in refused.value.hint
    verdict = dipapprox.verify(dipapprox.parse(COUNT), eps=ONE, delta=ZERO)
    with pytest.raises(UserError) as refused:
        bool(verdict)
    assert "verdict.answer is Answer.DP" in refused.value.hint


def test_the_delta_of_a_violating_pair_is_not_called_the_largest() -> None:
    program = dipapprox.parse(COUNT)
    held = dipapprox.verify(program, eps=ONE, delta=ZERO)._repr_html_()
    broken = dipapprox.verify(program, eps=ONE, delta=ZERO, eps_prv=ONE / 2)._repr_html_()
    everywhere = dipapprox.verify(
        program, eps=(1, 2), delta=0, eps_prv=Fraction(1, 2)
    )._repr_html_()
    assert ("largest δ" in held, "δ of this pair" in held) == (True, False)
    for text in (broken, everywhere):
        assert ("largest δ" in text, "δ of this pair" in text) == (False, True)


# --- selected pairs ------------------------------------------------------------------------------


def test_no_pairs_are_bad_input() -> None:
    program = dipapprox.parse(COUNT)
    questions: list[Callable[[list[Any]], object]] = [
        lambda none: dipapprox.verify(program, eps=ONE, delta=ZERO, pairs=none),
        lambda none: dipapprox.verify(program, eps=(1, 2), delta=0, pairs=none),
        lambda none: dipapprox.decide(program, pairs=none),
        lambda none: dipapprox.profile(program, eps=1, delta=ONE, pairs=none),
        lambda none: dipapprox.calibrate(program, eps_prv=1, delta=0, pairs=none),
    ]
    for ask in questions:
        with pytest.raises(UserError, match="list of pairs is empty"):
            ask([])
