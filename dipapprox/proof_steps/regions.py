"""Paths joined to regions: those that draw and publish the same and leave the same behind.

The region of some paths is given by the differences that hold on all of them; it has no points of
any other path, or the paths are not joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction

from dipapprox.kernel.forms import Form
from dipapprox.kernel.paths import Path
from dipapprox.kernel.regions import known_forms, renamed_forms
from dipapprox.kernel.walk import Guard
from dipapprox.proof_steps.machines import Json
from dipapprox.proof_steps.orders import (
    NOTHING,
    Difference,
    Differences,
    closure,
    form_json,
    reason_json,
)


def joined(
    paths: Sequence[Path], live: Collection[str], facts: Sequence[Guard], ask: Callable[[], None]
) -> tuple[list[tuple[list[int], Path]], list[Json]]:
    """Join paths of a block where that is possible.

    Args:
        paths: All paths of the block.
        live: The cells that matter afterwards.
        facts: What is known of the cells before.
        ask: Called all the time; what it raises ends the search.

    Returns:
        The paths that stand alone and then the joined ones, as the kernel has them, each with the
        numbers of the paths that it is; and the JSON.
    """
    groups: dict[object, list[int]] = {}
    for number, path in enumerate(paths):
        left = frozenset((name, path.store[name]) for name in live if name in path.store)
        groups.setdefault((path.atoms, path.said, path.ended, left), []).append(number)
    found: list[tuple[list[int], Path, Json]] = []
    for numbers in groups.values():
        if len(numbers) > 1:
            made = _region(paths, numbers, live, facts, ask)
            if made is not None:
                found.append(made)
    used = {number for numbers, _, _ in found for number in numbers}
    alone = [([number], path) for number, path in enumerate(paths) if number not in used]
    return alone + [(own, path) for own, path, _ in found], [json for _, _, json in found]


def _region(
    paths: Sequence[Path],
    numbers: Sequence[int],
    live: Collection[str],
    facts: Sequence[Guard],
    ask: Callable[[], None],
) -> tuple[list[int], Path, Json] | None:
    """Join some paths, but for impossible ones."""
    own: list[int] = []
    closures: list[Differences] = []
    for number in numbers:
        ask()
        known = closure(known_forms(paths[number]))
        if not isinstance(known, tuple):
            own.append(number)
            closures.append(known)
    if len(own) < 2:
        return None
    first = paths[own[0]]
    shared = set.intersection(*(set(each) for each in closures))
    differences = {
        pair: min((each[pair] for each in closures), key=lambda d: (d.least, d.strict))
        for pair in shared
    }
    forms = _needed({pair: (_form(pair, d), d.strict) for pair, d in differences.items()})
    region = list(forms.values())
    outside: list[Json] = []
    for number, path in enumerate(paths):
        if number in own:
            continue
        ask()
        reason = closure([*facts, *region, *renamed_forms(path, first.atoms)])
        if not isinstance(reason, tuple):
            return None
        outside.append(reason_json(reason))
    inside: list[Json] = [[reason_json(known[pair].reason) for pair in forms] for known in closures]
    listed: list[Json] = [[form_json(form), strict] for form, strict in region]
    store = {name: first.store[name] for name in live if name in first.store}
    path = Path(store, first.atoms, tuple(region), first.said, first.ended)
    return own, path, {"paths": list(own), "region": listed, "inside": inside, "outside": outside}


def _form(pair: tuple[int, int], difference: Difference) -> Form:
    terms = sorted([(pair[0], Fraction(1)), (pair[1], Fraction(-1))])
    return Form(-difference.least, tuple(term for term in terms if term[0] != NOTHING))


def _needed(forms: dict[tuple[int, int], Guard]) -> dict[tuple[int, int], Guard]:
    """Leave out what follows from the others."""
    kept = dict(sorted(forms.items(), key=lambda each: each[0]))
    for pair, (form, strict) in list(kept.items()):
        known = closure([each for other, each in kept.items() if other != pair])
        if isinstance(known, tuple) or pair not in known:
            continue
        if (known[pair].least, known[pair].strict) >= (-form.constant, strict):
            del kept[pair]
    return kept
