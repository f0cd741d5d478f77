"""Decisions for all ε: what is asked, values known from elsewhere, single ε, and sign patterns.

Source: the DiPC paper's mechanisms, recomputed by hand and in exact arithmetic ("oracle" numbers
are those of the project's specification of DiPC, section 8).
"""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import (
    Answer,
    Claim,
    Enclosure,
    Engine,
    LimitReached,
    Limits,
    Options,
    Program,
    UserError,
)
from dipapprox.data_classes import replace
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs import zeros as isolation
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exact.signs.zeros import zeros
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.domains import parse_input
from dipapprox.language.elaborate import elaborate
from dipapprox.language.formula import parse_formula
from dipapprox.language.load import load
from dipapprox.language.parser import parse as parse_text
from dipapprox.limits import limited
from dipapprox.numerics.formula_values import eps_jet, evaluate
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.decisions.decider import decide as decide_all
from dipapprox.privacy.decisions.decision import Cause, DecisionQuestion, read_epsilons
from dipapprox.privacy.decisions.delta import as_ratio, read_delta
from dipapprox.privacy.decisions.search import sign_patterns
from dipapprox.privacy.decisions.signs import SignChanges, Signs, check_delta, merged
from dipapprox.privacy.notation import as_latex, as_text
from dipapprox.privacy.published.details import PublishedDetails
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute
from tests.cases import cases, check_answers, evaluated, examples, template_of, text_of
from tests.schemas import check_schema

FORMULAS = [
    "exp(-2)*eps",
    "exp(-1 - eps)/2",
    "(sqrt(2) - exp(-eps))*(1 - exp(-1))/(1 + 3*eps)",
    "eps^2*exp(-3) - log(3)/(2*(-1 - eps)) + 1/exp(eps - 1)",
    "(exp(-1/2)*eps)^2/exp(1)",
    "2/(exp(-3)*exp(eps/2))",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_functions_with_irrational_constants_are_bracketed(text) -> None:
    delta = read_delta(text)
    assert delta.exact is None
    for eps in (Fraction(1, 10**6), Fraction(1, 3), Fraction(2), Fraction(50)):
        value = evaluate(delta.formula, {"eps": eps_jet(eps, eps)}, 200).value
        for bits in (64, 256):
            low, high = (enclose_at(each, eps, 300) for each in delta.bounds(bits))
            assert low.lower <= value.upper and value.lower <= high.upper
            assert high.upper - low.lower <= Fraction(100 * (1 + eps**2), 2**bits)
        exact = delta.at_point(eps).exact
        if "sqrt" not in text and "log" not in text:
            assert exact is not None
            found = enclose_at(exact, eps, 180)
            assert found.meets(value)


E = ExponentialPolynomial.monomial


TERMS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.fractions(-3, 3, max_denominator=4)),
    st.fractions(-5, 5, max_denominator=9),
    max_size=5,
)


@given(TERMS, TERMS)
def test_the_text_is_the_function(top, below) -> None:
    denominator = ExponentialPolynomial.of(below)
    function = ExponentialRatio.of(ExponentialPolynomial.of(top), {denominator or ONE: 2})
    # As formulas write it: products with signs, and the exponential as a function.
    text = as_text(function).replace("e^ε", "exp(ε)").replace("e^(", "exp(")
    words = text.replace(" exp", " * exp").replace(" ε", " * ε").replace("ε", "eps")
    for operator in "+-/":
        words = words.replace(f"{operator} * ", f"{operator} ")
    read = as_ratio(parse_formula(words, "text", ("eps",)))
    assert not (read - function).numerator


# --- Decisions against values known from elsewhere, and claims that are hard to decide --------

MECHANISMS = Path(__file__).parents[2] / "programs" / "dipc"


def test_sparse_has_the_least_delta_31_240() -> None:
    sparse = dipapprox.parse(Path("dipc/sparse"), {"N": 3, "c": 1})
    decision = dipapprox.decide(sparse, budget="1/2", delta="31/240", least_delta=True)
    assert decision.answer is Answer.DP
    assert decision.least_delta.exact == Fraction(31, 240)
    assert "∞" in decision.least_delta.where


