"""Walks of the check: their exact probabilities are those of its integration over any region."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest

from dipapprox.checking.exact_probability import exact_probability
from dipapprox.checking.facts import Line
from dipapprox.checking.integrands import Densities, Smooth
from dipapprox.checking.orders import General
from dipapprox.checking.regions import integrated
from dipapprox.checking.walks import Plus, exact_walk, walk_of
from dipapprox.distributions import Distribution, Family
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from tests.sum_events import partial_sums, random_sums

Q = Fraction
LAPLACE_TYPE = [Family.LAPLACE, Family.EXPONENTIAL, Family.REFLECTED_EXPONENTIAL]


def by_regions(general: General) -> ExponentialPolynomial:
    whole: Smooth = integrated(general.laws, general.lines, Densities(general.laws), {}, Limits())
    return ExponentialPolynomial.of({(n, q): c for (n, q, _, _), c in whole.items()})


def test_random_walks_are_integrals_over_their_regions() -> None:
    seen = 0
    for seed in range(40):
        chance = random.Random(seed)
        event = random_sums(chance, chance.randint(2, 4), LAPLACE_TYPE)
        lines = [Line(g.constant, tuple((int(s), c) for s, c in g.terms)) for g in event.guards]
        general = General(event.samples, tuple(lines))
        walk = walk_of(general)
        if walk is not None:
            assert exact_walk(walk, Limits()) == by_regions(general)
            seen += any(isinstance(step, Plus) for step in walk.steps)
    assert seen >= 8


@pytest.mark.parametrize("family", [Family.LAPLACE])
def test_twelve_partial_sums(family: Family) -> None:
    """Sparre Andersen: C(2n, n) / 4^n, whatever ε."""
    event = partial_sums(Distribution(family, Q(0), Q(2)), 12)
    lines = [Line(g.constant, tuple((int(s), c) for s, c in g.terms)) for g in event.guards]
    found = exact_probability(General(event.samples, tuple(lines)), Limits())
    expected = ExponentialPolynomial.constant(Q(comb(24, 12), 4**12))
    assert found.as_quotient().top == expected
