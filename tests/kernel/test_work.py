"""Few characters that ask for much: what a step costs is spent before it is done, and refused."""

from math import isqrt

import pytest

from dipapprox.kernel import errors, rounds
from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.machine import adjacent_pairs, read_machine
from dipapprox.kernel.replay import replay
from kernel.machines import RUN, Json, Proof, cell, finite, private
from kernel.streams import stream
from tests.cases import cases, refuses

X, S, OUT = (cell(name) for name in "xso")
DONE, OTHER = (["set", OUT, value] for value in (0, 1))
STATED = {"eps_prv": 1, "delta": "1/2"}
COINS = [[0, "1/2"], [1, "1/2"]]
NUMBER = {"low": 0, "high": 1}
REAL = ["u", NUMBER]


def draw(power: int = 0, mean: Json = 0, to: Json = X) -> Json:
    return ["draw", to, "Lap", mean, [1, power]]


def repeat(turns: int, *body: Json) -> Json:
    return ["repeat", turns, list(body)]


def coin(name: str = "k") -> Json:
    return ["choose", cell(name), COINS, False]


def weighed(weight: Json) -> list[Json]:
    return [["choose", OUT, [[0, weight], [1, 1]], True]]


def grown(times: int, weight: Json, *more: Json) -> Json:
    """A weight that is multiplied by another one, or itself, again and again."""
    for _ in range(times):
        weight = ["*", weight, *(more or [weight])]
    return weight


# --- what a machine does at one eps, enclosed and in closed form ----------------------------------

ELEMENT: Json = 1
for _ in range(190):
    ELEMENT = ["element", "a", 1, ELEMENT]

LONG: Json = ["eps"]
for _ in range(7):
    LONG = ["+", LONG, LONG]

SAMPLES = repeat(100, draw(to=["moving", "x", 1]))
ORDER = ["<", cell("x[1]"), cell("x[2]")]
LATER = ["if", ["<", ["moving", "x", 1], ["moving", "x", 2]], [], [DONE, ["exit"]]]
HUGE = {"eps": "1/" + "7" * 3000}
FAR = {"norm": "linf", "radius": 10_000}

FINITE: dict[str, Json] = {
    "squares again and again": finite([["set", X, 3], repeat(1000, ["set", X, ["*", X, X]])]),
    "doubles again and again": finite([["set", X, 3], repeat(10**6, ["set", X, ["+", X, X]])]),
    "sums of samples": finite(
        [["set", S, 0], repeat(10**6, draw(), ["set", S, ["+", S, X]]), DONE]
    ),
    "domains": finite([DONE], inputs=[[f"q{k}", {"from": 0, "to": 9999}] for k in range(150)]),
    "inputs": finite([DONE], inputs=[[f"q{k}", [0, 1]] for k in range(60)]),
    "values that are near": finite([DONE], inputs=[["q", {"from": 0, "to": 9999}]], adjacency=FAR),
    "coins": finite(
        [coin(f"c{k}") for k in range(60)]
        + [["set", OUT, ["*", 0, ["+", 1, 1]]]]
        + [["if", ["=", cell(f"c{k}"), 2], [DONE], []] for k in range(60)]
    ),
    "powers of a long eps": finite(weighed(grown(200, ["eps"], ["eps"]))),
    "scales of a long eps": finite([draw(8), ["if", ["<", X, 1], [DONE], [OTHER]]]),
    "sums to a high power": finite(weighed(grown(12, ["+", ["exp", ["eps"]], ["eps"]]))),
    "indices of indices": finite([["set", cell("a[1]"), 1], repeat(90, ["set", X, ELEMENT]), DONE]),
    "conditions of nothing": finite([repeat(90, ["if", ["and", *[["and"]] * 300], [], []]), DONE]),
    "cells that hold nothing": finite(
        [repeat(900, ["forget", [f"x{k}" for k in range(500)]]), DONE]
    ),
    "long weights": finite([repeat(200, ["choose", X, [[0, LONG]], True]), DONE]),
    "stores of fractions": finite(
        [["set", cell(f"q{k}"), f"1/{10**30 + k}"] for k in range(300)]
        + [coin(), repeat(20, ["if", ["=", cell("k"), 0], [], []]), DONE]
    ),
    "one comparison of many samples": finite(
        [SAMPLES, ["if", ORDER, [], [DONE, ["exit"]]], repeat(180, ["if", ORDER, [], []])]
    ),
    "a chain of samples": finite(
        [draw(to=cell("x[1]")), repeat(20, draw(to=["moving", "x", 2]), LATER), DONE]
    ),
    "a long index": finite([["set", ["element", "a", 3, ["*", 10**1200, 10**1200]], 0]]),
    "a wide law of integers": finite(
        [["draw", X, "DLap", 0, [10**3000, 0]], ["if", ["<", X, 0], [DONE], [DONE]]]
    ),
    "a wide discrete Gaussian": finite(
        [["draw", X, "DGauss", 0, [10**6, 0]], ["if", ["<", X, 0], [DONE], [OTHER]]]
    ),
}


