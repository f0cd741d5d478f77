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
from tests.cases import refuses
from tests.kernel.edits import with_at
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


def test_a_sample_costs_how_far_it_is_moved() -> None:
    for family in ("Lap", "DLap"):
        assert coupled(small([drawn(family), EMPTY])) == Budgets(Fraction(1))
        refuses(Refuted, "1/2 is missing", coupled, small([drawn(family, "2/3"), EMPTY]))
        refuses(Refuted, "1 is missing", coupled, small([drawn(family)]))  # again and again
    for family in ("LapPlus", "Gauss"):
        refuses(Refuted, "cannot be shifted", coupled, small([drawn(family), EMPTY]))
    refuses(Refuted, "no integer", coupled, small([drawn("DLap", mean=["*", "1/2", N]), EMPTY]))


def test_the_same_samples_show_the_same() -> None:
    with pytest.raises(Refuted, match="another number is published"):
        coupled(small([drawn(mean=0), ["set", REPLY, ["+", REPLY, N]], EMPTY]))
    refuses(Refuted, "publish different values", coupled, small([["set", REPLY, N], EMPTY]))
    with pytest.raises(Refuted, match="another number is published"):
        coupled(small([drawn(), ["set", REPLY, ["*", REPLY, ["+", 1, N]]], EMPTY]))
    with pytest.raises(Refuted, match="different samples"):
        coupled(small([["if", ["=", N, 1], [drawn(mean=0)], [drawn(scale=2)]], EMPTY]))


def test_the_same_samples_meet_the_guards() -> None:
    shown = [["set", REPLY, 1]], [["set", REPLY, 0]]
    fixed = small([drawn(to=Z), ["if", [">=", Z, 1], *shown], EMPTY])
    assert coupled(fixed) == Budgets(Fraction(1))
    with pytest.raises(Refuted, match="does not hold"):
        coupled(small([drawn(mean=0, to=Z), ["if", [">=", Z, N], *shown], EMPTY]))
    # Each guard follows from the one that has its place.
    once = ["if", [">=", Z, 0], *shown]
    twice = ["if", [">=", Z, 0], [once], shown[1]]
    with pytest.raises(Refuted, match="other guards"):
        coupled(small([drawn(mean=0, to=Z), ["if", ["=", N, 0], [once], [twice]], EMPTY]))
    # On the border of what the first run does, the second one does something else.
    border = [["if", [">=", Z, 1], *shown], ["if", [">", Z, 1], *shown]]
    with pytest.raises(Refuted, match="does not hold"):
        coupled(small([drawn(mean=0, to=Z), ["if", ["=", N, 0], *([e] for e in border)], EMPTY]))


def test_paths_are_in_groups_that_have_none_in_common() -> None:
    coin = ["choose", REPLY, [[0, "1/2"], [1, "1/2"]], False]
    machine = small([coin, EMPTY])
    each = [[[0], [0], 0], [[1], [1], 0]]
    assert coupled(machine, each, each) == Budgets(Fraction(1))
    hidden = {**machine, "calls": [machine["calls"][0], {**machine["calls"][1], "seen": False}]}
    together = [[[0, 1], [0, 1], 0]]
    assert coupled(hidden, together, each) == Budgets(Fraction(1))
    for groups in (
        [],
        each[:1],
        [each[0], each[0]],
        [[[0], [0], 0], [[1], [0], 0]],
        [[[0, 1], [0], 0]],
        [[[0], [0, 1], 0]],
        [[[0], [2], 0], each[1]],
        [[[-1], [0], 0], each[1]],
    ):
        refuses((Refuted, BadProof), None, coupled, hidden, groups, each)
    with pytest.raises(Refuted, match="publish different values"):
        coupled(machine, [[[0], [1], 0], [[1], [0], 0]], each)


def test_a_group_costs_how_much_likelier_it_is() -> None:
    lies = [[N, ["exp", ["eps"]]], [["+", 1, ["*", -1, N]], 1]]
    machine = small([["choose", REPLY, lies, True], EMPTY])
    # The first option of n = 0 shows 0, that of n = 1 shows 1.
    groups = [[[0], [1], 1], [[1], [0], 0]]
    assert coupled(machine, groups, groups) == Budgets(Fraction(1))
    for gains in ((0, 0), ("99/100", 0)):
        less = [[[0], [1], gains[0]], [[1], [0], gains[1]]]
        refuses(Refuted, "likelier than a group says", coupled, machine, less, groups)
    more = [[[0], [1], "101/100"], [[1], [0], 0]]
    refuses(Refuted, "1/100 is missing", coupled, machine, more, groups)


