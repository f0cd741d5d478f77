"""What steps say of runs, read: inputs on rays, parts that come again, sums of guards."""

from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.forms import Form, only, over
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.paths import Path, Sample
from dipapprox.kernel.rays import (
    Flat,
    Runs,
    flat,
    guards_of,
    may_equal,
    on_ray,
    read_inputs,
    read_parts,
    require_guard,
    require_possible,
)
from dipapprox.kernel.rounds import Follower, Rounds, read_rounds
from dipapprox.kernel.walk import form_of
from kernel.streams import RAY, Json, draw, lost, once, read, say, stream
from tests.cases import cases, refuses

ZERO, ONE = Fraction(0), Fraction(1)
LINF = {"norm": "linf", "radius": 1}


def flow(low: Any = None, high: Any = None, whole: bool = False, **more: Any) -> Rounds:
    machine = stream([], [read("q")], inputs=[["next q", {"low": low, "high": high}]], whole=whole)
    return read_rounds({**machine, **more})


@pytest.mark.parametrize("large", [True, False])
@cases(
    "low, high, pair, holds",
    *((None, None, [0, 1], "both"), (None, None, [0, -1], "both"), (0, None, [0, 1], "both")),
    *((0, None, [0, -1], "none"), (0, None, [1, -1], "large"), (0, None, [-1, 1], "none")),
    *((0, 1, [0, 1], "large"), (0, 1, [1, 1], "none"), (0, 1, [1, -1], "large")),
    *((0, 1, [1, 0], "none"), (None, 1, [1, -1], "both"), (None, 1, [1, 1], "none")),
    *((None, 1, [0, 1], "large"), (None, None, [0, 2], "none")),
)
def test_rays_stay_inside_and_adjacent(low, high, pair, holds, large) -> None:
    """Once or again and again: numbers of the stream move by the second of each pair."""
    if holds == "both" or (holds == "large" and large):
        expected = on_ray({"next q": [(Fraction(pair[0]), Fraction(pair[1]))]})
        assert read_inputs(flow(low, high), [["next q", [pair]]], large) == expected
    else:
        refuses(Refuted, None, read_inputs, flow(low, high), [["next q", [pair]]], large)


@pytest.mark.parametrize("large", [True, False])
def test_rays_go_the_way_that_adjacency_does(large) -> None:
    for norm, grows, other in (("increasing", 1, -1), ("decreasing", -1, 1)):
        machine = flow(adjacency={"norm": norm, "radius": 1})
        assert read_inputs(machine, [["next q", [[0, grows]]]], large)
        refuses(Refuted, "not adjacent", read_inputs, machine, [["next q", [[0, other]]]], large)


def test_inputs_of_rays_are_named_once_and_known() -> None:
    listed = ["next q", [[0, 1]]]
    for json in ([listed, listed], [["q", [[0, 1]]]]):
        refuses(BadProof, "no input of this name", read_inputs, flow(), json, False)
    refuses(Refuted, "no integer", read_inputs, flow(whole=True), [["next q", [["1/2", 0]]]], False)
    refuses(Refuted, "no integer", read_inputs, flow(whole=True), [["next q", [[0, "1/2"]]]], False)
    assert read_inputs(flow(whole=True), [["next q", [[2, 1]]]], False)
    # A stream goes on with 0 behind what is listed.
    refuses(Refuted, "or 0", read_inputs, flow(1), [["next q", [[1, 1]]]], False)
    program = read_rounds(once(LINF, "a", "b"))
    refuses(Refuted, "not known", read_inputs, program, [["a", [[0, 1]]]], False)
    with pytest.raises(BadProof, match="one number"):
        read_inputs(program, [["a", [[0, 1], [0, 1]]], ["b", [[0, 1]]]], False)
    assert len(read_inputs(program, [["a", [[0, 1]]], ["b", [[1, -1]]]], False)) == 2
    positive = read_rounds(once(LINF, "a", inputs=[["a", {"low": 1, "high": None}]]))
    assert read_inputs(positive, [["a", [[1, 1]]]], False)


