"""Runs that publish nothing more, shifted together: budgets, forgeries, and pairs by hand."""

import copy
import random
import re
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options, StreamProof
from dipapprox.kernel import potential
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.potential import Ends, read_quiet
from dipapprox.kernel.replay import replay
from dipapprox.kernel.rounds import Rounds, read_rounds
from tests.cases import check_answers, part, refuses, text_of
from tests.kernel import streams
from tests.kernel.edits import require_sound
from tests.kernel.machines import judged
from tests.kernel.test_potentials import file_of
from tests.proofs.test_rounds import of_rounds, random_stream

STREAM = text_of("kernel/quiet-stream")

ROUNDS = {
    "silent": ("if r >= x then exit end", "1/2", "1/2"),
    "said": ("if r >= x then\npublish a\nexit\nend", "1/2", "1/2"),
    "counted": ("if r >= x then\nn <- n + 1\nif n = 2 then exit end\nend", "1/2", "1/2"),
    "endless": ("if r >= x then n <- 1 end\nif r < x and n = 1 then n <- 0 end", "0", "0"),
    # What is lost for several numbers of rounds is not the same.
    "two sides": ("if r >= x then exit end\nif r <= y then exit end", "3/4", "1"),
    "some rounds": ("if r >= x then exit end\nn <- n + 1\nif n = 2 then\nn <- 0\npublish a\nend",
                    "3/4", "1"),
}  # fmt: skip
"""What is done in a round, and the ends of the least budget."""


def stream(name: str) -> str:
    return STREAM.replace("ROUND", ROUNDS[name][0])


@cache
def found(program: str, **options: Any) -> StreamProof:
    proof = dipapprox.prove(dipapprox.parse(program), options=Options(**options))
    assert isinstance(proof, StreamProof)
    return proof


@pytest.mark.parametrize("name", part(list(ROUNDS), 2))
def test_budgets_of_runs_that_are_quiet(name) -> None:
    _, least, most = ROUNDS[name]
    proof = found(stream(name), proved=True)
    assert (proof.answer, proof.lower, proof.upper) == (Answer.DP, Fraction(least), Fraction(most))
    assert proof.replayed is not None


def test_rounds_that_are_written_out_need_as_much() -> None:
    rounds = dipapprox.parse(stream("silent"), rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget=ROUNDS["silent"][2]).answer is Answer.DP
    assert dipapprox.decide(rounds, budget="9/20").answer is Answer.NOT_DP


def quiet(seed: int) -> str:
    """A program that publishes seldom."""
    chance = random.Random(seed)
    return re.sub(
        "publish .", lambda one: one[0] if chance.random() < 0.1 else "skip", random_stream(seed)
    )


@pytest.mark.parametrize("seed", [11, 33])
def test_some_rounds_of_random_programs_never_need_more(seed) -> None:
    program = quiet(seed)
    proof = found(program)
    for turns in (1, 2):
        some = of_rounds(program, turns)
        assert some.lower <= proof.quiet and not some.has_none


# --- forgeries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*part(["silent", "said"], 2), "counted"])
def test_no_forgery_proves_what_is_false(name) -> None:
    require_sound(*file_of(found(stream(name), proved=True)), name)


def changed(name: str, change: Any) -> Any:
    """Replay a proof after a change of its machine and its only step."""
    machine, claim, (step, *_) = copy.deepcopy(file_of(found(stream(name), proved=True)))
    change(machine, step)
    return replay(machine, {**claim, "at least": None}, [step])


def publishes(**other: Any) -> Any:
    def change(machine: Any, _step: Any) -> None:
        machine["published"] |= other

    return change


def shifted_twice(_machine: Any, step: Any) -> None:
    (place, (shift,), last), *_ = step["quiet"]
    step["quiet"].append([place, [shift - 1], last])


END = {"to": None, "moves": [[0, [0]]]}


def started(case: Any) -> Any:
    """The start is no place of a quiet pair: it knows as little, but the body begins there."""
    body = [
        ["set", ["cell", "x"], ["cell", "q"]],
        ["draw", ["cell", "r"], "Lap", ["cell", "x"], [1, -1]],
        ["if", [">", ["cell", "r"], 0], [["exit"]], []],
    ]
    machine = streams.stream(body, [["exit"]], inputs=[["q", {"low": None, "high": None}]])
    machine["published"]["whenever"] = []
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]]}
    on = {"to": 1, "moves": [[0, [0]]] * 2}
    nodes = [{**node, "allowances": [[1, []]], "cases": [on, case]}, {**node, "cases": [None]}]
    step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": [[1, [], []]]}
    return replay(machine, {"verdict": "DP", "budget": 1, "at least": None}, [step])