def test_cells_keep_no_samples() -> None:
    refuses(Refuted, "not listed", coupled, small([drawn(), ["set", N, REPLY]]))
    with pytest.raises(NotProved, match="keeps a sample"):
        coupled(small([drawn(), ["set", N, REPLY]]), followed=EXACTLY)
    refuses(NotProved, "leaves nothing", coupled, small([drawn(), ["forget", ["n"]]]))
    with pytest.raises(NotProved, match="leaves nothing"):
        coupled(small([["set", REPLY, 1], ["forget", ["n"]]]), followed=EXACTLY)
    held = {"held": ["n"], "changes": [[[], [None] * 4]], "pairs": []}
    refuses(Refuted, "no integer", coupled, small([drawn(), ["set", N, REPLY]]), **held)
    refuses(Refuted, "no integer", coupled, small([drawn(), ["set", N, ["*", "1/2", N]]]), **held)
    refuses(Refuted, "no number", coupled, small([drawn(), ["set", N, {"name": "none"}]]), **held)
    refuses(NotProved, "leaves nothing", coupled, small([["forget", ["n"]]]), **held)
    with pytest.raises(NotProved, match="no value is forgotten"):
        coupled(small([["forget", ["n"]]]), **held, followed=EXACTLY)


@pytest.mark.parametrize("followed", [["given", "given"], EXACTLY])
def test_a_reply_that_is_forgotten_shows_nothing(followed) -> None:
    silent = small([["set", REPLY, N], ["forget", ["reply"]], EMPTY])
    assert coupled(silent, followed=followed) == Budgets(Fraction(1))
    told = small([["set", REPLY, N], ["if", ["=", N, 1], [["forget", ["reply"]]], []], EMPTY])
    refuses(Refuted, "different values", coupled, told, followed=followed)


def test_exactly_followed_calls_show_values_of_their_domains() -> None:
    shown = [["set", REPLY, 1]], [["set", REPLY, 0]]
    body = [drawn(to=Z), ["if", [">=", Z, 1], *shown], EMPTY]
    each = [[[0], [0], 1], [[1], [1], 1]]
    refuses(Refuted, "likelier than a group says", coupled, small(body), followed=EXACTLY)
    assert coupled(small(body), each, each, followed=EXACTLY) == Budgets(Fraction(1))
    refuses(NotProved, "no bounds", coupled, small([drawn(), EMPTY]), followed=EXACTLY)
    with pytest.raises(NotProved, match="none of its values"):
        coupled(small([drawn("DLap"), EMPTY], [0, 1]), followed=EXACTLY)


def test_exactly_followed_calls_have_their_arguments() -> None:
    show = ["if", ["=", ["cell", "a"], 1], [["set", REPLY, 1]], [["set", REPLY, 0]]]
    data, ask = small([show, EMPTY])["calls"]
    machine = small([], calls=[data, {**ask, "arguments": [["a", [0, 1]]]}])
    pairs = [[[0], [1], [[[], 1]], [None] * 4], [[1], [0], [[[], 1]], [None] * 4]]
    assert coupled(machine, pairs=pairs, followed=EXACTLY) == Budgets(Fraction(1))


def test_what_is_held_is_neither_read_nor_assigned_exactly() -> None:
    held = {"held": ["n"], "changes": [[[], [None] * 4]], "pairs": [], "followed": EXACTLY}
    shown = [["set", REPLY, 1]]
    refuses(NotProved, "has no value", coupled, small([*shown, EMPTY]), **held)
    with pytest.raises(NotProved, match="holds nothing"):
        coupled(small([*shown, ["if", ["=", N, 0], [["exit"]], []]]), **held)


def test_loops_end_by_chance() -> None:
    """A coin is thrown until it shows 1: the call ends there, or says so behind the loop."""
    throw = ["choose", REPLY, [[0, "1/2"], [1, "1/2"]], False]
    first = ["set", REPLY, 0]
    until = [first, ["while", ["=", REPLY, 0], [throw]]]
    inside = [first, ["while", ["=", REPLY, 0], [throw, ["if", ["=", REPLY, 1], [["exit"]], []]]]]
    for body in (until, inside):
        assert coupled(small([EMPTY, *body]), followed=EXACTLY) == Budgets(Fraction(1))
    for ever in ([first, ["while", ["=", REPLY, 0], []]], [first, ["while", ["=", 0, 0], [throw]]]):
        refuses(NotProved, None, coupled, small([EMPTY, *ever]), followed=EXACTLY)


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


