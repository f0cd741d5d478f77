"""Adaptive runs of statements, against exact profiles, linear programmes and found mechanisms."""

from fractions import Fraction as F
from math import exp
from random import Random

import numpy as np
import pytest
from flint import arb
from scipy.optimize import linprog

import dipapprox
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.divergences import Divergences, Statement
from dipapprox.composition.mechanisms import ConcentratedStatement as Concentrated
from dipapprox.composition.mechanisms import RenyiStatement as Renyi
from dipapprox.composition.profile import ReversedProfile, SubsampledProfile, bounds_at
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.composition.stated_runs import (
    StatedRun,
    is_gone_through,
    stated_profile,
    worst_pairs,
)
from dipapprox.composition.statements import StatementProfile
from tests.cases import THOROUGH, cases, part

LISTED = Renyi(((F(2), F(3, 10)), (F(8), F(3, 2))))
LOSSES = F(-3, 2), F(-1, 4), F(0), F(1, 50), F(1, 4), F(1), F(2)


def ends(profile: object, loss: F) -> tuple[float, float]:
    low, high = bounds_at(profile, to_ball(loss).exp())
    return float(low), float(high)


@cases(
    "statement, rate",
    *part(
        (
            [Concentrated(F(1, 4)), F(1, 2)],
            [Concentrated(F(1, 4)), F(1)],
            [Concentrated(F(1, 1000)), F(1)],
            [Concentrated(F(2)), F(1)],
            [Renyi(((F(3), F(1, 5)),)), F(1)],
            [LISTED, F(1)],
            [LISTED, F(1, 3)],
        ),
        6,
    ),
    ids=str,
)
@pytest.mark.parametrize("added", [False, True])
def test_one_run_is_the_worst_that_there_is(statement, rate, added) -> None:
    """Its exact profile is between both ends, which are narrow."""
    with precision(128):
        noise = ShiftedNoise().profile(128)
        known = StatementProfile(Divergences.of([(statement, 1)]), noise, statement)
        exact = SubsampledProfile(known, to_ball(rate)) if rate < 1 else known
        exact = ReversedProfile(exact) if added else exact
        found = stated_profile(((statement, 1),), rate, (None, None), added=added)
        scale = found.size * found.reach / 12
        for loss in (scale * each for each in LOSSES):
            least, most = ends(exact, loss)
            low, high = ends(found, loss)
            assert low <= most and least <= high
            assert high - low <= 5e-3 * high + 1e-6


def kept(statement: Statement, p: np.ndarray, q: np.ndarray) -> bool:
    """Whether a pair keeps a statement, either way round."""
    orders = 1 + np.geomspace(1e-6, 300, 400)
    most = np.full(400, np.inf)
    if isinstance(statement, Renyi):
        orders, most = np.array(statement.orders, float).T
    else:
        most = float(statement.rho) * orders
    for one, two in ((p, q), (q, p)):
        losses = np.log(one / two)
        tops = (orders - 1) * losses.max()
        sums = np.exp(np.outer(orders - 1, losses) - tops[:, None]) @ one
        if ((np.log(sums) + tops) / (orders - 1) > most * (1 - 1e-9)).any():
            return False
    return True


def drawn(statement: Statement, random: Random) -> tuple[np.ndarray, np.ndarray]:
    """A pair of two to four outcomes that just keeps a statement."""
    count = random.randint(2, 4)
    p, r = (np.array([random.expovariate(1) ** 2 + 1e-6 for _ in range(count)]) for _ in "pq")
    p, r, low, high = p / p.sum(), r / r.sum(), 0.0, 1.0
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(statement, p, p + middle * (r - p)) else (low, middle)
    return p, p + low * (r - p)


