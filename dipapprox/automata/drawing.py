"""An automaton as a graph in the DOT language, some of its transitions marked."""

from __future__ import annotations

from collections.abc import Collection

from dipapprox.automata.model import Automaton, ControlState, OutputSample, Transition


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
