"""Elimination against counting, other engines and scipy, and where it is hard."""

import random
from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dipapprox import Enclosure, LimitReached, Limits
from dipapprox.arithmetic.enclosure import UNIT
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event, Star, spelled_out
from dipapprox.events.reduce import connected_parts
from dipapprox.integrals.integral import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES, GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import Tier
from dipapprox.numerics.nested.engine import Nested
from tests.event_strategies import gauss, laplace, less
from tests.families import REAL_FAMILIES
from tests.numerics.alone import alone
from tests.thorough import part

Q = Fraction
NO_SHIFT = Q(0)
ENGINE = Eliminated()  # shared on purpose: what it remembers must not matter


def below(i: int, j: int, shift: Fraction = NO_SHIFT) -> LinearForm:
    """x_i + shift <= x_j."""
    return LinearForm.of({i: Q(1), j: Q(-1)}, shift)


def enclose(event: Event, bits: int = 40) -> Enclosure:
    found = alone(ENGINE, event, bits, Limits())
    assert UNIT.lower <= found.lower and found.upper <= UNIT.upper
    return found


def equal(family: Family, count: int) -> tuple[Distribution, ...]:
    return (Distribution(family, Q(1, 3), Q(2, 7)),) * count


@st.composite
def orders(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """A connected order on up to six elements."""
    size = draw(st.integers(2, 6))
    names = draw(st.permutations(range(size)))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True))
    for j in range(1, size):
        if not any(j in edge for edge in edges if min(edge) < j):
            edges.append((draw(st.integers(0, j - 1)), j))
    return size, [(names[i], names[j]) for i, j in edges]


@given(order=orders(), family=st.sampled_from(REAL_FAMILIES))
def test_equal_samples_count_linear_extensions(order, family) -> None:
    size, edges = order
    extensions = sum(
        all(ranks[i] < ranks[j] for i, j in edges) for ranks in permutations(range(size))
    )
    value = enclose(Event(equal(family, size), tuple(below(i, j) for i, j in edges)))
    assert Q(extensions, factorial(size)) in value
    assert value.width < Q(1, 2**40)


def enclosed(event: Connected, bits: int = 40, tier: Tier = Tier.AUTO) -> Enclosure:
    found = alone(Eliminated(tier), event, bits, Limits())
    assert found.lower >= 0 and found.upper <= 1
    return found


HARD: dict[str, Connected] = {
    "means a million apart": Event((gauss(0), gauss(10**6), laplace(0)), (less(0, 1), less(2, 1))),
    "the same, impossible": Event((gauss(0), gauss(10**6), gauss(0)), (less(0, 1), less(1, 2))),
    "scales 1e-6 and 1e6": Event(
        (gauss(0, Q(1, 10**6)), laplace(1, 10**6), laplace(0)), (less(0, 1), less(1, 2))
    ),
    "both": Event(
        (gauss(0, Q(1, 10**6)), laplace(10**6, 10**6), gauss(-(10**6))), (less(0, 1), less(1, 2))
    ),
    "a thousand equal samples": Star(gauss(0), ((gauss(0), 1000),), ()),
    "eps = 1e-6": Star(gauss(0, 2 * 10**6), ((gauss(1, 4 * 10**6), 25),), ()),
    "eps = 50": Star(laplace(0, Q(2, 50)), ((laplace(1, Q(4, 50)), 25),), ()),
    "means 1e18 apart": Star(gauss(10**18 + 3), ((gauss(0), 1), (gauss(10**18 + 3), 2)), ()),
    # Grids that keep 64 bits have the standard Gaussian up to 75/8: a kink just before that end.
    "a kink next to an end": Star(gauss(0), ((laplace(Q(75, 8) - Q(1, 10**18), 10**6), 2),), ()),
    "below 1e-300": Star(gauss(-50), ((gauss(0), 3),), ()),
    "a scale of 1e-30": Event(
        (gauss(0, Q(1, 10**30)), gauss(0), gauss(0, 2)), (less(0, 1), less(1, 2))
    ),
    "a scale of 1e30": Event(
        (gauss(0, Q(10**30)), gauss(0), gauss(0, 2)), (less(0, 1), less(1, 2))
    ),
}


def test_values_known_by_symmetry_at_the_extremes() -> None:
    assert Q(1, 1001) in enclosed(HARD["a thousand equal samples"], 90)
    # The least of three centred samples, one of them with a tiny scale: 1/4 in the limit.
    assert abs(enclosed(HARD["a scale of 1e30"], 90).lower - Q(1, 4)) < Q(1, 10**25)
    assert enclosed(HARD["below 1e-300"], 1100).upper < Q(1, 10**300)


def grid(side: int) -> Event:
    """A square grid of samples, ascending along both axes: many cycles."""
    rows = [less(k, k + 1) for k in range(side * side) if (k + 1) % side]
    columns = [less(k, k + side) for k in range(side * (side - 1))]
    laws: list[Distribution] = [gauss(k % 3) for k in range(side * side)]
    return Event(tuple(laws), (*rows, *columns))


def test_too_many_pieces_are_refused_with_a_reason() -> None:
    found = alone(Eliminated(), grid(5), 40, Limits(pieces=300))
    assert "25 samples and 40 comparisons" in found.reason and "300 pieces" in found.reason


def test_a_time_limit_names_the_component() -> None:
    with pytest.raises(LimitReached, match=r"time limit: 0.2 s") as reached:
        alone(Eliminated(), grid(5), 40, Limits(seconds=0.2))
    assert reached.value.event == grid(5)


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
def test_doubles_balls_and_nested_agree(seed) -> None:
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
def test_scipy_is_near_the_enclosures_of_gaussian_events(seed) -> None:
    chance = random.Random(1000 + seed)
    event = random_event(chance, 2 + seed % (LARGEST - 1), [GAUSSIAN])
    lower = upper = 1.0
    for enclosure in Eliminated().enclose(parts_of(event), 60, Limits()):
        lower, upper = lower * float(enclosure.lower), upper * float(enclosure.upper)
    assert lower - 2e-5 <= by_scipy(event) <= upper + 2e-5
