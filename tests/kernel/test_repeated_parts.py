"""Parts of runs that come again on rays: what they leave behind, and noise that comes once."""

from __future__ import annotations

from typing import Any

import pytest

from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from kernel.streams import Json, draw, read, say, stream

END = ["forget", ["q", "r", "out"]]
COIN = [draw("c", 0)]


def turn(*statements: Json) -> list[Json]:
    """A round whose answer is asked of a falling input."""
    return [read("q"), draw("r", ["cell", "q"]), *statements, END]


def branch(condition: Json, then: list[Json], other: list[Json]) -> Json:
    return ["if", condition, then, other]


def above(bound: Json) -> Json:
    return [">", ["cell", "r"], bound]


def less(cell: str, number: Json) -> Json:
    return ["+", ["cell", cell], number]


LAST = [say(2), END, ["exit"]]


def proved(machine: Json, multipliers: Json, noise: Json, paths: Json = (0, 0)) -> Budgets:
    """Replay that no budget serves, as the last turn may come again."""
    step: dict[str, Any] = {
        "rule": "ray",
        "from": [],
        "eps": "every",
        "paths": list(paths),
        "inputs": [["next q", [[0, -1]]]],
        "noise": noise,
        "parts": [[1, 2]],
        "multipliers": multipliers,
    }
    found = replay(machine, {"verdict": "Not_DP", "budget": None}, [step])
    assert isinstance(found, Budgets)
    return found


def test_noise_outside_of_parts_is_had_once() -> None:
    """A threshold that is low once lets all answers be above it: some budget serves."""
    machine = stream(COIN, turn(branch(above(["cell", "c"]), [say(1)], LAST)))
    with pytest.raises(Refuted, match="noise outside of parts"):
        proved(machine, [[[], [[0, 1]]]], [[0, 0], [1, 0]])


def test_a_part_leaves_what_it_is_compared_with_next() -> None:
    """Answers that are above the last one less 1: how low that is comes again for nothing."""
    keep = ["set", ["cell", "c"], ["cell", "r"]]
    machine = stream(COIN, turn(branch(above(less("c", -1)), [say(1), keep], LAST)))
    with pytest.raises(Refuted, match="changes what lies behind it"):
        proved(machine, [[[], [[0, 1]]]], [[0, 0], [0, 0]])


def test_what_is_impossible_may_be_so_for_several_turns() -> None:
    """The coin is at most -1/2, and then above 1/2."""
    sides = [branch([">", ["cell", "c"], "-1/2"], [], [])]
    asked = [branch(above(bound), [say(1)], [say(2)]) for bound in (0, 1)]
    machine = stream(COIN + sides, turn(branch([">", ["cell", "c"], "1/2"], asked[:1], asked[1:])))
    falls, never = [[], [[1, 1]]], [[[0, 1]], [[0, 1]]]
    rows = [falls, falls, never, falls]
    assert proved(machine, rows, [[1, 0], [1, 0]]) == Budgets(None, None)
    with pytest.raises(Refuted, match="nothing is lost"):
        proved(machine, [falls, never, falls, falls], [[1, 0], [1, 0]])
