"""Laws of the graph algorithms: least depth, labels under renaming, flows that cuts prove."""

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dipapprox import graphs
from dipapprox.flows import Arc, maximum_flow
from tests.cases import cases

Edges = tuple[tuple[int, int], ...]


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 6) -> tuple[int, Edges]:
    size = draw(st.integers(1, most))
    pairs = list(combinations(range(size), 2))
    return size, tuple(p for p in pairs if draw(st.booleans()))


@st.composite
def trees(draw: st.DrawFn, most: int = 9) -> tuple[int, Edges]:
    size = draw(st.integers(1, most))
    return size, tuple((draw(st.integers(0, k - 1)), k) for k in range(1, size))


def brute_force_depth(vertices: frozenset[int], edges: Edges) -> int:
    """The definition: components take the maximum, a connected graph loses its best vertex."""
    if not vertices:
        return 0
    inside = [(a, b) for a, b in edges if a in vertices and b in vertices]
    part = {min(vertices)}
    while grown := {v for e in inside if part & set(e) for v in e} - part:
        part |= grown
    if part != vertices:
        rest = vertices - part
        return max(brute_force_depth(frozenset(part), edges), brute_force_depth(rest, edges))
    return 1 + min(brute_force_depth(vertices - {v}, edges) for v in vertices)


def assert_valid(forest: dict[int, int | None], size: int, edges: Edges) -> None:
    assert sorted(forest) == list(range(size))
    ancestors: dict[int, set[int]] = {}
    for vertex, parent in forest.items():
        ancestors[vertex] = set() if parent is None else ancestors[parent] | {parent}
    for a, b in edges:
        assert a in ancestors[b] or b in ancestors[a]


@given(small_graphs() | trees())
def test_elimination_forest_has_least_depth(graph) -> None:
    size, edges = graph
    forest = graphs.elimination_forest(size, edges)
    assert_valid(forest, size, edges)
    assert graphs.depth_of(forest) == brute_force_depth(frozenset(range(size)), edges)


@cases(
    "name, size, edges, depth",
    ("star of 26", 26, [(k, 0) for k in range(1, 26)], 2),
    # A path of n vertices has tree-depth ceil(log2(n + 1)): Nešetřil and Ossona de Mendez.
    ("path of 4", 4, [(k, k + 1) for k in range(3)], 3),
    ("path of 1000", 1000, [(k, k + 1) for k in range(999)], 10),
    ("complete graph of 7", 7, list(combinations(range(7), 2)), 7),
    ("cycle of 4: two lowers below two uppers", 4, [(0, 2), (0, 3), (1, 2), (1, 3)], 3),
    ("range monitor with 40 leaves", 42, [(j, k) for k in range(2, 42) for j in (0, 1)], 3),
)
def test_known_depths(name, size, edges, depth) -> None:
    forest = graphs.elimination_forest(size, edges)
    assert_valid(forest, size, tuple(edges))
    assert graphs.depth_of(forest) == depth, name


@given(st.data(), small_graphs())
def test_canonical_orders_do_not_see_names(data, graph) -> None:
    """Up to 6 vertices, those that refined colours do not tell apart can always be swapped."""
    size, edges = graph
    colours = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    labelled = [(a, b, data.draw(st.integers(0, 1))) for a, b in edges]
    renaming = data.draw(st.permutations(range(size)))
    renamed_colours = [0] * size
    for vertex, name in enumerate(renaming):
        renamed_colours[name] = colours[vertex]
    renamed = data.draw(st.permutations([(renaming[a], renaming[b], c) for a, b, c in labelled]))

    def form(edges: list[tuple[int, int, int]], colours: list[int]) -> object:
        neighbours: list[list[tuple[int, int]]] = [[] for _ in colours]
        for a, b, label in edges:
            neighbours[a].append((b, label))
            neighbours[b].append((a, label))
        order = graphs.canonical_order(colours, neighbours)
        assert sorted(order) == list(range(size))
        place = {vertex: k for k, vertex in enumerate(order)}
        told = {(frozenset((place[a], place[b])), label) for a, b, label in edges}
        return [colours[vertex] for vertex in order], told

    assert form(labelled, colours) == form(renamed, renamed_colours)


def test_components() -> None:
    edges = [(0, 1), (1, 2), (0, 2), (4, 3)]
    assert graphs.components(6, edges) == ((0, 1, 2), (3, 4), (5,))


@given(small_graphs())
def test_downward_order_puts_tails_first(graph) -> None:
    size, edges = graph
    order = graphs.downward_order(size, edges)
    assert sorted(order) == list(range(size))
    assert all(order.index(tail) < order.index(head) for tail, head in edges)


def test_downward_order_survives_cycles() -> None:
    assert sorted(graphs.downward_order(3, [(0, 1), (1, 0), (1, 2)])) == [0, 1, 2]


@st.composite
def networks(draw: st.DrawFn) -> tuple[int, list[Arc]]:
    size = draw(st.integers(2, 6))
    vertex = st.integers(0, size - 1)
    capacity = st.one_of(st.integers(0, 9), st.integers(0, 10**30))
    arcs: list[Arc] = draw(st.lists(st.tuples(vertex, vertex, capacity), max_size=14))
    # Arcs without a bound lead past the source, so that every path has a bound.
    inner = st.integers(1, size - 1)
    arcs += draw(st.lists(st.tuples(inner, inner, st.none()), max_size=4))
    return size, arcs


@given(networks())
def test_a_cut_of_the_same_value_proves_the_flow(network) -> None:
    size, arcs = network
    flow = maximum_flow(size, arcs, 0, size - 1)
    gained = [0] * size
    for (tail, head, capacity), sent in zip(arcs, flow.sent, strict=True):
        assert sent >= 0
        assert capacity is None or sent <= capacity
        gained[tail] -= sent
        gained[head] += sent
    assert gained[-1] == flow.value == -gained[0]
    assert not any(gained[1:-1])
    crossing = [c for t, h, c in arcs if flow.reached[t] and not flow.reached[h]]
    assert flow.reached[0]
    assert not flow.reached[-1]
    assert sum(c if c is not None else 10**40 for c in crossing) == flow.value


def test_a_linear_programme_agrees() -> None:
    arcs: list[Arc] = [
        (0, 1, 3),
        (0, 2, 7),
        (1, 3, None),
        (2, 1, 2),
        (2, 3, 1),
        (3, 4, 4),
        (1, 4, 1),
    ]
    flow = maximum_flow(5, arcs, 0, 4)
    balance = np.zeros((3, len(arcs)))
    for column, (tail, head, _) in enumerate(arcs):
        if 1 <= tail <= 3:
            balance[tail - 1, column] -= 1
        if 1 <= head <= 3:
            balance[head - 1, column] += 1
    leaving = [-1.0 if tail == 0 else 0.0 for tail, _, _ in arcs]
    bounds = [(0, capacity) for _, _, capacity in arcs]
    found = linprog(leaving, A_eq=balance, b_eq=np.zeros(3), bounds=bounds, method="highs")
    assert Fraction(round(-found.fun)) == flow.value == 5
