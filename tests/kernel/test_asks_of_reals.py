"""What a kilobyte of proof may ask for where inputs are real: it is refused, soon."""

from __future__ import annotations

from typing import Any

import pytest

from dipapprox.kernel import budget as budgets
from dipapprox.kernel.errors import BadProof, Refused
from dipapprox.kernel.replay import replay

Json = Any
Proof = tuple[Json, Json, list[Json]]

X: Json = ["cell", "x"]
S: Json = ["cell", "s"]
REAL: Json = ["u", {"low": 0, "high": 1}]
NODE: Json = {
    "values": [],
    "held": [],
    "facts": [],
    "allowances": [[1, []]],
    "cases": [],
}


def draw(power: int, mean: Json = 0) -> Json:
    return ["draw", X, "Lap", mean, [1, power]]


def repeat(turns: int, *body: Json) -> Json:
    return ["repeat", turns, list(body)]


def budgeted(*body: Json, node: Json = NODE, **published: Json) -> Proof:
    """A proof that a budget serves."""
    seen = {"whenever": [], "first": [], "each": [], "ends": True, "padding": None}
    machine = {
        "inputs": [],
        "whole": False,
        "adjacency": {"norm": "linf", "radius": 1},
        "body": list(body),
        "round": None,
        "published": {**seen, **published},
    }
    claim = {"verdict": "DP", "budget": 1, "at least": None}
    return machine, claim, [{"rule": "potential", "from": [], "nodes": [node], "quiet": []}]


def finite(*body: Json, inputs: Json = (), real: bool = False) -> Proof:
    """A proof for one eps; of pairs of real inputs, maybe."""
    machine = {
        "inputs": list(inputs),
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [["set", ["cell", "o"], 0], *body],
    }
    stated = {"eps_prv": 1, "delta": "1/2"}
    claim = {"verdict": "DP", "eps": 1, "pairs": None, **stated}
    run = {"rule": "distributions", "from": [], "eps": 1, "bits": 30, "cuts": []}
    if real:
        step = {"rule": "every real pair", "from": [], "eps": 1, "bits": 30, **stated}
        return machine, claim, [step]
    return machine, claim, [{**run, "inputs": None}, {"rule": "every pair", "from": [-1], **stated}]


def chosen(count: int, radius: int) -> Proof:
    """Pairs of which as many inputs differ, at most."""
    machine, claim, steps = finite(
        inputs=[[f"u{k}", {"low": 0, "high": 1}] for k in range(count)], real=True
    )
    return {**machine, "adjacency": {"norm": "l0", "radius": radius}}, claim, steps


def summed(mean: Json = 0) -> list[Json]:
    return [["set", S, 0], repeat(300, draw(0, mean), ["set", S, ["+", S, X]])]


def publishing(count: int, *body: Json) -> Proof:
    """Privacy of one who publishes many numbers."""
    machine, claim, _ = finite(*body, repeat(count, ["draw", ["moving", "y", 1], "Lap", 0, [1, 0]]))
    step = {"rule": "every published pair", "from": [], "eps": 1, "bits": 10}
    machine |= {"inputs": [["q", [0, 1]]], "reals": [f"y[{k + 1}]" for k in range(count)]}
    return machine, claim, [{**step, "eps_prv": 1, "delta": "1/2"}]


COIN: Json = ["choose", ["cell", "c"], [[0, "1/2"], [1, "1/2"]], False]
NO_TURNS = repeat(1_000_000)

ASKS: dict[str, Proof] = {
    "turns of nothing, of paths": budgeted(NO_TURNS),
    "turns of nothing, of states": finite(NO_TURNS),
    "turns of nothing, of pairs of runs": finite(NO_TURNS, real=True),
    "paths of one condition": budgeted(draw(-1), ["if", ["or", *[["=", X, 0]] * 14], [], []]),
    "atoms": budgeted(repeat(30_000, draw(-1))),
    "publications": budgeted(repeat(30_000, ["set", X, 1]), whenever=["x"]),
    "long publications": budgeted(*[draw(-1), ["if", ["<", X, 0], [], []]] * 7, first=["x"] * 5000),
    "long stores of paths": budgeted(
        ["repeat", 1000, [["set", ["moving", "a", 1], 0]]],
        draw(-1),
        *[["if", ["<", X, 0], [], []]] * 6,
    ),
    "differences of samples": budgeted(
        ["repeat", 160, [["draw", ["moving", "a", 1], "Lap", 0, [1, -1]]]],
        ["repeat", 159, [["if", ["<", ["moving", "a", 1], ["moving", "a", 2]], [], [["exit"]]]]],
        node={**NODE, "cases": [None] * 160},
    ),
    "comparisons of sums": finite(*summed(), repeat(3000, ["if", ["<", S, S], [], []])),
    "states with sums": finite(*summed(), COIN, repeat(200_000, ["forget", ["d"]])),
    "numbers that are published": publishing(
        120, repeat(4, [*COIN[:1], ["moving", "c", 1], *COIN[2:]])
    ),
    "ways to choose inputs": chosen(40, 20),
    "pairs of values": finite(inputs=[REAL, ["a", {"from": 1, "to": 150}]], real=True),
}


@pytest.mark.parametrize("name", ASKS)
def test_what_costs_too_much_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "MOST_WORK", 500_000)
    with pytest.raises(Refused, match="more work"):
        replay(*ASKS[name])


def test_values_of_finite_inputs_are_counted_before_they_are_made() -> None:
    inputs = [REAL, ["a", {"from": 1, "to": 10_000}], ["b", {"from": 1, "to": 15_000}]]
    with pytest.raises(Refused, match="finite inputs"):
        replay(*finite(inputs=inputs, real=True))


def test_what_is_not_seen_is_not_padded() -> None:
    with pytest.raises(BadProof, match="not seen"):
        replay(*budgeted(draw(-1), ends=False, padding=[1]))
