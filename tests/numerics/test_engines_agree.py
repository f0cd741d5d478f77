"""All engines on random events of up to eight samples, and scipy where it has an answer.

References: A. Genz, Numerical computation of multivariate normal probabilities, J. Comput. Graph.
Statist. 1 (1992), which `scipy.stats.multivariate_normal.cdf` implements; its error is estimated,
not proved.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event, Star, spelled_out
from dipapprox.events.reduce import connected_parts
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES, GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import Tier
from dipapprox.numerics.nested.engine import Nested
from tests.numerics.alone import alone
from tests.thorough import part

REAL = [family for family in FAMILIES.values() if not family.is_discrete]
SEEDS = 8
LARGEST = 8
MOST = 20_000
"""Evaluations that `nested` may need; events that need more are left to the others."""


def random_event(chance: random.Random, size: int, families: list[Family]) -> Event:
    """A random order on `size` samples: a spanning tree, a few more comparisons, offsets."""
    samples = tuple(
        Distribution(
            chance.choice(families),
            Fraction(chance.randint(-4, 4), chance.choice((1, 2, 3))),
            chance.choice((Fraction(1, 2), Fraction(1), Fraction(4, 3), Fraction(3))),
        )
        for _ in range(size)
    )
    rank = chance.sample(range(size), size)
    pairs = {tuple(sorted((chance.randrange(k), k))) for k in range(1, size)}
    pairs |= {tuple(sorted(chance.sample(range(size), 2))) for _ in range(chance.randint(0, 2))}
    guards = []
    for i, j in sorted(pairs):
        low, high = (i, j) if rank[i] < rank[j] else (j, i)
        guards.append(LinearForm.of({low: Fraction(1), high: Fraction(-1)}))
    if chance.random() < 0.3:
        bound = Fraction(chance.randint(-2, 2))
        guards.append(
            LinearForm.of({chance.randrange(size): Fraction(chance.choice((1, -1)))}, bound)
        )
    return Event(samples, tuple(guards))


def parts_of(event: Event) -> list[Connected]:
    parts = connected_parts(event)
    assert parts  # an order of few samples has an interior
    return [canonical(part) for _, part in parts]


def by_scipy(event: Event) -> float:
    """Pr[all guards <= 0] as a multivariate normal distribution function."""
    rows = [
        [float(guard.coefficient(s)) for s in range(len(event.samples))] for guard in event.guards
    ]
    matrix = np.array(rows)
    means = np.array([float(law.mean) for law in event.samples])
    variances = np.array([float(law.scale) ** 2 for law in event.samples])
    constants = np.array([float(guard.constant) for guard in event.guards])
    return float(
        stats.multivariate_normal.cdf(
            np.zeros(len(rows)),
            mean=matrix @ means + constants,
            cov=matrix @ np.diag(variances) @ matrix.T,
            allow_singular=True,
            maxpts=200_000,
            abseps=1e-6,
            releps=0.0,
            rng=np.random.default_rng(1),
        )
    )


@pytest.mark.parametrize("seed", part(range(SEEDS), 4))
def test_doubles_balls_and_nested_agree(seed: int) -> None:
    chance = random.Random(seed)
    size = 2 + seed % (LARGEST - 1)
    events = [part for _ in range(2) for part in parts_of(random_event(chance, size, REAL))]
    doubles = Eliminated(Tier.FLOAT64).enclose(events, 40, Limits())
    balls = Eliminated(Tier.BALLS).enclose(events, 70, Limits())
    for event, fast, slow in zip(events, doubles, balls, strict=True):
        assert fast.meets(slow), event
        assert fast.width <= Fraction(1, 2**40) and slow.width <= Fraction(1, 2**70)
        third = alone(Nested(Strategy.LEAST_NESTING, MOST), event, 20, Limits())
        if isinstance(third, Enclosure):
            assert third.meets(slow) and third.meets(fast), event
            assert third.width <= Fraction(1, 2**20)
        else:
            assert "evaluations" in third.reason
            assert isinstance(event, Event | Star) and len(spelled_out(event).samples) > 3


@pytest.mark.parametrize("seed", range(SEEDS))
def test_scipy_is_near_the_enclosures_of_gaussian_events(seed: int) -> None:
    chance = random.Random(1000 + seed)
    event = random_event(chance, 2 + seed % (LARGEST - 1), [GAUSSIAN])
    lower = upper = 1.0
    for enclosure in Eliminated().enclose(parts_of(event), 60, Limits()):
        lower, upper = lower * float(enclosure.lower), upper * float(enclosure.upper)
    assert lower - 2e-5 <= by_scipy(event) <= upper + 2e-5
