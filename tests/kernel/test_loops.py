"""Loops that end by chance, against equations solved over the rationals, and known laws."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.machines import number_json
from tests.kernel.machines import ONE, cell, enclosed, exactly, finite, machine

Row = tuple[int, ...]


def walk(rows: Sequence[Row], start: int) -> Any:
    """A walk on 0, 1, …, n - 1 and two ends n, n + 1; row i is how often i goes to each."""
    count = len(rows)
    turn: list[Any] = [["exit"]]
    for number, row in enumerate(rows):
        options = [
            [target, number_json(Fraction(k, sum(row)))] for target, k in enumerate(row) if k
        ]
        choose = ["choose", cell("at"), options, False]
        turn = [["if", ["=", cell("at"), number], [choose], turn]]
    body = [["set", cell("at"), start], ["while", ["<", cell("at"), count], turn]]
    return machine(body, {"at": list(range(count + 2))})


def solved(rows: Sequence[Row]) -> list[tuple[Fraction, Fraction]]:
    """How likely the ends are from each state: (1 - P) x = b, by elimination with pivots."""
    count = len(rows)
    table = [
        [Fraction(i == j) - Fraction(row[j], sum(row)) for j in range(count)]
        + [Fraction(row[count + k], sum(row)) for k in range(2)]
        for i, row in enumerate(rows)
    ]
    for column in range(count):
        pivot = next(i for i in range(column, count) if table[i][column])
        table[column], table[pivot] = table[pivot], table[column]
        scale = table[column][column]
        table[column] = [each / scale for each in table[column]]
        for i, row in enumerate(table):
            if i != column:
                table[i] = [a - row[column] * b for a, b in zip(row, table[column], strict=True)]
    return [(row[count], row[count + 1]) for row in table]


@st.composite
def walks(draw: st.DrawFn) -> list[Row]:
    """Rows from which some end is always reached: each state may go on to the next one."""
    count = draw(st.integers(1, 5))
    rows = []
    for number in range(count):
        row = [draw(st.integers(0, 3)) for _ in range(count + 2)]
        row[number + 1] += 1
        rows.append(tuple(row))
    return rows


@given(walks(), st.data())
def test_walks_end_as_their_equations_say(rows: list[Row], data: st.DataObject) -> None:
    count = len(rows)
    start = data.draw(st.integers(0, count - 1))
    of = walk(rows, start)
    expected = dict(zip([(count,), (count + 1,)], solved(rows)[start], strict=True))
    expected = {output: value for output, value in expected.items() if value}
    found = exactly(of)
    assert set(found) == set(expected)
    for output, value in expected.items():
        assert (found[output] + Ratio.constant(-value)).numerator.sign(ONE) == 0
        low, high = enclosed(of)[output]
        assert low - 1e-15 <= value <= high + 1e-15
        assert high - low < 1e-9


@pytest.mark.parametrize(
    "rows",
    [
        [(1, 0, 0)],
        [(0, 1, 0, 1), (0, 1, 0, 0)],
        [(0, 1, 1, 0), (0, 1, 0, 0)],
        [(0, 1, 0, 0, 1), (0, 0, 1, 0, 0), (0, 1, 0, 0, 0)],
    ],
)
def test_a_loop_that_may_go_on_forever_is_refused(rows: list[Row]) -> None:
    for run in (exactly, enclosed):
        with pytest.raises(NotProved, match="not known to end"):
            run(walk(rows, 0))


def test_a_loop_that_never_ends_for_certain_is_refused() -> None:
    body = [["set", cell("n"), 0], ["while", [">=", cell("n"), 0], []]]
    with pytest.raises(NotProved, match="not known to end"):
        enclosed(machine(body, {"n": [0]}))
    more = ["set", cell("k"), ["+", cell("k"), 1]]
    body = [["set", cell("n"), 0], ["set", cell("k"), 0], ["while", [">=", cell("k"), 0], [more]]]
    with pytest.raises(Refused, match="states at its head"):
        enclosed(machine(body, {"n": [0]}))


def test_exits_and_loops_in_loops_are_ends_of_the_turn_they_are_in() -> None:
    """A coin p ends all, else a coin q is thrown until it shows, and the next turn comes."""

    def coin(name: str, chance: str) -> Any:
        miss = str(1 - Fraction(chance))
        return ["choose", cell(name), [[1, chance], [0, miss]], False]

    inner = ["while", ["=", cell("q"), 0], [coin("q", "1/5"), coin("stop", "1/3")]]
    turn = [
        coin("p", "1/4"),
        ["if", ["=", cell("p"), 1], [["set", cell("end"), 1], ["exit"]], []],
        ["set", cell("q"), 0],
        inner,
    ]
    body = [
        ["set", cell("end"), 0],
        ["set", cell("stop"), 0],
        ["while", ["=", cell("stop"), 0], turn],
    ]
    of = machine(body, {"end": [0, 1]})
    # The last `stop` of an inner loop counts: each turn ends with 1/4, else goes on with 2/3.
    value = Fraction(1, 4) / (1 - Fraction(3, 4) * Fraction(2, 3))
    for output, expected in {(1,): value, (0,): 1 - value}.items():
        assert (exactly(of)[output] + Ratio.constant(-expected)).numerator.sign(ONE) == 0


def test_noise_that_is_held_stays_what_it_is_while_a_loop_goes_on() -> None:
    body = [
        ["draw", cell("x"), "Gauss", 0, [1, 0]],
        ["set", cell("more"), 1],
        ["set", cell("n"), 0],
        [
            "while",
            ["=", cell("more"), 1],
            [
                ["set", cell("n"), ["+", 1, ["*", -1, cell("n")]]],
                ["choose", cell("more"), [[1, "1/2"], [0, "1/2"]], False],
            ],
        ],
        ["if", [">", cell("x"), 1], [["set", cell("n"), ["+", cell("n"), 2]]], []],
    ]
    found = enclosed(machine(body, {"n": [0, 1, 2, 3]}))
    above = math.erfc(1 / math.sqrt(2)) / 2
    for odd, far in product((0, 1), (0, 1)):
        expected = (2 / 3 if odd else 1 / 3) * (above if far else 1 - above)
        low, high = found[odd + 2 * far,]
        assert low - 1e-15 <= expected <= high + 1e-15
        assert high - low < 1e-9


@pytest.mark.parametrize("leaves", [True, False])
def test_numbers_that_are_published_behind_a_loop(leaves: bool) -> None:
    """A coin is thrown until it shows 1, then a number is published: as likely as without it."""
    toss = ["choose", cell("c"), [[0, "1/3"], [1, "2/3"]], False]
    draw = ["draw", cell("y"), "Lap", cell("q"), [1, -1]]
    turn = [toss, ["if", ["=", cell("c"), 1], [draw, ["exit"]] if leaves else [draw], []]]
    loop = [["set", cell("c"), 0], ["while", ["=", cell("c"), 0], turn], *[["exit"]] * leaves]
    near = {"norm": "linf", "radius": 1}
    given = finite(loop, inputs=[["q", [0, 1]]], outputs=[], reals=["y"], adjacency=near)
    # Of Laplace noise, shifted by 1: 1 - e^((1/2 - 1) / 2).
    exact = 1 - math.exp(-1 / 4)
    for delta, holds in ((Fraction(23, 100), True), (Fraction(221, 1000), False)):
        assert (delta > exact) == holds
        stated = {"eps_prv": "1/2", "delta": number_json(delta)}
        rule = {"rule": "every published pair", "from": [], "eps": 1, "bits": 40}
        claim = {"verdict": "DP", "eps": 1, "pairs": None, **stated}
        if holds:
            assert replay(given, claim, [{**rule, **stated}])
            continue
        with pytest.raises(Refuted):
            replay(given, claim, [{**rule, **stated}])
