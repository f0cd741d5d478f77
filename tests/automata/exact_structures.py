"""An oracle: exactly which leaking pairs and privacy violating paths there are.

For an automaton without leaking cycle: the augmented automaton with two pseudo variables, each of
which takes the sample of one step at most: V₁ that of k₂ (or of the shown position), V₂ that of
k_{m-1} (or of the shown one). A step inside a strongly connected component that compares a variable
which V₁ equals with `insample < x` may be the first edge of the path on a cycle, one with `insample
>= x` and V₂ the last edge. A violation is a walk that has both, or the one that is needed, at the
end of which the order has V₁ at most V₂. Why this is exact: repeat the cycles of a real structure
often enough; the pseudo variables keep their relations (during its own cycle each is an alias of a
variable that the cycle does not assign), so the cycles become cycles of this graph. Conversely a
closed walk may be inserted at a node of this graph, changing nothing that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from dipapprox.automata.model import Automaton, OutputSample, Transition, members
from dipapprox.automata.orders import unordered
from dipapprox.automata.paths import structure_in
from dipapprox.automata.runs import Segment, closing_walk, run_of
from dipapprox.automata.structures import Structure, holds
from dipapprox.automata.unfolding import Node, UnfoldedEdge, Unfolding, unfolding
from dipapprox.limits import Limits


class StructureKind(Enum):
    """Which structure is looked for; what V₁ and V₂ stand for."""

    PAIR = "LP"
    SHOWN_BELOW = "PV(a)"
    SHOWN_ABOVE = "PV(b)"


@dataclass(frozen=True)
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
    assert structure is not None and holds(enlarged.automaton, structure)
    return structure
