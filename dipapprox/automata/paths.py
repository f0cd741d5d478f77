"""Leaking pairs and privacy violating paths: a quick way to find one.

It begins with an automaton without leaking cycle. A walk that breaks WF⁺ has a path between marked
transitions. Go round the cycles on which they lie, in the walk, and look whether the path is still
there. Where it is not, the search below the fallback weight says whether there is a budget.
"""

from __future__ import annotations

from dipapprox.automata.families import gain_of_round
from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.runs import Run, Segment, closing_walk, dependencies, run_of
from dipapprox.automata.structures import LeakingPair, Structure, ViolatingPath, holds
from dipapprox.automata.unfolding import Quotient, followed
from dipapprox.graphs import shortest_way

# --- a path between given parts of a run --------------------------------------------------------


def structure_in(
    automaton: Automaton, run: Run, below: Segment | None, above: Segment | None
) -> Structure | None:
    """Return a structure with the given cycles, if the run has one.

    Args:
        below: The cycle in which the path begins; None if it begins at a shown sample.
        above: The cycle in which the path ends; None if it ends at a shown sample.
    """
    arcs = dependencies(automaton, run)
    shown = {
        p for p, t in enumerate(run) if automaton.transitions[t].output is OutputSample.COMPARED
    }
    # First edges from the cycle, last edges into it; then any path between their other ends.
    firsts: dict[int, int] = {}
    lasts: dict[int, int] = {}
    for tail, head in arcs:
        if below is not None and tail in below and head < tail:
            firsts.setdefault(head, tail)
        if above is not None and head in above and tail < head:
            lasts.setdefault(tail, head)
    starts = shown if below is None else set(firsts)
    goals = shown if above is None else set(lasts)
    heads: dict[int, list[tuple[int, int]]] = {}
    for tail, head in arcs:
        heads.setdefault(tail, []).append((head, head))
    found = shortest_way(sorted(starts), lambda tail: heads.get(tail, ()), goals.__contains__)
    if found is None:
        return None
    first, rest, last = found
    path = (first, *rest)
    if below is not None:
        path = (firsts[first], *path)
    if above is not None:
        path = (*path, lasts[last])
    if below is not None and above is not None:
        return LeakingPair(run, below, above, path)
    if above is not None:
        return ViolatingPath(run, above, path, True)
    return None if below is None else ViolatingPath(run, below, path, False)


# --- the quick way ------------------------------------------------------------------------------


def lifted_structure(quotient: Quotient, walk: tuple[int, ...]) -> Structure | None:
    """Look for a structure on a walk that breaks WF⁺, with the cycles of marked steps inserted.

    Where some structures cost nothing, for one that does.

    Args:
        walk: Edges of the augmented automaton, from its initial node.
    """
    graph, whole = quotient.graph, quotient.whole
    image = followed(graph, map(whole.label, walk), graph.label)
    looping = [position for position, edge in enumerate(image) if graph.is_internal(edge)]
    downward = [p for p in looping if graph.transition(image[p]).below]
    upward = [p for p in looping if graph.transition(image[p]).above]
    attempts: list[tuple[int | None, int | None]] = [(p, q) for p in downward for q in upward]
    if any(whole.transition(edge).output is OutputSample.COMPARED for edge in walk):
        attempts += [(None, q) for q in upward] + [(p, None) for p in downward]
    for first, second in attempts[:_MOST_ATTEMPTS]:
        found = _with_cycles(quotient, image, first, second)
        if found is None or not holds(whole.automaton, found):
            continue
        if gain_of_round(whole.automaton, found):
            return found
    return None


_MOST_ATTEMPTS = 400


def _with_cycles(
    quotient: Quotient, image: tuple[int, ...], first: int | None, second: int | None
) -> Structure | None:
    """Insert cycles through the steps at two positions of a walk of the quotient."""
    graph, whole = quotient.graph, quotient.whole
    walk: list[int] = []
    segments: dict[int, Segment] = {}
    for position, edge in enumerate(image):
        for number, place in enumerate((first, second)):
            if place == position:
                cycle = closing_walk(graph, [edge])
                repeated, segment = _closed(quotient, tuple(walk), cycle)
                walk += repeated
                segments[number] = segment
        walk.append(edge)
    run = run_of(whole, quotient.lift(walk))
    return structure_in(whole.automaton, run, segments.get(0), segments.get(1))


def _closed(
    quotient: Quotient, before: tuple[int, ...], cycle: tuple[int, ...]
) -> tuple[tuple[int, ...], Segment]:
    """Repeat a cycle of the quotient until the augmented automaton is at a node a second time;
    return the copies, and the positions from the first to the second visit."""
    seen: dict[int, int] = {}
    copies = 0
    while True:
        lifted = quotient.lift(before + cycle * copies)
        node = quotient.whole.edges[lifted[-1]].target if lifted else 0
        if node in seen:
            start = len(before) + seen[node] * len(cycle)
            return cycle * copies, Segment(start, len(before) + copies * len(cycle))
        seen[node] = copies
        copies += 1
