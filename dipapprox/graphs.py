"""Graphs on the vertices 0 … size - 1: components, orders, tree-depth.

Edges are pairs of vertices; what they mean is the caller's
business. The tree-depth of a graph is the least height of a rooted forest on its vertices in which
every edge joins a vertex with one of its ancestors: the least number of nested integrals when
independent parts multiply (Nešetřil and Ossona de Mendez, *Sparsity*, chapter 6).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import Any, TypeVar

Edge = tuple[int, int]

T = TypeVar("T")
V = TypeVar("V", bound=Hashable)

_EXACT_UP_TO = 12  # vertices of a graph that is not a tree; beyond it the root is a good guess
_ROOTS_TRIED = 32  # of those, in order of falling degree, when it is a guess


def components(size: int, edges: Iterable[Edge]) -> tuple[tuple[int, ...], ...]:
    """Return the weakly connected components, each ascending, in order of their least vertex."""
    above = list(range(size))  # never larger than the vertex: roots are least vertices

    def root(vertex: int) -> int:
        while above[vertex] != vertex:
            above[vertex] = above[above[vertex]]
            vertex = above[vertex]
        return vertex

    for tail, head in edges:
        low, high = sorted((root(tail), root(head)))
        above[high] = low
    parts: dict[int, list[int]] = {}
    for vertex in range(size):
        parts.setdefault(root(vertex), []).append(vertex)
    return tuple(map(tuple, parts.values()))


def is_forest(edges: Iterable[Edge]) -> bool:
    """Whether there is no undirected cycle: every edge joins two components."""
    listed = list(edges)
    size = 1 + max(map(max, listed), default=-1)
    return size - len(components(size, listed)) == len(listed)


def strong_components(successors: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the number of each vertex's strongly connected component.

    Every edge leads to a component of the same or a smaller number (Tarjan 1972, without
    recursion: a path may be as long as the graph).

    Args:
        successors: The heads of the edges that leave each vertex.
    """
    size = len(successors)
    order = [-1] * size  # in which vertices were found
    lowest = [0] * size  # the first vertex of the stack that can be reached
    component = [-1] * size
    stack: list[int] = []
    found = components = 0
    for start in range(size):
        if order[start] >= 0:
            continue
        trail = [(start, iter(successors[start]))]
        order[start] = lowest[start] = found
        found += 1
        stack.append(start)
        while trail:
            vertex, rest = trail[-1]
            for head in rest:
                if order[head] < 0:
                    order[head] = lowest[head] = found
                    found += 1
                    stack.append(head)
                    trail.append((head, iter(successors[head])))
                    break
                if component[head] < 0:
                    lowest[vertex] = min(lowest[vertex], order[head])
            else:
                trail.pop()
                if trail:
                    above = trail[-1][0]
                    lowest[above] = min(lowest[above], lowest[vertex])
                if lowest[vertex] == order[vertex]:
                    while component[vertex] < 0:
                        component[stack.pop()] = components
                    components += 1
    return tuple(component)


def shortest_way(
    starts: Iterable[V], leaving: Callable[[V], Iterable[tuple[T, V]]], is_goal: Callable[[V], bool]
) -> tuple[V, list[T], V] | None:
    """Return a shortest way from one of some vertices to a goal; None if there is none.

    Args:
        starts: Where it may begin; one that is a goal is a way of no edges.
        leaving: The edges that leave a vertex, each with its head.
        is_goal: Asked once for each vertex that is reached.

    Returns:
        Where it begins, its edges, and where it ends.
    """
    before: dict[V, tuple[V, T] | None] = dict.fromkeys(starts)
    waiting = list(before)
    goal = next(filter(is_goal, waiting), None)
    for vertex in waiting:  # which grows
        if goal is not None:
            break
        for edge, head in leaving(vertex):
            if head not in before:
                before[head] = vertex, edge
                waiting.append(head)
                if is_goal(head):
                    goal = head
                    break
    if goal is None:
        return None
    way, start = list[T](), goal
    while (step := before[start]) is not None:
        start, edge = step
        way.append(edge)
    return start, way[::-1], goal


def masks_ahead(
    size: int, edges: Sequence[tuple[int, int]], made: Sequence[int], kept: Sequence[int]
) -> list[int]:
    """Return for each vertex the bits that some edge ahead makes, and no edge until then drops.

    Args:
        size: How many vertices there are.
        edges: Tails and heads.
        made: The bits that each edge makes.
        kept: Those that it does not drop.
    """
    found = [0] * size
    into: list[list[int]] = [[] for _ in range(size)]
    for number, (tail, head) in enumerate(edges):
        found[tail] |= made[number]
        into[head].append(number)
    waiting = {vertex for vertex, mask in enumerate(found) if mask}
    while waiting:
        vertex = waiting.pop()
        for number in into[vertex]:
            tail = edges[number][0]
            more = found[tail] | found[vertex] & kept[number]
            if more != found[tail]:
                found[tail] = more
                waiting.add(tail)
    return found


