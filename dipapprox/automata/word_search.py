"""Inputs to try for a bound by a word that several runs fit: those of a run, on rays and apart.

The means of the first input are -t·Δ along a run, those of the second -(t - 1)·Δ: for a word that
fits one run this reaches the run's cost. What is tried is the same every time; nothing is claimed
of how good it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.automata.model import Automaton
from dipapprox.automata.rays import inputs_at
from dipapprox.automata.runs import Run, dependencies
from dipapprox.automata.shifts import Changes
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.words import Meter, WordBound, word_bound
from dipapprox.limits import Limits

_TIMES = (1, 2, 4, 8, 16)
_MOST_WORK = 10_000
"""Values that are looked at for one run's word, but for the last inputs."""


def bounds_of_run(
    graph: Unfolding, run: Run, changes: Changes, limits: Limits
) -> Iterator[WordBound]:
    """Yield better and better bounds for the word of a run.

    Args:
        graph: The augmented automaton, or its quotient.
        run: A feasible run.
        changes: Those of its inputs.
        limits: As for `word_rate`.

    Raises:
        LimitReached: As `word_rate`.
    """
    automaton, meter = graph.automaton, Meter(_MOST_WORK)
    best: Fraction | None = None
    rays = (tuple([Fraction(-change * times) for change in changes]) for times in _TIMES)
    for means in (_apart(automaton, run, changes), *rays):
        if meter.left > 0:
            inputs = inputs_at(automaton, run, means, changes)
            bound = word_bound(graph, *inputs, limits, meter)
            if bound is not None and (best is None or bound.value > best):
                best = bound.value
                yield bound


def _apart(automaton: Automaton, run: Run, changes: Changes) -> tuple[Fraction, ...]:
    """Return means that make it plain which samples are stored in the end.

    Those that later samples are only compared with go out of the way in the direction of their
    change, those that are overwritten stay between, the others press against them as on a ray.
    """
    assigns = [bool(automaton.transitions[index].assigned) for index in run]
    final = {min(arc) for arc in dependencies(automaton, run) if not assigns[max(arc)]}
    means = []
    for place, change in enumerate(changes):
        size = -9 if place < len(run) - 1 else -20
        if assigns[place]:
            size = 3 if place in final else 0
        means.append(Fraction(change * size))
    return tuple(means)
