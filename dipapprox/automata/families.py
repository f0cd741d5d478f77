"""Runs that go round the cycles of a bad structure more and more often, and what they cost.

The changes of the inputs are those of the proofs in `structures.py`; each further round adds at
least `gain_of_round` to the least budget of the run.

Where inputs change in one direction only, or a step that compares reads none, the ends of the
interval of its changes take the place of 1 and -1. The proofs hold if something is left of them: of
a leaking pair whose upper samples change by a and whose lower ones by b < a, each copy above costs
d(k_m)·(a - c) and each below d(k₁)·(c - b), c the largest shift above, together at least a - b
times the lesser rate; so do the pairs of a leaking cycle. Of a violating path 1 has to be allowed,
or -1. Else the structure costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.runs import Run, Segment
from dipapprox.automata.shifts import Changes, RunCost, run_cost
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
    """Return the run that goes round every cycle `rounds` >= 1 times, and the changes of its
    inputs."""
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
    ends = [automaton.ends(automaton.transitions[index]) for index in structure.run]
    signs: dict[int, int] = {}
    match structure:
        case DisclosingCycle(position=shown):
            least, most = ends[shown]
            signs[shown] = most or least
        case LeakingPair(path=path):
            signs[path[0]], signs[path[-1]] = ends[path[0]][0], ends[path[-1]][1]
        case ViolatingPath(path=path, shown_first=shown_first):
            held = path[-1] if shown_first else path[0]
            signs[held] = ends[held][shown_first]
    return tuple(run), tuple(signs.get(place, 0) for place, _ in copies)


def _along_chain(automaton: Automaton, run: Run, structure: LeakingCycle, rounds: int) -> Changes:
    """Return changes for the pairs (last assignment, use) of the variable in the copies: uses of
    one sign, all copies of one transition of the cycle; a chain alternates."""
    start, bit = structure.cycle.start, 1 << structure.variable
    offset, _ = _use(automaton, structure)
    length = structure.cycle.end - start
    changes = [0] * len(run)
    paired = set[int]()
    last = -1
    for place, index in enumerate(run[: start + rounds * length]):
        transition = automaton.transitions[index]
        if place >= start and (place - start) % length == offset and last >= start:
            above = int(bool(transition.above & bit))
            if last not in paired:
                changes[place] = automaton.ends(transition)[above]
                changes[last] = automaton.ends(automaton.transitions[run[last]])[1 - above]
                paired |= {last, place}
        if transition.assigned & bit:
            last = place
    return tuple(changes)


def _use(automaton: Automaton, structure: LeakingCycle) -> tuple[int, Fraction]:
    """Return the place in the cycle, from its start, that compares the variable, and its gain: the
    first one that gains something, if there is one."""
    cycle, bit = structure.cycle, 1 << structure.variable
    inside = [automaton.transitions[t] for t in structure.run[cycle.start : cycle.end]]
    lesser = min(automaton.rate(t) for t in inside if (t.used | t.assigned) & bit)
    uses = list[tuple[int, Fraction]]()
    for place, use in enumerate(inside):
        if not use.used & bit:
            continue
        since = enumerate((*inside[place:], *inside[:place]))
        after, stored = [(k, t) for k, t in since if t.assigned & bit][-1]
        low, high = (stored, use) if use.above & bit else (use, stored)
        apart = automaton.ends(high)[1] - automaton.ends(low)[0]
        # In a chain every second link is paid for.
        gain = lesser * min(Fraction(1), apart if after else Fraction(apart, 2))
        if gain:
            return place, gain
        uses.append((place, gain))
    return uses[0]


def cost_of_rounds(automaton: Automaton, structure: Structure, rounds: int) -> RunCost:
    """Return the run that `repeated` gives, with what it costs."""
    return run_cost(automaton, *repeated(automaton, structure, rounds))


def gain_of_round(automaton: Automaton, structure: Structure) -> Fraction:
    """Return what each further round adds at least, in the long run.

    Positive, or 0 where inputs do not change in a way that costs something.
    """
    transitions = [automaton.transitions[index] for index in structure.run]
    match structure:
        case DisclosingCycle(position=position):
            if transitions[position].output is OutputSample.FRESH:
                return automaton.fresh_cost(transitions[position])
            return automaton.rate(transitions[position])
        case LeakingPair(path=path):
            low, high = transitions[path[0]], transitions[path[-1]]
            apart = automaton.ends(high)[1] - automaton.ends(low)[0]
            return min(automaton.rate(end) for end in (low, high)) * min(1, apart)
        case ViolatingPath(path=path, shown_first=shown_first):
            held = transitions[path[-1] if shown_first else path[0]]
            return automaton.rate(held) * abs(automaton.ends(held)[shown_first])
        case LeakingCycle():
            return _use(automaton, structure)[1]


MOST_ROUNDS = 4096


def rounds_beyond(
    automaton: Automaton, structure: Structure, budget: Fraction, limits: Limits
) -> int | None:
    """Return the fewest rounds that cost more than a budget; None if `MOST_ROUNDS` do not.

    Found by doubling and halving: more rounds never cost less, because the longer run has the
    shorter one's positions among its own.
    """

    def cost(times: int) -> Fraction:
        limits.check()
        return cost_of_rounds(automaton, structure, times).value

    most = 1
    while cost(most) <= budget:
        if most >= MOST_ROUNDS:
            return None
        most *= 2
    # Half of them cost too little.
    return bisect_right(range(most), budget, most // 2 + 1, most, key=cost)
