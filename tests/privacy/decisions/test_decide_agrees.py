"""Decisions for all ε against verdicts at one ε, by engines that know no closed forms."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.language.core import Program
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify
from tests.thorough import examples

DIPC = Path(__file__).parents[3] / "programs" / "dipc"


def shipped(name: str) -> Program:
    return load(DIPC / f"{name}.dpg", {"N": Fraction(2)})


MIXED = """
input q in {0, 1}
output out in -1..1
adjacent all
x <- DLap(q, 1 / eps)
y <- Lap(q, 3 / eps)
out <- 0
if x > 0 then out <- 1 end
if y < 0 then out <- -1 end
"""
"""Integers and reals: private at 4/3 of eps and not at less."""

PROGRAMS = (
    shipped("svt4"),
    shipped("svt6"),
    shipped("nmax3"),
    shipped("nmax4"),
    shipped("hist1_linf"),
    elaborate(parse(MIXED), {}, "mixed"),
)

OUTSIDE = Options(engine=Engine.ELIMINATION)
"""Enclosures only; choices and integers have no other engine."""


@examples(4)
@given(
    st.sampled_from(PROGRAMS),
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(4, 3)]),
    st.sampled_from(["0", "1/50", "1/10", "exp(-2)", "1/4 - exp(-eps)/4", "eps/(10 + 10*eps)"]),
    st.fractions(Fraction(1, 16), 12, max_denominator=16),
)
def test_verdicts_at_one_epsilon_agree(
    program: Program, budget: Fraction, delta: str, eps: Fraction
) -> None:
    claimed = read_delta(delta)
    question = DecisionQuestion(budget, claimed, violations=True, least_delta=True)
    decision = decide(program, question, AllPairs(), Options())
    assert decision.answer is not Answer.UNKNOWN, decision
    low, high = _delta(delta, eps)
    weaker = verify(program, Claim(eps, high, budget * eps), AllPairs(), OUTSIDE)
    stronger = verify(program, Claim(eps, low, budget * eps), AllPairs(), OUTSIDE)
    if decision.answer is Answer.DP:
        assert weaker.answer is not Answer.NOT_DP
        assert decision.violated_on == ()
    inside = any(
        r.lower.upper < eps and (r.upper is None or eps < r.upper.lower)
        for r in decision.violated_on
    )
    outside = all(
        eps < r.lower.lower or (r.upper is not None and r.upper.upper < eps)
        for r in decision.violated_on
    )
    if inside:
        assert stronger.answer is not Answer.DP
    if outside:
        assert weaker.answer is not Answer.NOT_DP
    # The least δ for all ε is one for this ε, too.
    upper = decision.least_delta.enclosure.upper
    at_most = verify(program, Claim(eps, upper, budget * eps), AllPairs(), OUTSIDE)
    assert at_most.answer is not Answer.NOT_DP


def _delta(text: str, eps: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around δ at one ε, from its bracketed formula."""
    written = text.replace("eps", f"({eps})")
    value = read_delta(written).enclosure(80)
    return value.lower, value.upper
