"""Functions on the integers: closed forms, sums in floats, and few integers around many."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.evaluate import evaluate
from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node
from kernel.graphs import FINE, ONE, enclosed, holds, law, totals

FAMILIES = ["DLap", "DGauss"]
THIN = 2.0**-60
FAR = 400


@pytest.mark.parametrize("family", FAMILIES)
def test_restrictions(family: str) -> None:
    graph = Graph()
    laws = law(family, 3, 2)
    density = graph.density(laws)
    places = [-(10**9), Fraction(-7, 2), 0, Fraction(5, 2), 3, 4, 10**9]
    for low in [None, *places]:
        for high in [*places, None]:
            cut = graph.restrict(
                density, *(None if b is None else Fraction(b) for b in (low, high))
            )
            if cut == density:
                continue
            (ends,) = enclosed(graph, [graph.total(cut)])
            with precision(200):
                value = sum(
                    (
                        mass
                        for k, mass in zip(
                            range(-500, 500),
                            laws.on_integers.masses(-503, 496, laws.on_integers.rate(Fraction(2))),
                            strict=True,
                        )
                        if (low is None or k >= low) and (high is None or k <= high)
                    ),
                    arb(0, arb(2) ** -80),
                )
            assert holds(ends, value, THIN), (low, high)


def summed(graph: Graph, eps: float) -> dict[Node, object]:
    """All nodes by sums of floats over the integers up to FAR away."""
    known: dict[Node, object] = {}
    k = np.arange(-FAR, FAR + 1)
    for number, node in enumerate(graph.nodes):
        match node:
            case "density", _, (law, factor):
                known[number] = float(factor) * masses(law, eps, k)
            case "restrict", (f,), (lower, upper):
                inside = (k >= (-FAR if lower is None else float(lower))) & (
                    k <= (FAR if upper is None else float(upper))
                )
                known[number] = np.where(inside, known[f], 0.0)
            case "running", (f,), (True,):
                known[number] = np.cumsum(known[f])
            case "running", (f,), (False,):
                known[number] = np.cumsum(known[f][::-1])[::-1]
            case "rise", (upper_node, lower_node), _:
                known[number] = known[upper_node] - known[lower_node]
            case "product", parts, counts:
                known[number] = np.prod(
                    [known[f] ** n for f, n in zip(parts, counts, strict=True)], axis=0
                )
            case "mix", parts, _:
                known[number] = sum(
                    known[s] * known[f] for s, f in zip(parts[::2], parts[1::2], strict=True)
                )
            case "sum", parts, counts:
                known[number] = sum(known[s] * n for s, n in zip(parts, counts, strict=True))
            case "rational", _, (value,):
                known[number] = float(value)
            case "total", (f,), _:
                known[number] = np.sum(known[f])
            case _:
                raise AssertionError(node)
    return known


def masses(law: Law, eps: float, k: np.ndarray) -> np.ndarray:
    """Masses as floats."""
    scale = float(law.coefficient) * eps**law.power
    z = (k - float(law.mean)) / scale
    weights = np.exp(-np.abs(z)) if law.family == "DLap" else np.exp(-z * z / 2)
    found: np.ndarray = weights / weights.sum()
    return found


@given(made=totals(FAMILIES), eps=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]))
def test_graphs_against_sums(made: tuple[Graph, list[Node]], eps: Fraction) -> None:
    graph, scalars = made
    found, floats = enclosed(graph, scalars, eps), summed(graph, float(eps))
    for (low, high), scalar in zip(found, scalars, strict=True):
        slack = Fraction(1e-12) * (1 + abs(high))
        assert low - slack <= Fraction(float(floats[scalar])) <= high + slack
        assert high - low <= 2.0**-50 * max(1, high)


def test_limits() -> None:
    graph = Graph()
    x = graph.density(law("DLap", 0, 1, -1))
    pair = graph.total(graph.times(x, graph.running(x, True)))
    with pytest.raises(Refused):
        evaluate(graph, [pair], Fraction(1, 10**6), FINE)
    with pytest.raises(Refused):
        evaluate(graph, [pair], Fraction(1), replace(FINE, integers=50))
    with pytest.raises(NotProved):
        evaluate(graph, [graph.total(graph.running(x, False))], ONE, FINE)
    y = graph.density(law("Lap"))
    with pytest.raises(ValueError, match="real and of integer"):
        graph.times(x, y)
