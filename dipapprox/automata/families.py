"""Runs that go round the cycles of a bad structure more and more often, and what they cost.

The changes of the inputs are those of the proofs in `structures.py`; each further round adds at
least `gain_of_round` to the least budget of the run.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.automata.model import Automaton, Sample, members
from dipapprox.automata.runs import Run, Segment
from dipapprox.automata.shifts import Changes, run_cost
from dipapprox.automata.structures import (
    DisclosingCycle,
    LeakingCycle,
    LeakingPair,
    Structure,
    ViolatingPath,
)
from dipapprox.limits import Limits


def cycles_of(structure: Structure) -> tuple[Segment, ...]:
    """Return the cycles of a structure in order of their places."""
    match structure:
        case LeakingPair(below=below, above=above):
            return (below, above) if below.start < above.start else (above, below)
        case LeakingCycle(cycle=cycle) | DisclosingCycle(cycle=cycle) | ViolatingPath(cycle=cycle):
            return (cycle,)


def repeated(automaton: Automaton, structure: Structure, rounds: int) -> tuple[Run, Changes]:
    """Return the run that goes round every cycle `rounds` times, and the changes of its inputs.

    Args:
        automaton: The automaton.
        structure: A structure that holds.
        rounds: At least 1.
    """
    run: list[int] = []
    copies: list[tuple[int, int]] = []  # place in the structure's run, number of the copy
    cycles = cycles_of(structure)
    position = 0
    for cycle in (*cycles, Segment(len(structure.run), len(structure.run))):
        copies += [(place, 0) for place in range(position, cycle.start)]
        for number in range(rounds):
            copies += [(place, number) for place in range(cycle.start, cycle.end)]
        position = cycle.end
    run = [structure.run[place] for place, _ in copies]
    if isinstance(structure, LeakingCycle):
        return tuple(run), _along_chain(automaton, tuple(run), structure, rounds)
    signs: dict[int, int] = {}
    match structure:
        case DisclosingCycle(position=shown):
            signs[shown] = 1
        case LeakingPair(path=path):
            signs[path[0]], signs[path[-1]] = -1, 1
        case ViolatingPath(path=path, shown_first=shown_first):
            signs[path[-1] if shown_first else path[0]] = 1 if shown_first else -1
    return tuple(run), tuple(signs.get(place, 0) for place, _ in copies)


def _along_chain(automaton: Automaton, run: Run, structure: LeakingCycle, rounds: int) -> Changes:
    """Return changes for the pairs (last assignment, use) of the variable in the copies.

    Uses of one sign, all copies of one transition of the cycle; a chain alternates.
    """
    start, bit = structure.cycle.start, 1 << structure.variable
    offset = next(
        place - start
        for place in range(start, structure.cycle.end)
        if automaton.transitions[structure.run[place]].used & bit
    )
    length = structure.cycle.end - start
    changes = [0] * len(run)
    last = -1
    for place, index in enumerate(run[: start + rounds * length]):
        transition = automaton.transitions[index]
        if place >= start and (place - start) % length == offset and last >= start:
            sign = 1 if transition.above & bit else -1
            if not changes[last]:
                changes[place] = sign
                changes[last] = -sign if automaton.reads(automaton.transitions[run[last]]) else 0
        if transition.assigned & bit:
            last = place
    return tuple(changes)


def cost_of_rounds(automaton: Automaton, structure: Structure, rounds: int) -> Fraction:
    """Return the least budget that `repeated` shows to be needed."""
    run, changes = repeated(automaton, structure, rounds)
    return run_cost(automaton, run, changes).value


def gain_of_round(automaton: Automaton, structure: Structure) -> Fraction:
    """Return what each further round adds at least, in the long run: positive."""
    transitions = [automaton.transitions[index] for index in structure.run]
    match structure:
        case DisclosingCycle(position=position):
            if transitions[position].output is Sample.FRESH:
                return automaton.fresh_cost(transitions[position])
            return automaton.rate(transitions[position])
        case LeakingPair(path=path):
            ends = transitions[path[0]], transitions[path[-1]]
            return min(automaton.rate(end) for end in ends)
        case ViolatingPath(path=path, shown_first=shown_first):
            return automaton.rate(transitions[path[-1] if shown_first else path[0]])
        case LeakingCycle(cycle=cycle, variable=variable):
            inside = transitions[cycle.start : cycle.end]
            touching = [t for t in inside if variable in members(t.used | t.assigned)]
            return min(automaton.rate(t) for t in touching)


MOST_ROUNDS = 4096


def rounds_beyond(
    automaton: Automaton, structure: Structure, budget: Fraction, limits: Limits
) -> int | None:
    """Return the fewest rounds that cost more than a budget; None if `MOST_ROUNDS` do not.

    Found by doubling and halving: more rounds never cost less, because the longer run has the
    shorter one's positions among its own.

    Raises:
        LimitReached: If time is up.
    """
    most = 1
    while cost_of_rounds(automaton, structure, most) <= budget:
        limits.check()
        if most >= MOST_ROUNDS:
            return None
        most *= 2
    least = most // 2  # costs too little, or is 0
    while most - least > 1:
        limits.check()
        middle = (least + most) // 2
        if cost_of_rounds(automaton, structure, middle) <= budget:
            least = middle
        else:
            most = middle
    return most
