"""Trees of JSON with another value at one place; proofs of budgets that are changed so."""

import copy
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay

Json = Any
Path = tuple[str | int, ...]

MOST_PLACES = 6
"""Where something is changed, of each step."""

SERVES = {"verdict": "DP", "budget": 1000, "at least": None}
FAILS = {"verdict": "Not_DP", "budget": 0}
"""Claims that say nothing: what is proved is more."""


def places_in(tree: Json, at: Path = ()) -> Iterator[tuple[Path, Json]]:
    """All places of a JSON tree, and what stands there."""
    yield at, tree
    branches = tree.items() if isinstance(tree, dict) else ()
    branches = enumerate(tree) if isinstance(tree, list) else branches
    for key, branch in branches:
        yield from places_in(branch, (*at, key))


def with_at(tree: Json, at: Path, value: Json) -> Json:
    """The tree with another value at a place."""
    if not at:
        return value
    changed = copy.copy(tree)
    changed[at[0]] = with_at(tree[at[0]], at[1:], value)
    return changed


VOCABULARIES: tuple[tuple[str, ...], ...] = (
    ("Gauss", "Lap", "LapPlus", "LapMinus", "DLap", "DGauss"),
    ("<", "<=", ">", ">=", "=", "!="),
    ("linf", "l1", "l0", "increasing", "decreasing", "all"),
    ("and", "or"),
    ("+", "*"),
    ("inverse", "exp"),
    ("DP", "Not_DP"),
    ("every pair", "violation"),
    ("cell", "element"),
)


def variants(given: Json, names: Sequence[str] = ()) -> list[Json]:
    """What a part may be replaced by: others of its kind, names, and what is none."""
    if isinstance(given, bool):
        return [not given, int(given), None, str(given).lower()]
    if isinstance(given, int):
        nudged = [f"{k * given + 1}/{k}" for k in (2, 3) if (k * given + 1) % k]
        return [given + 1, given - 1, -given, 2 * given, 0, 10**30, *nudged, bool(given),
                float(given), str(given), None, [given]]  # fmt: skip
    if isinstance(given, str):
        found: list[Json] = [word for words in VOCABULARIES if given in words for word in words]
        if "/" in given and given[0] in "-0123456789":
            number = Fraction(given)
            for other in (number + 1, -number, 1 / number, number / 2, number - 1,
                          number + Fraction(1, 1000), number - Fraction(1, 1000)):  # fmt: skip
                flat = other.denominator == 1
                found.append(other.numerator if flat else f"{other.numerator}/{other.denominator}")
            found += [
                float(number),
                f" {given}",
                f"+{given}",
                f"{2 * number.numerator}/{2 * number.denominator}",
            ]
        return [*found, *names, given + " ", given.upper(), None, {"name": given}]
    if isinstance(given, list):
        found = [given[:k] + given[k + 1 :] for k in range(len(given))]
        found += [[*given[: k + 1], *given[k:]] for k in range(len(given))]
        found += [
            [*given[:k], given[k + 1], given[k], *given[k + 2 :]] for k in range(len(given) - 1)
        ]
        return [*found, [], [*given, None], [given], {str(k): v for k, v in enumerate(given)}, None]
    if isinstance(given, dict):
        fewer = [{k: v for k, v in given.items() if k != key} for key in given]
        return [*fewer, {**given, "more": 0}, list(given.values()), None]
    return [0, [], {}, "", False]


def require_sound(machine: Json, claim: Json, steps: list[Json], seed: str) -> None:
    """What one change of a step makes of a proof of a least budget is nothing, or true.

    The upper end is that of a potential or of couplings, the lower one that of a ray or a trace.
    """
    least = Fraction(claim["budget"])
    (upper,) = (step for step in steps if step["rule"] in ("potential", "couplings"))
    ends: list[tuple[Json, list[Json], Json]] = [(SERVES, [], upper)]
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
            for other in variants(value)
        ]
        confirmed = [each for each in found if each[-1] is not None]
        assert len(confirmed) < len(found) / 2
        for at, other, budgets in confirmed:
            if said is SERVES:
                assert budgets.budget is not None and budgets.budget >= least, (at, other)
            else:
                assert budgets.below is not None and budgets.below <= least, (at, other)


def _judged(machine: Json, claim: Json, steps: Json) -> Budgets | None:
    try:
        found = replay(machine, claim, steps)
    except NotProved:
        return None
    assert isinstance(found, Budgets)
    return found