def turns(*ended: bool) -> list[Path]:
    return [Path({}, (), ended=each) for each in ended]


@cases(
    "json, found",
    *(([], {}), ([[1, 2]], {2: 1}), ([[1, 3]], {3: 1}), ([[1, 2], [2, 3]], {2: 1, 3: 2})),
    *(([[2, 3]], {3: 2}), ([[0, 1]], None), ([[0, 2]], None), ([[1, 1]], None)),
    *(([[2, 1]], None), ([[1, 3], [2, 3]], None), ([[2, 3], [1, 2]], None), ([[1, 4]], None)),
    *(([[1, 5]], None), ([[3, 4]], None)),
)
def test_parts_follow_each_other(json, found) -> None:
    """Behind the first turn, up to the last, which here is an end and so none of them."""
    run = turns(False, False, False, True)
    if found is None:
        refuses(BadProof, "parts follow each other", read_parts, json, run)
    else:
        assert read_parts(json, run) == found
        assert read_parts([[1, 4]], turns(False, False, False, False)) == {4: 1}


def one(family: str) -> list[Sample]:
    return [Sample(family, Form(ZERO), ONE)]


@cases(
    "family, value, side, possible",
    *(("Lap", -1, 0, True), ("Lap", 0, 0, True), ("LapPlus", 1, 0, True)),
    *(("LapPlus", 1, -1, True), ("LapPlus", 0, 1, True), ("LapPlus", 0, 0, False)),
    *(("LapPlus", 0, -1, False), ("LapPlus", -1, 0, False), ("LapPlus", -1, 3, False)),
    *(("LapMinus", -1, 0, True), ("LapMinus", -1, 1, True), ("LapMinus", 0, -1, True)),
    *(("LapMinus", 0, 0, False), ("LapMinus", 0, 1, False), ("LapMinus", 1, 0, False)),
    *(("LapMinus", 1, -3, False), ("DLap", 1, 0, True), ("DLap", Fraction(1, 2), 0, False)),
    ("DLap", 0, 1, False),
)
def test_noise_is_on_its_side(family, value, side, possible) -> None:
    noise = [(Fraction(value), Fraction(side))]
    if possible:
        require_possible(one(family), noise, False)
    else:
        refuses(Refuted, None, require_possible, one(family), noise, False)


def test_light_noise_stays_where_it_is_as_eps_grows() -> None:
    require_possible(one("Gauss"), [(ONE, ZERO)], False)
    require_possible(one("Gauss"), [(ZERO, ZERO)], True)
    require_possible(one("Lap"), [(ONE, ZERO)], True)
    with pytest.raises(Refuted, match="not known to be possible"):
        require_possible(one("Gauss"), [(ONE, ZERO)], True)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize(("value", "side"), [(1, 0), (0, 1), (0, 0), (0, -1), (-1, 0), (-1, 5)])
def test_guards_hold_close_to_the_noise(strict, integers, value, side) -> None:
    """On the line they may hold with equality for integers only, and if they are not strict."""
    near = require_possible(one("Lap"), [(Fraction(value), Fraction(side))], False)
    guard = over(only(0), near), strict, integers
    if (value, side) > (0, 0) or ((value, side) == (0, 0) and integers and not strict):
        require_guard(*guard)
    else:
        refuses(Refuted, "a guard does not hold", require_guard, *guard)


def test_only_numbers_are_close_to_numbers() -> None:
    form, text, end = Form(ONE), "word", ("the end",)
    assert may_equal(form, form)
    assert may_equal(form, ONE)
    assert may_equal(ONE, form)
    assert may_equal(text, text)
    assert may_equal(ONE, Fraction(1))
    for pair in ((form, text), (text, form), (form, end), (end, form), (text, end), (ONE, text)):
        assert not may_equal(*pair)
    assert not may_equal(ONE, Fraction(2))


