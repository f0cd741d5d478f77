"""What a kilobyte of proof may ask for: it is refused, soon, and never a crash."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from dipapprox.kernel import budget as budgets
from dipapprox.kernel.adjacency import adjacent_pairs
from dipapprox.kernel.budget import budget
from dipapprox.kernel.errors import BadProof, NotProved, Refused
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.reading import as_number
from dipapprox.kernel.replay import replay

Json = Any

OUT: Json = ["cell", "o"]
X: Json = ["cell", "x"]
DONE: Json = ["set", OUT, 0]
STATED = {"eps_prv": 1, "delta": "1/2"}
HUGE = "1/" + "7" * 3000


def nested(word: str, depth: int, leaf: Json) -> Json:
    """A chain of operations."""
    for _ in range(depth):
        leaf = [word, leaf, leaf] if depth < 5 else [word, leaf, 1]
    return leaf


def asked(
    body: list[Json],
    bits: int | None = 30,
    inputs: Json = (),
    adjacency: Json = None,
    eps: Json = 1,
    **more: Json,
) -> object:
    """Replay a proof about a machine."""
    machine = {
        "inputs": list(inputs),
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": adjacency or {"norm": "all"},
        "body": body,
    }
    run = {"rule": "distributions", "from": [], "eps": eps, "inputs": None, "cuts": [], **more}
    run["bits"] = bits
    step = {"rule": "every pair", "from": [-1], **STATED}
    claim = {"verdict": "DP", "eps": eps, "pairs": None, **STATED}
    return replay(machine, claim, [run, step])


def repeat(turns: int, *body: Json) -> Json:
    """A loop."""
    return ["repeat", turns, list(body)]


WIDE: Json = {"from": 0, "to": 9_999}

ELEMENT: Json = 1
for _ in range(190):
    ELEMENT = ["element", "a", 1, ELEMENT]

WEIGHT: Json = ["eps"]
for _ in range(7):
    WEIGHT = ["+", WEIGHT, WEIGHT]

COIN: Json = ["choose", ["cell", "k"], [[0, "1/2"], [1, "1/2"]], False]
NO_COIN: Json = ["if", ["=", ["cell", "k"], 0], [], []]
SAMPLES: Json = repeat(100, ["draw", ["moving", "x", 1], "Lap", 0, [1, 0]])
ORDER: Json = ["<", ["cell", "x[1]"], ["cell", "x[2]"]]
LATER: Json = ["<", ["moving", "x", 1], ["moving", "x", 2]]

ASKS: dict[str, dict[str, Json]] = {
    "squares again and again": {"body": [["set", X, 3], repeat(1000, ["set", X, ["*", X, X]])]},
    "doubles again and again": {
        "body": [["set", X, 3], repeat(1_000_000, ["set", X, ["+", X, X]])]
    },
    "sums of samples": {
        "body": [
            ["set", X, 0],
            repeat(
                1_000_000,
                ["draw", ["cell", "y"], "Lap", 0, [1, 0]],
                ["set", X, ["+", X, ["cell", "y"]]],
            ),
            DONE,
        ]
    },
    "domains": {"body": [DONE], "inputs": [[f"q{k}", WIDE] for k in range(150)]},
    "inputs": {"body": [DONE], "inputs": [[f"q{k}", [0, 1]] for k in range(60)]},
    "values that are near": {
        "body": [DONE],
        "inputs": [["q", {"from": 0, "to": 9_999}]],
        "adjacency": {"norm": "linf", "radius": 10_000},
    },
    "coins": {
        "body": [["choose", ["cell", f"c{k}"], [[0, "1/2"], [1, "1/2"]], False] for k in range(60)]
        + [
            ["set", OUT, ["*", 0, nested("+", 1, 1)]],
            *[["if", ["=", ["cell", f"c{k}"], 2], [DONE], []] for k in range(60)],
        ]
    },
    "powers of a long eps": {
        "body": [["choose", OUT, [[0, weight], [1, ["eps"]]], True]]
        if (weight := ["eps"]) and [weight := ["*", weight, ["eps"]] for _ in range(200)]
        else [],
        "eps": HUGE,
    },
    "sums to a high power": {
        "body": [["choose", OUT, [[0, weight], [1, 1]], True]]
        if (weight := ["+", ["exp", ["eps"]], ["eps"]])
        and [weight := ["*", weight, weight] for _ in range(12)]
        else [],
    },
    "indices of indices": {
        "body": [["set", ["cell", "a[1]"], 1], repeat(90, ["set", X, ELEMENT]), DONE]
    },
    "conditions of nothing": {
        "body": [repeat(90, ["if", ["and", *[["and"]] * 300], [], []]), DONE],
    },
    "cells that hold nothing": {
        "body": [repeat(900, ["forget", [f"x{k}" for k in range(500)]]), DONE],
    },
    "long weights": {
        "body": [repeat(200, ["choose", X, [[0, WEIGHT]], True]), DONE],
    },
    "stores of fractions": {
        "body": [
            *[["set", ["cell", f"q{k}"], f"1/{10**30 + k}"] for k in range(300)],
            COIN,
            repeat(20, NO_COIN),
            DONE,
        ],
    },
    "one comparison of many samples": {
        "body": [SAMPLES, ["if", ORDER, [], [DONE, ["exit"]]], repeat(180, ["if", ORDER, [], []])],
    },
    "a chain of samples": {
        "body": [
            ["draw", ["cell", "x[1]"], "Lap", 0, [1, 0]],
            repeat(
                20,
                ["draw", ["moving", "x", 2], "Lap", 0, [1, 0]],
                ["if", LATER, [], [DONE, ["exit"]]],
            ),
            DONE,
        ]
    },
    "a long index": {"body": [["set", ["element", "a", 3, ["*", 10**1200, 10**1200]], 0]]},
    "a wide law of integers": {
        "body": [["draw", X, "DLap", 0, [10**3000, 0]], ["if", ["<", X, 0], [DONE], [DONE]]]
    },
    "a wide discrete Gaussian": {
        "body": [
            ["draw", X, "DGauss", 0, [10**6, 0]],
            ["if", ["<", X, 0], [DONE], [["set", OUT, 1]]],
        ]
    },
}


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        (name, bits)
        for name in ASKS
        for bits in (30, None)
        # Closed forms do not care how wide a law is.
        if (name, bits) != ("a wide law of integers", None)
    ],
)
def test_what_costs_too_much_is_refused(
    name: str, bits: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A thousandth, so that the test is quick; what is refused grows with the work.
    monkeypatch.setattr(budgets, "MOST_WORK", 50_000)
    with pytest.raises(NotProved):
        asked(bits=bits, **ASKS[name])


def test_constants_of_sums_are_not_longer_than_other_numbers() -> None:
    """Each of them may be added, but not all: their sum is longer than any number may be."""
    primes = [p for p in range(2, 60) if all(p % k for k in range(2, p))]
    powers = [f"1/{p ** (2000 // p.bit_length())}" for p in primes]
    sums = [["set", X, ["+", X, power]] for power in powers]
    with pytest.raises(Refused, match="too long"):
        asked([["draw", X, "Lap", 0, [1, 0]], *sums, DONE])


@pytest.mark.parametrize("family", ["Gauss", "Logistic", "Gumbel"])
def test_densities_of_many_terms_cost_what_they_take(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At so many bits polynomials have 74 terms, each of which depends on all before."""
    monkeypatch.setattr(budgets, "MOST_WORK", 40_000)
    draws = [["draw", ["cell", name], family, 0, [1, 0]] for name in "xy"]
    yes, no = [DONE], [["set", OUT, 1]]
    with pytest.raises(Refused, match="more work"):
        asked([*draws, ["if", ["<", X, ["cell", "y"]], yes, no]], 200)


