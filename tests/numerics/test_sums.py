"""Comparisons with offsets and events of sums: identities, closed forms, ranks and scipy agree."""

import random
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy import stats

from dipapprox import Enclosure, Limits, NotEnclosed, Options
from dipapprox.events.event import Event, spelled_out
from dipapprox.events.reduce import connected_parts
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exact.methods import LaplaceSums
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, FAMILIES, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated, without_certain
from dipapprox.numerics.elimination.planning import OrderEvent, order_event
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.gaussian_rank.orthants import GaussianRank
from dipapprox.numerics.kinds import Tier
from dipapprox.privacy.sources import open_method
from tests import thorough
from tests.event_strategies import difference_events, gauss, laplace
from tests.numerics.alone import alone
from tests.numerics.test_elimination import by_scipy
from tests.sum_events import partial_sums, parts_of, random_sums, tree_of_counters
from tests.thorough import examples

Q = Fraction
LAPLACE_TYPE = [LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL]
DOUBLES = Eliminated(Tier.FLOAT64)


def enclosed(event: Event, bits: int = 36, engine: Eliminated = DOUBLES) -> Enclosure:
    """The product of the parts."""
    lower = upper = Q(1)
    for part in parts_of(event):
        found = alone(engine, part, bits, Limits())
        lower, upper = lower * found.lower, upper * found.upper
    return Enclosure(lower, upper)


