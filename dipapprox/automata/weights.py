"""Two budgets that a well-formed automaton keeps, from one look at every edge of its quotient.

A *position* of a run costs at most what the following shifts cost: +1 for samples that lie below
a repeated, lower-bounded sample (*g-nodes*), -1 for those above a repeated, upper-bounded one
(*l-nodes*), the change of the input itself for samples that show nothing, are not compared later
and have g-nodes below and l-nodes above (*quasi-cyclic*: they ride free), and 0 for all others.
What "repeated" means makes the two weights.

**Published weight** (paper, Corollary 10): repeated is every position whose edge lies on a cycle
of the quotient. Under WF⁺ (below) no position is both a g- and an l-node and none of them
shows its sample, so the shifts are admissible: along i → j, if j is a g-node so is i, if i is an
l-node so is j; otherwise both are quasi-cyclic or other, a quasi-cyclic node has edges only to its
own g-nodes below and l-nodes above, and 0 >= 0 remains. A repeated edge that assigns no live
variable is quasi-cyclic or free; one that does is charged once, because at all its occurrences but
the last the variable is assigned again before it is compared (else the automaton would have a
leaking cycle). Without WF⁺ it may be too small: `GAP-PV` in the tests has weight 9/10 and needs
101/5.

**Fallback weight** (ours): repeated is a position that lies in a part of *this* run that begins
and ends at the same node of the quotient. For every well-formed automaton
(1) the quotient has no bad structure in this sense: its closed walks, repeated, contain cycles of
    the augmented automaton, and paths survive repetition (`structures.py`);
(2) no position is both a g- and an l-node: a path from k₁ in a closed part S₁ through it to k_r in
    a closed part S₂ would be a leaking pair if the parts are disjoint; if k_r lies in S₁ (or k₁ in
    S₂), repeat that part and take k₁ in its first and k_r in its second copy; if they overlap
    otherwise, repeat the earlier part: its first copy and the shifted other part are disjoint;
(3) no such node shows its sample: that would be a privacy violating path;
(4) so the shifts are admissible, as above;
(5) a position costs at most 2·d if it reads an input, d if not, and d' for a fresh sample;
(6) a transition that occurs several times costs nothing at all but its last occurrence, since all
    of them lie in closed parts; and a self-loop that assigns no live variable never costs anything.
So the sum over the distinct edges of the run bounds its budget.

Both are the heaviest path through the components, where a component weighs the sum of its edges.

Dear runs by construction, for automata whose cost vectors are too wide to search.

Along a heaviest path through the components, every component is gone round so that each of its
edges is used, some times; inputs that lie below what they are compared with fall, those above
rise, those between do both in turn. What is found is a lower bound by its flows; nothing is
claimed of how good it is.

**WF⁺**, a condition that is a little stronger than well-formedness and quick to test.

An edge of the augmented automaton is *marked* if its image in the quotient lies on a cycle. WF⁺
says: no leaking and no disclosing cycle, no path of a run's dependency graph as in a leaking pair
with marked transitions at its two ends (whether or not the run goes round their cycles), and none
as in a privacy violating path. WF⁺ implies well-formedness: the cycles of a leaking pair, repeated,
become cycles of the quotient, and the path survives. The paper's weight is a budget under WF⁺ (its
Propositions 7 and 9 then hold as printed), but not for every well-formed automaton: one round of a
loop may overwrite the value through which a path goes.

Four sets of stored values are carried along the walks: those that lie above some marked,
upper-bounded sample, at least a sample that was shown, below some marked, lower-bounded sample, or
at most one that was shown. A dependency path grows at both ends through values that are stored at
that moment, so no path is missed; the sets only help each other, so only the largest are kept.

Leaking pairs and privacy violating paths are found in a quick way, where there is no leaking cycle:
a walk that breaks WF⁺ has a path between marked transitions. Go round the cycles on which they lie,
in the walk, and look whether the path is still there. Where it is not, the search below the
fallback weight says whether there is a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.runs import (
    Changes,
    Run,
    RunCost,
    closing_walk,
    dependencies,
    run_cost,
    run_of,
    shortest_walk,
)
from dipapprox.automata.structures import BadStructure, gain_of_round, holds
from dipapprox.automata.unfolding import Quotient, Unfolding, ValueOrder, followed, unit_of
from dipapprox.data_classes import Record
from dipapprox.graphs import masks_ahead, shortest_way
from dipapprox.limits import check_limits, check_states


class PathWeight(Record):
    """A sum along a heaviest path through the components, and the edges between them in order."""

    value: Fraction
    bridges: tuple[int, ...]


def live_variables(graph: Unfolding) -> tuple[int, ...]:
    """Return, for each node, the variables that some walk compares before it assigns them."""
    steps = [graph.automaton.transitions[edge.transition] for edge in graph.edges]
    ends = [(edge.source, edge.target) for edge in graph.edges]
    used, kept = [step.used for step in steps], [~step.assigned for step in steps]
    return tuple(masks_ahead(len(graph.states), ends, used, kept))


def published_weight(graph: Unfolding) -> PathWeight:
    """Return the paper's weight of a graph: a budget if WF⁺ holds with respect to this graph."""
    return _heaviest(graph, graph.is_internal)


