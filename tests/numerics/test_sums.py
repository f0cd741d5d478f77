"""Events of sums: identities of random walks, closed forms, ranks, quadrature and scipy agree."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.event import Event, spelled_out
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exact.methods import LaplaceSums
from dipapprox.exact.signs.values import enclose_at
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, FAMILIES, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.elements import SumEvent
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.gaussian_rank.engine import GaussianRank
from dipapprox.numerics.kinds import Tier
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method
from tests import thorough
from tests.numerics.alone import alone
from tests.numerics.test_engines_agree import by_scipy
from tests.sum_events import partial_sums, parts_of, random_sums, tree_of_counters

Q = Fraction
SYMMETRIC = [GAUSSIAN, LAPLACE]
LAPLACE_TYPE = [LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL]
DOUBLES = Eliminated(Tier.FLOAT64)


def enclosed(event: Event, bits: int = 36, engine: Eliminated = DOUBLES) -> Enclosure:
    """The product of the parts."""
    lower = upper = Q(1)
    for part in parts_of(event):
        found = alone(engine, part, bits, Limits())
        lower, upper = lower * found.lower, upper * found.upper
    return Enclosure(lower, upper)


@pytest.mark.parametrize("family", SYMMETRIC)
@pytest.mark.parametrize("count", [2, 5])
def test_partial_sums_stay_positive_whatever_the_law(family: Family, count: int) -> None:
    """Sparre Andersen: C(2n, n) / 4^n for every continuous symmetric law."""
    found = enclosed(partial_sums(Distribution(family, Q(0), Q(3, 2)), count), 40)
    assert Q(comb(2 * count, count), 4**count) in found
    assert found.width <= Q(1, 10**12)


@pytest.mark.parametrize("family", list(FAMILIES.values()))
def test_all_sums_stay_positive_as_each_of_them_is(family: Family) -> None:
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
def test_laplace_sums_are_what_integration_over_polyhedra_gives(seed: int) -> None:
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
def test_gaussian_sums_are_what_their_rank_gives(seed: int) -> None:
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
def test_bands_between_a_sum_and_what_is_in_it_nowhere(family: Family, seed: int) -> None:
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
    assert isinstance(reduced, SumEvent)
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
