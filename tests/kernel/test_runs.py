"""What steps say of runs, read: inputs on rays, parts that come again, sums of guards."""

from fractions import Fraction
from typing import Any

from dipapprox.kernel.errors import Refused, Refuted
from dipapprox.kernel.forms import Form, only, over
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.paths import Path, Sample
from dipapprox.kernel.rays import (
    Alike,
    Flat,
    along,
    flat,
    guards_of,
    may_equal,
    on_ray,
    read_inputs,
    read_parts,
    require_guard,
    require_possible,
    runs_alike,
    word_of,
)
from dipapprox.kernel.rounds import Follower, Rounds, read_rounds
from dipapprox.kernel.walk import form_of
from kernel.streams import RAY, Json, draw, lost, once, read, say, stream
from tests.cases import check_answers, refuses
from tests.kernel.machines import judged

ZERO, ONE, END = Fraction(0), Fraction(1), ("the end",)
LINF = {"norm": "linf", "radius": 1}


def flow(low: Any = None, high: Any = None, whole: bool = False, **more: Any) -> Rounds:
    machine = stream([], [read("q")], inputs=[["next q", {"low": low, "high": high}]], whole=whole)
    return read_rounds({**machine, **more})


def turns(*ended: bool) -> list[Path]:
    return [Path({}, (), ended=each) for each in ended]


BRANCHES = [draw("x", ["cell", "q"]), ["if", [">", ["cell", "x"], 0], [say(1)], [say(0), ["exit"]]]]
TOLD = stream([], [read("q"), *BRANCHES])


def runs_of(machine: Any) -> Follower:
    return Follower(read_rounds(machine))


def test_runs_are_paths_that_are_there(monkeypatch) -> None:
    found = runs_of(TOLD)
    monkeypatch.setattr("dipapprox.kernel.rays.MOST_ROUNDS", 1)
    along(found, [0, 0])
    refuses(Refused, "too many", along, found, [0, 0, 0])
    monkeypatch.setattr("dipapprox.kernel.rays.MOST_RUNS", 2)
    refuses(Refused, "publish alike", list, runs_alike(found, along(found, [0, 0]), {}))


ABOVE = [">", ["cell", "x"], 0]
SILENT_TURN = [["if", ABOVE, [say(1)], []]]


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
    run = along(found, [0, 0, 0])
    inputs = on_ray({"next q": [(Fraction(3), ONE), (Fraction(5), Fraction(-2))]})
    whole = flat(run, inputs)
    # s0 + (q1 + x1), then + (q2 + x2); -1 is the number of steps.
    sums = said_by(run, whole)
    assert sums[1] == [Form(Fraction(3), ((-1, ONE), (0, ONE), (1, ONE)))]
    assert sums[2] == [Form(Fraction(8), ((-1, -ONE), (0, ONE), (1, ONE), (2, ONE)))]
    longer = along(found, [0, 0, 0, 0])
    assert said_by(longer, flat(longer, inputs))[3][0] == sums[2][0].plus(only(3))
    last = flat(run, inputs, 2)
    ((atom, _),) = ((atom, name) for atom, name in last.held.items() if name == "s")
    ((said,),) = said_by(run[2:], last)
    assert atom < -1
    assert said == Form(Fraction(5), ((atom, ONE), (-1, Fraction(-2)), (0, ONE)))
    assert last.cells[0]["s"] == said


def test_noise_of_parts_is_told_of_the_whole_run() -> None:
    """A sample is at least 1 in a part, the third turn of four: the others are left out."""
    above = [">=", ["cell", "x"], 1]
    turn = [read("q"), draw("x", ["cell", "q"]), ["if", above, [say(1)], [say(0)]]]
    found, parts = runs_of(stream([], turn)), {3: 2}
    run = along(found, [0, 0, 0, 0])
    every, inputs = list(runs_alike(found, run, parts)), on_ray({"next q": [(ZERO, -ONE)] * 3})
    ways = Alike(every, lambda run, start: flat(run, inputs, start), False, [ONE] * 3, parts)
    summed = ways.lost(run, [[], [], [[0, 1]], []])
    assert (summed.cells, summed.lost, summed.rest) == ({}, 1, -1)
    assert [factor for _, factor in summed.noise] == [1]
    refuses(Refuted, "noise outside of parts", ways.lost, run, [[], [[0, 1]], [], []])