def test_services_are_read_strictly() -> None:
    machine = small([drawn(), EMPTY])
    assert coupled(machine) == Budgets(Fraction(1))
    data, ask = machine["calls"]
    for calls in ([], [ask, data], [data, ask, ask]):
        refuses(BadProof, "brings data", read_service, {**machine, "calls": calls})
    for fields in (
        {"calls": [data, {**ask, "seen": 1}]},
        {"calls": [data, {**ask, "arguments": [["n", [0, 1]]]}]},
        {"calls": [data, {**ask, "arguments": [["a", {"low": 0, "high": 1}]]}]},
        {"cells": [["n", 0], ["n", 1]]},
        {"cells": [["reply", 0]]},
        {"replies": [["reply", {"low": 0, "high": 1}]]},
        {"change": "any"},
    ):
        refuses(BadProof, None, coupled, {**machine, **fields})
    for fields in (
        {"held": ["other"]},
        {"held": [["n"]]},
        {"followed": ["given"]},
        {"followed": ["given", "any"]},
        {"changes": [[[1], [None] * 4]]},
        {"changes": [[[0], [None] * 4]] * 2},
        {"changes": [[[0], [None] * 4]]},
        {"budget": -1},
    ):
        refuses((BadProof, Refuted), None, coupled, machine, **fields)


# --- what calls show -----------------------------------------------------------------------------

ONE, NONE = Ratio.constant(Fraction(1)), Ratio.constant(Fraction(0))


def power(rate: Any) -> Ratio:
    return Ratio(Sum.exponential(Fraction(rate)))


def test_what_a_quotient_loses_at_an_eps_and_in_limits() -> None:
    """p / q is (1 + e^eps) / 2: 1/2 is lost near 0, 1 in the end, and less at every eps."""
    p, q = (ONE + power(-1)).scaled(Fraction(1, 2)), power(-1)
    below = (ONE + power(1)).inverse()
    half, more, five = Fraction(1, 2), Fraction(51, 100), Fraction(5)
    for one, other in ((p, q), (p * below, q * below)):
        assert loses(one, other, Fraction(1), None)
        assert not loses(one, other, Fraction(101, 100), None)
        assert loses(one, other, half, Fraction(0))
        assert not loses(one, other, more, Fraction(0))
        assert loses(one, other, Fraction(86, 100), five)
        assert not loses(one, other, Fraction(87, 100), five)
        for eps in (None, Fraction(0), five):
            assert not loses(one, other, None, eps)
    assert loses(p * below, q, Fraction(0), None)
    assert not loses(p * below, q, Fraction(1, 100), None)
    assert loses(p * below * below, q, Fraction(-1), None)
    assert not loses(p * below * below, q, Fraction(-1, 2), None)
    assert loses(q, q, Fraction(0), five)
    # (1 - eps)^2 is 0 at 1: nothing is seen there.
    gone = Ratio(Sum.of([((Fraction(0), n), Fraction(c)) for n, c in ((0, 1), (1, -2), (2, 1))]))
    assert not loses(gone, gone, Fraction(0), Fraction(1))
    assert loses(gone, gone, Fraction(0), five)
    linear, square = (ONE + Ratio(Sum.of([((Fraction(0), n), Fraction(1))])) for n in (1, 2))
    zero = Fraction(0)
    assert loses(linear, ONE, Fraction(1), zero)
    assert not loses(linear, ONE, Fraction(101, 100), zero)
    assert not loses(square, ONE, Fraction(1, 100), zero)
    assert not loses(linear, ONE, None, zero)
    assert not loses(NONE, q, Fraction(-9), None)


def test_no_budget_serves_where_the_quotient_stays_away_from_1() -> None:
    much, little, zero = (Ratio.constant(Fraction(k, 4)) for k in (3, 1, 0))
    assert loses(much, little, None, Fraction(0))
    assert loses(much, little, Fraction(9), Fraction(0))
    for p, q in ((little, much), (little, little)):
        assert not loses(p, q, None, Fraction(0))
    assert not loses(little, much, Fraction(0), Fraction(0))
    # Both vanish, or the second one does.
    rising = ONE + power(-1).scaled(Fraction(-1))
    assert loses(rising.scaled(Fraction(2)), rising, None, Fraction(0))
    assert not loses(rising, rising.scaled(Fraction(2)), None, Fraction(0))
    assert loses(little, rising, None, Fraction(0))
    assert not loses(rising, little, None, Fraction(0))
    assert loses(little, zero, None, Fraction(1))
    assert not loses(zero, zero, None, Fraction(1))
    for budget, eps in ((None, Fraction(0)), (None, None), (Fraction(1), Fraction(1))):
        assert not loses(little, zero, budget, eps)


def repeated(body: list[Any], change: str = "insert", **fields: Any) -> Any:
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
    machine = small(body, change=change)
    return replay(machine, {"verdict": "Not_DP", "budget": None}, [step])