BRANCHES = [draw("x", ["cell", "q"]), ["if", [">", ["cell", "x"], 0], [say(1)], [say(0), ["exit"]]]]
TOLD = stream([], [read("q"), *BRANCHES])


def runs_of(machine: Any) -> Runs:
    return Runs(read_rounds(machine))


def test_ends_that_are_not_seen_have_no_rays() -> None:
    assert TOLD["published"]["ends"]
    found = runs_of(TOLD)
    run = found.along([0, 1])
    assert run[-1].ended
    assert found.word(run)[-1] == ("the end",)
    assert len(list(found.alike(run, {}))) == 1
    padded = runs_of({**TOLD, "published": {**TOLD["published"], "padding": [0]}})
    assert ("the end",) not in padded.word(padded.along([0, 1]))
    assert len(padded.word(padded.along([0, 1, 0]))) == 2
    assert [turn.ended for turn in padded.along([0, 1, 0, 0])] == [False, True, True, True]
    hidden = runs_of({**TOLD, "published": {**TOLD["published"], "ends": False}})
    refuses(Refuted, "are not seen", list, hidden.alike(hidden.along([0, 1]), {}))
    goes_on = hidden.along([0, 0])
    assert [turn.ended for each in hidden.alike(goes_on, {}) for turn in each] == [False] * 2


def test_runs_are_paths_that_are_there(monkeypatch) -> None:
    found = runs_of(TOLD)
    for paths in ([0, 2], [0, -1], [1]):
        refuses(BadProof, "no such path", found.along, paths)
    refuses(Refused, "no round", found.along, [])
    refuses(Refuted, "no rounds", runs_of(once(LINF, "a")).along, [0, 0])
    monkeypatch.setattr("dipapprox.kernel.rays.MOST_ROUNDS", 1)
    found.along([0, 0])
    refuses(Refused, "too many", found.along, [0, 0, 0])
    monkeypatch.setattr("dipapprox.kernel.rays.MOST_RUNS", 2)
    refuses(Refused, "publish alike", list, found.alike(found.along([0, 0]), {}))


ABOVE = [">", ["cell", "x"], 0]
SILENT_TURN = [["if", ABOVE, [say(1)], []]]


def test_parts_come_again_only_in_step() -> None:
    """Up to the last part every turn is told by what it publishes, reads and leaves behind."""
    found = runs_of(TOLD)
    run = found.along([0, 0, 0, 0])
    assert len(list(found.alike(run, {3: 2}))) == 1
    quiet = runs_of(stream([], [read("q"), draw("x", ["cell", "q"]), *SILENT_TURN]))
    refuses(NotProved, "does not tell enough", list, quiet.alike(quiet.along([0, 0, 0, 0]), {3: 2}))
    counting = [["set", ["cell", "n"], ["+", ["cell", "n"], 1]], say(1)]
    counted = runs_of(stream([["set", ["cell", "n"], 0]], [read("q"), *counting]))
    with pytest.raises(Refuted, match="does not lead to where it began"):
        list(counted.alike(counted.along([0, 0, 0, 0]), {3: 2}))
    # The first part is in step, the second is not.
    begun = ["=", ["cell", "s"], 0]
    turn = [
        *[read("q"), draw("x", ["cell", "q"])],
        ["if", begun, [["if", ABOVE, [say(1)], [say(2), ["set", ["cell", "s"], 1]]]], SILENT_TURN],
        ["forget", ["q", "x", "out"]],
    ]
    later = runs_of(stream([["set", ["cell", "s"], 0]], turn))
    run = later.along([0, 0, 1, 0])
    assert later.word(run) == (1, 2, 1)
    assert len(list(later.alike(run, {2: 1}))) == 1
    refuses(Refuted, "turn 3 publishes does not tell enough", list, later.alike(run, {2: 1, 4: 3}))
    # A turn that says the same, and reads more numbers.
    again = [
        draw("x", ["cell", "q"]),
        ["if", [">", ["cell", "x"], 0], [read("p"), say(1)], [say(1)]],
    ]
    other = runs_of(stream([], [read("q"), *again]))
    refuses(NotProved, "does not tell enough", list, other.alike(other.along([0, 0, 0, 0]), {3: 2}))


