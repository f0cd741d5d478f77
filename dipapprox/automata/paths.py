"""A condition that is a little stronger than well-formedness and quick to test: WF⁺.

An edge of the augmented automaton is *marked* if its image in the quotient lies on a cycle. WF⁺
says: no leaking and no disclosing cycle, no path of a run's dependency graph as in a leaking pair
with marked transitions at its two ends (whether or not the run goes round their cycles), and none
as in a privacy violating path. WF⁺ implies well-formedness: the cycles of a leaking pair, repeated,
become cycles of the quotient, and the path survives. The paper's weight is a budget under WF⁺ (its
Propositions 7 and 9 then hold as printed), but not for every well-formed automaton: one round of a
loop may overwrite the value through which a path goes.

Four sets of stored values are carried along the walks: those that lie above some marked,
upper-bounded sample, at least a sample that was shown, below some marked, lower-bounded sample, or
at most one that was shown. A dependency path grows at
both ends through values that are stored at that moment, so no path is missed; the sets only help
each other, so only the largest are kept.

Leaking pairs and privacy violating paths: a quick way to find one.

It begins with an automaton without leaking cycle. A walk that breaks WF⁺ has a path between marked
transitions. Go round the cycles on which they lie, in the walk, and look whether the path is still
there. Where it is not, the search below the fallback weight says whether there is a budget.
"""

from __future__ import annotations

from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.runs import Run, closing_walk, dependencies, run_of
from dipapprox.automata.structures import BadStructure, gain_of_round, holds
from dipapprox.automata.unfolding import Quotient, ValueOrder, followed
from dipapprox.graphs import shortest_way
from dipapprox.limits import check_limits, check_states

Taints = tuple[int, int, int, int]
"""Masks of variables: over a cycle, over what is shown, under a cycle, under what is shown."""


def _within(one: Taints, other: Taints) -> bool:
    """Whether every set is a part of the other's."""
    return not any(mine & ~theirs for mine, theirs in zip(one, other, strict=True))


def tainted_walk(quotient: Quotient) -> tuple[int, ...] | None:
    """Return a walk of the augmented automaton that breaks WF⁺ by a path; None if there is none.

    Sets that are met count as states.
    """
    whole, components, classes = quotient.whole, quotient.graph.components, quotient.classes
    marked = {
        index
        for index, edge in enumerate(whole.edges)
        if components[classes[edge.source]] == components[classes[edge.target]]
    }
    found: list[tuple[int, Taints, int, int]] = [(0, (0, 0, 0, 0), -1, -1)]  # …, parent, edge
    largest: list[list[Taints]] = [[] for _ in whole.states]
    largest[0].append(found[0][1])
    for number, (node, taints, _, _) in enumerate(found):
        check_states(len(found))
        check_limits()
        if taints not in largest[node]:
            continue  # a larger one came later
        for edge in whole.leaving[node]:
            after = _after(quotient, edge, taints, whole.orders[node], edge in marked)
            if after is None:
                walk = [edge]
                while found[number][3] >= 0:
                    walk.append(found[number][3])
                    number = found[number][2]
                return tuple(reversed(walk))
            target = whole.edges[edge].target
            if not any(_within(after, other) for other in largest[target]):
                largest[target] = [t for t in largest[target] if not _within(t, after)]
                largest[target].append(after)
                found.append((target, after, number, edge))
    return None


def _after(
    quotient: Quotient, edge: int, taints: Taints, known: ValueOrder, marked: bool
) -> Taints | None:
    """Return the taints after a step; None if it completes a forbidden path."""
    transition = quotient.whole.transition(edge)
    shown = transition.output is OutputSample.COMPARED
    if not (any(taints) or shown or (marked and transition.used)):
        return taints
    small, large = known.at_most(transition.above), known.at_least(transition.below)
    over, under = [*taints[:2]], [*taints[2:]]
    # What this step's own sample inherits from the values below and above it.
    above, below = [bool(each & small) for each in over], [bool(each & large) for each in under]
    if marked and transition.below:
        over[0] |= large
    if marked and transition.above:
        under[0] |= small
    if shown:
        above[1] = below[1] = True
    for kind in (0, 1):
        over[kind] |= large if above[kind] else 0
        under[kind] |= small if below[kind] else 0
    for low, high in ((0, 0), (0, 1), (1, 0)):
        if over[low] & under[high] or (above[low] and below[high]):
            return None
    assigned, kept = transition.assigned, ~transition.assigned
    first, second, third, fourth = (
        mask & kept | (assigned if inherited else 0)
        for mask, inherited in zip((*over, *under), (*above, *below), strict=True)
    )
    return first, second, third, fourth


# --- a path between given parts of a run --------------------------------------------------------


def structure_in(
    automaton: Automaton, run: Run, below: range | None, above: range | None
) -> BadStructure | None:
    """Return a structure with the given cycles, in which the path begins and ends, if the run has
    one; None for a shown sample."""
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
    return BadStructure(run, path, below, above)


# --- the quick way ------------------------------------------------------------------------------


def lifted_structure(quotient: Quotient, walk: tuple[int, ...]) -> BadStructure | None:
    """Look for a structure on a walk, from the initial node, that breaks WF⁺, with the cycles of
    marked steps inserted; where some structures cost nothing, for one that does."""
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
) -> BadStructure | None:
    """Insert cycles through the steps at two positions of a walk of the quotient."""
    graph, whole = quotient.graph, quotient.whole
    walk: list[int] = []
    segments: dict[int, range] = {}
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
) -> tuple[tuple[int, ...], range]:
    """Repeat a cycle of the quotient until the augmented automaton is at a node a second time;
    return the copies, and the positions from the first to the second visit."""
    seen: dict[int, int] = {}
    copies = 0
    while True:
        lifted = quotient.lift(before + cycle * copies)
        node = quotient.whole.edges[lifted[-1]].target if lifted else 0
        if node in seen:
            start = len(before) + seen[node] * len(cycle)
            return cycle * copies, range(start, len(before) + copies * len(cycle))
        seen[node] = copies
        copies += 1
