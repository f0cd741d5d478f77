"""Proofs of budgets with one thing wrong: each is refused for that, and for nothing else."""

import copy
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from kernel.streams import draw, once, read, say, stream
from tests.cases import refuses
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


def proves(machine: Json, nodes: list[Json], quiet: tuple[Json, ...] = ()) -> Budgets:
    """What a potential says of a machine; it is the only step."""
    step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": list(quiet)}
    budget = nodes[0]["allowances"][0][0]
    judged = replay(machine, {"verdict": "DP", "budget": budget, "at least": None}, [step])
    assert isinstance(judged, Budgets)
    return judged


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


def test_the_proof_that_is_changed_holds() -> None:
    assert proves(SPARSE, NODES) == Budgets(1)


TWICE = [["count", 0], ["count", 0]]
ROUND_AGAIN = {"input": 1, "cases": [to(0), to(0)]}

REFUSED: dict[str, tuple[list[Json], str]] = {
    "a value twice": (edited(values=TWICE), "a cell twice"),
    "a cell held twice": (edited(held=["t", "t"], allowances=[["1/2", [1, 1]]]), "a cell twice"),
    "a cell that is known and held": (
        edited(held=["t", "count"], allowances=[["1/2", [1, 0]]]),
        "a cell twice",
    ),
    "a potential below 0": (
        edited(allowances=[["1/2", [1]], ["-1/2", [1]]]),
        "an allowance below 0",
    ),
    "a start that knows something": ([{**START, "values": TWICE[:1]}, GOES_ON], "the start"),
    "a start that holds something": ([{**START, "held": ["t"]}, GOES_ON], "shifts"),
    "a start with two allowances": (
        [{**START, "allowances": [[1, []], [1, []]]}, GOES_ON],
        "the start",
    ),
    "no nodes": ([], "the start"),
    "a path too few": (edited(cases=[BELOW]), "2 paths"),
    "a path too many": (edited(cases=[BELOW, ABOVE, ABOVE]), "2 paths"),
    "an end before the end": (edited(cases=[to(None, [0, [1]]), ABOVE]), "ends before"),
    "no end at the end": (edited(cases=[BELOW, to(1, [0, [1]])]), "goes on after its end"),
    "back to the start": (edited(cases=[ROUND_AGAIN, ABOVE]), "no such node"),
    "a node that is not there": (
        edited(cases=[{**BELOW, "cases": [to(2, [0, [-1]]), to(2, [0, [1]])]}, ABOVE]),
        "no such node",
    ),
    "another value": (edited(values=[["count", 1]]), "hold something else"),
    "a cell without a value": (edited(values=[["counted", 0]]), "hold something else"),
    "a cell that holds no number": (
        edited(held=["t", "x"], allowances=[["1/2", [1, 0]]]),
        "no number",
    ),
    "no move": (edited(cases=[to(1), ABOVE]), "a move for every allowance"),
    "a move too many": (
        edited(cases=[BELOW, to(None, [0, [1]], [0, [1]])]),
        "a move for every allowance",
    ),
    "an allowance that is not there": (edited(cases=[BELOW, to(None, [1, [1]])]), "no such allow"),
    "an allowance from the end": (edited(cases=[BELOW, to(None, [-1, [1]])]), "no such allow"),
    "a shift too many": (edited(cases=[BELOW, to(None, [0, [1, 0]])]), "more shifts than samples"),
    "a shift by a sample": (
        edited(cases=[BELOW, to(None, [0, [[1, [[0, 1]]]]])]),
        "shifts depend on inputs",
    ),
    "a shift by itself": (edited(cases=[BELOW, to(None, [0, [[1, [[2, 1]]]]])]), "not there"),
    "an input that is a cell": (edited(cases=[{**BELOW, "input": 0}, ABOVE]), "not read"),
    "an input that is a sample": (edited(cases=[{**BELOW, "input": 2}, ABOVE]), "not read"),
    "an input behind the last": (edited(cases=[{**BELOW, "input": 3}, ABOVE]), "not read"),
    "an input before the first": (edited(cases=[{**BELOW, "input": -1}, ABOVE]), "not read"),
    "an input that is parted twice": (
        edited(cases=[{"input": 1, "cases": [BELOW, BELOW]}, ABOVE]),
        "or twice",
    ),
    "a third change": (edited(cases=[{**BELOW, "cases": [*BELOW["cases"]] * 2}, ABOVE]), "cases"),
    "several inputs": (edited(cases=[[BELOW], ABOVE]), "several inputs may change"),
    "a shift that does not meet a guard": (
        edited(cases=[{**BELOW, "cases": [to(1, [0, [-1]]), to(1, [0, [3]])]}, ABOVE]),
        "a guard does not hold",
    ),
    "too little": ([{**START, "allowances": [["99/100", []]]}, GOES_ON], "1/100 is missing"),
    "too little later": (edited(allowances=[["49/100", [1]]]), "1/100 is missing"),
    "another shift at the node": (
        [node([to(1, [0, ["1/2"]])], [[1, []]]), GOES_ON],
        "'t' is shifted otherwise",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused(name) -> None:
    nodes, words = REFUSED[name]
    whole = nodes or [{**START, "allowances": [[1, []]]}]
    step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": []}
    claim = {"verdict": "DP", "budget": whole[0]["allowances"][0][0], "at least": None}
    refuses(NotProved, words, replay, SPARSE, claim, [step])


def test_facts_have_to_follow() -> None:
    """The threshold is known to be at least so much at each turn, or not."""
    for bound in (0, 10**9):
        goes_on = {**GOES_ON, "facts": [[[bound, [[0, 1]]], False]]}
        refuses(Refuted, "a fact does not follow", proves, SPARSE, [NODES[0], goes_on])


ABOVE_ZERO = [">", ["cell", "t"], 0]
IS_ABOVE: Json = [[0, [[0, 1]]], True]


def kept(start: list[Json], paths: list[Json], facts: tuple[Json, ...], first: list[Json]) -> Json:
    """What is drawn stays as it is: a node at the start, and one with these facts."""
    machine = stream(
        [draw("t", 0), ["if", ABOVE_ZERO, *start]], [["if", ABOVE_ZERO, [say(0)], [say(1)]]]
    )
    nodes = [node(first, [[0, []]]), node(paths, [[0, [0]]], (), ("t",), facts)]
    return proves(machine, nodes)


def test_a_fact_makes_paths_impossible() -> None:
    ends: list[Json] = [[], [["exit"]]]
    on, first = to(1, [0, []]), [to(1, [0, [0]]), to(None, [0, [0]])]
    assert kept(ends, [on, None], (IS_ABOVE,), first) == Budgets(0)
    refuses(Refuted, "a path is possible", kept, ends, [on, None], (), first)
    with pytest.raises(Refuted, match="a fact does not follow"):
        kept(ends, [on, on], ([[-1, [[0, 1]]], True],), first)


def test_a_fact_has_to_follow_on_all_paths_of_a_case() -> None:
    says: list[Json] = [[say(1), say(0)], [say(0), say(0)]]
    on, first = to(1, [0, []]), [to(1, [0, [0]]), 0]
    assert kept(says, [on, on], (), first) == Budgets(0)
    refuses(Refuted, "a fact does not follow", kept, says, [on, on], (IS_ABOVE,), first)


def test_paths_that_are_possible_cost_something() -> None:
    for cases in ([None, ABOVE], [GOES_ON["cases"][0], None]):
        with pytest.raises(Refuted, match="a path is possible"):
            proves(SPARSE, [NODES[0], {**GOES_ON, "cases": cases}])


POSITIVE = [">", ["cell", "x"], 0]
ENDLESS = stream([], [read("q"), draw("x", ["cell", "q"]), ["if", POSITIVE, [say(1)], [say(0)]]])


def test_what_never_ends_costs_without_end() -> None:
    """A node without an allowance leads to itself: no budget would serve, and 0 seems to."""
    none = node([to(1), to(1)], [])
    with pytest.raises(Refuted, match="a node without an allowance"):
        proves(ENDLESS, [node([to(1)], [[0, []]]), none])
    turn = node([to(1, [0, [0]]), to(1, [0, [0]])], [[0, []]])
    refuses(Refuted, "1 is missing", proves, ENDLESS, [node([to(1, [0, []])], [[0, []]]), turn])


ONE = Budgets(Fraction(1))
FAR = [[name, {"low": None, "high": None}] for name in "ab"]
CLOSE = [[name, {"low": 0, "high": 1}] for name in "ab"]
LINF, L1 = {"norm": "linf", "radius": 1}, {"norm": "l1", "radius": 1}


def test_programs_have_one_node_and_no_next() -> None:
    machine = once(LINF, "a")
    start = node([to(None, [0, [1]]), to(None, [0, [-1]])], [[2, []]])
    assert proves(machine, [start]) == Budgets(2)
    refuses(BadProof, "one node", proves, machine, [start, start])
    for place in (0, 1):
        with pytest.raises(Refuted, match="goes on after its end"):
            proves(machine, [node([to(place), to(place)], [[2, []]])])


def test_inputs_change_alone_where_they_do() -> None:
    """Noise that stays where it is pays for one change, and for no two."""
    stays = to(None, [0, [0, 0]])
    alone = [stays, {"input": 1, "cases": [stays, stays]}]
    nodes = [node([alone] * 3, [[1, []]])]
    for radius in (1, "3/2"):
        assert proves(once({"norm": "l0", "radius": radius}, *"ab", inputs=CLOSE), nodes) == ONE
    assert proves(once(L1, *"ab"), nodes) == ONE
    for norm, radius in (("linf", 1), ("increasing", 1), ("l0", 2)):
        for inputs in (FAR, CLOSE):
            machine = once({"norm": norm, "radius": radius}, *"ab", inputs=inputs)
            refuses(NotProved, r"several inputs may|any amount|unbounded", proves, machine, nodes)
    # Halves of the radius are all that one of them may change: both may at once.
    with pytest.raises(Refuted, match="several inputs may change"):
        proves(once({"norm": "l1", "radius": 2}, *"ab", inputs=CLOSE), nodes)
    inside = {"input": 0, "cases": [alone, alone]}
    with pytest.raises(Refuted, match="several inputs may change"):
        proves(once(L1, *"ab"), [node([inside] * 3, [[1, []]])])
    refuses(Refuted, "several inputs may change", proves, once(L1), [node([[]], [[0, []]])])


def test_integers_change_one_by_one() -> None:
    whole = once(LINF, "a", whole=True)
    whole["body"][0][2] = "DLap"
    moved: Callable[[int], Json] = lambda by: to(None, [0, [by]])  # noqa: E731
    cases = {"input": 0, "cases": [moved(0), moved(0), moved(1)]}
    falls = {"input": 0, "cases": [moved(-1), moved(0), moved(0)]}
    nodes = [node([cases, falls], [[2, []]])]
    assert proves(whole, nodes) == Budgets(2)
    fewer = copy.deepcopy(nodes)
    fewer[0]["cases"][0]["cases"] = [moved(0), moved(1)]
    refuses(BadProof, None, proves, whole, fewer)
    whole["adjacency"] = {"norm": "linf", "radius": 10**9}
    refuses(Refused, "more work", proves, whole, nodes)


def published(by: Json) -> tuple[Json, list[Json]]:
    """A machine that publishes its sample, and a proof that shifts it."""
    machine = stream([draw("x", ["cell", "next q"]), say(["cell", "x"])], None)
    return machine, [node([to(None, [0, [by]])], [[1, []]])]


def test_numbers_that_are_published_stay() -> None:
    assert proves(*published(0)) == Budgets(1)
    for by in (1, [0, [[0, 1]]], "1/2"):
        refuses(Refuted, "another number is published", proves, *published(by))


# --- one sample around an input, compared with 0 --------------------------------------------------


def shifted(machine: Json, budget: int, *shifts: Json) -> Budgets:
    """Replay: the sample is shifted so, where it is above 0 and where it is not."""
    return proves(machine, [node([to(None, [0, [shift]]) for shift in shifts], [[budget, []]])])


def shared(machine: Json, case: Json, *others: Json) -> Budgets:
    """Replay: what is done where the sample is above 0, and what where it is not."""
    return proves(machine, [node([case, *others], [[1, []]])])


MOVED = [0, [[0, 1]]]
"""As much as the input."""


def test_single_shifts_are_priced_and_directed() -> None:
    assert shifted(alone("Lap", False), 2, 1, -1) == Budgets(Fraction(2))
    refuses(Refuted, "is missing", shifted, alone("Lap", False), 1, 1, -1)
    refuses(Refuted, "guard", shifted, alone("Lap", False), 2, -1, 1)
    # What moves with its mean costs nothing, but does not stay on its side.
    refuses(Refuted, "guard", shifted, alone("Lap", False), 2, MOVED, MOVED)
    still = alone("LapMinus", False)
    still["body"][1] = ["set", ["cell", "out"], 0]
    assert shifted(still, 0, MOVED) == Budgets(Fraction(0))
    for family, allowed in (("LapPlus", True), ("LapMinus", False), ("Gauss", False)):
        still["body"][0][2] = family
        up = [1, [[0, 1]]]
        if allowed:
            assert shifted(still, 1, up) == Budgets(Fraction(1))
        else:
            refuses(Refuted, "cannot be shifted", shifted, still, 1, up)


def test_paths_that_draw_alike_may_have_one_case() -> None:
    still = to(None, [0, [0]])
    assert shared(alone("Lap", False), still, 0) == Budgets(Fraction(1))
    for others in ([1], [2], [-1], [True], ["0"]):
        refuses(BadProof, None, shared, alone("Lap", False), still, *others)
    refuses(BadProof, "no case", shared, alone("Lap", False), None, 0)
    other = alone("Lap", False)
    other["body"][1][3] = [["set", ["cell", "out"], ["cell", "x"]]]
    refuses(Refuted, "not alike", shared, other, still, 0)
    drawn = alone("Lap", False)
    drawn["body"][1][3].append(["draw", ["cell", "x"], "Lap", 0, [1, -1]])
    refuses(Refuted, "not alike", shared, drawn, still, 0)


def test_one_case_meets_the_guards_of_all_its_paths() -> None:
    """What serves the first path alone does not do for both."""
    machine = alone("Lap", False)
    machine["adjacency"]["norm"] = "increasing"
    up = to(None, [0, [[0, [[0, 1]]]]])
    refuses(Refuted, "guard", shared, machine, up, 0)
    assert shared(machine, up, to(None, [0, [0]])) == Budgets(Fraction(1))


def test_integers_are_shifted_by_integers() -> None:
    assert shifted(alone("DLap", True), 2, 1, -1) == Budgets(Fraction(2))
    for by in ("3/2", [1, [[0, "1/2"]]]):
        refuses(Refuted, "fraction", shifted, alone("DLap", True), 3, by, -1)
    refuses(NotProved, "integer noise", shifted, alone("DLap", False), 2, 1, -1)


def test_bounds_and_norms_limit_changes() -> None:
    machine = alone("Lap", False)
    machine["inputs"][0][1] = {"low": 0, "high": "1/2"}
    assert shifted(machine, 1, "1/2", "-1/2") == Budgets(Fraction(1))
    machine["inputs"][0][1] = {"low": 0, "high": None}
    refuses(Refuted, None, shifted, machine, 1, "1/2", "-1/2")
    for norm in ("increasing", "decreasing"):
        machine["adjacency"]["norm"] = norm
        assert shifted(machine, 1, 0, 0) == Budgets(Fraction(1))
    machine["adjacency"] = {"norm": "all"}
    refuses(NotProved, "any amount", shifted, machine, 1, 0, 0)
