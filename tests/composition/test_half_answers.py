"""What was answered half, line by line: of compositions, truths that share nothing with ours.

Sentences in quotes are the questions as they were put; truths are closed forms, sums over all
outcomes, and sums in doubles on a circle.
"""

from collections.abc import Callable
from fractions import Fraction as F
from itertools import product
from math import exp, inf, isfinite, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr
from scipy.stats import binom

import dipapprox
from dipapprox import Answer, Composed, Enclosure, Options
from dipapprox.limits import Limits
from tests.cases import cases
from tests.moved_noise import gaussian, laplace

Table = dict[str, Any]


def composed(*runs: Table, proved: bool = False) -> Composed:
    substitution = any(run["mechanism"] in ("randomised_response", "approx_dp") for run in runs)
    return dipapprox.compose(
        list(runs),
        adjacency="substitution" if substitution else "add/remove",
        options=Options(proved=proved),
    )


def noise(sigma: str, times: int = 1, **more: str) -> Table:
    return {"mechanism": "gaussian", "sigma": sigma, "times": times, **more}


def ends(answer: dipapprox.ComposedAnswer) -> tuple[float, float]:
    """Both ends of an answer that is as narrow as was asked."""
    assert answer.reason is None
    found = answer.eps_prv_enclosure or answer.delta_enclosure
    assert found is not None and found.lower is not None and found.upper is not None
    return float(found.lower), float(found.upper)


def least(profile: Callable[[float], float], delta: float, most: float = 99.0) -> float:
    """The ε at which a profile is δ."""
    return float(brentq(lambda epsilon: profile(epsilon) - delta, 0, most, xtol=1e-14))


# --- Gaussian noise: finer grids, one number, small rates, many runs ------------------------------


@cases(
    "runs, square, delta",
    [[("1000", 2)], 2e-6, "1e-9"],
    [[("623", 2)], 2 / 623**2, "4.8e-10"],
    [[("3", 4), ("5", 7), ("17/10", 2)], 4 / 9 + 7 / 25 + 200 / 289, "1e-6"],
    [[("100000", 10**9)], 0.1, "1e-6"],
    ids=["σ = 1000 twice", "σ = 623 twice", "several σ", "10^9 runs"],
)
@pytest.mark.parametrize("proved", [False, True])
def test_unsampled_gaussians_merge_into_one(runs, square, delta, proved) -> None:
    """The squares of shifts add up; no grid, and six digits also where the kernel confirms."""
    found = composed(*(noise(*each) for each in runs), proved=proved).epsilon(delta)
    low, high = ends(found)
    true = least(lambda epsilon: gaussian(sqrt(square), epsilon), float(delta))
    assert low * (1 - 1e-6) <= true <= high * (1 + 1e-6) and high - low <= 1e-6 * high
    assert found.grid is None


