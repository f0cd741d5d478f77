"""Proofs of budgets that hold, and with one thing wrong: refused for that, and nothing else."""

from fractions import Fraction
from typing import Any

from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from kernel.streams import draw, once, read, say, stream
from tests.cases import check_answers
from tests.kernel.machines import judged
from tests.kernel.test_potentials import alone

Json = Any


def node(
    cases: list[Json],
    allowances: list[Json],
    values: tuple[Json, ...] = (),
    held: tuple[str, ...] = (),
    facts: tuple[Json, ...] = (),
) -> Json:
    return {
        "values": list(values),
        "held": list(held),
        "facts": list(facts),
        "allowances": allowances,
        "cases": cases,
    }


def to(place: int | None, *moves: Json) -> Json:
    return {"to": place, "moves": list(moves)}


def proves(machine: Json, nodes: list[Json]) -> Fraction:
    """The budget that a potential proves of a machine; it is the only step."""
    step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": []}
    budget = nodes[0]["allowances"][0][0] if nodes else 1
    judged = replay(machine, {"verdict": "DP", "budget": budget, "at least": None}, [step])
    assert judged == Budgets(Fraction(budget))
    return Fraction(budget)


SPARSE = stream(
    [draw("t", 0, 2), ["set", ["cell", "count"], 0]],
    [
        read("q"),
        draw("x", ["cell", "q"], 4),
        [
            "if",
            [">=", ["cell", "x"], ["cell", "t"]],
            [
                say(1),
                ["set", ["cell", "count"], ["+", ["cell", "count"], 1]],
                ["if", ["=", ["cell", "count"], 1], [["exit"]], []],
            ],
            [say(0)],
        ],
    ],
)
"""A sparse vector that ends with its first answer: threshold of scale 2, answers of scale 4."""

START = node([to(1, [0, [1]])], [[1, []]])
BELOW = {"input": 1, "cases": [to(1, [0, [-1]]), to(1, [0, [1]])]}
ABOVE = to(None, [0, [1]])
GOES_ON = node([BELOW, ABOVE], [["1/2", [1]]], (["count", 0],), ("t",))
NODES = [START, GOES_ON]


def edited(**changed: Json) -> list[Json]:
    return [START, {**GOES_ON, **changed}]


def halved(shift: Json, size: int) -> Fraction:
    """The threshold is half a sample of this scale, which is shifted so."""
    half = ["set", ["cell", "t"], ["*", "1/2", ["cell", "u"]]]
    machine = {**SPARSE, "body": [draw("u", 0, size), half, SPARSE["body"][1]]}
    return proves(machine, [{**START, "cases": [to(1, [0, [shift]])]}, GOES_ON])


TWICE = [["count", 0], ["count", 0]]
ROUND_AGAIN = {"input": 1, "cases": [to(0), to(0)]}

ABOVE_ZERO = [">", ["cell", "t"], 0]
IS_ABOVE: Json = [[0, [[0, 1]]], True]
"""The threshold is known to be at least so much, at each turn."""
ENDS: list[Json] = [[], [["exit"]]]
SAYS: list[Json] = [[say(1), say(0)], [say(0), say(0)]]
ON, STAYS_OR_ENDS = to(1, [0, []]), [to(1, [0, [0]]), to(None, [0, [0]])]


def kept(
    start: list[Json], paths: list[Json], facts: tuple[Json, ...], first: list[Json]
) -> Fraction:
    """What is drawn stays as it is: a node at the start, and one with these facts."""
    machine = stream(
        [draw("t", 0), ["if", ABOVE_ZERO, *start]], [["if", ABOVE_ZERO, [say(0)], [say(1)]]]
    )
    nodes = [node(first, [[0, []]]), node(paths, [[0, [0]]], (), ("t",), facts)]
    return proves(machine, nodes)


POSITIVE = [">", ["cell", "x"], 0]
ENDLESS = stream([], [read("q"), draw("x", ["cell", "q"]), ["if", POSITIVE, [say(1)], [say(0)]]])
"""A node without an allowance that leads to itself: no budget would serve, and 0 seems to."""

FAR = [[name, {"low": None, "high": None}] for name in "ab"]
CLOSE = [[name, {"low": 0, "high": 1}] for name in "ab"]
LINF, L1 = {"norm": "linf", "radius": 1}, {"norm": "l1", "radius": 1}
ONCE = node([to(None, [0, [1]]), to(None, [0, [-1]])], [[2, []]])
ALONE = [to(None, [0, [0, 0]]), {"input": 1, "cases": [to(None, [0, [0, 0]])] * 2}]
EITHER = [node([ALONE] * 3, [[1, []]])]
"""Noise that stays where it is pays for one change, and for no two; halves of an l1 radius are all
that one of them may change: both may at once."""


def moved(by: int) -> Json:
    return to(None, [0, [by]])


WHOLE = once(LINF, "a", whole=True)
WHOLE["body"][0][2] = "DLap"
RISES = {"input": 0, "cases": [moved(0), moved(0), moved(1)]}
FALLS = {"input": 0, "cases": [moved(-1), moved(0), moved(0)]}


def published(by: Json) -> Fraction:
    """A machine publishes its sample, and a proof shifts it."""
    machine = stream([draw("x", ["cell", "next q"]), say(["cell", "x"])], None)
    return proves(machine, [node([to(None, [0, [by]])], [[1, []]])])


