"""Inputs that are read through a clamp or a modulus alone, by the kernel and by the search."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Options, parse, profile, prove, verify
from dipapprox.errors import UserError
from dipapprox.kernel.clamps import without_clamps
from dipapprox.kernel.machine import Range, compares, read_machine
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.served import all_numbers
from dipapprox.proof_steps.machines import program_json
from dipapprox.semantics import clamps
from kernel.machines import cell, finite

HALF = Fraction(1, 2)
PROVED = Options(proved=True)
LINF: Any = {"norm": "linf", "radius": 1}
ONE_WAY: Any = {"norm": "increasing", "radius": 1}
U, Y = cell("u"), cell("y")
READ: Any = ["set", Y, U]
TOLD: Any = [
    ["draw", cell("x"), "Lap", Y, [1, -1]],
    ["if", [">", cell("x"), 0], [["set", cell("o"), 1]], [["set", cell("o"), 0]]],
]


def below(end: Any, rest: Any, value: Any = None, by: Any = U, place: Any = Y) -> Any:
    """y is at least a number."""
    return ["if", ["<", by, end], [["set", place, end if value is None else value]], [rest]]


def above(end: Any, rest: Any, value: Any = None, by: Any = U, place: Any = Y) -> Any:
    """y is at most a number."""
    return ["if", [">", by, end], [["set", place, end if value is None else value]], [rest]]


def modulus(rest: Any = READ, slope: int = -1, end: int = 0, of: Any = U) -> Any:
    return ["if", ["<", U, end], [["set", Y, ["*", slope, of]]], [rest]]


def range_left(*body: Any, adjacency: Any = LINF, low: Any = -2, high: Any = 3) -> Any:
    """What is left of the range of u; None if that is all of it, and nothing else has changed."""
    inputs = [["u", {"low": low, "high": high}], ["v", {"low": 0, "high": 1}]]
    machine = read_machine(finite([*body, *TOLD], inputs=inputs, adjacency=adjacency))
    found = without_clamps(machine)
    if found == machine:
        return None
    (_, left), (_, other) = found.inputs
    assert other == Range(Fraction(0), Fraction(1))
    return left.low, left.high


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (below(0, above(1, READ)), (0, 1)),
        (above(1, below(0, READ)), (0, 1)),
        (below(0, READ), (0, 3)),
        (above(1, READ), (-2, 1)),
        (below("1/3", above(3, below(-1, READ))), (Fraction(1, 3), 3)),
        (modulus(), (0, 3)),
        # Each with one thing changed.
        (below(0, above(1, READ), value=1), None),
        (below(0, above(1, READ, value=0)), None),
        (below(0, above(1, READ), by=cell("v")), (-2, 1)),  # beside something else
        (below(0, above(1, READ, by=cell("v"))), None),
        (below(0, above(1, READ, place=cell("z"))), None),
        (below(0, above(1, ["set", cell("z"), U])), None),
        (below(0, above(1, ["set", Y, cell("v")])), None),
        (below(1, above(0, READ)), None),
        (above(0, below(1, READ)), None),
        (below(-3, READ), None),
        (above(4, READ), None),
        (below({"name": "n"}, READ), None),
        (below(0, above(1, modulus())), None),
        (["if", [">=", U, 0], [["set", Y, 0]], [READ]], None),
        (["if", ["<", U, 0], [["set", Y, 0], READ], [READ]], None),
        (["if", ["<", U, 0], [["set", Y, 0]], [READ, READ]], None),
        (["if", ["<", U, 0], [["set", Y, 0]], []], None),
        (modulus(slope=1), None),
        (modulus(slope=-2), None),
        (modulus(end=1), None),
        (modulus(of=cell("v")), None),
        (modulus(rest=["set", cell("z"), U]), None),
        (modulus(rest=["set", Y, cell("v")]), None),
    ],
)
def test_which_statements_hold_inputs(body, left) -> None:
    assert range_left(body) == left


def test_what_is_held_is_read_itself() -> None:
    inputs = [["u", {"low": -2, "high": 3}]]
    for body in (below(0, above(1, READ)), modulus()):
        more = ["if", [">", cell("v"), 1], [body], []]
        found = without_clamps(read_machine(finite([more, *TOLD], inputs=inputs, adjacency=LINF)))
        assert found.body == read_machine(finite([[*more[:2], [READ], []], *TOLD])).body


@pytest.mark.parametrize(
    "more",
    [
        ["set", cell("z"), U],
        ["set", cell("z"), ["+", U, 1]],
        below(0, above(2, READ)),
        ["draw", cell("z"), "Lap", U, [1, -1]],
        ["if", [">", cell("v"), U], [], []],
        ["choose", cell("z"), [[U, 1]], False],
        ["set", ["element", "z", 2, U], 0],
        ["set", U, 0],
    ],
)
def test_inputs_that_are_read_themselves_too_stay(more) -> None:
    held = below(0, above(1, READ))
    assert range_left(held) == (0, 1)
    assert range_left(more, held) is None
    assert range_left(held, ["if", ["<", cell("v"), 1], [more], []]) is None


def test_clamps_and_moduli_between_the_same_ends_are_two_functions() -> None:
    assert range_left(below(0, READ)) == range_left(modulus()) == (0, 3)
    assert range_left(modulus(), below(0, READ)) is None


def test_a_text_with_both_has_no_verdict_of_one() -> None:
    """0 and -1 have the differences 0 and 1: it was DP with delta 0."""
    text = (
        "input q in real -1..1\noutput o in {0, 1}\nadjacent linf 1\na <- abs(q)\n"
        "b <- max(q, 0)\nx <- Lap(a - b, 1/eps)\nif x > 1/2 then o <- 1 else o <- 0 end\n"
    )
    with pytest.raises(UserError, match="which has no noise yet"):
        verify(parse(text), eps=1, eps_prv="1/10", delta="1/100")


def test_elements_of_elements_that_an_index_selects_are_read() -> None:
    name = cell("u[1][1]")
    for more in (["element", "u[1]", 1, 1], ["moving", "u[1]", 1], ["moving", "u", 1]):
        body = [below(0, ["set", Y, name], by=name), ["repeat", 2, [["set", cell("z"), more]]]]
        inputs = [["u[1][1]", {"low": -1, "high": 1}]]
        machine = read_machine(finite([*body, *TOLD], inputs=inputs, adjacency=LINF))
        assert without_clamps(machine) == machine


def test_inputs_that_are_published_are_read() -> None:
    body = [below(0, above(0, READ))]
    for first, kept in ((["y"], 0), (["u"], 1), (["y", "u"], 1)):
        published = {"whenever": [], "first": first, "each": [], "ends": True, "padding": None}
        inputs = [["u", {"low": -1, "high": 1}]]
        about = {"inputs": inputs, "whole": False, "adjacency": LINF, "body": body}
        machine = read_rounds({**about, "round": None, "published": published})
        assert machine.inputs["u"] == Range(Fraction(-kept), Fraction(kept))


def test_finite_numbers_of_a_budget_are_held_but_what_is_seen_and_integers() -> None:
    held = read_machine(finite([below(0, READ), *TOLD], inputs=[["u", [-2, 0, 3]]], adjacency=LINF))
    wide, narrow = Range(Fraction(-2), Fraction(3)), Range(Fraction(0), Fraction(3))
    seen = held._replace(reals=("u",))
    for machine, whole, left in ((held, False, narrow), (held, True, wide), (seen, False, wide)):
        found = all_numbers(machine, whole, None)
        assert found.inputs == {"u": left}
        assert (found.body == machine.body) is (left == wide)


def test_names_that_are_forgotten_are_no_conditions() -> None:
    assert not compares(("forget", ("if",)), frozenset(["u"]))


def test_elements_that_a_turn_or_an_index_selects_are_read() -> None:
    name = cell("u[2]")
    for more in (["element", "u", 2, cell("z")], ["moving", "u", 1], 1):
        body = [below(0, ["set", Y, name], by=name), ["repeat", 2, [["set", cell("z"), more]]]]
        inputs = [[f"u[{k}]", {"low": -1, "high": 1}] for k in (1, 2)]
        machine = read_machine(finite([*body, *TOLD], inputs=inputs, adjacency=LINF))
        left = dict(without_clamps(machine).inputs)["u[2]"]
        assert isinstance(left, Range)
        assert left.low == (0 if more == 1 else -1)


def test_ranges_and_adjacency_that_the_theorem_is_not_about() -> None:
    held = below(0, above(1, READ))
    for each in ({"norm": "all"}, {"norm": "l1", "radius": 1}, {"norm": "l0", "radius": 1}):
        assert range_left(held, adjacency=each) == (0, 1)
        assert range_left(modulus(), adjacency=each) == (0, 3)
    for norm in ("increasing", "decreasing"):
        assert range_left(held, adjacency={"norm": norm, "radius": 1}) == (0, 1)
        assert range_left(modulus(), adjacency={"norm": norm, "radius": 1}) is None
    assert range_left(held, adjacency={"pairs": [[[0, 0], [1, 1]]], "one way": False}) is None
    assert range_left(held, low=None, high=None) == (0, 1)
    assert range_left(below(0, READ), low=None, high=None) == (0, None)
    assert range_left(modulus(), low=-3, high=3) == (0, 3)
    for low, high in ((-3, 2), (1, 2), (None, 2), (-2, None), (None, None)):
        assert range_left(modulus(), low=low, high=high) is None


# --- the theorem ---------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Any:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([READ] * 4 + [["set", Y, 1], modulus()]))
    side = draw(st.sampled_from([below, above]))
    end = draw(st.integers(-3, 3))
    value = draw(st.sampled_from([None] * 6 + [0, 1]))
    return side(end, draw(trees(depth=depth - 1)), value)


def value_at(tree: Any, u: Fraction) -> Fraction:
    match tree:
        case "set", _, value:
            return {"u": u}.get(value[1], -u) if isinstance(value, list) else Fraction(value)
        case "if", [relation, _, end], [then], [otherwise]:
            return value_at(then if (u < end if relation == "<" else u > end) else otherwise, u)
    raise AssertionError(tree)


@given(trees(), st.integers(-3, 3), st.integers(0, 4), st.sampled_from([LINF, ONE_WAY]))
def test_what_is_held_is_as_in_the_theorem(tree, low, width, adjacency) -> None:
    left = range_left(tree, adjacency=adjacency, low=low, high=low + width)
    if left is None:
        return
    points = [low + Fraction(k, 4) for k in range(4 * width + 1)]
    held = {u: value_at(tree, u) for u in points}
    assert {*held.values()} == {u for u in points if left[0] <= u <= left[1]}
    assert all(held[own] == own for own in held.values())
    for (u, f), (v, g) in product(held.items(), repeat=2):
        assert abs(f - g) <= abs(u - v)
        assert adjacency is LINF or u > v or f <= g


# --- the search ----------------------------------------------------------------------------------

NEAR = "adjacent linf 1\n"
SHOWN = "o <- 0\nif x > 1/2 then\no <- 1\nend\n"
PROGRAMS = {
    "clamp": ("clamp(q, 0, 1)", "real -1..3", "real 0..1"),
    "one end": ("max(q, 0)", "real -1..1", "real 0..1"),
    "the other end": ("min(1/2, q)", "real -1..1", "real -1..1/2"),
    "modulus": ("abs(q)", "real -1..2", "real 0..2"),
    "no end that it passes": ("clamp(q, -5, 5)", "real 0..1", "real 0..1"),
    "above 0": ("abs(q)", "real 1..2", "real 1..2"),
    "without ends": ("clamp(q, 0, 1)", "real", "real 0..1"),
    "clamps of clamps": ("max(0, min(clamp(q, -1, 2), 1))", "real -2..3", "real 0..1"),
    "one below the other": ("min(max(q, 0), 1)", "real", "real 0..1"),
}


def text_of(mean: str, domain: str, adjacency: str = NEAR) -> str:
    draw = f"x <- Gauss({mean}, 1 / eps)\n"
    return f"input q in {domain}\noutput o in {{0, 1}}\n{adjacency}{draw}{SHOWN}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_the_smaller_range(name) -> None:
    mean, domain, smaller = PROGRAMS[name]
    whole, small = parse(text_of(mean, domain)), parse(text_of("q", smaller))
    asked: Any = {"eps": 1, "eps_prv": "1/4"}
    found, known = (profile(each, **asked, width="1e-6") for each in (whole, small))
    assert found.delta_enclosure.lower <= known.delta_enclosure.upper
    assert known.delta_enclosure.lower <= found.delta_enclosure.upper
    assert found.delta_enclosure.width < 1e-6
    assert f"q in {domain}, adjacent" in found.run.scope.text
    # The kernel finds the same by itself.
    kept = read_machine(program_json(clamps.without_clamps(whole)))
    assert without_clamps(read_machine(program_json(whole))).inputs == kept.inputs
    for delta in (found.delta_enclosure.upper + Fraction(1, 10**4),):
        assert verify(whole, **asked, delta=delta, options=PROVED).answer.value == "DP"
    least = found.delta_enclosure.lower - Fraction(1, 10**4)
    assert verify(whole, **asked, delta=least, options=PROVED).answer.value == "Not_DP"


def test_budgets_are_those_of_the_smaller_range() -> None:
    text = text_of("clamp(q, 0, 1/2)", "real").replace("Gauss", "Lap")
    found = prove(parse(text), options=PROVED)
    assert (found.lower, found.upper, found.replayed is None) == (HALF, HALF, False)


@pytest.mark.parametrize(
    ("mean", "domain", "adjacency"),
    [
        ("clamp(q, 0, 1) + q", "real -1..3", NEAR),
        ("clamp(q, 0, 1) + clamp(q, 0, 2)", "real -1..3", NEAR),
        ("max(0, min(q, 1)) + min(q, 1)", "real -1..3", NEAR),
        ("max(q, min(q, 1))", "real -1..3", NEAR),
        ("abs(q)", "real -2..1", NEAR),
        ("abs(q)", "real -1..1", "adjacent increasing 1\n"),
        ("clamp(q, 4, 5)", "real 0..1", NEAR),
        ("max(q, 0)", "real", NEAR),
    ],
)
def test_what_is_not_held_alone_is_refused_with_its_place(mean, domain, adjacency) -> None:
    with pytest.raises(UserError, match=r"an input, which has no noise|without noise"):
        verify(parse(text_of(mean, domain, adjacency)), eps=1, delta="1/2")


def test_an_input_that_a_loop_reads_itself_stays() -> None:
    """The turns of the loop are there once, with the first element."""
    read = "for i in 1..8 do\nx <- Lap(q[i], 1 / eps)\nif x > 3 then\no[i] <- 1\nend\nend\n"
    text = (
        "input q[8] in real -1..1\noutput o[8] in {0, 1}\noutput y in real\nadjacent linf 1\n"
        f"for i in 1..8 do\no[i] <- 0\nend\ny <- Lap(max(q[2], 0), 1 / eps)\n{read}"
    )
    program = parse(text)
    assert clamps.without_clamps(program).inputs == program.inputs
    alone = parse(text.replace(read, ""))
    assert clamps.without_clamps(alone).inputs[1].domain.bounds == (0, 1)