def test_inputs_without_pairs_are_not_gone_through_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budgets, "MOST_WORK", 50_000)
    machine = {
        "inputs": [[f"q{k}", [0, 1]] for k in range(60)],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "linf", "radius": 0},
        "body": [DONE],
    }
    run = {"rule": "distributions", "from": [], "eps": 1, "inputs": [], "cuts": [], "bits": 30}
    step = {"rule": "every pair", "from": [-1], **STATED}
    with pytest.raises(Refused):
        replay(machine, {"verdict": "DP", "eps": 1, "pairs": None, **STATED}, [run, step])


@pytest.mark.parametrize("depth", [300, 390, 2_000])
def test_what_is_nested_deeply_is_refused(depth: int) -> None:
    expression: Json = 1
    block: Json = [DONE]
    condition: Json = ["=", 0, 0]
    for _ in range(depth):
        expression = ["+", expression, 0]
        block = [["if", ["=", 0, 0], block, block[:0]]]
        condition = ["and", condition]
    for body in (
        [["set", OUT, expression]],
        block,
        [["if", condition, [DONE], [DONE]]],
    ):
        with contextlib.suppress(NotProved):
            asked(body)
    if depth > 400:
        with pytest.raises((BadProof, Refused)):
            asked(block)


@pytest.mark.parametrize(
    "bad",
    [
        f"1/{'7' * 5000}",
        f"{'7' * 3999}/{'2' * 3999}",
        10**4000,
        "1/1",
        "2/4",
        "-0/3",
        "1/-3",
        "1e3",
        " 1/2",
        "1/2\n",
        "١/٢",
        True,
        0.5,
        None,
        [1],
    ],
)
def test_what_is_no_number_is_a_bad_proof(bad: object) -> None:
    with pytest.raises(BadProof):
        as_number(bad, "it")


