"""The checker's products against double sums: each rounding and cut is to the safe side."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.checking.compositions.losses import Whole
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits, peak_memory

F = Fraction
UNIT = F(1, 64)
masses = st.lists(st.integers(0, 40), min_size=1, max_size=6)
infinite = st.integers(0, 9)


def exact(atoms: dict[int, Fraction], never: Fraction, alpha: Fraction) -> Fraction:
    """H(α) of masses at ln 3 times whole numbers."""
    return sum((p * max(1 - alpha / F(3) ** k, F(0)) for k, p in atoms.items()), never)


@given(masses, infinite, masses, infinite, st.integers(-3, 3), st.integers(0, 30), st.booleans())
def test_products(
    one: list[int], p: int, two: list[int], q: int, start: int, cut: int, above: bool
) -> None:
    first, second = Whole(2 * start, one, p, 6, above), Whole(-2, two, q, 6, above)
    found = first.times(second, cut, Limits())
    atoms: dict[int, Fraction] = {}
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            atoms[start + i - 1 + j] = atoms.get(start + i - 1 + j, F(0)) + a * b * UNIT * UNIT
    never = F(p * (sum(two) + q) + sum(one) * q) * UNIT * UNIT
    own = {found.start // 2 + k: mass * UNIT for k, mass in enumerate(found.masses)}
    for alpha in (F(0), F(1, 5), F(1), F(2), F(3), F(50)):
        true, said = exact(atoms, never, alpha), exact(own, found.infinite * UNIT, alpha)
        assert said >= true if above else said <= true
        assert abs(said - true) <= (len(atoms) + 2 + 2 * cut) * UNIT


def test_a_product_with_nothing_is_nothing() -> None:
    many, nothing = Whole(0, [10**6, 10**9], 0, 6, False), Whole(0, [0, 0], 0, 6, False)
    for one, other in ((many, nothing), (nothing, many)):
        assert one.times(other, 0, Limits()).total == 0


def test_a_product_is_refused_before_it_is_made() -> None:
    """Long masses take as much room as many."""
    few = Whole(0, [1 << 10**6], 0, 6, True)
    with pytest.raises(LimitReached, match="atom limit"):
        few.times(few, 0, Limits(atoms=10_000))
    with pytest.raises(LimitReached, match="memory limit"):
        few.times(few, 0, Limits(memory=peak_memory()))
