"""What follows from linear forms: laws against all points of a grid, and what is no region."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.forms import Form, over
from dipapprox.kernel.paths import Held, Path, Sample
from dipapprox.kernel.regions import (
    NOTHING,
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
from dipapprox.kernel.walk import Guard

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


@given(GUARDS)
def test_what_follows_holds_wherever_the_others_do(known: list[Guard]) -> None:
    order = order_of(known)
    assert order is not None or not places(known)
    for (x, y), (least, strict) in (order or {}).items():
        terms = [(k, Fraction(c)) for k, c in sorted([(x, 1), (y, -1)]) if k != NOTHING]
        form = Form(-least, tuple(terms))
        assert all(holds((form, strict), place) for place in places(known))
        assert follows(form.scaled(Fraction(3)), strict, order)
        assert not follows(form.plus(Form(Fraction(-1, 9))), strict, order)
        assert follows(form, True, order) == strict


@given(GUARDS, FORMS, st.booleans())
def test_forms_that_follow_hold_wherever_the_others_do(
    known: list[Guard], form: Form, strict: bool
) -> None:
    order = order_of(known)
    if order is None or follows(form, strict, order):
        assert all(holds((form, strict), place) for place in places(known))


@given(st.lists(st.tuples(DIFFERENCES, st.booleans()), min_size=1, max_size=5))
def test_differences_without_a_common_point_contradict_each_other(known: list[Guard]) -> None:
    """Constants are whole: where there are points, some have thirds in them, not too far away."""
    assert (order_of(known) is None) == (not places(known))


def test_differences_add_up_and_the_strongest_stays() -> None:
    less = X.plus(Y.scaled(Fraction(-1)))
    for a, b in ((0, 0), (-3, -4), (1, 2)):
        known = [(less.plus(Form(Fraction(-a))), False), (Y.plus(Form(Fraction(-b))), False)]
        assert (order_of(known) or {})[0, NOTHING] == (a + b, False)
        large = X.plus(Form(Fraction(-9)))
        assert (order_of([*known, (large, True)]) or {})[0, NOTHING] == (9, True)


def test_a_number_follows_from_itself() -> None:
    for constant, strict, is_so in ((1, True, True), (0, False, True), (0, True, False)):
        assert follows(Form(Fraction(constant)), strict, {}) == is_so
    assert not follows(Form(Fraction(-1)), False, {})


def test_multipliers_are_of_forms_that_are_there_and_above_zero() -> None:
    total = combined([[0, 2], [1, "1/2"]], [(X, False), (Y.plus(ONE), True)])
    assert total == (Form(Fraction(1, 2), ((0, Fraction(2)), (1, Fraction(1, 2)))), True)
    assert combined([[0, 1]], [(X, False), (Y, True)]) == (X, False)
    for factor in (0, -1, "-1/2"):
        with pytest.raises(BadProof, match="not above 0"):
            combined([[0, factor]], [(X, True)])
    for number in (-1, 1):
        with pytest.raises(BadProof, match="no such form"):
            combined([[number, 1]], [(X, True)])


def test_a_form_is_read_as_it_is_written() -> None:
    assert read_form(3, 0) == Form(Fraction(3))
    assert read_form([1, [[0, 1], [1, -1]]], 2) == X.plus(Y.scaled(Fraction(-1))).plus(ONE)
    assert read_form([1, [[0, 0]]], 1) == ONE
    assert read_guards([[[0, [[0, 1]]], True]], 1) == [(X, True)]


@pytest.mark.parametrize(
    ("json", "reason"),
    [
        ([0, [[2, 1]]], "not there"),
        ([0, [[-1, 1]]], "not there"),
        ([0, [[1, 1], [0, 1]]], "ascend"),
        ([0, [[0, 1], [0, 1]]], "ascend"),
    ],
)
def test_a_form_over_other_atoms_is_none(json: object, reason: str) -> None:
    with pytest.raises(BadProof, match=reason):
        read_form(json, 2)


@given(FORMS, FORMS, FORMS)
def test_forms_in_the_place_of_atoms_have_their_values(form: Form, one: Form, other: Form) -> None:
    put = over(form, [one, other])
    for place in GRID[::7]:
        assert value(put, place) == value(form, (value(one, place), value(other, place)))


def of(family: str) -> Sample:
    return Sample(family, Form(Fraction(0)), Fraction(1))


def test_only_continuous_samples_have_no_ties() -> None:
    atoms = (Held("n"), of("DLap"), of("Lap"))
    guards = tuple([(Form(Fraction(0), ((k, Fraction(1)),)), False) for k in range(3)])
    assert [above for _, above in known_forms(Path({}, atoms, guards))] == [False, False, True]
    # It is the last sample that tells.
    sums = [(Form(Fraction(0), ((k, Fraction(1)), (k + 1, Fraction(1)))), False) for k in (0, 1)]
    assert [above for _, above in known_forms(Path({}, atoms, tuple(sums)))] == [False, True]
    after = Path({}, (of("Lap"), of("DLap")), (sums[0],))
    assert known_forms(after) == sums[:1]
    strict = tuple([(form, True) for form, _ in guards])
    assert [above for _, above in known_forms(Path({}, atoms, strict))] == [True, True, True]


def test_atoms_after_the_first_that_differs_are_others() -> None:
    atoms = (Held("n"), of("Lap"))
    assert same_atoms(atoms, atoms) == 2
    assert same_atoms(atoms, (Held("n"), of("LapPlus"))) == 1
    assert same_atoms(atoms, (Held("n"),)) == 1
    both = Form(Fraction(0), ((0, Fraction(1)), (1, Fraction(1))))
    path = Path({}, (Held("n"), of("LapPlus")), ((both, True),))
    assert renamed_forms(path, 2, same_atoms(path.atoms, atoms)) == [
        (Form(Fraction(0), ((0, Fraction(1)), (3, Fraction(1)))), True)
    ]
    assert renamed_forms(Path({}, atoms, ((both, True),)), 2, 2) == [(both, True)]


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


def test_joined_paths_are_their_region() -> None:
    (own, region), (_, alone) = joined(three(), [])
    assert (own, alone.said) == ([0, 1], ("no",))
    assert region == Path({"a": Fraction(1)}, ATOMS, ((X, True),), ("yes",))
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


@pytest.mark.parametrize(
    "change",
    [
        {"said": ("no",)},
        {"ended": True},
        {"atoms": (of("Lap"), of("Gauss"))},
        {"store": {"a": Fraction(2)}},
        {"store": {}},
    ],
)
def test_paths_that_do_different_things_are_not_joined(change: dict[str, Any]) -> None:
    assert [0] in numbers(three(**change))


def test_no_other_path_meets_a_region() -> None:
    for guards in (((X.plus(ONE), True), (MINUS_X.plus(ONE), True)), ()):
        paths = three()
        paths[2].guards = guards
        assert numbers(paths) == [[0], [1], [2]]
        # Facts say that it is not there, or nothing of it.
        assert numbers(paths, [(MINUS_X, False)]) == [[0, 1], [2]]
        assert numbers(paths, [(MINUS_Y, False)]) == [[0], [1], [2]]
    # A sample of its own says nothing of the others.
    paths = three()
    paths[2].atoms = (of("Gauss"), of("Lap"))
    assert numbers(paths) == [[0], [1], [2]]
    # Where nothing is known of any of them, they are not apart.
    everything = [Path({}, ATOMS, ((form, True),)) for form in (X, MINUS_X)]
    assert joined(everything, [])[0][1].guards == ()
    assert numbers([*everything, Path({}, ATOMS, (), ("no",))]) == [[0], [1], [2]]
