"""Theorems A and B, and what is lost at one ε, against integrals over one-threshold runs."""

from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad

from dipapprox.automata.model import Automaton
from dipapprox.automata.rays import ray_of
from dipapprox.automata.runs import Run
from dipapprox.automata.shifts import Changes, run_cost
from dipapprox.limits import Limits
from dipapprox.proofs import log_ratios
from tests.automata.examples import CHAIN, automaton, sparse_vector


def above(rate: float, mean: float, place: float) -> float:
    """The probability that a Laplace sample exceeds a place."""
    tail = exp(-rate * abs(place - mean)) / 2
    return tail if place >= mean else 1 - tail


def chance(found: Automaton, run: Run, means: tuple[float, ...], eps: float) -> float:
    """The probability of a run that stores its first sample and then compares with it."""
    rates = [float(found.rate(found.transitions[index])) * eps for index in run]

    def density(x: float) -> float:
        value = rates[0] / 2 * exp(-rates[0] * abs(x - means[0]))
        for index, rate, mean in zip(run[1:], rates[1:], means[1:], strict=True):
            # Below is above of the mirror image: nothing cancels.
            sign = 1 if found.transitions[index].above else -1
            value *= above(rate, sign * mean, sign * x)
        return value

    far = 60 / min(rates)
    breaks = sorted({min(means) - far, *means, max(means) + far})
    return sum(quad(density, a, b, epsabs=0, epsrel=1e-9)[0] for a, b in pairwise(breaks))


def log_ratio(found: Automaton, run: Run, changes: Changes, times: float, eps: float) -> float:
    """The log-ratio of a run on the ray: means -t·Δ and -(t - 1)·Δ."""
    before = tuple(-times * change for change in changes)
    after = tuple((1 - times) * change for change in changes)
    return log(chance(found, run, after, eps) / chance(found, run, before, eps))


def test_the_log_ratio_tends_to_the_cost_along_the_ray() -> None:
    found = automaton(CHAIN)
    run, changes = (0, 1, 2), (1, -1, 1)
    assert run_cost(found, run, changes).value == 3
    seen = [log_ratio(found, run, changes, times, 1.0) for times in (1, 3, 9, 33)]
    assert seen == pytest.approx([2.212, 2.698, 2.893, 2.970], abs=2e-3)


def test_no_log_ratio_passes_the_cost() -> None:
    chance_of = np.random.default_rng(7)
    found = automaton(sparse_vector(2))
    run: Run = (0, 1, 1, 2, 3, 4)
    for _ in range(20):
        base = chance_of.uniform(-6, 6, len(run))
        changes = chance_of.choice((-1, 1), len(run))
        changes[0] = 0
        eps = float(chance_of.choice((0.5, 1, 4)))
        first = chance(found, run, tuple(base), eps)
        second = chance(found, run, tuple(base + changes), eps)
        cost = run_cost(found, run, tuple(int(change) for change in changes)).value
        assert log(second / first) <= float(cost) * eps + 1e-6


@pytest.mark.parametrize("eps", [0.25, 1.0, 3.0])
def test_the_bound_is_reached_at_every_eps(eps: float) -> None:
    """Sizes that differ keep the gradient the same along the ray: the limit is D*(ρ)·ε."""
    found = automaton(CHAIN)
    run, changes = (0, 1, 2), (1, -1, 1)
    best = max(run_cost(found, run, change).value for change in product((-1, 1), repeat=3))
    assert run_cost(found, run, changes).value == best == Fraction(3)
    sizes = np.array((30.0, 33.0, 36.0)) / eps
    before = -sizes * changes
    ratio = log(
        chance(found, run, tuple(before + changes), eps) / chance(found, run, tuple(before), eps)
    )
    assert float(best) * eps * 0.98 <= ratio <= float(best) * eps


def test_a_log_ratio_is_what_integration_finds() -> None:
    found = automaton(CHAIN)
    run, changes = (0, 1, 2), (1, -1, 1)
    ray = ray_of(found, run_cost(found, run, changes), Limits())
    assert ray is not None and ray.first[0] is not None
    for eps in (Fraction(1, 2), Fraction(1), Fraction(4)):
        ratio = log_ratios.log_ratio(found, run, ray, eps, Limits())
        known = log_ratio(found, run, changes, -float(ray.first[0]), float(eps)) / float(eps)
        assert float(ratio.lower) - 1e-6 <= known <= float(ratio.upper) + 1e-6
