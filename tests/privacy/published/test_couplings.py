"""Pure budgets by couplings: of programs where the least is known, and never too small."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.proofs.real_proof import RealProof
from dipapprox.semantics.execution import execute

PROGRAMS = Path(__file__).parents[3] / "programs" / "numbers"


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("laplace_mechanism", Fraction(1)),
        ("clamped_laplace", Fraction(1)),
        ("prefix_sums", Fraction(1)),
    ],
)
def test_the_least_pure_budget_is_enclosed(name: str, budget: Fraction) -> None:
    found = dipapprox.profile(load(PROGRAMS / f"{name}.dpg", {}), eps=1, delta=0)
    assert isinstance(found, LeastEpsPrv)
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert lower is not None and upper is not None
    assert lower <= budget <= upper
    assert upper - lower < Fraction(1, 10**8)


def test_a_claim_is_settled_at_the_very_budget_and_not_below() -> None:
    program = load(PROGRAMS / "laplace_mechanism.dpg", {})
    for eps_prv, answer in (("1", Answer.DP), ("999999/1000000", Answer.NOT_DP)):
        found = dipapprox.verify(program, eps=1, eps_prv=eps_prv, delta=0)
        assert isinstance(found, Verdict)
        assert found.answer is answer


MECHANISM = """
input q[2] in {{0, 1}}
adjacent linf 1
output y in real
output c in {{0, 1}}
a <- {first}(q[1], 2 / eps)
b <- {second}(q[2], 3 / eps)
y <- {published}
c <- {compared}
"""


@pytest.mark.parametrize("first", ["Lap", "LapPlus", "Gauss"])
@pytest.mark.parametrize("published", ["a", "a - b", "a + 2 * q[2]", "0"])
@pytest.mark.parametrize("compared", ["a >= b", "a + b >= 2 * q[1]"])
def test_a_coupling_never_promises_too_much(first: str, published: str, compared: str) -> None:
    """Where the divergence at a slightly larger budget can be told, it is 0."""
    text = MECHANISM.format(first=first, second="Lap", published=published, compared=compared)
    program = dipapprox.parse(text)
    states = execute(program, True, Limits(), real_outputs=True)
    couplings = Couplings(states, Fraction(1), Limits())
    zero, one = Fraction(0), Fraction(1)
    pair = ((zero, zero), (one, one))
    budget = couplings.budget(pair)
    if budget is None:
        return
    found = dipapprox.profile(program, eps=1, eps_prv=budget, pairs=(pair,))
    assert isinstance(found, LeastDelta)
    assert found.delta_enclosure.lower == 0


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("laplace_mechanism", Fraction(1)),
        ("noisy_max_with_gap", Fraction(1)),
        ("noisy_max_with_value", Fraction(3, 2)),
        ("histogram_laplace", Fraction(1)),
    ],
)
def test_all_real_inputs_are_proved_with_the_least_budget(name: str, budget: Fraction) -> None:
    """Noisy max with gap: Ding, Wang, Xiao, Zhang and Kifer 2019, theorem 2."""
    program = load(PROGRAMS / f"{name}.dpg", {})
    found = dipapprox.prove(program, reals=True)
    assert isinstance(found, RealProof)
    assert found.lower == found.upper == budget


def test_no_pure_budget_serves_gaussian_noise_or_published_inputs() -> None:
    for body in ("y <- Gauss(q, 1 / eps)", "y <- q + 1"):
        text = f"input q in real\nadjacent linf 1\noutput y in real\n{body}\n"
        found = dipapprox.prove(dipapprox.parse(text))
        assert isinstance(found, RealProof)
        assert found.has_none


@pytest.mark.parametrize(
    ("name", "budget", "answer"),
    [("noisy_max_with_gap", "1", Answer.DP), ("sparse_vector_with_gap", "1", Answer.DP)],
)
def test_pure_claims_are_decided_by_closed_forms(name: str, budget: str, answer: Answer) -> None:
    program = load(PROGRAMS / f"{name}.dpg", {"N": 2})
    found = dipapprox.verify(program, eps=1, eps_prv=budget, delta=0)
    assert isinstance(found, Verdict)
    assert found.answer is answer
    assert found.delta_enclosure is not None and not found.delta_enclosure.upper


def test_of_pairs_without_densities_each_budget_counts() -> None:
    source = """
input q[2] in {0, 1}
output y[2] in real
adjacent l1 1
a <- Lap(q[1], 1 / eps)
b <- Lap(0, 1 / eps)
c <- Lap(3 * q[2], 1 / eps)
y[1] <- a + b
y[2] <- b + c
"""
    program = dipapprox.parse(source)
    for eps_prv, answer in (("1", Answer.UNKNOWN), ("3", Answer.DP)):
        found = dipapprox.verify(program, eps=1, eps_prv=eps_prv, delta=0)
        assert isinstance(found, Verdict)
        assert found.answer is answer
