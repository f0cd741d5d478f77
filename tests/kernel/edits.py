"""Trees of JSON with another value at one place; proofs of budgets that are changed so."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay

MOST_PLACES = 10
"""Where something is changed, of each step."""

SERVES = {"verdict": "DP", "budget": 1000, "at least": None}
FAILS = {"verdict": "Not_DP", "budget": 0}
"""Claims that say nothing: what is proved is more."""


def places_in(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All places of a JSON tree, and what stands there."""
    yield at, tree
    branches = tree.items() if isinstance(tree, dict) else ()
    branches = enumerate(tree) if isinstance(tree, list) else branches
    for key, branch in branches:
        yield from places_in(branch, (*at, key))


def with_at(tree: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The tree with another value at a place."""
    if not at:
        return value
    changed = copy.copy(tree)
    changed[at[0]] = with_at(tree[at[0]], at[1:], value)
    return changed


def others_for(value: Any, chance: random.Random) -> list[Any]:
    """Values to put in the place of one."""
    if isinstance(value, bool) or value is None:
        return [not value, 0]
    if isinstance(value, int):
        return [value + 1, value - 1, -value, f"{2 * value + 1}/2", None]
    if isinstance(value, str):
        number = Fraction(value) if "/" in value else None
        changed = [0, 1] if number is None else [str(number + 1), str(number / 2), str(-number)]
        return [*changed, "Gauss", {"name": value}]
    if isinstance(value, list) and value:
        shuffled = value[:]
        chance.shuffle(shuffled)
        return [value[:-1], value[1:], shuffled, [*value, value[0]], []]
    return [[], {}]


def require_sound(machine: Any, claim: Any, steps: list[Any], seed: str) -> None:
    """What one change of a step makes of a proof of a least budget is nothing, or true.

    The upper end is that of a potential or of couplings, the lower one that of a ray or a trace.
    """
    least = Fraction(claim["budget"])
    (upper,) = (step for step in steps if step["rule"] in ("potential", "couplings"))
    ends: list[tuple[Any, list[Any], Any]] = [(SERVES, [], upper)]
    if claim["at least"] is not None:
        assert least == Fraction(claim["at least"])
        *before, lower, _ = steps
        ends.append((FAILS, before if lower["from"] else [], lower))
    chance = random.Random(seed)
    for said, known, step in ends:
        honest = _judged(machine, said, [*known, step])
        assert honest is not None and least in (honest.budget, honest.below)
        places = list(places_in(step))
        found = [
            (at, other, _judged(machine, said, [*known, with_at(step, at, other)]))
            for at, value in chance.sample(places, min(len(places), MOST_PLACES))
            for other in others_for(value, chance)
        ]
        confirmed = [each for each in found if each[-1] is not None]
        assert len(confirmed) < len(found) / 2
        for at, other, budgets in confirmed:
            if said is SERVES:
                assert budgets.budget is not None and budgets.budget >= least, (at, other)
            else:
                assert budgets.below is not None and budgets.below <= least, (at, other)


def _judged(machine: Any, claim: Any, steps: Any) -> Budgets | None:
    try:
        found = replay(machine, claim, steps)
    except NotProved:
        return None
    assert isinstance(found, Budgets)
    return found
