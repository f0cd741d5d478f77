"""Automata back to their descriptions: the inverse of `dipapprox.automata.description`."""

from __future__ import annotations

from dipapprox.automata.model import Automaton, OutputSample, Transition
from dipapprox.language.automata import (
    AutomatonNoise,
    AutomatonText,
    Location,
    StatedTransition,
    ThresholdTest,
)


def text_of(automaton: Automaton) -> AutomatonText:
    """Return a description whose automaton is this one, up to the order of the variables.

    Halting states have no block. A state's transitions must be in the automaton's order.
    """
    locations = []
    for state, leaving in zip(automaton.states, automaton.leaving(), strict=True):
        if state.compared is None or not leaving:
            continue
        steps = tuple(_step(automaton, automaton.transitions[index]) for index in leaving)
        compared = AutomatonNoise(state.compared.rate, state.compared.mean)
        fresh = None if state.fresh is None else AutomatonNoise(state.fresh.rate, state.fresh.mean)
        locations.append(Location(state.name, state.reads, compared, fresh, steps))
    return AutomatonText(tuple(locations))


def _step(automaton: Automaton, transition: Transition) -> StatedTransition:
    atoms = [ThresholdTest(name, True) for name in automaton.names(transition.above)]
    atoms += [ThresholdTest(name, False) for name in automaton.names(transition.below)]
    output = transition.output
    return StatedTransition(
        tuple(atoms),
        automaton.names(transition.assigned),
        output.value if isinstance(output, OutputSample) else output,
        automaton.states[transition.target].name,
    )
