"""Exact compositions against double sums, one another, and the certified intervals."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.exact_profiles import exact_profile
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Atoms,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomisedResponse,
    Subsampled,
)
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.composition.pure import pure_epsilon
from dipapprox.limits import Limits

F = Fraction
SKEWED = Atoms(
    tuple((Enclosure.exact(F(p, 8)), Enclosure.exact(F(q, 8))) for p, q in ((5, 2), (2, 2), (1, 4)))
)


def composition(*runs: tuple[Mechanism, int]) -> Composition:
    return Composition(tuple(RepeatedRun(*run) for run in runs))


def exact_delta(runs: Composition, factor: Fraction) -> Fraction:
    """The greater one of the lines that hold at a rational e^ε."""
    found = exact_profile(runs, Limits())
    deltas = []
    for losses in found.directions:
        line = losses.line(sum(place.factor > factor for place in losses.places))
        constant, falling = line.rational
        deltas.append(constant - factor * falling)
    return max(deltas)


@pytest.mark.parametrize("times", [1, 4, 60])
def test_randomised_response(times: int) -> None:
    runs = composition((RandomisedResponse(F(3, 4)), times))
    for factor in (F(1), F(5, 2), F(3) ** (times - 1)):
        true = sum(
            comb(times, k) * max(F(3) ** (times - k) - factor * F(3) ** k, F(0)) / F(4) ** times
            for k in range(times + 1)
        )
        assert exact_delta(runs, factor) == true
    pure = pure_epsilon(runs, 100)
    assert abs(float(pure.lower) - times * log(3)) < 1e-12 * times
    assert exact_delta(runs, F(3) ** times) == 0


@given(st.integers(1, 3), st.integers(1, 3), st.sampled_from([F(1), F(3, 2), F(4)]))
def test_finite_pairs_against_all_outcomes(one: int, two: int, factor: Fraction) -> None:
    """Both directions, subsampling and mixtures of runs, by brute force."""
    rate = F(1, 3)
    runs = composition((SKEWED, one), (Subsampled(SKEWED, rate), two))
    plain = [(p.lower, q.lower) for p, q in SKEWED.masses]
    sampled = [(rate * p + (1 - rate) * q, q) for p, q in plain]
    total = [(F(1), F(1))]
    for pairs in [plain] * one + [sampled] * two:
        total = [(a * p, b * q) for a, b in total for p, q in pairs]
    true = max(
        sum((max(p - factor * q, F(0)) for p, q in total), F(0)),
        sum((max(q - factor * p, F(0)) for p, q in total), F(0)),
    )
    assert exact_delta(runs, factor) == true
    pure = pure_epsilon(runs, 100)
    largest = max(max(p / q, q / p) for p, q in total)
    assert abs(float(pure.upper) - log(largest)) < 1e-12
    if factor == 1:
        (bounds,) = runs.delta([F(0)], F(1, 50), Limits()).bounds
        assert bounds.lower <= true <= bounds.upper


def test_pure_losses_add_up() -> None:
    runs = composition(
        (Laplace(F(1), F(3)), 7),
        (DiscreteLaplace(2, F(5)), 2),
        (ExponentialMechanism(F(1, 8)), 3),
        (ApproximateStatement(F(1)), 1),
    )
    assert pure_epsilon(runs, 64) == Enclosure.exact(F(7, 3) + F(4, 5) + F(3, 8) + 1)
    sampled = pure_epsilon(composition((Subsampled(Laplace(F(1), F(1)), F(1, 10)), 10)), 100)
    assert sampled.width < F(1, 2**80)
    assert abs(float(sampled.lower) - 10 * log(0.9 + 0.1 * exp(1))) < 1e-12
    for mechanism in (Gaussian(F(1), F(1)), ApproximateStatement(F(1), F(1, 9))):
        assert pure_epsilon(composition((mechanism, 1)), 64) is None


@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 50), F(2, 3)])
def test_least_budgets_are_logarithms(delta: Fraction) -> None:
    """There the profile is delta, and above it just before; or the budget is 0."""
    for runs in (
        composition((RandomisedResponse(F(3, 4)), 12)),
        composition((SKEWED, 2), (Subsampled(SKEWED, F(1, 3)), 2)),
    ):
        profile = exact_profile(runs, Limits())
        found = profile.budget(delta)
        if found is None:  # what is at infinity is more
            assert exact_delta(runs, F(10**9)) > delta
        elif found.factor == 1:
            assert exact_delta(runs, F(1)) <= delta
        else:
            assert exact_delta(runs, found.factor) == delta
            assert exact_delta(runs, found.factor - F(1, 10**9)) > delta
