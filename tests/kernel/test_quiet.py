"""Runs that publish nothing more, shifted together: budgets, forgeries, and single pairs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options, StreamProof
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from tests.kernel import streams
from tests.kernel.edits import require_sound
from tests.kernel.test_potentials import file_of
from tests.proofs.test_random_streams import Writer, of_rounds
from tests.thorough import part

STREAM = """
stream q in real
publishes {a, b}
adjacent linf 1
x <- Lap(0, 2 / eps)
y <- Lap(0, 2 / eps)
n <- 0
forever do
    read q
    r <- Lap(q, 4 / eps)
    ROUND
end
"""

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
def test_budgets_of_runs_that_are_quiet(name: str) -> None:
    _, least, most = ROUNDS[name]
    proof = found(stream(name), proved=True)
    assert (proof.answer, proof.lower, proof.upper) == (Answer.DP, Fraction(least), Fraction(most))
    assert proof.replayed is not None


def test_rounds_that_are_written_out_need_as_much() -> None:
    rounds = dipapprox.parse(stream("silent"), rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget=ROUNDS["silent"][2]).answer is Answer.DP
    assert dipapprox.decide(rounds, budget="9/20").answer is Answer.NOT_DP


class Quiet(Writer):
    """Writes programs that publish seldom, and end often."""

    def _leaf(self) -> Iterator[str]:
        yield "skip"
        if self._chance.random() < 0.1:
            yield f"publish {self._chance.choice('ab')}"
        if self._chance.random() < 0.1:
            yield f"{self._chance.choice(self._stored)} <- r"
        yield from self._end(0.4, 0.6)


@pytest.mark.parametrize("seed", [24, 38])
def test_some_rounds_of_random_programs_never_need_more(seed: int) -> None:
    program = Quiet(seed).program()
    proof = found(program)
    assert proof.quiet is not None
    for turns in (1, 2):
        some = of_rounds(program, turns)
        assert some.lower <= proof.quiet and not some.has_none


# --- forgeries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["silent", "said", "counted"])
def test_no_forgery_proves_what_is_false(name: str) -> None:
    require_sound(*file_of(found(stream(name), proved=True)), name)


def changed(name: str, change: Any) -> None:
    """Replay a proof after a change of its machine and its only step."""
    machine, claim, (step, *_) = copy.deepcopy(file_of(found(stream(name), proved=True)))
    change(machine, step)
    replay(machine, {**claim, "at least": None}, [step])


def publishes(**other: Any) -> Any:
    def change(machine: Any, _step: Any) -> None:
        machine["published"] |= other

    return change


def test_ends_that_nobody_sees_are_not_quiet() -> None:
    for other in ({"ends": False}, {"padding": []}):
        with pytest.raises(Refuted, match="not seen that runs end"):
            changed("silent", publishes(**other))


def test_the_start_is_no_place_of_a_quiet_pair() -> None:
    """It knows as little as a node may, but it is the body that begins there."""
    body = [
        ["set", ["cell", "x"], ["cell", "q"]],
        ["draw", ["cell", "r"], "Lap", ["cell", "x"], [1, -1]],
        ["if", [">", ["cell", "r"], 0], [["exit"]], []],
    ]
    machine = streams.stream(body, [["exit"]], inputs=[["q", {"low": None, "high": None}]])
    machine["published"]["whenever"] = []
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]]}
    on = {"to": 1, "moves": [[0, [0]]] * 2}
    end = {"to": None, "moves": [[0, [0]]]}
    claim = {"verdict": "DP", "budget": 1, "at least": None}

    def proved(case: Any) -> Any:
        nodes = [{**node, "allowances": [[1, []]], "cases": [on, case]}, {**node, "cases": [None]}]
        step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": [[1, [], []]]}
        return replay(machine, claim, [step])

    assert proved(end) == Budgets(Fraction(1))
    with pytest.raises(Refuted, match="possible, and seen"):
        proved(None)


def test_a_place_has_one_shift_for_runs_that_end_alike() -> None:
    def change(_machine: Any, step: Any) -> None:
        (place, (shift,), last), *_ = step["quiet"]
        step["quiet"].append([place, [shift - 1], last])

    with pytest.raises(BadProof, match="several shifts"):
        changed("silent", change)
