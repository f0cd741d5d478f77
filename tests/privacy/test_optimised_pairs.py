"""The certified largest δ is that of the best pair which an optimiser finds by itself."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr

from dipapprox import Answer, parse, verify

_EPS_PRV = Fraction(1, 10)
_NEAR = Fraction(1, 10**6)


def _text(means: str, threshold: str) -> str:
    return f"""
input q[2] in real -1/2..1/2
output out in 1..3
adjacent linf 1/2
a <- Gauss({means.split(",")[0]}, 2)
b <- Gauss({means.split(",")[1]}, 3)
out <- 3
if a >= {threshold} then out <- 1 else if b >= 1/2 then out <- 2 end end
"""


def _laws(means: np.ndarray, threshold: float, q: np.ndarray) -> np.ndarray:
    """The probabilities of the outputs; means are rows of slopes."""
    a, b = means @ q
    first = ndtr((a - threshold) / 2)
    second = (1 - first) * ndtr((b - 0.5) / 3)
    return np.array([first, second, 1 - first - second])


def test_an_optimiser_finds_the_same_largest_delta() -> None:
    random = np.random.default_rng(1)
    means = random.integers(-2, 3, (2, 2))
    threshold = int(random.integers(-1, 2))
    texts = ",".join(f"{x}*q[1] + {y}*q[2]".replace("+ -", "- ") for x, y in means.tolist())
    text = _text(texts, str(threshold))

    def gain(place: np.ndarray) -> float:
        u, moves = place[:2], place[2:]
        v = np.clip(u + moves, -0.5, 0.5)
        differences = _laws(means, threshold, u) - exp(0.1) * _laws(means, threshold, v)
        return -float(np.maximum(differences, 0).sum())

    bounds = [(-0.5, 0.5)] * 4
    best = 0.0
    for _ in range(8):
        start = random.uniform([low for low, _ in bounds], [high for _, high in bounds])
        end = minimize(gain, start, method="L-BFGS-B", bounds=bounds)
        best = max(best, -float(end.fun))
    assert best > 0
    for delta, answer in (
        (Fraction(best) + _NEAR, Answer.DP),
        (Fraction(best) - _NEAR, Answer.NOT_DP),
    ):
        found = verify(parse(text), eps=1, eps_prv=_EPS_PRV, delta=delta)
        assert found.answer is answer
