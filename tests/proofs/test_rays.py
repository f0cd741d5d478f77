"""Inputs far apart, and what is lost for them at one ε: against rates, integrals and Theorem A."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.automata.analysis import RunBound, analyse
from dipapprox.automata.families import repeated
from dipapprox.automata.rays import ray_of
from dipapprox.automata.shifts import run_cost
from dipapprox.automata.words import word_rate
from dipapprox.limits import Limits
from dipapprox.proofs.log_ratios import log_ratio
from tests.automata import examples
from tests.automata.examples import automaton, chain
from tests.automata.test_probabilities import log_ratio as integrated

PRIVATE = [
    examples.SVT,
    examples.NUM_SPARSE,
    examples.NUM_RANGE_2,
    examples.TWO_RANGE_2,
    examples.GAP_PV,
    examples.m_range(3),
]


@pytest.mark.parametrize("text", PRIVATE)
def test_a_tight_run_loses_its_budget_along_the_ray(text: str) -> None:
    found = analyse(automaton(text), Limits())
    assert isinstance(found.lower, RunBound) and found.quotient is not None
    run, changes = found.lower.candidate.run, found.lower.candidate.changes
    ray = ray_of(found.automaton, run, changes, found.lower.value, Limits())
    assert ray is not None
    if len(run) < 16:  # by the samples of all runs, too: there is no other
        rates = [
            word_rate(found.quotient.graph, letters, ray.word, Limits())
            for letters in (ray.first, ray.second)
        ]
        assert None not in rates
        assert rates[0] - rates[1] == found.lower.value  # type: ignore[operator]
    ratio = log_ratio(found.automaton, run, ray, Fraction(1), Limits())
    if ratio is not None:
        assert 0 < ratio.lower <= ratio.upper <= found.lower.value + Fraction(1, 10**6)
        assert ratio.width < Fraction(1, 1000)


def test_a_log_ratio_is_what_integration_finds() -> None:
    found = automaton(chain("1/2", True, "<3/2", ">=1"))
    run, changes = (0, 1, 2), (1, -1, 1)
    ray = ray_of(found, run, changes, run_cost(found, run, changes).value, Limits())
    assert ray is not None
    for eps in (Fraction(1, 2), Fraction(1), Fraction(4)):
        ratio = log_ratio(found, run, ray, eps, Limits())
        assert ratio is not None
        known = integrated(found, run, changes, ray.times, float(eps)) / float(eps)
        assert float(ratio.lower) - 1e-6 <= known <= float(ratio.upper) + 1e-6


@pytest.mark.parametrize("text", [examples.DISCLOSING, examples.NUM_RANGE_1, examples.TWO_RANGE_1])
def test_more_rounds_lose_more_at_eps_1(text: str) -> None:
    """A disclosing cycle loses exactly a rate a round."""
    found = analyse(automaton(text), Limits())
    assert found.structure is not None
    last = Fraction(0)
    for rounds in (1, 2):
        run, changes = repeated(found.automaton, found.structure, rounds)
        budget = run_cost(found.automaton, run, changes).value
        ray = ray_of(found.automaton, run, changes, budget, Limits())
        assert ray is not None
        ratio = log_ratio(found.automaton, run, ray, Fraction(1), Limits())
        assert ratio is not None
        assert last < ratio.lower and ratio.lower <= budget
        last = ratio.upper
        if text == examples.DISCLOSING:
            assert Fraction(rounds, 4) in ratio
