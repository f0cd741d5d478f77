"""Sums of k^m Y^{ek} in closed form, against adding up."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.exact.integers.lattice_ratios import (
    LatticeRatio,
    constant,
    inverse_of_one_minus,
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
