"""Bounds of prv_accountant 0.2 (Gopi, Lee, Wutschitz, 2021) beside certified intervals.

Its lower and upper ends are sound up to rounding, and so a certified interval meets each of its
intervals. The figures are its own, made by

    PRVAccountant(prvs=[mechanism], max_self_compositions=[times], eps_error=0.01,
                  delta_error=1e-10).compute_epsilon(delta=1e-5, num_self_compositions=[times])

and they are computed again where it is installed.
"""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec

import pytest

from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Gaussian, Laplace, Mechanism, Subsampled
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.limits import Limits

F = Fraction
ONE = F(1)

CASES: list[tuple[Mechanism, int, str, dict[str, float], tuple[float, float]]] = [
    (
        Subsampled(Gaussian(ONE, ONE), F(1, 100)),
        1000,
        "PoissonSubsampledGaussianMechanism",
        {"noise_multiplier": 1.0, "sampling_probability": 0.01},
        (1.8182377522766815, 1.8382403931618356),
    ),
    (
        Gaussian(ONE, F(10)),
        100,
        "GaussianMechanism",
        {"noise_multiplier": 10.0},
        (4.36717706736243, 4.387181733168901),
    ),
    (
        Laplace(ONE, F(10)),
        100,
        "LaplaceMechanism",
        {"mu": 0.1},
        (4.208761700886393, 4.2287660795250215),
    ),
]


@pytest.mark.parametrize(("mechanism", "times", "name", "given", "ends"), CASES)
def test_intervals_lie_between_their_bounds(
    mechanism: Mechanism, times: int, name: str, given: dict[str, float], ends: tuple[float, float]
) -> None:
    runs = Composition((RepeatedRun(mechanism, times),))
    (found,) = runs.epsilon(F(1, 10**5), F(1, 1000), Limits()).bounds
    assert found.width <= F(1, 1000)
    low, high = ends
    assert low <= float(found.lower) <= float(found.upper) <= high
    if find_spec("prv_accountant") is None:
        return
    theirs = import_module("prv_accountant")
    accountant = theirs.PRVAccountant(
        prvs=[getattr(theirs, name)(**given)],
        max_self_compositions=[times],
        eps_error=0.01,
        delta_error=1e-10,
    )
    again = accountant.compute_epsilon(delta=1e-5, num_self_compositions=[times])
    assert again[0] <= float(found.lower) <= float(found.upper) <= again[2]
