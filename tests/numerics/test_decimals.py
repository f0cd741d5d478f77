"""Decimals for people: exact while short, and marked where they are cut off."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.arithmetic.decimals import rational


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(-1, 3), "-1/3"),
        (Fraction(2**200 - 1, 2**200), "0.9999999999…"),
        (Fraction(10**300 + 7, 3), "3.333333333…e299"),
        (Fraction(-1, 3 * 10**300), "-3.333333333…e-301"),
        (Fraction(1, 10**60), "1e-60"),
        (Fraction(10**60), "1e60"),
    ],
)
def test_long_rationals_are_cut_off(value: Fraction, text: str) -> None:
    assert rational(value) == text
