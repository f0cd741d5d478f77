"""Values and derivatives of formulas: containment and width, against fractions and decimals."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.language.formula import Formula, parse_formula
from dipapprox.numerics.formula_values import Jet, Undefined, eps_jet, evaluate
from tests.formula_strategies import exact, formulas, rational_formulas

BITS = 120
points = st.fractions(Fraction(1, 20), Fraction(5), max_denominator=50)


def at(formula: Formula, low: Fraction, high: Fraction | None = None) -> Jet:
    return evaluate(formula, {"eps": eps_jet(low, low if high is None else high)}, BITS)


def parse(text: str) -> Formula:
    return parse_formula(text, "--delta", ("eps",))


@given(rational_formulas, points)
def test_rational_formulas_are_exact_at_points(formula: Formula, eps: Fraction) -> None:
    expected = exact(formula, eps)
    if expected is None:
        with pytest.raises(Undefined) as caught:
            at(formula, eps)
        assert caught.value.certain
    else:
        assert at(formula, eps).value == Enclosure.exact(expected)


@given(formulas, points, points, st.fractions(0, 1, max_denominator=16))
def test_intervals_contain_the_values_at_their_points(
    formula: Formula, first: Fraction, second: Fraction, place: Fraction
) -> None:
    low, high = min(first, second), max(first, second)
    try:
        jet = at(formula, low, high)
    except Undefined:
        assume(False)
    inside = low + place * (high - low)
    found = at(formula, inside)
    assert found.value.meets(jet.value)
    assert jet.value.lower <= found.value.upper
    if found.value.width == 0:
        assert found.value.lower in jet.value
    if jet.slopes is None or low == high:
        return
    # Taylor's theorem from `low`, with the second derivative anywhere in its enclosure.
    step = inside - low
    start = at(formula, low)
    for derivative in (0, 1):
        assert start.slopes[derivative].meets(jet.slopes[derivative])
    corners = [
        value + step * slope + step * step / 2 * bend
        for value in (start.value.lower, start.value.upper)
        for slope in (start.slopes[0].lower, start.slopes[0].upper)
        for bend in (jet.slopes[1].lower, jet.slopes[1].upper)
    ]
    assert found.value.meets(Enclosure(min(corners), max(corners)))


@pytest.mark.parametrize(
    ("text", "low", "high", "certain"),
    [
        ("1/(eps - 1)", 1, 1, True),
        ("1/(eps - 1)", 0, 2, False),
        ("log(eps - 2)", 1, 2, True),
        ("log(eps - 1)", 0, 2, False),
        ("sqrt(eps - 3)", 1, 2, True),
        ("sqrt(eps - 1)", 0, 2, False),
        ("(eps - 3)^0.5", 1, 2, True),
        ("exp(10^5)", 1, 2, True),
        ("eps^(10^6)", 1, 2, True),
    ],
)
def test_undefined(text: str, low: int, high: int, certain: bool) -> None:
    with pytest.raises(Undefined) as caught:
        at(parse(text), Fraction(low), Fraction(high))
    assert caught.value.certain is certain
    assert caught.value.span is not None


@pytest.mark.parametrize("text", ["((1 + eps)^600)^600", "exp(eps*9000)^9000", "3^9999^2"])
def test_huge_values_are_refused_at_once(text: str) -> None:
    with pytest.raises(Undefined):
        at(parse(text), Fraction(1, 7))