def leaves_first(neighbours: Sequence[Collection[int]]) -> list[tuple[int, int | None]]:
    """Peel leaves, all of the moment in turn, so that the centres of a forest remain to the end.

    Returns:
        (vertex, its only neighbour left, if there is one). In a forest these are all vertices;
        otherwise the others are on cycles or between them.
    """
    left = [set(others) for others in neighbours]
    leaves = [vertex for vertex, others in enumerate(left) if len(others) <= 1]
    order: list[tuple[int, int | None]] = []
    for vertex in leaves:
        parent = next(iter(left[vertex]), None)
        order.append((vertex, parent))
        if parent is not None:
            left[parent].discard(vertex)
            left[vertex].clear()
            if len(left[parent]) == 1:
                leaves.append(parent)
    return order


def downward_order(size: int, edges: Iterable[Edge]) -> tuple[int, ...]:
    """Return all vertices, tails of edges before heads; ties by number.

    A directed cycle is broken at its least vertex that is not reached from an earlier one.
    """
    successors: list[list[int]] = [[] for _ in range(size)]
    waiting = [0] * size
    for tail, head in edges:
        successors[tail].append(head)
        waiting[head] += 1
    order: list[int] = []
    left = set(range(size))
    while left:
        ready = [v for v in sorted(left) if waiting[v] == 0] or [min(left)]
        for vertex in ready:
            left.remove(vertex)
            order.append(vertex)
            for successor in successors[vertex]:
                waiting[successor] -= 1
    return tuple(order)


