"""Couplings and traces of services, one condition at a time."""

from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.kernel.services import read_service
from dipapprox.kernel.traces import loses
from tests.cases import check_answers, refuses
from tests.kernel.edits import with_at
from tests.kernel.machines import judged
from tests.kernel.served import EXAMPLES, REAL, proof_for, written

STEP = {
    "rule": "couplings",
    "from": [],
    "eps": None,
    "budget": 1,
    "held": [],
    "followed": ["given", "given"],
    "changes": [],
    "pairs": [],
}
ONE_EPS = Fraction(1)
EXACTLY = ["given", "exact"]
N, REPLY, Z = ["cell", "n"], ["cell", "reply"], ["cell", "z"]
EMPTY = ["set", N, 0]
"""Runs that do so are in the same store."""


def small(body: list[Any], reply: Any = None, **fields: Any) -> Any:
    """A service with a cell n, which data sets to 0 or 1, and one query."""
    data = {"name": "data", "arguments": [["d", [0, 1]]], "seen": False}
    ask = {"name": "ask", "arguments": [], "seen": True, "body": body}
    return {
        "cells": [["n", 0]],
        "replies": [["reply", reply or {"low": None, "high": None}]],
        "calls": [{**data, "body": [["set", N, ["cell", "d"]]]}, ask],
        "change": "insert",
        **fields,
    }


def coupled(machine: Any, up: Any = None, down: Any = None, **fields: Any) -> Any:
    """Replay: n is 0 and 1, or 1 and 0, and 1 may be lost; groups of the query in both cases."""
    same = [None, None, None, None]
    points = [[[], 1]]
    pairs = [[[0], [1], points, [None, None, up]], [[1], [0], points, [None, None, down]]]
    step = {**STEP, "changes": [[[0], same], [[1], same]], "pairs": pairs, **fields}
    return replay(machine, {"verdict": "DP", "budget": 1, "at least": None}, [step])


def drawn(family: str = "Lap", scale: Any = 1, mean: Any = N, to: Any = REPLY) -> Any:
    return ["draw", to, family, mean, [scale, -1]]


SHOWN = [["set", REPLY, 1]], [["set", REPLY, 0]]
POSITIVE = ["if", [">=", Z, 0], *SHOWN]
COIN, OFTEN, SELDOM = (
    ["choose", REPLY, [[1, one], [0, other]], False]
    for one, other in (("1/2", "1/2"), ("3/4", "1/4"), ("1/4", "3/4"))
)
TELLS = ["if", ["=", N, 1], [OFTEN], [SELDOM]]
SMALL, TOSSED = small([drawn(), EMPTY]), small([COIN, EMPTY])
DATA, ASK = SMALL["calls"]
HIDDEN = {**TOSSED, "calls": [DATA, {**TOSSED["calls"][1], "seen": False}]}
EACH, DEAR = ([[[0], [0], cost], [[1], [1], cost]] for cost in (0, 1))
LYING = small(
    [["choose", REPLY, [[N, ["exp", ["eps"]]], [["+", 1, ["*", -1, N]], 1]], True], EMPTY]
)
TRUE = [[[0], [1], 1], [[1], [0], 0]]
"""The first option of n = 0 shows 0, that of n = 1 shows 1."""
HELD: Any = {"held": ["n"], "changes": [[[], [None] * 4]], "pairs": []}
CALLS = [None, None, None]

ASKED = small([["if", ["=", ["cell", "a"], 1], *SHOWN], EMPTY])
ASKED["calls"][1]["arguments"] = [["a", [0, 1]]]
WITH_ARGUMENTS = [[[k], [1 - k], [[[], 1]], [None] * 4] for k in (0, 1)]


def test_what_is_held_is_known_at_all_ends() -> None:
    """The sum of data from -3 to 3 is served between the ends, if both ends are."""
    machine, claim, steps = written(proof_for(REAL))
    (at,) = (k for k, step in enumerate(steps) if step["rule"] == "couplings")
    step = steps[at]
    assert step["followed"][0] == "symbols"
    assert step["held"] == ["total"]
    for number, (one, other, points, groups) in enumerate(step["pairs"]):
        for place in range(len(points)):
            fewer = [one, other, points[:place] + points[place + 1 :], groups]
            forged = with_at(step, ("pairs", number), fewer)
            with pytest.raises(NotProved):
                replay(machine, claim, [*steps[:at], forged, *steps[at + 1 :]])
    named = with_at(machine, ("calls", 0, "arguments", 0, 1), [0, "1/2"])
    refuses(Refuted, "no integer", replay, named, claim, steps)
    for domain in ({"from": -3, "to": 4}, {"from": -4, "to": 3}):
        wide = with_at(machine, ("calls", 0, "arguments", 0, 1), domain)
        with pytest.raises(NotProved):
            replay(wide, claim, steps)