# --- one sample around an input, compared with 0 --------------------------------------------------


def shifted(machine: Json, budget: int, *shifts: Json) -> Fraction:
    """Replay: the sample is shifted so, where it is above 0 and where it is not."""
    return proves(machine, [node([to(None, [0, [shift]]) for shift in shifts], [[budget, []]])])


def shared(machine: Json, case: Json, *others: Json) -> Fraction:
    """Replay: what is done where the sample is above 0, and what where it is not."""
    return proves(machine, [node([case, *others], [[1, []]])])


MOVED = [0, [[0, 1]]]
"""As much as the input: what moves with its mean costs nothing, but does not stay on its side."""
STILL, UP = to(None, [0, [0]]), to(None, [0, [[0, [[0, 1]]]]])


def still(family: str) -> Json:
    machine = alone(family, False)
    machine["body"][1] = ["set", ["cell", "out"], 0]
    return machine


def otherwise(*block: Json) -> Json:
    """This is done where the sample is not above 0."""
    machine = alone("Lap", False)
    machine["body"][1][3] = [*block]
    return machine


def near(low: Json = None, high: Json = None, **adjacency: Json) -> Json:
    machine = alone("Lap", False)
    machine["inputs"][0][1] = {"low": low, "high": high}
    return machine | ({"adjacency": adjacency} if adjacency else {})


ANY, ONE_OF_ALL = {"norm": "all"}, {"norm": "l0", "radius": 1}
X, Q = ["cell", "x"], ["cell", "q"]


def far(*block: Json, family: str = "Lap") -> Json:
    """An input without ends may change by any amount: noise around it, and what is done with it."""
    return {**near(**ANY), "body": [draw("x", Q, 1, family), *block]}


def one_of_two(*block: Json, **ends: Json) -> Json:
    """One of two inputs changes: the first one between ends, and the second by any amount."""
    machine = once(ONE_OF_ALL, "a", "b")
    machine["inputs"][0][1] = {"low": None, "high": None, **ends}
    return {**machine, "body": [draw("x", ["cell", "a"]), draw("y", ["cell", "b"]), *block]}


def either(machine: Json, budget: int, *cases: Json) -> Fraction:
    """Replay: one input changes at a time; the only path has these cases."""
    return proves(machine, [node([list(cases)], [[budget, []]])])


COIN = ["choose", ["cell", "c"], [[0, "1/3"], [1, "2/3"]], False]


def tossed(chances: Json, cases: list[Json], budget: int = 0) -> Fraction:
    """Replay: a coin is told, and a sample around an input is not."""
    coin = ["choose", ["cell", "c"], [[k, chance] for k, chance in enumerate(chances)], False]
    machine = {**alone("Lap", False), "body": [coin, draw("x", Q), say(["cell", "c"])]}
    return proves(machine, [node(cases, [[budget, []]])])


def hidden(cases: list[Json], budget: int) -> Fraction:
    """Replay: a coin that nobody sees says whether it is told on which side of 0 a sample is."""
    told = ["if", [">", X, 0], [say(1)], [say(0)]]
    coin = ["if", ["=", ["cell", "c"], 0], [["forget", ["c"]], told], [["forget", ["c"]], say(1)]]
    machine = {**alone("Lap", False), "body": [COIN, draw("x", Q), coin]}
    return proves(machine, [node(cases, [[budget, []]])])


LARGER = [["if", ["<", ["cell", "s"], ["cell", "t"]], [], [["set", ["cell", "t"], ["cell", "s"]]]]]
SHOWN = [["if", ["<", ["cell", "s"], ["cell", "t"]], [say(1)], [say(0)]]]
JOINED = to(1, [0, [0]])


def running(
    *turn: Json, paths: Json = (JOINED,), shifts: Json = (None,), facts: Json = (), **quiet: Json
) -> Fraction:
    """Replay at the budget 1: a sample is drawn, and more in every turn, of which some may stay."""
    turn = (["if", ["=", ["cell", "n"], 0], [draw("s", 0), *turn], [say(["cell", "t"])]],)
    machine = stream([draw("t", 0), ["set", ["cell", "n"], 0]], [*turn, ["forget", ["s"]]])
    start = node([to(1, *[[0, [0]]] * (len(shifts) + len(quiet)))], [[1, []]])
    goes_on = node([*paths], [[1, [s]] for s in shifts], (["n", 0],), ("t",), facts)
    told = node([to(2, [0, []])], [[1, [0]]], (["n", 1],), ("t",))
    step = {"rule": "potential", "from": [], "nodes": [start, goes_on, told], "quiet": []} | quiet
    found = replay(machine, {"verdict": "DP", "budget": 1, "at least": None}, [step])
    assert isinstance(found, Budgets) and found.budget is not None
    return found.budget


def around(value: Json) -> Fraction:
    """Integers are drawn around what one of them leaves, round after round."""
    body = [draw("t", 0, 1, "DLap"), ["set", ["cell", "h"], value]]
    machine = stream(body, [draw("x", ["cell", "h"], 1, "DLap"), say(0)], whole=True)
    goes_on = node([to(1, [0, [0]])], [[0, [0]]], (), ("h",))
    return proves(machine, [node([to(1, [0, [0]])], [[0, []]]), goes_on])


def test_what_is_wrong_is_refused_for_that_alone() -> None:
    check_answers("kernel_budgets", judged(globals()))