def fallback_weight(graph: Unfolding) -> PathWeight:
    """Return the fallback weight of a graph: a budget if the automaton is well-formed."""
    return _heaviest(graph, lambda edge: graph.edges[edge].source == graph.edges[edge].target)


def _heaviest(graph: Unfolding, repeats: Callable[[int], bool]) -> PathWeight:
    """Return the heaviest path; a repeating edge is free unless it assigns a live variable."""
    automaton, live, unit = graph.automaton, live_variables(graph), unit_of(graph)

    @cache
    def cost(taken: int, moves: bool) -> int:
        step = automaton.transitions[taken]
        moved = automaton.rate(step) * (2 if automaton.reads(step) else 1) if moves else 0
        return int((automaton.fresh_cost(step) + moved) / unit)

    costs = []
    for index, edge in enumerate(graph.edges):
        keeps = automaton.transitions[edge.transition].assigned & live[edge.target]
        costs.append(cost(edge.transition, not repeats(index) or bool(keeps)))
    count = max(graph.components) + 1
    inside = [0] * count
    bridges: list[list[int]] = [[] for _ in range(count)]
    for index, edge in enumerate(graph.edges):
        if graph.is_internal(index):
            inside[graph.components[edge.source]] += costs[index]
        else:
            bridges[graph.components[edge.source]].append(index)
    best: list[int] = []
    following: list[int | None] = []
    for component in range(count):  # edges never lead to larger numbers
        along = {
            k: costs[k] + best[graph.components[graph.edges[k].target]] for k in bridges[component]
        }
        chosen = max(along, key=along.__getitem__, default=None)
        best.append(inside[component] + (0 if chosen is None else along[chosen]))
        following.append(chosen)
    path = []
    component = graph.components[0]
    while (bridge := following[component]) is not None:
        path.append(bridge)
        component = graph.components[graph.edges[bridge].target]
    return PathWeight(best[graph.components[0]] * unit, tuple(path))


LONGEST = 3000  # steps of a run that is tried
_ROUNDS = (0, 2, 4, 8)


def dear_runs(quotient: Quotient, weight: PathWeight) -> Iterator[RunCost]:
    """Yield dearer and dearer runs along a weight's path; none if the shortest made is too long."""
    automaton, graph = quotient.whole.automaton, quotient.graph
    inside: dict[int, list[int]] = {}
    for edge in filter(graph.is_internal, range(len(graph.edges))):
        inside.setdefault(graph.components[graph.edges[edge].source], []).append(edge)
    best: RunCost | None = None
    for rounds in _ROUNDS:
        walk: list[int] = []
        node = 0
        for bridge in (*weight.bridges, None):
            check_limits()
            here = sorted(
                inside.get(graph.components[node], ()),
                key=lambda edge: graph.edges[edge].source != node,
            )
            if rounds and 0 < len(here) <= LONGEST:
                walk += closing_walk(graph, here) * rounds
            if max(len(walk), len(here) * rounds) > LONGEST:
                return
            if bridge is not None:
                goal = graph.edges[bridge].source
                walk += shortest_walk(graph, node, goal.__eq__, graph.components[node]) or ()
                walk.append(bridge)
                node = graph.edges[bridge].target
        run = run_of(quotient.whole, quotient.lift(walk))
        found = run_cost(automaton, run, first_changes(graph, tuple(walk)))
        if best is None or found.value > best.value:
            best = found
            yield best


def first_changes(graph: Unfolding, walk: tuple[int, ...]) -> Changes:
    """Return changes of the inputs of a walk by what they are compared with."""
    least, most = min(graph.automaton.changes), max(graph.automaton.changes)
    seen: dict[int, int] = {}
    changes = []
    for edge in walk:
        transition = graph.transition(edge)
        times = seen[edge] = seen.get(edge, 0) + 1
        if not graph.automaton.reads(transition):
            changes.append(0)
        elif transition.above and transition.below:
            changes.append(most if times % 2 else least)
        else:
            changes.append(least if transition.below else most)
    return tuple(changes)


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