def test_two_runs_differ_in_one_data_call() -> None:
    machine, claim, steps = written(proof_for(EXAMPLES["told"][0]))
    (step,) = steps
    (data,) = (event for event in step["events"] if event[0] != event[1])
    last = step["events"][-1]
    assert replay(machine, claim, steps) == Budgets(None, None, at_any=False, eps=ONE_EPS)
    refuses(BadProof, "below 0", replay, machine, claim, [{**step, "eps": -1}])
    for events in (
        [last],
        [data, data, last],
        [[last[0], None, None], last],
        [[[0, [1]], [0, [0]], None], last],
        [data, [last[0], [0, [0]], last[2]]],
        [[data[0], data[1], last[2]], last],
        [data, [[1, [0]], [1, [0]], last[2]]],
        [[[0, [5]], None, None], last],
    ):
        refuses((Refuted, BadProof), None, replay, machine, claim, [{**step, "events": events}])
    with pytest.raises(NotProved):
        replay(machine, {"verdict": "DP", "budget": 1, "at least": None}, steps)


def test_replies_are_told_by_values_and_by_sides() -> None:
    machine, _, steps = written(proof_for(REAL))
    trace = {**steps[-2], "from": []}
    *before, (call, again, (shown, over)) = trace["events"]
    assert set(shown) in ({"least"}, {"most"})
    ((side, number),) = shown.items()
    lost = {"verdict": "Not_DP", "budget": 1}
    assert replay(machine, lost, [trace]) == Budgets(
        None, Fraction(3, 2), at_any=False, eps=ONE_EPS
    )
    for reply in (
        {side: 0},
        {"most" if side == "least" else "least": number},
        number,
        None,
        {"name": "false"},
    ):
        with pytest.raises((Refuted, BadProof)):
            events = [*before, [call, again, [reply, over]]]
            replay(machine, lost, [{**trace, "events": events}])


# --- what calls show -----------------------------------------------------------------------------

ONE, NONE = Ratio.constant(Fraction(1)), Ratio.constant(Fraction(0))


def power(rate: Any) -> Ratio:
    return Ratio(Sum.exponential(Fraction(rate)))


P, Q = (ONE + power(-1)).scaled(Fraction(1, 2)), power(-1)
"""P / Q is (1 + e^eps) / 2: 1/2 is lost near 0, 1 in the end, and less at every eps."""
BELOW, RISING = (ONE + power(1)).inverse(), ONE + power(-1).scaled(Fraction(-1))
GONE = Ratio(Sum.of([((Fraction(0), n), Fraction(c)) for n, c in ((0, 1), (1, -2), (2, 1))]))
"""(1 - eps)^2 is 0 at 1: nothing is seen there."""
LINEAR, SQUARE = (ONE + Ratio(Sum.of([((Fraction(0), n), Fraction(1))])) for n in (1, 2))
MUCH, LITTLE = (Ratio.constant(Fraction(k, 4)) for k in (3, 1))


def repeated(body: Any, change: str = "insert", **fields: Any) -> Any:
    """Replay: data sets n to 1 in the first run only, which shows 1 again and again."""
    ask = [1, []]
    step = {
        "rule": "repetition",
        "from": [],
        "events": [[[0, [1]], None, None]],
        "turns": [[ask, ask, [1]]],
        "store": [1],
        "eps": 1,
        **fields,
    }
    machine = small(body, change=change) if isinstance(body, list) else body
    return replay(machine, {"verdict": "Not_DP", "budget": None}, [step])


RARE = ["+", ["eps"], -1]
KEEP = ["choose", N, [[1, ["*", RARE, RARE]], [0, 1]], True]
KEPT = small([["if", ["=", N, 1], *SHOWN]])
"""At eps = 1 data are never kept."""
KEPT["calls"][0]["body"] = [["if", ["=", ["cell", "d"], 1], [KEEP], [EMPTY]]]


def test_a_store_is_not_looked_for_without_end(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.kernel.errors.MOST_WORK", 20_000)
    counts = ["if", ["=", N, 0], [["set", REPLY, 1]], [["set", N, ["+", N, 1]], COIN]]
    start = {"events": [[None, [0, [1]], None]], "store": [0], "eps": 2}
    refuses(Refused, "more work", repeated, [counts], **start)


def test_couplings_and_what_calls_show() -> None:
    asked = {"loses": loses, "read_service": read_service}
    check_answers("kernel_couplings", judged(globals() | asked))