def test_strict_guards_of_integers_are_a_unit_off() -> None:
    above = [">", ["+", ["cell", "x"], "1/2"], 0]
    turn = [read("q"), draw("x", ["cell", "q"], 1, "DLap"), ["if", above, [say(1)], [say(0)]]]
    run = along(runs_of(stream([], turn, whole=True)), [0, 0])
    ((real, strict),) = guards_of(run[1], False)
    ((whole, also),) = guards_of(run[1], True)
    assert (strict, also) == (True, False)
    assert real.plus(whole.scaled(Fraction(-1))) == Form(Fraction(1, 2))


# --- paths of bodies without rounds ---------------------------------------------------------------


def followed(body: list[Any], whole: bool = False, **published: Any) -> list[Path]:
    machine = stream(body, None, inputs=[["q", {"low": 0, "high": 1}]], whole=whole)
    machine["published"] |= {"whenever": [], "first": ["out"], **published}
    return Follower(read_rounds(machine)).turns(None)


def drawn(family: str, power: int = -1) -> list[Any]:
    x, out = ["cell", "x"], ["cell", "out"]
    sample = ["draw", x, family, ["cell", "q"], [2, power]]
    return [sample, ["if", [">", x, 1], [["set", out, 1]], [["set", out, 0]]]]


# --- What guards add up to on rays ----------------------------------------------------------------

LEFT = ["forget", ["q", "r", "out"]]
COIN = [draw("c", 0)]
LAST = [say(2), LEFT, ["exit"]]
R, C, P = (["cell", name] for name in "rcp")


def turn(*statements: Json) -> list[Json]:
    """A round that asks for a number around an input."""
    return [read("q"), draw("r", ["cell", "q"]), *statements, LEFT]


def branch(condition: Json, then: list[Json], other: list[Json]) -> Json:
    return ["if", condition, then, other]


def moved(cell: Json, number: Json) -> Json:
    return ["+", cell, number]


def proved(machine: Json, multipliers: Json, noise: Json, **fields: Json) -> Budgets:
    """Replay that no budget serves, as the input falls; the first round may come again."""
    falls = {"inputs": [["next q", [[0, -1]]]], "noise": noise, "multipliers": multipliers}
    return lost(machine, {**RAY, **falls, "parts": [[1, 2]], **fields})


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


# --- What steps may say, and what not: expressions, and what is said of each ----------------------