@cases(
    "statement, rate, added",
    *part(
        (
            [LISTED, F(1), False],
            [Concentrated(F(1, 4)), F(1), False],
            [Concentrated(F(1, 2)), F(1, 3), False],
            [Concentrated(F(1, 2)), F(1, 3), True],
        ),
        3,
    ),
    ids=str,
)
def test_no_mechanism_costs_more(statement, rate, added) -> None:
    """Two runs of pairs that were drawn, the second one the best of them after what came."""
    random = Random(7)
    found = stated_profile(((statement, 2),), rate, (None, None), added=added)
    pairs = []
    for _ in range(120 if THOROUGH else 30):
        p, q = drawn(statement, random)
        p = float(rate) * p + (1 - float(rate)) * q
        pairs.append((q, p) if added else (p, q))

    def single(alpha: float) -> float:
        return max(float(np.maximum(p - alpha * q, 0).sum()) for p, q in pairs)

    with precision(128):
        for loss in (F(0), F(1, 4), F(1), F(2)):
            alpha = exp(loss)
            most = max(
                sum(a * single(alpha * b / a) for a, b in zip(p, q, strict=True)) for p, q in pairs
            )
            low, high = ends(found, loss)
            assert 0.3 * low <= most <= high * (1 + 1e-9)
            # What is left is what three outcomes cost more than two.
            assert high - low <= 0.1 * high + 1e-12


@pytest.mark.parametrize("loss", part([F(1, 4), F(0), F(1), F(2)], 3))
def test_two_runs_are_the_best_law_of_one_before_one(loss) -> None:
    """As a linear programme in doubles finds it, on a grid, with some of the orders."""
    rho = F(1, 4)
    with precision(128):
        one = stated_profile(((Concentrated(rho), 1),), F(1), (None, None), added=False)
        two = stated_profile(((Concentrated(rho), 2),), F(1), (None, None), added=False)
        low, high = ends(two, loss)
    places = np.exp(float(one.size) * np.arange(-one.reach, one.reach + 1))
    y = np.exp(np.linspace(-3, 3, 1201))
    kappas = np.concatenate([1 + np.geomspace(1e-3, 8, 60), -np.geomspace(1e-3, 8, 60)])
    moments = [(y**k - 1 - k * (y - 1)) / np.expm1(float(rho) * k * (k - 1)) for k in kappas]
    worth = y * np.interp(exp(loss) / y, places, one.upper, left=1)
    best = linprog(
        -worth, A_ub=moments, b_ub=np.ones(120), A_eq=[np.ones_like(y), y], b_eq=[1.0, 1.0]
    )
    assert -best.fun == pytest.approx(high, rel=3e-3)
    assert high - low < 1e-3 * high


@cases("kappa, rate, added", *[
    [kappa, rate, added]
    for kappa in (0, 2, -1, -3) for rate in (F(1), F(1, 3)) for added in (False, True)
])  # fmt: skip
def test_tables_are_below_the_functions_that_they_stand_for(kappa, rate, added) -> None:
    """Also between places, on both sides of every chord, and at 0 and beyond."""
    worst = worst_pairs(Concentrated(F(1, 10)), 3)
    run = StatedRun(worst, F(1, 64), 200, rate=rate, added=added)
    number = len(worst.kappas) // 2 + kappa * 12
    many, few, start, slope = run._table(number)
    k = worst.kappas[number]

    def exact(z: float) -> arb | None:
        y = 1 + (z - 1 if added else 1 / z - 1) / float(rate)
        if y <= 0:
            return None
        value = (arb(y) ** arb(k) - 1 - arb(k) * (arb(y) - 1)) / (arb(k) * (arb(k) - 1))
        return value if added else value * z

    last, random, near = int(run._few[-1]), Random(3), 0
    with precision(200):
        for table, places in ((many, np.arange(-last, last + 1)), (few, run._few)):
            for _ in range(300):
                i = random.randrange(len(places) - 1)
                z_0, z_1 = (exp(int(each) / 64) for each in places[i : i + 2])
                share = random.choice([0.0, 0.5, 1.0, random.random()])
                value = exact(z_0 + share * (z_1 - z_0))
                if value is not None:
                    line = table[i] + share * (table[i + 1] - table[i])
                    assert value > line - abs(line) * 1e-12
                    near += bool(value < line + abs(line) * 1e-2 + 1e-3)
        for share in (0.1, 0.5, 0.9):
            z = exp(-last / 64)
            value = exact(z * share)
            if value is not None:
                assert value > start + share * (many[0] - start) - 1e-9 * abs(many[0])
            z = exp(last / 64) / share
            value = exact(z)
            if value is not None:
                assert value > many[-1] + slope * (z - exp(last / 64)) - 1e-9 * abs(many[-1])
    assert near > 100


