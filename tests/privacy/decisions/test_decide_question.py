"""What a decision is asked, and formulas for people: intervals and δ, read, refused and written."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import LimitReached, Limits, UserError, decide, parse
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.formula import parse_formula
from dipapprox.numerics.formula_values import eps_jet, evaluate
from dipapprox.privacy.decisions.delta import as_ratio, read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion, read_epsilons
from dipapprox.privacy.decisions.signs import Signs, check_delta
from dipapprox.privacy.notation import as_latex, as_text
from tests.cases import cases, refuses
from tests.texts import text_of


@cases("text", "", "..", "1..", "..1", "-1..1", "0..0", "2..1", "a..b", "1..2..3")
def test_intervals_that_are_none(text) -> None:
    refuses(UserError, None, read_epsilons, text)


@cases(
    "text",
    "", "2", "-1/2", "exp(1)", "log(eps)", "exp(eps^2)", "exp(1 / eps)", "eps^eps", "1/0", "x",
     "eps^(1/2)", "1/(eps - eps)", "1/(eps + exp(-1))", "exp(-1)/(eps - 1)", "eps*exp(10^9)",
)  # fmt: skip
def test_deltas_that_are_none(text) -> None:
    refuses(UserError, None, read_delta, text)


@cases(
    "epsilons, delta, words",
    ("0..2", "2 - eps", None),
    ("0..2", "1/(3 - eps)", None),
    ("0..2", "1 - eps", "negative"),
    ("0..2", "1/(1 - eps)^2", "divides by 0"),
    ("0..2", "1/(2 - eps)", "divides by 0"),
    ("0..1", "exp(-2)*eps", None),
    ("0..1", "exp(-2)*eps - eps/7", "negative"),
    ("0..1", "eps*(sqrt(2) + sqrt(3) - sqrt(5 + 2*sqrt(6)))", "tight-delta"),
)
def test_a_delta_must_be_defined_and_nonnegative_on_the_interval(epsilons, delta, words) -> None:
    asked = read_delta(delta), Signs(read_epsilons(epsilons), Limits())
    if words is None:
        check_delta(*asked)
    else:
        kind = LimitReached if words == "tight-delta" else UserError
        refuses(kind, words, check_delta, *asked)


def test_questions_out_of_range() -> None:
    delta = read_delta("0")
    refuses(UserError, "budget", DecisionQuestion, Fraction(-1), delta)
    refuses(UserError, "width", DecisionQuestion, Fraction(1), delta, width=Fraction(0))


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
            low, high = (enclose_at(each, eps, 300, Limits()) for each in delta.bounds(bits))
            assert low.lower <= value.upper and value.lower <= high.upper
            assert high.upper - low.lower <= Fraction(100 * (1 + eps**2), 2**bits)
        exact = delta.at_point(eps).exact
        if "sqrt" not in text and "log" not in text:
            assert exact is not None
            found = enclose_at(exact, eps, 180, Limits())
            assert found.meets(value)


@cases("shift, expected", ("", "DP"), (" - 1e-60", "Not_DP"), (" + 1e-60", "DP"))
@pytest.mark.parametrize("text", ["1/2 - exp(-2)/2", "1/2 - exp(-eps)*exp(-1)*exp(1)*eps/4"])
def test_a_delta_attained_exactly_at_one_epsilon(text, shift, expected) -> None:
    program = parse(text_of("decisions/decide_question-2"))
    decision = decide(program, budget=0, delta=text + shift, interval=(2, 2))
    assert decision.answer.value == expected
    nearby = decide(program, budget=0, delta="exp(-1/2)*eps", interval=(Fraction(1, 10), 2))
    assert nearby.answer.value == "DP"
    violated = decide(program, budget=0, delta="exp(-1)*eps", interval=(Fraction(1, 10), 2))
    assert violated.answer.value == "Not_DP"


@cases(
    "text, reason",
    ("((((1+eps+exp(eps))/30)^100)^100)^101", "powers of powers"),
    ("((((1/3)^100)^100)^(50+50))^101", "powers of powers"),
    ("(exp(-(1/2)^100)^999)^1001 * (-(1/3)^100)^10001", "powers of powers"),
    ("1/(1+eps+exp(eps)+exp(eps/7)+exp(eps/13))^100", "multiplied out"),
    ("(1/(2+eps)^100)^100 + 1/9", "multiplied out"),
    ("(1/(2+eps+exp(-1))^20)^100 + 1/9", "irrational constants"),
)
def test_deltas_that_are_long_when_they_are_multiplied_out_are_refused(text, reason) -> None:
    """Before it is done: nobody would see the end of it."""
    refuses(UserError, reason, read_delta, text)


def test_powers_that_are_no_longer_than_some_are_read() -> None:
    long = read_delta("((1/3)^100)^ 100")
    assert long.exact is not None and long.text == "((1/3)^100)^ 100"
    assert read_delta("(exp(-eps/100)^100)^100").exact is not None
    assert read_delta("(1 - exp(-eps))^30 / 2^30").exact is not None


E = ExponentialPolynomial.monomial


@cases(
    "function, text, latex",
    (ExponentialPolynomial(()), "0", "0"),
    (ONE, "1", "1"),
    (
        E(Fraction(1, 2)) + E(Fraction(-7, 16), rate=Fraction(-1, 4)),
        "1/2 - 7/16 e^(-ε/4)",
        r"\frac{1}{2} - \frac{7}{16} e^{-\varepsilon/4}",
    ),
    (
        E(-1, 2, Fraction(-3, 2)) + E(3, 1),
        "3 ε - ε^2 e^(-3 ε/2)",
        r"3 \varepsilon - \varepsilon^{2} e^{-3 \varepsilon/2}",
    ),
    (E(-1, rate=1), "-e^ε", r"-e^{\varepsilon}"),
)
def test_polynomials(function, text, latex) -> None:
    assert as_text(ExponentialRatio(function)) == text
    assert as_latex(ExponentialRatio(function)) == latex


def test_ratios() -> None:
    factor = ONE + E(1, rate=1)
    assert as_text(ExponentialRatio.of(ONE, {factor: 1})) == "1 / (e^ε + 1)"
    assert as_text(ExponentialRatio.of(factor, {ONE + E(1, 1): 2})) == "(e^ε + 1) / (ε + 1)^2"
    latex = as_latex(ExponentialRatio.of(factor, {ONE + E(1, 1): 2}))
    assert latex == r"\frac{e^{\varepsilon} + 1}{(\varepsilon + 1)^{2}}"


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
