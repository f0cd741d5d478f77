"""Elementary functions and sampled laws in doubles against balls: values, and majorants."""

import numpy as np
import pytest
from flint import acb, arb
from numpy.typing import NDArray

from dipapprox.arithmetic.double_functions import (
    EXCESS,
    RELATIVE,
    UNDERFLOW,
    exponential,
    growth,
    mills_ratio,
)
from dipapprox.arithmetic.legendre import legendre_rule
from dipapprox.arithmetic.precision import precision
from dipapprox.laws.families import (
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    REFLECTED_EXPONENTIAL,
    REFLECTED_GUMBEL,
)
from dipapprox.laws.family import Family, RealFamily
from dipapprox.numerics.algebras.sampled_laws import Samples, sample_law
from tests.families import REAL_FAMILIES
from tests.numerics.test_densities import complex_value

Doubles = NDArray[np.float64]

RATIOS = (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 18.0)
RULE = legendre_rule(8, RATIOS)
NAMES = ("pdf", "cdf", "survival")
GUMBELS = {GUMBEL: 1, REFLECTED_GUMBEL: -1}
SHARP = (GAUSSIAN, LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)
"""Families whose errors are small beside the function wherever it is not tiny."""


def panels(family: Family) -> tuple[Doubles, Doubles]:
    """Panels of all sizes and places; on one side of a kink, and on the support."""
    generator = np.random.default_rng(7)
    half = 10 ** generator.uniform(-4, 0.3, 160)
    center = generator.uniform(-36, 36, 160) * generator.choice([1.0, 0.1], 160)
    if family is LAPLACE:
        center = np.sign(center) * (np.abs(center) + half)
    elif family in GUMBELS:
        center = generator.uniform(-8, 40, 160) * GUMBELS[family]
    elif family in (EXPONENTIAL, REFLECTED_EXPONENTIAL):
        # The first panels begin at the edge of the support.
        center = np.abs(center) * (np.arange(160) > 20) + half
        center *= 1 if family is EXPONENTIAL else -1
    return center, half


CASES = [(family, *each) for family in REAL_FAMILIES for each in enumerate(NAMES)]


def exact(family: RealFamily, name: str, z: acb, center: float) -> acb:
    return complex_value(family, int(np.sign(center)) if family.has_kink else 0, name, z)


def sample(family: Family, place: int) -> tuple[np.ndarray, np.ndarray, Samples]:
    """Sample a function: the density, the distribution function, the survival function."""
    center, half = panels(family)
    every = sample_law(family, center, half, RULE)
    return center, half, Samples(every.values[place], every.error[place], every.majorants[place])


def test_exponential_is_within_its_bound() -> None:
    x = np.random.default_rng(1).uniform(-760, 700, 4000)
    x[:3] = 0.0, -690.0, 700.0
    with precision(120):
        for argument, value in zip(x, exponential(x), strict=True):
            exact = arb(float(argument)).exp()
            assert abs(exact - arb(float(value))) <= exact * arb(RELATIVE) + arb(UNDERFLOW)
        for argument, value in zip(x, growth(x), strict=True):
            exact = arb(float(argument)).exp()
            assert arb(float(value)) >= exact * (1 + arb(2) ** -30)
            assert arb(float(value)) * (1 - arb(EXCESS)) <= exact + arb(2) ** -988
    assert np.isinf(growth(np.array([700.5, 1e9]))).all()


@pytest.mark.parametrize("farthest", [10.0, 40.0])
def test_mills_ratio_is_within_its_bound(farthest: float) -> None:
    t = np.random.default_rng(2).uniform(0, farthest, 2500)
    t[:5] = 0.0, 0.25, 1e-300, np.nextafter(farthest, 0), farthest
    with precision(200):
        for argument, value in zip(t, mills_ratio(t), strict=True):
            x = arb(float(argument))
            exact = (x * x / 2).exp() * (x / arb(2).sqrt()).erfc() * (arb.pi() / 2).sqrt()
            assert abs(exact - arb(float(value))) <= exact * arb(RELATIVE)


@pytest.mark.parametrize(("family", "place", "name"), CASES)
def test_values_are_within_their_errors(family: RealFamily, place: int, name: str) -> None:
    center, half, samples = sample(family, place)
    with precision(160):
        nodes = [arb(-1), *(arb.legendre_p_root(8, k) for k in reversed(range(8))), arb(1)]
        for p in range(len(center)):
            for j, node in enumerate(nodes):
                z = acb(arb(float(center[p])) + arb(float(half[p])) * node)
                truth = exact(family, name, z, center[p]).real
                error = abs(truth - arb(float(samples.values[j, p])))
                assert error <= arb(float(samples.error[p]))
                assert truth <= arb(float(samples.majorants[0, p]))
    # The errors are small: relative to the function's size, except where e^-690 is reached, or
    # where 1 - e^-t is small itself, next to the edge of the support.
    one_sided = family in (EXPONENTIAL, REFLECTED_EXPONENTIAL)
    sizes = samples.majorants[0] + 1e-3 * one_sided
    ordinary = sizes > 1e-200
    assert family not in SHARP or (samples.error / sizes)[ordinary].max() < 1e-11


@pytest.mark.parametrize(("family", "place", "name"), CASES)
def test_majorants_hold_on_the_ellipses(family: RealFamily, place: int, name: str) -> None:
    center, half, samples = sample(family, place)
    angles = np.random.default_rng(5).uniform(0, 1, 6)
    checked = 0
    with precision(120):
        for p in range(0, len(center), 4):
            for r, ratio in enumerate(RATIOS, start=1):
                bound = float(samples.majorants[r, p])
                if not np.isfinite(bound):
                    continue
                for angle in (*angles, 0.0, 0.5, 1.0):
                    turn = arb(float(angle))
                    w = acb(turn.cos_pi(), turn.sin_pi())
                    point = (w * arb(ratio) + 1 / (w * arb(ratio))) / 2
                    z = arb(float(center[p])) + arb(float(half[p])) * point
                    assert abs(exact(family, name, z, center[p])).lower() <= arb(bound)
                    checked += 1
    assert checked > 1200
