"""Exact profiles of discrete Laplace noise: sums over all outcomes, and claims a hair away."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, tanh

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.composition.accountant import Composition
from dipapprox.composition.exact_profiles import exact_profile
from dipapprox.composition.mechanisms import DiscreteLaplace, Laplace
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.limits import Limits

F = Fraction


def runs(*entries: tuple[int, Fraction, int]) -> Composition:
    return Composition(
        tuple(RepeatedRun(DiscreteLaplace(width, scale), times) for width, scale, times in entries)
    )


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
    profile = exact_profile(runs(*entries), Limits())
    line = profile.line(budget)
    found = line.enclosed(budget, 300)
    assert abs(float(found.lower) - summed(tuple(entries), budget)) < 1e-12
    assert found.width < F(1, 2**200)
    text = str(line).replace("^", "**")
    read = eval(text, {"exp": lambda x: exp(x), "eps_prv": float(budget)})
    assert abs(read - float(found.lower)) < 1e-9


@pytest.mark.parametrize("times", [1, 7, 128])
def test_sensitivity_one_is_randomised_response(times: int) -> None:
    """True with probability e^(1/scale) / (1 + e^(1/scale)); a binomial sum."""
    scale = F(5, 2)
    profile = exact_profile(runs((1, scale, times)), Limits())
    true = 1 / (1 + exp(-1 / scale))
    for budget in (F(0), F(1, 3), F(times) / scale - F(1, 9)):
        expected = sum(
            comb(times, k)
            * true ** (times - k)
            * (1 - true) ** k
            * max(1 - exp(budget - (times - 2 * k) / scale), 0.0)
            for k in range(times + 1)
        )
        found = profile.line(budget).enclosed(budget, 400)
        assert found.width < F(1, 2**200)
        assert abs(float(found.lower) - expected) <= 1e-9 * expected


@pytest.mark.parametrize(("width", "times"), [(1, 9), (3, 5), (2, 12)])
def test_the_certified_interval_has_it(width: int, times: int) -> None:
    composition = runs((width, F(3), times))
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
    assert exact_profile(Composition((RepeatedRun(Laplace(F(1), F(1))),)), Limits()) is None
    assert exact_profile(runs((1, F(1), 513)), Limits()) is None
    assert exact_profile(runs((1, F(7), 40), (1, F(11), 40)), Limits()) is None
    long = exact_profile(runs((1, F(1), 65)), Limits())
    assert long.pieces() is None


@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 100), F(2, 5), F(99, 100)])
def test_least_budgets_lie_where_the_profile_falls(delta: Fraction) -> None:
    profile = exact_profile(runs((1, F(2), 8), (2, F(3), 2)), Limits())
    least = profile.budget(delta)
    found = least.enclosed(128)
    assert found.width < F(1, 10**30)
    if found.upper:
        assert profile.line(found.upper).enclosed(found.upper, 200).upper < delta + F(1, 10**25)
        before = max(found.lower - F(1, 10**20), F(0))
        assert profile.line(before).enclosed(before, 200).lower > delta
    else:
        assert profile.line(F(0)).enclosed(F(0), 200).upper <= delta