def test_turns_are_likelier_whatever_the_second_run_is_in() -> None:
    none = Budgets(None, None, at_any=False, eps=ONE_EPS)
    often, seldom = (
        ["choose", REPLY, [[1, a], [0, b]], False] for a, b in (("3/4", "1/4"), ("1/4", "3/4"))
    )
    told = ["if", ["=", N, 1], [often], [seldom]]
    ask = [1, []]
    assert repeated([told]) == none
    fair = ["choose", REPLY, [[1, "1/2"], [0, "1/2"]], False]
    assert repeated([["if", ["=", N, 1], [often], [fair]]]) == none
    assert repeated([told], "replace", events=[[[0, [1]], [0, [0]], None]]) == none
    refuses(Refuted, "another way", repeated, [told], "replace")
    zeros: dict[str, Any] = {"turns": [[ask, ask, [0]]], "store": [0]}
    assert repeated([told], events=[[None, [0, [1]], None]], **zeros) == none
    for fields in ({"store": [0]}, {"store": [2]}, {"turns": [[ask, ask, [0]]]}, {"eps": -1}):
        refuses((Refuted, BadProof), None, repeated, [told], **fields)
    for turn in ([[0, [1]], None, None], [[0, [1]], [0, [0]], None], [[2, []], [2, []], None]):
        refuses((Refuted, BadProof), None, repeated, [told], turns=[turn])
    with pytest.raises(Refuted, match="that differ are repeated"):
        repeated([told], turns=[[[0, [1]], [0, [0]], None]])
    refuses(Refuted, "that no call has", repeated, [told], turns=[[[0, [5]], [0, [5]], None]])
    refuses(Refuted, "nobody sees", repeated, [told], turns=[[[0, [1]], [0, [1]], [1]]])
    refuses(Refuted, "as likely", repeated, [often])
    refuses(Refuted, "not back there", repeated, [told, EMPTY])
    # Where the second run goes it is as likely to show 1.
    onward = ["if", ["=", N, 0], [seldom, ["set", N, 2]], [["if", ["=", N, 1], [often], [often]]]]
    refuses(Refuted, "as likely", repeated, [onward])


def test_a_store_is_got_to_with_a_probability_above_0(monkeypatch) -> None:
    """At eps = 1 data are never kept."""
    rare = ["+", ["eps"], -1]
    keep = ["choose", N, [[1, ["*", rare, rare]], [0, 1]], True]
    told = ["if", ["=", N, 1], [["set", REPLY, 1]], [["set", REPLY, 0]]]
    data, ask = small([told])["calls"]
    kept = {**data, "body": [["if", ["=", ["cell", "d"], 1], [keep], [EMPTY]]]}
    machine = small([], calls=[kept, ask])
    step = {"rule": "repetition", "from": [], "store": [1], "eps": 2}
    step |= {"events": [[[0, [1]], None, None]], "turns": [[[1, []], [1, []], [1]]]}
    claim = {"verdict": "Not_DP", "budget": None}
    assert replay(machine, claim, [step]) == Budgets(None, None, at_any=False, eps=Fraction(2))
    refuses(Refuted, "does not get to its store", replay, machine, claim, [{**step, "eps": 1}])
    monkeypatch.setattr("dipapprox.kernel.errors.MOST_WORK", 20_000)
    coin = ["choose", REPLY, [[0, "1/2"], [1, "1/2"]], False]
    counts = ["if", ["=", N, 0], [["set", REPLY, 1]], [["set", N, ["+", N, 1]], coin]]
    start = {"events": [[None, [0, [1]], None]], "store": [0]}
    refuses(Refused, "more work", replay, small([counts]), claim, [{**step, **start}])


def test_steps_of_couplings_are_read_strictly() -> None:
    machine = small([drawn(), EMPTY])
    calls = [None, None, None]
    for pairs, said in (
        ([[[0], [1], [], calls], [[1], [0], [[[], 1]], calls]], "without points"),
        ([[[0], [1], [[[], 1], [[], 1]], calls]], "a point twice"),
        ([[[0], [1], [[[], -1]], calls]], "below 0"),
        ([[[0], [1], [[[], 1]], calls]] * 2, "a pair twice"),
    ):
        refuses(BadProof, said, coupled, machine, pairs=pairs)
    refuses(BadProof, "a store twice", coupled, machine, changes=[[[0], [None] * 4]] * 2)
    for cells in ([["n", "1/2"]], [["n", {"name": "none"}]]):
        refuses(Refuted, "no integer at first", coupled, {**machine, "cells": cells}, held=["n"])
    silent = small([["set", REPLY, 0], EMPTY])
    free = [[[0], [1], [[[], 0]], [None] * 3], [[1], [0], [[[], 0]], [None] * 3]]
    assert coupled(silent, pairs=free, budget=0) == Budgets(Fraction(0))
    named = small(
        [["if", ["=", N, 1], [drawn()], [drawn(), ["set", REPLY, {"name": "no"}]]], EMPTY]
    )
    refuses(Refuted, "holds no number", coupled, named)