def losses(sigma: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses of a removal at many places, and what probability lies about them."""
    places = np.linspace(-12 * sigma, 1 + 12 * sigma, 2**20)
    chances = np.diff((1 - rate) * ndtr(places / sigma) + rate * ndtr((places - 1) / sigma))
    middles = (places[1:] + places[:-1]) / 2
    ratios = np.expm1((2 * middles - 1) / (2 * sigma * sigma))
    return np.log1p(rate * ratios), chances


def by_fourier(sigma: float, rate: float, times: int, epsilon: float) -> float:
    """The least delta: losses on 2^20 places of a circle, in doubles."""
    found, chances = losses(sigma, rate)
    count = 2**20
    size = (16 if sigma < 1 else 16_384 * rate if rate < 1e-5 else 1) / count
    places = found / size
    low = np.floor(places).astype(int)
    mass = np.zeros(count)
    np.add.at(mass, low % count, chances * (low + 1 - places))  # keeps the mean
    np.add.at(mass, (low + 1) % count, chances * (places - low))
    total = np.fft.irfft(np.fft.rfft(mass) ** times, count)
    at = ((np.arange(count) + count // 2) % count - count // 2) * size
    return float(np.sum(np.maximum(total, 0) * np.maximum(1 - np.exp(epsilon - at), 0)))


def normal(sigma: float, rate: float, times: int, epsilon: float) -> float:
    """The same by the central limit: for a billion runs."""
    found, chances = losses(sigma, rate)
    mean = float(np.sum(found * chances)) * times
    deviation = sqrt(times * float(np.sum(found**2 * chances)) - mean**2 / times)
    place = (mean - epsilon) / deviation
    return float(ndtr(place) - exp(epsilon - mean + deviation**2 / 2) * ndtr(place - deviation))


@cases(
    "sigma, rate, times, delta, evaluate, width",
    pytest.param("1", "1e-6", 1000, "1e-9", by_fourier, "1e-6", marks=pytest.mark.thorough),
    ["0.6", "0.001", 10**4, "1e-6", by_fourier, "0.002"],
    pytest.param("0.5", "1e-4", 10**5, "1e-6", by_fourier, "0.002", marks=pytest.mark.thorough),
    pytest.param("1", "1e-4", 10**5, "1e-6", by_fourier, "0.002", marks=pytest.mark.thorough),
    ["1", "1e-6", 10**9, "1e-6", normal, "0.002"],
)
def test_small_rates_of_gaussian_noise(sigma, rate, times, delta, evaluate, width) -> None:
    """Also 10^5 runs at rate 1e-4, and 10^9 runs: with few losses."""
    found = composed(noise(sigma, times, subsample=rate)).epsilon(delta, width)
    low, high = ends(found)
    given = float(sigma), float(rate), times
    most, fewest = (evaluate(*given, end) for end in (low, high))
    assert fewest <= 1.01 * float(delta) and most >= 0.99 * float(delta)
    assert high - low <= float(width) and found.atoms <= 30_000


@cases("sigma, rate, times", ["0.8", "1e-4", 100], ["1", "1e-3", 10], ["0.5", "1e-6", 10])
def test_rare_and_large_losses_take_few_of_a_grid(sigma, rate, times) -> None:
    """The bound by moments is far above δ there: doubles lose what whole numbers keep."""
    found = composed(noise(sigma, times, subsample=rate)).epsilon("1e-12")
    low, high = ends(found)
    own, chances = losses(float(sigma), float(rate))
    if times == 10:  # by one large loss beside nine that are next to nothing

        def single(epsilon: float) -> float:
            return times * float(np.sum(np.maximum(1 - np.exp(epsilon - own), 0) * chances))

        assert single(high + 0.01) < 1e-12 < single(low - 0.01)
    assert high - low <= 0.001 and found.atoms <= 30_000


@pytest.mark.thorough
@cases("proved", False, True)
def test_the_census_with_a_certificate(proved) -> None:
    """130 discrete Gaussians: an accountant brackets [16.45874, 16.47174]; a width of 1e-3."""
    spec = Path(__file__).parents[2] / "programs/pipelines/census_2020.toml"
    asked = dipapprox.compose(spec, options=Options(proved=proved))
    answer = asked.epsilon("1e-10")
    low, high = ends(answer)
    assert 16.45874 <= low <= high <= 16.47174 and high - low <= 1.1e-3
    assert len(answer.proofs) == 2 * proved
    assert not proved or asked.certify(answer).to_json()


# --- Statements: divergences add up before they are converted -------------------------------------


def converted(orders: np.ndarray, divergences: np.ndarray, delta: float) -> float:
    """The ε that sums of divergences tell (Canonne, Kamath and Steinke, 2020, proposition 12)."""
    rest = log(1 / delta) + (orders - 1) * np.log1p(-1 / orders) - np.log(orders)
    return float(np.min(divergences + rest / (orders - 1)))


def of_two(p: float, q: float, times: int, delta: float) -> float:
    """The ε of runs that have two outcomes, one of them of probability p or q."""
    counts = np.arange(times + 1)
    first, second = (binom.pmf(counts, times, each) for each in (p, q))

    def profile(epsilon: float) -> float:
        return float(np.maximum(first - exp(epsilon) * second, 0).sum())

    return least(profile, delta, 50) if profile(0) > delta else 0.0


ORDERS = 1 + np.logspace(-2, 4, 3000)


@cases(
    "rho, times, delta, most, width",
    pytest.param("1/2000", 1000, "1e-6", 5.035, 0.15, marks=pytest.mark.thorough),
    pytest.param("1/2000", 1000, "1e-5", 4.515, 0.14, marks=pytest.mark.thorough),
    ["1/2", 1, "1e-6", 5.22154, 1e-6],
)
def test_concentrated_divergences_add_up(rho, times, delta, most, width) -> None:
    """Up to ∞ where the sum tells 5.22; below is Gaussian noise that keeps the statement."""
    found = composed({"mechanism": "zcdp", "rho": rho, "times": times}).epsilon(delta)
    low, high = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    rho_of_all = float(F(rho)) * times
    assert high <= min(most, converted(ORDERS, rho_of_all * ORDERS, float(delta)) + 1e-4)
    kept = least(lambda e: gaussian(sqrt(2 * rho_of_all), e), float(delta))
    assert kept < low <= high <= low + F(width)


@cases(
    "orders, times, most",
    [[(4, "1/100"), (16, "1/25")], 10, 0.8985],
    pytest.param([(2, "1/50"), (32, "8/25")], 30, 3.934, marks=pytest.mark.thorough),
)
def test_renyi_divergences_add_up(orders, times, most) -> None:
    """Their sum is converted, not each; the same two outcomes in every run cost little less."""
    run = {"mechanism": "rdp", "orders": [list(each) for each in orders], "times": times}
    found = composed(run).epsilon("1e-5").eps_prv_enclosure
    orders_of, one = np.array([[float(F(x)) for x in each] for each in orders]).T
    assert found.upper <= min(most, converted(orders_of, times * one, 1e-5))
    best = 0.0
    for q in np.geomspace(1e-7, 0.3, 60).tolist():

        def divergence(p: float, q: float = q) -> float:
            first, second = np.array([p, 1 - p]), np.array([q, 1 - q])
            sums = [(first**a * second ** (1 - a)).sum() for a in orders_of]
            return float(np.max(np.log(sums) / (orders_of - 1) - one))

        p = float(brentq(divergence, q, 0.999, xtol=1e-15))
        best = max(best, of_two(p, q, times, 1e-5))
    assert best * (1 - 1e-6) <= found.lower <= found.upper <= 1.1 * best


def test_what_statements_add_up_to_is_known_at_once() -> None:
    """Before limits end what takes longer: at most what their sum is converted to."""
    run = {"mechanism": "rdp", "orders": [[2, "1/100"]], "times": 30}
    asked = dipapprox.compose([run], options=Options(limits=Limits(0.3)))
    found = asked.epsilon("1e-3").eps_prv_enclosure
    assert 4.3754 <= found.upper <= converted(np.array([2.0]), np.array([0.3]), 1e-3)


@cases(
    "beside, rho",
    ({"mechanism": "approx_dp", "eps": "1/5", "delta": 0}, 1 / 50),
    ({"mechanism": "laplace", "scale": 10, "times": 2}, 1 / 100),
    ({"mechanism": "gaussian", "sigma": 5, "times": 2}, 1 / 25),
)
def test_divergences_of_what_is_beside_statements_add_up(beside, rho) -> None:
    """Of runs that are private as they are, and of noise that is moved."""
    runs = [{"mechanism": "zcdp", "rho": "1/2000", "times": 1000}, beside]
    asked = dipapprox.compose(
        runs,
        adjacency="substitution" if beside["mechanism"] == "approx_dp" else "add/remove",
        options=Options(limits=Limits(0.3)),
    )
    found = asked.epsilon("1e-3").eps_prv_enclosure
    whole = 1 / 2 + rho
    assert least(lambda e: gaussian(1, e), 1e-3) <= found.upper
    assert found.upper <= whole + 2 * sqrt(whole * log(1e3))


@cases(
    "run",
    {"mechanism": "laplace", "scale": "1e-400"},
    {"mechanism": "approx_dp", "eps": "1e400", "delta": "1e-9"},
)
def test_losses_that_no_double_holds_have_an_end(run) -> None:
    found = composed(run).epsilon("1e-5").eps_prv_enclosure
    assert found.upper == 10**400


@cases(
    "run",
    noise("1", 100, subsample="1/10"),
    {"mechanism": "zcdp", "rho": 1, "times": 3},
    {"mechanism": "rdp", "orders": [[2, "1/10"]], "times": 3},
)
@cases("eps_prv", "1e6", "1e400")
def test_an_epsilon_that_is_far_beyond_all_losses_has_a_small_delta(run, eps_prv) -> None:
    found = composed(run, noise("2")).delta(eps_prv, "1e-9").delta_enclosure
    assert found.lower == 0 and found.upper < 1e-9


# --- Few outcomes: all of them; the greatest losses -----------------------------------------------

Atoms = list[tuple[F | float, F | float]]  # of P and Q


def response(p: str) -> Atoms:
    return [(F(p), 1 - F(p)), (1 - F(p), F(p))]


def statement(eps: str, delta: str) -> Atoms:
    """The worst that is (ε, δ)-private (Kairouz, Oh and Viswanath, 2015)."""
    part, factor = 1 - float(delta), exp(float(F(eps)))
    both = part * factor / (1 + factor), part / (1 + factor)
    return [both, both[::-1], (float(delta), 0.0), (0.0, float(delta))]


def discrete_noise(sigma: int) -> Atoms:
    weights = {k: exp(-(k**2) / (2 * sigma**2)) for k in range(-40 * sigma, 40 * sigma + 1)}
    whole = sum(weights.values())
    return [(weights[k] / whole, weights.get(k + 1, 0.0) / whole) for k in weights]


def all_outcomes(*runs: tuple[Atoms, int]) -> tuple[np.ndarray, np.ndarray]:
    """P and Q of all outcomes of runs, those of one loss together."""
    known = {0.0: (1.0, 1.0)}
    for atoms, times in runs:
        for _ in range(times):
            found: dict[float, tuple[float, float]] = {}
            for (first, second), (p, q) in product(known.values(), atoms):
                pair = first * float(p), second * float(q)
                loss = inf if not pair[1] else log(pair[0] / pair[1]) if pair[0] else -inf
                loss = round(loss, 9) if isfinite(loss) else loss
                old = found.get(loss, (0.0, 0.0))
                if pair[0] > 1e-30:
                    found[loss] = old[0] + pair[0], old[1] + pair[1]
            known = found
    p, q = np.array(list(known.values())).T
    return p, q


RESPONSES = {"mechanism": "randomised_response", "probability": "3/5", "times": 3}
STATED = {"mechanism": "approx_dp", "eps": "1/5", "delta": "1e-3", "times": 3}
COUNTS = {"mechanism": "discrete_gaussian", "sigma": 2, "times": 5}


@cases(
    "runs, atoms",
    [[RESPONSES, STATED], [(response("3/5"), 3), (statement("1/5", "1e-3"), 3)]],
    [[{**STATED, "times": 1}, COUNTS], [(statement("1/5", "1e-3"), 1), (discrete_noise(2), 5)]],
    ids=["16 losses", "statement and discrete noise"],
)
def test_few_outcomes_are_enumerated(runs, atoms) -> None:
    """Claims a hair inside and outside are told; nothing is put on a grid."""
    p, q = all_outcomes(*atoms)
    asked = composed(*runs)
    for budget in ("1/2", "1"):
        true = float(np.maximum(p - exp(float(F(budget))) * q, 0).sum())
        answer = asked.delta(budget)
        low, high = ends(answer)
        assert low * (1 - 1e-9) <= true <= high * (1 + 1e-9)
        exact = answer.delta_enclosure
        assert not answer.atoms
        assert exact.width <= exact.upper / 10**15
        assert asked.verify(budget, exact.upper).answer is Answer.DP
        assert asked.verify(budget, exact.lower - F(1, 10**15)).answer is Answer.NOT_DP


def test_the_pure_bound_is_used() -> None:
    """Where δ is next to nothing, the greatest losses are the answer; exactly, from there on."""
    asked = composed({"mechanism": "laplace", "scale": 3, "times": 9})
    found = asked.epsilon("1e-40").eps_prv_enclosure
    assert found.upper <= 3 and found.lower > 3 - F(1, 1000)
    assert asked.verify(3, 0).answer is Answer.DP
    assert asked.delta(3).delta_enclosure == Enclosure.exact(F(0))


def test_pure_budgets_bound_any_number_of_runs() -> None:
    """Also beside ranges of which little is beyond a grid, and by the sum where no grid tells."""
    noise = {"mechanism": "randomised_response", "probability": "51/100", "times": 12}
    asked = composed({"mechanism": "exponential_mechanism", "eps": 10, "times": 5}, noise)
    found = asked.epsilon("1e-12", "1/20").eps_prv_enclosure
    assert 50 < found.lower <= found.upper <= 50 + 12 * log(51 / 49) + 1e-9


# --- The exponential mechanism, once --------------------------------------------------------------


@cases("eps, eps_prv", ["1", "1/10"], ["1", "1/2"], ["2", "1/4"], ["3", "2"])
def test_one_exponential_mechanism_is_a_point(eps, eps_prv) -> None:
    """Attained: two outcomes with differences of utilities w and w - 2, of sensitivity 1."""
    size, factor = float(F(eps)), exp(float(F(eps_prv)))

    def lacking(w: float) -> float:
        first, second = (1 / (1 + exp(-size * each / 2)) for each in (w, w - 2))
        return factor * second - first

    true = -float(minimize_scalar(lacking, bounds=(-40, 40), options={"xatol": 1e-12}).fun)
    answer = composed({"mechanism": "exponential_mechanism", "eps": eps}).delta(eps_prv)
    low, high = ends(answer)
    assert high - low <= 1e-12 and abs(high - true) <= 1e-9


# --- Certificates of one run keep the digits ------------------------------------------------------


@cases(
    "run, eps_prv, true",
    [{"mechanism": "gaussian", "sigma": 1}, "4", gaussian(1.0, 4.0)],
    [{"mechanism": "gaussian", "sigma": 20}, "151/1000", gaussian(1 / 20, 0.151)],
    [{"mechanism": "laplace", "scale": 2}, "1/4", laplace(1 / 2, 0.25)],
    [{"mechanism": "laplace", "scale": 2}, "1/2", 0.0],
    [{"mechanism": "laplace", "scale": 1, "subsample": "1/3"}, "1/5", 0.0725166650672503],
    [{"mechanism": "randomised_response", "probability": "3/4"}, "1/2", 0.75 - exp(0.5) / 4],
)
def test_certificates_of_one_run_keep_the_digits(run, eps_prv, true) -> None:
    """[1.55e-5, 2.34e-5] where 1.944e-5 was found; [0, 4.1e-6] where 0 is exact."""
    answer = composed(run, proved=True).delta(eps_prv)
    low, high = ends(answer)
    assert answer.proofs and high - low <= 1e-8 * high
    assert low * (1 - 1e-8) <= true * (1 + 1e-9) and true * (1 - 1e-9) <= high * (1 + 1e-8)
    assert high == 0 if true == 0 else high > 0