# --- pairs by hand: what follows from one, and what does not --------------------------------------

READ = ["set", ["cell", "v"], ["cell", "q"]]
DRAWN = ["draw", ["cell", "r"], "Lap", ["cell", "v"], [4, -1]]
EXIT = [["exit"]]
SAID = ["set", ["cell", "out"], {"name": "a"}]
START: Any = ((), ())
HELD: Any = ((), ("x",))


def above(then: list[Any], otherwise: list[Any]) -> list[Any]:
    return [READ, DRAWN, ["if", [">=", ["cell", "r"], ["cell", "x"]], then, otherwise]]


ENDS = above(EXIT, [])


def machine(turn: list[Any], norm: str = "linf", radius: Any = 1, **published: Any) -> Rounds:
    inputs = [["q", {"low": None, "high": None}]]
    near = {"norm": norm, "radius": radius}
    machine = streams.stream([streams.draw("x", 0, 2)], turn, inputs=inputs, adjacency=near)
    machine["published"] |= published
    return read_rounds(machine)


def ends(shift: Any) -> list[Any]:
    """Where the first run ends, so does the second one."""
    return [1, [shift], []]


def goes_on(shift: Any) -> list[Any]:
    """Where the first run goes on, so does the second one."""
    return [1, [shift], None]


def read(turn: list[Any], *pairs: Any, places: Any = (START, HELD), **fields: Any) -> Ends:
    return read_quiet(machine(turn, **fields), places, [*pairs])


def around(mean: Any) -> list[Any]:
    """The sample has this mean; what is held moves it, too: they stay as far apart."""
    return [READ, [*DRAWN[:3], mean, [4, -1]], *ENDS[2:]]


WORD, LAST = above([SAID, *EXIT], []), [{"name": "a"}]
"""Where it ends otherwise the second run must not end so where the first one goes on."""
COUNTED = above([["set", ["cell", "n"], 1]], [])
FREE, ONCE = ((("n", 0),), ("x",)), ((("n", 1),), ("x",))

LOW, HIGH = (
    ["if", [">=", ["cell", "r"], to], EXIT, []]
    for to in (["cell", "x"], ["+", ["cell", "x"], "1/2"])
)
SIDE = ["if", [">=", ["cell", "v"], 0], *([["set", ["cell", "n"], k]] for k in (1, 2))]
LATER = ["if", ["=", ["cell", "n"], 1], [LOW], [HIGH]]
APART = [READ, DRAWN, ["if", ["=", ["cell", "n"], 0], [SIDE], [LATER]]]
"""One run may be where x is compared, the other where it is x + 1/2."""
APART_PLACES = START, *(((("n", k),), ("x",)) for k in range(3))

KEEPS = [["set", ["cell", "n"], 1], ["set", ["cell", "y"], ["cell", "x"]]]
OTHER_CELLS = [READ, DRAWN, ["if", [">=", ["cell", "r"], 0], KEEPS, [["set", ["cell", "n"], 0]]]]
LARGE = [READ, ["if", [">=", ["cell", "v"], 5], EXIT, []]]
"""The first run reads 5 or more; only the change is at most 1."""


def shared(family: str, size: int) -> list[Any]:
    """A sample on one side of r and one on the other are one if they are drawn alike."""
    drawn = ("Lap", 1), (family, size)
    sides = [["draw", ["cell", "s"], name, 0, [scale, -1]] for name, scale in drawn]
    last = ["if", [">=", ["cell", "s"], ["cell", "x"]], EXIT, []]
    return [*above(*([side] for side in sides)), last]


def test_pairs_of_quiet_runs_and_what_follows_from_them() -> None:
    """Shifts make up for all changes, and lead to places with what cells hold."""
    check_answers("kernel_quiet", judged(globals()))


def test_shifts_that_grow_are_refused(monkeypatch) -> None:
    grown = ["set", ["cell", "x"], ["+", ["cell", "x"], 3]]
    grows = [READ, ["if", [">=", ["cell", "v"], 0], [grown], []]]
    monkeypatch.setattr(potential, "MOST_PAIRS", 20)
    refuses(Refused, "20 quiet pairs", read, grows, goes_on(0))
