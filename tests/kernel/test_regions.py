"""What follows from linear forms: laws against all points of a grid, and what is no region."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.forms import Form, over
from dipapprox.kernel.paths import Held, Path, Sample
from dipapprox.kernel.regions import (
    combined,
    contradiction,
    implied,
    known_forms,
    read_form,
    read_guards,
    renamed_forms,
    same_atoms,
    with_regions,
)
from dipapprox.kernel.walk import Guard

GRID = list(itertools.product([Fraction(k, 2) for k in range(-6, 7)], repeat=2))
NUMBERS = st.integers(-2, 2).map(Fraction)
FORMS = st.builds(
    lambda constant, a, b: Form(constant, tuple([(k, c) for k, c in enumerate((a, b)) if c])),
    NUMBERS,
    NUMBERS,
    NUMBERS,
)
GUARDS = st.lists(st.tuples(FORMS, st.booleans()), min_size=1, max_size=4)
MULTIPLIERS = st.dictionaries(st.integers(0, 3), st.integers(1, 3), max_size=4)

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


def listed(multipliers: dict[int, int]) -> list[list[Any]]:
    return [[number, factor] for number, factor in multipliers.items()]


@given(GUARDS, FORMS, st.booleans(), MULTIPLIERS)
def test_what_is_implied_holds_wherever_the_others_do(
    known: list[Guard], form: Form, strict: bool, multipliers: dict[int, int]
) -> None:
    try:
        implied(form, strict, listed(multipliers), known)
    except (BadProof, Refuted):
        return
    assert all(holds((form, strict), place) for place in places(known))


@given(GUARDS, MULTIPLIERS)
def test_forms_that_contradict_each_other_hold_nowhere(
    known: list[Guard], multipliers: dict[int, int]
) -> None:
    try:
        contradiction(listed(multipliers), known, {})
    except (BadProof, Refuted):
        return
    assert not places(known)


@given(GUARDS, MULTIPLIERS, st.sampled_from([Fraction(-1), Fraction(0), Fraction(1)]))
def test_a_sum_and_a_number_follow_if_the_number_is_not_below_zero(
    known: list[Guard], multipliers: dict[int, int], slack: Fraction
) -> None:
    inside = {number: factor for number, factor in multipliers.items() if number < len(known)}
    total, above = combined(listed(inside), known)
    assert above == any(known[number][1] for number in inside)
    follows = {False: slack >= 0, True: slack > 0 or (slack == 0 and above)}
    for strict in (False, True):
        if follows[strict]:
            implied(total.plus(Form(slack)), strict, listed(inside), known)
        else:
            with pytest.raises(Refuted, match="does not follow"):
                implied(total.plus(Form(slack)), strict, listed(inside), known)


def test_what_never_holds_contradicts_itself() -> None:
    contradiction([[0, 1], [1, 1]], [(X, True), (X.scaled(Fraction(-1)), False)], {})
    contradiction(
        [[0, 2], [1, 1]],
        [(X, False), (X.scaled(Fraction(-2)).plus(Form(Fraction(-1))), False)],
        {},
    )
    with pytest.raises(Refuted, match="possible"):
        contradiction([[0, 1], [1, 1]], [(X, False), (X.scaled(Fraction(-1)), False)], {})
    with pytest.raises(Refuted, match="possible"):
        contradiction([[0, 1], [1, 1]], [(X, True), (X.scaled(Fraction(-1)).plus(ONE), True)], {})
    with pytest.raises(Refuted, match="not known"):
        contradiction([[0, 1]], [(X.plus(ONE.scaled(Fraction(-1))), True)], {})
    # X is a change of at least 1, or of perhaps less.
    for low, refuted in ((1, False), (0, True)):
        with pytest.raises(Refuted, match="possible") if refuted else nullcontext():
            contradiction(
                [[0, 1]],
                [(ONE.plus(X.scaled(Fraction(-2))), False)],
                {0: (Fraction(low), Fraction(3))},
            )


@pytest.mark.parametrize("factor", [0, -1, "-1/2"])
def test_multipliers_are_above_zero(factor: object) -> None:
    with pytest.raises(BadProof, match="not above 0"):
        combined([[0, factor]], [(X, True)])


@pytest.mark.parametrize("number", [-1, 1])
def test_multipliers_are_of_forms_that_are_there(number: int) -> None:
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


@pytest.mark.parametrize(
    "json", [[[[0, [[0, 1]]], 1]], [[[0, [[0, 1]]], None]], [[1, True]], [[[1, [[0, 0]]], False]]]
)
def test_a_guard_is_a_form_with_atoms_and_a_truth_value(json: object) -> None:
    with pytest.raises(BadProof):
        read_guards(json, 1)


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
    strict = tuple([(form, True) for form, _ in guards])
    assert [above for _, above in known_forms(Path({}, atoms, strict))] == [True, True, True]


def test_atoms_after_the_first_that_differs_are_others() -> None:
    atoms = (Held("n"), of("Lap"))
    assert same_atoms(atoms, atoms) == 2
    assert same_atoms(atoms, (Held("n"), of("LapPlus"))) == 1
    assert same_atoms(atoms, (Held("n"),)) == 1
    both = Form(Fraction(0), ((0, Fraction(1)), (1, Fraction(1))))
    path = Path({}, (Held("n"), of("LapPlus")), ((both, True),))
    assert renamed_forms(path, atoms) == [
        (Form(Fraction(0), ((0, Fraction(1)), (3, Fraction(1)))), True)
    ]
    assert renamed_forms(Path({}, atoms, ((both, True),)), atoms) == [(both, True)]


# --- joined paths ---------------------------------------------------------------------------------

ATOMS = (of("Lap"), of("Lap"))
MINUS_X = X.scaled(Fraction(-1))
MINUS_Y = Y.scaled(Fraction(-1))


def three(**changes: Any) -> list[Path]:
    """x > 0 and y > 0, x > 0 and y < 0, both with a = 1; x < 0."""
    paths = [
        Path({"a": Fraction(1), "b": Fraction(1)}, ATOMS, ((X, True), (Y, True)), ("yes",)),
        Path({"a": Fraction(1), "b": Fraction(2)}, ATOMS, ((X, True), (MINUS_Y, True)), ("yes",)),
        Path({"a": Fraction(1)}, ATOMS, ((MINUS_X, True),), ("no",)),
    ]
    for name, each in changes.items():
        setattr(paths[1], name, each)
    return paths


def joined(**changes: Any) -> list[dict[str, Any]]:
    record: dict[str, Any] = {
        "paths": [0, 1],
        "region": [[[0, [[0, 1]]], True]],
        "inside": [[[[0, 1]]], [[[0, 1]]]],
        "outside": [[[0, 1], [1, 1]]],
    }
    return [record | changes]


def test_joined_paths_are_their_region_and_keep_what_all_of_them_hold() -> None:
    alone, region = with_regions(three(), joined(), [])
    assert alone.said == ("no",)
    assert region.guards == ((X, True),)
    assert region.store == {"a": Fraction(1)}
    assert (region.atoms, region.said, region.ended) == (ATOMS, ("yes",), False)


@pytest.mark.parametrize(
    "change", [{"said": ("no",)}, {"ended": True}, {"atoms": (of("Lap"), of("LapPlus"))}]
)
def test_paths_that_do_different_things_are_not_joined(change: dict[str, Any]) -> None:
    with pytest.raises(Refuted, match="different things"):
        with_regions(three(**change), joined(), [])


def test_a_region_holds_on_all_of_its_paths_and_on_no_other() -> None:
    with pytest.raises(Refuted, match="does not follow"):
        with_regions(three(), joined(region=[[[0, [[1, 1]]], True]]), [])
    with pytest.raises(Refuted, match="not known"):
        wide = joined(region=[[[0, [[0, 1], [1, 1]]], True]], inside=[[[[0, 1], [1, 1]]]] * 2)
        with_regions([three()[0], three()[0], three()[2]], wide, [])
    with pytest.raises(Refuted, match="no part of"):
        with_regions(three(), joined(outside=[[]]), [])


def test_facts_say_that_a_path_is_not_there() -> None:
    never = [(MINUS_X, True), (X, True)]
    found = with_regions(three(), joined(outside=[[[0, 1], [1, 1]]]), never)
    assert len(found) == 2


@pytest.mark.parametrize("paths", [[], [0, 0], [0, 3], [-1, 0]])
def test_joined_paths_are_there_and_joined_once(paths: list[int]) -> None:
    with pytest.raises(BadProof):
        with_regions(three(), joined(paths=paths), [])


def test_no_path_is_joined_twice() -> None:
    with pytest.raises(BadProof, match="twice"):
        with_regions(three(), [*joined(), *joined()], [])
