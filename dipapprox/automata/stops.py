"""Stopping made visible: where no guard holds, a step to a sink that shows a symbol.

The published definition of privacy compares outputs of runs of the whole input: that a computation
stops, because no guard holds, is in no output. A user of the real mechanism sees it. With a step
for every gap, the budget covers it; it may be larger, or there may be none.
"""

from __future__ import annotations

from dipapprox.automata.model import Automaton, ControlState, Transition
from dipapprox.automata.unfolding import augment
from dipapprox.automata.validity import gaps, uncovered
from dipapprox.data_classes import replace
from dipapprox.language.traversal import free_name
from dipapprox.limits import Limits

STOP = "ostop"


def with_visible_stops(automaton: Automaton) -> Automaton:
    """Return the automaton with a transition for every case that its guards leave out.

    Halting states stay as they are: their place in the run says that they stop. The new symbol and
    state have names that the automaton does not use.
    """
    found = gaps(automaton)
    if not found:
        return automaton
    symbol = free_name(STOP, {t.output for t in automaton.transitions})
    sink = ControlState(free_name("qstop", {state.name for state in automaton.states}), False, None)
    leaving = automaton.leaving()
    added = []
    for state in found:
        guards = [automaton.transitions[index] for index in leaving[state]]
        for above, below in uncovered(guards):
            target = len(automaton.states)
            added.append(Transition(state, above, below, target, symbol, 0))
    return replace(
        automaton, states=(*automaton.states, sink), transitions=(*automaton.transitions, *added)
    )


def stopping_states(automaton: Automaton, limits: Limits) -> tuple[int, ...]:
    """Return the states in which some feasible run may find no guard that holds."""
    total = with_visible_stops(automaton)
    seen = {edge.transition for edge in augment(total, limits).edges}
    added = range(len(automaton.transitions), len(total.transitions))
    return tuple(sorted({total.transitions[index].source for index in added if index in seen}))
