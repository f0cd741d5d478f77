"""What follows from linear forms that are >= 0, or > 0; and paths joined to regions.

Forms follow from others that are >= 0 if they are a sum of multiples >= 0 of these and a number
>= 0; these contradict each other if such a sum is a number < 0, or 0 with a form that is > 0. A
form whose last atom is a continuous sample is > 0 where it is >= 0, but for a set of probability 0.

Joined paths. Paths that read, draw and publish the same may be joined to a region: forms that
follow from the guards of each of these paths, and contradict those of any other path and the facts.
So the paths are the region, and shifts have to keep the region only. What cells hold on all of
these paths they hold there. Nodes of the same values, cells and facts join the same paths, and a
path leads to such nodes only, whatever changes: so what is averaged follows the same joined paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.forms import Form, size_of
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.paths import Atom, Changes, Path, Sample, between
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_record
from dipapprox.kernel.walk import Guard

ZERO = Fraction(0)


def read_guards(json: object, atoms: int) -> list[Guard]:
    """Read [form, whether it is > 0], over the first atoms."""
    found = []
    for each in as_list(json, "forms"):
        form, strict = as_list(each, "a form that is > 0 or >= 0", 2)
        if not isinstance(strict, bool):
            raise BadProof("a form is > 0, or it is not known to be")
        found.append((read_form(form, atoms), strict))
        if not found[-1][0].terms:
            raise BadProof("a form without atoms says nothing")
    return found


def read_form(json: object, atoms: int) -> Form:
    """Read a number, or [number, [[atom, coefficient], …]] over the first atoms."""
    if not isinstance(json, list):
        return Form(as_number(json, "a shift"))
    constant, listed = as_list(json, "a form", 2)
    terms = []
    for each in as_list(listed, "terms"):
        atom, coefficient = as_list(each, "a term", 2)
        if not 0 <= as_integer(atom, "an atom") < atoms:
            raise BadProof("a form over atoms that are not there")
        terms.append((atom, as_number(coefficient, "a coefficient")))
    if any(a >= b for (a, _), (b, _) in pairwise(terms)):
        raise BadProof("terms do not ascend")
    return Form(as_number(constant, "a constant"), tuple([term for term in terms if term[1]]))


def with_regions(
    paths: Sequence[Path], joined: Sequence[Any], facts: Sequence[Guard]
) -> list[Path]:
    """Return the paths that stand alone, then those that are joined, as one path each."""
    found, used = [], set[int]()
    for json in joined:
        record = as_record(json, "joined paths", ("paths", "region", "inside", "outside"))
        numbers = [as_integer(each, "a path") for each in as_list(record["paths"], "paths")]
        if not numbers or not used.isdisjoint(numbers) or len(set(numbers)) < len(numbers):
            raise BadProof("no path, or one is joined twice")
        if any(not 0 <= number < len(paths) for number in numbers):
            raise BadProof("there is no such path")
        used.update(numbers)
        own = [paths[number] for number in numbers]
        first = own[0]
        atoms = first.atoms
        if any(
            (each.atoms, each.said, each.ended) != (atoms, first.said, first.ended) for each in own
        ):
            raise Refuted("paths that draw or publish different things are joined")
        region = read_guards(record["region"], len(atoms))
        for path, rows in zip(own, as_list(record["inside"], "inside", len(own)), strict=True):
            for (form, strict), row in zip(
                region, as_list(rows, "inside", len(region)), strict=True
            ):
                implied(form, strict, row, known_forms(path))
        others = [path for number, path in enumerate(paths) if number not in numbers]
        for path, row in zip(others, as_list(record["outside"], "", len(others)), strict=True):
            contradiction(row, [*facts, *region, *renamed_forms(path, atoms)], {})
        common = [name for name in first.store if all(name in each.store for each in own)]
        store = {
            name: first.store[name]
            for name in common
            if all(each.store[name] == first.store[name] for each in own)
        }
        found.append(Path(store, atoms, tuple(region), first.said, first.ended))
    return [path for number, path in enumerate(paths) if number not in used] + found


def combined(json: object, known: Sequence[Guard]) -> tuple[Form, bool]:
    """Return the sum of multiples >= 0 of forms, and whether one of them is > 0."""
    total, strict = Form(ZERO), False
    for each in as_list(json, "multipliers"):
        number, factor = as_list(each, "a multiplier", 2)
        if not 0 <= as_integer(number, "a form") < len(known):
            raise BadProof("there is no such form")
        multiple = as_number(factor, "a multiplier")
        if multiple <= 0:
            raise BadProof("a multiplier is not above 0")
        form, above = known[number]
        spend(4 + size_of(form) + size_of(total) + size_of(total.constant))
        total, strict = total.plus(form.scaled(multiple)), strict or above
    return total, strict


def implied(form: Form, strict: bool, json: object, known: Sequence[Guard]) -> None:
    """Make sure that a form is >= 0, or > 0, where others are."""
    total, above = combined(json, known)
    rest = form.plus(total.scaled(Fraction(-1)))
    if rest.terms or rest.constant < 0 or not (rest.constant or above or not strict):
        raise Refuted("a fact, or the form of a region, does not follow")


def contradiction(json: object, known: Sequence[Guard], changes: Changes) -> None:
    """Make sure that forms contradict each other, whatever changes are."""
    total, strict = combined(json, known)
    _, most = between(total, changes)
    if most > 0 or not (strict or most):
        raise Refuted("a path is possible, or meets a region that it is no part of")


def known_forms(path: Path) -> list[Guard]:
    """Return the guards of a path, up to ties of continuous samples."""
    found = []
    for form, above in path.guards:
        last = path.atoms[form.terms[-1][0]]
        tie = isinstance(last, Sample) and not isinstance(FAMILIES[last.family], IntegerFamily)
        found.append((form, above or tie))
    return found


def same_atoms(one: Sequence[Atom], other: Sequence[Atom]) -> int:
    """Return how many atoms two paths have in common before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))


def renamed_forms(path: Path, atoms: Sequence[Atom]) -> list[Guard]:
    """Return the same; atoms that are not those of other paths get new numbers."""
    same = same_atoms(path.atoms, atoms)
    found = []
    for form, above in known_forms(path):
        terms = tuple([(a if a < same else a + len(atoms), c) for a, c in form.terms])
        found.append((Form(form.constant, terms), above))
    return found
