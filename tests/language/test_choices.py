"""Choices, the exponential mechanism, weights, discretisations and loops become core statements."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import SourceError
from dipapprox.language import ast, core
from dipapprox.language.core import (
    Assign,
    Choose,
    Comparison,
    Constant,
    Draw,
    Epsilon,
    Exponential,
    If,
    Inverse,
    Product,
    Relation,
    Variable,
    WeightProduct,
    WeightSum,
    While,
)
from dipapprox.language.folding import as_number
from dipapprox.language.printer import print_expression
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import FAMILIES
from dipapprox.laws.family import Family
from tests.language.samples import HEADER, core_of

EPS = Fraction(3, 7)


def number(value: int | Fraction) -> Constant:
    return Constant(Fraction(value))


def only(text: str) -> core.Statement:
    """The last statement of a program with inputs q[1], q[2] and the output out, all 0 or 1."""
    return core_of(HEADER + text).body[-1]


# --- choices ------------------------------------------------------------------------------------


def test_a_choice_keeps_its_values_and_weights() -> None:
    statement = only("out <- choose {q[1] : exp(-eps/2), 1 - q[1] : 1/(1 + eps)}")
    half = WeightProduct(number(Fraction(-1, 2)), Epsilon())
    other = core.Sum(Product(number(-1), Variable("q[1]")), number(1))
    assert statement == Choose(
        Variable("out"),
        (
            (Variable("q[1]"), Exponential(half)),
            (other, Inverse(WeightSum(Epsilon(), number(1)))),
        ),
        proportional=False,
        site=0,
    )


def test_choices_and_draws_share_their_numbers() -> None:
    text = "x <- Lap(0, 1/eps)\nfor i in 1..2 do y[i] <- choose {0 : 1/2, 1 : 1/2} end\n"
    body = core_of(HEADER + text + "k <- Exp(eps, q)\nz <- DLap(0, 1/eps)").body
    assert all(isinstance(s, Draw | Choose) for s in body)
    assert [s.site for s in body if isinstance(s, Draw | Choose)] == [0, 1, 2, 3, 4]


def test_a_choice_inside_an_expression_comes_before_the_statement() -> None:
    body = core_of(HEADER + "out <- 1 - choose {0 : 1/2, 1 : 1/2}").body
    assert isinstance(body[0], Choose)
    choice = body[0].target
    assert body[1] == Assign(Variable("out"), core.Sum(Product(number(-1), choice), number(1)))


def test_all_targets_get_one_choice() -> None:
    body = core_of(HEADER + "out, x, v[q[1] + 1] <- choose {0 : 1/2, 1 : 1/2}").body
    assert isinstance(body[0], Choose)
    assert [s.value for s in body[1:] if isinstance(s, Assign)] == [Variable("out")] * 2


def test_the_exponential_mechanism_weighs_the_indices_by_their_scores() -> None:
    def option(i: int) -> tuple[core.Expression, core.Weight]:
        score = Product(number(Fraction(1, 4)), Variable(f"q[{i}]"))
        return number(i), Exponential(WeightProduct(score, Epsilon()))

    expected = Choose(Variable("k"), (option(1), option(2)), proportional=True, site=0)
    assert only("k <- Exp(eps/4, q)") == expected
    assert only("k <- Exp(1/2 * eps / 2, q[1], q[2])") == expected


def test_an_output_cannot_get_an_index_outside_its_domain_unnoticed() -> None:
    with pytest.raises(SourceError, match="2 is not in the domain of output 'out'"):
        only("out <- Exp(eps, q)")


# --- weights ------------------------------------------------------------------------------------

_atoms = st.one_of(st.builds(ast.Number, st.integers(0, 9).map(Fraction)), st.just(ast.Name("eps")))


def _chained(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        st.builds(ast.Sum, pairs, st.sampled_from([("+",), ("-",)])),
        st.builds(ast.Product, pairs, st.sampled_from([("*",), ("/",)])),
        st.builds(ast.Negative, inner),
        st.builds(ast.Power, inner, st.integers(0, 3).map(lambda n: ast.Number(Fraction(n)))),
    )


weights = st.recursive(_atoms, _chained, max_leaves=10)


def surface_value(node: ast.Expression) -> Fraction:
    """The value of a weight without exp and variables at EPS."""
    match node:
        case ast.Number(value):
            return value
        case ast.Name():
            return EPS
        case ast.Negative(operand):
            return -surface_value(operand)
        case ast.Sum((left, right), (operator,)):
            a, b = surface_value(left), surface_value(right)
            return a + b if operator == "+" else a - b
        case ast.Product((left, right), (operator,)):
            a, b = surface_value(left), surface_value(right)
            return a * b if operator == "*" else a / b
        case ast.Power(base, exponent):
            return Fraction(surface_value(base) ** int(surface_value(exponent)))
    raise AssertionError(node)


def core_value(weight: core.Weight) -> Fraction:
    """The value of a core weight without exp and variables at EPS."""
    match weight:
        case Constant(value):
            assert isinstance(value, Fraction)
            return value
        case Epsilon():
            return EPS
        case WeightSum(left, right) | core.Sum(left, right):
            return core_value(left) + core_value(right)
        case WeightProduct(left, right) | Product(left, right):
            return core_value(left) * core_value(right)
        case Inverse(operand):
            return 1 / core_value(operand)
        case Exponential() | Variable() | core.Element():
            raise AssertionError(weight)
        case _:
            assert_never(weight)


@given(weights)
def test_weights_keep_their_values(weight: ast.Expression) -> None:
    try:
        expected: Fraction | None = surface_value(weight)
    except ZeroDivisionError:
        expected = None
    text = f"x <- choose {{0 : {print_expression(weight)}}}"
    try:
        statement = only(text)
    except SourceError as error:
        # Constants only: whatever divides by eps - eps is noticed where the weight is evaluated.
        assert expected is None
        assert error.diagnostics[0].message == "division by zero"
        return
    assert isinstance(statement, Choose)
    ((_, made),) = statement.options
    if expected is None:
        with pytest.raises(ZeroDivisionError):
            core_value(made)
    else:
        assert core_value(made) == expected


@pytest.mark.parametrize(
    "exponent",
    ["eps", "-eps/2", "q[1] * eps", "(q[1] - 1) * eps", "eps * 2^3", "eps / (1 + q[1])", "0",
     "eps^2 * 0 + eps", "eps - q[1] * eps"],
)  # fmt: skip
def test_exponents_are_linear_in_eps(exponent: str) -> None:
    statement = only(f"x <- choose {{0 : exp({exponent}), 1 : 1 - exp({exponent})}}")
    assert isinstance(statement, Choose)


# --- discretisations ----------------------------------------------------------------------------


def test_a_discretisation_becomes_nested_ifs() -> None:
    # DiPC paper, section 7.1: the last point is no cut point, only a label.
    body = core_of(
        "param low = -1\ninput q in {0, 1}\noutput out in -1..1\n"
        "r <- Lap(q, 1/eps)\nout <- disc(2 * r; low < 0 < 1)"
    ).body
    value, out = Product(number(2), Variable("r")), Variable("out")

    def below(point: int, otherwise: core.Statement) -> core.Statement:
        condition = Comparison(value, Relation.LESS_EQUAL, number(point))
        return If(condition, (Assign(out, number(point)),), (otherwise,))

    assert body[1:] == (below(-1, below(0, Assign(out, number(1)))),)


@pytest.mark.parametrize("points", [(-1, 0, 1), (0, 1), (Fraction(-1, 2), 3)])
@given(value=st.fractions(-5, 5))
def test_a_discretisation_is_the_definition_of_the_paper(
    points: tuple[Fraction, ...], value: Fraction
) -> None:
    chain = " < ".join(f"({point})" for point in points)
    body = core_of(f"param x\noutput out in -10..10\ny <- disc(x; {chain})", x=value).body
    while isinstance(branch := body[-1], If):
        # A constant condition: see which branch it takes.
        comparison = branch.condition
        assert isinstance(comparison, Comparison)
        assert isinstance(comparison.left, Constant)
        assert isinstance(comparison.right, Constant)
        taken = as_number(comparison.left) <= as_number(comparison.right)
        body = branch.then if taken else branch.otherwise
    (statement,) = body
    assert isinstance(statement, Assign)
    cells = [points[0], *(b for a, b in pairwise(points[:-1]) if a < value)]
    expected = points[-1] if value > points[-2] else max(p for p in cells)
    assert statement.value == number(expected)


# --- distributions ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", list(FAMILIES.values()))
def test_every_family_can_be_drawn(family: Family) -> None:
    assert only(f"x <- {family.name}(q[1], 3/eps)") == Draw(
        Variable("x"), family, Variable("q[1]"), Scale(Fraction(3), -1), 0
    )


@pytest.mark.parametrize(
    "text",
    [
        "z <- DLap(q[1] - 2 * q[2], 1/eps)\nw <- 2 * z - 3 + q[1]\nif w >= 1/2 then out <- 1 end",
        "for i in 1..2 do z[i] <- DLap(q[i], 1/eps) end\nout <- argmax(z) - 1",
        "x <- 2 * choose {1 : 1/2, 2 : 1/2}\nz <- DLap(x, 1/eps)\nif z < x then out <- 1 end",
        "h <- 1/2\nr <- Lap(h, 1/eps)\nz <- DLap(0, 1/eps)\nif z < h and r < h then out <- 1 end",
    ],
)
def test_integer_samples_stay_among_whole_numbers(text: str) -> None:
    assert any(isinstance(s, Draw) for s in core_of(HEADER + text).body)


@pytest.mark.parametrize(
    ("mean", "whole"),
    [
        ("2 * h", True), ("h", False), ("h - h + 1", True), ("4 * h / 2 + q", True),
        ("(s + 1)/2", True), ("s/2", False), ("s/2 + 1/2 - q", True), ("s/2 + t/2", True),
        ("s/2 + h", False), ("s/2 + t/2 + q/2", False), ("q * q", True), ("q * h", False),
    ],
)  # fmt: skip
def test_means_of_integer_samples_are_checked_on_the_domains(mean: str, whole: bool) -> None:
    inputs = "input q in {0, 1}\ninput h in {0, 1/2}\ninput s, t in {-1, 1}\n"
    text = inputs + f"output out in {{0, 1}}\nz <- DLap({mean}, 1/eps)"
    if whole:
        assert isinstance(core_of(text).body[0], Draw)
    else:
        with pytest.raises(SourceError, match="the mean of 'DLap' may be a fraction"):
            core_of(text)


# --- loops --------------------------------------------------------------------------------------


def test_a_loop_keeps_its_condition_and_body() -> None:
    statement = only("x <- 0\nwhile x < 2 or q[1] = 1 do\nx <- x + 1\nend")
    assert statement == While(
        core.Any(
            (
                Comparison(Variable("x"), Relation.LESS, number(2)),
                Comparison(Variable("q[1]"), Relation.EQUAL, number(1)),
            )
        ),
        (Assign(Variable("x"), core.Sum(Variable("x"), number(1))),),
    )


def test_a_loop_that_never_turns_vanishes() -> None:
    assert core_of(HEADER + "while 1 < 0 do out <- 1 end\nout <- 0").body == (
        Assign(Variable("out"), number(0)),
    )


def test_comparisons_of_samples_may_occur_inside_a_loop() -> None:
    # DiPC paper, section 2.3: what is drawn before may be compared.
    statement = only(
        "r <- Lap(0, 1/eps)\nx <- 0\nwhile x < 2 and r < x do\n"
        "  x <- x + choose {0 : 1/2, 1 : 1/2}\n  if r < 1/2 then out <- disc(r; 0 < 1) end\nend"
    )
    assert isinstance(statement, While)
    assert isinstance(statement.body[0], Choose)