FORM, PADDED = Form(ONE), {**TOLD, "published": {**TOLD["published"], "padding": [0]}}
HIDDEN = {**TOLD, "published": {**TOLD["published"], "ends": False}}
TWICE, HEARD = [say(1), say(1), ["set", ["cell", "s"], 1]], [read("q"), draw("x", ["cell", "q"])]
QUIET = stream([], [*HEARD, *SILENT_TURN])
COUNTED = stream(
    [["set", ["cell", "n"], 0]],
    [read("q"), ["set", ["cell", "n"], ["+", ["cell", "n"], 1]], say(1)],
)
LATER = stream(
    [["set", ["cell", "s"], 0]],
    [
        *HEARD,
        [
            "if",
            ["=", ["cell", "s"], 0],
            [["if", ABOVE, [say(1)], [say(2), ["set", ["cell", "s"], 1]]]],
            SILENT_TURN,
        ],
        ["forget", ["q", "x", "out"]],
    ],
)
"""The first part is in step, the second is not."""
MORE = stream([], [*HEARD, ["if", ABOVE, [read("p"), say(1)], [say(1)]]])
"""A turn that says the same, and reads more numbers."""
THROWS = [
    ["choose", ["cell", "c"], [[0, "1/2"], [1, "1/2"]], False],
    ["if", ["=", ["cell", "c"], 0], [say(1)], TWICE],
]
OTHERS = ["if", ["=", ["cell", "s"], 1], [["set", ["cell", "s"], 2]], THROWS]
DECIDED = stream(
    [["set", ["cell", "s"], 0]],
    [
        ["if", ["=", ["cell", "s"], 0], [*HEARD, ["if", ABOVE, [say(1)], TWICE]], [OTHERS]],
        ["forget", ["q", "x", "out", "c"]],
    ],
    inputs=[["next q", {"low": None, "high": 0}]],
)
"""Above 0 a turn says 1; else it says 1 twice, the next one nothing, and then coins decide.

Who sees n turns knows only whether 1 was said n times, or once more. For n > 2 either has a chance
of 1/8 or more at any inputs, for n = 1 and n = 2 it changes by e^(2 eps) at most: there are budgets
at eps = 1. A run that says 1 once is the only one that says so in one turn, but if its turn comes
again, they are many.
"""
DECIDED_STEP = {**RAY, "inputs": [["next q", [[0, -1]]]], "noise": [[1, 0]]}
DECIDED_STEP |= {"multipliers": [[[], [[0, 1]]]]}
NOTHING = ["forget", ["q", "x", "out"]]
BELOW = ["if", [">", ["cell", "x"], -1], [say(1), NOTHING, ["exit"]], [say(2), NOTHING]]
UNSEEN = stream([], [*HEARD, ["if", ABOVE, [say(1), NOTHING], [BELOW]]])
UNSEEN["published"] |= {"padding": [1]}
"""Where nothing is kept, a run that has ended holds as little as one that goes on."""
SILENT = stream([draw("x", 0), *SILENT_TURN], [draw("x", 0), *SILENT_TURN])
LOW_ONCE = stream(COIN, turn(branch([">", R, C], [say(1)], LAST)))
"""A threshold that is low once lets all answers be above it: some budget serves."""
LAST_ONE = stream(COIN, turn(branch([">", R, moved(C, -1)], [say(1), ["set", C, R]], LAST)))
"""Answers that are above the last one less 1: how low that is comes again for nothing."""
FALLEN = [[0, 0], [0, 0], [0, 0], [-1, 0]]
"""What is left of c passes, but is noise from before."""
FALLS, NEVER = [[], [[1, 1]]], [[[0, 1]], [[0, 1]]]
ASKED = [branch([">", R, bound], [say(1)], [say(2)]) for bound in (0, 1)]
BETWEEN = stream(
    [*COIN, branch([">", C, "-1/2"], [], [])], turn(branch([">", C, "1/2"], ASKED[:1], ASKED[1:]))
)
"""The coin is at most -1/2, and then above 1/2."""
SIZED = [[draw("r", ["cell", "q"], size), branch([">", R, 0], [say(1)], [])] for size in (1, "1/2")]
SIZES = stream(COIN, [read("q"), branch([">", C, 0], *SIZED)])
SHOWN = stream([], turn(branch([">=", R, 0], [say(R)], [say(R)])))
"""Above 0 and below it r is published: close to 1/2 it is not below 0, close to 0 it may be."""
RISES: Json = {"inputs": [["next q", [[0, 1]]]], "parts": []}


def rays(machine: Rounds, pair: list[Any], large: bool) -> dict[str, list[Any]]:
    """Once or again and again: numbers of the stream move by the second of each pair."""
    inputs = [["next q", [pair]]]
    assert read_inputs(machine, inputs, large) == on_ray({"next q": [(*map(Fraction, pair),)]})
    return {"next q": [(*pair,)]}


def close(family: str, value: Any, side: int, grows: bool = False) -> Any:
    """Noise close to a number, on a side of it; of light noise as eps grows, too."""
    sample = [Sample(family, Form(ZERO), ONE)]
    return require_possible(sample, [(Fraction(value), Fraction(side))], grows)


def told(machine: Json, paths: list[int]) -> Any:
    """Which turns of a run are ends, and its word."""
    found = Follower(read_rounds(machine))
    run = along(found, paths)
    return [turn.ended for turn in run], word_of(found.machine, run)


def alike(machine: Json, paths: list[int], parts: Any = ()) -> int:
    """How many runs publish as much, where parts come again."""
    found = Follower(read_rounds(machine))
    return len(list(runs_alike(found, along(found, paths), dict(parts))))


def test_what_steps_say_of_runs() -> None:
    """On a line guards may hold with equality for integers only, and if they are not strict."""
    asked = {
        "may_equal": may_equal,
        "once": once,
        "read_parts": read_parts,
        "require_guard": require_guard,
    }
    check_answers("kernel_runs", judged(globals() | asked))
