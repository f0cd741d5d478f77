"""Whether what is seen determines the run: then a run's probability is that of its word.

All prefixes of runs count, so two runs with the same inputs' places and the same outputs exist iff
at some reachable node two feasible steps look alike: at the first place where the runs differ.
Which of the two samples a real output is cannot be seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.automata.model import Transition, is_real
from dipapprox.automata.runs import Run, Segment
from dipapprox.automata.unfolding import Unfolding


def outputs_determine_runs(graph: Unfolding) -> bool:
    """Whether every word fits at most one feasible run; the graph may be a quotient."""
    for leaving in graph.leaving:
        shown = [_look(graph.transition(edge)) for edge in leaving]
        if len(set(shown)) < len(shown):
            return False
    return True


def _look(transition: Transition) -> tuple[str, ...]:
    return () if is_real(transition.output) else (str(transition.output),)


def is_determined(whole: Unfolding, run: Run, repeated: Sequence[Segment] = ()) -> bool:
    """Whether no other feasible run has the same word, however often some segments are repeated.

    Args:
        whole: The augmented automaton.
        run: A feasible run.
        repeated: Disjoint segments of it, ascending. If one of them does not lead back to its
            node of the augmented automaton, the answer is no.

    Returns:
        Whether the nodes that other runs with the same word may be at, after all of it, are none:
        exactly so without repetition; with it, for any numbers of copies at once.
    """
    walk = _walk_of(whole, run)
    others: frozenset[int] = frozenset()
    position = 0
    for segment in repeated:
        start = 0 if not segment.start else whole.edges[walk[segment.start - 1]].target
        if start != whole.edges[walk[segment.end - 1]].target:
            return False
        others = _along(whole, walk[position : segment.start], others)
        inside = walk[segment.start : segment.end]
        while not (after := _along(whole, inside, others)) <= others:
            others |= after
        position = segment.end
    return not _along(whole, walk[position:], others)


_MOST_SETS = 500


def determined_extension(whole: Unfolding, run: Run) -> Run | None:
    """Return a run that begins with `run` and is the only one with its word; None if none is near.

    A longer run never costs less, so its bound is at least as good.
    """
    walk = _walk_of(whole, run)
    others = _along(whole, walk, frozenset())
    node = whole.edges[walk[-1]].target if walk else 0
    known = {(node, others)}
    waiting: list[tuple[int, frozenset[int], Run]] = [(node, others, run)]
    for node, others, longer in waiting:
        if not others:
            return longer
        for edge in whole.leaving[node]:
            reached = whole.edges[edge].target, _along(whole, (edge,), others)
            if reached not in known and len(known) < _MOST_SETS:
                known.add(reached)
                waiting.append((*reached, (*longer, whole.edges[edge].transition)))
    return None


def _walk_of(whole: Unfolding, run: Run) -> tuple[int, ...]:
    walk = []
    node = 0
    for index in run:
        for edge in whole.leaving[node]:
            if whole.edges[edge].transition == index:
                walk.append(edge)
                node = whole.edges[edge].target
                break
        else:
            raise ValueError("the run is not feasible")
    return tuple(walk)


def _along(whole: Unfolding, walk: Sequence[int], others: frozenset[int]) -> frozenset[int]:
    """Return where runs that look like a walk, but are another, may be at its end.

    Args:
        whole: The augmented automaton.
        walk: Edges, one after the other.
        others: Where other runs may be at its beginning.
    """
    for taken in walk:
        node = whole.edges[taken].source
        look = _step_look(whole, taken)
        after = set()
        for other in others | {node}:
            for edge in whole.leaving[other]:
                is_other = other in others or edge != taken
                if is_other and _step_look(whole, edge) == look:
                    after.add(whole.edges[edge].target)
        others = frozenset(after)
    return others


def _step_look(whole: Unfolding, edge: int) -> tuple[object, ...]:
    transition = whole.transition(edge)
    return whole.automaton.reads(transition), _look(transition)
