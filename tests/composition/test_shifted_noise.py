"""Shifted noise in closed form, by a million deviations, too."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from tests import moved_noise


def gaussian(shift: F | int) -> ShiftedNoise:
    return ShiftedNoise(GAUSSIAN, F(shift) ** 2, F(0))


def laplace(shift: F | int) -> ShiftedNoise:
    return ShiftedNoise(LAPLACE, F(shift) ** 2, F(shift))


@pytest.mark.parametrize("shift", [F(1, 100), F(1, 3), F(1), F(3), F(12)])
@pytest.mark.parametrize("budget", [F(0), F(1, 7), F(2), F(15)])
def test_gaussian_divergences_are_those_of_balle_and_wang(shift: F, budget: F) -> None:
    found = gaussian(shift).divergence(budget, 60)
    assert found.width < F(1, 2**60)
    assert abs(float(found.lower) - moved_noise.gaussian(float(shift), float(budget))) < 1e-12


@pytest.mark.parametrize("shift", [F(1, 1000), F(1), F(40), F(1000), F(10**6), F(10**9)])
@pytest.mark.parametrize("delta", [F(1, 2), F(1, 10**6), F(1, 10**60)])
def test_the_least_budget_has_a_divergence_of_delta(shift: F, delta: F) -> None:
    noise = gaussian(shift)
    found = noise.least_budget(delta, 40)
    assert found.width <= F(1, 2**40)
    bits = delta.denominator.bit_length() + 80
    assert noise.divergence(found.upper, bits).upper <= delta
    assert not found.lower or noise.divergence(found.lower, bits).lower > delta


@pytest.mark.parametrize("shift", [F(1, 3), F(1), F(50_000)])
def test_laplace_noise(shift: F) -> None:
    noise = laplace(shift)
    pure = noise.least_budget(F(0), 40)
    assert pure.lower == pure.upper == shift
    assert noise.divergence(shift, 40).upper == 0
    budget, delta = shift / 2, noise.divergence(shift / 2, 100)
    assert abs(float(delta.lower) - moved_noise.laplace(float(shift), float(shift) / 2)) < 1e-12
    assert delta.width < F(1, 2**90)
    found = noise.least_budget(delta.lower, 40) if delta.upper < 1 else None
    assert found is None or abs(found.lower - budget) < F(1, 2**30)


def test_gaussian_noise_that_is_shifted_has_no_pure_budget() -> None:
    assert gaussian(F(1, 10**6)).least_budget(F(0), 40) is None
    everything = gaussian(10**6).least_budget(F(1), 40)
    assert everything.upper == 0