def test_what_a_part_publishes_is_told_whatever_comes_behind_it() -> None:
    """Above 0 a turn says 1; else it says 1 twice, the next one nothing, and then coins decide.

    Who sees n turns knows only whether 1 was said n times, or once more. For n > 2 either has a
    chance of 1/8 or more at any inputs, for n = 1 and n = 2 it changes by e^(2 eps) at most: there
    are budgets at eps = 1. A run that says 1 once is the only one that says so in one turn, but if
    its turn comes again, they are many.
    """
    twice = [say(1), say(1), ["set", ["cell", "s"], 1]]
    speaks = [read("q"), draw("x", ["cell", "q"]), ["if", ABOVE, [say(1)], twice]]
    coin = ["choose", ["cell", "c"], [[0, "1/2"], [1, "1/2"]], False]
    throws = [coin, ["if", ["=", ["cell", "c"], 0], [say(1)], twice]]
    is_quiet = ["=", ["cell", "s"], 1]
    others = ["if", is_quiet, [["set", ["cell", "s"], 2]], throws]
    turn = [["if", ["=", ["cell", "s"], 0], speaks, [others]], ["forget", ["q", "x", "out", "c"]]]
    inputs = [["next q", {"low": None, "high": 0}]]
    machine = stream([["set", ["cell", "s"], 0]], turn, inputs=inputs)
    step = {**RAY, "inputs": [["next q", [[0, -1]]]], "noise": [[1, 0]]}
    step["multipliers"] = [[[], [[0, 1]]]]
    assert lost(machine, step, "1/2") == Budgets(None, ONE)
    with pytest.raises(Refuted, match="turn 1 publishes does not tell enough"):
        lost(machine, {**step, "parts": [[1, 2]]}, 9)


def test_an_end_that_nobody_sees_is_another_state() -> None:
    """Where nothing is kept, a run that has ended holds as little as one that goes on."""
    nothing = ["forget", ["q", "x", "out"]]
    below = ["if", [">", ["cell", "x"], -1], [say(1), nothing, ["exit"]], [say(2), nothing]]
    turn = [read("q"), draw("x", ["cell", "q"]), ["if", ABOVE, [say(1), nothing], [below]]]
    machine = stream([], turn)
    found = runs_of({**machine, "published": {**machine["published"], "padding": [1]}})
    run = found.along([0, 0])
    assert len(list(found.alike(run, {}))) == 2
    refuses(Refuted, "does not lead to where it began", list, found.alike(run, {2: 1}))


def test_runs_that_publish_in_other_turns_are_alike() -> None:
    body = [draw("x", 0), *SILENT_TURN]
    found = runs_of(stream(body, body))
    assert len(list(found.alike(found.along([0, 1]), {}))) == 2


def said_by(run: Any, turns: Flat) -> list[list[Form]]:
    pairs = zip(run, turns.atoms, strict=True)
    return [[over(form_of(value), atoms) for value in turn.said] for turn, atoms in pairs]


def test_turns_are_flattened_over_noise_and_steps() -> None:
    """Two turns that keep a sum: numbers are read in their order, and what is held goes along."""
    summed = ["set", ["cell", "s"], ["+", ["cell", "s"], ["cell", "x"]]]
    machine = stream(
        [draw("s", 0, 2)], [read("q"), draw("x", ["cell", "q"]), summed, say(["cell", "s"])]
    )
    found = runs_of(machine)
    run = found.along([0, 0, 0])
    inputs = on_ray({"next q": [(Fraction(3), ONE), (Fraction(5), Fraction(-2))]})
    whole = flat(run, inputs)
    # s0 + (q1 + x1), then + (q2 + x2); -1 is the number of steps.
    sums = said_by(run, whole)
    assert sums[1] == [Form(Fraction(3), ((-1, ONE), (0, ONE), (1, ONE)))]
    assert sums[2] == [Form(Fraction(8), ((-1, -ONE), (0, ONE), (1, ONE), (2, ONE)))]
    longer = found.along([0, 0, 0, 0])
    assert said_by(longer, flat(longer, inputs))[3][0] == sums[2][0].plus(only(3))
    last = flat(run, inputs, 2)
    ((atom, _),) = ((atom, name) for atom, name in last.held.items() if name == "s")
    ((said,),) = said_by(run[2:], last)
    assert atom < -1
    assert said == Form(Fraction(5), ((atom, ONE), (-1, Fraction(-2)), (0, ONE)))
    assert last.cells[0]["s"] == said


