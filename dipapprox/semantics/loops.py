"""What loops consist of, and when one has come back to where it was."""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.semantics.configuration import State
from dipapprox.semantics.evaluation import PathFault
from dipapprox.semantics.run import Run

Situation = tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]]]
"""The values of live cells and of outputs, by identity: equal values are one object."""


def situation(run: Run, state: State, live: int) -> Situation:
    """Return all that the further course depends on, inputs and samples apart."""
    stored = dict(state.store.items())
    cells = frozenset((name, id(stored[name])) for name in run.live.among(live, stored))
    return cells, frozenset((name, id(value)) for name, value in state.outputs.items())


def choices_in(body: core.Body) -> Iterator[core.Choose]:
    """Yield the random choices in statements, in the order of the text."""
    return (each for each in statements_in(body) if isinstance(each, core.Choose))


def draw_fault(loop: core.While) -> PathFault | None:
    """Return the fault of drawing samples in a loop, if it does.

    Nothing bounds the number of the samples then, and privacy is undecidable (DiPC paper, section
    2.3, "bounded assignments").
    """
    for statement in statements_in((loop,)):
        if isinstance(statement, core.Draw):
            return PathFault(
                "loop error",
                "a sample is drawn in a while loop",
                statement.span,
                "draw before the loop, or use a for loop",
            )
    return None


def endless(loop: core.While) -> PathFault:
    """Return the fault of a loop that comes back to where it was, nothing left to chance."""
    return PathFault(
        "loop error",
        "the loop never ends",
        loop.condition.span or loop.span,
        "a loop must end with probability 1",
    )
