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
from dipapprox.composition.discrete_profiles import MOST_LOSSES, group_sizes, grouped

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
        found = grouped([(to_ball(p), to_ball(q)) for p, q in pair], arb(0), times)
        for alpha in (F(1, 7), F(1), F(5, 4), F(3), F(40)):
            true = sum(
                max(prod(p for p, _ in each) - alpha * prod(q for _, q in each), F(0))
                for each in product(pair, repeat=times)
            )
            point = found.at(to_ball(alpha))
            assert point.bound.overlaps(to_ball(true)) and point.bound.rad() < 1e-30
            line = point.first - to_ball(alpha) * point.second
            assert line.overlaps(to_ball(true))


@given(st.integers(0, 20), st.integers(1, 10**6))
def test_groups_are_all_runs_and_not_too_large(outcomes: int, times: int) -> None:
    sizes = group_sizes(outcomes, times)
    assert outcomes > 1 or sizes == [(times, 1)]
    assert sum(size * count for size, count in sizes) == times and len(sizes) <= 2
    for size, _ in sizes:
        assert size == 1 or outcomes == 0 or comb(size + outcomes - 1, outcomes - 1) <= MOST_LOSSES


def test_what_is_not_told_apart_counts() -> None:
    with precision(64):
        doubt = arb(0).union(arb(2) ** -40)
        masses = [(arb(1) / 2, arb(1) / 4), (arb(1) / 2, 3 * arb(1) / 4), (doubt, doubt)]
        found = grouped(masses, arb(0), 3)
        assert found.missing >= arb(2) ** -40 and found.missing < arb(2) ** -35


def test_what_every_run_lacks_is_lacking_in_each() -> None:
    with precision(64):
        found = grouped([(arb(1) / 2, arb(1) / 4), (arb(1) / 4, arb(3) / 4)], arb(1) / 4, 3)
        assert found.missing >= 1 - (arb(3) / 4) ** 3
        point = found.at(arb(1) / 8)
        assert point.bound.upper() >= 1 - arb(1) / 8


@pytest.mark.parametrize("middle", [F(299, 100), F(3), F(301, 100)])
def test_a_threshold_among_balls_may_be_taken_either_way(middle: Fraction) -> None:
    """The ratio 3 of randomised response, and factors that are known to a tenth."""
    with precision(64):
        pair = grouped([(arb(3) / 4, arb(1) / 4), (arb(1) / 4, arb(3) / 4)], arb(0), 1)
        bound = pair.at(to_ball(middle) + arb(0, 0.1)).bound
        for alpha in (middle - F(1, 10), middle, middle + F(1, 10)):
            assert bound.upper() >= to_ball(max(F(3, 4) - alpha / 4, F(0)))
