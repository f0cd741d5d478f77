"""Statements about divergences: the best two outcomes, by a grid of numpy; sums of statements."""

from fractions import Fraction as F
from math import exp, log

import numpy as np
import pytest

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.accountant import Composition
from dipapprox.composition.divergences import Divergences, Statement
from dipapprox.composition.mechanisms import ConcentratedStatement, Gaussian
from dipapprox.composition.mechanisms import RenyiStatement as Renyi
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.composition.profile import Equal
from dipapprox.composition.statements import StatementProfile, concentrated_at
from dipapprox.limits import Limits

STATEMENTS = [
    Renyi(((F(8), F(1)),)),
    Renyi(((F(3, 2), F(1, 10)),)),
    Renyi(((F(2), F(1, 2)), (F(8), F(1)), (F(32), F(3)))),
    ConcentratedStatement(F(1, 2)),
    ConcentratedStatement(F(1, 2000)),
    ConcentratedStatement(F(20)),
]
ORDERS = 1 + np.logspace(-5, 4, 1_500)


def broken(statement: Statement, p: float, q: float) -> float:
    """By how much divergences are larger than allowed at most, of any order and way round."""
    if isinstance(statement, Renyi):
        orders, allowed = (np.array([float(each[k]) for each in statement.orders]) for k in (0, 1))
    else:
        orders, allowed = ORDERS, float(statement.rho) * ORDERS
    found = []
    for (a, b), (c, d) in (((p, q), (1 - p, 1 - q)), ((q, p), (1 - q, 1 - p))):
        terms = [orders * log(x) + (1 - orders) * log(y) for x, y in ((a, b), (c, d))]
        found.append((np.logaddexp(*terms) / (orders - 1) - allowed).max())
    return float(max(found))


def largest(statement: Statement, q: float) -> float:
    """The greatest p that is allowed beside q, by bisection."""
    low, high = q, 1 - 1e-16
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if broken(statement, middle, q) <= 1e-12 else (low, middle)
    return low


@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
def test_the_worst_two_outcomes_are_allowed_and_best(statement: Statement) -> None:
    """No pair of outcomes of a grid has more; and those that are named have it."""
    shares = np.concatenate([np.logspace(-8, -1, 9), np.linspace(0.15, 0.6, 8)])
    pairs = [(largest(statement, q), q) for q in shares.tolist()]
    with precision(200):
        profile = StatementProfile(Divergences.of([(statement, 1)]), Equal(), statement)
        scale = log(max(p / q for p, q in pairs))
        for place in (F(k, 8) * F(scale) for k in (-4, -1, 0, 1, 2, 3, 5, 7)):
            alpha = to_ball(place).exp()
            point = profile.at(alpha)
            bound, factor = float(point.bound), exp(place)
            line = float(point.first - alpha * point.second)
            assert bound * (1 - 1e-7) <= line <= bound * (1 + 1e-12)
            assert broken(statement, float(point.first), float(point.second)) <= 1e-9
            # On the left of 0 sets are almost all of it.
            others = [(1 - q, 1 - p) for p, q in pairs] if place < 0 else pairs
            assert max(p - factor * q for p, q in others) <= bound * (1 + 1e-9)


def test_where_two_orders_bind_no_single_one_tells() -> None:
    """The chord of both is below what either shows, and outcomes have it."""
    three = STATEMENTS[2]
    with precision(200):
        whole = StatementProfile(Divergences.of([(three, 1)]), Equal(), three)
        alone = [
            StatementProfile(Divergences.of([(Renyi((each,)), 1)]), Equal())
            for each in three.orders
        ]
        gains = []
        for k in range(1, 60):
            alpha = to_ball(F(k, 24)).exp()
            point, least = whole.at(alpha), min(float(each.at(alpha).bound) for each in alone)
            assert float(point.first - alpha * point.second) >= float(point.bound) * (1 - 1e-7)
            gains.append(1 - float(point.bound) / least)
    assert min(gains) > -1e-12 and 0.003 < max(gains) < 0.5


