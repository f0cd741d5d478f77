"""Exact profiles and pure budgets: binomial sums, brute force, and claims a hair away."""

from fractions import Fraction
from itertools import product
from math import comb, exp, log, tanh

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.exact_profiles import exact_profile
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Atoms,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomisedResponse,
    Subsampled,
)
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.composition.pure import pure_epsilon
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer

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
def test_both_directions_against_all_outcomes(times: int, budget: Fraction) -> None:
    profile = exact_profile(runs((WITH_ZERO, times)), Limits())
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
    found = exact_profile(own, Limits())
    deltas = []
    for losses in found.directions:
        line = losses.line(sum(place.factor > factor for place in losses.places))
        constant, falling = line.rational
        deltas.append(constant - factor * falling)
    return max(deltas)


@pytest.mark.parametrize("times", [1, 4, 60])
def test_randomised_response(times: int) -> None:
    own = runs((RandomisedResponse(F(3, 4)), times))
    for factor in (F(1), F(5, 2), F(3) ** (times - 1)):
        true = sum(
            comb(times, k) * max(F(3) ** (times - k) - factor * F(3) ** k, F(0)) / F(4) ** times
            for k in range(times + 1)
        )
        assert exact_delta(own, factor) == true
    pure = pure_epsilon(own, 100)
    assert abs(float(pure.lower) - times * log(3)) < 1e-12 * times
    assert exact_delta(own, F(3) ** times) == 0


@given(st.integers(1, 3), st.integers(1, 3), st.sampled_from([F(1), F(3, 2), F(4)]))
def test_finite_pairs_against_all_outcomes(one: int, two: int, factor: Fraction) -> None:
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
    pure = pure_epsilon(own, 100)
    largest = max(max(p / q, q / p) for p, q in total)
    assert abs(float(pure.upper) - log(largest)) < 1e-12
    if factor == 1:
        (bounds,) = own.delta([F(0)], F(1, 50), Limits()).bounds
        assert bounds.lower <= true <= bounds.upper


def test_pure_losses_add_up() -> None:
    own = runs(
        (Laplace(F(1), F(3)), 7),
        (DiscreteLaplace(2, F(5)), 2),
        (ExponentialMechanism(F(1, 8)), 3),
        (ApproximateStatement(F(1)), 1),
    )
    assert pure_epsilon(own, 64) == Enclosure.exact(F(7, 3) + F(4, 5) + F(3, 8) + 1)
    sampled = pure_epsilon(runs((Subsampled(Laplace(F(1), F(1)), F(1, 10)), 10)), 100)
    assert sampled.width < F(1, 2**80)
    assert abs(float(sampled.lower) - 10 * log(0.9 + 0.1 * exp(1))) < 1e-12
    for mechanism in (Gaussian(F(1), F(1)), ApproximateStatement(F(1), F(1, 9))):
        assert pure_epsilon(runs((mechanism, 1)), 64) is None


@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 50), F(2, 3)])
def test_least_budgets_are_logarithms(delta: Fraction) -> None:
    """There the profile is delta, and above it just before; or the budget is 0."""
    for own in (
        runs((RandomisedResponse(F(3, 4)), 12)),
        runs((SKEWED, 2), (Subsampled(SKEWED, F(1, 3)), 2)),
    ):
        profile = exact_profile(own, Limits())
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
def test_all_outcomes_of_noise_of_one_scale_and_of_two(
    entries: list[tuple[int, Fraction, int]], budget: Fraction
) -> None:
    profile = exact_profile(runs(*(noise(*each) for each in entries)), Limits())
    line = profile.line(budget)
    found = line.enclosed(budget, 300)
    assert abs(float(found.lower) - summed(tuple(entries), budget)) < 1e-12
    assert found.width < F(1, 2**200)
    text = str(line).replace("^", "**")
    read = eval(text, {"exp": lambda x: exp(x), "eps_prv": float(budget)})
    assert abs(read - float(found.lower)) < 1e-9


@pytest.mark.parametrize(("width", "times"), [(1, 9), (3, 5), (2, 12)])
def test_the_certified_interval_has_it(width: int, times: int) -> None:
    composition = runs(noise(width, 3, times))
    profile = exact_profile(composition, Limits())
    assert profile is not None
    budgets = [F(0), F(4, 3), F(7, 5)]
    found = composition.delta(budgets, F(1, 10**12), Limits()).bounds
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


def test_what_has_no_exact_profile() -> None:
    assert exact_profile(runs((Gaussian(F(1), F(1)), 1)), Limits()) is None
    assert dipapprox.compose([{"mechanism": "laplace", "scale": 1}]).delta(1).exact is None
    assert exact_profile(runs((Laplace(F(1), F(1)), 1)), Limits()) is None
    assert exact_profile(runs(noise(1, 1, 513)), Limits()) is None
    assert exact_profile(runs(noise(1, 7, 40), noise(1, 11, 40)), Limits()) is None
    long = exact_profile(runs(noise(1, 1, 65)), Limits())
    assert long.pieces() is None


@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 100), F(2, 5), F(99, 100)])
def test_least_budgets_lie_where_the_profile_falls(delta: Fraction) -> None:
    profile = exact_profile(runs(noise(1, 2, 8), noise(2, 3, 2)), Limits())
    least = profile.budget(delta)
    found = least.enclosed(128)
    assert found.width < F(1, 10**30)
    if found.upper:
        assert profile.line(found.upper).enclosed(found.upper, 200).upper < delta + F(1, 10**25)
        before = max(found.lower - F(1, 10**20), F(0))
        assert profile.line(before).enclosed(before, 200).lower > delta
    else:
        assert profile.line(F(0)).enclosed(F(0), 200).upper <= delta