class Whole(int):
    """No integer of JSON."""


@pytest.mark.parametrize(
    "step",
    [
        {"rule": []},
        {"rule": {}},
        {"rule": None},
        {},
        [],
        None,
        {"rule": "distributions", "from": [], "eps": 1, "inputs": None, "cuts": []},
        {
            "rule": "distributions",
            "from": [],
            "eps": 1,
            "inputs": None,
            "cuts": [],
            "bits": 30,
            "more": 1,
        },
        {"rule": "distributions", "from": [], "eps": True, "inputs": None, "cuts": [], "bits": 30},
        {"rule": "distributions", "from": [], "eps": 1, "inputs": None, "cuts": [], "bits": True},
        {
            "rule": "distributions",
            "from": [],
            "eps": 1,
            "inputs": None,
            "cuts": [],
            "bits": Whole(30),
        },
        {"rule": "distributions", "from": [], "eps": 0, "inputs": None, "cuts": [], "bits": 30},
        {
            "rule": "distributions",
            "from": [],
            "eps": 1,
            "inputs": [[0], [0]],
            "cuts": [],
            "bits": 30,
        },
        {
            "rule": "distributions",
            "from": [False],
            "eps": 1,
            "inputs": None,
            "cuts": [],
            "bits": 30,
        },
        {"rule": "distributions", "from": [0], "eps": 1, "inputs": None, "cuts": [], "bits": 30},
        {"rule": "every pair", "from": [], **STATED},
    ],
)
def test_steps_that_are_none_are_bad_proofs(step: object) -> None:
    machine = {
        "inputs": [["q", [0, 1]]],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [DONE],
    }
    claim = {"verdict": "DP", "eps": 1, "pairs": None, **STATED}
    with pytest.raises(BadProof):
        replay(machine, claim, [step])


def test_no_pairs_are_no_claim() -> None:
    machine = {
        "inputs": [["q", [0, 1]]],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [["set", OUT, ["cell", "q"]]],
    }
    run = {"rule": "distributions", "from": [], "eps": 1, "inputs": None, "cuts": [], "bits": 30}
    step = {"rule": "every pair", "from": [-1], **STATED}
    for pairs in ([], [[[0], [0]], [[0], [0]]]):
        claim = {"verdict": "DP", "eps": 1, "pairs": pairs, **STATED}
        with pytest.raises(BadProof):
            replay(machine, claim, [run, step])


@pytest.mark.parametrize(
    "weight",
    [
        ["exp", ["*", 0, ["inverse", 0]]],
        ["exp", ["*", 0, ["inverse", ["+", ["eps"], -1]]]],
        ["*", 0, ["inverse", ["+", 1, -1]]],
        ["inverse", ["inverse", 0]],
    ],
)
@pytest.mark.parametrize("bits", [30, None])
def test_a_weight_that_is_divided_by_zero_has_no_value(weight: Json, bits: int | None) -> None:
    with pytest.raises(NotProved):
        asked([["choose", OUT, [[0, weight], [1, 1]], True]], bits)


def test_pairs_far_apart_cost_no_time_where_few_are_near() -> None:
    machine = read_machine(
        {
            "inputs": [["q", {"from": 1, "to": 300}]],
            "outputs": [["o", [0, 1]]],
            "reals": [],
            "adjacency": {"norm": "linf", "radius": 1},
            "body": [DONE],
        }
    )
    with budget():
        assert sum(1 for _ in adjacent_pairs(machine.adjacency, machine.domains)) == 2 * 299
