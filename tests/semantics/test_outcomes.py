"""Sets of outcomes against sets that are listed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from dipapprox.errors import BrokenInvariant
from dipapprox.semantics.outcomes import (
    ALWAYS,
    NEVER,
    UNION,
    OutcomeSets,
    as_conjunction,
    reachable,
)

COUNTS = (2, 3, 2, 2, 3)
"""Outcomes of the choices."""

Listed = frozenset[tuple[int, ...]]

EVERYTHING: Listed = frozenset(product(*map(range, COUNTS)))


def listed(sets: OutcomeSets, number: int) -> Listed:
    """Spell a set out."""
    found: dict[int, Listed] = {NEVER: frozenset(), ALWAYS: EVERYTHING}
    for node in reachable(sets.nodes, (number,)):
        choice, outcomes, children = sets.nodes[node]
        if node in found:
            continue
        if choice == UNION:
            members = [found[child] for child in children]
            found[node] = frozenset().union(*members)
            assert len(found[node]) == sum(map(len, members)), "members are disjoint"
        else:
            found[node] = frozenset(
                each
                for outcome, child in zip(outcomes, children, strict=True)
                for each in found[child]
                if each[choice] == outcome
            )
    return found[number]


def walks(sets: OutcomeSets, random: Random) -> Iterator[list[tuple[int, Listed]]]:
    """Split and unite at random: after every choice, sets that make up everything."""
    parts = [(ALWAYS, EVERYTHING)]
    for choice, count in enumerate(COUNTS):
        split = []
        for number, outcomes in parts:
            for k, part in enumerate(sets.split(number, choice, count)):
                split.append((part, frozenset(each for each in outcomes if each[choice] == k)))
        groups: list[list[tuple[int, Listed]]] = [[] for _ in range(random.randint(1, 5))]
        for part in split:
            random.choice(groups).append(part)
        parts = [
            (sets.union(n for n, _ in group), frozenset().union(*(each for _, each in group)))
            for group in groups
            if group
        ]
        yield parts


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("credit", [True, False])
def test_sets_are_what_was_put_into_them(
    seed: int, credit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not credit:
        monkeypatch.setattr("dipapprox.semantics.outcomes._CREDIT", 0)
    sets = OutcomeSets()
    known: dict[Listed, int] = {}
    for parts in walks(sets, Random(seed)):
        for number, outcomes in parts:
            assert listed(sets, number) == outcomes
            if credit:  # equal sets have equal numbers
                assert known.setdefault(outcomes, number) == number
        whole = sets.union(number for number, _ in parts)
        assert listed(sets, whole) == EVERYTHING
        assert not credit or whole == ALWAYS


def test_unions_of_what_is_not_disjoint_are_noticed() -> None:
    sets = OutcomeSets()
    (heads, tails) = sets.split(ALWAYS, 0, 2)
    (both, _) = sets.split(heads, 1, 2)
    with pytest.raises(BrokenInvariant, match="not"):
        sets.union([heads, heads])
    with pytest.raises(BrokenInvariant, match="not"):
        sets.union([ALWAYS, tails])
    with pytest.raises(BrokenInvariant, match="not"):
        sets.union([both, heads])
    with pytest.raises(BrokenInvariant, match="twice"):
        sets.split(both, 1, 2)


def test_conjunctions_are_told_from_other_sets() -> None:
    sets = OutcomeSets()
    first, second, _ = sets.split(ALWAYS, 0, 3)
    few = sets.union([first, second])
    heads, tails = sets.split(few, 1, 2)
    assert as_conjunction(sets.nodes, heads) == [(1, frozenset({0})), (0, frozenset({0, 1}))]
    assert as_conjunction(sets.nodes, sets.union([heads, tails])) == [(0, frozenset({0, 1}))]
    other = sets.split(first, 1, 2)[0]
    assert as_conjunction(sets.nodes, sets.union([tails, other])) is None
