"""Sets of real inputs: what linear forms imply, and deltas from vertices and curvature."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import erfc, exp, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel import sets
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.forms import Form, over
from dipapprox.kernel.machine import Adjacency, Machine, Range, read_machine
from dipapprox.kernel.paths import Held, Path, Sample
from dipapprox.kernel.proofs import Proof, distributions, largest_of
from dipapprox.kernel.regions import (
    NUMBER,
    combined,
    follows,
    joined,
    known_forms,
    order_of,
    read_form,
    read_guards,
    renamed_forms,
    same_atoms,
)
from dipapprox.kernel.sets import every_real_pair, representatives
from dipapprox.kernel.walk import Guard
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from kernel.ends import lower
from kernel.machines import finite, judged
from kernel.small import program_of
from tests.cases import check_answers, refuses

GRID = list(itertools.product([Fraction(k, 3) for k in range(-15, 16)], repeat=2))
NUMBERS = st.integers(-2, 2).map(Fraction)
FORMS = st.builds(
    lambda constant, a, b: Form(constant, tuple([(k, c) for k, c in enumerate((a, b)) if c])),
    NUMBERS,
    NUMBERS,
    NUMBERS,
)
GUARDS = st.lists(st.tuples(FORMS, st.booleans()), min_size=1, max_size=4)
DIFFERENCES = st.builds(
    lambda constant, terms: Form(constant, tuple((k, Fraction(c)) for k, c in terms)),
    NUMBERS,
    st.sampled_from([((0, 1),), ((0, -1),), ((1, 1),), ((1, -1),), ((0, 1), (1, -1)),
                     ((0, -1), (1, 1))]),
)  # fmt: skip

X = Form(Fraction(0), ((0, Fraction(1)),))
Y = Form(Fraction(0), ((1, Fraction(1)),))
ONE = Form(Fraction(1))


def value(form: Form, place: Sequence[Fraction]) -> Fraction:
    return sum((c * place[atom] for atom, c in form.terms), form.constant)


def holds(guard: Guard, place: Sequence[Fraction]) -> bool:
    form, strict = guard
    return value(form, place) > 0 or (not strict and value(form, place) == 0)


def places(known: Sequence[Guard]) -> list[tuple[Fraction, ...]]:
    return [place for place in GRID if all(holds(guard, place) for guard in known)]


def form_at(end: Any) -> Form:
    """One end of a difference: 0, an atom, or the terms of a sum."""
    return Form(0, end if isinstance(end, tuple) else () if end == NUMBER else ((end, 1),))


@given(GUARDS)
def test_what_follows_holds_wherever_the_others_do(known) -> None:
    order = order_of(known)
    assert order is not None or not places(known)
    for (x, y), (least, strict) in (order or {}).items():
        form = form_at(x).plus(form_at(y).scaled(-1)).plus(Form(-least))
        assert all(holds((form, strict), place) for place in places(known))
        # Sums that are compared with other atoms, or sums, than 0 may say more of a third one.
        if {x, y} <= {NUMBER, 0, 1} or NUMBER in (x, y):
            assert follows(form.scaled(Fraction(3)), strict, order)
            assert not follows(form.plus(Form(Fraction(-1, 9))), strict, order)
            assert follows(form, True, order) == strict


@given(GUARDS, FORMS, st.booleans())
def test_forms_that_follow_hold_wherever_the_others_do(known, form, strict) -> None:
    order = order_of(known)
    if order is None or follows(form, strict, order):
        assert all(holds((form, strict), place) for place in places(known))


@given(st.lists(st.tuples(DIFFERENCES, st.booleans()), min_size=1, max_size=5))
def test_differences_without_a_common_point_contradict_each_other(known) -> None:
    """Constants are whole: where there are points, some have thirds in them, not too far away."""
    assert (order_of(known) is None) == (not places(known))


@given(FORMS, FORMS, FORMS)
def test_forms_in_the_place_of_atoms_have_their_values(form, one, other) -> None:
    put = over(form, [one, other])
    for place in GRID[::7]:
        assert value(put, place) == value(form, (value(one, place), value(other, place)))


def of(family: str) -> Sample:
    return Sample(family, Form(Fraction(0)), Fraction(1))


# --- joined paths ---------------------------------------------------------------------------------

ATOMS = (of("Lap"), of("Lap"))
MINUS_X = X.scaled(Fraction(-1))
MINUS_Y = Y.scaled(Fraction(-1))


def three(**changes: Any) -> list[Path]:
    """x > 0 and y > 0, x > 0 and y < 0; x < 0."""
    paths = [
        Path({"a": Fraction(1)}, ATOMS, ((X, True), (Y, True)), ("yes",)),
        Path({"a": Fraction(1)}, ATOMS, ((X, True), (MINUS_Y, True)), ("yes",)),
        Path({"a": Fraction(1)}, ATOMS, ((MINUS_X, True),), ("no",)),
    ]
    for name, each in changes.items():
        setattr(paths[1], name, each)
    return paths


def numbers(paths: list[Path], facts: Sequence[Guard] = ()) -> list[list[int]]:
    return [own for own, _ in joined(paths, facts)]


def test_the_strongest_difference_stays_an_integer_or_not() -> None:
    for least in (3, Fraction(1, 2), -3):
        known = [(Form(-least, ((0, 1),)), True), (Form(-least, ((0, 1),)), False)]
        known.append((Form(1 - least, ((0, 1),)), True))
        assert order_of(known) == order_of(known[:1]) == {(0, NUMBER): (least, True)}
        assert order_of(known[1:]) == {(0, NUMBER): (least, False)}
    steps = [(Form(-1, ((k, 1), (k + 1, -1))), False) for k in (0, 1)]
    order = {(0, 1): (1, False), (1, 2): (1, False), (0, 2): (10, False)}
    assert order_of([(Form(-10, ((0, 1), (2, -1))), False), *steps]) == order


def test_ties_of_integers_are_in_both() -> None:
    atoms = (of("DLap"), of("DLap"))
    alike = [Path({}, atoms, ((X, False), own), ("yes",)) for own in ((Y, True), (MINUS_Y, False))]
    for strict in (True, False):
        other = Path({}, atoms, ((MINUS_X, strict),), ("no",))
        assert numbers([*alike, other]) == ([[0, 1], [2]] if strict else [[0], [1], [2]])


def test_joined_paths_are_their_region() -> None:
    (own, region), (_, alone) = joined(three(), [])
    assert (own, alone.said) == ([0, 1], ("no",))
    assert (region.store, region.atoms, region.said) == ({"a": Fraction(1)}, ATOMS, ("yes",))
    assert region.guards == ((X, True),)
    # It is as wide as all of them together.
    wide = three(guards=((X.plus(ONE), True), (MINUS_X, True)))
    wide[2].guards = ((MINUS_X.plus(ONE.scaled(Fraction(-1))), False),)
    assert joined(wide, [])[0][1].guards == ((X.plus(ONE), True),)
    assert joined(wide[1::-1] + wide[2:], [])[0][1].guards == ((X.plus(ONE), True),)
    below = Y.plus(MINUS_X)
    sides = [Path({}, ATOMS, ((below, True), (form, True))) for form in (X, MINUS_X)]
    assert joined([*sides, Path({}, ATOMS, ((below.scaled(Fraction(-1)), False),), ("no",))], [])[
        0
    ][1].guards == ((below, True),)
    # What is impossible has no part in it.
    never = three(guards=((X, True), (MINUS_X, True)))
    assert joined(never[:2], [])[0][1].guards == ((X, True), (Y, True))
    assert numbers([never[1]] * 2) == [[0], [1]]


# --- Deltas of sets of real inputs ----------------------------------------------------------------

Json = Any
Band = tuple[float, float | None]
EPS_PRV = Fraction(1, 10)
CURVATURE = 0.484
"""Of Gaussian noise of scale 1: half of 4 phi(1), rounded up."""


def machine(bands: list[Band], high: int, adjacency: Json, named: bool) -> Machine:
    """A noisy number lies in the first band, in the second one, or outside."""
    x, o = ["cell", "x"], ["cell", "o"]
    tree: Json = [["set", o, 0]]
    for k, (low, top) in reversed(list(enumerate(bands, 1))):
        inside: Json = [">=", x, number_json(Fraction(low))]
        if top is not None:
            inside = ["and", inside, ["<=", x, number_json(Fraction(top))]]
        tree = [["if", inside, [["set", o, k]], tree]]
    names = [["c", [{"name": "one"}, {"name": "two"}]]] if named else []
    body = [["draw", x, "Gauss", ["cell", "q"], [1, 0]], *tree]
    inputs = [["q", {"low": 0, "high": high}], *names]
    return read_machine(
        finite(body, inputs=inputs, outputs=[["o", [0, 1, 2]]], adjacency=adjacency)
    )


def private(of: Machine, delta: Fraction, eps_prv: Fraction = EPS_PRV) -> str:
    stated = {"eps_prv": number_json(eps_prv), "delta": number_json(delta)}
    return words_of(every_real_pair(Proof(of, None), {"eps": "1/2", "bits": 40, **stated}))


def between(low: float, high: float | None, q: float) -> float:
    """Pr[low <= q + Z <= high]."""
    above = [erfc((end - q) / sqrt(2)) / 2 for end in (low, high) if end is not None]
    return above[0] - sum(above[1:])


def largest(bands: list[Band], u: float, v: float) -> float:
    """Of f_S for two inputs, over all S but {}; for all outputs it is 1 - a."""
    rows = []
    for q in (u, v):
        row = [between(*band, q) for band in bands]
        rows.append([*row, 1 - sum(row)])
    f = [p - exp(EPS_PRV) * q for p, q in zip(*rows, strict=True)]
    return sum(max(each, 0.0) for each in f) or max(f)


ALL: Json = {"norm": "all"}
NEAR: Json = {"norm": "linf", "radius": 1}
BAND: list[Band] = [(0.25, 0.75)]
LEVEL: list[Band] = [(1.0, None)]

# (bands, high, adjacency; vertices with the squares of lengths of each set)
PARTS: dict[str, tuple[Any, int, Json, Any]] = {
    "a square": (BAND, 1, ALL, [([(u, v) for u in (0.0, 1.0) for v in (0.0, 1.0)], 1, 1)]),
    "ends of changes": (
        LEVEL,
        2,
        NEAR,
        [([(1.0, 0.0), (2.0, 1.0)], 1, 1), ([(0.0, 1.0), (1.0, 2.0)], 1, 1)],
    ),
}


@pytest.mark.parametrize("named", [False, True], ids=["alone", "beside a name"])
@pytest.mark.parametrize("name", PARTS)
def test_a_bound_is_the_largest_at_vertices_and_the_share_of_curvature(name, named) -> None:
    bands, high, adjacency, expected = PARTS[name]
    if named and adjacency != ALL:
        return
    of = machine(bands, high, adjacency, named)
    bound = max(
        max(largest(bands, *pair) for pair in vertices)
        + CURVATURE * (first + exp(EPS_PRV) * second) / 8
        for vertices, first, second in expected
    )
    # Finite inputs may change as well: a set of pairs for each pair of names.
    count = (4 if named else 1) * len(expected)
    above, below = (Fraction(round((bound + d) * 10**8), 10**8) for d in (1e-7, -1e-7))
    assert f"bounded on {count} sets of them" in private(of, above)
    assert f"bounded on {count} sets of them" not in private(of, below)


@pytest.mark.parametrize("name", PARTS)
def test_what_a_pair_exceeds_is_refuted_and_hardly_more_is_shown(name) -> None:
    bands, high, adjacency, _ = PARTS[name]
    of = machine(bands, high, adjacency, False)
    grid = [k / 64 for k in range(64 * high + 1)]
    pairs = [(u, v) for u in grid for v in grid if abs(u - v) <= 1]
    most = Fraction(round(max(largest(bands, *pair) for pair in pairs) * 10**6), 10**6)
    assert "sets of them" in private(of, most + Fraction(1, 500))
    refuses(Refuted, "is larger", private, of, most - Fraction(1, 500))


def test_no_unit_of_the_last_place_is_given_away() -> None:
    """A delta that is attained is a bound; a unit less is none, and no error is rounded down."""
    of, step = machine(BAND, 1, ALL, False), {"eps": "1/2", "bits": 40}
    found = distributions(Proof(of, None), {**step, "inputs": [[0], [1]]})
    unit = Fraction(1, 1 << found.places)
    f_s, curvature = largest_of(found, EPS_PRV), Fraction(484, 1000)
    most = max(f_s((u,), (v,)) for u in (0, 1) for v in (0, 1)) * unit
    with precision(300):
        growth = lower(to_ball(EPS_PRV).exp())
    error = curvature * (1 + growth) / 8
    for delta, holds in ((most + error, False), (most + error + unit, True)):
        assert ("on 1 sets" in private(of, delta)) == holds


def test_of_single_pairs_the_bound_is_attained() -> None:
    zero = machine(BAND, 0, ALL, False)
    step = {"eps": "1/2", "bits": 40, "inputs": [[0]]}
    found = distributions(Proof(zero, None), step)
    f_s = largest_of(found, Fraction(0))((0,), (0,))
    assert f_s > 0  # probabilities are enclosed
    unit = Fraction(1, 1 << found.places)
    private(zero, f_s * unit, Fraction(0))
    refuses(Refuted, "is larger", private, zero, (f_s - 1) * unit, Fraction(0))


def test_what_has_no_sets_of_pairs_is_refused(monkeypatch) -> None:
    of = machine(BAND, 1, ALL, False)
    step: Json = {"eps": "1/2", "bits": 40, "eps_prv": "1/10", "delta": 1}
    every_real_pair(Proof(of, None), step)
    with monkeypatch.context() as patch:
        patch.setattr(sets, "MOST_PARTS", 0)
        with pytest.raises(Refused, match="more than 0 sets"):
            every_real_pair(Proof(of, None), {**step, "delta": "1/10"})
    endless = of._replace(inputs=(("q", Range(None, None)),), adjacency=Adjacency("linf", 1))
    refuses(Refused, "without ends", every_real_pair, Proof(endless, None), step)
    refuses(BadProof, "listed pairs", every_real_pair, Proof(of, (((0,), (1,)),)), step)
    body = [["draw", ["cell", "y"], "Gauss", ["cell", "q"], [1, 0]]]
    inputs = [["q", {"low": 0, "high": 1}]]
    telling = read_machine(finite(body, inputs=inputs, outputs=[], reals=["y"]))
    refuses(BadProof, "published numbers", every_real_pair, Proof(telling, None), step)


def test_a_line_of_pairs_is_no_single_pair() -> None:
    """Its ends have other changes than what lies between; or the same, which is not enough."""
    text = "input q in real 0..1\noutput y in real\nadjacent all\ny <- Gauss(q, 1)"
    shifted = read_machine(machine_json(program_of(text)))
    found = representatives(shifted)
    assert {v - u for (u,), (v,) in found} == {-1, 1}  # type: ignore[operator]
    refuses(Refuted, "more pairs than one", representatives, machine(LEVEL, 2, NEAR, False))


# --- Forms and paths, and what is refused of them: expressions, and what is said of each ----------

HELD = (Held("n"), of("Lap"))
EVERYTHING = [Path({}, ATOMS, ((form, True),)) for form in (X, MINUS_X)]
"""Where nothing is known of any of them, they are not apart."""


def number(constant: int) -> Form:
    return Form(Fraction(constant))


def sums(*atoms: int) -> Form:
    return Form(Fraction(0), tuple((atom, Fraction(1)) for atom in atoms))


def bound(*known: Guard) -> tuple[str, bool]:
    """What is known of x."""
    least, strict = (order_of(known) or {})[0, NUMBER]
    return least, strict


def known(atoms: Sequence[Held | Sample], *forms: Form, strict: bool = False) -> list[bool]:
    """Only continuous samples have no ties; it is the last sample that tells."""
    guards = tuple((form, strict) for form in forms)
    return [above for _, above in known_forms(Path({}, tuple(atoms), guards))]


def third(**changes: Any) -> list[Path]:
    """Another path that meets the region of the first two, or may: facts say whether."""
    paths = three()
    for name, each in changes.items():
        setattr(paths[2], name, each)
    return paths


def test_forms_and_paths() -> None:
    asked = {
        "combined": combined,
        "read_form": read_form,
        "read_guards": read_guards,
        "renamed_forms": renamed_forms,
        "same_atoms": same_atoms,
    }
    check_answers("kernel_regions", judged(globals() | asked))
