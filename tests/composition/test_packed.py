"""Rows of whole numbers in one large number, against lists; cuts that bounds survive."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import BoundSide, Cuts, loss_distribution, power
from dipapprox.composition.packed import Falling, PackedRow, divided, product, row_of
from dipapprox.composition.reading import deltas
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits

F = Fraction
numbers = st.lists(st.integers(0, 999), max_size=9)


@given(numbers, st.integers(20, 70), st.integers(0, 9), st.integers(0, 9))
def test_rows_are_lists(values: list[int], slot: int, start: int, end: int) -> None:
    row = row_of(values, slot)
    assert row.values() == values and row.total == sum(values) and row.length == len(values)
    assert row.slot % 8 == 0 and row.slot >= slot
    start, end = min(start, len(values)), max(min(end, len(values)), min(start, len(values)))
    assert row.part(start, end).values() == values[start:end]
    wide = row.wider(slot + 40)
    assert wide.values() == values and wide.slot >= slot + 40


@given(numbers, numbers, st.integers(0, 12), st.booleans())
def test_products_are_divided_to_the_side_that_is_asked(
    one: list[int], two: list[int], bits: int, up: bool
) -> None:
    both = product(row_of(one, 40), row_of(two, 40))
    exact = [0] * (len(one) + len(two) - 1 if one and two else 0)
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            exact[i + j] += a * b
    assert both.values() == exact
    found = divided(both, bits, up=up)
    assert found.values() == [-(-each >> bits) if up else each >> bits for each in exact]


def test_products_of_full_slots_do_not_carry() -> None:
    """The least slots that a loss distribution would take."""
    most = 2**20 - 1
    row = row_of([most, most], 42)
    assert product(row, row).values() == [most**2, 2 * most**2, most**2]
    with pytest.raises(BrokenInvariant, match="different slots"):
        product(row, row_of([1], 8))


@given(st.lists(st.integers(0, 3), max_size=700), st.integers(0, 400))
def test_ends_of_little_mass(values: list[int], most: int) -> None:
    """What is told is within the bound, and nearly as much as possible."""
    row = row_of(values, 16)
    spare = (len(values) >> 8) + 1
    for (count, total), ordered in (
        (row.first_below(most), values),
        (row.last_below(most), values[::-1]),
    ):
        assert total == sum(ordered[:count]) <= most
        assert count + spare > len(values) or sum(ordered[: count + spare]) > most


def test_bounds_that_fall() -> None:
    row = row_of([1] * 100, 16)
    assert row.first_below(0, Falling(3.0, 0.0)) == (20, 20)  # ln 20 < 3 < ln 21
    assert row.first_below(30, Falling(3.0, 0.0)) == (30, 30)
    assert row.first_below(0, Falling(3.0, 0.1))[0] == 8  # ln 8 + 0.8 < 3 < ln 9 + 0.9
    assert PackedRow(row.number, 0, 16).first_below(5) == (0, 0)


@pytest.mark.parametrize("side", BoundSide)
@pytest.mark.parametrize(("growth", "place"), [(0.5, 20.0), (1.0, 0.0), (3.0, 400.0), (0.1, 1e6)])
def test_whatever_is_cut_off_is_on_the_safe_side(
    side: BoundSide, growth: float, place: float
) -> None:
    """Cuts at the low end are guesses: right ones cost nothing, wrong ones only tightness."""
    times, bits, up = 60, 60, side is BoundSide.ABOVE
    true, false = ((-(-(p << bits) // 4) if up else (p << bits) // 4) for p in (3, 1))
    one = loss_distribution(-2, [false, 0, true], 0, bits, side)
    cuts = Cuts(F(1, 2**40), growth, place)
    found = power(one, times, cuts, Limits())
    budgets = [F(k, 3) for k in range(0, 80, 5)]
    for budget, delta in zip(budgets, deltas(found, GridStep(F(1), F(3)), budgets), strict=True):
        exact = 0.0
        for lies in range(times + 1):
            odds = F(3) ** (times - 2 * lies)
            chance = F(comb(times, lies) * 3 ** (times - lies), 4**times)
            exact += float(chance) * max(1 - 2.718281828459045 ** float(budget) / float(odds), 0.0)
        slack = 1e-12
        assert delta >= exact - slack if up else delta <= exact + slack
        if growth == 0.5 and budget >= 22:
            assert abs(delta - exact) < 1e-9
