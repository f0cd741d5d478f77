"""Bad structures: runs whose cycles cost more and more, so that no budget serves, at any ε.

A *cycle* leads back to its state; one that stores no value that it compares is *quiet*. In a
feasible run a quiet cycle can be repeated for ever: what it compares was stored before it, so its
copies compare the same, and every edge of the dependency graph at a guard of the cycle is there
for every copy, every other one for the last.

LC  a cycle stores a value that it compares, and leads back to what was known of the values: each
    round compares a sample with one of the round before
DC  a cycle shows a sample at an input, and is quiet, or leads back to what was known of the values
LP  two quiet cycles, the samples of one position of the first below those of one of the second
PV  a quiet cycle, and a sample that is shown below, or above, those of one of its positions

This needs that the samples that are known to be larger may change by more than the lesser ones: of
a step that reads no input, or where inputs change in one direction only, by 0 at least or at most.
A sample that is shown changes by 0.

With L copies the cheapest shift costs at least L - 1 times a rate (`automata.structures` has the
proofs, a few lines each), and the run loses as much at every ε if its word fits no other run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from dipapprox.certificates.budgets import RecordedStructure
from dipapprox.checking.budgets.knowledge import moves_from, places
from dipapprox.checking.budgets.machine import Machine, Move
from dipapprox.checking.budgets.runs import Arc, Doubles, arcs_of, places_of
from dipapprox.language.automata import INSAMPLE
from dipapprox.limits import Limits


def examine_structure(machine: Machine, recorded: RecordedStructure, limits: Limits) -> str | None:
    """Say why a structure does not prove that there is no budget, or what in it is false.

    Raises:
        LimitReached: If `limits` run out.
    """
    run = [step for part in recorded.parts for step in part.steps]
    if any(step >= len(machine.moves) for step in run):
        return "parts: there is no such step"
    reached = places_of(machine, run)
    if isinstance(reached, int):
        return f"parts: step {reached} of the run cannot be taken there"
    cycles = []
    position = 0
    for part in recorded.parts:
        if part.repeated:
            cycles.append(range(position, position + len(part.steps)))
        position += len(part.steps)
    for cycle in cycles:
        if reached[cycle.start][0] != reached[cycle.stop][0]:
            return "parts: a cycle does not lead back"
    if len(cycles) != (2 if recorded.kind == "LP" else 1):
        return "parts: expected two cycles for a pair, one for other structures"
    closed = all(reached[cycle.start] == reached[cycle.stop] for cycle in cycles)
    complaint = _examine_kind(machine, recorded.kind, run, cycles, closed)
    if complaint is not None:
        return f"kind: {complaint}"
    return _looks_like_another(machine, recorded, closed, limits)


def _examine_kind(
    machine: Machine, kind: str, run: Sequence[int], cycles: Sequence[range], closed: bool
) -> str | None:
    moves = [machine.moves[step] for step in run]
    both = [
        frozenset[int]().union(*(moves[p].stored for p in cycle))
        & frozenset[int]().union(*(moves[p].compared for p in cycle))
        for cycle in cycles
    ]
    if kind == "LC":
        if not both[0]:
            return "the cycle stores no value that it compares"
        if not closed:
            return "the cycle does not lead back to what was known of the values"
        inside = [moves[p] for p in cycles[0]]
        costs = any(_leaks(machine, inside, value) for value in both[0])
        return None if costs else "inputs change in a direction in which the cycle costs nothing"
    if any(both) and not (kind == "DC" and closed):
        return "a cycle stores a value that it compares"
    arcs = arcs_of(machine, run)
    shown = [p for p, move in enumerate(moves) if move.shows == INSAMPLE]
    (first, *others) = cycles
    if kind == "DC":
        seen = any(moves[p].is_real and machine.reads(moves[p]) for p in first)
        return None if seen else "the cycle shows no sample of an input"
    if kind == "LP":
        (second,) = others
        for below, above in ((first, second), (second, first)):
            if _is_pair(machine, moves, arcs, below, above):
                return None
        return "no sample of one cycle is below one of the other for every round"
    reading = [p for p in first if machine.reads(moves[p])]
    lower = 1 in machine.changes and _ends(arcs, reading) & _reach(arcs, shown)
    upper = -1 in machine.changes and _reach(arcs, _starts(arcs, reading)) & {*shown}
    return None if lower or upper else "no sample that is shown bounds those of the cycle"


def _leaks(machine: Machine, cycle: Sequence[Move], value: int) -> bool:
    """Whether the rounds of a cycle that stores and compares a value cost more and more.

    The samples that two moves store and compare may change so that their order is in the way; one
    without input does not change.
    """
    for place, move in enumerate(cycle):
        if value not in move.compared:
            continue
        since = (*cycle[place:], *cycle[:place])
        stored = next((each for each in reversed(since) if value in each.stored), move)
        low, high = (stored, move) if value in move.at_least else (move, stored)
        if _change(machine, low, min) < _change(machine, high, max):
            return True
    return False


def _is_pair(
    machine: Machine, moves: Sequence[Move], arcs: Collection[Arc], below: range, above: range
) -> bool:
    """Whether samples of one cycle are known to be below those of another that may rise more."""
    for low in (-1, 0):
        lower = [p for p in below if _change(machine, moves[p], min) == low]
        upper = [p for p in above if _change(machine, moves[p], max) > low]
        if _reach(arcs, _starts(arcs, lower)) & _ends(arcs, upper):
            return True
    return False


def _change(machine: Machine, move: Move, end: Callable[[Sequence[int]], int]) -> int:
    """Return the least or the most by which the input of a move may change."""
    return end(machine.changes) if machine.reads(move) else 0


def _starts(arcs: Collection[Arc], cycle: Collection[int]) -> set[int]:
    """Return what the cycle's own guards put above its samples: edges that go back in time."""
    return {above for below, above in arcs if below in cycle and above < below}


def _ends(arcs: Collection[Arc], cycle: Collection[int]) -> set[int]:
    """Return what the cycle's own guards put below its samples."""
    return {below for below, above in arcs if above in cycle and below < above}


def _reach(arcs: Collection[Arc], starts: Iterable[int]) -> set[int]:
    """Return the starts and all positions above them."""
    following: dict[int, list[int]] = {}
    for below, above in arcs:
        following.setdefault(below, []).append(above)
    found = set(starts)
    waiting = list(found)
    while waiting:
        for above in following.get(waiting.pop(), ()):
            if above not in found:
                found.add(above)
                waiting.append(above)
    return found


def _looks_like_another(
    machine: Machine, recorded: RecordedStructure, closed: bool, limits: Limits
) -> str | None:
    """Say that other runs may have the words of the run, however often it goes round."""
    if not any(_alike(machine, numbers) for numbers in machine.leaving.values()):
        return None
    if closed:
        doubles = Doubles(machine)
        for part in recorded.parts:
            if part.repeated:
                doubles.take_again_and_again(part.steps, limits)
            else:
                doubles.take(part.steps)
        if not doubles.others:
            return None
    for place in places(machine, limits):
        if _alike(machine, [number for number, _ in moves_from(machine, place)]):
            return "parts: another run has the same word"
    return None


def _alike(machine: Machine, numbers: Sequence[int]) -> bool:
    looks = [machine.look(machine.moves[number]) for number in numbers]
    return len(set(looks)) < len(looks)
