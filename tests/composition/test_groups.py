"""Groups of runs against sums over all sequences of outcomes, in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.catalogue import outcomes_of
from dipapprox.composition.discrete_profiles import MOST_LOSSES, Outcomes, group_sizes
from dipapprox.composition.mechanisms import DiscreteGaussian

F = Fraction
PAIRS = [
    [(F(1, 2), F(1, 3)), (F(1, 4), F(1, 3)), (F(1, 4), F(0)), (F(0), F(1, 3))],
    [(F(3, 5), F(1, 5)), (F(3, 10), F(2, 5)), (F(1, 10), F(2, 5))],
    [(F(1), F(1))],
    [(F(1), F(0)), (F(0), F(1))],
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_group_is_the_product(pair: list[tuple[F, F]], times: int) -> None:
    with precision(128):
        found = Outcomes([(to_ball(p), to_ball(q)) for p, q in pair]).power(times).profile()
        for alpha in (F(1, 7), F(1), F(5, 4), F(3), F(40)):
            true = sum(
                max(prod(p for p, _ in each) - alpha * prod(q for _, q in each), F(0))
                for each in product(pair, repeat=times)
            )
            point = found.at(to_ball(alpha))
            assert point.bound.overlaps(to_ball(true)) and point.bound.rad() < 1e-30
            line = point.first - to_ball(alpha) * point.second
            assert line.overlaps(to_ball(true))


def test_what_is_not_told_apart_counts() -> None:
    with precision(64):
        doubt = arb(0).union(arb(2) ** -40)
        masses = [(arb(1) / 2, arb(1) / 4), (arb(1) / 2, 3 * arb(1) / 4), (doubt, doubt)]
        found = Outcomes(masses).power(3).profile()
        assert found.missing >= arb(2) ** -40 and found.missing < arb(2) ** -35


@given(st.integers(0, 20), st.integers(1, 10**6))
def test_groups_are_all_runs_and_not_too_large(count: int, times: int) -> None:
    outcomes = Outcomes([(arb(1), arb(1))] * count)
    sizes = group_sizes(outcomes, times)
    assert count > 1 or sizes == [(times, 1)]
    assert sum(size * many for size, many in sizes) == times and len(sizes) <= 2
    for size, _ in sizes:
        assert size == 1 or count == 0 or comb(size + count - 1, count - 1) <= MOST_LOSSES


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize(("shift", "square"), [(1, F(1, 2)), (2, F(7, 3))])
def test_few_integers_have_masses_that_hold_the_true_ones(shift: int, square: F, bits: int) -> None:
    """What is left out, on both sides, is at most what is missing, and in every mass."""
    with precision(128):
        found = outcomes_of(DiscreteGaussian(shift, variance=square), bits)
        true = {k: (to_ball(F(-k * k) / (2 * square))).exp() for k in range(-60, 61)}
        total = sum(true.values(), arb(0))
        reach = (len(found.masses) - shift - 1) // 2
        shown = range(-reach, reach + shift + 1)
        for x, masses in zip(shown, found.masses, strict=True):
            for place, mass in zip((x, x - shift), masses, strict=True):
                assert mass.contains(true[place] / total)
                assert mass.rad() <= found.missing * mass.upper()
        for moved in (0, shift):
            left = sum((true[k] for k in true if k + moved not in shown), arb(0)) / total
            assert left <= found.missing <= 2 * arb(2) ** -bits
