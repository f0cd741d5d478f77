"""Noise that is moved, and statements about divergences: closed forms, grids, scipy's laws."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from fractions import Fraction as F
from math import exp, log, sqrt
from random import Random

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.stats import binom

import dipapprox
from dipapprox import Enclosure, LimitReached, Limits
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.accountant import Composition
from dipapprox.composition.divergences import Divergences, Statement
from dipapprox.composition.mechanisms import ConcentratedStatement, Gaussian
from dipapprox.composition.mechanisms import RenyiStatement as Renyi
from dipapprox.composition.products import RepeatedRun
from dipapprox.composition.profile import bounds_at
from dipapprox.composition.shifted_noise import NoiseProfile, ShiftedNoise
from dipapprox.composition.statements import StatementProfile, concentrated_at, worst_of_many
from dipapprox.limits import limited
from tests import moved_noise
from tests.cases import THOROUGH, cases, refuses
from tests.moved_noise import excess, farthest

NOTHING = ShiftedNoise().profile(128)


def gaussian(shift: F | int) -> ShiftedNoise:
    return ShiftedNoise(F(shift) ** 2)


def laplace(shift: F | int) -> ShiftedNoise:
    return ShiftedNoise(shifts=((F(shift), 1),))


def laplace_product(
    counts: Mapping[F, int], growth: Enclosure, bits: int, square: F = F(0)
) -> Enclosure | None:
    return ShiftedNoise(square, tuple(sorted(counts.items()))).at(growth, bits)


@pytest.mark.parametrize("shift", [F(1, 100), F(1, 3), F(1), F(3), F(12)])
@pytest.mark.parametrize("budget", [F(0), F(1, 7), F(2), F(15)])
def test_gaussian_divergences_are_those_of_balle_and_wang(shift, budget) -> None:
    found = gaussian(shift).divergence(budget, 60)
    assert found.width < F(1, 2**60)
    assert abs(float(found.lower) - moved_noise.gaussian(float(shift), float(budget))) < 1e-12


@pytest.mark.parametrize("shift", [F(1, 1000), F(1), F(40), F(1000), F(10**6), F(10**9)])
@pytest.mark.parametrize("delta", [F(1, 2), F(1, 10**6), F(1, 10**60)])
def test_the_least_budget_has_a_divergence_of_delta(shift, delta) -> None:
    noise = gaussian(shift)
    found = noise.least_budget(delta, 40)
    assert found.width <= F(1, 2**40)
    bits = delta.denominator.bit_length() + 80
    assert noise.divergence(found.upper, bits).upper <= delta
    assert not found.lower or noise.divergence(found.lower, bits).lower > delta


@pytest.mark.parametrize("shift", [F(1, 3), F(1), F(50_000)])
def test_laplace_noise(shift) -> None:
    noise = laplace(shift)
    pure = noise.least_budget(F(0), 40)
    assert pure.lower == pure.upper == shift
    assert noise.divergence(shift, 40).upper == 0
    budget, delta = shift / 2, noise.divergence(shift / 2, 100)
    assert abs(float(delta.lower) - moved_noise.laplace(float(shift), float(shift) / 2)) < 1e-12
    assert delta.width < F(1, 2**90)
    found = noise.least_budget(delta.lower, 40) if delta.upper < 1 else None
    assert found is None or abs(found.lower - budget) < F(1, 2**30)
    known = noise.least_budget(F(1, 10**6), 4)  # far narrower than asked, being a formula
    assert known.width < F(1, 2**40)
    assert abs(float(known.lower - shift)) == pytest.approx(2e-6, rel=1e-5)


def test_a_budget_of_nothing_is_exact_and_profiles_ask_limits() -> None:
    little, many = ShiftedNoise(shifts=((F(1, 10**6), 2),)), ShiftedNoise(F(1), ((F(1, 1000), 44),))
    assert little.least_budget(F(1, 1000), 40) == Enclosure.exact(0)
    profile = many.profile(100)
    with limited(Limits(seconds=0)), precision(100):
        refuses(LimitReached, "time", profile.at, to_ball(2))
        refuses(LimitReached, "time", many.least_budget, F(1, 10), 40)


def test_one_number_is_told_at_once_as_sums_of_terms_tell_it(monkeypatch) -> None:
    random, found = Random(7), []
    for one in (True, False):
        random.seed(7)
        if not one:
            monkeypatch.setattr(NoiseProfile, "_of_one", lambda _self, _alpha: None)
        for make in [gaussian, laplace] * 150:
            shift = F(random.randint(1, 400), random.randint(1, 100))
            loss = F(random.randint(-3000, 3000), 1000) * min(shift, 5)
            with precision(128):
                found.append(make(shift).profile(128).at(to_ball(loss).exp()))
    for quick, slow in zip(found[:300], found[300:], strict=True):
        assert quick.bound.overlaps(slow.bound)
        assert quick.bound.rad() <= 2 * slow.bound.rad() + 2.0**-110
    assert (
        sum(q.first.rad() != s.first.rad() for q, s in zip(found[:300], found[300:], strict=True))
        > 200
    )


def test_gaussian_noise_that_is_shifted_has_no_pure_budget() -> None:
    assert gaussian(F(1, 10**6)).least_budget(F(0), 40) is None
    everything = gaussian(10**6).least_budget(F(1), 40)
    assert everything.upper == 0


def _found(shifts: Sequence[Fraction], factor: Fraction, bits: int = 60) -> Enclosure:
    counts = {shift: shifts.count(shift) for shift in shifts}
    found = laplace_product(counts, Enclosure(factor, factor), bits)
    assert found is not None
    return found


def _integrated(shifts: Sequence[float], factor: float) -> float:
    """Integrate over the loss of the first number, the others being independent of it."""
    t, rest = shifts[0], shifts[1:]
    if not rest:
        if log(factor) >= t:
            return 0.0
        return 1 - factor if log(factor) <= -t else 1 - sqrt(factor) * exp(-t / 2)
    ends = _integrated(rest, factor * exp(-t)) / 2
    ends += exp(-t) / 2 * _integrated(rest, factor * exp(t))
    kinks = [log(factor) - k for k in (sum(rest), -sum(rest), *rest, *(-r for r in rest))]
    inside = quad(
        lambda loss: exp((loss - t) / 2) / 4 * _integrated(rest, factor * exp(-loss)),
        -t,
        t,
        points=sorted(k for k in kinks if -t < k < t) or None,
        epsabs=1e-11,
        limit=200,
    )
    return ends + float(inside[0])


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(1), Fraction(8, 5), Fraction(4)])
@cases(
    "shifts",
    (Fraction(1),),
    (Fraction(1, 2), Fraction(1, 2)),
    (Fraction(2), Fraction(1, 3)),
    (Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)),
)
def test_closed_forms_are_the_integrals(shifts, factor) -> None:
    found = _found(shifts, factor)
    assert found.width <= Fraction(1, 2**60)
    assert float(found.lower) == pytest.approx(
        _integrated([float(each) for each in shifts], float(factor)), abs=1e-8
    )


@cases("square, factor", (Fraction(1, 9), Fraction(1, 2)), (Fraction(2), Fraction(3)))
@pytest.mark.parametrize("shifts", [(), (Fraction(2), Fraction(1, 3))])
def test_gaussian_noise_beside_it(shifts, square, factor) -> None:
    """The loss of a shift of Gaussian noise is Gaussian: the others' divergence, integrated."""
    counts = {shift: shifts.count(shift) for shift in map(Fraction, shifts)}
    found = laplace_product(counts, Enclosure.exact(factor), 50, square)
    assert found.width <= Fraction(1, 2**50)
    losses = np.linspace(-9, 9, 401) * float(square) ** 0.5 + float(square) / 2
    weights = np.exp(-((np.linspace(-9, 9, 401)) ** 2) / 2)
    values = []
    for loss in losses.tolist():
        growth = Fraction(float(factor) * exp(-loss))
        one = laplace_product(counts, Enclosure.exact(growth), 30)
        values.append(float(one.lower))
    truth = float(weights @ values / weights.sum())
    assert float(found.lower) == pytest.approx(truth, abs=1e-4)