@pytest.mark.parametrize("bits", [30, None])
@pytest.mark.parametrize("name", FINITE)
def test_what_a_machine_may_ask_for_is_refused(name, bits, monkeypatch) -> None:
    if (name, bits) == ("a wide law of integers", None):
        return  # closed forms do not care how wide a law is
    long = HUGE if name.endswith("of a long eps") else {}
    machine, claim, (run, step) = private(FINITE[name], RUN | long)
    # A thousandth, so that the test is quick; what is refused grows with the work.
    monkeypatch.setattr(errors, "MOST_WORK", 50_000)
    refuses(NotProved, None, replay, machine, claim, [{**run, "bits": bits}, step])


def between(family: str) -> Proof:
    """At 200 bits polynomials have 74 terms, each of which depends on all before."""
    draws = [["draw", cell(name), family, 0, [1, 0]] for name in "xy"]
    body = [*draws, ["if", ["<", X, cell("y")], [DONE], [OTHER]]]
    return private(finite(body), RUN | {"bits": 200})


# --- inputs and outputs that are real, and budgets ------------------------------------------------

NODE: Json = {"values": [], "held": [], "facts": [], "allowances": [[1, []]], "cases": []}


def budgeted(*body: Json, node: Json = NODE, **published: Json) -> Proof:
    """A proof that a budget serves."""
    machine = stream(list(body), None, inputs=[])
    machine["published"] |= {"whenever": [], **published}
    claim = {"verdict": "DP", "budget": 1, "at least": None}
    return machine, claim, [{"rule": "potential", "from": [], "nodes": [node], "quiet": []}]


def of_reals(*body: Json, rule: str = "every real pair", **fields: Json) -> Proof:
    """A proof of privacy in one step."""
    machine, claim, _ = private(finite([DONE, *body], **fields))
    return machine, claim, [{"rule": rule, "from": [], "eps": 1, "bits": 10, **STATED}]


def chosen(count: int, radius: int) -> Proof:
    """Pairs of which as many inputs differ, at most."""
    inputs = [[f"u{k}", NUMBER] for k in range(count)]
    return of_reals(inputs=inputs, adjacency={"norm": "l0", "radius": radius})


def publishing(count: int, *body: Json) -> Proof:
    """Privacy of one who publishes many numbers."""
    numbers = {"inputs": [["q", [0, 1]]], "reals": [f"y[{k + 1}]" for k in range(count)]}
    drawn = repeat(count, draw(to=["moving", "y", 1]))
    return of_reals(*body, drawn, rule="every published pair", **numbers)


NO_TURNS = repeat(10**6)
SUM = [["set", S, 0], repeat(300, draw(), ["set", S, ["+", S, X]])]
SIDES = ["if", ["<", X, 0], [], []]
CHAIN = ["if", ["<", ["moving", "a", 1], ["moving", "a", 2]], [], [["exit"]]]
MANY: dict[str, Proof] = {
    "turns of nothing, of paths": budgeted(NO_TURNS),
    "turns of nothing, of states": private(finite([DONE, NO_TURNS])),
    "turns of nothing, of pairs of runs": of_reals(NO_TURNS),
    "paths of one condition": budgeted(draw(-1), ["if", ["or", *[["=", X, 0]] * 14], [], []]),
    "atoms": budgeted(repeat(30_000, draw(-1))),
    "publications": budgeted(repeat(30_000, ["set", X, 1]), whenever=["x"]),
    "long publications": budgeted(*[draw(-1), SIDES] * 7, first=["x"] * 5000),
    "long stores of paths": budgeted(
        repeat(1000, ["set", ["moving", "a", 1], 0]), draw(-1), *[SIDES] * 6
    ),
    "differences of samples": budgeted(
        repeat(160, draw(-1, to=["moving", "a", 1])),
        repeat(159, CHAIN),
        node={**NODE, "cases": [None] * 160},
    ),
    "comparisons of sums": private(finite([DONE, *SUM, repeat(3000, ["if", ["<", S, S], [], []])])),
    "states with sums": private(finite([DONE, *SUM, coin(), repeat(200_000, ["forget", ["d"]])])),
    "numbers that are published": publishing(
        120, repeat(4, ["choose", ["moving", "c", 1], COINS, False])
    ),
    "ways to choose inputs": chosen(40, 20),
    "pairs of values": of_reals(inputs=[REAL, ["a", {"from": 1, "to": 150}]]),
}


