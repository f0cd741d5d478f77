"""What the guards of a run say about the order of the values that are stored.

Pairs (x, y) with x <= y for certain, x = y among them if one sample was stored in both; closed
under transitivity. A sample that must be at least x and below y with y <= x does not exist: such a
run has probability 0, all others are *feasible*. Values that nothing compares later are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.checking.budgets.machine import Machine, Move
from dipapprox.limits import Limits

Knowledge = frozenset[tuple[int, int]]

NOTHING: Knowledge = frozenset()

Place = tuple[str, Knowledge]
"""Where a feasible run may be: the state, and what is known there."""


def follow(machine: Machine, known: Knowledge, move: Move) -> Knowledge | None:
    """Return what is known after a move; None if its guard cannot hold."""
    above, below = move.at_least, move.less
    small = {x for x, y in known if y in above} | above
    large = {y for x, y in known if x in below} | below
    if small & large:
        return None
    kept, stored = machine.needed.get(move.target, frozenset()), move.stored
    after = {(x, y) for x, y in known if x in kept and y in kept}
    after.update((x, y) for x in small & kept for y in large & kept)
    if stored:
        # What was known of the values that are replaced goes; the sample takes their place.
        new, old = stored & kept, kept - stored
        after = {(x, y) for x, y in after if x in old and y in old}
        after.update((x, y) for x in small & old for y in new)
        after.update((x, y) for x in new for y in large & old)
        after.update((x, y) for x in new for y in new)
    return frozenset(after)


def places(machine: Machine, limits: Limits) -> Iterator[Place]:
    """Yield every place that a feasible run may come to.

    Raises:
        LimitReached: If there are more than `limits.states`, or time is up.
    """
    start: Place = machine.initial, NOTHING
    found = {start}
    waiting = [start]
    while waiting:
        limits.check()
        limits.check_states(len(found))
        place = waiting.pop()
        yield place
        for _, target in moves_from(machine, place):
            if target not in found:
                found.add(target)
                waiting.append(target)


def moves_from(machine: Machine, place: Place) -> tuple[tuple[int, Place], ...]:
    """Return the moves that are feasible at a place, and where they lead."""
    found: tuple[tuple[int, Place], ...] | None = machine.ways.get(place)
    if found is None:
        state, known = place
        ways = list[tuple[int, Place]]()
        for number in machine.leaving.get(state, ()):
            move = machine.moves[number]
            after = follow(machine, known, move)
            if after is not None:
                ways.append((number, (move.target, after)))
        found = machine.ways[place] = tuple(ways)
    return found
