"""Automata back to their descriptions: the inverse of `dipapprox.automata.description`."""

from __future__ import annotations

from dipapprox.automata.model import Automaton, Sample, Transition
from dipapprox.language.automata import Atom, AutomatonText, Location, Noise, Step


def text_of(automaton: Automaton) -> AutomatonText:
    """Return a description whose automaton is this one, up to the order of the variables.

    Halting states have no block. A state's transitions must be in the automaton's order.
    """
    locations = []
    for state, leaving in zip(automaton.states, automaton.leaving(), strict=True):
        if state.compared is None or not leaving:
            continue
        steps = tuple(_step(automaton, automaton.transitions[index]) for index in leaving)
        compared = Noise(state.compared.rate, state.compared.mean)
        fresh = None if state.fresh is None else Noise(state.fresh.rate, state.fresh.mean)
        locations.append(Location(state.name, state.reads, compared, fresh, steps))
    return AutomatonText(tuple(locations))


def _step(automaton: Automaton, transition: Transition) -> Step:
    atoms = [Atom(name, True) for name in automaton.names(transition.above)]
    atoms += [Atom(name, False) for name in automaton.names(transition.below)]
    output = transition.output
    return Step(
        tuple(atoms),
        automaton.names(transition.assigned),
        output.value if isinstance(output, Sample) else output,
        automaton.states[transition.target].name,
    )