@pytest.mark.parametrize("family", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("count", [2, 5])
def test_partial_sums_stay_positive_whatever_the_law(family, count) -> None:
    """Sparre Andersen: C(2n, n) / 4^n for every continuous symmetric law."""
    found = enclosed(partial_sums(Distribution(family, Q(0), Q(3, 2)), count), 40)
    assert Q(comb(2 * count, count), 4**count) in found
    assert found.width <= Q(1, 10**12)


@pytest.mark.parametrize("family", list(FAMILIES.values()))
def test_all_sums_stay_positive_as_each_of_them_is(family) -> None:
    """Spitzer: n p_n = Σ_k Pr[S_k >= 0] p_(n-k) for every law, here with a mean of its own."""
    method = open_method(Options())
    law = Distribution(family, Q(1 if family.is_discrete else Q(-1, 3)), Q(3, 2))
    cut = Q(-1, 2) if family.is_discrete else Q(0)

    def probability(event: Event) -> Enclosure:
        lower = upper = Q(1)
        for part in parts_of(event):
            found = alone(method, part, 36, Limits())
            lower, upper = lower * found.lower, upper * found.upper
        return Enclosure(lower, upper)

    known = [Enclosure.exact(1)]
    steps = []
    for n in range(1, 4):
        forms = [LinearForm.of({k: Q(-1) for k in range(m)}, cut) for m in range(1, n + 1)]
        steps.append(probability(Event((law,) * n, (forms[-1],))))
        terms = [(steps[k - 1], known[n - k]) for k in range(1, n + 1)]
        lower = sum((a.lower * b.lower for a, b in terms), Q(0)) / n
        upper = sum((a.upper * b.upper for a, b in terms), Q(0)) / n
        known.append(probability(Event((law,) * n, tuple(forms))))
        assert known[-1].meets(Enclosure(lower, upper)), (n, family)
        assert upper - lower < Q(1, 2**28) and known[-1].width < Q(1, 2**30)


@pytest.mark.parametrize("seed", thorough.part(range(8), 2))
def test_laplace_sums_are_what_integration_over_polyhedra_gives(seed) -> None:
    chance = random.Random(seed)
    for part in parts_of(random_sums(chance, chance.randint(2, 4), LAPLACE_TYPE)):
        plain = spelled_out(part)  # type: ignore[arg-type]
        form = integrate(plain, Limits())
        assert not isinstance(form, NotEnclosed)
        exact = enclose_at(form, Q(1), 60, Limits())
        own = alone(LaplaceSums(), plain, 60, Limits())
        if isinstance(own, NotEnclosed):
            assert "cycle" in own.reason
            continue
        assert isinstance(exact, Enclosure) and own.meets(exact)
        doubles = alone(DOUBLES, part, 30, Limits())
        if isinstance(doubles, Enclosure):
            assert doubles.meets(exact) and doubles.width < Q(1, 2**20)
        else:
            assert "panels" in doubles.reason


@pytest.mark.parametrize("seed", thorough.part(range(8), 2))
def test_gaussian_sums_are_what_their_rank_gives(seed) -> None:
    chance = random.Random(100 + seed)
    for part in parts_of(random_sums(chance, chance.randint(2, 6), [GAUSSIAN])):
        doubles = alone(DOUBLES, part, 36, Limits())
        if isinstance(doubles, NotEnclosed):
            assert "cycle" in doubles.reason
            continue
        assert doubles.width <= Q(1, 2**36)
        by_rank = alone(GaussianRank(), part, 12, Limits())
        if isinstance(by_rank, Enclosure):
            assert doubles.meets(by_rank)
        else:
            assert "rank" in by_rank.reason


def test_trees_of_counters_are_what_scipy_says() -> None:
    laws = [Distribution(GAUSSIAN, Q(k % 2), Q(2)) for k in range(8)]
    event = tree_of_counters(laws, [-2, -1, -2, -1, -3, -2, -1, -2, 0, -1, 0, 1, 2, 1, 4])
    found = enclosed(event, 36)
    assert float(found.lower) - 2e-4 <= by_scipy(event) <= float(found.upper) + 2e-4
    assert found.width <= Q(1, 2**36)


@pytest.mark.parametrize("family", [LAPLACE, EXPONENTIAL, GAUSSIAN])
@pytest.mark.parametrize("seed", thorough.part(range(4), 2))
def test_bands_between_a_sum_and_what_is_in_it_nowhere(family, seed) -> None:
    """c <= ±(x + y) + a z <= d, where x + y is compared, or in a band, with others as well."""
    chance = random.Random(seed)
    law = Distribution(family, Q(0), Q(1))
    both = LinearForm.of({0: Q(1), 1: Q(1)})
    guards = [both + LinearForm.constant_form(-2)]
    for other in (2, 3):
        factor, sign = Q(chance.choice((1, -1, 2, -2))), Q(chance.choice((1, -1)))
        form = both.scaled(sign) + LinearForm.of({other: factor}, Q(chance.randint(-1, 1)))
        guards.append(form + LinearForm.constant_form(-1))
        if other == 2 or chance.random() < 0.5:
            guards.append(-form + LinearForm.constant_form(-chance.randint(1, 2)))
    event = Event((law,) * 4, tuple(guards))
    reduced = sum_event(event, 40)
    assert any(element.bands for element in reduced.elements)
    doubles = enclosed(event)
    assert doubles.width < Q(1, 2**34)
    if family is GAUSSIAN:
        by_rank = alone(GaussianRank(), event, 40, Limits())
        assert isinstance(by_rank, Enclosure) and doubles.meets(by_rank)
        balls = alone(Eliminated(Tier.BALLS), event, 50, Limits())
        assert balls.meets(by_rank)
        return
    form = integrate(event, Limits())
    own = alone(LaplaceSums(), event, 60, Limits())
    assert not isinstance(form, NotEnclosed)
    exact = enclose_at(form, Q(1), 60, Limits())
    assert isinstance(exact, Enclosure)
    assert own.meets(exact) and doubles.meets(exact)


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
def test_closed_forms_lie_inside(event) -> None:
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


def differences_by_scipy(event: Event) -> float:
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
def test_gaussian_systems_agree_with_scipy(event) -> None:
    parts = connected_parts(event)
    assume(parts)
    for _, part in parts or ():
        about = differences_by_scipy(part)
        found = enclose(part)
        assert float(found.lower) - 1e-3 < about < float(found.upper) + 1e-3


@pytest.mark.parametrize("law", [gauss(0), laplace(0, 2)])
@pytest.mark.parametrize("size", [3, 5])
def test_the_two_largest_of_equal_samples(law, size) -> None:
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
def test_bounds_that_nearly_always_hold_are_dropped_with_their_error(law, far) -> None:
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
