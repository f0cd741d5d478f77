"""Budgets of services, replayed: examples, random ones, and forgeries."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import dipapprox
from dipapprox import Answer, Limits
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.judgements import Budget, LeastBudget, NoBudget
from dipapprox.kernel.replay import replay
from dipapprox.services.service_proof import ServiceProof, prove_service
from tests.kernel.edits import others_for, places_in, with_at
from tests.services.examples import COIN, DATA, HEAD, ONCE, service_of, slots
from tests.services.strategies import counting_services, services

PROGRAMS = Path(__file__).parent.parent.parent / "programs" / "services"

CHOSEN = """
on query ask do
    if done then
        reply <- stop
    else
        done <- true
        reply <- choose {n : exp(eps)/(1 + exp(eps)), 1 - n : 1/(1 + exp(eps))}
    end
end
"""
DECIDED = """
on query ask do
    if done then
        reply <- stop
    else
        done <- true
        z <- Lap(n, 2 / eps)
        if z >= 1/2 then reply <- 1 else reply <- 0 end
    end
end
"""
UNCOUNTED = """
on query ask do
    reply <- clamp(DLap(n, 1 / eps), 0, 1)
end
"""
TOLD = """
on query ask do
    if n = 1 then reply <- stop else reply <- 0 end
end
"""
FIXED = """
on query ask do
    if done then
        reply <- stop
    else
        done <- true
        reply <- choose {n : 3/4, 1 - n : 1/4}
    end
end
"""
REAL = """
state left in 0..1 <- 1
state total in int <- 0
output reply in real
output over in bool
on data d in -3..3 do total <- total + d end
on query ask do
    over <- left = 0
    if over then exit end
    left <- 0
    reply <- Lap(total, 2 / eps)
end
"""
THROWN = """
state n in 0..1 <- 0
state coin in 0..1 <- 0
output reply in -5..5
on data d in {0, 1} do n <- d end
on query ask do
    coin <- choose {0 : 1/2, 1 : 1/2}
    reply <- clamp(DLap(n + coin, 1 / eps), -5, 5)
    coin <- 0
    n <- 0
end
"""
KEPT = """
state n in 0..2 <- 0
state coin in 0..2 <- 2
output reply in -5..5
on data d in {0, 1} do if n < 2 then n <- n + d end end
on query ask do
    if coin = 2 then coin <- choose {0 : 1/2, 1 : 1/2} end
    reply <- clamp(DLap(n + coin, 1 / eps), -5, 5)
end
"""
HIDDEN = """
adjacent replace
state n in 0..1 <- 0
output reply in {0, 1}
on data d in {0, 1} do
    keep <- choose {1 : 1/2, 0 : 1/2}
    if keep = 1 then n <- d end
