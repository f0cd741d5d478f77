"""Stopping made visible: where no guard holds, a step to a sink that shows a symbol.

The published definition of privacy compares outputs of runs of the whole input: that a computation
stops, because no guard holds, is in no output. A user of the real mechanism sees it. With a step
for every gap, the budget covers it; it may be larger, or there may be none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from dipapprox.automata.model import Automaton, State, Transition, members
from dipapprox.automata.validity import gaps
from dipapprox.data_classes import replace

STOP = "ostop"


def with_visible_stops(automaton: Automaton) -> Automaton:
    """Return the automaton with a transition for every case that its guards leave out.

    Halting states stay as they are: their place in the run says that they stop. The new symbol and
    state have names that the automaton does not use.
    """
    found = gaps(automaton)
    if not found:
        return automaton
    symbol = _fresh(STOP, {t.output for t in automaton.transitions})
    sink = State(_fresh("qstop", {state.name for state in automaton.states}), False, None)
    leaving = automaton.leaving()
    added = []
    for state in found:
        guards = [automaton.transitions[index] for index in leaving[state]]
        for above, below in _uncovered(guards, 0, 0):
            target = len(automaton.states)
            added.append(Transition(state, above, below, target, symbol, 0))
    return replace(
        automaton,
        states=(*automaton.states, sink),
        transitions=(*automaton.transitions, *added),
    )


def _fresh(name: str, taken: Collection[object]) -> str:
    while name in taken:
        name += "_"
    return name


def _uncovered(guards: Sequence[Transition], above: int, below: int) -> Iterator[tuple[int, int]]:
    """Yield disjoint guards that cover what `guards` leave out of one guard.

    The guards are split at a variable that one of those that are left compares, until none is left
    or one of them holds throughout.
    """
    left = [g for g in guards if not (g.above & below or g.below & above)]
    if not left:
        yield above, below
        return
    # A guard with the fewest comparisons that are still open is decided first.
    first = min(left, key=lambda g: (g.used & ~(above | below)).bit_count())
    undecided = first.used & ~(above | below)
    if not undecided:
        return
    variable = 1 << next(members(undecided))
    yield from _uncovered(left, above | variable, below)
    yield from _uncovered(left, above, below | variable)
