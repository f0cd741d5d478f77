"""Trees of JSON, and the same with another value at one place."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any


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


def forged(tree: Any, seed: str, most: int) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Places, so many of them, and the tree with another value there."""
    chance = random.Random(seed)
    places = list(places_in(tree))
    for at, value in chance.sample(places, min(len(places), most)):
        for other in others_for(value, chance):
            yield at, with_at(tree, at, other)
