"""Events as text, for messages: the program's variables that they are about, with their lines."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from dipapprox.events.event import Chosen, Connected, Event, Star
from dipapprox.events.reduce import connected_samples
from dipapprox.semantics.state import FinalStates, guards_of

_SHOWN = 6
"""Most variables, and most outputs, in a message."""


def origin_text(states: FinalStates, number: int, event: Connected) -> str:
    """Say where in a program an event comes from.

    Args:
        states: The final states.
        number: The state that the event was first met in.
        event: Canonical: it has lost its names. Of the comparisons in the state those over as many
            samples are named; all if there are none or several.

    Returns:
        For example "the comparisons of 'x' (line 5) and 2 draws of 'r' (line 7) that lead to
        out = 1".
    """
    state = states.states[number]
    outputs = _list(
        [
            f"{cell.name} = {value}"
            for cell, value in zip(states.program.outputs, state.outputs, strict=True)
        ]
    )
    if isinstance(event, Chosen):
        return f"a choice that leads to {outputs}"
    forms = [guard.form for guard in guards_of(state.path)]
    parts = [samples for samples, _ in connected_samples(len(states.samples), forms)]
    alike = [samples for samples in parts if len(samples) == _size(event)]
    samples = alike[0] if len(alike) == 1 else sorted({s for part in parts for s in part})
    draws = Counter((states.samples[k].label, states.samples[k].line) for k in samples)
    named = [_draws(label, line, count) for (label, line), count in draws.items()]
    return f"the comparisons of {_list(named)} that lead to {outputs}"


def _list(items: list[str]) -> str:
    if len(items) > _SHOWN:
        items = [*items[:_SHOWN], f"{len(items) - _SHOWN} more"]
    *first, last = items or ["no output"]
    return f"{', '.join(first)} and {last}" if first else last


def _size(event: Event | Star) -> int:
    match event:
        case Event(samples):
            return len(samples)
        case Star(_, below, above):
            return 1 + sum(count for _, count in (*below, *above))
        case _:
            assert_never(event)


def _draws(label: str, line: int | None, count: int) -> str:
    where = "" if line is None else f" (line {line})"
    return f"{count} draws of '{label}'{where}" if count > 1 else f"'{label}'{where}"
