"""Very many runs on small samples: against sums of losses in doubles, by Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy.special import ndtr

from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Gaussian, Subsampled
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.limits import Limits
from tests.thorough import part

F = Fraction


def losses(sigma: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses of a removal at many places, and what probability lies about them."""
    ends = np.linspace(-12 * sigma, 1 + 12 * sigma, 2**20)
    chances = np.diff((1 - rate) * ndtr(ends / sigma) + rate * ndtr((ends - 1) / sigma))
    middles = (ends[1:] + ends[:-1]) / 2
    ratios = np.expm1((2 * middles - 1) / (2 * sigma * sigma))
    return np.log1p(rate * ratios), chances


def transformed(sigma: float, rate: float, times: int, epsilon: float) -> float:
    """The least delta: losses on 2^20 places of a circle, in doubles."""
    found, chances = losses(sigma, rate)
    count = 2**20
    size = (16 if sigma < 1 else 1) / count
    places = found / size
    low = np.floor(places).astype(int)
    mass = np.zeros(count)
    np.add.at(mass, low % count, chances * (low + 1 - places))  # keeps the mean
    np.add.at(mass, (low + 1) % count, chances * (places - low))
    total = np.fft.irfft(np.fft.rfft(mass) ** times, count)
    at = ((np.arange(count) + count // 2) % count - count // 2) * size
    return float(np.sum(np.maximum(total, 0) * np.maximum(1 - np.exp(epsilon - at), 0)))


def normal(sigma: float, rate: float, times: int, epsilon: float) -> float:
    """The same by the central limit: for a billion runs."""
    found, chances = losses(sigma, rate)
    mean = float(np.sum(found * chances)) * times
    deviation = sqrt(times * float(np.sum(found**2 * chances)) - mean**2 / times)
    place = (mean - epsilon) / deviation
    return float(ndtr(place) - exp(epsilon - mean + deviation**2 / 2) * ndtr(place - deviation))


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "evaluate"),
    part(
        [
            ("0.6", "0.001", 10**4, transformed),
            ("0.5", "0.0001", 10**5, transformed),
            ("1", "0.0001", 10**5, transformed),
            ("1", "0.000001", 10**9, normal),
        ],
        3,
    ),
)
def test_few_losses_lead_to_what_is_asked(
    sigma: str, rate: str, times: int, evaluate: Callable[[float, float, int, float], float]
) -> None:
    run = RepeatedRun(Subsampled(Gaussian(F(1), F(sigma)), F(rate)), times)
    found = Composition((run,)).epsilon(F(1, 10**6), F(1, 500), Limits())
    (bounds,) = found.bounds
    assert found.reason is None and bounds.lower is not None and bounds.upper is not None
    given = float(sigma), float(rate), times
    low, high = (evaluate(*given, float(end)) for end in (bounds.upper, bounds.lower))
    assert low <= 1.01e-6 and high >= 0.99e-6
