"""NOT RIGOROUS: the yardstick for the certified engine, a plain evaluation in numpy.

Gauss-Legendre quadrature as one writes it by hand, no error bounds anywhere, nothing here may ever
support a verdict. It is meant to be fast: vectorised over nodes and events, distribution functions
from scipy, equal parts shared, and the analysis of the events done beforehand (`prepare`), outside
what is timed.

    star            ∫ f(c) Π F(c)^k Π (1 - F(c))^k dc, all stars round one law at once
    tree            functions on nodes, from the leaves to a root, all of one level at once
    two centres l < h  ∫∫ f(l) g(l + t) Π (F(l + t) - F(l)) … dt dl
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family

Array = NDArray[np.float64]

NODES = 16
"""Of a panel."""


class NoPlainEvaluation(Exception):
    """An event has none of the shapes or laws that the plain evaluation knows."""


_REACH: dict[Family, float] = {GAUSSIAN: 8.3, LAPLACE: 36.0}
"""In scales: beyond lies less than one rounding error."""

_WIDTH = 3.0
"""Of a panel, in the smallest scale of all laws: 16 nodes are exact to rounding there."""


def _normal_cdf() -> tuple[str, Callable[[Array], Array]]:
    try:
        special: Any = importlib.import_module("scipy.special")
    except ImportError:

        def slowly(z: Array) -> Array:
            flat = [math.erfc(-x * math.sqrt(0.5)) / 2 for x in z.ravel().tolist()]
            return np.array(flat).reshape(z.shape)

        return "math.erfc", slowly
    return "scipy.special.ndtr", special.ndtr


NORMAL_CDF_SOURCE, _phi = _normal_cdf()
"""Where the normal distribution function comes from: without scipy the yardstick is slower."""


def pdf(law: Distribution, x: Array) -> Array:
    """Evaluate the density."""
    scale = float(law.scale)
    z = (x - float(law.mean)) / scale
    if law.family is GAUSSIAN:
        return np.exp(-0.5 * z * z) * (1 / (scale * math.sqrt(2 * math.pi)))
    return np.exp(-np.abs(z)) * (0.5 / scale)


def cdf(law: Distribution, x: Array) -> Array:
    """Evaluate the distribution function."""
    z = (x - float(law.mean)) / float(law.scale)
    if law.family is GAUSSIAN:
        return _phi(z)
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, half, 1 - half)


def survival(law: Distribution, x: Array) -> Array:
    """Evaluate 1 - the distribution function; the laws are symmetric."""
    return cdf(law, 2 * float(law.mean) - x)


@cache
def _legendre() -> tuple[Array, Array, Array]:
    """Nodes and weights on [0, 1], and the matrix values -> running integrals from 0."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    basis = np.polynomial.legendre.legvander(nodes, NODES - 1)
    # The antiderivative of P_k that vanishes at -1 is (P_{k+1} - P_{k-1}) / (2k + 1).
    higher = np.polynomial.legendre.legvander(nodes, NODES)
    antiderivative = np.empty((NODES, NODES))
    antiderivative[:, 0] = nodes + 1
    for k in range(1, NODES):
        antiderivative[:, k] = (higher[:, k + 1] - higher[:, k - 1]) / (2 * k + 1)
    return (nodes + 1) / 2, weights / 2, antiderivative @ np.linalg.inv(basis) / 2


class Grid:
    """Gauss-Legendre nodes on panels.

    Args:
        breaks: Ends of the panels, ascending.
    """

    def __init__(self, breaks: Array) -> None:
        nodes, weights, self._running = _legendre()
        self._lengths = np.diff(breaks)
        self.x = (breaks[:-1, None] + self._lengths[:, None] * nodes).ravel()
        self.weights = (self._lengths[:, None] * weights).ravel()

    def running(self, values: Array) -> Array:
        """Integrate from the left end to every node, along the last axis."""
        parts = values.reshape(*values.shape[:-1], len(self._lengths), NODES)
        within = (parts @ self._running.T) * self._lengths[:, None]
        totals = (parts @ _legendre()[1]) * self._lengths
        before = np.cumsum(totals, axis=-1) - totals
        return (within + before[..., None]).reshape(values.shape)


def grid_for(integrated: Iterable[Distribution], others: Sequence[Distribution]) -> Grid:
    """Make a grid over the support of some laws, for products with functions of `others`."""
    laws = list(integrated)
    if any(law.family not in _REACH for law in (*laws, *others)):
        raise NoPlainEvaluation("a law that is neither Gaussian nor Laplace")
    width = _WIDTH * min(float(law.scale) for law in (*laws, *others))
    ends: list[float] = []
    kinks = {float(law.mean) for law in (*laws, *others) if law.family is LAPLACE}
    for law in laws:
        reach = _REACH[law.family] * float(law.scale)
        ends += (float(law.mean) - reach, float(law.mean) + reach)
    low, high = min(ends), max(ends)
    inner = {low, high, *(kink for kink in kinks if low < kink < high)}
    corners = sorted(inner)
    breaks = [corners[0]]
    for left, right in pairwise(corners):
        pieces = max(1, math.ceil((right - left) / width))
        breaks += [left + (right - left) * k / pieces for k in range(1, pieces + 1)]
    return Grid(np.array(breaks))


def half_line(laws: Sequence[Distribution], reach: float) -> Grid:
    """Make a grid on [0, reach]."""
    width = _WIDTH * min(float(law.scale) for law in laws)
    return Grid(np.linspace(0.0, reach, max(1, math.ceil(reach / width)) + 1))
