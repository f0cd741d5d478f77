"""Logarithms and powers against the exponential and exact roots."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.numerics.powers import logarithm, logarithms, power, powers

POSITIVE = st.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6)
UNIT = st.floats(0, 1, exclude_min=True)


def test_logarithms_near_one_keep_their_digits() -> None:
    tiny = Fraction(1, 10**60)
    found = logarithm(1 + tiny, 50)
    assert tiny - tiny**2 / 2 in found
    assert found.width < tiny / 2**45
    assert logarithm(Fraction(1), 50).width == 0
    with pytest.raises(ValueError, match="needs a number > 0"):
        logarithm(Fraction(0), 50)


@given(POSITIVE, st.integers(-8, 8), st.integers(1, 5), st.integers(20, 200))
def test_powers_of_roots(x: Fraction, numerator: int, root: int, bits: int) -> None:
    found = power(x, Fraction(numerator, root), bits)
    assert not isinstance(found, NotEnclosed)
    assert found.lower**root <= x**numerator <= found.upper**root
    # Relative, but for the digits that the exponent of x takes away.
    assert found.width <= found.upper / Fraction(2) ** (bits - 8)


@given(st.lists(UNIT, min_size=1, max_size=5), st.integers(-6, 6), st.integers(1, 4))
def test_arrays_of_powers(values: list[float], numerator: int, root: int) -> None:
    exponent = Fraction(numerator, root)
    lower, upper = powers(np.array(values), np.array(values), exponent)
    for x, low, high in zip(values, lower.tolist(), upper.tolist(), strict=True):
        exact = Fraction(x) ** numerator
        assert Fraction(low) ** root <= exact
        assert high == inf or exact <= Fraction(high) ** root
        if low > 1e-300 and high < 1e300:
            assert high / low - 1 < 1e-14


@given(UNIT)
def test_arrays_of_logarithms(x: float) -> None:
    lower, upper = logarithms(np.array([x]), np.array([x]))
    exact = logarithm(Fraction(x), 100)
    assert Fraction(float(lower[0])) <= exact.upper
    assert exact.lower <= Fraction(float(upper[0]))
    assert upper[0] - lower[0] <= 1e-15 * (1 + abs(lower[0]))


def test_zeros() -> None:
    zero, one = np.array([0.0]), np.array([1.0])
    assert powers(zero, one, Fraction(3, 2))[0] == 0
    assert powers(zero, one, Fraction(3, 2))[1] == 1
    assert powers(zero, one, Fraction(-1, 2))[1] == inf
    assert powers(zero, one, Fraction(-1, 2))[0] == 1
    assert logarithms(zero, one)[0] == -inf
    assert logarithms(zero, one)[1] == 0
