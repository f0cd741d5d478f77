"""Turns of loops that are repeated: the final states are those of all turns executed."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dipapprox import LimitReached, Limits, SourceError
from dipapprox.language import core
from dipapprox.language.cells import written_out
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates, guards_of
from tests.texts import texts_in
from tests.thorough import part
from tests.work import calls

PROGRAMS = Path(__file__).parents[2] / "programs"

HEAD = """
param N = 9
input q[N], t in {0, 1}
output out[N], last in {0, 1, 2}
adjacent linf 1
last <- 0
"""

CLEARED = "for i in 1..N do out[i] <- 0 end\n"

LOOPS = texts_in("turns")


def final(states: FinalStates) -> list[object]:
    """The states; the order of the guards of merged ones is that in which points were numbered."""
    return [
        (tuple(state.outputs), state.conditions, frozenset(guards_of(state.path)), state.chosen)
        for state in states.states
    ]


def plain(program: core.Program) -> core.Program:
    """Write all turns out."""
    return replace(program, body=written_out(program.body))


def check(program: core.Program, merge: bool) -> None:
    repeated, executed = (execute(each, merge, Limits()) for each in (program, plain(program)))
    assert repeated.samples == executed.samples
    assert final(repeated) == final(executed)


def read(text: str, **parameters: int) -> core.Program:
    values = {name: Fraction(value) for name, value in parameters.items()}
    return elaborate(parse(text), values, "loop")


@pytest.mark.parametrize("merge", part([True, False], 2))
@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_repeated_turns_are_executed_ones(text, merge) -> None:
    check(read(text, N=5 if merge else 4), merge)


@pytest.mark.parametrize(
    "path",
    part([*sorted(PROGRAMS.glob("svt_*.dpg")), PROGRAMS / "k_min_max_gauss.dpg"], 3),
    ids=lambda path: path.stem,
)
def test_shipped_programs(path) -> None:
    check(load(path, {"N": Fraction(5 if path.stem.startswith("k") else 8)}), True)


DRAWS = ("r <- Gauss(q[i], 4 / eps)", "r <- Gauss(t, 1 / eps)", "s <- Gauss(q[i], 1 / eps)")
CONDITIONS = ("r >= x", "r < y", "s > r", "r >= 0", "s <= x", "q[i] = 1", "t = 0", "r >= q[i]")
ACTIONS = ("out[i] <- 1", "out[i] <- 0", "last <- 1", "last <- 0", "exit", "x <- r", "s <- r")


@st.composite
def turns(draw: st.DrawFn) -> str:
    """Statements of a turn: draws, then branches."""
    lines = draw(st.lists(st.sampled_from(DRAWS), max_size=2, unique=True))
    for _ in range(draw(st.integers(1, 2))):
        conditions = draw(st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=2))
        then, other = (draw(st.lists(st.sampled_from(ACTIONS), max_size=2)) for _ in range(2))
        lines += [f"if {' and '.join(conditions)} then", *then, "else", *other, "end"]
    return "\n".join(lines)


KNOWN = "if q[1] = 0 then exit end\nif q[2] = 0 then exit end\n"


@given(turns(), st.sampled_from(["", "out[4] <- 2\n", KNOWN]), st.booleans())
def test_random_turns(turn, before, ends) -> None:
    start = "x <- Gauss(0, 1)\ny <- Gauss(t, 1)\nr <- x\ns <- y\n" + ("last <- 1\n" if ends else "")
    program = read(f"{HEAD}{CLEARED}{before}{start}for i in 1..N do\n{turn}\nend", N=6)
    try:
        executed = execute(plain(program), True, Limits(states=300))
    except LimitReached:
        assume(False)
    assert final(execute(program, True, Limits(states=300))) == final(executed)


def work(program: core.Program) -> int:
    return calls(lambda: execute(program, True, Limits()))


def unrolled(text: str) -> core.Program:
    """Elaborate every turn of every loop."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dipapprox.language.elaborate._MANY_TURNS", 10**6)
        return read(text)


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_what_is_written_out_is_what_every_turn_elaborates_into(text) -> None:
    assert plain(read(text)) == unrolled(text)


@pytest.mark.parametrize("range", ["0..N", "1..N + 1"])
def test_what_is_wrong_in_one_turn_is_reported(range) -> None:
    with pytest.raises(SourceError, match="of 'q' is out of range"):
        read(f"{HEAD}x <- Lap(0, 1)\nfor i in {range} do if q[i] = 1 then x <- 2 end end")
