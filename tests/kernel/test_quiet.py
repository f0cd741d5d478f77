"""Runs that publish nothing more, shifted together: budgets, forgeries, and pairs by hand."""

import copy
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options, StreamProof
from dipapprox.kernel import potential
from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.potential import Ends, read_quiet
from dipapprox.kernel.replay import replay
from dipapprox.kernel.rounds import Rounds, read_rounds
from tests.cases import refuses
from tests.kernel import streams
from tests.kernel.edits import require_sound
from tests.kernel.test_potentials import file_of
from tests.proofs.test_rounds import Writer, of_rounds
from tests.texts import text_of
from tests.thorough import part

STREAM = text_of("kernel/quiet-stream")

ROUNDS = {
    "silent": ("if r >= x then exit end", "1/2", "1/2"),
    "said": ("if r >= x then\npublish a\nexit\nend", "1/2", "1/2"),
    "counted": ("if r >= x then\nn <- n + 1\nif n = 2 then exit end\nend", "1/2", "1/2"),
    "endless": ("if r >= x then n <- 1 end\nif r < x and n = 1 then n <- 0 end", "0", "0"),
    # What is lost for several numbers of rounds is not the same.
    "two sides": ("if r >= x then exit end\nif r <= y then exit end", "3/4", "1"),
    "some rounds": ("if r >= x then exit end\nn <- n + 1\nif n = 2 then\nn <- 0\npublish a\nend",
                    "3/4", "1"),
}  # fmt: skip
"""What is done in a round, and the ends of the least budget."""


def stream(name: str) -> str:
    return STREAM.replace("ROUND", ROUNDS[name][0])


@cache
def found(program: str, **options: Any) -> StreamProof:
    proof = dipapprox.prove(dipapprox.parse(program), options=Options(**options))
    assert isinstance(proof, StreamProof)
    return proof


@pytest.mark.parametrize("name", part(list(ROUNDS), 2))
def test_budgets_of_runs_that_are_quiet(name) -> None:
    _, least, most = ROUNDS[name]
    proof = found(stream(name), proved=True)
    assert (proof.answer, proof.lower, proof.upper) == (Answer.DP, Fraction(least), Fraction(most))
    assert proof.replayed is not None


def test_rounds_that_are_written_out_need_as_much() -> None:
    rounds = dipapprox.parse(stream("silent"), rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget=ROUNDS["silent"][2]).answer is Answer.DP
    assert dipapprox.decide(rounds, budget="9/20").answer is Answer.NOT_DP


class Quiet(Writer):
    """Writes programs that publish seldom, and end often."""

    def _leaf(self) -> Iterator[str]:
        yield "skip"
        if self._chance.random() < 0.1:
            yield f"publish {self._chance.choice('ab')}"
        if self._chance.random() < 0.1:
            yield f"{self._chance.choice(self._stored)} <- r"
        yield from self._end(0.4, 0.6)


@pytest.mark.parametrize("seed", [24, 38])
def test_some_rounds_of_random_programs_never_need_more(seed) -> None:
    program = Quiet(seed).program()
    proof = found(program)
    for turns in (1, 2):
        some = of_rounds(program, turns)
        assert some.lower <= proof.quiet and not some.has_none


# --- forgeries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*part(["silent", "said"], 2), "counted"])
def test_no_forgery_proves_what_is_false(name) -> None:
    require_sound(*file_of(found(stream(name), proved=True)), name)


def changed(name: str, change: Any) -> None:
    """Replay a proof after a change of its machine and its only step."""
    machine, claim, (step, *_) = copy.deepcopy(file_of(found(stream(name), proved=True)))
    change(machine, step)
    replay(machine, {**claim, "at least": None}, [step])


def publishes(**other: Any) -> Any:
    def change(machine: Any, _step: Any) -> None:
        machine["published"] |= other

    return change


def test_ends_that_nobody_sees_are_not_quiet() -> None:
    for other in ({"ends": False}, {"padding": []}):
        refuses(Refuted, "not seen that runs end", changed, "silent", publishes(**other))


def test_the_start_is_no_place_of_a_quiet_pair() -> None:
    """It knows as little as a node may, but it is the body that begins there."""
    body = [
        ["set", ["cell", "x"], ["cell", "q"]],
        ["draw", ["cell", "r"], "Lap", ["cell", "x"], [1, -1]],
        ["if", [">", ["cell", "r"], 0], [["exit"]], []],
    ]
    machine = streams.stream(body, [["exit"]], inputs=[["q", {"low": None, "high": None}]])
    machine["published"]["whenever"] = []
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]]}
    on = {"to": 1, "moves": [[0, [0]]] * 2}
    end = {"to": None, "moves": [[0, [0]]]}
    claim = {"verdict": "DP", "budget": 1, "at least": None}

    def proved(case: Any) -> Any:
        nodes = [{**node, "allowances": [[1, []]], "cases": [on, case]}, {**node, "cases": [None]}]
        step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": [[1, [], []]]}
        return replay(machine, claim, [step])

    assert proved(end) == Budgets(Fraction(1))
    refuses(Refuted, "possible, and seen", proved, None)


def test_a_place_has_one_shift_for_runs_that_end_alike() -> None:
    def change(_machine: Any, step: Any) -> None:
        (place, (shift,), last), *_ = step["quiet"]
        step["quiet"].append([place, [shift - 1], last])

    refuses(BadProof, "several shifts", changed, "silent", change)


# --- pairs by hand: what follows from one, and what does not --------------------------------------

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
    machine = streams.stream([streams.draw("x", 0, 2)], turn, inputs=inputs, adjacency=near)
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
    refuses(NotProved, match, read, turn, *pairs, **fields)


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
        refuses(BadProof, None, read, ENDS, pair)
    refuses(BadProof, "several shifts", read, ENDS, ends(-1), ends(-2))
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


def test_shifts_that_grow_are_refused(monkeypatch) -> None:
    grown = ["set", ["cell", "x"], ["+", ["cell", "x"], 3]]
    grows = [READ, ["if", [">=", ["cell", "v"], 0], [grown], []]]
    monkeypatch.setattr(potential, "MOST_PAIRS", 20)
    refuses(Refused, "20 quiet pairs", read, grows, goes_on(0))


def test_runs_read_equally_much() -> None:
    refused(above([READ], []), goes_on(0), match="read other numbers")
    assert read(above([], []), goes_on(0))


@pytest.mark.parametrize(
    ("shift", "family", "size", "holds"),
    [(1, "Lap", 1, True), (-1, "Lap", 1, False), (1, "Lap", 2, False), (1, "Gauss", 1, False)],
)
def test_noise_is_shared_while_the_same_is_drawn(shift, family, size, holds) -> None:
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
