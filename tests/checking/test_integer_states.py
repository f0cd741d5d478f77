"""States between integers: possible exactly where an integer point is; true proofs stay true."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox import Limits
from dipapprox.checking.check import check
from dipapprox.checking.facts import Line
from dipapprox.checking.real_inputs.runs import Run, tape_of
from dipapprox.checking.real_inputs.states import Geometry
from dipapprox.checking.values import Stuck
from dipapprox.replays.result import Outcome
from tests.checking.certified import retold, signed

NOISE = "".join(f"{name} <- DLap(0, 1/eps)\n" for name in "abc")
TAPE = tape_of(dipapprox.parse(f"output out in 0..1\n{NOISE}out <- 0\n"))

CYCLE = (
    "input q[3] in real\noutput out in 0..1\nadjacent linf 1\n"
    "a <- DLap(q[1], 1/eps)\nb <- DLap(q[2], 1/eps)\nc <- DLap(q[3], 1/eps)\nout <- 0\n"
    "if a < b and b < c and a >= c - {} then out <- 1 end\n"
)

CHOICE = """input q0 in real 0..3
input q1 in real -1..1
output out in 0..3
adjacent increasing 1
x0 <- DLap(0, 1/2/eps)
x1 <- DLap(q1, 1/eps)
x2 <- DLap(0, 1/eps)
b <- choose { 0 : 1/3, 1 : 2/3 }
out <- 0
if x1 < x2 and x1 < x0 and b = 1 and x2 >= x0 + 1 then
    if x1 < x2 - 1 then out <- 1 else out <- 3 end
end
"""


def certified(text: str) -> dict[str, Any]:
    program = dipapprox.parse(text)
    proof = dipapprox.prove(program)
    fields = json.loads(dipapprox.certify(program, text, proof).to_json())
    assert isinstance(fields, dict)
    return fields


edges = st.tuples(st.permutations(range(4)), st.fractions(-2, 2, max_denominator=3))


@settings(max_examples=150, deadline=None)
@given(st.lists(edges, min_size=1, max_size=7))
def test_lines_are_open_where_they_have_an_integer_point(
    system: list[tuple[list[int], Fraction]],
) -> None:
    """Enumerated: distances along shortest paths of at most 3 edges of size <= 2 are <= 6."""
    lines = []
    for (a, b, *_), bound in system:
        # x_a - x_b <= bound, where x_3 = 0
        terms = [(k, Fraction(sign)) for k, sign in ((a, 1), (b, -1)) if k < 3]
        lines.append(Line(-bound, tuple(sorted(terms))))
    geometry = Geometry(TAPE, (), Limits())
    found = geometry.is_open([geometry.form(line) for line in lines])
    assert found == any(
        all(sum((c * point[k] for k, c in line.terms), line.constant) <= 0 for line in lines)
        for point in product(range(-6, 7), repeat=3)
    )


def test_a_state_without_integers_loses_nothing() -> None:
    """0 < b - a, 0 < c - b and c - a <= 1 hold of no integers."""
    fields = certified(CYCLE.format(1))
    assert check(fields).outcome is Outcome.CONFIRMED
    guards = [
        [[[a, "1"], [b, "-1"]], [[a, "1"], [b, "-1"]], constant]
        for a, b, constant in ((0, 1, "1/2"), (1, 2, "1/2"))
    ]
    guards.append([[[0, "-1"], [2, "1"]], [[0, "-1"], [2, "1"]], "-3/2"])
    ray = {
        "start": ["0", "0", "0"],
        "origin": [0, 0, 0],
        "target": [1, 1, -1],
        "flows": [[[[1, "1"]], "2"]],
        "state": 0,
        "shift": [],
        "loss": "2",
    }
    state = {"case": 0, "guards": guards, "shown": [], "shifts": None}
    part = {**fields["evidence"][0], "outputs": [{"output": [1], "states": [state], "ray": ray}]}
    forged = {
        **fields,
        "claim": {"budget": "1/2"},
        "verdict": "Not_DP",
        "least_budget": {"lower": "2", "upper": None},
        "evidence": [part],
    }
    result = check(signed(forged))
    assert result.outcome is Outcome.REFUTED
    assert "the state is impossible at the start" in str(result.describe())


def test_a_line_with_another_factor_of_an_input_may_have_no_integers() -> None:
    """a + q = 1 and a - q = 0 hold of halves: that a run lies in no state is not seen there."""
    tape = tape_of(
        dipapprox.parse(
            "input q in real\noutput out in 0..1\nadjacent linf 1\na <- DLap(q, 1/eps)\nout <- 0\n"
        )
    )
    one = Fraction(1)
    lines = [
        Line(-sign * constant, ((0, sign * other), (1, sign)))
        for sign in (one, -one)
        for other, constant in ((one, one), (-one, Fraction(0)))
    ]
    geometry = Geometry(tape, (None,), Limits())
    with pytest.raises(Stuck, match="not clear"):
        geometry.misfit([Run((Fraction(0),), (), tuple(lines))], [])
    some = Run((Fraction(0),), (), (lines[0], *lines[2:]))
    assert "lies in no state" in str(geometry.misfit([some], []))


def test_nothing_is_confirmed_of_inputs_without_values() -> None:
    """Integer noise, and no integer between the bounds of q: all would be true of all pairs."""
    text = "input p in real 0..2\ninput q in real {}\noutput out in 0..1\nadjacent linf 1\n"
    text += "r <- DLap(q, 1 / eps)\ns <- DLap(p, 1 / eps)\n"
    text += "if r >= s then out <- 1 else out <- 0 end\n"
    fields = certified(text.format("0..1"))
    upper = {**fields, "places": None, "least_budget": {"lower": "0", "upper": "2"}}
    assert check(signed(upper)).outcome is Outcome.CONFIRMED
    empty = check(retold(upper, text.format("1/4..3/4")))
    assert empty.outcome is Outcome.NOT_CONFIRMED
    assert empty.reason == "no integer lies between the bounds of 'q'"


@pytest.mark.parametrize("text", [CYCLE.format(2), CHOICE])
def test_proofs_are_confirmed(text: str) -> None:
    result = check(certified(text))
    assert result.outcome is Outcome.CONFIRMED, result.differences


@pytest.mark.parametrize("seed", range(16))
def test_no_proof_is_refuted(seed: int) -> None:
    draw = random.Random(seed)
    domain = draw.choice(["real", "real", "real 0..2", "real 1..3"])
    text = f"input q[2] in {domain}\noutput out in 0..2\nadjacent linf 1\n"
    for name in "abc":
        mean = draw.choice(["0", "q[1]", "q[2]", "q[1] + q[2]", "q[1] - q[2]"])
        text += f"{name} <- DLap({mean}, {draw.choice('12')}/eps)\n"

    def atom(left: str, right: str) -> str:
        return f"{left} {draw.choice(['<', '<=', '>=', '>'])} {right} + {draw.randint(-1, 1)}"

    first, second, third = (atom(*pair) for pair in ("ab", "bc", "ca"))
    last = draw.choice([atom("b", "a"), atom("a", "q[1]"), atom("c", "0")])
    text += f"out <- 0\nif {first} and {second} then\nif {third} then out <- 1\n"
    text += f"elif {last} then out <- 2 end\nend\n"
    result = check(certified(text))
    assert result.outcome is not Outcome.REFUTED, (text, result.differences)
    if result.outcome is Outcome.NOT_CONFIRMED:
        assert "integers are compared otherwise" in str(result.reason), text
