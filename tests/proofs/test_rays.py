"""Inputs far apart, and what is lost for them at one ε: against rates, integrals and Theorem A."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.automata.rays import ray_of
from dipapprox.automata.shifts import run_cost
from dipapprox.limits import Limits
from dipapprox.proofs.log_ratios import log_ratio
from tests.automata.examples import automaton, chain
from tests.automata.test_probabilities import log_ratio as integrated


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
