"""Formulas for people."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.formula import parse_formula
from dipapprox.privacy.decisions.closed_form import as_latex, as_text
from dipapprox.privacy.decisions.delta import as_ratio

E = ExponentialPolynomial.monomial


@pytest.mark.parametrize(
    ("function", "text", "latex"),
    [
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
    ],
)
def test_polynomials(function: ExponentialPolynomial, text: str, latex: str) -> None:
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
def test_the_text_is_the_function(
    top: dict[tuple[int, Fraction], Fraction], below: dict[tuple[int, Fraction], Fraction]
) -> None:
    denominator = ExponentialPolynomial.of(below)
    function = ExponentialRatio.of(ExponentialPolynomial.of(top), {denominator or ONE: 2})
    # As formulas write it: products with signs, and the exponential as a function.
    text = as_text(function).replace("e^ε", "exp(ε)").replace("e^(", "exp(")
    words = text.replace(" exp", " * exp").replace(" ε", " * ε").replace("ε", "eps")
    for operator in "+-/":
        words = words.replace(f"{operator} * ", f"{operator} ")
    read = as_ratio(parse_formula(words, "text", ("eps",)))
    assert not (read - function).numerator