end
on query ask do reply <- clamp(DLap(n, 1 / eps), 0, 1) end
"""

EXAMPLES: dict[str, tuple[str, Fraction | None]] = {
    "counted": (HEAD + DATA + ONCE, Fraction(1)),
    "replaced": ("adjacent replace\n" + HEAD + DATA + ONCE, Fraction(1)),
    "coin": (HEAD + COIN + ONCE, Fraction(1)),
    "chosen": (HEAD + DATA + CHOSEN, Fraction(1)),
    "decided": (HEAD + DATA + DECIDED, Fraction(1, 2)),
    "real": (REAL, Fraction(3, 2)),
    "real replaced": ("adjacent replace\n" + REAL, Fraction(3)),
    "slots": (slots("int"), Fraction(2)),
    "thrown": (THROWN, Fraction(1)),
    "never ends": (HEAD + DATA + UNCOUNTED, None),
    "told": (HEAD + DATA + TOLD, None),
    "fixed": (HEAD + DATA + FIXED, None),
    "hidden": (HIDDEN, None),
    "kept": (KEPT, None),
}
"""Services, and their least budgets; None for none."""

Proof = tuple[Any, Any, list[Any]]


def found(text: str, *users: str, budget: Fraction | None = None) -> ServiceProof:
    return prove_service(service_of(text), budget, users, Limits())


def written(proof: ServiceProof) -> Proof:
    own, _ = proof.replay(Limits())
    return own.machine, own.claim, list(own.steps)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_replayed(name: str) -> None:
    text, least = EXAMPLES[name]
    judged = replay(*written(found(text)))
    if least is None:
        assert judged == NoBudget(None, at_any=False)
        assert "for no B at every eps > 0" in str(judged)
    else:
        assert judged == LeastBudget(least, least, at_any=False)


@settings(max_examples=12, deadline=None)
@given(services())
def test_random_services_are_replayed(text: str) -> None:
    are_replayed(text)


@settings(max_examples=8, deadline=None)
@given(counting_services())
def test_random_services_that_count_are_replayed(text: str) -> None:
    are_replayed(text)


def are_replayed(text: str) -> None:
    """Replay the proof of a service, of just what was found."""
    proof = found(text)
    if proof.answer is Answer.UNKNOWN:
        return
    judged = replay(*written(proof))
    if proof.has_none:
        assert judged == NoBudget(None, at_any=False)
    elif proof.lower:
        assert judged == LeastBudget(proof.upper, proof.lower, at_any=False)
    else:
        assert judged == Budget(proof.upper)


def test_a_claimed_budget_that_is_too_small_is_refuted() -> None:
    for name in ("counted", "coin", "never ends", "hidden"):
        budget = Fraction(1, 2)
        proof = found(EXAMPLES[name][0], budget=budget)
        assert proof.answer is Answer.NOT_DP
        judged = replay(*written(proof))
        assert isinstance(judged, NoBudget)
        assert judged.below is None or judged.below > budget


@pytest.mark.parametrize(("users", "least"), [((), 3), (("alice",), 2), (("bob",), 1)])
def test_those_who_do_not_see_replies_learn_less(users: tuple[str, ...], least: int) -> None:
    text = (PROGRAMS / "users.dpg").read_text(encoding="utf-8")
    judged = replay(*written(found(text, *users)))
    assert judged == LeastBudget(Fraction(least, 2), Fraction(least, 2), at_any=False)


# --- forgeries -----------------------------------------------------------------------------------

EXACT = [name for name, (_, least) in EXAMPLES.items() if least is not None]
NONE = [name for name, (_, least) in EXAMPLES.items() if least is None]


def changed(steps: list[Any], name: str, most: int) -> list[Any]:
    """Steps with another value at one place, for some places."""
    chance = random.Random(name)
    places = [at for at, _ in places_in(steps)]
    forged = []
    for at in chance.sample(places, min(len(places), most)):
        value: Any = steps
        for key in at:
            value = value[key]
        forged += [with_at(steps, at, other) for other in others_for(value, chance)]
    return forged


@pytest.mark.parametrize("name", EXACT)
def test_no_forgery_of_couplings_proves_less_than_the_least_budget(name: str) -> None:
    text, least = EXAMPLES[name]
    assert least is not None
    machine, _, steps = written(found(text))
    upper = [step for step in steps if step["rule"] in ("sign", "couplings")][: len(steps) - 2]
    claim = {"verdict": "DP", "budget": 1000, "at least": None}
    assert replay(machine, claim, upper) == Budget(least)
    confirmed = refused = 0
    for forged in changed(upper, name, 120):
        try:
            judged = replay(machine, claim, forged)
        except NotProved:
            refused += 1
            continue
        confirmed += 1
        assert isinstance(judged, Budget)
        assert judged.budget >= least
    assert refused > confirmed


@pytest.mark.parametrize("name", EXACT)
def test_no_forgery_of_a_trace_refutes_the_least_budget(name: str) -> None:
    text, least = EXAMPLES[name]
    assert least is not None
    machine, _, steps = written(found(text))
    trace = [{**steps[-2], "from": []}] if not steps[-2]["from"] else steps[:-1]
    claim = {"verdict": "Not_DP", "budget": 0}
    assert replay(machine, claim, trace) == NoBudget(least, at_any=False)
    confirmed = refused = 0
    for forged in changed(trace[-1:], name, 60):
        try:
            judged = replay(machine, claim, [*trace[:-1], *forged])
        except NotProved:
            refused += 1
            continue
        confirmed += 1
        assert isinstance(judged, NoBudget)
        assert judged.below is not None and judged.below <= least
    assert refused > confirmed


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("other", NONE)
def test_what_refutes_other_services_refutes_none_with_a_budget(name: str, other: str) -> None:
    machine, _, _ = written(found(EXAMPLES[name][0]))
    _, claim, steps = written(found(EXAMPLES[other][0]))
    with pytest.raises(NotProved):
        replay(machine, claim, steps)


@pytest.mark.parametrize("name", EXACT)
def test_what_may_be_lost_is_no_less_anywhere(name: str) -> None:
    """V of every point is the length of a longest path: less, or a point less, proves nothing."""
    machine, _, steps = written(found(EXAMPLES[name][0]))
    (at,) = (k for k, step in enumerate(steps) if step["rule"] == "couplings")
    claim = {"verdict": "DP", "budget": 1000, "at least": None}
    step, before = steps[at], steps[:at]
    forged = [{**step, "budget": text(Fraction(step["budget"]) * Fraction(99, 100))}]
    for number, (one, other, points, groups) in enumerate(step["pairs"]):
        for place, (shifts, value) in enumerate(points):
            less = Fraction(value) * Fraction(99, 100)
            if less:
                own = with_at(points, (place,), [shifts, text(less)])
                forged.append(with_at(step, ("pairs", number), [one, other, own, groups]))
        forged.append({**step, "pairs": step["pairs"][:number] + step["pairs"][number + 1 :]})
    for number in range(len(step["stores"])):
        kept = {
            each: step[each][:number] + step[each][number + 1 :] for each in ("stores", "changes")
        }
        forged.append({**step, **kept})
    for each in forged:
        with pytest.raises(NotProved):
            replay(machine, claim, [*before, each])


def text(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


@pytest.mark.parametrize("name", ["counted", "decided", "real", "slots"])
def test_the_machine_is_the_one_that_was_meant(name: str) -> None:
    """With less noise, another change or other cells at first the same steps prove nothing."""
    machine, claim, steps = written(found(EXAMPLES[name][0]))
    scales = [at for at, value in places_in(machine) if is_scale(at, value)]
    edits = [with_at(machine, (*at, 0), text(Fraction(1, 9))) for at in scales]
    edits.append({**machine, "change": "replace"})
    edits.append(with_at(machine, ("cells", 0, 1), 7))
    edits.append(with_at(machine, ("calls", 1, "seen"), False))
    for edited in edits:
        with pytest.raises(NotProved):
            replay(edited, claim, steps)


def is_scale(at: tuple[Any, ...], value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[1] == -1 and at[-1] == 4


# --- one condition at a time ---------------------------------------------------------------------

STEP = {
    "rule": "couplings",
    "from": [],
    "budget": 1,
    "held": [],
    "symbols": [],
    "exact": [],
    "stores": [[0], [1]],
    "changes": [],
    "pairs": [],
}
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
    pairs = [[0, 1, points, [None, None, up]], [1, 0, points, [None, None, down]]]
    step = {**STEP, "changes": [same, same], "pairs": pairs, **fields}
    return replay(machine, {"verdict": "DP", "budget": 1, "at least": None}, [step])


def drawn(family: str = "Lap", scale: Any = 1, mean: Any = N, to: Any = REPLY) -> Any:
    return ["draw", to, family, mean, [scale, -1]]


def test_a_sample_costs_how_far_it_is_moved() -> None:
    for family in ("Lap", "DLap"):
        assert coupled(small([drawn(family), EMPTY])) == Budget(Fraction(1))
        with pytest.raises(Refuted, match="1/2 is missing"):
            coupled(small([drawn(family, "2/3"), EMPTY]))
        with pytest.raises(Refuted, match="1 is missing"):
            coupled(small([drawn(family)]))  # again and again
    for family in ("LapPlus", "Gauss"):
        with pytest.raises(Refuted, match="cannot be shifted"):
            coupled(small([drawn(family), EMPTY]))
    with pytest.raises(Refuted, match="no integer"):
        coupled(small([drawn("DLap", mean=["*", "1/2", N]), EMPTY]))


def test_what_is_shifted_shows_the_same() -> None:
    machine = small([drawn(mean=0), ["set", REPLY, ["+", REPLY, N]], EMPTY])
    up, down = [[[0], [0], 0, [-1]]], [[[0], [0], 0, [1]]]
    assert coupled(machine, up, down) == Budget(Fraction(1))
    for one, other in ((None, down), (up, None), (down, up), ([[[0], [0], 0, [-2]]], down)):
        with pytest.raises(Refuted, match="another number is shown"):
            coupled(machine, one, other)
    with pytest.raises(Refuted, match="different replies"):
        coupled(small([["set", REPLY, N], EMPTY]))
    with pytest.raises(Refuted, match="depends on what is not known"):
        coupled(small([drawn(), ["set", REPLY, ["*", REPLY, ["+", 1, N]]], EMPTY]))
    with pytest.raises(Refuted, match="different samples"):
        coupled(small([["if", ["=", N, 1], [drawn(mean=0)], [drawn(scale=2)]], EMPTY]))


def test_what_is_shifted_meets_the_guards() -> None:
    shown = [["set", REPLY, 1]], [["set", REPLY, 0]]
    fixed = small([drawn(to=Z), ["if", [">=", Z, 1], *shown], EMPTY])
    assert coupled(fixed) == Budget(Fraction(1))
    moving = small([drawn(mean=0, to=Z), ["if", [">=", Z, N], *shown], EMPTY])
    up = [[[0], [0], 0, [1]], [[1], [1], 0, [0]]]
    down = [[[0], [0], 0, [0]], [[1], [1], 0, [-1]]]
    assert coupled(moving, up, down) == Budget(Fraction(1))
    half = [[[0], [0], 0, ["1/2"]], [[1], [1], 0, [0]]]
    for one, other in ((None, down), (up, None), (half, down)):
        with pytest.raises(Refuted, match="does not follow"):
            coupled(moving, one, other)
    # On the border of what the first run does, the second one does something else.
    border = [["if", [">=", Z, N], *shown], ["if", [">", Z, N], *shown]]
    strict = small([drawn(mean=0, to=Z), ["if", ["=", N, 0], *([e] for e in border)], EMPTY])
    with pytest.raises(Refuted, match="does not follow"):
        coupled(strict, up, down)


def test_paths_are_in_groups_that_have_none_in_common() -> None:
    coin = ["choose", REPLY, [[0, "1/2"], [1, "1/2"]], False]
    machine = small([coin, EMPTY])
    each = [[[0], [0], 0, None], [[1], [1], 0, None]]
    assert coupled(machine, each, each) == Budget(Fraction(1))
    hidden = {**machine, "calls": [machine["calls"][0], {**machine["calls"][1], "seen": False}]}
    together = [[[0, 1], [0, 1], 0, None]]
    assert coupled(hidden, together, each) == Budget(Fraction(1))
    for groups in (
        [],
        each[:1],
        [each[0], each[0]],
        [[[0], [0], 0, None], [[1], [0], 0, None]],
        [[[0, 1], [0], 0, None]],
        [[[0], [0, 1], 0, None]],
        [[[0], [2], 0, None], each[1]],
        [[[-1], [0], 0, None], each[1]],
    ):
        with pytest.raises((Refuted, BadProof)):
            coupled(hidden, groups, each)
    with pytest.raises(Refuted, match="different replies"):
        coupled(machine, [[[0], [1], 0, None], [[1], [0], 0, None]], each)


def test_a_group_costs_how_much_likelier_it_is() -> None:
    lies = [[N, ["exp", ["eps"]]], [["+", 1, ["*", -1, N]], 1]]
    machine = small([["choose", REPLY, lies, True], EMPTY])
    # The first option of n = 0 shows 0, that of n = 1 shows 1.
    groups = [[[0], [1], 1, None], [[1], [0], 0, None]]
    assert coupled(machine, groups, groups) == Budget(Fraction(1))
    for gains in ((0, 0), ("99/100", 0)):
        less = [[[0], [1], gains[0], None], [[1], [0], gains[1], None]]
        with pytest.raises(Refuted, match="likelier than a group says"):
            coupled(machine, less, groups)
    more = [[[0], [1], "101/100", None], [[1], [0], 0, None]]
    with pytest.raises(Refuted, match="1/100 is missing"):
        coupled(machine, more, groups)


def test_cells_keep_no_samples() -> None:
    with pytest.raises(Refuted, match="not listed"):
        coupled(small([drawn(), ["set", N, REPLY]]))
    with pytest.raises(NotProved, match="keeps a sample"):
        coupled(small([drawn(), ["set", N, REPLY]]), exact=[1])
    with pytest.raises(NotProved, match="leaves nothing"):
        coupled(small([drawn(), ["forget", ["n"]]]))
    held = {"held": ["n"], "stores": [[]], "changes": [[None] * 4], "pairs": []}
    with pytest.raises(Refuted, match="no integer"):
        coupled(small([drawn(), ["set", N, REPLY]]), **held)
    with pytest.raises(Refuted, match="no integer"):
        coupled(small([drawn(), ["set", N, ["*", "1/2", N]]]), **held)
    with pytest.raises(Refuted, match="no number"):
        coupled(small([drawn(), ["set", N, {"name": "none"}]]), **held)


def test_exactly_followed_calls_show_values_of_their_domains() -> None:
    shown = [["set", REPLY, 1]], [["set", REPLY, 0]]
    body = [drawn(to=Z), ["if", [">=", Z, 1], *shown], EMPTY]
    each = [[[0], [0], 1, None], [[1], [1], 1, None]]
    with pytest.raises(Refuted, match="likelier than a group says"):
        coupled(small(body), exact=[1])
    assert coupled(small(body), each, each, exact=[1]) == Budget(Fraction(1))
    with pytest.raises(NotProved, match="no bounds"):
        coupled(small([drawn(), EMPTY]), exact=[1])
    with pytest.raises(NotProved, match="none of its values"):
        coupled(small([drawn("DLap"), EMPTY], [0, 1]), exact=[1])


def test_loops_end_by_chance() -> None:
    """A coin is thrown until it shows 1: the call ends there, or says so behind the loop."""
    throw = ["choose", REPLY, [[0, "1/2"], [1, "1/2"]], False]
    first = ["set", REPLY, 0]
    until = [first, ["while", ["=", REPLY, 0], [throw]]]
    inside = [first, ["while", ["=", REPLY, 0], [throw, ["if", ["=", REPLY, 1], [["exit"]], []]]]]
    for body in (until, inside):
        assert coupled(small([EMPTY, *body]), exact=[1]) == Budget(Fraction(1))
    for ever in ([first, ["while", ["=", REPLY, 0], []]], [first, ["while", ["=", 0, 0], [throw]]]):
        with pytest.raises(NotProved):
            coupled(small([EMPTY, *ever]), exact=[1])


def test_what_is_held_is_known_at_all_ends() -> None:
    """The sum of data from -3 to 3 is served between the ends, if both ends are."""
    machine, claim, steps = written(found(REAL))
    (at,) = (k for k, step in enumerate(steps) if step["rule"] == "couplings")
    step = steps[at]
    assert step["symbols"] == [0]
    assert step["held"] == ["total"]
    for number, (one, other, points, groups) in enumerate(step["pairs"]):
        for place in range(len(points)):
            fewer = [one, other, points[:place] + points[place + 1 :], groups]
            forged = with_at(step, ("pairs", number), fewer)
            with pytest.raises(NotProved):
                replay(machine, claim, [*steps[:at], forged, *steps[at + 1 :]])
    named = with_at(machine, ("calls", 0, "arguments", 0, 1), [0, "1/2"])
    with pytest.raises(Refuted, match="no integer"):
        replay(named, claim, steps)


def test_two_runs_differ_in_one_data_call() -> None:
    machine, claim, steps = written(found(EXAMPLES["told"][0]))
    (step,) = steps
    (data,) = (event for event in step["events"] if event[0] != event[1])
    last = step["events"][-1]
    assert replay(machine, claim, steps) == NoBudget(None, at_any=False)
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
        with pytest.raises((Refuted, BadProof)):
            replay(machine, claim, [{**step, "events": events}])
    with pytest.raises(NotProved):
        replay(machine, {"verdict": "DP", "budget": 1, "at least": None}, steps)


def test_replies_are_told_by_values_and_by_sides() -> None:
    machine, _, steps = written(found(REAL))
    trace = {**steps[-2], "from": []}
    *before, (call, again, (shown, over)) = trace["events"]
    assert set(shown) in ({"least"}, {"most"})
    ((side, number),) = shown.items()
    lost = {"verdict": "Not_DP", "budget": 1}
    assert replay(machine, lost, [trace]) == NoBudget(Fraction(3, 2), at_any=False)
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


def test_services_are_read_strictly() -> None:
    machine = small([drawn(), EMPTY])
    assert coupled(machine) == Budget(Fraction(1))
    data, ask = machine["calls"]
    for fields in (
        {"calls": []},
        {"calls": [ask, data]},
        {"calls": [data, ask, ask]},
        {"calls": [data, {**ask, "seen": 1}]},
        {"calls": [data, {**ask, "arguments": [["n", [0, 1]]]}]},
        {"calls": [data, {**ask, "arguments": [["a", {"low": 0, "high": 1}]]}]},
        {"cells": [["n", 0], ["n", 1]]},
        {"cells": [["reply", 0]]},
        {"replies": [["reply", {"low": 0, "high": 1}]]},
        {"change": "any"},
    ):
        with pytest.raises(BadProof):
            coupled({**machine, **fields})
    for fields in (
        {"held": ["other"]},
        {"held": [["n"]]},
        {"exact": [2]},
        {"exact": [1], "symbols": [1]},
        {"stores": [[1], [0]]},
        {"stores": [[0], [0]]},
        {"stores": [[0]]},
        {"budget": -1},
    ):
        with pytest.raises((BadProof, Refuted)):
            coupled(machine, **fields)


def test_budgets_are_found_in_python() -> None:
    proof = dipapprox.prove(PROGRAMS / "users.dpg", options=dipapprox.Options(proved=True))
    assert proof.answer is Answer.DP
    assert proof.replayed is not None
    assert "replayed by the kernel" in str(proof)
