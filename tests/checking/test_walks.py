"""Walks of the check: their exact probabilities are those of its integration over any region."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest

from dipapprox.checking.exact_probability import exact_probability
from dipapprox.checking.facts import Line
from dipapprox.checking.gaussian_walks import GaussianWalks
from dipapprox.checking.integrands import Densities, Smooth
from dipapprox.checking.orders import General
from dipapprox.checking.regions import integrated
from dipapprox.checking.values import Stuck
from dipapprox.checking.walks import Plus, exact_walk, walk_of
from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.numerics.tier import Tier
from tests.numerics.alone import alone
from tests.sum_events import partial_sums, parts_of, random_sums

Q = Fraction
LAPLACE_TYPE = [Family.LAPLACE, Family.EXPONENTIAL, Family.REFLECTED_EXPONENTIAL]


def by_regions(general: General) -> ExponentialPolynomial:
    whole: Smooth = integrated(general.laws, general.lines, Densities(general.laws), {}, Limits())
    return ExponentialPolynomial.of({(n, q): c for (n, q, _, _), c in whole.items()})


def general_of(event: Event) -> General:
    lines = [Line(g.constant, tuple((int(s), c) for s, c in g.terms)) for g in event.guards]
    return General(event.samples, tuple(lines))


def test_random_walks_are_integrals_over_their_regions() -> None:
    seen = 0
    for seed in range(40):
        chance = random.Random(seed)
        event = random_sums(chance, chance.randint(2, 4), LAPLACE_TYPE)
        general = general_of(event)
        walk = walk_of(general)
        if walk is not None:
            assert exact_walk(walk, Limits()) == by_regions(general)
            seen += any(isinstance(step, Plus) for step in walk.steps)
    assert seen >= 8


@pytest.mark.parametrize("family", [Family.LAPLACE])
def test_twelve_partial_sums(family: Family) -> None:
    """Sparre Andersen: C(2n, n) / 4^n, whatever ε."""
    event = partial_sums(Distribution(family, Q(0), Q(2)), 12)
    found = exact_probability(general_of(event), Limits())
    expected = ExponentialPolynomial.constant(Q(comb(24, 12), 4**12))
    assert found.as_quotient().top == expected


def test_partial_sums_of_gaussian_samples() -> None:
    walk = walk_of(general_of(partial_sums(Distribution(Family.GAUSSIAN, Q(0), Q(3, 2)), 4)))
    assert walk is not None
    found = GaussianWalks(60, Limits()).enclose(walk)
    assert isinstance(found, Enclosure)
    assert Q(comb(8, 4), 4**4) in found and found.width <= Q(1, 2**60)


def test_random_gaussian_walks_are_what_elimination_gives() -> None:
    seen = 0
    for seed in range(20):
        chance = random.Random(seed)
        event = random_sums(chance, chance.randint(2, 4), [Family.GAUSSIAN])
        parts = parts_of(event)
        if len(parts) != 1 or not isinstance(parts[0], Event):
            continue
        walk = walk_of(general_of(parts[0]))
        try:
            found = None if walk is None else GaussianWalks(36, Limits()).enclose(walk)
        except Stuck as stuck:
            assert "bounds" in str(stuck)
            continue
        doubles = alone(Eliminated(Tier.FLOAT64), parts[0], 36, Limits())
        if isinstance(found, Enclosure) and isinstance(doubles, Enclosure):
            assert found.meets(doubles) and found.width <= Q(1, 2**36)
            seen += 1
    assert seen >= 5
