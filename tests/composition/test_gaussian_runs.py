"""Gaussian runs alone are one shift of noise: extreme scales, and the grid's own answers."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

import dipapprox
from dipapprox import Answer


def runs(*given: tuple[str, int]) -> dipapprox.Composed:
    specs = [{"mechanism": "gaussian", "sigma": sigma, "times": times} for sigma, times in given]
    return dipapprox.compose(specs)


@pytest.mark.parametrize(
    ("sigma", "times", "delta", "low", "high"),
    [
        # by an accountant with mpmath, 60 digits
        ("1e-4", 2, "1e-5", "100060313.664", "100060313.665"),
        ("1e6", 10, "1e-9", "9.65e-6", "9.66e-6"),
        ("1e6", 10, "1e-5", "0", "0"),
        ("0.01", 3, "1e-5", "15737.712", "15737.713"),
        ("622.9508196721311", 2, "4.8e-10", "0.0107", "0.0109"),
    ],
)
def test_extreme_scales(sigma: str, times: int, delta: str, low: str, high: str) -> None:
    composed = runs((sigma, times))
    answer = composed.epsilon(delta)
    found = answer.eps_prv_enclosure
    assert answer.reason is None
    assert F(low) <= found.lower <= found.upper <= F(high)
    assert found.upper - found.lower <= F(1, 10**15)
    assert composed.verify(found.upper, delta).answer is Answer.DP
    if found.lower:
        below = composed.verify(found.lower * F(999, 1000), delta)
        assert below.answer is Answer.NOT_DP


def test_shifts_add_up_as_squares() -> None:
    """3² + 4² = 5², and 12 / 6² = 3 / 3²."""
    one = runs(("1/5", 1)).epsilon("1e-6").eps_prv_enclosure
    assert runs(("1/3", 1), ("1/4", 1)).epsilon("1e-6").eps_prv_enclosure == one
    twelve = runs(("6", 12)).delta("1/10").delta_enclosure
    assert runs(("3", 3)).delta("1/10").delta_enclosure == twelve