def test_strict_guards_of_integers_are_a_unit_off() -> None:
    above = [">", ["+", ["cell", "x"], "1/2"], 0]
    turn = [read("q"), draw("x", ["cell", "q"], 1, "DLap"), ["if", above, [say(1)], [say(0)]]]
    run = runs_of(stream([], turn, whole=True)).along([0, 0])
    ((real, strict),) = guards_of(run[1], False)
    ((whole, also),) = guards_of(run[1], True)
    assert (strict, also) == (True, False)
    assert real.plus(whole.scaled(Fraction(-1))) == Form(Fraction(1, 2))


# --- paths of bodies without rounds ---------------------------------------------------------------


def followed(body: list[Any], whole: bool = False, **published: Any) -> list[Path]:
    machine = stream(body, None, inputs=[["q", {"low": 0, "high": 1}]], whole=whole)
    machine["published"] |= {"whenever": [], "first": ["out"], **published}
    return Follower(read_rounds(machine)).start()


def drawn(family: str, power: int = -1) -> list[Any]:
    x, out = ["cell", "x"], ["cell", "out"]
    sample = ["draw", x, family, ["cell", "q"], [2, power]]
    return [sample, ["if", [">", x, 1], [["set", out, 1]], [["set", out, 0]]]]


def test_what_is_no_path_is_refused() -> None:
    one, other = followed(drawn("Lap"))
    assert {one.said, other.said} == {(0,), (1,)}
    assert [strict for path in (one, other) for _, strict in path.guards] in (
        [True, False],
        [False, True],
    )
    refuses(Refused, "no integers", followed, drawn("DLap"))
    assert len(followed(drawn("DLap"), whole=True)) == 2
    refuses(NotProved, "has no value", followed, drawn("Lap"), first=["out", "missing"])
    exits = [*drawn("Lap")[:1], ["exit"]]
    refuses(NotProved, "has no value", followed, exits)
    (path,) = followed(exits, first=["x"], whenever=["x"])
    assert path.ended
    assert path.said == (path.store["x"],) * 2


# --- What guards add up to on rays ----------------------------------------------------------------

END = ["forget", ["q", "r", "out"]]
COIN = [draw("c", 0)]
LAST = [say(2), END, ["exit"]]
R, C, P = (["cell", name] for name in "rcp")


def turn(*statements: Json) -> list[Json]:
    """A round that asks for a number around an input."""
    return [read("q"), draw("r", ["cell", "q"]), *statements, END]


def branch(condition: Json, then: list[Json], other: list[Json]) -> Json:
    return ["if", condition, then, other]


def moved(cell: Json, number: Json) -> Json:
    return ["+", cell, number]


def proved(machine: Json, multipliers: Json, noise: Json, **fields: Json) -> Budgets:
    """Replay that no budget serves, as the input falls; the first round may come again."""
    falls = {"inputs": [["next q", [[0, -1]]]], "noise": noise, "multipliers": multipliers}
    return lost(machine, {**RAY, **falls, "parts": [[1, 2]], **fields})


def test_noise_outside_of_parts_is_had_once() -> None:
    """A threshold that is low once lets all answers be above it: some budget serves."""
    machine = stream(COIN, turn(branch([">", R, C], [say(1)], LAST)))
    refuses(Refuted, "noise outside of parts", proved, machine, [[[], [[0, 1]]]], [[0, 0], [1, 0]])


