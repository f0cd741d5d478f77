"""What of a budget's analysis is seen of the program: runs that what is published tells.

An automaton shows a letter at each step; of a program less may be seen (`rounds.visible`). A run,
or a structure gone round any number of times, proves a lower bound of the program if nothing else
publishes the same; a few steps more may tell it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dipapprox.automata.analysis import Analysis, RunBound
from dipapprox.automata.candidates import Candidate
from dipapprox.automata.families import cycles_of, repeated
from dipapprox.automata.runs import Run
from dipapprox.automata.shifts import run_cost
from dipapprox.automata.unfolding import Unfolding
from dipapprox.data_classes import replace
from dipapprox.rounds.compiled import Compiled
from dipapprox.rounds.visible import is_told

NOT_TOLD = "steps that publish nothing are not told from others"

_MOST_TRIED = 40
"""Runs that begin with the one that is to be told."""


def as_seen(compiled: Compiled, analysis: Analysis) -> Analysis:
    """Return what is proved of the program: the automaton's bounds, but for runs that are not told.

    Args:
        compiled: The automaton that the program is.
        analysis: Of that.
    """
    quotient = analysis.quotient
    if compiled.tells:
        return analysis
    kept = replace(analysis, lower=None, unbounded=False, reason=NOT_TOLD)
    if quotient is None:
        return kept
    whole = quotient.whole
    if analysis.unbounded:
        structure = analysis.structure
        if structure is None:
            return kept
        cycles = [range(each.start, each.end) for each in cycles_of(structure)]
        for run in _longer(whole, structure.run):
            if is_told(whole, compiled.seen, run, cycles):
                told = replace(structure, run=run)
                longer, changes = repeated(analysis.automaton, told, 2)
                cost = run_cost(analysis.automaton, longer, changes)
                lower = RunBound(Candidate(longer, changes, cost))
                return replace(analysis, structure=told, lower=lower)
        return kept
    if isinstance(analysis.lower, RunBound):
        candidate = analysis.lower.candidate
        for run in _longer(whole, candidate.run):
            if is_told(whole, compiled.seen, run):
                changes = candidate.changes + (0,) * (len(run) - len(candidate.run))
                cost = run_cost(analysis.automaton, run, changes)
                found = replace(kept, lower=RunBound(Candidate(run, changes, cost)))
                return replace(found, reason=None if found.is_exact else analysis.reason)
    return replace(kept, reason=None if kept.is_exact else NOT_TOLD)


def _longer(whole: Unfolding, run: Run) -> Iterator[Run]:
    """Yield a run, then some that go on."""
    node = 0
    for step in run:
        node = whole.steps(node)[step]
    waiting = [(run, node)]
    for number, (longer, end) in enumerate(waiting):
        if number == _MOST_TRIED:
            return
        yield longer
        waiting += [((*longer, step), target) for step, target in whole.steps(end).items()]