def _losses(noise: ShiftedNoise, step: float, reach: int) -> np.ndarray:
    """How likely losses are in cells about multiples of a step."""
    edges = (np.arange(-reach, reach + 2) - 0.5) * step
    v = float(noise.square)
    laws = [np.diff(stats.norm.cdf(edges, v / 2, sqrt(v)))] if v else []
    for shift, times in noise.shifts:
        t = float(shift)
        inner = exp(-t) / 2 + (np.exp((np.clip(edges, -t, t) - t) / 2) - exp(-t)) / 2
        laws += [np.diff(np.where(edges < -t, 0, np.where(edges >= t, 1, inner)))] * times
    found = laws[0]
    for law in laws[1:]:
        found = fftconvolve(found, law)[reach : 3 * reach + 1]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_profiles_of_noise_are_those_of_sums_of_losses(seed) -> None:
    """H at any α, and masses of one set: 200 cases."""
    random, step = Random(seed), 1 / 100
    for _ in range(50):
        square = random.choice([F(0), F(random.randint(1, 60), 16)])
        shifts = {F(random.randint(1, 32), 8): random.choice([1, 1, 2]) for _ in range(2)}
        noise = ShiftedNoise(square, tuple(sorted(shifts.items())))
        most = sum(float(t) * n for t, n in noise.shifts) + float(square) + 9 * sqrt(square) + 1
        law = _losses(noise, step, round(most / step))
        places = step * (np.arange(len(law)) - len(law) // 2)
        loss = random.choice([random.uniform(-3, 6), float(random.choice([*shifts]))])
        with precision(100):
            alpha = to_ball(F(loss)).exp()
            point = noise.profile(100).at(alpha)
            low, high = bounds_at(noise.profile(100), alpha)
        true = float(law @ np.maximum(-np.expm1(np.minimum(loss - places, 0)), 0))
        assert low - F(1, 100) < true < high + F(1, 100) and high - low < F(1, 2**70)
        for x in (exp(loss) / 2, 1.0, 2 * exp(loss)):
            worst = float(law @ np.maximum(-np.expm1(np.minimum(log(x) - places, 0)), 0))
            assert float(point.first) - x * float(point.second) < worst + 0.01


TWO = """input q[2] in {0, 1}
output y[2] in real
adjacent linf 1

y[1] <- Lap(q[1], 1 / eps)
y[2] <- Lap(q[2], 2 / eps)
"""


@pytest.mark.parametrize("second", ["Lap(q[2], 2 / eps)", "Gauss(q[2], 2 / eps)"])
def test_programs_of_several_numbers_of_noise_are_known_in_closed_form(second) -> None:
    """The least budget has a divergence of delta; runs are those of the numbers."""
    program = dipapprox.parse(TWO.replace("Lap(q[2], 2 / eps)", second))
    shifts = (F(1, 2), F(1)) if "Lap" in second else (F(1),)
    noise = ShiftedNoise(F("Gauss" in second, 4), tuple((t, 1) for t in shifts))
    least = dipapprox.profile(program, eps=1, delta="1/1000").eps_prv_enclosure
    assert noise.divergence(least.lower, 60).lower >= F(1, 1000)
    assert noise.divergence(least.upper, 60).upper <= F(1, 1000)
    assert least.width < F(1, 10**6)
    pure = dipapprox.profile(program, eps=1, delta=0).eps_prv_enclosure
    assert pure.infinite if noise.square else pure.lower == pure.upper == F(3, 2)
    run = {"program": program, "eps": 1, "times": 3}
    composed = dipapprox.compose([run], adjacency="substitution").delta(1)
    whole = ShiftedNoise().beside(noise, 3).divergence(F(1), 60)
    assert composed.grid is None and composed.delta_enclosure.meets(whole)
    every = dipapprox.compose([run | {"subsample": 1}], adjacency="substitution")
    assert every.delta(1).delta_enclosure == composed.delta_enclosure
    if THOROUGH or not noise.square:  # sampled Gaussian noise is composed on a fine grid
        few = dipapprox.compose([run | {"subsample": "1/10"}], adjacency="add/remove").delta("1/2")
        assert 0 < few.delta_enclosure.upper < composed.delta_enclosure.lower


def test_noise_that_covers_other_noise_has_the_greater_profile() -> None:
    random = Random(5)

    def some() -> ShiftedNoise:
        counts = {F(random.randint(1, 8), 4): random.randint(1, 2) for _ in range(2)}
        return ShiftedNoise(F(random.randint(0, 4), 4), tuple(sorted(counts.items())))

    covered = 0
    for _ in range(400):
        one, other = some(), some()
        if one.covers(other):
            covered += 1
            for budget in (F(0), F(1, 3), F(1), F(3)):
                assert one.divergence(budget, 60).upper >= other.divergence(budget, 60).lower
    assert 60 < covered < 340


def test_many_numbers_and_many_bits() -> None:
    found = _found([Fraction(1, 10)] * 20, Fraction(3, 2), 200)
    assert found.lower > 0 and found.width <= Fraction(1, 2**200)
    assert _found([Fraction(1, 10)] * 21, Fraction(3, 2)).lower > found.upper
    many = {Fraction(1, k): 1 for k in range(1, 30)}
    assert laplace_product(many, Enclosure.exact(2), 40) is None
    with limited(Limits(seconds=0)):
        refuses(LimitReached, None, laplace_product, many, Enclosure.exact(2), 40)


_STEP = 1 / 200


def _largest(scales: list[float], deviation: float, shift: float, eps_prv: float) -> float:
    """The largest F(x) - e^eps_prv F(x - shift) on a grid of cells, whose masses are added up."""
    edges = np.arange(-8000.5, 8001) * _STEP
    masses = np.ones(1)
    for scale in scales:
        masses = fftconvolve(masses, np.diff(stats.laplace.cdf(edges, scale=scale)))
    if deviation:
        masses = fftconvolve(masses, np.diff(stats.norm.cdf(edges, scale=deviation)))
    below = np.cumsum(masses)
    moved = np.concatenate([np.zeros(round(shift / _STEP)), below])[: len(below)]
    return float((below - exp(eps_prv) * moved).max())


@cases(
    "scales, square, shift, eps_prv",
    ([1, 1], 0, "1", "0"),
    ([1, 1], 0, "1", "1/2"),
    ([2, "1/2"], 0, "3/2", "1/4"),
    ([2, "1/2", "1/2"], 0, "-2", "1/2"),
    ([2], "4", "3", "1/4"),
    ([1, "3/2"], "1/4", "1", "1/4"),
)
def test_closed_forms_are_those_of_sums(scales, square, shift, eps_prv) -> None:
    parts = [f"Lap(0, {scale} / eps)" for scale in scales]
    deviation = sqrt(Fraction(square))
    if deviation:
        parts.append(f"Gauss(0, {Fraction(deviation)} / eps)")
    draws = "\n".join(f"x{k} <- {part}" for k, part in enumerate(parts))
    total = " + ".join(f"x{k}" for k in range(len(parts)))
    text = f"input q in {{0, 1}}\noutput y in real\n{draws}\ny <- {total} + {shift} * q\n"
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    own = [float(Fraction(scale)) for scale in scales]
    truth = _largest(own, deviation, abs(float(Fraction(shift))), float(Fraction(eps_prv)))
    assert found.delta_enclosure.width < Fraction(1, 10**9)
    assert float(found.delta_enclosure.lower) == pytest.approx(truth, abs=3e-5)
    assert found.witness.delta_enclosure.lower > found.delta_enclosure.lower - Fraction(1, 10**8)


# --- Statements about divergences -----------------------------------------------------------------

STATEMENTS = [
    Renyi(((F(8), F(1)),)),
    Renyi(((F(3, 2), F(1, 10)),)),
    Renyi(((F(2), F(1, 2)), (F(8), F(1)), (F(32), F(3)))),
    ConcentratedStatement(F(1, 2)),
    ConcentratedStatement(F(1, 2000)),
    ConcentratedStatement(F(20)),
]
ORDERS = 1 + np.logspace(-5, 4, 1_500)


def allowed(statement: Statement) -> tuple[np.ndarray, np.ndarray]:
    """Orders, and what divergences of them are at most."""
    if isinstance(statement, Renyi):
        orders, most = np.array(statement.orders, float).T
        return orders, most
    return ORDERS, float(statement.rho) * ORDERS


@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
def test_the_worst_two_outcomes_are_allowed_and_best(statement) -> None:
    """No pair of outcomes of a grid has more; and those that are named have it."""
    shares = np.concatenate([np.logspace(-8, -1, 9), np.linspace(0.15, 0.6, 8)])
    pairs = [(farthest(*allowed(statement), q), q) for q in shares.tolist()]
    with precision(200):
        profile = StatementProfile(Divergences.of([(statement, 1)]), NOTHING, statement)
        scale = log(max(p / q for p, q in pairs))
        for place in (F(k, 8) * F(scale) for k in (-4, -1, 0, 1, 2, 3, 5, 7)):
            alpha = to_ball(place).exp()
            point = profile.at(alpha)
            bound, factor = float(point.bound), exp(place)
            line = float(point.first - alpha * point.second)
            assert bound * (1 - 1e-7) <= line <= bound * (1 + 1e-12)
            ends = float(point.first), float(point.second)
            assert excess(*allowed(statement), *ends) <= 1e-9
            # On the left of 0 sets are almost all of it.
            others = [(1 - q, 1 - p) for p, q in pairs] if place < 0 else pairs
            assert max(p - factor * q for p, q in others) <= bound * (1 + 1e-9)


def test_where_two_orders_bind_no_single_one_tells() -> None:
    """The chord of both is below what either shows, and outcomes have it."""
    three = STATEMENTS[2]
    with precision(200):
        whole = StatementProfile(Divergences.of([(three, 1)]), NOTHING, three)
        alone = [
            StatementProfile(Divergences.of([(Renyi((each,)), 1)]), NOTHING)
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
def test_what_is_concentrated_is_told_from_what_is_not(rho) -> None:
    """A little more or less than the outcomes that are best: a proof of all orders, or none."""
    statement, orders = ConcentratedStatement(rho), [F(a) for a in ORDERS[::10].tolist()]
    for q in np.logspace(-9, -0.8, 8).tolist():
        p = farthest(*allowed(statement), q)
        for share, holds in ((0.9, True), (1 + 1e-6, False)):
            with precision(200):
                one, two = to_ball(F(q + (p - q) * share)), to_ball(F(q))
                ways = ((one, two), (1 - one, 1 - two)), ((1 - two, 1 - one), (two, one))
                told = [any(concentrated_at(way, rho, a) for a in orders) for way in ways]
            assert all(told) == holds


def cost(*runs: tuple[object, int], delta: F = F(1, 10**6)) -> tuple[float, float]:
    """Both ends of ε."""
    answer = Composition(tuple(RepeatedRun(*run) for run in runs)).epsilon(delta, F(1, 10**4))
    (bounds,) = answer.bounds
    assert bounds.lower is not None and bounds.upper is not None
    return float(bounds.lower), float(bounds.upper)


def test_divergences_add_up_before_they_are_converted() -> None:
    one = cost((ConcentratedStatement(F(1, 2)), 1))
    assert one[1] - one[0] < 1e-6 and one[1] == pytest.approx(5.2215343406, abs=1e-8)
    assert cost((Gaussian(F(1), F(1)), 1))[0] < one[0]
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


@cases(
    "statements",
    [(ConcentratedStatement(F(10**6)), 10**5)],
    [(ConcentratedStatement(F(1, 10**12)), 1)],
    [(Renyi(((F(11, 10), F(3, 10)), (F(10**6 + 1, 10**6), F(1, 10**12)))), 1)],
    [(Renyi(((F(10**6, 3), F(1, 10**6)),)), 10**5), (ConcentratedStatement(F(1, 7)), 1)],
    ids=str,
)
def test_beyond_doubles_bounds_are_true(statements) -> None:
    with precision(200):
        profile = StatementProfile(Divergences.of(statements), NOTHING)
        for place in (0, F(1, 10**9), F(1, 3), 2, 700, 10**9):
            for sign in (1, -1):
                alpha = to_ball(sign * F(place)).exp()
                bound = profile.at(alpha).bound
                assert bound.is_finite() and bound.upper() <= 1
                assert not bound < 1 - alpha and not bound < 0


# --- Two outcomes of each of many runs of a statement ---------------------------------------------


def least_budget(p: float, q: float, times: int, delta: float) -> float:
    """Of runs with two outcomes."""
    counts = np.arange(times + 1)
    masses, others = (binom.pmf(counts, times, each) for each in (p, q))
    return float(brentq(lambda t: np.maximum(masses - np.exp(t) * others, 0).sum() - delta, 0, 50))


@pytest.mark.parametrize(("times", "known"), [(2, 4.7193), (3, 4.6837), (10, 4.4579)])
def test_few_runs_cost_more_than_noise(times, known) -> None:
    """Of 1/2-zCDP together; noise costs 4.37718 for 10^-5, and nothing more than 4.728386."""
    rho = Fraction(1, 2 * times)
    with precision(128):
        told = worst_of_many(ConcentratedStatement(rho), times, (None, 1e-5))
    assert known <= least_budget(float(told[0]), float(told[1]), times, 1e-5) < 4.7284


def test_many_runs_are_like_noise() -> None:
    rho = Fraction(1, 2000)
    with precision(128):
        assert worst_of_many(ConcentratedStatement(rho), 1001, (None, 1e-5)) is None


def test_outcomes_of_several_statements_are_chosen_together() -> None:
    """Each as if it were run alone costs less: 2.1466."""
    runs = [
        {"mechanism": "zcdp", "rho": "3/50"},
        {"mechanism": "zcdp", "rho": "17/1000", "times": 2},
        {"mechanism": "zcdp", "rho": "9/50"},
    ]
    found = dipapprox.compose(runs).epsilon("1e-3", "1/4").eps_prv_enclosure
    assert found.lower > 2.3


def test_outcomes_keep_all_orders_of_a_list() -> None:
    """Where those that are best for one order break another one; Gaussian noise costs 1.16."""
    statement = Renyi(((F(2), F(3, 10)), (F(100), F(3, 5)), (F(1000), F(7, 10))))
    with precision(128):
        told = worst_of_many(statement, 20, (None, 1e-5))
    assert told is not None
    p, q = map(float, told)
    assert excess(*allowed(statement), p, q) <= 0
    assert least_budget(p, q, 20, 1e-5) > 11.8
