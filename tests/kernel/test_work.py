"""Few characters that ask for much: what a step costs is spent before it is done."""

from __future__ import annotations

from math import isqrt
from typing import Any

import pytest

from dipapprox.kernel import budget
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.replay import replay

Json = Any


def losses(knots: Json, mechanism: Json, **more: Json) -> tuple[Json, Json, list[Json]]:
    """Losses of one run from above."""
    run = {"what": mechanism, "subsample": None, "times": 1}
    step = {"rule": "losses", "from": [], "of": {"run": 0}, "sample": None}
    step |= {"orders": [], "above": True, "input": None, "adjacent": None}
    step |= {"step": "1/1000", "offset": 0, "places": 2000, "knots": knots, **more}
    claim = {"verdict": "DP", "eps_prv": 1, "delta": "1/2"}
    return {"adjacency": "add/remove", "runs": [run]}, claim, [step]


def parted(turns: int) -> tuple[Json, Json, list[Json]]:
    """A long statement, many times."""
    long: Json = 1
    for _ in range(250):
        long = ["+", long, 1]
    machine = {
        "inputs": [["q", [0, 1]]],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [
            ["repeat", turns, [["set", ["moving", "t", 1], long]]],
            ["set", ["cell", "o"], 0],
        ],
    }
    numbers = {"eps": 1, "eps_prv": 1, "delta": 0}
    step = {"rule": "private composition", "from": [], "parts": [[0, 1], [1, 2]], **numbers}
    return machine, {"verdict": "DP", "pairs": None, **numbers}, [step]


