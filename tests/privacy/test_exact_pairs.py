"""Critical claims, decided by closed forms by every method; the answers agree with enclosures."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, Side, compare
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.language.core import Program
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.pairs import many_pairs
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.divergence import Growth
from dipapprox.pairs.search import Search
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.exact_pairs import ExactDeltas
from dipapprox.privacy.options import LAST_PRECISION, Engine, Options
from dipapprox.privacy.sources import open_exact_pairs, open_probabilities
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute

PROGRAMS = Path(__file__).parents[2] / "programs"

THRESHOLD = """
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- 0
x <- Lap(q, 1 / eps)
if x >= 1 then out <- 1 end
"""
"""The probabilities of out = 1 are 1/2 and e^(-eps)/2: their ratio is exactly e^eps."""


def program(text: str) -> Program:
    return elaborate(parse(text), {}, "program")


def ask(
    asked: Program,
    claim: Claim,
    *,
    engine: Engine = Engine.AUTO,
    max_precision: int = LAST_PRECISION,
) -> Verdict:
    return verify(asked, claim, AllPairs(), Options(engine=engine, max_precision=max_precision))


@pytest.mark.parametrize("eps", [Fraction(1, 2), Fraction(3), Fraction(7, 11)])
@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.EXACT])
def test_the_thresholded_laplace_attains_its_budget(eps: Fraction, engine: Engine) -> None:
    tight = ask(program(THRESHOLD), Claim(eps, Fraction(0)), engine=engine)
    assert tight.answer is Answer.DP
    assert tight.delta_enclosure == Enclosure.exact(0)
    assert "exact" in tight.engine
    # Less than any ladder of precisions tells apart.
    less = eps - Fraction(1, 10**200)
    violated = ask(program(THRESHOLD), Claim(eps, Fraction(0), less), engine=engine)
    assert violated.answer is Answer.NOT_DP
    assert 0 < violated.witness.delta_enclosure.lower < Fraction(1, 10**199)


def test_gaussian_programs_have_no_closed_forms() -> None:
    asked = load(PROGRAMS / "svt_gauss.dpg", {})
    states = execute(asked, True, Limits())
    assert open_exact_pairs(states, Claim(Fraction(1), Fraction(1, 10)), Options()) is None
    pure = open_exact_pairs(states, Claim(Fraction(1), Fraction(0)), Options())
    assert not pure.has_forms
    verdict = ask(asked, Claim(Fraction(1), Fraction(0)), engine=Engine.EXACT)
    assert verdict.answer is Answer.UNKNOWN
    assert "no closed form" in verdict.reason or "Gauss" in verdict.reason


@given(
    st.fractions(Fraction(1, 8), 3, max_denominator=8),
    st.fractions(0, 2, max_denominator=8),
    st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 20), Fraction(1, 3)]),
    st.integers(0, 39),
)
def test_exact_comparisons_agree_with_enclosures(
    eps: Fraction, budget: Fraction, delta: Fraction, place: int
) -> None:
    asked = load(PROGRAMS / "dipc" / "svt4.dpg", {"N": Fraction(2)})
    states = execute(asked, True, Limits())
    pair = list(select_pairs(asked, AllPairs()))[place]
    exact = ExactDeltas(ExactDistributions(states, eps, Limits()), Growth(budget), delta, Limits())
    found = exact.decide(pair, 60)
    assert not isinstance(found, NotEnclosed)
    assert compare(found.delta, delta) is not Side.UNDECIDED
    elimination = Options(engine=Engine.ELIMINATION)
    source = open_probabilities(states, eps, elimination)
    search = Search(source, delta, Growth(budget), (60,), Limits())
    enclosed = search.attempt(pair, 60)
    assert enclosed.delta.meets(found.delta)
    if compare(enclosed.delta, delta) is not Side.UNDECIDED:
        assert compare(enclosed.delta, delta) is compare(found.delta, delta)
    assert enclosed.delta.width < Fraction(1, 2**40) or found.delta.width < Fraction(1, 2**40)


def test_a_pair_with_an_exact_rational_delta() -> None:
    # A fair coin reveals the input: delta is 1/2 at every budget.
    text = """
input q in {0, 1}
output out in {0, 1, 2}
adjacent all
out <- 2
coin <- Lap(0, 1 / eps)
if coin < 0 then out <- q end
"""
    for budget in (Fraction(0), Fraction(1), Fraction(50)):
        half = Fraction(1, 2)
        assert ask(program(text), Claim(Fraction(1), half, budget)).answer is Answer.DP
        below = half - Fraction(1, 10**150)
        assert ask(program(text), Claim(Fraction(1), below, budget)).answer is Answer.NOT_DP


EXPONENTIAL_MAX = """
param N = 4
input  q[N] in -1..1
output out in 1..N
adjacent linf 1
for i in 1..N do
    v[i] <- LapPlus(q[i], 2 / eps)
end
out <- argmax(v)
"""
"""Some ratios are exactly e^eps."""


@pytest.mark.parametrize("budget", ["1", "0.999", "1.001"])
def test_terms_that_may_be_0_do_not_matter_for_all_pairs_together(
    budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = dipapprox.parse(EXPONENTIAL_MAX)
    claim = Claim(Fraction(1), Fraction(0), Fraction(budget))
    usual = dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    assert usual.answer is (Answer.NOT_DP if budget == "0.999" else Answer.DP)
    # More pairs than can be looked at one by one: 7^10 - 3^10.
    monkeypatch.setattr(many_pairs, "_MOST_IN_TABLE", 0)
    monkeypatch.setattr(many_pairs, "_MOST_IN_PORTIONS", 0)
    together = dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    assert together.answer is usual.answer
    assert together.pairs == usual.pairs or usual.answer is Answer.NOT_DP
