"""Leaking pairs and privacy violating paths: a quick way to find one, and an exact test.

Both begin with an automaton without leaking cycle.

*Quick*: a walk that breaks WF⁺ has a path between marked transitions. Go round the cycles on which
they lie, in the walk, and look whether the path is still there.

*Exact*: the augmented automaton with two pseudo variables, each of which takes the sample of one
step at most: V₁ that of k₂ (or of the shown position), V₂ that of k_{m-1} (or of the shown one).
A step inside a strongly connected component that compares a variable which V₁ equals with
`insample < x` may be the first edge of the path on a cycle, one with `insample >= x` and V₂ the
last edge. A violation is a walk that has both, or the one that is needed, at the end of which the
order has V₁ at most V₂. Why this is exact: repeat the cycles of a real structure often enough; the
pseudo variables keep their relations (during its own cycle each is an alias of a variable that the
cycle does not assign), so the cycles become cycles of this graph. Conversely a closed walk may be
inserted at a node of this graph, changing nothing that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from dipapprox.automata.families import gain_of_round
from dipapprox.automata.model import Automaton, OutputSample, Transition, members
from dipapprox.automata.orders import unordered
from dipapprox.automata.runs import (
    Run,
    Segment,
    closing_walk,
    dependencies,
    run_of,
    shortest_path,
)
from dipapprox.automata.structures import LeakingPair, Structure, ViolatingPath, holds
from dipapprox.automata.unfolding import Node, Quotient, UnfoldedEdge, Unfolding, unfolding
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits


class StructureKind(Enum):
    """Which structure is looked for; what V₁ and V₂ stand for."""

    PAIR = "LP"
    SHOWN_BELOW = "PV(a)"
    SHOWN_ABOVE = "PV(b)"


# --- a path between given parts of a run --------------------------------------------------------


def structure_in(
    automaton: Automaton, run: Run, below: Segment | None, above: Segment | None
) -> Structure | None:
    """Return a structure with the given cycles, if the run has one.

    Args:
        automaton: The automaton.
        run: A feasible run.
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
    middle = shortest_path(len(run), arcs, sorted(starts), goals.__contains__)
    if middle is None:
        return None
    path = middle
    if below is not None:
        path = (firsts[middle[0]], *path)
    if above is not None:
        path = (*path, lasts[middle[-1]])
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
        quotient: The automaton.
        walk: Edges of the augmented automaton, from its initial node.
    """
    graph, whole = quotient.graph, quotient.whole
    image = _image(quotient, walk)
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


def _image(quotient: Quotient, walk: tuple[int, ...]) -> tuple[int, ...]:
    """Return the walk of the quotient that a walk of the augmented automaton follows."""
    graph, whole = quotient.graph, quotient.whole
    image = []
    for edge in walk:
        source = quotient.classes[whole.edges[edge].source]
        guard = whole.transition(edge).above, whole.transition(edge).below
        for candidate in graph.leaving[source]:
            transition = graph.transition(candidate)
            if (transition.above, transition.below) == guard:
                image.append(candidate)
                break
        else:
            raise BrokenInvariant("a step has no image in the quotient")
    return tuple(image)


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
    """Repeat a cycle of the quotient until the augmented automaton is at a node a second time.

    Returns:
        The copies, and the positions from the first to the second visit.
    """
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


# --- the exact test -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Roles:
    """What one kind of structure wants of the two pseudo variables."""

    first_shown: bool
    second_shown: bool
    needed: int  # bit 0: a first edge on a cycle, bit 1: a last edge on a cycle


_ROLES = {
    StructureKind.PAIR: _Roles(False, False, 3),
    StructureKind.SHOWN_BELOW: _Roles(True, False, 2),
    StructureKind.SHOWN_ABOVE: _Roles(False, True, 1),
}


def exact_structures(whole: Unfolding, limits: Limits) -> Iterator[Structure]:
    """Yield a leaking pair and privacy violating paths, one of each kind that there is.

    The automaton must have no leaking cycle.

    Raises:
        LimitReached: If the enlarged graph has more nodes than `limits.states`, or time is up.
    """
    for kind in StructureKind:
        found = exact_of_kind(whole, kind, limits)
        if found is not None:
            yield found


def exact_of_kind(whole: Unfolding, kind: StructureKind, limits: Limits) -> Structure | None:
    """Return a structure of one kind; None if there is none. As `exact_structures`."""
    roles = _ROLES[kind]
    automaton = whole.automaton
    if (roles.first_shown or roles.second_shown) and not any(
        t.output is OutputSample.COMPARED for t in automaton.transitions
    ):
        return None
    enlarged = _enlarge(automaton, roles, limits)
    return _violation(enlarged, roles, len(automaton.variables), limits)


def _may_take(transition: Transition, shown: bool) -> bool:
    return transition.output is OutputSample.COMPARED if shown else bool(transition.assigned)


def _enlarge(automaton: Automaton, roles: _Roles, limits: Limits) -> Unfolding:
    """Build the augmented automaton with the pseudo variables, as two more variables of orders.

    A pseudo variable equals itself from the start; that it is set is seen in the state's number,
    of which there are four a control state.
    """
    count = len(automaton.variables)
    first, second = 1 << count, 1 << count + 1
    leaving = automaton.leaving()
    start: Node = (0, unordered(count + 2))
    found = {start: 0}
    nodes = [start]
    edges: list[UnfoldedEdge] = []
    for number, (state, order) in enumerate(nodes):
        limits.check_states(len(nodes))
        limits.check()
        control, taken = divmod(state, 4)
        for index in leaving[control]:
            transition = automaton.transitions[index]
            free = [0]
            if not taken & 1 and _may_take(transition, roles.first_shown):
                free.append(1)
            if not taken & 2 and _may_take(transition, roles.second_shown):
                free += [more | 2 for more in free]
            for taking in free:
                pseudo = (first if taking & 1 else 0) | (second if taking & 2 else 0)
                assigned = transition.assigned | pseudo
                after = order.after(transition.above, transition.below, assigned)
                if after is None:
                    break
                reached = (4 * transition.target + (taken | taking), after)
                target = found.setdefault(reached, len(nodes))
                if target == len(nodes):
                    nodes.append(reached)
                edges.append(UnfoldedEdge(number, index, target))
    return unfolding(automaton, nodes, edges)


def _violation(enlarged: Unfolding, roles: _Roles, count: int, limits: Limits) -> Structure | None:
    """Search nodes × bits collected for a violation, and build its run."""
    bits = [_bits_of(enlarged, edge, count) & roles.needed for edge in range(len(enlarged.edges))]
    found: list[tuple[int, int, int, int]] = [(0, 0, -1, -1)]  # node, bits, parent, edge
    known = {(0, 0)}
    for number, (node, collected, _, _) in enumerate(found):
        limits.check()
        if collected == roles.needed and _ordered(enlarged, node, count):
            return _build(enlarged, found, number, roles)
        for edge in enlarged.leaving[node]:
            reached = enlarged.edges[edge].target, collected | bits[edge]
            if reached not in known:
                known.add(reached)
                found.append((*reached, number, edge))
    return None


def _bits_of(enlarged: Unfolding, edge: int, count: int) -> int:
    """Return which end of a path an edge may be, if it lies on a cycle."""
    source = enlarged.edges[edge].source
    if not enlarged.is_internal(edge):
        return 0
    taken = enlarged.states[source] % 4
    equal = enlarged.orders[source].equal
    transition = enlarged.transition(edge)
    first = taken & 1 and transition.below & equal[count]
    second = taken & 2 and transition.above & equal[count + 1]
    return (1 if first else 0) | (2 if second else 0)


def _ordered(enlarged: Unfolding, node: int, count: int) -> bool:
    if enlarged.states[node] % 4 != 3:
        return False
    order = enlarged.orders[node]
    return bool((order.over[count] | order.equal[count]) >> count + 1 & 1)


def _build(
    enlarged: Unfolding, found: list[tuple[int, int, int, int]], number: int, roles: _Roles
) -> Structure:
    """Return the structure of a violating walk, its cycles gone round where the bits are got."""
    steps: list[tuple[int, int]] = []  # edge, bits that are new
    while found[number][3] >= 0:
        _, collected, parent, edge = found[number]
        steps.append((edge, collected & ~found[parent][1]))
        number = parent
    walk: list[int] = []
    segments: dict[int, Segment] = {}
    for edge, new in reversed(steps):
        for bit in members(new):
            cycle = closing_walk(enlarged, [edge])
            segments[bit] = Segment(len(walk), len(walk) + len(cycle))
            walk += cycle
        walk.append(edge)
    run = run_of(enlarged, walk)
    structure = structure_in(enlarged.automaton, run, segments.get(0), segments.get(1))
    if structure is None or not holds(enlarged.automaton, structure):
        raise BrokenInvariant("the run of a violation has no such structure")
    return structure
