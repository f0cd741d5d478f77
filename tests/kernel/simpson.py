"""Integrals of graphs over the reals by Simpson's rule in floats, to about 1e-8: an oracle."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.integrate import cumulative_simpson

from dipapprox.kernel.laws import Law
from dipapprox.kernel.nodes import Graph, Node

FAR, POINTS = 100.0, 65


def simpson(graph: Graph, eps: float) -> dict[Node, Any]:
    """Scalars as floats, functions as arrays (piece, point)."""
    marks, least = {-FAR, FAR}, 1.0
    for node in graph.nodes:
        if node.kind == "density":
            law = node.data[0]
            marks.add(float(law.mean))
            least = min(least, float(law.coefficient) * eps**law.power)
        elif node.kind == "restrict":
            marks |= {float(bound) for bound in node.data if bound is not None}
    sorted_marks = sorted(m for m in marks if -FAR <= m <= FAR)
    ends = [sorted_marks[0]]
    for mark in sorted_marks[1:]:
        count = int((mark - ends[-1]) / (least / 2)) + 1
        ends += list(np.linspace(ends[-1], mark, count + 1)[1:])
    low, high = np.array(ends[:-1])[:, None], np.array(ends[1:])[:, None]
    t = low + (high - low) * np.linspace(0, 1, POINTS)
    middles = (low + high) / 2 + 0 * t
    steps = (high - low) / (POINTS - 1)

    def running(y: np.ndarray, from_left: bool) -> np.ndarray:
        inside = cumulative_simpson(y, dx=1.0, axis=-1, initial=0) * steps
        wholes = inside[:, -1]
        before = np.concatenate([[0.0], np.cumsum(wholes)[:-1]])
        found: np.ndarray = inside + before[:, None]
        return found if from_left else wholes.sum() - found

    def inside(low: Fraction | None, high: Fraction | None) -> np.ndarray:
        above = middles >= (-FAR if low is None else float(low))
        return above & (middles <= (FAR if high is None else float(high)))

    return interpreted(graph, lambda law: density(law, eps, t, middles), inside, running)


def interpreted(
    graph: Graph,
    density: Callable[[Law], Any],
    inside: Callable[[Fraction | None, Fraction | None], Any],
    running: Callable[[Any, bool], Any],
) -> dict[Node, Any]:
    """All nodes as floats and arrays, by the densities of laws, bounds and running integrals."""
    known: dict[Node, Any] = {}
    for number, node in enumerate(graph.nodes):
        match node:
            case "density", _, (law, factor):
                known[number] = float(factor) * density(law)
            case "restrict", (f,), (lower, upper):
                known[number] = np.where(inside(lower, upper), known[f], 0.0)
            case "running", (f,), (from_left,):
                known[number] = running(known[f], from_left)
            case "rise", (upper_node, lower_node), _:
                known[number] = known[upper_node] - known[lower_node]
            case "product", parts, counts:
                powers = [known[f] ** k for f, k in zip(parts, counts, strict=True)]
                known[number] = np.prod(powers, axis=0)
            case "mix", parts, _:
                pairs = zip(parts[::2], parts[1::2], strict=True)
                known[number] = sum(known[s] * known[f] for s, f in pairs)
            case "sum", parts, counts:
                known[number] = sum(known[s] * k for s, k in zip(parts, counts, strict=True))
            case "rational", _, (value,):
                known[number] = float(value)
            case "total", (f,), _:
                known[number] = running(known[f], True).ravel()[-1]
            case "excess", (f, g, p, q), (growth, _):
                above = known[p] * known[f] - float(growth) * known[q] * known[g]
                known[number] = running(np.maximum(above, 0), True).ravel()[-1]
            case _:
                raise AssertionError(node)
    return known


def density(law: Law, eps: float, t: np.ndarray, middles: np.ndarray) -> np.ndarray:
    """The density at points; `middles` say on which side of the mean they count."""
    scale = float(law.coefficient) * eps**law.power
    z, side = (t - float(law.mean)) / scale, middles - float(law.mean)
    match law.family:
        case "Gauss":
            found = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        case "Lap":
            found = np.exp(-np.abs(z)) / 2
        case "LapPlus":
            found = np.where(side > 0, np.exp(-np.abs(z)), 0.0)
        case "LapMinus":
            found = np.where(side < 0, np.exp(-np.abs(z)), 0.0)
        case _:
            raise AssertionError(law)
    result: np.ndarray = found / scale
    return result
