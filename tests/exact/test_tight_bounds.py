"""Short forms of integer systems have the same integer solutions."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.exact.integers.elimination import Integers
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE
from dipapprox.limits import Limits

LAW = Distribution(DISCRETE_LAPLACE, Fraction(0), Fraction(1))
tightened = Integers((LAW,) * 3, Fraction(1), Limits()).tightened


def test_rows_are_divided_and_rounded() -> None:
    assert tightened([((2, -4, 0), 5), ((1, -2, 0), 7)]) == (((1, -2, 0), 2),)
    assert tightened([((0, 0, 0), 0)]) == ()
    assert tightened([((0, 0, 0), -1)]) is None
    assert tightened([((2, 2, 0), 1), ((-2, -2, 0), -1)]) is None