class StableCells:
    """The coarsest cells of equal colours none of which tells vertices of another one apart.

    After a cell is split, one part of it need not be looked at: what all together and all but one
    tell, that one tells, too (Hopcroft 1971). `cells` are by the place of their first vertex, which
    is the `home` of all.

    Args:
        colours: Of the vertices; they can be ordered.
        neighbours: For each vertex those that it tells apart, with labels that can be ordered.
        check: Called now and then.
    """

    def __init__(
        self,
        colours: Sequence[Any],
        neighbours: Sequence[Sequence[tuple[int, Any]]],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.cells: dict[int, dict[int, None]] = {}
        self.home = [0] * len(colours)
        self._neighbours, self._check = neighbours, check
        self._waiting = {0}
        self._heap = [0]
        by_colour: dict[Any, dict[int, None]] = {}
        for vertex, colour in enumerate(colours):
            by_colour.setdefault(colour, {})[vertex] = None
        self.split(0, [by_colour[colour] for colour in sorted(by_colour)])

    def split(self, start: int, parts: Sequence[dict[int, None]]) -> None:
        """Split the cell at a place, and all that its parts tell apart then."""
        self._replace(start, parts)
        while self._waiting and len(self.cells) < len(self.home):
            self._check()
            splitter = heappop(self._heap)
            self._waiting.remove(splitter)
            seen: dict[int, list[Any]] = {}
            for vertex in self.cells[splitter]:
                for other, label in self._neighbours[vertex]:
                    seen.setdefault(other, []).append(label)
            touched: dict[int, dict[tuple[Any, ...], dict[int, None]]] = {}
            for vertex, labels in seen.items():
                if len(self.cells[self.home[vertex]]) > 1:
                    alike = touched.setdefault(self.home[vertex], {})
                    alike.setdefault(tuple(sorted(labels)), {})[vertex] = None
            for place, alike in sorted(touched.items()):
                rest = self.cells[place]
                if len(alike) == 1 and len(next(iter(alike.values()))) == len(rest):
                    continue
                for vertex in chain.from_iterable(alike.values()):
                    del rest[vertex]
                self._replace(place, [p for p in (rest, *(alike[k] for k in sorted(alike))) if p])

    def _replace(self, start: int, parts: Sequence[dict[int, None]]) -> None:
        spared = None if start in self._waiting else max(parts, key=len, default=None)
        for number, part in enumerate(parts):
            self.cells[start] = part
            if part is not spared and start not in self._waiting:
                self._waiting.add(start)
                heappush(self._heap, start)
            for vertex in part if number else ():
                self.home[vertex] = start
            start += len(part)


def canonical_order(
    colours: Sequence[Any], neighbours: Sequence[Sequence[tuple[int, Any]]]
) -> list[int]:
    """Order vertices by what tells them from each other, names left aside.

    Where stable cells have several vertices, one of the first such cell becomes a cell of its own,
    and so on. Where vertices of a cell can always be swapped then, as in trees, isomorphic graphs
    become equal by this order; others may become different.

    Args:
        colours, neighbours: As of `StableCells`; both ends of an edge have its label.
    """
    stable = StableCells(colours, neighbours)
    while len(stable.cells) < len(colours):
        start = min(start for start, cell in stable.cells.items() if len(cell) > 1)
        first, *others = stable.cells[start]
        stable.split(start, ({first: None}, dict.fromkeys(others)))
    return [vertex for _, cell in sorted(stable.cells.items()) for vertex in cell]


def elimination_forest(size: int, edges: Iterable[Edge]) -> dict[int, int | None]:
    """Return a rooted forest on the vertices that joins only ancestors with descendants by edges.

    Its depth is the least for trees and for parts of up to 12 vertices. Larger parts are taken
    apart at the vertex, among those of highest degree, that leaves the smallest largest component,
    until they are small or trees.

    Returns:
        The parent of each vertex, None for a root; ancestors first, each subtree contiguous.
    """
    neighbours = [0] * size
    for a, b in edges:
        if a != b:
            neighbours[a] |= 1 << b
            neighbours[b] |= 1 << a
    parents: dict[int, int | None] = {}
    depths: dict[int, int] = {}
    todo: list[tuple[int, int | None]] = [
        (part, None) for part in _parts(neighbours, (1 << size) - 1)
    ]
    todo.reverse()
    while todo:
        part, parent = todo.pop()
        root = _best_root(neighbours, part, depths)
        parents[root] = parent
        rest = list(_parts(neighbours, part & ~(1 << root)))
        todo.extend((smaller, root) for smaller in reversed(rest))
    return parents


def depth_of(forest: Mapping[int, int | None]) -> int:
    """Return the number of vertices on a longest path from a root to a leaf; ancestors first."""
    depths: dict[int | None, int] = {None: 0}
    for vertex, parent in forest.items():
        depths[vertex] = depths[parent] + 1
    return max(depths.values())


def bits(vertices: int) -> Iterator[int]:
    """Yield the elements of a bit set: the positions of set bits, ascending."""
    while vertices:
        lowest = vertices & -vertices
        yield lowest.bit_length() - 1
        vertices ^= lowest


def _parts(neighbours: Sequence[int], vertices: int) -> Iterator[int]:
    """Yield the connected components of the subgraph on `vertices`, as bit sets."""
    while vertices:
        part = frontier = vertices & -vertices
        while frontier:
            reached = 0
            for vertex in bits(frontier):
                reached |= neighbours[vertex]
            frontier = reached & vertices & ~part
            part |= frontier
        yield part
        vertices &= ~part


def _best_root(neighbours: Sequence[int], part: int, depths: dict[int, int]) -> int:
    """Return a vertex of the connected `part` whose removal leaves the least tree-depth."""
    size = part.bit_count()
    if size == 1:
        return part.bit_length() - 1
    degrees = {v: (neighbours[v] & part).bit_count() for v in bits(part)}
    if sum(degrees.values()) == 2 * (size - 1):
        return _tree_root(neighbours, part)

    def remaining(vertex: int) -> tuple[int, int]:
        pieces = _parts(neighbours, part & ~(1 << vertex))
        if size <= _EXACT_UP_TO:
            cost = max(_tree_depth(neighbours, piece, depths) for piece in pieces)
        else:
            cost = max(piece.bit_count() for piece in pieces)
        return cost, -degrees[vertex]

    candidates = sorted(degrees, key=lambda vertex: -degrees[vertex])
    return min(candidates if size <= _EXACT_UP_TO else candidates[:_ROOTS_TRIED], key=remaining)


def _tree_depth(neighbours: Sequence[int], part: int, known: dict[int, int]) -> int:
    """Return the exact tree-depth of a connected part; `known` remembers connected sets."""
    size = part.bit_count()
    if size <= 2:
        return size
    if part not in known:
        known[part] = 1 + min(
            max(_tree_depth(neighbours, p, known) for p in _parts(neighbours, part & ~(1 << v)))
            for v in bits(part)
        )
    return known[part]


def _tree_root(neighbours: Sequence[int], part: int) -> int:
    """Return the root of an elimination tree of least depth for a tree.

    Ranks are given from the leaves up: a vertex gets the least rank that no vertex visible below
    it has, above every rank visible in two of its branches. A vertex is visible when no higher
    rank lies between. The greatest rank is the tree-depth and occurs once (Schäffer 1989, after
    Iyer, Ratliff and Vijayan 1988).
    """
    start = part.bit_length() - 1
    parent = {start: -1}
    top_down = [start]
    for vertex in top_down:
        for neighbour in bits(neighbours[vertex] & part):
            if neighbour != parent[vertex]:
                parent[neighbour] = vertex
                top_down.append(neighbour)
    once = dict.fromkeys(top_down, 0)  # bit r: rank r is visible from below
    twice = dict.fromkeys(top_down, 0)
    best, best_rank = start, -1
    for vertex in reversed(top_down):
        rank = twice[vertex].bit_length()
        while once[vertex] >> rank & 1:
            rank += 1
        if rank > best_rank:
            best, best_rank = vertex, rank
        visible = (once[vertex] >> rank | 1) << rank
        above = parent[vertex]
        if above >= 0:
            twice[above] |= once[above] & visible
            once[above] |= visible
    return best
