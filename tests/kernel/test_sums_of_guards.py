"""What guards add up to on rays: parts that come again, and numbers that are published."""

from fractions import Fraction

import pytest

from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.judgements import Budgets
from kernel.streams import RAY, Json, draw, lost, read, say, stream

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
    with pytest.raises(Refuted, match="noise outside of parts"):
        proved(machine, [[[], [[0, 1]]]], [[0, 0], [1, 0]])


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
    with pytest.raises(Refuted, match="noise outside of parts"):
        proved(machine, [once], noise, **AGAIN)
    with pytest.raises(Refuted, match="changes what lies behind it"):
        proved(in_turns(R, C), [once], noise, **AGAIN)


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
    with pytest.raises(Refuted, match="worth less"):
        proved(machine, [double, double], noise, parts=[])


def test_a_number_that_is_published_is_only_close_to_another() -> None:
    """Above 0 and below it r is published: close to 1/2 it is not below 0, close to 0 it may be."""
    machine = stream([], turn(branch([">=", R, 0], [say(R)], [say(R)])))
    rises = {"inputs": [["next q", [[0, 1]]]], "parts": []}
    falls, never = [[], [[2, 1]]], [[], [[0, 1], [1, 1]]]
    half, zero = [["1/2", 0]], [[0, 1]]
    one = Budgets(None, Fraction(1), True)
    assert proved(machine, [falls, never], half, **rises) == one
    assert proved(machine, [falls, falls], zero, **rises) == one
    with pytest.raises(Refuted, match="nothing is lost"):
        proved(machine, [falls, never], zero, **rises)