def test_claims_at_the_least_delta_of_one_epsilon() -> None:
    program, asked = dipapprox.parse(Path("dipc/hist1"), {"N": 1}), {"budget": 0, "interval": 2}
    found = dipapprox.decide(program, delta=1, least_delta=True, **asked).least_delta.enclosure
    assert found.width < Fraction(1, 10**6)
    below = found.lower - Fraction(1, 10**8)
    for delta, answer in ((found.upper, Answer.DP), (below, Answer.NOT_DP)):
        assert dipapprox.decide(program, delta=delta, **asked).answer is answer


def test_without_pairs_the_claim_holds() -> None:
    text = text_of("decisions/decide_adversarial-1")
    question = DecisionQuestion(Fraction(0), read_delta("0"), least_delta=True, violations=True)
    decision = decide_all(Setting(dipapprox.parse(text), AllPairs(), Options()), question)
    assert (decision.answer, decision.pairs) == (Answer.DP, 0)
    assert decision.least_delta.exact == 0


@pytest.mark.usefixtures("work_clock")
def test_limits_are_unknown_with_what_was_looked_at() -> None:
    svt = load(MECHANISMS / "svt1.dpg", {"N": Fraction(6)})
    question = DecisionQuestion(Fraction(1), read_delta("0"))
    hurried = Options(limits=Limits(seconds=0.3, started=0.0))
    with limited(hurried.limits):
        decision = decide_all(Setting(svt, AllPairs(), hurried), question)
    assert (decision.answer, decision.cause) == (Answer.UNKNOWN, Cause.TIME_LIMIT)
    assert "of 116920 pairs looked at" in (decision.reason or "")


@pytest.mark.parametrize("budget", ["0", "1"])
def test_a_bracket_that_cannot_tell_one_gap_says_nothing_of_others(budget) -> None:
    """24 digits of e^-2 lie below it, and above the lower end of its first bracket; 9/10 does not.

    All pairs begin with an input that 0 has the probability of, and go on to one without.
    """
    digits = "0.135335283236612691893999"
    program = dipapprox.parse(
        "input x in 0..2\noutput out in 0..1\nadjacent all\nout <- 1\n"
        f"if x = 0 then out <- choose {{0 : {digits}, 1 : 1 - {digits}}} end\n"
        "if x = 2 then out <- choose {0 : 9/10, 1 : 1/10} end\n"
    )
    one, zero, two = ((Fraction(x),) for x in (1, 0, 2))
    question = DecisionQuestion(Fraction(budget), read_delta("exp(-2)"))
    almost = decide_all(Setting(program, OrderedPairs(((zero, one),)), Options()), question)
    assert almost.answer is Answer.DP
    for pairs in (((zero, one), (two, one)), ((two, one), (zero, one))):
        decision = decide_all(Setting(program, OrderedPairs(pairs), Options()), question)
        assert decision.answer is Answer.NOT_DP
        assert decision.violation.input == two


@pytest.mark.parametrize("sensitivity", ["1/1000000", "1/1000000000000"])
def test_where_noise_is_tiny_so_is_the_epsilon_of_the_witness(sensitivity) -> None:
    # SVT4 with sensitivity Δ at ε is SVT4 with 1 at ε/Δ: at ε = 1 both sides are below e^-250000.
    svt4 = dipapprox.parse(Path("dipc/svt4"), {"Delta": sensitivity})
    found = dipapprox.decide(svt4).violation
    assert found.left.lower > found.right.upper > 0
    assert found.eps / Fraction(sensitivity) < 200
    assert found.checked_by is not None


# --- Decisions for all ε: against single ε, sign patterns, and programs without sense somewhere ---


def shipped(name: str) -> Program:
    return load(MECHANISMS / f"{name}.dpg", {"N": Fraction(2)})


