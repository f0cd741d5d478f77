"""Profiles and pure budgets: independent oracles, brute force, laws, and claims a hair away."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, exp, log, tanh

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Enclosure, UserError
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import greatest_loss, profile_of
from dipapprox.composition.exact_profiles import exact_profile
from dipapprox.composition.mechanisms import (
    Adjacency,
    ApproximateStatement,
    Atoms,
    ConcentratedStatement,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomisedResponse,
    RenyiStatement,
    Subsampled,
)
from dipapprox.composition.products import RepeatedRun
from dipapprox.composition.profile import ReversedProfile
from dipapprox.composition.shifted_noise import ShiftedNoise
from tests import moved_noise
from tests.cases import cases, check_answers, evaluated

F = Fraction


def eighths(*pairs: tuple[int, int]) -> Atoms:
    return Atoms(tuple((Enclosure.exact(F(p, 8)), Enclosure.exact(F(q, 8))) for p, q in pairs))


SKEWED = eighths((5, 2), (2, 2), (1, 4))
WITH_ZERO = eighths((5, 2), (3, 4), (0, 2))


def runs(*entries: tuple[Mechanism, int]) -> Composition:
    return Composition(tuple(RepeatedRun(*entry) for entry in entries))


def noise(width: int, scale: Fraction | int, times: int) -> tuple[Mechanism, int]:
    return DiscreteLaplace(width, F(scale)), times


@given(st.integers(1, 4), st.fractions(0, 3, max_denominator=9))
def test_both_directions_against_all_outcomes(times, budget) -> None:
    profile = exact_profile(runs((WITH_ZERO, times)))
    assert profile.pieces() is None
    plain = [(p.lower, q.lower) for p, q in WITH_ZERO.masses]
    true = [0.0, 0.0]
    for outcome in product(plain, repeat=times):
        p, q = F(1), F(1)
        for each in outcome:
            p, q = p * each[0], q * each[1]
        true[0] += max(float(p) - exp(budget) * float(q), 0.0)
        true[1] += max(float(q) - exp(budget) * float(p), 0.0)
    found = profile.line(budget).enclosed(budget, 200)
    assert abs(float(found.lower) - max(true)) < 1e-12 and found.width < F(1, 2**150)


def test_claims_a_hair_inside_and_outside() -> None:
    """However near the claim is, exact answers are told from it."""
    composed = dipapprox.compose(
        [{"mechanism": "randomised_response", "probability": "0.6", "times": 40}]
    )
    answer = composed.delta("3/2")
    least = answer.delta_enclosure
    assert answer.grid is None
    hair = F(1, 10**300)
    finer = answer.exact.enclosed(F(3, 2), 1100)
    assert finer.width < hair and least.lower <= finer.lower <= finer.upper <= least.upper
    for delta, expected in ((finer.upper + hair, Answer.DP), (finer.lower - hair, Answer.NOT_DP)):
        found = composed.verify("3/2", delta)
        assert found.answer is expected
        assert found.delta_enclosure.meets(finer)
    at_zero = composed.delta(0).delta_enclosure
    assert at_zero.width == 0
    assert composed.verify(0, at_zero.upper).answer is Answer.DP
    assert composed.verify("1e40", 0).answer is Answer.DP


# --- at rational factors, and pure budgets ---


def exact_delta(own: Composition, factor: Fraction) -> Fraction:
    """The greater one of the lines that hold at a rational e^ε."""
    found = exact_profile(own)
    deltas = []
    for losses in found.directions:
        line = losses.line(sum(place.factor > factor for place in losses.places))
        constant, falling = line.rational
        deltas.append(constant - factor * falling)
    return max(deltas)


@pytest.mark.parametrize("times", [1, 4, 60])
def test_randomised_response(times) -> None:
    own = runs((RandomisedResponse(F(3, 4)), times))
    for factor in (F(1), F(5, 2), F(3) ** (times - 1)):
        true = sum(
            comb(times, k) * max(F(3) ** (times - k) - factor * F(3) ** k, F(0)) / F(4) ** times
            for k in range(times + 1)
        )
        assert exact_delta(own, factor) == true
    assert abs(float(greatest_loss(own.runs[0].mechanism, 100).lower) - log(3)) < 1e-12
    assert exact_delta(own, F(3) ** times) == 0


@given(st.integers(1, 3), st.integers(1, 3), st.sampled_from([F(1), F(3, 2), F(4)]))
def test_finite_pairs_against_all_outcomes(one, two, factor) -> None:
    """Both directions, subsampling and mixtures of runs, by brute force."""
    rate = F(1, 3)
    own = runs((SKEWED, one), (Subsampled(SKEWED, rate), two))
    plain = [(p.lower, q.lower) for p, q in SKEWED.masses]
    sampled = [(rate * p + (1 - rate) * q, q) for p, q in plain]
    total = [(F(1), F(1))]
    for pairs in [plain] * one + [sampled] * two:
        total = [(a * p, b * q) for a, b in total for p, q in pairs]
    true = max(
        sum((max(p - factor * q, F(0)) for p, q in total), F(0)),
        sum((max(q - factor * p, F(0)) for p, q in total), F(0)),
    )
    assert exact_delta(own, factor) == true
    for run, pairs in zip(own.runs, (plain, sampled), strict=True):
        largest = max(max(p / q, q / p) for p, q in pairs)
        assert abs(float(greatest_loss(run.mechanism, 100).upper) - log(largest)) < 1e-12
    if factor == 1:
        (bounds,) = own.delta([F(0)], F(1, 50)).bounds
        assert bounds.lower <= true <= bounds.upper


def test_greatest_losses() -> None:
    for mechanism, loss in (
        (Laplace(F(1), F(3)), F(1, 3)),
        (DiscreteLaplace(2, F(5)), F(2, 5)),
        (ExponentialMechanism(F(1, 8)), F(1, 8)),
        (ApproximateStatement(F(1)), F(1)),
    ):
        assert greatest_loss(mechanism, 64) == Enclosure.exact(loss)
    sampled = greatest_loss(Subsampled(Laplace(F(1), F(1)), F(1, 10)), 100)
    assert sampled.width < F(1, 2**80)
    assert abs(float(sampled.lower) - log(0.9 + 0.1 * exp(1))) < 1e-12
    for mechanism in (Gaussian(F(1), F(1)), ApproximateStatement(F(1), F(1, 9))):
        assert greatest_loss(mechanism, 64) is None


@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 50), F(2, 3)])
def test_least_budgets_are_logarithms(delta) -> None:
    """There the profile is delta, and above it just before; or the budget is 0."""
    for own in (
        runs((RandomisedResponse(F(3, 4)), 12)),
        runs((SKEWED, 2), (Subsampled(SKEWED, F(1, 3)), 2)),
    ):
        profile = exact_profile(own)
        found = profile.budget(delta)
        if found is None:  # what is at infinity is more
            assert exact_delta(own, F(10**9)) > delta
        elif found.factor == 1:
            assert exact_delta(own, F(1)) <= delta
        else:
            assert exact_delta(own, found.factor) == delta
            assert exact_delta(own, found.factor - F(1, 10**9)) > delta


# --- discrete Laplace noise ---


def summed(entries: tuple[tuple[int, Fraction, int], ...], budget: Fraction) -> float:
    """Add up over the noise itself, cut off far out: by loss, as exact rationals."""
    total = {F(0): 1.0}
    for width, scale, times in entries:
        one: dict[Fraction, float] = {}
        for x in range(-80, 81):
            loss = F(abs(x - width) - abs(x)) / scale
            mass = tanh(1 / (2 * scale)) * exp(-abs(x) / scale)
            one[loss] = one.get(loss, 0.0) + mass
        for _ in range(times):
            new: dict[Fraction, float] = {}
            for loss, mass in total.items():
                for more, share in one.items():
                    new[loss + more] = new.get(loss + more, 0.0) + mass * share
            total = new
    return sum(mass * (1 - exp(budget - loss)) for loss, mass in total.items() if loss > budget)


ENTRIES = st.tuples(
    st.integers(1, 3), st.sampled_from([F(1, 2), F(1), F(3, 2), F(2)]), st.integers(1, 3)
)


@given(st.lists(ENTRIES, min_size=1, max_size=2), st.fractions(0, 4, max_denominator=6))
def test_all_outcomes_of_noise_of_one_scale_and_of_two(entries, budget) -> None:
    profile = exact_profile(runs(*(noise(*each) for each in entries)))
    line = profile.line(budget)
    found = line.enclosed(budget, 300)
    assert abs(float(found.lower) - summed(tuple(entries), budget)) < 1e-12
    assert found.width < F(1, 2**200)
    text = str(line).replace("^", "**")
    read = eval(text, {"exp": lambda x: exp(x), "eps_prv": float(budget)})
    assert abs(read - float(found.lower)) < 1e-9


@pytest.mark.parametrize(("width", "times"), [(1, 9), (3, 5), (2, 12)])
def test_the_certified_interval_has_it(width, times) -> None:
    composition = runs(noise(width, 3, times))
    profile = exact_profile(composition)
    budgets = [F(0), F(4, 3), F(7, 5)]
    found = composition.delta(budgets, F(1, 10**12)).bounds
    for budget, bounds in zip(budgets, found, strict=True):
        exact = profile.line(budget).enclosed(budget, 200)
        assert bounds.lower <= exact.lower <= exact.upper <= bounds.upper


def test_curves_are_exact_too() -> None:
    composed = dipapprox.compose([{"mechanism": "discrete_laplace", "scale": 2, "times": 2}])
    fields = composed.curve(0, 2, 5).to_dict()
    assert fields["pieces"] == [
        {"below": "exp(1)", "delta": "(1 - (exp(-1)) * exp(eps_prv)) / ((1 + exp(-1/2))^2)"},
        {"below": None, "delta": "0"},
    ]


@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 100), F(2, 5), F(99, 100)])
def test_least_budgets_lie_where_the_profile_falls(delta) -> None:
    profile = exact_profile(runs(noise(1, 2, 8), noise(2, 3, 2)))
    least = profile.budget(delta)
    found = least.enclosed(128)
    assert found.width < F(1, 10**30)
    if found.upper:
        assert profile.line(found.upper).enclosed(found.upper, 200).upper < delta + F(1, 10**25)
        before = max(found.lower - F(1, 10**20), F(0))
        assert profile.line(before).enclosed(before, 200).lower > delta
    else:
        assert profile.line(F(0)).enclosed(F(0), 200).upper <= delta


# --- Profiles against independent oracles, and the laws that all of them obey ---------------------

BITS = 160
PLACES = [F(k, 7) for k in range(-30, 31)] + [F(0), F(1), F(-1), F(1, 2), F(-1, 2), F(4, 3)]

GAUSSIAN = Gaussian(F(1), F(2, 3))
LOPSIDED = Atoms(
    tuple(
        (Enclosure.exact(F(p)), Enclosure.exact(F(q)))
        for p, q in (("1/2", "1/3"), ("1/4", "1/3"), ("1/4", "0"), ("0", "1/3"))
    )
)
MECHANISMS: list[Mechanism] = [
    GAUSSIAN,
    Laplace(F(1), F(3, 4)),
    DiscreteLaplace(3, F(2)),
    DiscreteGaussian(2, F(5, 2)),
    RandomisedResponse(F(3, 4)),
    RandomisedResponse(F(1, 2), 5),
    ExponentialMechanism(F(1)),
    ApproximateStatement(F(1), F(1, 10)),
    RenyiStatement(((F(2), F(1)), (F(8), F(3)))),
    ConcentratedStatement(F(1, 3)),
    LOPSIDED,
    Subsampled(GAUSSIAN, F(1, 5)),
    Subsampled(Laplace(F(1), F(1)), F(1, 3)),
    Subsampled(LOPSIDED, F(1, 2)),
]


def gaussian(alpha: float) -> float:
    return moved_noise.gaussian(1.5, math.log(alpha))


def laplace(alpha: float) -> float:
    return moved_noise.laplace(4 / 3, math.log(alpha))


def sum_of(p: Callable[[int], float], shift: int) -> Callable[[float], float]:
    return lambda alpha: sum(max(p(x) - alpha * p(x - shift), 0.0) for x in range(-200, 201))


def two_valued(a: float, b: float, rest: float) -> Callable[[float], float]:
    return lambda alpha: max(a - alpha * b, 0) + max(b - alpha * a, 0) + max(rest * (1 - alpha), 0)


def subsampled(inner: Callable[[float], float], rate: float) -> Callable[[float], float]:
    def value(alpha: float) -> float:
        place = (alpha - 1 + rate) / rate
        return rate * inner(place) if place > 0 else 1 - alpha

    return value


BELL = sum(math.exp(-x * x / 12.5) for x in range(-200, 201))
ORACLES: list[tuple[Mechanism, Callable[[float], float]]] = [
    (MECHANISMS[0], gaussian),
    (MECHANISMS[1], laplace),
    (MECHANISMS[2], sum_of(lambda x: math.tanh(0.25) * math.exp(-abs(x) / 2), 3)),
    (MECHANISMS[3], sum_of(lambda x: math.exp(-x * x / 12.5) / BELL, 2)),
    (MECHANISMS[4], two_valued(0.75, 0.25, 0.0)),
    (MECHANISMS[5], two_valued(0.5, 0.125, 0.375)),
    (MECHANISMS[11], subsampled(gaussian, 0.2)),
]


@pytest.mark.parametrize(("mechanism", "oracle"), ORACLES, ids=lambda m: type(m).__name__)
def test_profiles_are_the_hockey_stick(mechanism, oracle) -> None:
    with precision(BITS):
        profile = profile_of(mechanism, BITS)
        for place in PLACES:
            alpha = to_ball(place).exp()
            found = profile.at(alpha)
            expected = oracle(math.exp(place))
            assert abs(float(found.bound) - expected) < 1e-7 * math.exp(max(place, 0))
            line = found.first - alpha * found.second
            assert abs(float(line) - expected) < 1e-7 * math.exp(max(place, 0))


def test_the_profile_of_bounded_range_is_the_largest_of_its_pairs() -> None:
    with precision(BITS):
        profile = profile_of(ExponentialMechanism(F(1)), BITS)
        for place in PLACES:
            pairs = []
            for k in range(1, 400):
                top = math.exp(k / 400)
                chance = (math.e - top) / (top * (math.e - 1))
                p, q = top * chance, chance
                alpha = math.exp(place)
                pairs.append(max(p - alpha * q, 0) + max(1 - p - alpha * (1 - q), 0))
            assert abs(float(profile.at(to_ball(place).exp()).bound) - max(pairs)) < 1e-4


def test_renyi_statements_bound_a_gaussian() -> None:
    """A Gaussian of m = sensitivity / sigma is m²/2-zCDP: its profile is below."""
    orders = tuple((F(k, 4), F(9, 8) * F(k, 4)) for k in range(5, 80))
    with precision(BITS):
        tight = profile_of(GAUSSIAN, BITS)
        for loose in (ConcentratedStatement(F(9, 8)), RenyiStatement(orders)):
            profile = profile_of(loose, BITS)
            for place in PLACES:
                alpha = to_ball(place).exp()
                assert not profile.at(alpha).bound < tight.at(alpha).bound
                assert profile.at(alpha).bound < tight.at(alpha).bound * 12 + arb("0.35")


@cases(
    "mechanism, middle, radius",
    (Subsampled(GAUSSIAN, F(1, 5)), F(4, 5), F(1, 100)),
    (Laplace(F(1), F(3, 4)), F(379, 100), F(1, 100)),
    (Laplace(F(1), F(3, 4)), F(264, 1000), F(1, 100)),
    (Laplace(F(1), F(3, 4)), F(264, 1000), F(1, 4)),
    (ExponentialMechanism(F(1)), F(272, 100), F(1, 100)),
    (RandomisedResponse(F(3, 4)), F(3), F(2)),
    (RenyiStatement(((F(8), F(1)),)), F(5, 2), F(1, 2)),
    (RenyiStatement(((F(8), F(1)),)), F(2, 5), F(1, 5)),
    (ConcentratedStatement(F(1, 2)), F(6, 5), F(1, 5)),
    (RandomisedResponse(F(3, 4)), F(1, 3), F(1, 4)),
    (RandomisedResponse(F(3, 4)), F(1, 2), F(3, 7)),
)
def test_factors_known_roughly_about_a_bend(mechanism, middle, radius) -> None:
    """What holds for a ball holds for each of its numbers."""
    with precision(BITS):
        profile = profile_of(mechanism, BITS)
        for shift in (-1, 0, 1):
            place = middle + radius * F(shift, 4)
            if place <= radius:
                continue
            bound = profile.at(to_ball(place) + arb(0, 1) * to_ball(radius)).bound
            for k in range(-4, 5):
                true = profile.at(to_ball(place + radius * F(k, 4))).bound
                assert bound.upper() >= true.lower()


def test_laplace_laws_at_factors_that_are_known_to_a_hundredth() -> None:
    """Near the greatest factors, whatever α is: a bound, and masses of one set."""
    profile = ShiftedNoise(shifts=((F(1), 1),)).profile(64)
    for k in range(-10, 11):
        for place in (1 + k / 1000, -1 - k / 1000):
            alpha = arb(place, 0.01).exp()
            found = profile.at(alpha)
            for t in (-0.01, -0.005, 0.0, 0.005, 0.01):
                own = arb(place + t).exp()
                assert found.bound.upper() >= profile.at(own).bound.lower()
                assert (found.first - own * found.second).lower() <= profile.at(own).bound.upper()
            # One of the sets, best at α or all or nothing, has both masses.
            sets = [(0.0, 0.0), (1.0, 1.0)]
            for t in range(-100, 101):
                cut = (1 - place - t / 10_000) / 2
                below = math.exp(cut) / 2 if cut < 0 else 1 - math.exp(-cut) / 2
                there = math.exp(cut - 1) / 2 if cut < 1 else 1 - math.exp(1 - cut) / 2
                sets.append((below, there))
            assert any(
                found.first.overlaps(arb(p, 1e-4)) and found.second.overlaps(arb(q, 1e-4))
                for p, q in sets
            )


def test_the_pair_the_other_way_round() -> None:
    """Its masses are those of the complements, and what P alone had is what Q alone has."""
    with precision(BITS):
        turned = ReversedProfile(profile_of(LOPSIDED, BITS))
        point = turned.at(arb(1))
        assert point.first.overlaps(to_ball(F(2, 3))) and point.second.overlaps(to_ball(F(1, 4)))
        assert turned.ends.infinite.overlaps(to_ball(F(1, 3)))
        assert turned.ends.lost.overlaps(to_ball(F(1, 4)))


LAPLACE = Laplace(F(1), F(1))
HALF_AND_ALL = ((Enclosure.exact(F(1, 2)), Enclosure.exact(1)),)


def test_parameters_are_checked_and_few_have_exact_profiles() -> None:
    asked = {"LAPLACE": LAPLACE, "compose": dipapprox.compose}
    check_answers("exact_profiles", evaluated(globals() | asked, UserError))


def test_what_is_for_one_adjacency_only() -> None:
    assert Subsampled(GAUSSIAN, F(1)).adjacency is Adjacency.ADD_REMOVE
    Atoms(LOPSIDED.masses, symmetric=True, adjacency=Adjacency.SUBSTITUTION)
