"""Pairs of mechanisms: against sums and integrals of their laws, by numpy and scipy."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, product
from math import exp, log, log1p, prod

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import BadProof, Refused
from dipapprox.kernel.losses import Sets
from dipapprox.kernel.mechanisms import (
    Mechanism,
    Pair,
    divergence,
    noise,
    of_deltas,
    read_mechanism,
    sampled,
)
from kernel.pipelines import ball
from tests.cases import cases, check_answers, refuses
from tests.kernel.machines import judged
from tests.moved_noise import farthest

LOSSES = [Fraction(k, 8) for k in range(-20, 21)]


@pytest.fixture(autouse=True)
def accurate() -> Iterator[None]:
    with precision(200):
        yield


def pair_of(json: object, *orders: Fraction) -> Pair:
    return read_mechanism(json).pair(orders)


def had_of(json: object, *told: Fraction) -> Sets:
    return read_mechanism(json).pair(told, above=False).outcomes([])


def upper(value: arb) -> float:
    return float(value.upper())


def discrete(family: str, distance: int, scale: float, loss: float) -> float:
    """H of two discrete laws, added up over many integers."""
    k = np.arange(-400, 401 + distance)
    power = 1 if family == "DLap" else 2
    weights = [
        np.exp(-(np.abs(k - m) ** power) / (1 if power == 1 else 2) / scale**power)
        for m in (distance, 0)
    ]
    p, q = (each / each.sum() for each in weights)
    return float(np.maximum(p - exp(loss) * q, 0).sum())


def continuous(family: str, distance: float, scale: float, loss: float) -> float:
    """H of two laws, as the best half-line has it."""
    law = stats.laplace if family == "Lap" else stats.norm
    c = np.linspace(-10 * scale - 40, 10 * scale + distance + 40, 20_001)
    return float(np.max(law.sf(c, distance, scale) - exp(loss) * law.sf(c, 0, scale), initial=0))


@pytest.mark.parametrize("family", ["Gauss", "Lap", "DGauss", "DLap"])
@pytest.mark.parametrize(("distance", "scale"), [(1, 2), (3, 4), (2, 1)])
def test_noise_has_the_best_half_lines(family, distance, scale) -> None:
    squared = family in ("Gauss", "DGauss")
    pair = noise(family, Fraction(distance), Fraction(scale) ** (1 + squared))
    true = discrete if family.startswith("D") else continuous
    for loss in LOSSES:
        value = true(family, distance, scale, float(loss))
        most = upper(pair.most(loss))
        assert value - 1e-12 <= most <= value + 1e-5
        p, q = pair.outcomes([loss])[-1]
        assert 0 <= p <= 1 and 0 <= q <= 1
        assert float(p - ball(loss).exp() * q) == pytest.approx(most, abs=1e-12)


def test_bounded_range_is_the_largest_of_its_pairs() -> None:
    pair = pair_of({"mechanism": "exponential_mechanism", "eps": "3/2"})
    eps = 1.5
    for loss in LOSSES:
        best = 0.0
        for top in np.linspace(1e-6, eps - 1e-6, 4001):
            low = top - eps
            # p at the loss `top`, 1 - p at `low`, so that the other masses add up to 1.
            p = (1 - exp(-low)) / (exp(-top) - exp(-low))
            found = max(p * (1 - exp(float(loss) - top)), 0) + max(
                (1 - p) * (1 - exp(float(loss) - low)), 0
            )
            best = max(best, found)
        assert best <= upper(pair.most(loss)) + 1e-12
        assert upper(pair.most(loss)) <= best + 1e-5
        assert best_of(pair.outcomes([]), loss) <= upper(pair.most(loss)) + 1e-12


def test_bounded_range_ends_and_is_had() -> None:
    mechanism = {"mechanism": "exponential_mechanism", "eps": "1/2"}
    for orders, greater in ((), 1 / 4), ((Fraction(3, 8),), 3 / 8):
        pair = pair_of(mechanism, *orders)
        for loss in ("1/2", "3/4", 2):
            assert pair.most(Fraction(loss)).is_zero()
        odds = [float((p / q).log().mid()) for p, q in pair.outcomes([])]
        assert odds == pytest.approx([greater, greater - 1 / 2])


ORDERS = 1 + np.logspace(-4, 3, 700)
CONCENTRATED = {"mechanism": "zcdp", "rho": "1/2"}
SEVERAL = {"mechanism": "rdp", "orders": [[2, "1/10"], [5, "1/3"], [9, 2]]}


def allowed(json: dict[str, object]) -> list[tuple[float, float]]:
    """Outcomes (p, q) that a statement just allows."""
    orders, most = ORDERS, ORDERS / 2
    if json is SEVERAL:
        orders, most = np.array([2.0, 5.0, 9.0]), np.array([0.1, 1 / 3, 2.0])
    shares = np.concatenate([np.logspace(-7, -1, 7), np.linspace(0.15, 0.6, 7)])
    return [(farthest(orders, most, q), q) for q in shares.tolist()]


@pytest.mark.parametrize("json", [CONCENTRATED, SEVERAL], ids=["zcdp", "rdp"])
def test_statements_bound_all_that_they_allow_by_any_order(json) -> None:
    """Whatever is told; and the best that is told leaves no room."""
    pairs = allowed(json)
    for loss in (Fraction(-1, 2), Fraction(0), Fraction(1, 4), Fraction(1), Fraction(3)):
        turned = [(1 - q, 1 - p) for p, q in pairs] if loss < 0 else pairs
        best = max(p - exp(loss) * q for p, q in turned)
        found = []
        for order in map(Fraction, ("5/4", 2, 3, 5, 9)):
            for gap in (Fraction(1, 2), Fraction(2), Fraction(100)):
                told = [each for t in (abs(loss), Fraction(2)) for each in (t, order, gap)]
                found.append(upper(pair_of(json, *told).most(loss)))
        assert min(found) >= best * (1 - 1e-9)
        # Markov's inequality (Canonne, Kamath and Steinke 2020), where all off S has y = 0.
        if loss > 0:
            divergence = 1.0 if json is CONCENTRATED else 0.1
            markov = exp(divergence - loss) / 4
            assert upper(pair_of(json, loss, Fraction(2), Fraction(100)).most(loss)) == (
                pytest.approx(markov)
            )
    # Of order 8 and 1, E y^8 = e^7 for two outcomes: y = 1.98 and 0.0195, at a = e.
    single = {"mechanism": "rdp", "orders": [[8, 1]]}
    told = Fraction(1), Fraction(8), Fraction(461, 100)
    assert upper(pair_of(single, *told).most(Fraction(1))) == pytest.approx(0.0490849, abs=1e-5)


ONES, THREES = (Fraction(2), Fraction(1)), (Fraction(8), Fraction(3))
RUNS, STATED = (
    Mechanism("divergences", (("rdp", points, 2), ("zcdp", (Fraction(1, 4),), 3)))
    for points in ((ONES,), (ONES, THREES))
)


def test_statements_add_up() -> None:
    told = [Fraction(3, 2), Fraction(5, 2), Fraction(4)]
    together = STATED.pair(told)
    # 3/2 D is 1 + 20/12 at 5/2, between 1 at 2 and 7 · 3 at 8.
    alone = pair_of({"mechanism": "rdp", "orders": [["5/2", "391/72"]]}, *told)
    for loss in LOSSES:
        assert upper(together.most(loss)) == upper(alone.most(loss))
    # Divergences of noise are order m² / 2: m² is 2 · 3/4 and 3 · 1/2.
    noisy = noise("Gauss", Fraction(1), Fraction(1, 3)).outcomes(LOSSES)
    for one, other in zip(together.outcomes(LOSSES), noisy, strict=True):
        assert [*map(upper, one)] == [*map(upper, other)]


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_divergences_are_below_chords_of_their_statements(p) -> None:
    """Of two outcomes, whose divergences at some orders are stated."""
    q = p / 3

    def own(order: float) -> float:
        terms = order * log(p) + (1 - order) * log(q), order * log1p(-p) + (1 - order) * log1p(-q)
        return float(np.logaddexp(*terms) / (order - 1))

    values = tuple((Fraction(a), Fraction(own(a))) for a in (1.5, 3, 4, 20))
    for order in (1.1, 1.5, 2, 3.5, 4, 7, 20):
        bound = float(divergence("rdp", values, Fraction(order)))
        assert own(order) - 1e-12 <= bound <= min(float(d) for a, d in values if a >= order) + 1e-12
    refuses(Refused, "order", divergence, "rdp", values, Fraction(21))


def test_runs_of_statements_have_outcomes_independently() -> None:
    """Against all sequences of outcomes."""
    pairs = (Fraction(1, 2), Fraction(1, 4)), (Fraction(2, 5), Fraction(1, 4))
    told = [each for pair in pairs for each in (*pair, Fraction(1), Fraction(1))]
    cells = RUNS.pair(told, above=False).outcomes([])
    one, other = ([pair, (1 - pair[0], 1 - pair[1])] for pair in pairs)
    every = [
        [prod(each[k] for each in outcome) for k in (0, 1)]
        for outcome in product(*[one] * 2, *[other] * 3)
    ]
    for loss in (-1.0, 0.0, 0.5, 1.5):
        true = sum(max(0.0, float(p) - exp(loss) * float(q)) for p, q in every)
        assert best_of(cells, Fraction(loss)) == pytest.approx(true)


@pytest.mark.parametrize("json", [CONCENTRATED, SEVERAL], ids=["zcdp", "rdp"])
def test_two_outcomes_are_had_if_all_orders_allow_them(json) -> None:
    """Inside of what is allowed some order tells so, outside none does."""
    orders = [*(1 + Fraction(k, 8) for k in range(48)), *map(Fraction, range(7, 20))]
    for p, q in allowed(json):
        for share, holds in ((0.9, True), (1 + 1e-7, False)):
            two = [Fraction(q + (p - q) * share), Fraction(q)]
            ways = [each for order in orders for each in [(order, Fraction(1)), (order, order)]]
            found = False
            for way in ways if json is CONCENTRATED else ways[:1]:
                try:
                    (one, other) = had_of(json, *two, *way)
                except BadProof:
                    continue
                found = True
                assert float(one[0] + other[0]) == float(one[1] + other[1]) == 1
                break
            assert found == holds


def best_of(cells: Sets, loss: Fraction) -> float:
    """What the best set of some outcomes has."""
    factor = ball(loss).exp()
    return float(sum(((p - factor * q).max(arb(0)) for p, q in cells), arb(0)))


def infinite(pair: Pair) -> float:
    """The mass of outcomes that Q never has."""
    return float(sum((p for p, q in pair.outcomes([]) if q.is_zero()), arb(0)))


@pytest.mark.parametrize("family", ["Gauss", "Lap", "DGauss", "DLap"])
def test_sets_of_noise_have_all_of_it(family) -> None:
    """Sets that end at a loss are best there."""
    pair = noise(family, Fraction(2), Fraction(4))
    cells = pair.outcomes(LOSSES)
    for masses in zip(*cells, strict=True):
        assert float(sum(masses, arb(0))) == pytest.approx(1, abs=1e-12)
    for loss in LOSSES:
        assert best_of(cells, loss) == pytest.approx(upper(pair.most(loss)), abs=1e-12)


@pytest.mark.parametrize("added", [False, True])
@cases(
    "json",
    {"mechanism": "randomised_response", "probability": "3/4", "values": 2},
    {"mechanism": "randomised_response", "probability": "1/2", "values": 4},
    {"mechanism": "approx_dp", "eps": 0, "delta": "1/8"},
    {"mechanism": "approx_dp", "eps": 1, "delta": 1},
    ids=str,
)
def test_samples_are_mixtures(json, added) -> None:
    pair, rate = pair_of(json), Fraction(1, 5)
    share, found = ball(rate), sampled(pair_of(json), (rate, added))
    mixed = [(share * p + (1 - share) * q, q) for p, q in pair.outcomes([])]
    for loss in LOSSES:
        best = best_of([(q, p) for p, q in mixed] if added else mixed, loss)
        assert upper(found.most(loss)) == pytest.approx(best, abs=1e-12)
        assert best_of(found.outcomes([]), loss) == pytest.approx(best, abs=1e-12)


def test_deltas_that_are_known_are_used_as_they_are() -> None:
    known = {Fraction(1, 2): ball(Fraction(1, 4)), Fraction(1): ball(Fraction(1, 8))}
    for loss, delta in known.items():
        assert of_deltas(known).most(loss) == delta
    pair = {"mechanism": "exponential_mechanism", "eps": 1}
    first, other = Fraction(1, 4), Fraction(3, 4)
    both = [pair_of(pair, *orders).outcomes([]) for orders in ((first, other), (first,))]
    assert len({tuple(map(upper, chain(*cells))) for cells in both}) == 1


def test_what_diverges_from_nothing_reveals_nothing() -> None:
    json = {"mechanism": "rdp", "orders": [[1000, 0]]}
    pair = pair_of(json, Fraction(1, 10), Fraction(1000), Fraction(1))
    assert upper(pair.most(Fraction(1, 10))) < 1e-3


def told_of(mechanism: object, *told: str, above: bool = True) -> Pair:
    """The pair of a mechanism, or JSON of one, of which some numbers are told."""
    of = mechanism if isinstance(mechanism, Mechanism) else read_mechanism(mechanism)
    return of.pair([*map(Fraction, told)], above=above)


def test_what_has_no_pair_and_what_one_never_has() -> None:
    """A sample of all is no sample: what is added has what is infinite, as pairs are symmetric."""
    check_answers("kernel_mechanisms", judged(globals()))
