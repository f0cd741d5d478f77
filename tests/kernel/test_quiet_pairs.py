"""Quiet pairs by hand: what follows from one, and what does not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.forms import Form
from dipapprox.kernel.quiet import Quiet, read_quiet, second_atoms
from dipapprox.kernel.rounds import Follower, Rounds, read_rounds

READ = ["set", ["cell", "v"], ["cell", "q"]]
DRAWN = ["draw", ["cell", "r"], "Lap", ["cell", "v"], [4, -1]]
EXIT = [["exit"]]
SAID = ["set", ["cell", "out"], {"name": "a"}]
START: Any = ((), ())
HELD: Any = ((), ("x",))


def above(then: list[Any], otherwise: list[Any]) -> list[Any]:
    return [READ, DRAWN, ["if", [">=", ["cell", "r"], ["cell", "x"]], then, otherwise]]


ENDS = above(EXIT, [])
"""The path that goes on is 0, the one that ends 1; guards of both are about r - x."""


def machine(turn: list[Any], norm: str = "linf", radius: Any = 1, **published: Any) -> Rounds:
    shown = {"whenever": ["out"], "first": [], "each": [], "ends": True, "padding": None}
    return read_rounds(
        {
            "inputs": [["q", {"low": None, "high": None}]],
            "whole": False,
            "adjacency": {"norm": norm, "radius": radius},
            "body": [["draw", ["cell", "x"], "Lap", 0, [2, -1]]],
            "round": turn,
            "published": {**shown, **published},
        }
    )


def pair(last: Any, shift: Any, *paths: list[Any], places: Any = (1, 1)) -> dict[str, Any]:
    return {"places": [*places], "shifts": [shift], "last": last, "paths": [*paths]}


WHY = [[0, 1], [1, 1]]
"""Multiples of the guards of both runs: a number, and perhaps the change of the input."""


def ends(shift: Any, reason: list[Any] | None = None, *, own: Any = 0) -> dict[str, Any]:
    """Where the first run ends, so does the second one."""
    return pair([], shift, [own, None], [reason or WHY, None])


def goes_on(shift: Any, reason: list[Any] | None = None, *, own: Any = 0) -> dict[str, Any]:
    """Where the first run goes on, so does the second one."""
    return pair(None, shift, [own, reason or WHY], [])


def read(turn: list[Any], *pairs: Any, places: Any = (START, HELD), **fields: Any) -> list[Quiet]:
    return read_quiet(machine(turn, **fields), places, [*pairs])


def refused(turn: list[Any], *pairs: Any, match: str | None = None, **fields: Any) -> None:
    with pytest.raises(NotProved, match=match):
        read(turn, *pairs, **fields)


IS_POSSIBLE = "possible|not known"


def test_shifts_make_up_for_all_changes() -> None:
    for shift in (-1, -2):
        assert [each.shifts for each in read(ENDS, ends(shift))] == [(shift,)]
    for shift in (1, 2):
        assert read(ENDS, goes_on(shift))[0].last is None
    for shift in ("-1/2", 0, 1):
        refused(ENDS, ends(shift), match=IS_POSSIBLE)
    for shift in ("1/2", 0, -1):
        refused(ENDS, goes_on(shift), match=IS_POSSIBLE)
    for radius, up, down in ((2, 1, -1), ("3/2", 1, -1), (2, "3/2", "-3/2")):
        refused(ENDS, goes_on(up), radius=radius, match=IS_POSSIBLE)
        refused(ENDS, ends(down), radius=radius, match=IS_POSSIBLE)
    assert read(ENDS, ends(-2), goes_on(2, own=1), radius=2)


def test_changes_in_one_direction_need_less() -> None:
    assert read(ENDS, ends(0), norm="increasing")
    assert read(ENDS, goes_on(0), norm="decreasing")
    refused(ENDS, ends(0), norm="decreasing", match=IS_POSSIBLE)
    refused(ENDS, goes_on(0), norm="increasing", match=IS_POSSIBLE)


def test_means_move_samples() -> None:
    twice = [*ENDS]
    twice[1] = [*DRAWN[:3], ["*", 2, ["cell", "v"]], [4, -1]]
    assert read(twice, ends(-2))
    refused(twice, ends(-1), match=IS_POSSIBLE)
    # What is held moves it, too: they stay as far apart.
    twice[1] = [*DRAWN[:3], ["+", ["cell", "x"], ["cell", "v"]], [4, -1]]
    for shift in (0, 5, -5):
        refused(twice, ends(shift), match=IS_POSSIBLE)
    assert read(twice, ends(5), norm="increasing")


def test_what_a_path_is_answered_with() -> None:
    refused(ENDS, pair([], -1, [0, None], [None, None]), match="does not end with the last words")
    refused(ENDS, pair([], -1, [0, None], [0, None]), match="one of two runs ends")
    refused(ENDS, pair(None, 1, [0, None], []), match="does not end with the last words")
    refused(ENDS, pair(None, 1, [0, 0], []), match="one of two runs ends")
    refused(ENDS, pair(None, 1, [0, WHY], [None]))
    for number in (1, -1, "1/2", False):
        refused(ENDS, ends(-1, own=number))
    # A pair that is another one's, with other last words or another shift.
    refused(ENDS, ends(-1, own=1), goes_on(1, own=1), match="is not quiet")
    refused(ENDS, ends(-1, own=1), ends(-2, own=1), match="shifted otherwise")
    assert read(ENDS, ends(-1), ends(-2, own=1))
    for other in ([], [1], [1, 1, 1], [0, 1], [1, 0], [1, 2], [1, -1]):
        with pytest.raises(BadProof):
            read(ENDS, {**ends(-1), "places": other})


def test_runs_hold_the_same_cells() -> None:
    refused(ENDS, pair([], -1, places=(1, 2)), places=(START, HELD, ((), ("y",))), match="other")


def test_ends_are_seen() -> None:
    for published in ({"ends": False}, {"padding": []}):
        refused(ENDS, ends(-1), match="not seen that runs end", **published)
        assert read(ENDS, **published) == []


def test_the_second_run_is_quiet() -> None:
    said = above(EXIT, [SAID])
    refused(said, pair([], -1, [0, None], [WHY, None]))
    # What publishes something is not quiet: there is nothing to show.
    assert read(said, pair([], -1, [], [WHY, None]))
    assert read(said, pair(None, 0, [], []))
    hidden = above([], [SAID])
    refused(hidden, pair(None, -1, [0, 0], []), match="is not quiet")
    assert read(hidden, pair(None, -1, [0, WHY], []))


def test_last_words_are_the_same() -> None:
    word = above([SAID, *EXIT], [])
    last = [{"name": "a"}]
    found = read(word, {**ends(-1), "last": last})
    assert found[0].last == ("a",)
    for other in ([], [{"name": "b"}], [*last, *last]):
        # Nothing ends so: then nothing is to be shown of what ends.
        refused(word, {**ends(-1), "last": other})
        refused(word, pair(other, -1, [0, None], []))
    # One of two ends is silent.
    both = above([["if", [">=", ["cell", "r"], 0], [SAID], []], *EXIT], [])
    refused(both, pair(last, -1, [0, None, None], [WHY, None, None], []))


COUNTED = above([["set", ["cell", "n"], 1]], [])
FREE, ONCE = ((("n", 0),), ("x",)), ((("n", 1),), ("x",))


def test_cells_hold_what_the_next_pair_says() -> None:
    places = START, FREE, ONCE
    stays = {"places": [1, 1], "shifts": [0], "last": None, "paths": [[3, 2], [1, 0]]}
    others = [{**stays, "places": at} for at in ([1, 2], [2, 1], [2, 2])]
    others[0]["paths"] = [[3, 3], [1, 1]]
    others[1]["paths"] = [[3, 2], [3, 2]]
    others[2]["paths"] = [[3, 3], [3, 3]]
    assert len(read(COUNTED, stays, *others, places=places)) == 4
    for row in ([[0, 2], [1, 0]], [[3, 3], [1, 0]], [[3, 2], [0, 0]], [[3, 2], [1, 1]]):
        refused(COUNTED, {**stays, "paths": row}, *others, places=places, match="something else")
    moved = above([["set", ["cell", "x"], ["cell", "r"]]], [])
    refused(moved, pair(None, 0, [0, 0], [0, 0]), match="shifted otherwise")
    fixed = above([["set", ["cell", "x"], 3]], [])
    refused(fixed, pair(None, 1, [0, 0], [0, 0]), match="shifted otherwise")
    named = above([["set", ["cell", "x"], {"name": "a"}]], [])
    refused(named, pair(None, 0, [0, 0], [0, 0]), match="no number")


def test_runs_read_equally_much() -> None:
    more = above([READ], [])
    for row in ([[0, 0], [0, 0]], [[0, 0], [WHY, 0]]):
        refused(more, pair(None, 0, *row), match="read other numbers")
    assert read(above([], []), pair(None, 0, [0, 0], [0, 0]))


@pytest.mark.parametrize(
    ("shift", "family", "size", "holds"),
    [(1, "Lap", 1, True), (-1, "Lap", 1, False), (1, "Lap", 2, False), (1, "Gauss", 1, False)],
)
def test_noise_is_shared_while_the_same_is_drawn(
    shift: int, family: str, size: int, holds: bool
) -> None:
    """A sample on one side of r and one on the other are one if they are drawn alike."""
    drawn = ("Lap", 1), (family, size)
    sides = [["draw", ["cell", "s"], name, 0, [scale, -1]] for name, scale in drawn]
    last = ["if", [">=", ["cell", "s"], ["cell", "x"]], EXIT, []]
    turn = [*above(*([side] for side in sides)), last]
    # Of both runs the second guard is about s - x.
    apart = [[1, 1], [3, 1]]
    row = [0, 0, apart, apart]
    if holds:
        assert read(turn, pair(None, shift, row, row, [], []))
    else:
        refused(turn, pair(None, shift, row, row, [], []), match=IS_POSSIBLE)


def test_changes_of_inputs_are_no_numbers_of_a_run() -> None:
    large = [READ, ["if", [">=", ["cell", "v"], 5], EXIT, []]]
    # The first run reads 5 or more; only the change is at most 1.
    refused(large, pair([], 0, [0, None], [[[0, 1]], None]), match=IS_POSSIBLE)
    own = machine(ENDS)
    path, other = Follower(own).round({}, ["x"])
    moved, changes = second_atoms(own, (Fraction(3),), path, other)
    one = Fraction(1)
    assert moved == [
        Form(Fraction(3), ((0, one),)),
        Form(Fraction(0), ((1, one), (7, one))),
        Form(Fraction(0), ((2, one), (7, one))),
    ]
    assert changes == {7: (-one, one)}


def test_steps_are_read_strictly() -> None:
    for change in ({"more": 1}, {"shifts": []}, {"shifts": [-1, -1]}, {"last": 3}, {"paths": []}):
        with pytest.raises(BadProof):
            read(ENDS, {**ends(-1), **change})
    with pytest.raises(Refuted, match=IS_POSSIBLE):
        read(ENDS, ends(-1, [[0, 1], [1, "1/2"]]))
