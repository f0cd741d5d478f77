"""From the text of an automaton to its model: names become indices and masks."""

from __future__ import annotations

from pathlib import Path

from dipapprox.automata.model import (
    Automaton,
    ControlState,
    LaplaceNoise,
    Output,
    OutputSample,
    Transition,
    check,
)
from dipapprox.bundled import shown_name
from dipapprox.data_classes import replace
from dipapprox.errors import Diagnosis, check_visible, did_you_mean
from dipapprox.language.dipa import AutomatonNoise, AutomatonText, parse_dipa
from dipapprox.language.load import read_text

_SAMPLES = {sample.value: sample for sample in OutputSample}


def load_automaton(path: Path) -> Automaton:
    """Read a `.dipa` file and check the automaton; the file's stem becomes its name."""
    check_visible(path.stem, "the automaton's name")
    return replace(automaton_of(parse_dipa(read_text(path), shown_name(path))), name=path.stem)


def automaton_of(text: AutomatonText) -> Automaton:
    """Build the automaton that a text describes, and check that it is one.

    A state that is only gone to stops there. Declaring a state twice, assigning a variable nowhere,
    and what `check` finds raise `SourceError`, with all that is wrong.
    """
    problems = Diagnosis()
    states: dict[str, ControlState] = {}
    for location in text.locations:
        if location.name in states:
            message = f"the state '{location.name}' is declared twice"
            hint = "give all its transitions in one block, joined by 'elseif'"
            problems.report("name error", message, location.span, hint)
        fresh = None if location.insample_prime is None else _laplace(location.insample_prime)
        states[location.name] = ControlState(
            location.name, location.reads, _laplace(location.insample), fresh, span=location.span
        )
    steps = [(location, step) for location in text.locations for step in location.steps]
    for _, step in steps:
        end = ControlState(step.target, False, None, span=step.target_span)
        states.setdefault(step.target, end)
    numbers = {name: index for index, name in enumerate(states)}
    variables = {name: None for _, step in steps for name in step.assigned}
    masks = {name: 1 << index for index, name in enumerate(variables)}
    transitions = []
    unknown = set[str]()
    for location, step in steps:
        masked = {True: 0, False: 0}
        for atom in step.guard:
            if atom.variable in unknown:
                continue
            if atom.variable not in masks:
                unknown.add(atom.variable)
                message = f"the variable '{atom.variable}' is never assigned"
                hint = did_you_mean(atom.variable, masks)
                problems.report("name error", message, atom.span, hint)
                continue
            if masked[not atom.at_least] & masks[atom.variable]:
                message = "the guard can never hold: it has insample on both sides of "
                message += f"'{atom.variable}'"
                problems.report("value error", message, atom.span)
            masked[atom.at_least] |= masks.get(atom.variable, 0)
        assigned = sum(masks[name] for name in step.assigned)
        output: Output = _SAMPLES.get(step.output, step.output)
        transitions.append(
            Transition(
                numbers[location.name],
                masked[True],
                masked[False],
                numbers[step.target],
                output,
                assigned,
                span=step.span,
            )
        )
    problems.finish()
    automaton = Automaton(tuple(variables), tuple(states.values()), tuple(transitions))
    check(automaton)
    return automaton


def _laplace(noise: AutomatonNoise) -> LaplaceNoise:
    return LaplaceNoise(noise.rate, noise.mean)
