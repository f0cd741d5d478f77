"""Adaptive runs against the same recursion on exact rationals, over all sequences of outcomes."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from dipapprox.composition.adaptive import adaptive_profile, grid_size
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits
from dipapprox.numerics.precision import precision, to_ball

F = Fraction
Pair = tuple[tuple[Fraction, Fraction], ...]
LEFT: Pair = ((F(1, 2), F(1, 4)), (F(1, 2), F(3, 4)))
RIGHT: Pair = ((F(9, 10), F(7, 10)), (F(1, 10), F(3, 10)))
LOST: Pair = ((F(1, 100), F(0)), (F(99, 100), F(9, 10)), (F(0), F(1, 10)))


def truth(pairs: tuple[Pair, ...], times: int, alpha: Fraction) -> Fraction:
    """The most of P(S) - α Q(S), by trying all that may be chosen."""

    @cache
    def best(left: int, x: Fraction) -> Fraction:
        if not left:
            return max(1 - x, F(0))
        return max(
            sum(p if not q else p * best(left - 1, x * q / p) for p, q in pair if p)
            for pair in pairs
        )

    return best(times, alpha)


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize(
    "pairs", [(LEFT,), (LEFT, RIGHT), (LEFT, RIGHT, LOST, tuple((q, p) for p, q in LEFT))]
)
def test_the_interval_holds_the_best_strategy(pairs: tuple[Pair, ...], times: int) -> None:
    with precision(128):
        masses = [[(to_ball(p), to_ball(q)) for p, q in pair] for pair in pairs]
        found = adaptive_profile(masses, masses, times, grid_size(2**-7, times), Limits())
        for alpha in (F(1, 3), F(1), F(11, 10), F(3, 2), F(2), F(7, 2), F(40)):
            true = truth(pairs, times, alpha)
            point = found.at(to_ball(alpha))
            lower = point.first - to_ball(alpha) * point.second
            assert float(lower.lower()) <= true + F(1, 10**30)
            assert true <= F(float(point.bound.upper())) + F(1, 10**15)
            assert point.bound.upper() >= to_ball(true).lower()
            assert float(point.bound.upper()) - max(float(lower.lower()), 0) < 1e-2


def test_choosing_pays() -> None:
    """What came before tells which pair is the better one."""
    pairs = (LEFT, RIGHT)
    fixed = max(truth((pair,), 4, F(2)) for pair in pairs)
    assert truth(pairs, 4, F(2)) > fixed
    with precision(128):
        masses = [[(to_ball(p), to_ball(q)) for p, q in pair] for pair in pairs]
        found = adaptive_profile(masses, masses, 4, grid_size(2**-9, 4), Limits()).at(to_ball(F(2)))
        assert found.first - 2 * found.second > to_ball(fixed)


def test_limits_are_asked() -> None:
    with precision(64):
        masses = [[(to_ball(p), to_ball(q)) for p, q in LEFT]]
        with pytest.raises(LimitReached, match="time limit"):
            adaptive_profile(masses, masses, 3, F(1, 100), Limits(seconds=0, started=0.0))
        with pytest.raises(LimitReached, match="too fine"):
            adaptive_profile(masses, masses, 3, F(1, 10**9), Limits(atoms=10**12))
