"""What follows from linear forms that are >= 0, or > 0; and paths joined to regions.

Orders. A form c (x - y) + b with c > 0, or one in which 0 stands for x or y, says that x - y is at
least -b / c, or above it. Here x and y are atoms, or one of them is 0 and the other a sum of more
atoms, the first one times 1: forms of the same sum are compared. Such differences add up: x - y and
y - z to x - z. A form follows from others if it is a difference of which sums of theirs say as
much; they contradict each other if a sum says of x - x that it is above 0, or at least a number
> 0. A form whose last atom is a continuous sample is > 0 where it is >= 0, but for a set of
probability 0.

Joined paths. Paths that read, draw and publish the same, and leave the same in cells, or in some
that are `loose` any numbers, are joined in the region where all differences of atoms are as they
follow from the guards of each of these paths that is possible, if that contradicts those of any
other path, together with the facts. So the paths are the region, and shifts have to keep the region
only. Nodes of the same values, cells and facts join the same paths, and a path leads to such nodes
only, whatever changes: so what is averaged follows the same joined paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any

from dipapprox.kernel.errors import BadProof, spend
from dipapprox.kernel.forms import Form, size_of, total
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Number
from dipapprox.kernel.paths import Atom, Held, Path, Sample
from dipapprox.kernel.reading import as_exact, as_flag, as_integer, as_list, as_rows
from dipapprox.kernel.walk import Guard

NUMBER = -1  # stands for 0 among the numbers of atoms

Ends = tuple[Any, Any]  # x and y: each an atom, `NUMBER`, or the terms of a sum

Order = dict[Ends, tuple[Number, bool]]
"""By x and y, what their difference is at least, or (True) above."""


def order_of(known: Iterable[Guard]) -> Order | None:
    """Return all differences that follow from forms; None if these contradict each other.

    Sums are of integers: multiples of a unit, `many` times, and of how many a sum is above.
    """
    listed, unit = list[tuple[Any, Any, Number, bool]](), 1
    for form, strict in known:
        if (ends := _ends_of(form)) is not None:
            (high, low), least = ends
            listed.append((high, low, least, strict))
            unit = lcm(unit, least.denominator)
            spend(4 + size_of(least) + size_of(unit))
    rows: dict[Any, dict[Any, int]] = {end: {} for own in listed for end in own[:2]}
    # A sum has fewer: it leads from one end to another, and to the first again.
    many = 2 * len(rows) + 1
    for high, low, least, strict in listed:
        both = int(least * unit) * many + strict
        rows[high][low] = max(rows[high].get(low, both), both)
    for middle, through in rows.items():
        spend(10 + len(rows) // 4)
        for high, row in rows.items():
            if (first := row.get(middle)) is None:
                continue
            spend(1 + len(through) // 2)
            for low, second in through.items():
                both = first + second
                if high != low:
                    row[low] = max(row.get(low, both), both)
                elif both > 0:
                    return None
    return {
        (high, low): (both // many if unit == 1 else Fraction(both // many, unit), both % many > 0)
        for high, row in rows.items()
        for low, both in row.items()
    }


def follows(form: Form, strict: bool, order: Order) -> bool:
    """Whether a form is >= 0, or > 0, where differences are as known."""
    if not form.terms:
        return (form.constant, False) >= (0, strict)
    ends = _ends_of(form)
    return ends is not None and ends[0] in order and order[ends[0]] >= (ends[1], strict)


def _ends_of(form: Form) -> tuple[Ends, Number] | None:
    """Return x, y and -b / c for a form c (x - y) + b with c > 0."""
    one: Any
    match form.terms:
        case ((one, factor),):
            other = NUMBER
        case ((one, factor), (other, opposite)) if factor == -opposite:
            pass
        case ((_, factor), *_):
            one, other = form.scaled(1 / Fraction(factor)).terms, NUMBER
        case _:
            return None
    least = -form.constant if abs(factor) == 1 else -form.constant / abs(Fraction(factor))
    return ((one, other) if factor > 0 else (other, one)), least


def read_guards(json: object, atoms: int) -> list[Guard]:
    """Read [form, whether it is > 0], over the first atoms."""
    return as_rows(json, "forms", lambda form, _: read_form(form, atoms), as_flag)


def read_form(json: object, atoms: int) -> Form:
    """Read a number, or [number, [[atom, coefficient], …]] over the first atoms."""
    if not isinstance(json, list):
        return Form(as_exact(json, "a shift"))
    constant, listed = as_list(json, "a form", 2)
    terms = as_rows(listed, "terms", as_integer, as_exact)
    if not all(0 <= atom < atoms for atom, _ in terms):
        raise BadProof("a form over atoms that are not there")
    if any(a >= b for (a, _), (b, _) in pairwise(terms)):
        raise BadProof("terms do not ascend")
    return Form(as_exact(constant, "a constant"), tuple([term for term in terms if term[1]]))


def joined(
    paths: Sequence[Path], facts: Sequence[Guard], loose: Sequence[str] = ()
) -> list[tuple[list[int], Path]]:
    """Return all paths, with their numbers, those that may be joined as one.

    Each number that a `loose` cell holds behind several of them is one more atom.
    """
    alike: dict[object, list[int]] = {}
    rough = [(len(path.atoms), path.said, path.ended) for path in paths]
    many = Counter(rough)
    for number, (path, own) in enumerate(zip(paths, rough, strict=True)):
        spend(10 + len(path.atoms) + len(path.store))
        left = path.store | {n: None for n in loose if not isinstance(path.store.get(n, ""), str)}
        kept = number if many[own] == 1 else (own, path.atoms, frozenset(left.items()))
        alike.setdefault(kept, []).append(number)
    found: list[tuple[list[int], Path]] = []
    for numbers in alike.values():
        region = _region(paths, numbers, facts) if len(numbers) > 1 else None
        if region is None:
            found += [([number], paths[number]) for number in numbers]
        else:
            one = replace(paths[numbers[0]], guards=tuple(region))
            one.store = {n: one.fresh(Held(n)) if n in loose else v for n, v in one.store.items()}
            found.append((numbers, one))
    return found


def _region(
    paths: Sequence[Path], numbers: Sequence[int], facts: Sequence[Guard]
) -> list[Guard] | None:
    """Return the region of some paths; None if it is not known to have no more than they have."""
    orders = [order for k in numbers if (order := order_of(known_forms(paths[k]))) is not None]
    region: list[Guard] = []
    # Not of sums: to keep one may take a fraction where to keep a path's own guards takes none.
    shared = set.intersection(*map(set, orders)) if orders else set[Ends]()
    for ends in sorted(own for own in shared if all(isinstance(end, int) for end in own)):
        least, strict = min(order[ends] for order in orders)
        terms = sorted(zip(ends, (1, -1), strict=True))
        region.append((Form(-least, tuple([t for t in terms if t[0] != NUMBER])), strict))
    atoms, known = paths[numbers[0]].atoms, [*facts, *region]
    order = order_of(known)
    for number, path in enumerate(paths):
        if order is None or number in numbers:
            continue
        own = renamed_forms(path, len(atoms), same_atoms(path.atoms, atoms))
        # Most paths have a guard that contradicts what is known, alone.
        alone = any(follows(form.scaled(-1), not strict, order) for form, strict in own)
        if not alone and order_of([*known, *own]) is not None:
            return None
    return region if orders else None


def combined(json: object, known: Sequence[Guard]) -> tuple[Form, bool]:
    """Return the sum of multiples >= 0 of forms, and whether one of them is > 0."""
    parts, strict = list[tuple[Form, Number]](), False
    for number, multiple in as_rows(json, "multipliers", as_integer, as_exact):
        if not 0 <= number < len(known):
            raise BadProof("there is no such form")
        if multiple <= 0:
            raise BadProof("a multiplier is not above 0")
        form, above = known[number]
        spend(4 + size_of(form) + size_of(multiple))
        parts.append((form, multiple))
        strict = strict or above
    return total(parts), strict


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


def renamed_forms(path: Path, more: int, same: int = 0) -> list[Guard]:
    """Return the guards of a path, up to ties; atoms from one on get larger numbers."""
    found = []
    for form, above in known_forms(path):
        terms = tuple([(a if a < same else a + more, c) for a, c in form.terms])
        found.append((Form(form.constant, terms), above))
    return found
