"""Exact profiles of few rational outcomes: binomial sums, brute force, and claims a hair away."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.exact_profiles import ProfileLine, exact_profile
from dipapprox.composition.mechanisms import Atoms, Gaussian, Mechanism, RandomisedResponse
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer

F = Fraction
SKEWED = Atoms(
    tuple((Enclosure.exact(F(p, 8)), Enclosure.exact(F(q, 8))) for p, q in ((5, 2), (3, 4), (0, 2)))
)


def runs(*entries: tuple[Mechanism, int]) -> Composition:
    return Composition(tuple(RepeatedRun(*entry) for entry in entries))


def value(line: ProfileLine, alpha: Fraction) -> Fraction:
    constant, factor = line.rational
    return constant - alpha * factor


@pytest.mark.parametrize("times", [1, 6, 31])
def test_binomial_sums_for_every_budget(times: int) -> None:
    """Between two losses the profile of randomised response is one line."""
    profile = exact_profile(runs((RandomisedResponse(F(3, 4)), times)), Limits())
    pieces = profile.pieces()
    assert pieces[-1].below is None and pieces[-1].line == ProfileLine(F(0), F(0))
    start = F(1)
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        counted = [k for k in range(times + 1) if F(3) ** (times - 2 * k) > start]
        constant = sum((comb(times, k) * F(3) ** (times - k) for k in counted), F(0)) / 4**times
        factor = sum((comb(times, k) * F(3) ** k for k in counted), F(0)) / 4**times
        assert piece.line == ProfileLine(constant, factor)
        if piece.below is not None:
            end = piece.below.factor
            inside = F(log((start + end) / 2)).limit_denominator(10**6)
            assert profile.line(inside) == piece.line
            assert value(piece.line, end) == value(after.line, end)
            start = end


@given(st.integers(1, 4), st.fractions(0, 3, max_denominator=9))
def test_both_directions_against_all_outcomes(times: int, budget: Fraction) -> None:
    profile = exact_profile(runs((SKEWED, times)), Limits())
    assert profile.pieces() is None
    plain = [(p.lower, q.lower) for p, q in SKEWED.masses]
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


def test_what_is_not_finite_has_no_exact_profile() -> None:
    assert exact_profile(runs((Gaussian(F(1), F(1)), 1)), Limits()) is None
    assert dipapprox.compose([{"mechanism": "laplace", "scale": 1}]).delta(1).exact is None
