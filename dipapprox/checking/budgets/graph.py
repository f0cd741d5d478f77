"""The recorded graph: is every feasible run one of its walks, and do its nodes fit together?

A node may stand for several states whose steps are alike: the same guards, noise, outputs and
stored values; its steps are those of the first one to which walks come, the shortest first. Where
a node has all moves of its state, no run is missing. Elsewhere it must be shown that no run can
take the others there; then the knowledge about the stored values is followed along the graph.
(More walks than runs would do no harm, but there is one graph without them.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dipapprox.certificates.budgets import Node
from dipapprox.checking.budgets.knowledge import NOTHING, Knowledge, follow
from dipapprox.checking.budgets.machine import Machine, Move
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node with its values as numbers.

    Attributes:
        free: Values whose shifts are left open, in order of the bits of an index.
        pinned: The shift of the others that count.
        leaving: The node after each step.
    """

    free: tuple[int, ...]
    pinned: Mapping[int, int]
    leaving: Mapping[int, int]


def read_graph(machine: Machine, nodes: Sequence[Node]) -> tuple[GraphNode, ...] | str:
    """Give each node its values; a text says what is wrong."""
    found = []
    for number, node in enumerate(nodes):
        names = [*node.free, *node.pinned]
        if len(set(names)) < len(names) or not machine.values.keys() >= set(names):
            return f"the values of node {number} are not distinct values of the automaton"
        steps = [step for step, _ in node.steps]
        if any(step >= len(machine.moves) for step in steps) or len(set(steps)) < len(steps):
            return f"the steps of node {number} are not distinct steps of the automaton"
        if len({machine.moves[step].source for step in steps}) > 1:
            return f"the steps of node {number} leave several states"
        if any(target >= len(nodes) for _, target in node.steps):
            return f"a step from node {number} leads to no node"
        free = tuple(machine.values[name] for name in node.free)
        pinned = {machine.values[name]: shift for name, shift in node.pinned.items()}
        found.append(GraphNode(free, pinned, dict(node.steps)))
    for complaint in _misfits(machine, found):
        return complaint
    return tuple(found)


def _misfits(machine: Machine, graph: Sequence[GraphNode]) -> Iterator[str]:
    """Say where a value counts after a step that did not count in the same way before it."""
    if graph[0].free or graph[0].pinned:
        yield "nothing is stored at node 0"
    for number, node in enumerate(graph):
        for step, target in node.leaving.items():
            move, after = machine.moves[step], graph[target]
            where = f"on step {step} from node {number}"
            if not move.compared <= {*node.free, *node.pinned}:
                yield f"{where} a value is compared that does not count"
            if not {*after.free} - move.stored <= {*node.free}:
                yield f"{where} a value begins to count"
            for value, shift in after.pinned.items():
                if value not in move.stored and node.pinned.get(value) != shift:
                    yield f"{where} the shift of a stored value changes"


def missing_step(machine: Machine, graph: Sequence[GraphNode], limits: Limits) -> str | None:
    """Say what the graph lacks; None if every feasible run is one of its walks.

    Raises:
        LimitReached: If `limits` run out.
    """
    numbers: dict[tuple[object, ...], int] = {}
    kinds = [numbers.setdefault(_kind(machine, move), len(numbers)) for move in machine.moves]
    if _lack(machine, graph, kinds, limits, knowing=False) is None:
        return None
    return _lack(machine, graph, kinds, limits, knowing=True)


def _lack(
    machine: Machine,
    graph: Sequence[GraphNode],
    kinds: Sequence[int],
    limits: Limits,
    *,
    knowing: bool,
) -> str | None:
    """Follow the moves of all states along the graph; infeasible ones too, if nothing is known."""
    alike = [{kinds[step]: target for step, target in node.leaving.items()} for node in graph]
    found: set[tuple[str, int, Knowledge]] = {(machine.initial, 0, NOTHING)}
    waiting = list(found)
    told = set[int]()
    for state, node, known in waiting:  # the nearest first
        limits.check()
        limits.check_states(len(found))
        taken, steps = set[int](), set[int]()
        for step in machine.leaving.get(state, ()):
            move, kind = machine.moves[step], kinds[step]
            after = follow(machine, known, move) if knowing else NOTHING
            if after is None:
                continue
            if kind not in alike[node]:
                return f"step {step} is missing at node {node}"
            taken.add(kind)
            steps.add(step)
            place = move.target, alike[node][kind], after
            if place not in found:
                found.add(place)
                waiting.append(place)
        if len(taken) < len(alike[node]):
            return f"some runs that come to node {node} cannot take all its steps"
        if node not in told and not steps <= {*graph[node].leaving}:
            return f"the steps of node {node} are not those of the first state that comes to it"
        told.add(node)
    idle = set(range(len(graph))) - told
    return f"no run comes to node {min(idle)}" if idle else None


def _kind(machine: Machine, move: Move) -> tuple[object, ...]:
    """Return all of a step that budgets depend on, but for where it leads."""
    costs = machine.rate(move), machine.fresh_cost(move), machine.reads(move)
    return (*costs, move.at_least, move.less, move.stored, move.shows)
