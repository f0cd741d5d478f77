"""Formulas of claims: the grammar, and messages that point at the fault."""

from fractions import Fraction

import pytest
from hypothesis import given

from dipapprox.errors import LimitReached, SourceError
from dipapprox.language.ast import Number
from dipapprox.language.formula import Formula, parse_formula, rational_value
from dipapprox.numerics.formula_values import Undefined, eps_jet, evaluate
from tests.formula_strategies import formulas, write


def parse(text: str) -> Formula:
    return parse_formula(text, "--eps-prv", ("eps", "delta"))


def number(value: str) -> Number:
    return Number(Fraction(value))


@given(formulas)
def test_parse_undoes_write(formula: Formula) -> None:
    assert parse(write(formula)) == formula


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("1 / 2 / 3", "(1 / 2) / 3"),
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("2 * 3 ^ 2", "2 * (3 ^ 2)"),
        ("2 ^ 3 ^ 2", "2 ^ (3 ^ 2)"),
        ("-2 ^ 2", "-(2 ^ 2)"),
        ("2 ^ -3 ^ 2", "2 ^ (-(3 ^ 2))"),
        ("-2 * 3", "(-2) * 3"),
        ("1 - -2", "1 - (-2)"),
        ("+eps", "eps"),
        ("2*eps+1", "(2 * eps) + 1"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    assert parse(text) == parse(grouped)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("(" * 300, 101, "nested too deeply"),
        ("-" * 300 + "1", 101, "nested too deeply"),
        ("1+" * 500 + "1", 1, "a formula of 1001 characters"),
    ],
)
def test_monsters_are_refused(text: str, column: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(text)
    rendered = caught.value.render()
    assert rendered.startswith(f"--eps-prv:1:{column}: ")
    assert message in rendered


@given(formulas)
def test_exact_values_are_those_that_are_enclosed(formula: Formula) -> None:
    exact = rational_value(formula, {"eps": Fraction(1, 3), "delta": Fraction(1, 7)})
    jets = {name: eps_jet(x, x) for name, x in (("eps", Fraction(1, 3)), ("delta", Fraction(1, 7)))}
    try:
        enclosed = evaluate(formula, jets, 80)
    except (Undefined, LimitReached):
        return
    if exact is not None:
        assert exact in enclosed.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("eps/100", "1/300"),
        ("2 * eps^2 - delta", "5/63"),
        ("-eps", "-1/3"),
        ("2^-3", "1/8"),
        ("1 / (eps - 1/3)", None),
        ("0^-1", None),
        ("2^eps", None),
        ("exp(-eps)", None),
        ("eps * log(2)", None),
    ],
)
def test_exact_values(text: str, value: str | None) -> None:
    found = rational_value(parse(text), {"eps": Fraction(1, 3), "delta": Fraction(1, 7)})
    assert found == (None if value is None else Fraction(value))


def test_powers_of_powers_are_refused_before_they_are_written_out() -> None:
    with pytest.raises(SourceError, match="powers of powers"):
        parse("((2^99)^99)^99")
