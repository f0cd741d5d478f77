"""Sums of k^m Y^{ek} in closed form, against adding up; and quotients in lowest terms."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.exact.integers.lattice_ratios import (
    LatticeRatio,
    constant,
    inverse_of_one_minus,
    lattice_sum,
    lowest_terms,
)
from dipapprox.exact.integers.sums import (
    Function,
    Monomial,
    antidifference,
    substituted,
    times_exponential,
)

BASES = st.sampled_from([Fraction(1, 2), Fraction(3, 7), Fraction(5, 4)])


def number(ratio: LatticeRatio, base: Fraction) -> Fraction:
    """Put a rational number for Y."""
    top = sum(
        (Fraction(int(c.p), int(c.q)) * base ** int(k) for (k,), c in ratio.numerator.terms()),
        Fraction(0),
    )
    below = prod(((1 - base**d) ** e for d, e in ratio.denominator), start=Fraction(1))
    return base**ratio.shift * top / below


def at(function: Function, point: tuple[int, ...], base: Fraction) -> Fraction:
    """The value at integers, for a rational Y."""
    total = Fraction(0)
    for (powers, rates), c in function.items():
        monomial = prod((k**m for k, m in zip(point, powers, strict=True)), start=Fraction(1))
        exponent = sum(k * e for k, e in zip(point, rates, strict=True))
        total += number(c, base) * monomial * base**exponent
    return total


@st.composite
def ratios(draw: st.DrawFn) -> LatticeRatio:
    value = constant(draw(st.integers(-3, 3)))
    for d in draw(st.lists(st.sampled_from([1, 2, 3]), max_size=2)):
        value = value * inverse_of_one_minus(d)
    return value.shifted(draw(st.integers(-3, 3)))


@st.composite
def functions(draw: st.DrawFn, size: int = 2) -> Function:
    terms: dict[Monomial, LatticeRatio] = {}
    for _ in range(draw(st.integers(1, 3))):
        powers = tuple(draw(st.integers(0, 3)) for _ in range(size))
        rates = tuple(draw(st.integers(-2, 2)) for _ in range(size))
        value = draw(ratios())
        if value:
            terms[powers, rates] = value
    return terms


@given(functions(), st.integers(-4, 4), st.integers(-4, 4), BASES)
def test_an_antidifference_steps_by_the_function(
    function: Function, first: int, second: int, base: Fraction
) -> None:
    sums = antidifference(function, 0)
    step = at(sums, (first, second), base) - at(sums, (first - 1, second), base)
    assert step == at(function, (first, second), base)


@given(functions(), st.integers(-3, 3), st.integers(-3, 3), BASES)
def test_products_with_exponentials_and_substitutions_are_pointwise(
    function: Function, first: int, second: int, base: Fraction
) -> None:
    point = first, second
    product = times_exponential(function, 1, -2, 3)
    assert at(product, point, base) == at(function, point, base) * base ** (3 - 2 * second)
    moved = substituted(function, 0, (2, -1), 3)
    assert at(moved, point, base) == at(function, (2 * first - second + 3, second), base)


@given(st.lists(ratios(), max_size=5), BASES)
def test_ratios_add_up(values: list[LatticeRatio], base: Fraction) -> None:
    expected = sum((number(value, base) for value in values), Fraction(0))
    assert number(lattice_sum(values), base) == expected


def times_differences(numerator: dict[int, Fraction], powers: list[int]) -> dict[int, Fraction]:
    """Multiply Σ c Y^k by 1 - Y^d for all d."""
    for d in powers:
        product = dict(numerator)
        for k, c in numerator.items():
            product[k + d] = product.get(k + d, Fraction(0)) - c
        numerator = {k: c for k, c in product.items() if c}
    return numerator


@given(
    st.dictionaries(
        st.integers(0, 6), st.fractions(-2, 2, max_denominator=6).filter(bool), min_size=1
    ),
    st.dictionaries(st.integers(1, 12), st.integers(1, 2), max_size=4),
    st.lists(st.integers(1, 12), max_size=3),
)
def test_lowest_terms_are_equal_and_positive(
    numerator: dict[int, Fraction], denominator: dict[int, int], cancelling: list[int]
) -> None:
    numerator = times_differences(numerator, cancelling)  # so that something cancels
    found = lowest_terms(numerator, denominator)
    assert found is not None
    for base in (Fraction(1, 3), Fraction(4, 5)):
        values = [sum(c * base**k for k, c in factor) for factor, _ in found.denominator]
        assert all(value > 0 for value in values)
        exponents = [e for _, e in found.denominator]
        below = prod((v**e for v, e in zip(values, exponents, strict=True)), start=Fraction(1))
        top = sum((c * base**k for k, c in found.numerator.items()), Fraction(0))
        expected = sum((c * base**k for k, c in numerator.items()), Fraction(0))
        expected /= prod(((1 - base**d) ** e for d, e in denominator.items()), start=Fraction(1))
        assert top / below == expected
