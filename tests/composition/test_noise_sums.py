"""Sums of Laplace and Gaussian noise that are moved: closed forms against convolutions."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import laplace, norm

import dipapprox

_STEP = 1 / 200


def _largest(scales: list[float], deviation: float, shift: float, eps_prv: float) -> float:
    """The largest F(x) - e^eps_prv F(x - shift) on a grid of cells, whose masses are added up."""
    edges = np.arange(-8000.5, 8001) * _STEP
    masses = np.ones(1)
    for scale in scales:
        masses = fftconvolve(masses, np.diff(laplace.cdf(edges, scale=scale)))
    if deviation:
        masses = fftconvolve(masses, np.diff(norm.cdf(edges, scale=deviation)))
    below = np.cumsum(masses)
    moved = np.concatenate([np.zeros(round(shift / _STEP)), below])[: len(below)]
    return float((below - exp(eps_prv) * moved).max())


@pytest.mark.parametrize(
    ("scales", "square", "shift", "eps_prv"),
    [
        ([1, 1], 0, "1", "0"),
        ([1, 1], 0, "1", "1/2"),
        ([2, "1/2"], 0, "3/2", "1/4"),
        ([2, "1/2", "1/2"], 0, "-2", "1/2"),
        ([2], "4", "3", "1/4"),
        ([1, "3/2"], "1/4", "1", "1/4"),
    ],
)
def test_closed_forms_are_those_of_sums(
    scales: list[int | str], square: int | str, shift: str, eps_prv: str
) -> None:
    parts = [f"Lap(0, {scale} / eps)" for scale in scales]
    deviation = sqrt(Fraction(square))
    if deviation:
        parts.append(f"Gauss(0, {Fraction(deviation)} / eps)")
    draws = "\n".join(f"x{k} <- {part}" for k, part in enumerate(parts))
    total = " + ".join(f"x{k}" for k in range(len(parts)))
    text = f"input q in {{0, 1}}\noutput y in real\n{draws}\ny <- {total} + {shift} * q\n"
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    own = [float(Fraction(scale)) for scale in scales]
    truth = _largest(own, deviation, abs(float(Fraction(shift))), float(Fraction(eps_prv)))
    assert found.delta_enclosure.width < Fraction(1, 10**9)
    assert float(found.delta_enclosure.lower) == pytest.approx(truth, abs=3e-5)
    assert found.witness.delta_enclosure.lower > found.delta_enclosure.lower - Fraction(1, 10**8)