@pytest.mark.parametrize("rho", [F(1, 1000), F(1, 2), F(8)])
def test_what_is_concentrated_is_told_from_what_is_not(rho: F) -> None:
    """A little more or less than the outcomes that are best: a proof of all orders, or none."""
    statement, orders = ConcentratedStatement(rho), [F(a) for a in ORDERS[::10].tolist()]
    for q in np.logspace(-9, -0.8, 8).tolist():
        p = largest(statement, q)
        for share, holds in ((0.9, True), (1 + 1e-6, False)):
            with precision(200):
                one, two = to_ball(F(q + (p - q) * share)), to_ball(F(q))
                ways = ((one, two), (1 - one, 1 - two)), ((1 - two, 1 - one), (two, one))
                told = [any(concentrated_at(way, rho, a) for a in orders) for way in ways]
            assert all(told) == holds


def cost(*runs: tuple[object, int], delta: F = F(1, 10**6)) -> tuple[float, float]:
    """Both ends of ε."""
    answer = Composition(tuple(RepeatedRun(*run) for run in runs)).epsilon(
        delta, F(1, 10**4), Limits()
    )
    (bounds,) = answer.bounds
    assert bounds.lower is not None and bounds.upper is not None
    return float(bounds.lower), float(bounds.upper)


def test_divergences_add_up_before_they_are_converted() -> None:
    one = cost((ConcentratedStatement(F(1, 2)), 1))
    assert one[1] - one[0] < 1e-6 and one[1] == pytest.approx(5.2215343406, abs=1e-8)
    low, high = cost((ConcentratedStatement(F(1, 200)), 100))
    assert high == pytest.approx(one[1], abs=1e-5)
    assert cost((Gaussian(F(1), F(1)), 1))[0] < low < high
    ten = [(Renyi(((F(4), F(1, 10)), (F(16), F(2, 5)))), 10)]
    assert Divergences.of(ten) == Divergences.of([(Renyi(((F(4), F(1)), (F(16), F(4)))), 1)])


def test_orders_in_between_are_on_chords() -> None:
    """(λ - 1) D_λ is convex: two runs of which statements name different orders."""
    known = Divergences.of(
        [(Renyi(((F(2), F(1)), (F(6), F(2)))), 1), (Renyi(((F(4), F(1)), (F(8), F(9)))), 3)]
    )
    assert [float(known.divergence(F(k))) for k in (2, 4)] == [4, (1 + (10 - 1) / 2) / 3 + 3]
    # Of greater ones than 6 the first tells nothing.
    assert known.points[-1][0] == 6
    gaussian = [(Renyi(((F(a), F(a, 2)), (F(9), F(9, 2)))), 1) for a in (3, 5)]
    assert Divergences.of(gaussian).divergence(F(5)) >= 5


def test_a_single_run_is_exact_beside_others() -> None:
    """Chosen after noise: no gap is left."""
    noisy = (Gaussian(F(1), F(2)), 3), (ConcentratedStatement(F(1, 8)), 1)
    low, high = cost(*noisy)
    assert high - low <= 1e-4


@pytest.mark.parametrize(
    "statements",
    [
        [(ConcentratedStatement(F(10**6)), 10**5)],
        [(ConcentratedStatement(F(1, 10**12)), 1)],
        [(Renyi(((F(11, 10), F(3, 10)), (F(10**6 + 1, 10**6), F(1, 10**12)))), 1)],
        [(Renyi(((F(10**6, 3), F(1, 10**6)),)), 10**5), (ConcentratedStatement(F(1, 7)), 1)],
    ],
    ids=str,
)
def test_beyond_doubles_bounds_are_true(statements: list[tuple[Statement, int]]) -> None:
    with precision(200):
        profile = StatementProfile(Divergences.of(statements), Equal())
        for place in (0, F(1, 10**9), F(1, 3), 2, 700, 10**9):
            for sign in (1, -1):
                alpha = to_ball(sign * F(place)).exp()
                bound = profile.at(alpha).bound
                assert bound.is_finite() and bound.upper() <= 1
                assert not bound < 1 - alpha and not bound < 0