# --- compositions, services, formulas: work that takes seconds with a few digits more -------------


def losses(knots: Json, mechanism: Json, **more: Json) -> Proof:
    run = {"what": mechanism, "subsample": None, "times": 1}
    step = {"rule": "losses", "from": [], "of": {"run": 0}, "sample": None}
    step |= {"orders": [], "above": True, "input": None, "adjacent": None}
    step |= {"step": "1/1000", "offset": 0, "places": 2000, "knots": knots, **more}
    return {"adjacency": "add/remove", "runs": [run]}, {"verdict": "DP", **STATED}, [step]


def parted(turns: int) -> Proof:
    """A long statement, many times."""
    long: Json = 1
    for _ in range(250):
        long = ["+", long, 1]
    body = [repeat(turns, ["set", ["moving", "t", 1], long]), DONE]
    numbers = {"eps": 1, "eps_prv": 1, "delta": 0}
    step = {"rule": "private composition", "from": [], "parts": [[0, 1], [1, 2]], **numbers}
    return finite(body, inputs=[["q", [0, 1]]]), {"verdict": "DP", "pairs": None, **numbers}, [step]


def of_machine(inputs: Json, known: Json) -> Proof:
    """Losses of a machine that does nothing, any two of its inputs adjacent."""
    what = {"machine": finite([DONE], inputs=inputs, outputs=[["o", [0]]]), "eps": 1}
    given, claim, [step] = losses([[0, 1, 1]], what, step=1, places=10)
    run = {**RUN, "of": {"run": 0}, "bits": 10, "inputs": known}
    return given, claim, [run, {**step, "from": [0]}]


def listed(count: int) -> Proof:
    """Runs that are chosen among one pair, told again and again."""
    given, claim, steps = of_machine([["q", {"from": 0, "to": 19}]], None)
    new = {"rule": "adaptive", "pairs": [[[0], [1]]] * count, "margin": 0, "times": 1, "reach": 1}
    old = {k: v for k, v in steps[1].items() if k not in ("orders", "input", "adjacent")}
    return given, claim, [steps[0], old | new]


def near_zero(digits: int) -> Proof:
    """A formula that touches 0 at the square root of 2, between two long numbers next to it."""
    below = 10**digits + 1
    above = isqrt(2 * below**2)
    eps = {"from": f"{above}/{below}", "to": f"{above + 1}/{below}"}
    apart = ["+", ["*", ["eps"], ["eps"]], -2]
    run = {**RUN, "eps": eps, "bits": None}
    return private(finite([DONE], inputs=[["q", [0, 1]]]), run, ["eps"], ["*", apart, apart])


def replaced(values: int, body: Json, cases: int) -> Proof:
    """A call with one of so many arguments in one run, and another one in the other."""
    call = {"name": "data", "arguments": [["d", {"from": 1, "to": values}]], "seen": False}
    calls = [{**call, "body": body}]
    service = {"cells": [], "replies": [], "calls": calls, "change": "replace"}
    step = {"rule": "couplings", "from": [], "eps": None, "budget": 0, "held": []}
    steps = [{**step, "followed": ["given"], "changes": [[[], [None] * cases]], "pairs": []}]
    return service, {"verdict": "DP", "budget": 0, "at least": None}, steps


def above(count: int) -> Proof:
    """Losses above a part, read again and again."""
    given, claim, [run, step] = of_machine([["q", [0, 1]]], None)
    part = {"of": {"run": 0, "part": [0, 1], "pairs": None}}
    grid = {"step": 1, "offset": 0, "places": 1, "knots": [[0, 300, 1]]}
    whole = {"rule": "losses above parts", "from": [0] + [1] * count, "of": {"run": 0}, **grid}
    steps = [{**run, **part}, {**step, **part}, {**whole, "parts": [[0, 1]], "eps": 1}]
    return given, claim, steps


def coins(count: int, pairs: int) -> Proof:
    """Losses below a pair, told again and again, of a machine with many outputs."""
    given, claim, [run, step] = listed(pairs)
    machine = given["runs"][0]["what"]["machine"]
    machine["outputs"] = [["o", {"from": 0, "to": 2**count - 1}]]
    machine["body"] = [["set", X, 0]]
    for k in range(count):
        toss = ["choose", cell("coin"), [[0, "1/2"], [2**k, "1/2"]], False]
        machine["body"] += [toss, ["set", X, ["+", X, cell("coin")]]]
    machine["body"] += [["set", OUT, X]]
    return given, claim, [{**run, "inputs": [[0], [1]]}, {**step, "above": False}]


