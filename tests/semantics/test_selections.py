"""The largest of many samples at once, against the branches one by one."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from operator import ge, gt, le, lt
from pathlib import Path

import pytest

from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics import execution
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates, guards_of

PROGRAMS = Path(__file__).parent.parent.parent / "programs"

HEAD = """
input q[4] in {0, 1}
output out in -1..4
adjacent all
for i in 1..4 do
    v[i] <- Gauss(q[i], 1)
end
"""
LAST = """
best <- v[1]
out <- 1
for i in 2..4 do
    if best <= v[i] then
        out <- i
        best <- v[i]
    end
end
"""


def selecting(text: str, size: int = 5) -> core.Program:
    source = (
        read_source(PROGRAMS / text, {}).program
        if text.endswith(".dpg")
        else parse(text, "selected")
    )
    parameters = {"N": Fraction(size)} if text.endswith(".dpg") else {}
    return elaborate(source, parameters, "selected")


@contextmanager
def branch_by_branch() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "selections_in", lambda block: {})
        yield


def described(states: FinalStates) -> list[object]:
    """The states in order, with their guards in any order and strictness aside."""
    return [
        (
            tuple(state.outputs),
            state.conditions,
            frozenset(guard.form.normalised() for guard in guards_of(state.path)),
        )
        for state in states.states
    ]


SELECTING = {
    "argmax": HEAD + "out <- argmax(v)",
    "argmin": HEAD + "out <- argmin(v)",
    "written by hand": HEAD + LAST,
    "then compared": HEAD + "m <- max(v)\nif m > 1 then out <- 1 else out <- 0 end",
    "after a draw and a branch": HEAD
    + "r <- Lap(0, 1)\nout <- argmin(v)\nif r > q[1] and out = 2 then out <- 0 end",
    "of some of them": HEAD
    + "m <- min(v[1], v[2], v[4])\nif m < v[3] then out <- 1 else out <- 0 end",
    "after a choice": HEAD
    + "x <- choose {0 : 1/3, 1 : 2/3}\nout <- argmax(v)\nif x = 0 then out <- 0 end",
}


@pytest.mark.parametrize("name", SELECTING)
def test_the_states_are_those_of_the_branches(name: str) -> None:
    example = selecting(SELECTING[name])
    at_once = execute(example, True, Limits())
    with branch_by_branch():
        expected = execute(example, True, Limits())
    assert described(at_once) == described(expected)


MIXED = """
best <- v[1]
out <- 1
if v[2] {0} best then
    best <- v[2]
    out <- 2
end
if best {1} v[3] then
    best <- v[3]
    out <- 3
end
if v[4] {2} best then
    best <- v[4]
    out <- 4
end
"""
TIES = {
    "argmax": ("out <- argmax(v)", (">", ">", ">")),
    "argmin": ("out <- argmin(v)", ("<", "<", "<")),
    "ties go to the later one": (MIXED.format(">=", "<=", ">="), (">=", ">=", ">=")),
    "some ties do": (MIXED.format("<", ">=", "<"), ("<", "<=", "<")),
    "other ties do": (MIXED.format(">=", "<", ">"), (">=", ">", ">")),
}
BETTER = {">": gt, ">=": ge, "<": lt, "<=": le}


@pytest.mark.parametrize("name", TIES)
def test_of_integers_every_point_has_the_state_that_the_branches_lead_to(name: str) -> None:
    text, relations = TIES[name]
    states = execute(selecting(HEAD.replace("Gauss", "DLap") + text), True, Limits())
    assert len(states.states) == 4
    for point in product(range(3), repeat=4):
        best, out = point[0], 1
        for number, (value, relation) in enumerate(zip(point[1:], relations, strict=True), 2):
            if BETTER[relation](value, best):
                best, out = value, number
        samples = {number: Fraction(value) for number, value in enumerate(point)}
        found = [
            state.outputs
            for state in states.states
            if all(guard.form.at(samples).constant < 0 for guard in guards_of(state.path))
        ]
        assert found == [(out,)]
