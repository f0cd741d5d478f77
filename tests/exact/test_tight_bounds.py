"""Short forms of integer systems have the same integer solutions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from dipapprox.exact.integers.elimination import Integers
from dipapprox.exact.variables import Bounds, Row
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE
from dipapprox.limits import Limits

LAW = Distribution(DISCRETE_LAPLACE, Fraction(0), Fraction(1))
tightened = Integers((LAW,) * 3, Fraction(1), Limits()).tightened


def solutions(
    system: Sequence[tuple[Row, Fraction | int]] | Bounds, radius: int = 5
) -> set[tuple[int, ...]]:
    box = product(range(-radius, radius + 1), repeat=3)
    return {
        z
        for z in box
        if all(sum(a * x for a, x in zip(row, z, strict=True)) <= b for row, b in system)
    }


def test_rows_are_divided_and_rounded() -> None:
    assert tightened([((2, -4, 0), 5), ((1, -2, 0), 7)]) == (((1, -2, 0), 2),)
    assert tightened([((0, 0, 0), 0)]) == ()
    assert tightened([((0, 0, 0), -1)]) is None
    assert tightened([((2, 2, 0), 1), ((-2, -2, 0), -1)]) is None