def copied(cells: int, moves: int, radius: int) -> Proof:
    """One sample that many cells hold, moved again and again at every change of an input."""
    held = [f"h{k}" for k in range(cells)]
    body = [["set", S, cell("next q")], ["draw", X, "DLap", 0, [1, -1]], ["set", S, 0]]
    body += [["set", cell(name), X] for name in held] + [["set", X, 0]]
    norm = {"norm": "linf", "radius": radius}
    machine = stream(body, [["set", S, 0]], whole=True, adjacency=norm)
    node = {"values": [], "held": [], "facts": [], "allowances": [[1, []]], "cases": []}
    arrive = {"to": 1, "moves": [[0, [0]]] * moves}
    stay = {"to": 1, "moves": [[k, []] for k in range(moves)]}
    start = {**node, "cases": [{"input": 0, "cases": [arrive] * (2 * radius + 1)}]}
    after = {**node, "held": held, "allowances": [[0, [0] * cells]] * moves, "cases": [stay]}
    step = {"rule": "potential", "from": [], "nodes": [start, after], "quiet": []}
    return machine, {"verdict": "DP", "budget": 1, "at least": None}, [step]


NOISE = {"mechanism": "DGauss", "sensitivity": 1, "variance": 9_000_000}
DIGITS = f"{10**1990 + 1}/{10**1989 + 7}"
FINE = {"mechanism": "Lap", "sensitivity": DIGITS, "scale": DIGITS}
PAIR = {"mechanism": "approx_dp", "eps": 1, "delta": 0}
TOLD = [number for k in range(8, 1500) for number in (k, f"{2 * k + 1}/2", 1)]
SPARSE = losses([[0, 0, 1], [500, 500, 1]], PAIR)
TWICE = {"rule": "composed", "from": [0, 0], "cut": [0, 0]}

COSTLY: dict[str, Proof] = {
    "sums of a discrete Gaussian": losses([[0, 2, 1]], NOISE, places=200),
    "noise of long numbers": losses([[0, 500, 1]], FINE, places=60),
    "bounds, at many bits": losses([[0, 5, 1]], {"mechanism": "zcdp", "rho": 1}, orders=TOLD),
    "knots, at many bits": losses([[0, 1000, 1]], PAIR),
    "products of long masses": (*SPARSE[:2], [*SPARSE[2], TWICE]),
    "a statement for every turn": parted(100),
    "where intervals are cut": near_zero(150),
    "how far samples are moved": replaced(8, [repeat(300, draw(-1))], 64),
    "arguments of two runs": replaced(1000, [], 1),
    "pairs of which nothing is known": of_machine([[f"q{k}", [0, 1]] for k in range(7)], [[0] * 7]),
    "a pair that is listed often": listed(1000),
    "losses that are read often": above(400),
    "a pair with many outputs": coins(7, 150),
    "cells that hold one sample": copied(400, 10, 20),
}

DEAR: dict[str, tuple[int, Proof]] = {
    **{name: (200_000, proof) for name, proof in MANY.items()},
    **{name: (300_000, proof) for name, proof in COSTLY.items()},
    **{family: (40_000, between(family)) for family in ("Gauss", "Logistic", "Gumbel")},
}
"""With how much work each is refused."""


@pytest.mark.parametrize("name", DEAR)
def test_what_is_costly_is_refused(name, monkeypatch) -> None:
    work, proof = DEAR[name]
    monkeypatch.setattr(errors, "MOST_WORK", work)
    refuses(Refused, "more work", replay, *proof)


class Ended(Exception):
    """What is raised by who is asked."""


@pytest.mark.parametrize("name", COSTLY)
def test_who_asks_may_end_what_is_costly(name) -> None:
    asked = [0]

    def ask() -> None:
        asked[0] += 1
        if asked[0] == 2:
            raise Ended

    with pytest.raises(Ended), errors.asking(ask):
        replay(*COSTLY[name])


@pytest.mark.parametrize("between", [1, 10_000])
def test_somebody_is_asked_as_work_is_spent(between, monkeypatch) -> None:
    """In a step, about as often as it is meant; what he raises ends the block."""
    asked = [0]

    def ask() -> None:
        asked[0] += 1
        if asked[0] == 5:
            raise Ended

    monkeypatch.setattr(errors, "MOST_UNASKED", between)
    spent = 0
    with pytest.raises(Ended), errors.asking(ask), errors.budget():
        while True:
            spent += 1
            errors.spend(1)
    assert spent == 1 + 4 * (between + 1)
    errors.spend(10**12)
    with errors.budget():
        errors.spend(errors.MOST_WORK)
        refuses(Refused, None, errors.spend, 1)


