"""Maximal flows: cut and flow prove each other, whatever the size of the numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dipapprox.flows import Arc, maximum_flow


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
def test_a_cut_of_the_same_value_proves_the_flow(network: tuple[int, list[Arc]]) -> None:
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
