"""Exact probabilities of choices and loops, against hand calculations and rational elimination."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.exact.choices.absorption import absorption
from dipapprox.exact.choices.circuits import chosen_probability
from dipapprox.exact.choices.validity import law_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.choices import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.limits import Limits
from tests.chosen import chosen

ONE = ExponentialPolynomial.constant(1)
GROWING = ExponentialPolynomial.monomial(1, 0, 1)  # e^ε
STAY = ExponentialRatio.of(GROWING, {GROWING + ONE: 1})  # e^ε / (1 + e^ε)
LEAVE = ExponentialRatio.of(ONE, {GROWING + ONE: 1})
SURELY = ExponentialRatio.constant(1)


def probability(law: ChoiceLaw, *outcomes: int, eps: Fraction | int = 1) -> ExponentialRatio:
    return chosen_probability(chosen(law, outcomes, eps), Limits())


def equal(left: ExponentialRatio, right: ExponentialRatio) -> bool:
    return not (left - right).numerator


def test_states_that_never_end_take_their_probability_with_them() -> None:
    law = ChainLaw((((1, STAY), (2, LEAVE)), (), ((2, SURELY),)), (1,))
    assert equal(absorption(law, Limits())[1], STAY)
    trapped = ChainLaw((((1, SURELY),), ((0, SURELY),), ()), (2,))
    assert not absorption(trapped, Limits())


def _solved(rows: list[dict[int, Fraction]], ends: list[int]) -> list[Fraction]:
    """Absorption probabilities of a rational chain from state 0, by Gauss and Jordan."""
    size = len(rows)
    matrix = [
        [Fraction(int(i == j)) - rows[i].get(j, Fraction(0)) for j in range(size)]
        + [rows[i].get(end, Fraction(0)) for end in ends]
        for i in range(size)
    ]
    for column in range(size):
        pivot = next(r for r in range(column, size) if matrix[r][column])
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        matrix[column] = [entry / matrix[column][column] for entry in matrix[column]]
        for r in range(size):
            if r != column and matrix[r][column]:
                factor = matrix[r][column]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[column], strict=True)]
    return matrix[0][size:]


@st.composite
def chains(draw: st.DrawFn) -> list[list[tuple[int, int]]]:
    """Weights w of steps: (target, exponent k) with w = e^{kε}; states 4 and 5 are ends."""
    rows = []
    for _ in range(4):
        targets = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
        ends = draw(st.sampled_from([4, 5]))
        targets = sorted({*targets, ends})
        rows.append([(target, draw(st.integers(-1, 2))) for target in targets])
    return rows


@given(chains(), st.sampled_from([Fraction(1, 2), Fraction(3), Fraction(7, 5)]))
def test_elimination_agrees_with_rational_arithmetic(
    rows: list[list[tuple[int, int]]], base: Fraction
) -> None:
    """A rational number takes the place of e^ε."""
    law_rows = []
    numbers = []
    for row in rows:
        weights = [ExponentialPolynomial.monomial(1, 0, k) for _, k in row]
        total = weights[0]
        for weight in weights[1:]:
            total = total + weight
        law_rows.append(
            tuple(
                (target, ExponentialRatio.of(weight, {total: 1}))
                for (target, _), weight in zip(row, weights, strict=True)
            )
        )
        whole = sum((base**k for _, k in row), Fraction(0))
        numbers.append({target: base**k / whole for target, k in row})
    law = ChainLaw((*law_rows, (), ()), (4, 5))
    expected = _solved(numbers, [4, 5])
    found = [_at_base(probability(law, outcome), base) for outcome in (0, 1)]
    assert found == expected
    assert sum(found) == 1


def _at_base(function: ExponentialRatio, base: Fraction) -> Fraction:
    def value(polynomial: ExponentialPolynomial) -> Fraction:
        return sum((c * base ** int(rate) for (_, rate), c in polynomial.terms), Fraction(0))

    below = prod((value(f) ** e for f, e in function.denominator), start=Fraction(1))
    return value(function.numerator) / below


def test_a_fixed_law_has_the_value_of_the_function() -> None:
    """(1 - ε)/2 and (1 + ε)/2 at 1/3, alone and as steps of a loop."""
    eps = ExponentialPolynomial.monomial(Fraction(1, 2), 1)
    half = ExponentialPolynomial.constant(Fraction(1, 2))
    less, more = ExponentialRatio(half - eps), ExponentialRatio(half + eps)
    third = Fraction(1, 3)
    fixed = law_at(FiniteLaw((less, more)), third)
    assert probability(fixed, 0) == ExponentialRatio.constant(third)
    loop = ChainLaw((((1, less), (2, more)), ((0, more), (3, less)), (), ()), (2, 3))
    # x = 2/3 + 1/3 · 2/3 · x
    found = probability(law_at(loop, third), 0)
    assert found == ExponentialRatio.constant(Fraction(6, 7))
    assert equal(probability(loop, 0).at(third), found)
