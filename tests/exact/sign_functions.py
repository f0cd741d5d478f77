"""Short spellings, known zeros and strategies for functions whose signs are asked for."""

from fractions import Fraction

from hypothesis import strategies as st

from dipapprox.exponentials import ExponentialPolynomial

EPS = ExponentialPolynomial.monomial(1, 1)
ONE = ExponentialPolynomial.constant(1)


def constant(value: Fraction | int) -> ExponentialPolynomial:
    return ExponentialPolynomial.constant(value)


def exp(rate: Fraction | int) -> ExponentialPolynomial:
    """e^(rate * eps)."""
    return ExponentialPolynomial.monomial(1, 0, rate)


def product(functions: list[ExponentialPolynomial]) -> ExponentialPolynomial:
    """The product of any number of functions."""
    total = ONE
    for function in functions:
        total = total * function
    return total


OMEGA = EPS * exp(1) - ONE
"""eps e^eps - 1, with the only zero 0.567143290409783872999968662..., OEIS A030178."""

small_fractions = st.fractions(Fraction(1, 8), Fraction(6), max_denominator=12)
rates = st.fractions(Fraction(-3), Fraction(3), max_denominator=8)
coefficients = st.integers(-9, 9).map(Fraction)
functions = st.dictionaries(
    st.tuples(st.integers(0, 3), rates), coefficients, min_size=1, max_size=6
).map(ExponentialPolynomial.of)
coarse_functions = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(-6, 6).map(lambda j: Fraction(j, 3))),
    coefficients,
    min_size=1,
    max_size=5,
).map(ExponentialPolynomial.of)
"""Of low degree in e^(eps/3), so that even squares of squares can be factorised."""