def test_a_part_leaves_what_it_is_compared_with_next() -> None:
    """Answers that are above the last one less 1: how low that is comes again for nothing."""
    keep = ["set", C, R]
    machine = stream(COIN, turn(branch([">", R, moved(C, -1)], [say(1), keep], LAST)))
    with pytest.raises(Refuted, match="changes what lies behind it"):
        proved(machine, [[[], [[0, 1]]]], [[0, 0], [0, 0]])


def in_turns(kept: Json, back: Json) -> Json:
    """An answer is above c, then one is below it; c gets other values, and these."""
    first = branch([">", R, moved(C, -1)], [say(1), ["set", C, kept], ["set", P, 1]], LAST)
    second = branch(["<", R, C], [say(1), ["set", C, back], ["set", P, 0]], LAST)
    begin = branch(["=", P, 2], [["set", P, 0], say(0)], [branch(["=", P, 0], [first], [second])])
    return stream([*COIN, ["set", P, 2]], turn(begin))


AGAIN = {
    "paths": [0, 0, 0, 0],
    "parts": [[2, 4]],
    "inputs": [["next q", [[0, 0], [0, -1], [0, 1]]]],
}


def test_parts_have_several_turns() -> None:
    both, once = [[], [], [[0, 1]], [[0, 1]]], [[], [], [[0, 1]], []]
    noise = [[0, 0], [0, 0], [0, 0], [-1, 0]]
    machine = in_turns(moved(C, 1), moved(C, -1))
    assert proved(machine, [both], noise, **AGAIN) == Budgets(None, None)
    # What is left of c passes, but is noise from before.
    refuses(Refuted, "noise outside of parts", proved, machine, [once], noise, **AGAIN)
    refuses(Refuted, "changes what lies behind it", proved, in_turns(R, C), [once], noise, **AGAIN)


def test_what_is_impossible_may_be_so_for_several_turns() -> None:
    """The coin is at most -1/2, and then above 1/2."""
    sides = [branch([">", C, "-1/2"], [], [])]
    asked = [branch([">", R, bound], [say(1)], [say(2)]) for bound in (0, 1)]
    machine = stream(COIN + sides, turn(branch([">", C, "1/2"], asked[:1], asked[1:])))
    falls, never = [[], [[1, 1]]], [[[0, 1]], [[0, 1]]]
    rows = [falls, falls, never, falls]
    assert proved(machine, rows, [[1, 0], [1, 0]]) == Budgets(None, None)
    with pytest.raises(Refuted, match="nothing is lost"):
        proved(machine, [falls, never, falls, falls], [[1, 0], [1, 0]])


def test_as_much_is_lost_as_on_the_run_that_loses_least() -> None:
    above = branch([">", R, 0], [say(1)], [])
    asked = [[draw("r", ["cell", "q"], size), above] for size in (1, "1/2")]
    machine = stream(COIN, [read("q"), branch([">", C, 0], *asked)])
    single, double = [[], [[1, 1]]], [[], [[1, 2]]]
    noise = [[1, 0], [1, 0]]
    assert proved(machine, [single, double], noise, parts=[]) == Budgets(None, Fraction(1), True)
    refuses(Refuted, "worth less", proved, machine, [double, double], noise, parts=[])


def test_a_number_that_is_published_is_only_close_to_another() -> None:
    """Above 0 and below it r is published: close to 1/2 it is not below 0, close to 0 it may be."""
    machine = stream([], turn(branch([">=", R, 0], [say(R)], [say(R)])))
    rises = {"inputs": [["next q", [[0, 1]]]], "parts": []}
    falls, never = [[], [[2, 1]]], [[], [[0, 1], [1, 1]]]
    half, zero = [["1/2", 0]], [[0, 1]]
    one = Budgets(None, Fraction(1), True)
    assert proved(machine, [falls, never], half, **rises) == one
    assert proved(machine, [falls, falls], zero, **rises) == one
    refuses(Refuted, "nothing is lost", proved, machine, [falls, never], zero, **rises)
