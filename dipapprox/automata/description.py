"""From the text of an automaton to its model, names as indices and masks; and to a graph in DOT."""

from __future__ import annotations

from collections.abc import Collection
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
    for location in text:
        if location.name in states:
            message = f"the state '{location.name}' is declared twice"
            hint = "give all its transitions in one block, joined by 'elseif'"
            problems.report("name error", message, location.span, hint)
        fresh = None if location.insample_prime is None else _laplace(location.insample_prime)
        states[location.name] = ControlState(
            location.name, location.reads, _laplace(location.insample), fresh, span=location.span
        )
    steps = [(location, step) for location in text for step in location.steps]
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


# --- As a graph in the DOT language ---------------------------------------------------------------


def to_dot(automaton: Automaton, marked: Collection[int] = (), title: str = "automaton") -> str:
    """Return the text of a directed graph.

    States that read an input are ellipses, others boxes, halting ones double circles; an edge says
    the guard, the output and what is stored.

    Args:
        marked: Indices of transitions to draw in red: those of a bad structure, or of a tight run.
    """
    lines = [f"digraph {_quoted(title)} {{", "  rankdir=LR;", '  start [shape=point, label=""];']
    stopping = [not leaving for leaving in automaton.leaving()]
    for number, (state, stops) in enumerate(zip(automaton.states, stopping, strict=True)):
        shape = "doublecircle" if stops else "ellipse" if state.reads else "box"
        lines.append(f"  s{number} [shape={shape}, label={_quoted(_state_text(state, stops))}];")
    lines.append("  start -> s0;")
    for number, transition in enumerate(automaton.transitions):
        look = ", color=red, fontcolor=red, penwidth=2" if number in marked else ""
        label = _quoted(_step_text(automaton, transition))
        lines.append(f"  s{transition.source} -> s{transition.target} [label={label}{look}];")
    return "\n".join([*lines, "}", ""])


def _state_text(state: ControlState, stops: bool) -> str:
    lines = [state.name]
    if not stops:
        for noise, name in ((state.compared, "insample"), (state.fresh, "insample'")):
            if noise is not None:
                mean = f"input + {noise.mean}" if state.reads else str(noise.mean)
                lines.append(f"{name} ~ Lap({mean}, rate {noise.rate} ε)")
    return "\n".join(lines)


def _step_text(automaton: Automaton, transition: Transition) -> str:
    output = transition.output
    lines = [] if not transition.used else [automaton.guard_text(transition)]
    lines.append(f"show {output.value if isinstance(output, OutputSample) else output}")
    lines += [f"{name} := insample" for name in automaton.names(transition.assigned)]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
