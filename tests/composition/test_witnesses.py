"""Two outcomes of each of many runs of a statement: against scipy's binomial law, and noise."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

import dipapprox
from dipapprox.arithmetic.precision import precision
from dipapprox.composition.mechanisms import ConcentratedStatement, RenyiStatement
from dipapprox.composition.witnesses import worst_of_many


def least_budget(p: float, q: float, times: int, delta: float) -> float:
    """Of runs with two outcomes."""
    counts = np.arange(times + 1)
    masses, others = (binom.pmf(counts, times, each) for each in (p, q))
    return float(brentq(lambda t: np.maximum(masses - np.exp(t) * others, 0).sum() - delta, 0, 50))


@pytest.mark.parametrize(("times", "known"), [(2, 4.7193), (3, 4.6837), (10, 4.4579)])
def test_few_runs_cost_more_than_noise(times: int, known: float) -> None:
    """Of 1/2-zCDP together; noise costs 4.37718 for 10^-5, and nothing more than 4.728386."""
    rho = Fraction(1, 2 * times)
    with precision(128):
        told = worst_of_many(ConcentratedStatement(rho), times, (None, 1e-5))
    assert told is not None
    assert known <= least_budget(float(told[0]), float(told[1]), times, 1e-5) < 4.7284


def test_many_runs_are_like_noise() -> None:
    rho = Fraction(1, 2000)
    with precision(128):
        assert worst_of_many(ConcentratedStatement(rho), 1001, (None, 1e-5)) is None


def test_two_runs_of_a_statement_are_known_closely() -> None:
    """From above divergences add up; from below the second run is the worst after the first."""
    runs = [{"mechanism": "zcdp", "rho": "1/4", "times": 2}]
    found = dipapprox.compose(runs).epsilon("1e-5").eps_prv_enclosure
    assert found is not None
    assert found.lower is not None
    assert found.upper is not None
    assert 4.727 < found.lower <= found.upper < 4.7284


def test_outcomes_of_several_statements_are_chosen_together() -> None:
    """Each as if it were run alone costs less: 2.1466."""
    runs = [
        {"mechanism": "zcdp", "rho": "3/50"},
        {"mechanism": "zcdp", "rho": "17/1000", "times": 2},
        {"mechanism": "zcdp", "rho": "9/50"},
    ]
    found = dipapprox.compose(runs).epsilon("1e-3", "1/4").eps_prv_enclosure
    assert found is not None
    assert found.lower is not None
    assert found.lower > 2.3


def test_outcomes_keep_all_orders_of_a_list() -> None:
    """Where those that are best for one order break another one; Gaussian noise costs 1.16."""
    orders = ((2, Fraction(3, 10)), (100, Fraction(3, 5)), (1000, Fraction(7, 10)))
    statement = RenyiStatement(tuple((Fraction(a), d) for a, d in orders))
    with precision(128):
        told = worst_of_many(statement, 20, (None, 1e-5))
    assert told is not None
    p, q = map(float, told)
    for one, other in ((p, q), (q, p)):
        for order, most in orders:
            logs = [
                order * np.log(a) + (1 - order) * np.log(b)
                for a, b in ((one, other), (1 - one, 1 - other))
            ]
            assert np.logaddexp(*logs) <= (order - 1) * float(most)
    assert least_budget(p, q, 20, 1e-5) > 11.8