@cases(
    "more, interval, end",
    # Output 0 has the probability 1 - e^(-eps/2) for one input, and never comes for the other.
    ("(1000000 - eps)/1e12", "1..2000000", (10**6, 2 * 10**6)),
    ("eps*(eps - 1e-9)/4", "0..1", (0, Fraction(1, 10**9))),
)
def test_violated_far_away_and_close_to_zero(more, interval, end) -> None:
    program = load(MECHANISMS / "nmax4.dpg", {"N": Fraction(1)})
    delta = f"1 - exp(-eps/2) + {more}"
    found = dipapprox.decide(program, budget=1, delta=delta, interval=interval, violations=True)
    (violated,) = found.violated_on
    assert violated.upper is not None
    assert (violated.lower.upper, violated.upper.lower) == end
    assert (violated.lower.lower, violated.upper.upper) == end


MIXED = text_of("decisions/decide_agrees-mixed")
"""Integers and reals: private at 4/3 of eps and not at less."""

PROGRAMS = (
    shipped("svt4"),
    shipped("svt6"),
    shipped("nmax3"),
    shipped("nmax4"),
    shipped("hist1_linf"),
    elaborate(parse_text(MIXED), {}, "mixed"),
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
    decision = decide_all(Setting(program, AllPairs(), Options()), question)
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
    chart = zeros(function, ALL_EPSILONS)
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
    found = list(sign_patterns(signs))
    assert len(set(found)) == len(found)
    assert set(found) == set(expected)


def test_many_functions_with_one_common_zero() -> None:
    """Twelve functions that are not proportional, all 0 at log 2: two sets, not 2^12."""
    signs = {k: _changes(FACTORS[1] * (X + _constant(str(k + 1)))) for k in range(12)}
    assert list(sign_patterns(signs)) == [frozenset(range(12)), frozenset()]


def test_zeros_that_nearly_meet_are_told_apart() -> None:
    near = Fraction(1, 10**40)
    signs = {k: _changes(Y - _constant("1/2") - ONE.scaled(k * near)) for k in range(12)}
    found = list(sign_patterns(signs))
    assert found == [frozenset(range(12 - k)) for k in range(13)]


@pytest.mark.parametrize(("count", "fails"), [(3, False), (12, True)])
def test_what_cannot_be_told_apart_is_taken_in_every_order(count, fails, monkeypatch) -> None:
    """As if the degrees were too high for common divisors."""
    monkeypatch.setattr(isolation, "_are_equal", lambda *_: None)
    signs = {k: _changes(FACTORS[1] * (X + _constant(str(k + 1)))) for k in range(count)}
    if fails:
        with pytest.raises(LimitReached, match="12 sign changes cannot be told apart"):
            list(sign_patterns(signs))
    else:
        assert len(list(sign_patterns(signs))) == 2**count


HEAD = "input x in 0..1\noutput out in 0..1\nadjacent all\nout <- 0\n"

EQUAL_VALUES = "out <- choose {0 : 2 - eps, 0 : eps - 1}"
ONE_END = """
t <- 1
while t = 1 do t <- choose {0 : 2 - eps, 1 : eps - 1} end
"""
AVERAGED = template_of("decisions-averaged")


# --- What is read, written and refused: expressions, and what is said of each ---------------------

SURE_END = template_of("decisions-one_end")
"""At eps = 1 this loop goes on for ever; everywhere else it ends."""
BLUR = Fraction(1, 10)


def closed_form(name: str, input: str, output: str, **parameters: int) -> str:
    """The probability of an output at one input."""
    program = load(MECHANISMS / f"{name}.dpg", {k: Fraction(v) for k, v in parameters.items()})
    states = execute(program, True)
    forms = ExactDistributions(states, None).distribution(parse_input(input, program))
    assert isinstance(forms, tuple)
    outputs = (" ".join(map(str, output)) for output in states.outputs)
    return as_text(dict(zip(outputs, forms, strict=True))[output])


def spans(lower: int, upper: int | None, blur: Fraction = Fraction(0)) -> NegativeRange:
    """A range with ends that are known so well."""
    end = None if upper is None else Enclosure(upper - blur, upper + blur)
    return NegativeRange(Enclosure(lower - blur, lower + blur), end)


def union(*ranges: NegativeRange) -> list[str]:
    """Ranges with ends that are blurred may touch or not."""
    return [
        f"{'(['[each.lower_included]}{each.lower}, {each.upper}{')]'[each.upper_included]}"
        for each in merged(ranges)
    ]


def test_what_is_decided_and_written() -> None:
    asked = {
        "Signs": Signs,
        "as_latex": as_latex,
        "check_delta": check_delta,
        "read_epsilons": read_epsilons,
        "replace": replace,
    }
    check_answers("decisions", evaluated(globals() | asked, UserError, LimitReached))


NUMBER = "input x in 0..3\noutput y in real\nadjacent linf 1\ny <- {}(x, 1 / eps)\n"


@cases(
    "noise, asked, answer",
    ("Lap", {}, "DP"),
    ("Lap", {"budget": "99/100"}, "Not_DP"),
    # The least δ for ε/2 is 1 - e^(-ε/4), 0.22 at ε = 1.
    ("Lap", {"budget": "1/2", "delta": "3/10"}, "Not_DP"),
    ("Lap", {"budget": "1/2", "delta": "3/10", "interval": "1/2..1"}, "DP"),
    ("Lap", {"budget": "1/2", "delta": "3/10", "interval": "0..1"}, "Unknown"),
    ("Logistic", {"interval": "0..1"}, "DP"),
    ("Gauss", {}, "Not_DP"),
)
@pytest.mark.parametrize("text", [NUMBER, NUMBER.replace("in 0..3", "in real 0..3")])
def test_real_numbers_are_decided_by_budgets_and_enclosures(text, noise, asked, answer) -> None:
    program = dipapprox.parse(text.format(noise))
    found = dipapprox.decide(program, **asked)
    assert found.answer.value == answer
    assert (found.reason is None) == (answer != "Unknown")
    if found.violation is not None:  # `verify` agrees there, where nothing else is asked
        eps, t = found.violation.eps, Fraction(asked.get("budget", 1))
        judged = dipapprox.verify(program, eps=eps, eps_prv=t * eps, delta=asked.get("delta", 0))
        assert judged.answer is Answer.NOT_DP
    with pytest.raises(UserError, match=r"needs finite outputs|may be any real number"):
        dipapprox.decide(program, violations=True)


TWO_NUMBERS = (
    "input q in 0..2\noutput y in real\noutput z in real\nadjacent linf 1\n"
    "y <- Lap(q, 1 / eps)\nz <- Lap(q, {} / eps)\n"
)


def test_what_is_violated_stays_so_where_a_limit_leaves_no_outputs(monkeypatch) -> None:
    def limited(*_: object) -> None:
        raise LimitReached("no more time")

    program = dipapprox.parse(TWO_NUMBERS.format(2))
    monkeypatch.setattr(PublishedDetails, "describe", limited)
    found = dipapprox.decide(program, budget="1.485", delta=0, interval="1/2..2")
    assert found.answer is Answer.NOT_DP and found.reason is None
    shown = found.violation
    assert shown.rows == () and shown.left is shown.right is None
    assert {abs(a - b) for a, b in zip(shown.input, shown.adjacent, strict=True)} == {1}
    assert "all outputs that are more than" in shown.not_enclosed
    check_schema("decide", found.to_dict())
    asked = {"verify": (1, "sqrt(2)"), "verify_interval": ("1/2..2", "1.4 * eps")}
    for schema, (eps, eps_prv) in asked.items():
        judged = dipapprox.verify(program, eps=eps, eps_prv=eps_prv, delta=0)
        assert judged.answer is Answer.NOT_DP and judged.witness.rows == ()
        assert judged.witness.delta_enclosure.lower > 0
        assert "S: all outputs that are more than" in str(judged)
        check_schema(schema, judged.to_dict())


def test_sides_that_are_not_enclosed_apart_are_not_shown() -> None:
    """The largest δ of two numbers at ε = 1 for 1/2 is known; the masses of its set are not."""
    claim = {"budget": "1/2", "delta": "3503207/10000000", "interval": "1/2..1"}
    found = dipapprox.decide(dipapprox.parse(TWO_NUMBERS.format(1)), **claim)
    assert found.answer is Answer.NOT_DP
    shown = found.violation
    assert shown.left is shown.right is None
    assert "left minus right, without δ, is in [0.3504959" in shown.not_enclosed
    assert "[0, 1]" not in str(found) and "0.35049" in str(found)
    check_schema("decide", found.to_dict())
