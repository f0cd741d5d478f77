"""Quiet pairs by hand: what follows from one, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from dipapprox.kernel import quiet
from dipapprox.kernel.errors import BadProof, NotProved, Refused
from dipapprox.kernel.quiet import Ends, read_quiet
from dipapprox.kernel.rounds import Rounds, read_rounds
from kernel.streams import draw, stream

READ = ["set", ["cell", "v"], ["cell", "q"]]
DRAWN = ["draw", ["cell", "r"], "Lap", ["cell", "v"], [4, -1]]
EXIT = [["exit"]]
SAID = ["set", ["cell", "out"], {"name": "a"}]
START: Any = ((), ())
HELD: Any = ((), ("x",))


def above(then: list[Any], otherwise: list[Any]) -> list[Any]:
    return [READ, DRAWN, ["if", [">=", ["cell", "r"], ["cell", "x"]], then, otherwise]]


ENDS = above(EXIT, [])


def machine(turn: list[Any], norm: str = "linf", radius: Any = 1, **published: Any) -> Rounds:
    inputs = [["q", {"low": None, "high": None}]]
    near = {"norm": norm, "radius": radius}
    machine = stream([draw("x", 0, 2)], turn, inputs=inputs, adjacency=near)
    machine["published"] |= published
    return read_rounds(machine)


def ends(shift: Any) -> list[Any]:
    """Where the first run ends, so does the second one."""
    return [1, [shift], []]


def goes_on(shift: Any) -> list[Any]:
    """Where the first run goes on, so does the second one."""
    return [1, [shift], None]


def read(turn: list[Any], *pairs: Any, places: Any = (START, HELD), **fields: Any) -> Ends:
    return read_quiet(machine(turn, **fields), places, [*pairs])


def refused(turn: list[Any], *pairs: Any, match: str | None = None, **fields: Any) -> None:
    with pytest.raises(NotProved, match=match):
        read(turn, *pairs, **fields)


OTHERWISE = "ends otherwise"


def test_shifts_make_up_for_all_changes() -> None:
    for shift in (-1, -2):
        assert read(ENDS, ends(shift)) == {HELD: {(): (shift,)}}
    for shift in (1, 2):
        assert read(ENDS, goes_on(shift)) == {HELD: {None: (shift,)}}
    for shift in ("-1/2", 0, 1):
        refused(ENDS, ends(shift), match=OTHERWISE)
    for shift in ("1/2", 0, -1):
        refused(ENDS, goes_on(shift), match=OTHERWISE)
    for radius, up, down in ((2, 1, -1), ("3/2", 1, -1), (2, "3/2", "-3/2")):
        refused(ENDS, goes_on(up), radius=radius, match=OTHERWISE)
        refused(ENDS, ends(down), radius=radius, match=OTHERWISE)
    assert read(ENDS, ends(-2), goes_on(2), radius=2) == {HELD: {(): (-2,), None: (2,)}}


def test_changes_in_one_direction_need_less() -> None:
    assert read(ENDS, ends(0), norm="increasing")
    assert read(ENDS, goes_on(0), norm="decreasing")
    refused(ENDS, ends(0), norm="decreasing", match=OTHERWISE)
    refused(ENDS, goes_on(0), norm="increasing", match=OTHERWISE)


def test_means_move_samples() -> None:
    twice = [*ENDS]
    twice[1] = [*DRAWN[:3], ["*", 2, ["cell", "v"]], [4, -1]]
    assert read(twice, ends(-2))
    refused(twice, ends(-1), match=OTHERWISE)
    # What is held moves it, too: they stay as far apart.
    twice[1] = [*DRAWN[:3], ["+", ["cell", "x"], ["cell", "v"]], [4, -1]]
    for shift in (0, 5, -5):
        refused(twice, ends(shift), match=OTHERWISE)


def test_pairs_are_of_places() -> None:
    for pair in ([1, [-1]], [0, [], []], [2, [-1], []], [-1, [-1], []], [1, [], []]):
        with pytest.raises(BadProof):
            read(ENDS, pair)
    with pytest.raises(BadProof, match="several shifts"):
        read(ENDS, ends(-1), ends(-2))
    refused(above(EXIT, [["set", ["cell", "x"], 3]]), ends(-1), match="no place")


def test_ends_are_seen() -> None:
    for published in ({"ends": False}, {"padding": []}):
        refused(ENDS, ends(-1), match="not seen that runs end", **published)
        assert read(ENDS, **published) == {}


def test_the_second_run_is_quiet() -> None:
    said = above(EXIT, [SAID])
    # It would have to publish something not to end.
    assert read(said, ends(-1))
    refused(said, ends(0), match=OTHERWISE)
    hidden = above([], [SAID])
    refused(hidden, goes_on(0), match="not quiet")
    assert read(hidden, goes_on(-1))


def test_last_words_are_the_same() -> None:
    word = above([SAID, *EXIT], [])
    last = [{"name": "a"}]
    assert read(word, [1, [-1], last]) == {HELD: {("a",): (-1,)}}
    # Nothing ends so: where the first run goes on, the second one must not end otherwise.
    for other in ([], [{"name": "b"}], [*last, *last]):
        refused(word, [1, [-1], other], match=OTHERWISE)
        assert read(word, [1, [1], other])
    # One of two ends is silent.
    both = above([["if", [">=", ["cell", "r"], 0], [SAID], []], *EXIT], [])
    refused(both, [1, [-1], last], match=OTHERWISE)


COUNTED = above([["set", ["cell", "n"], 1]], [])
FREE, ONCE = ((("n", 0),), ("x",)), ((("n", 1),), ("x",))


def test_pairs_lead_to_places_with_what_cells_hold() -> None:
    assert read(COUNTED, goes_on(0), places=(START, FREE, ONCE))
    refused(COUNTED, goes_on(0), places=(START, FREE), match="no place")
    refused(COUNTED, goes_on(0), places=(ONCE, FREE), match="no place")
    other = ((("n", 1),), ("x", "y"))
    refused(COUNTED, goes_on(0), places=(START, FREE, other), match="no place")
    moved = above([["set", ["cell", "x"], ["cell", "r"]]], [])
    refused(moved, goes_on(0), match="shifted otherwise")
    alone = [["set", ["cell", "x"], ["cell", "r"]]]
    refused([READ, DRAWN, *alone], goes_on(0), match="shifted otherwise")
    twice = [["set", ["cell", "x"], ["*", 2, ["cell", "x"]]]]
    refused([READ, ["if", [">=", ["cell", "v"], 0], twice, []]], goes_on(0), match="otherwise")
    assert read([["set", ["cell", "x"], ["+", ["cell", "x"], 3]]], goes_on(0))
    named = above([["set", ["cell", "x"], {"name": "a"}]], [])
    refused(named, goes_on(0), match="no place")


def test_thresholds_of_two_places_are_apart() -> None:
    """One run may be where x is compared, the other where it is x + 1/2."""
    low, high = (
        ["if", [">=", ["cell", "r"], to], EXIT, []]
        for to in (["cell", "x"], ["+", ["cell", "x"], "1/2"])
    )
    side = ["if", [">=", ["cell", "v"], 0], *([["set", ["cell", "n"], k]] for k in (1, 2))]
    later = ["if", ["=", ["cell", "n"], 1], [low], [high]]
    turn = [READ, DRAWN, ["if", ["=", ["cell", "n"], 0], [side], [later]]]
    places = START, *(((("n", k),), ("x",)) for k in range(3))
    assert read(turn, ends("-3/2"), places=places)
    refused(turn, ends("-5/4"), places=places, match=OTHERWISE)


def test_runs_hold_the_same_cells() -> None:
    both = [*ENDS[:2], ["if", [">=", ["cell", "r"], 0],
                        [["set", ["cell", "n"], 1], ["set", ["cell", "y"], ["cell", "x"]]],
                        [["set", ["cell", "n"], 0]]]]  # fmt: skip
    places = START, FREE, ((("n", 1),), ("x", "y"))
    refused(both, goes_on(0), places=places, match="other cells")


def test_shifts_that_grow_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = ["set", ["cell", "x"], ["+", ["cell", "x"], 3]]
    grows = [READ, ["if", [">=", ["cell", "v"], 0], [grown], []]]
    monkeypatch.setattr(quiet, "MOST_PAIRS", 20)
    with pytest.raises(Refused, match="20 quiet pairs"):
        read(grows, goes_on(0))


def test_runs_read_equally_much() -> None:
    refused(above([READ], []), goes_on(0), match="read other numbers")
    assert read(above([], []), goes_on(0))


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
    if holds:
        assert read(turn, goes_on(shift))
    else:
        refused(turn, goes_on(shift), match=OTHERWISE)


def test_changes_of_inputs_are_no_numbers_of_a_run() -> None:
    """The first run reads 5 or more; only the change is at most 1."""
    large = [READ, ["if", [">=", ["cell", "v"], 5], EXIT, []]]
    refused(large, ends(0), match=OTHERWISE)
    assert read(large, ends(0), norm="increasing")
