"""Critical and attained claims are decided by closed forms, and their neighbours agree."""

from fractions import Fraction
from fractions import Fraction as F
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
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.divergence import Growth
from dipapprox.pairs.search import Search
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.exact_pairs import ExactDeltas
from dipapprox.privacy.options import LAST_PRECISION, Engine, Options
from dipapprox.privacy.run import Setting
from dipapprox.privacy.sources import open_exact_pairs, open_probabilities
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute
from tests.cases import cases
from tests.texts import text_of

PROGRAMS = Path(__file__).parents[2] / "programs"

THRESHOLD = text_of("privacy/exact_pairs-1")
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
    options = Options(engine=engine, max_precision=max_precision)
    return verify(Setting(asked, AllPairs(), options), claim)


@pytest.mark.parametrize("eps", [Fraction(1, 2), Fraction(3), Fraction(7, 11)])
@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.EXACT])
def test_the_thresholded_laplace_attains_its_budget(eps, engine) -> None:
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
def test_exact_comparisons_agree_with_enclosures(eps, budget, delta, place) -> None:
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


_HALF = text_of("privacy/exact_pairs-half")


_PUBLISHED = """input q in 0..2
output o in real
adjacent linf 1
o <- Lap(q, 1/eps)"""


def claimed(text: str, eps: str, eps_prv: str, delta: str):  # type: ignore[no-untyped-def]
    program = dipapprox.parse(text)
    return dipapprox.verify(program, eps=eps, eps_prv=eps_prv, delta=delta)


@cases(
    "text, eps, eps_prv, delta, answer",
    (_HALF, "1", "0", "1-exp(-eps/2)", Answer.DP),
    (_HALF, "1", "0", "1-exp(-eps/2)-10^-9", Answer.NOT_DP),
    (_HALF, "3/4..1", "0", "1-exp(-eps/2)", Answer.DP),
    (_HALF, "3/4..1", "0", "1-exp(-eps/2)-10^-9", Answer.NOT_DP),
    (_PUBLISHED, "1", "0", "1-exp(-eps/2)", Answer.DP),
    (_PUBLISHED, "1", "0", "1-exp(-1/2)", Answer.DP),
    (_PUBLISHED, "2", "1/2", "1-exp(-3/4)", Answer.DP),
    (_PUBLISHED, "2", "eps/4", "1-exp(-3*eps/8)", Answer.DP),
    (_PUBLISHED, "1", "0", "1-exp(-1/2)-10^-9", Answer.NOT_DP),
    (_PUBLISHED, "1", "0", "1-exp(-1/2)+10^-60", Answer.DP),
    (_PUBLISHED, "1/2..1", "0", "1-exp(-eps/2)+10^-3", Answer.DP),
    (_PUBLISHED, "1/2..1", "eps/3", "1-exp(-eps/3)", Answer.DP),
    (_PUBLISHED, "1/2..1", "eps/3", "1-exp(-eps/3)-10^-6", Answer.NOT_DP),
)
def test_a_delta_that_is_attained(text, eps, eps_prv, delta, answer) -> None:
    """Pr[r > 1/2] is e^(-ε/2) / 2 and 1 less that; a number moved by t: 1 - e^((L - t)/2)."""
    found = claimed(text, eps, eps_prv, delta)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.run.pairs == (2 if text is _HALF else 4)
        assert found.delta_enclosure.lower > F(1, 5)


@pytest.mark.parametrize("delta", ["1-exp(-1/2)", "1 - 1/exp(1/2)"])
def test_a_constant_that_is_attained(delta) -> None:
    found = claimed(_HALF, "1", "0", delta)
    assert found.answer is Answer.DP and "exact" in found.run.engine


def test_the_least_budget_of_a_delta_that_is_attained_for_ever() -> None:
    """One output has probability 1/3, and none for the other input: δ is 1/3 from ε_prv 1 on."""
    program = dipapprox.parse(text_of("privacy/exact_pairs-third"))
    found = dipapprox.profile(program, eps=1, delta="1/3").eps_prv_enclosure
    assert found.lower <= 1 <= found.upper
    assert found.upper - found.lower < F(1, 10**9)


def test_sums_that_take_values_in_turn_come_after_closed_forms() -> None:
    """The largest gap of four integers: tens of thousands of parts of one sum."""
    program = dipapprox.parse(text_of("privacy/exact_pairs-gaps"))
    pair = ((0, 0, 0, 0), (0, 1, 0, 0))
    found = dipapprox.verify(program, eps="1/4", eps_prv="1/2", delta="1/100", pairs=[pair])
    assert found.run.engine == "exact"
