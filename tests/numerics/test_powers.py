"""Logarithms and powers against the exponential and exact roots."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.numerics.powers import logarithm


def test_logarithms_near_one_keep_their_digits() -> None:
    tiny = Fraction(1, 10**60)
    found = logarithm(1 + tiny, 50)
    assert tiny - tiny**2 / 2 in found
    assert found.width < tiny / 2**45
    assert logarithm(Fraction(1), 50).width == 0
    with pytest.raises(ValueError, match="needs a number > 0"):
        logarithm(Fraction(0), 50)