@cases(
    "runs, asked, least, most",
    [{"mechanism": "zcdp", "rho": "1/20", "times": 10}, {"delta": "1e-5"}, 4.5692, 4.5705],
    [{"mechanism": "zcdp", "rho": "1/4", "times": 2}, {"delta": "1e-5"}, 4.7272, 4.7276],
    [
        {"mechanism": "rdp", "orders": [[2, "25/841"], [8, "125/841"]], "times": 3},
        {"budget": 1},
        8.119e-4,
        8.132e-4,
    ],
)
def test_runs_are_known_closely(runs, asked, least, most) -> None:
    """Each of the statement that is left of a run is another question than their sum."""
    found = dipapprox.compose([runs])
    if "delta" in asked:
        enclosure = found.epsilon(asked["delta"]).eps_prv_enclosure
    else:
        enclosure = found.delta(asked["budget"]).delta_enclosure
    assert least <= enclosure.lower <= enclosure.upper <= most


@pytest.mark.thorough
def test_sampled_runs_are_known_closely_beside_noise() -> None:
    runs = [
        {"mechanism": "zcdp", "rho": "50/2809", "times": 10, "subsample": "1/2"},
        {"mechanism": "gaussian", "sigma": 20},
    ]
    alone, beside = (dipapprox.compose(runs[:count]).delta(1).delta_enclosure for count in (1, 2))
    assert 1.40e-4 <= alone.lower <= alone.upper <= 1.44e-4
    assert alone.lower < beside.lower <= beside.upper < 1.03 * beside.lower


@cases(
    "orders, rate",
    *part(
        (
            [((F(100), F(3)),), F(1)],
            [((F(100), F(3)),), F(1, 3)],
            [((F(2), F(1, 2)), (F(300), F(1))), F(1)],
            [((F(30), F(10)), (F(40), F(10))), F(1, 3)],
            [((F(20), F(20)),), F(1)],
        ),
        3,
    ),
)
@pytest.mark.parametrize("added", [False, True])
def test_great_divergences_bound_no_less_than_is_attained(orders, rate, added) -> None:
    """Functions that are greater than what is known of them are looked at, too."""
    found = stated_profile(((Renyi(orders), 2),), rate, (None, None), added=added)
    places = np.exp(float(found.size) * np.arange(-found.reach, found.reach + 1))
    attained = found.first - places * found.second
    assert (attained <= found.upper * (1 + 1e-12) + 1e-300).all()
    assert not is_gone_through(Renyi(orders), 2), "and pipelines do not ask for so much"


def test_a_great_divergence_of_a_high_order_is_bounded_as_before() -> None:
    """It was at most 0.08 where 0.115 is attained."""
    found = dipapprox.compose(
        [{"mechanism": "rdp", "orders": [[100, 3]], "times": 3, "subsample": "1/3"}]
    ).delta(1)
    assert found.delta_enclosure.lower > F(1, 5) and found.delta_enclosure.upper < F(2, 5)


@pytest.mark.thorough
def test_grids_move_with_the_ratio_of_a_sample() -> None:
    """Adding a record is its removal turned round."""
    statement, rate = Concentrated(F(1, 10)), F(1, 4)
    removed, added = (
        stated_profile(((statement, 2),), rate, (None, None), added=k) for k in (False, True)
    )
    with precision(128):
        for loss in (F(1, 50), F(1, 10), F(1, 2)):
            low, high = ends(added, loss)
            turned = ends(ReversedProfile(removed), loss)
            assert low <= turned[1] and turned[0] <= high
