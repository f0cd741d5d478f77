"""Decisions for all ε: against single ε, sign patterns, and programs without sense somewhere."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Claim, Engine, LimitReached, Limits, Options, Program, UserError
from dipapprox.exact.signs import zeros as isolation
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ONE, ExponentialPolynomial
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.search import sign_patterns
from dipapprox.privacy.decisions.signs import SignChanges
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from tests.cases import refuses
from tests.texts import text_of
from tests.thorough import examples

DIPC = Path(__file__).parents[3] / "programs" / "dipc"


def shipped(name: str) -> Program:
    return load(DIPC / f"{name}.dpg", {"N": Fraction(2)})


MIXED = text_of("decisions/decide_agrees-mixed")
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
def test_verdicts_at_one_epsilon_agree(program, budget, delta, eps) -> None:
    claimed = read_delta(delta)
    question = DecisionQuestion(budget, claimed, violations=True, least_delta=True)
    decision = decide(Setting(program, AllPairs(), Options()), question)
    setting = Setting(program, AllPairs(), OUTSIDE)
    assert decision.answer is not Answer.UNKNOWN, decision
    low, high = _delta(delta, eps)
    weaker = verify(setting, Claim(eps, high, budget * eps))
    stronger = verify(setting, Claim(eps, low, budget * eps))
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
    at_most = verify(setting, Claim(eps, upper, budget * eps))
    assert at_most.answer is not Answer.NOT_DP


def _delta(text: str, eps: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around δ at one ε, from its bracketed formula."""
    written = text.replace("eps", f"({eps})")
    value = read_delta(written).enclosure(80)
    return value.lower, value.upper


LIMITS = Limits()

# Factors with one sign change each, ascending: at 1/2, log 2, log 3 and 2; one without.
Y = ExponentialPolynomial.monomial(1, rate=-1)
X = ExponentialPolynomial.monomial(1, power=1)


def _constant(value: str) -> ExponentialPolynomial:
    return ExponentialPolynomial.constant(Fraction(value))


FACTORS = (_constant("1/2") - X, Y - _constant("1/2"), Y - _constant("1/3"), _constant("2") - X)
FUNCTIONS = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 3), unique=True, max_size=4), st.booleans()),
    min_size=1,
    max_size=7,
)


def _function(negative: bool, factors: list[int], more: bool) -> ExponentialPolynomial:
    product = -ONE if negative else ONE
    for k in factors:
        product = product * FACTORS[k]
    return product * (X + Y) if more else product


def _changes(function: ExponentialPolynomial) -> SignChanges:
    chart = zeros(function, ALL_EPSILONS, LIMITS)
    return SignChanges(chart.signs[0] > 0, tuple(z for z in chart.zeros if z.changes_sign))


@given(FUNCTIONS)
def test_exactly_the_sets_between_sign_changes(functions) -> None:
    signs = {k: _changes(_function(*each)) for k, each in enumerate(functions)}
    expected = [
        frozenset(
            k
            for k, (negative, factors, _) in enumerate(functions)
            if not negative ^ (sum(f < passed for f in factors) % 2 == 1)
        )
        for passed in range(5)
    ]
    found = list(sign_patterns(signs, LIMITS))
    assert len(set(found)) == len(found)
    assert set(found) == set(expected)


def test_many_functions_with_one_common_zero() -> None:
    """Twelve functions that are not proportional, all 0 at log 2: two sets, not 2^12."""
    signs = {k: _changes(FACTORS[1] * (X + _constant(str(k + 1)))) for k in range(12)}
    assert list(sign_patterns(signs, LIMITS)) == [frozenset(range(12)), frozenset()]


def test_zeros_that_nearly_meet_are_told_apart() -> None:
    near = Fraction(1, 10**40)
    signs = {k: _changes(Y - _constant("1/2") - ONE.scaled(k * near)) for k in range(12)}
    found = list(sign_patterns(signs, LIMITS))
    assert found == [frozenset(range(12 - k)) for k in range(13)]


@pytest.mark.parametrize(("count", "fails"), [(3, False), (12, True)])
def test_what_cannot_be_told_apart_is_taken_in_every_order(count, fails, monkeypatch) -> None:
    """As if the degrees were too high for common divisors."""
    monkeypatch.setattr(isolation, "vanishes_too", lambda *_: None)
    signs = {k: _changes(FACTORS[1] * (X + _constant(str(k + 1)))) for k in range(count)}
    if fails:
        with pytest.raises(LimitReached, match="12 sign changes cannot be told apart"):
            list(sign_patterns(signs, LIMITS))
    else:
        assert len(list(sign_patterns(signs, LIMITS))) == 2**count


HEAD = "input x in 0..1\noutput out in 0..1\nadjacent all\nout <- 0\n"

EQUAL_VALUES = "out <- choose {0 : 2 - eps, 0 : eps - 1}"
ONE_END = """
t <- 1
while t = 1 do t <- choose {0 : 2 - eps, 1 : eps - 1} end
"""
AVERAGED = """
t <- 1
while t = 1 do
  a <- choose {0 : 2 - eps, 1 : eps - 1}
  b <- choose {0 : 1/2, 1 : 1/2}
  t <- choose {0 : 1/2, 1 : 1/2}
  out <- a
  if a = b then out <- 1 else out <- 0 end
end
"""


@pytest.mark.parametrize("body", ["out <- choose {0 : eps}", EQUAL_VALUES, ONE_END, AVERAGED])
def test_weights_that_are_none_are_found_wherever_they_are(body) -> None:
    """At eps = 3 some weight is negative or 3, though no probability of an output shows it."""
    program = dipapprox.parse(HEAD + body)
    refuses(UserError, "no probability distribution", dipapprox.decide, program)
    with pytest.raises(UserError, match="no probability distribution"):
        dipapprox.verify(program, eps=Fraction(3), delta=Fraction(0))
    with pytest.raises(UserError, match="no probability distribution"):
        dipapprox.verify(program, eps=(1, 3), delta=0)


@pytest.mark.parametrize("body", [EQUAL_VALUES, ONE_END, AVERAGED])
def test_where_weights_make_sense_programs_do(body) -> None:
    program = dipapprox.parse(HEAD + body)
    verdict = dipapprox.verify(program, eps=Fraction(3, 2), delta=Fraction(0))
    assert verdict.answer is Answer.DP
    assert dipapprox.decide(program, interval=(1, Fraction(3, 2))).answer is Answer.DP


def test_a_loop_with_one_end_must_reach_it() -> None:
    """At eps = 1 this loop goes on for ever; everywhere else it ends."""
    loop = """
t <- 1
while t = 1 do
  t <- choose {0 : (eps - 1)^2 / (1 + (eps - 1)^2), 1 : 1 / (1 + (eps - 1)^2)}
end
"""
    program = dipapprox.parse(HEAD + loop)
    for epsilons in ((0, None), (1, 1), (1, 2)):
        with pytest.raises(UserError, match="does not end with probability 1"):
            dipapprox.decide(program, interval=epsilons)
    with pytest.raises(UserError, match="does not end with probability 1"):
        dipapprox.verify(program, eps=Fraction(1), delta=Fraction(0))
    assert dipapprox.decide(program, interval=(2, None)).answer is Answer.DP