# --- what is counted before it is made, and what is not gone through ------------------------------


def test_constants_of_sums_are_not_longer_than_other_numbers() -> None:
    """Each of them may be added, but not all: their sum is longer than any number may be."""
    primes = [p for p in range(2, 60) if all(p % k for k in range(2, p))]
    sums = [["set", X, ["+", X, f"1/{p ** (2000 // p.bit_length())}"]] for p in primes]
    refuses(Refused, "too long", replay, *private(finite([draw(), *sums, DONE])))


def test_values_of_finite_inputs_are_counted_before_they_are_made() -> None:
    inputs = [REAL, ["a", {"from": 1, "to": 10_000}], ["b", {"from": 1, "to": 15_000}]]
    refuses(Refused, "finite inputs", replay, *of_reals(inputs=inputs))


def test_what_is_not_seen_is_not_padded() -> None:
    refuses(BadProof, "not seen", replay, *budgeted(draw(-1), ends=False, padding=[1]))


def test_pairs_are_found_from_inputs_that_are_near(monkeypatch) -> None:
    """They cost no time where few are near, and are not gone through where none is."""
    machine = finite([DONE], inputs=[["q", {"from": 1, "to": 300}]])
    near = read_machine({**machine, "adjacency": {"norm": "linf", "radius": 1}})
    with errors.budget():
        assert sum(1 for _ in adjacent_pairs(near.adjacency, near.domains)) == 2 * 299
    monkeypatch.setattr(errors, "MOST_WORK", 50_000)
    inputs = [[f"q{k}", [0, 1]] for k in range(60)]
    alone = finite([DONE], inputs=inputs, adjacency={"norm": "linf", "radius": 0})
    refuses(Refuted, "no distribution", replay, *private(alone, RUN | {"inputs": []}))


def test_formulas_are_not_looked_up_for_every_pair(monkeypatch) -> None:
    """Formulas have up to thousands of terms, and pairs are millions."""
    options = [[o, ["exp", ["*", f"{o}/7", ["eps"]]]] for o in range(1, 7)]
    domains = {"inputs": [["q", {"from": 1, "to": 30}]], "outputs": [["o", {"from": 1, "to": 6}]]}
    machine = finite([["choose", OUT, options, True]], **domains)
    counts, before = [0], Ratio.__hash__

    def counted(self: Ratio) -> int:
        counts[0] += 1
        return before(self)

    monkeypatch.setattr(Ratio, "__hash__", counted)
    everywhere = {**RUN, "eps": {"from": 0, "to": None}, "bits": None}
    assert replay(*private(machine, everywhere, ["eps"], 0))
    assert counts[0] < 30 * 29 * 6


def test_many_steps_do_not_keep_what_a_machine_does(monkeypatch) -> None:
    """The first few share it; of a proof of many steps each walks alone."""
    machine = stream([], [["set", cell("out"), 1]])
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]]}
    made, of = list[object](), rounds.Follower.__init__
    monkeypatch.setattr(
        rounds.Follower, "__init__", lambda self, given: made.append(given) or of(self, given)
    )
    same = {**node, "cases": [{"to": 1, "moves": [[0, []]]}]}
    step = {"rule": "potential", "from": [], "nodes": [same, same]}
    claim = {"verdict": "DP", "budget": 0, "at least": None}
    replay(machine, claim, [{**step, "quiet": []}] * 20)
    assert 10 < len(made) <= 20


YES, NO = ([["set", ["cell", "o"], value]] for value in (1, 0))
LAST = ["=", ["cell", "b"], 2]


@cases(
    "machine",
    # What pairs are listed is no norm, of which prices are taken cell by cell.
    finite(
        [["set", ["cell", "o"], ["cell", "a"]]],
        inputs=[["a", [0, 1]]],
        adjacency={"pairs": [[[0], [1]]], "one way": False},
    ),
    # It depends on the last value of the last cell alone, and there on the first cell.
    *(
        finite([["if", condition, YES, NO]], inputs=[["a", [0, 1]], ["b", [0, 1, 2]]])
        for condition in (LAST, ["and", LAST, ["=", ["cell", "a"], 1]])
    ),
)
def test_all_pairs_together_are_those_one_by_one(machine) -> None:
    refuses(Refuted, "delta is not known", replay, *private(machine, eps_prv=0, delta=0))
