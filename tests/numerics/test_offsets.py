"""Comparisons with offsets: bands, difference constraints, top-2 — against what is known."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy import stats

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.event import Event
from dipapprox.events.reduce import connected_parts
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated, without_certain
from dipapprox.numerics.elimination.order_event import OrderEvent, order_event
from dipapprox.numerics.kinds import Tier
from tests.event_strategies import CONTINUOUS, difference_events, gauss, laplace
from tests.numerics.alone import alone
from tests.thorough import examples

Q = Fraction
LAPLACE_TYPE = tuple(family for family in CONTINUOUS if family.is_exponential)
NO_OFFSET = Q(0)


def below(i: int, j: int, offset: Fraction | int = NO_OFFSET) -> LinearForm:
    """x_i <= x_j + offset."""
    return LinearForm.of({i: Q(1), j: Q(-1)}, Q(-offset))


def enclose(event: Event, bits: int = 40, tier: Tier = Tier.AUTO) -> Enclosure:
    found = alone(Eliminated(tier), event, bits, Limits())
    assert isinstance(found, Enclosure), found
    assert tier is Tier.FLOAT64 or found.width <= Q(1, 2**bits)
    return found


@examples(5)
@given(event=difference_events(LAPLACE_TYPE))
def test_closed_forms_lie_inside(event: Event) -> None:
    parts = connected_parts(event)
    assume(parts)
    for _, part in parts or ():
        form = integrate(part, Limits())
        assert isinstance(form, ExponentialPolynomial)
        exact = enclose_at(form, Q(1), 80, Limits())
        assert isinstance(exact, Enclosure)
        doubles = enclose(part, tier=Tier.FLOAT64)
        assert doubles.meets(exact) and doubles.width < Q(1, 2**36)
        balls = enclose(part, 60, Tier.BALLS)
        assert balls.meets(exact)


def by_scipy(event: Event) -> float:
    """Differences of two samples between bounds, as a multivariate normal distribution function."""
    ends: dict[tuple[int, int], list[float]] = {}
    for guard in event.guards:
        (i, a), (j, _) = guard.terms
        low_high = ends.setdefault((int(i), int(j)), [-np.inf, np.inf])
        low_high[a > 0] = float(-guard.constant / a)
    rows = np.zeros((len(ends), len(event.samples)))
    for row, (i, j) in zip(rows, ends, strict=True):
        row[i], row[j] = 1, -1
    lower, upper = np.array(list(ends.values())).T
    means = np.array([float(law.mean) for law in event.samples])
    scales = np.array([float(law.scale) for law in event.samples])
    return float(
        stats.multivariate_normal.cdf(
            upper,
            lower_limit=lower,
            mean=rows @ means,
            cov=rows @ np.diag(scales**2) @ rows.T,
            allow_singular=True,
            maxpts=50_000,
            abseps=1e-5,
            releps=0.0,
            rng=np.random.default_rng(1),
        )
    )


@given(event=difference_events((GAUSSIAN,)))
@settings(max_examples=8)
def test_gaussian_systems_agree_with_scipy(event: Event) -> None:
    parts = connected_parts(event)
    assume(parts)
    for _, part in parts or ():
        about = by_scipy(part)
        found = enclose(part)
        assert float(found.lower) - 1e-3 < about < float(found.upper) + 1e-3


@pytest.mark.parametrize("law", [gauss(0), laplace(0, 2)])
@pytest.mark.parametrize("size", [3, 5])
def test_the_two_largest_of_equal_samples(law: Distribution, size: int) -> None:
    """x_0 is the largest and x_1 the largest of the others, also after x_0 - 1000."""
    others = tuple(below(k, 1) for k in range(2, size))
    event = Event((law,) * size, (below(1, 0), below(0, 1, 1000), *others))
    assert Q(1, size * (size - 1)) in enclose(event)
    assert Q(1, size * (size - 1)) in enclose(event, 80)


def test_binomials_count_equal_samples_in_a_band() -> None:
    """k of n samples within a band of a threshold, the others below it."""
    found, n = Enclosure.exact(0), 4
    for inside in range(n + 1):
        guards = [g for k in range(1, inside + 1) for g in (below(k, 0, 1), below(0, k))]
        guards += [below(k, 0) for k in range(inside + 1, n + 1)]
        each = enclose(Event((gauss(0),) * (n + 1), tuple(guards)), 50)
        for _ in range(comb(n, inside)):
            found = found + each
    # All n are at most 1 above the threshold.
    together = Event((gauss(0),) * (n + 1), tuple(below(k, 0, 1) for k in range(1, n + 1)))
    assert found.meets(enclose(together, 50))


@pytest.mark.parametrize("law", [gauss(0), laplace(0)])
@pytest.mark.parametrize("far", [14, 1000])
def test_bounds_that_nearly_always_hold_are_dropped_with_their_error(
    law: Distribution, far: int
) -> None:
    """Whatever the precision drops, more precision lies inside."""
    event = Event((law,) * 4, (below(1, 0), below(0, 1, far), below(2, 1), below(3, 1)))
    order = order_event(event)
    assert isinstance(order, OrderEvent) and order.has_offsets
    precise = enclose(event, 200)
    for bits in (10, 40, 90):
        kept, excess = without_certain(order, bits)
        assert excess <= Q(1, 2**bits)
        assert kept.has_offsets == (not excess)
        assert precise.meets(enclose(event, bits))
