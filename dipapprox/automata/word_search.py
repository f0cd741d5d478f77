"""Inputs to try for a bound by a word that several runs fit: rays, and single moves.

The means of the first input are -t·Δ along a run, those of the second -(t - 1)·Δ: for a word that
fits one run this reaches the run's cost. What is tried is the same every time;
nothing is claimed of how good it is.
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
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits

_TIMES = (1, 2, 4, 8, 16)
_MOST_WORK = 10_000
"""Values that are looked at for one run's word, but for the first inputs."""


def bounds_of_run(
    graph: Unfolding, run: Run, changes: Changes, limits: Limits
) -> Iterator[WordBound]:
    """Yield better and better bounds for the word of a run.

    Args:
        graph: The augmented automaton, or its quotient.
        run: A feasible run.
        changes: Those of its inputs at first.
        limits: As for `word_rate`.

    Raises:
        LimitReached: As `word_rate`.
    """
    search = _Search(graph, run, limits)
    apart = _apart(graph.automaton, run, changes)
    yield from search.attempt(apart)
    for times in _TIMES:
        ray = tuple(Fraction(-change * times) for change in changes)
        yield from search.attempt(_Inputs(ray, changes))
    yield from search.climb(apart)


def _apart(automaton: Automaton, run: Run, changes: Changes) -> _Inputs:
    """Return inputs that make it plain which samples are stored in the end.

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
    return _Inputs(tuple(means), changes)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Means of the first input's samples along a run, and how they change for the second."""

    means: tuple[Fraction, ...]
    changes: tuple[int, ...]

    def moves(self, place: int) -> Iterator[_Inputs]:
        """Yield inputs that differ at one place."""
        here, change = self.means[place], self.changes[place]
        steps = (0, 1, -1, 3, -3, here, -here, -2 * here)
        for mean in dict.fromkeys(here + step for step in steps):
            for turned in (-1, 0, 1):
                if (mean, turned) != (here, change):
                    means = (*self.means[:place], mean, *self.means[place + 1 :])
                    changes = (*self.changes[:place], turned, *self.changes[place + 1 :])
                    yield _Inputs(means, changes)


class _Search:
    """The work that is left and the best bound so far for one run's word."""

    def __init__(self, graph: Unfolding, run: Run, limits: Limits) -> None:
        self.graph, self.run, self.limits = graph, run, limits
        self.meter = Meter(_MOST_WORK)
        self.best: Fraction | None = None
        automaton = graph.automaton
        self.inputs = [
            place
            for place, index in enumerate(run)
            if automaton.reads(automaton.transitions[index])
        ]

    def attempt(self, inputs: _Inputs) -> Iterator[WordBound]:
        """Yield the bound at these inputs if it is the best so far."""
        bound = self._bound(inputs)
        if bound is not None and (self.best is None or bound.value > self.best):
            self.best = bound.value
            yield bound

    def climb(self, start: _Inputs) -> Iterator[WordBound]:
        """Yield what is best so far on the way up by single moves, until none helps."""
        yield from self.attempt(start)
        here, height = start, self._bound(start)
        improved = True
        while improved and height is not None:
            improved = False
            for place in self.inputs:
                for moved in here.moves(place):
                    if self.meter.left <= 0:
                        return
                    found = self._bound(moved)
                    if found is not None and found.value > height.value:
                        here, height, improved = moved, found, True
                        if self.best is None or found.value > self.best:
                            self.best = found.value
                            yield found

    def _bound(self, inputs: _Inputs) -> WordBound | None:
        if self.meter.left <= 0:
            return None
        automaton = self.graph.automaton
        found = inputs_at(automaton, self.run, inputs.means, inputs.changes)
        return word_bound(self.graph, *found, self.limits, self.meter)