def of_machine(inputs: Json, known: Json) -> tuple[Json, Json, list[Json]]:
    """Losses of a machine that does nothing, any two of its inputs adjacent."""
    machine = {
        "inputs": inputs,
        "outputs": [["o", [0]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [["set", ["cell", "o"], 0]],
    }
    what = {"machine": machine, "eps": 1}
    given, claim, [step] = losses([[0, 1, 1]], what, step=1, places=10)
    run = {"rule": "distributions", "from": [], "of": {"run": 0}, "eps": 1, "bits": 10, "cuts": []}
    return given, claim, [{**run, "inputs": known}, {**step, "from": [0]}]


def listed(count: int) -> tuple[Json, Json, list[Json]]:
    """Runs that are chosen among one pair, told again and again."""
    given, claim, steps = of_machine([["q", {"from": 0, "to": 19}]], None)
    new = {"rule": "adaptive", "pairs": [[[0], [1]]] * count, "margin": 0, "times": 1, "reach": 1}
    old = {k: v for k, v in steps[1].items() if k not in ("orders", "input", "adjacent")}
    return given, claim, [steps[0], old | new]


def near_zero(digits: int) -> tuple[Json, Json, list[Json]]:
    """A formula that touches 0 at the square root of 2, between two long numbers next to it."""
    below = 10**digits + 1
    above = isqrt(2 * below**2)
    eps = {"from": f"{above}/{below}", "to": f"{above + 1}/{below}"}
    machine = {
        "inputs": [["q", [0, 1]]],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [["set", ["cell", "o"], 0]],
    }
    apart = ["+", ["*", ["eps"], ["eps"]], -2]
    numbers = {"eps_prv": ["eps"], "delta": ["*", apart, apart]}
    run = {"rule": "distributions", "from": [], "eps": eps, "inputs": None}
    steps = [{**run, "bits": None, "cuts": []}, {"rule": "every pair", "from": [0], **numbers}]
    return machine, {"verdict": "DP", "eps": eps, "pairs": None, **numbers}, steps


def replaced(values: int, body: Json, cases: int) -> tuple[Json, Json, list[Json]]:
    """A call with one of so many arguments in one run, and another one in the other."""
    call = {"name": "data", "arguments": [["d", {"from": 1, "to": values}]], "seen": False}
    calls = [{**call, "body": body}]
    service = {"cells": [], "replies": [], "calls": calls, "change": "replace"}
    step = {"rule": "couplings", "from": [], "budget": 0, "held": [], "followed": ["given"]}
    steps = [{**step, "changes": [[[], [None] * cases]], "pairs": []}]
    return service, {"verdict": "DP", "budget": 0, "at least": None}, steps


def above(count: int) -> tuple[Json, Json, list[Json]]:
    """Losses above a part, read again and again."""
    given, claim, [run, step] = of_machine([["q", [0, 1]]], None)
    part = {"of": {"run": 0, "part": [0, 1], "pairs": None}}
    grid = {"step": 1, "offset": 0, "places": 1, "knots": [[0, 300, 1]]}
    whole = {"rule": "losses above parts", "from": [0] + [1] * count, "of": {"run": 0}, **grid}
    steps = [{**run, **part}, {**step, **part}, {**whole, "parts": [[0, 1]], "eps": 1}]
    return given, claim, steps


DRAW = ["draw", ["cell", "x"], "Lap", 0, [1, -1]]


def coins(count: int, pairs: int) -> tuple[Json, Json, list[Json]]:
    """Losses below a pair, told again and again, of a machine with many outputs."""
    given, claim, [run, step] = listed(pairs)
    machine = given["runs"][0]["what"]["machine"]
    x, o, coin = (["cell", name] for name in ("x", "o", "coin"))
    machine["outputs"] = [["o", {"from": 0, "to": 2**count - 1}]]
    machine["body"] = [["set", x, 0]]
    for k in range(count):
        toss = ["choose", coin, [[0, "1/2"], [2**k, "1/2"]], False]
        machine["body"] += [toss, ["set", x, ["+", x, coin]]]
    machine["body"] += [["set", o, x]]
    return given, claim, [{**run, "inputs": [[0], [1]]}, {**step, "above": False}]


NOISE = {"mechanism": "DGauss", "sensitivity": 1, "variance": 9_000_000}
PAIR = {"mechanism": "approx_dp", "eps": 1, "delta": 0}
ORDERS = [f"{k}/7" for k in range(8, 110) if k % 7]
SPARSE = losses([[0, 0, 1], [500, 500, 1]], PAIR)

COSTLY = {
    "sums of a discrete Gaussian": losses([[0, 2, 1]], NOISE, places=200),
    "orders, at many bits": losses([[0, 50, 1]], {"mechanism": "zcdp", "rho": 1}, orders=ORDERS),
    "knots, at many bits": losses([[0, 1000, 1]], PAIR),
    "products of long masses": (
        *SPARSE[:2],
        [*SPARSE[2], {"rule": "composed", "from": [0, 0], "cut": [0, 0]}],
    ),
    "a statement for every turn": parted(100),
    "where intervals are cut": near_zero(150),
    "how far samples are moved": replaced(8, [["repeat", 300, [DRAW]]], 64),
    "arguments of two runs": replaced(1000, [], 1),
    "pairs of which nothing is known": of_machine([[f"q{k}", [0, 1]] for k in range(7)], [[0] * 7]),
    "a pair that is listed often": listed(1000),
    "losses that are read often": above(400),
    "a pair with many outputs": coins(7, 150),
}
"""Work that takes seconds, or hundreds of megabytes, with a few digits more."""


@pytest.mark.parametrize("name", COSTLY)
def test_what_is_costly_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_WORK", 300_000)
    with pytest.raises(Refused, match="more work"):
        replay(*COSTLY[name])


class Ended(Exception):
    """What is raised by who is asked."""


@pytest.mark.parametrize("between", [1, 10_000])
def test_somebody_is_asked_as_work_is_spent(between: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a step, about as often as it is meant; what he raises ends the block."""
    asked = [0]

    def ask() -> None:
        asked[0] += 1
        if asked[0] == 5:
            raise Ended

    monkeypatch.setattr(budget, "MOST_UNASKED", between)
    spent = 0
    with pytest.raises(Ended), budget.asking(ask), budget.budget():
        while True:
            spent += 1
            budget.spend(1)
    assert spent == 1 + 4 * (between + 1)
    budget.spend(10**12)
    with budget.budget():
        budget.spend(budget.MOST_WORK)
        with pytest.raises(Refused):
            budget.spend(1)


@pytest.mark.parametrize("name", COSTLY)
def test_who_asks_may_end_what_is_costly(name: str) -> None:
    asked = [0]

    def ask() -> None:
        asked[0] += 1
        if asked[0] == 2:
            raise Ended

    with pytest.raises(Ended), budget.asking(ask):
        replay(*COSTLY[name])


def test_formulas_are_not_looked_up_for_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas have up to thousands of terms, and pairs are millions."""
    options = [[o, ["exp", ["*", f"{o}/7", ["eps"]]]] for o in range(1, 7)]
    machine = {
        "inputs": [["q", {"from": 1, "to": 30}]],
        "outputs": [["o", {"from": 1, "to": 6}]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [["choose", ["cell", "o"], options, True]],
    }
    numbers = {"eps_prv": ["eps"], "delta": 0}
    claim = {"verdict": "DP", "eps": {"from": 0, "to": None}, "pairs": None, **numbers}
    steps = [
        {
            "rule": "distributions",
            "bits": None,
            "from": [],
            "eps": claim["eps"],
            "inputs": None,
            "cuts": [],
        },
        {"rule": "every pair", "from": [0], **numbers},
    ]
    counts, before = [0], Ratio.__hash__

    def counted(self: Ratio) -> int:
        counts[0] += 1
        return before(self)

    monkeypatch.setattr(Ratio, "__hash__", counted)
    assert replay(machine, claim, steps)
    assert counts[0] < 30 * 29 * 6
