"""The checker's closed forms: reference values, and the same functions as the engine's."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.checking import pairs
from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.decisions.quotients import (
    Quotient,
    constant,
    lowest_terms,
)
from dipapprox.checking.values import Stuck
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exponentials import (
    ONE,
    ExponentialPolynomial,
    ExponentialRatio,
)
from dipapprox.language.core import Program
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.semantics.execution import execute
from tests.checking.certified import PROGRAMS

E = ExponentialPolynomial.monomial


def same_as_engine(program: Program) -> int:
    """Compare all closed forms of a program exactly; return how many there were."""
    inputs = pairs.all_inputs(program)
    forms = Forms(program, inputs, Limits())
    states = execute(program, True, Limits())
    engine = ExactDistributions(states, None, Limits())
    count = 0
    for input in inputs:
        own, found = forms.for_input(input), engine.distribution(input)
        assert not isinstance(found, NotEnclosed)
        assert own.keys() <= set(states.outputs)
        for output, ratio in zip(states.outputs, found, strict=True):
            assert own.get(output, constant(0)).equals(ratio.numerator, bottom_of(ratio))
            count += 1
    return count


def bottom_of(ratio: ExponentialRatio) -> ExponentialPolynomial:
    bottom = ONE
    for factor, exponent in ratio.denominator:
        bottom = bottom * factor**exponent
    return bottom


def test_two_laplace_samples_are_compared_as_in_the_textbook() -> None:
    text = """
    input q in {0, 1}
    output out in {0, 1}
    adjacent all
    a <- Lap(q, 1 / eps)
    b <- Lap(0, 1 / eps)
    if a <= b then out <- 1 else out <- 0 end
    """
    forms = Forms(dipapprox.parse(text), [(Fraction(1),)], Limits())
    # Pr[Z - Z' >= 1] = (1/2 + ε/4) e^(-ε) for two standard Laplace samples over ε.
    expected = E(Fraction(1, 2), 0, -1) + E(Fraction(1, 4), 1, -1)
    assert forms.for_input((Fraction(1),))[(Fraction(1),)] == Quotient(expected)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("svt1", {"N": 3, "c": 2}),
        ("nmax1", {"N": 2}),
        ("nmax2", {"N": 3}),
        ("nmax3", {"N": 2}),
        ("rand1", {"N": 3}),
        ("sparse", {"c": 2}),
        ("svt3", {"N": 2}),
        ("svt5", {}),
        ("hist1", {"N": 2}),
    ],
)
def test_forms_of_the_paper_s_programs_are_those_of_the_engine(
    name: str, values: dict[str, int]
) -> None:
    parameters = {key: Fraction(value) for key, value in values.items()}
    assert same_as_engine(load(PROGRAMS / "dipc" / f"{name}.dpg", parameters)) >= 8


LAWS = ("Lap", "LapPlus", "LapMinus")
numbers = st.fractions(-2, 2, max_denominator=3)
scales = st.sampled_from(["1", "2", "1/2", "4/3"])


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from(LAWS), numbers, scales), min_size=2, max_size=4),
    st.lists(st.tuples(numbers, st.sampled_from(["<", ">="])), min_size=2, max_size=4),
)
def test_forms_of_random_comparisons_are_those_of_the_engine(
    laws: list[tuple[str, Fraction, str]], shifts: list[tuple[Fraction, str]]
) -> None:
    lines = ["input q in {0, 1}", "output out in 0..4", "adjacent all", "out <- 0"]
    for k, (law, mean, scale) in enumerate(laws):
        lines.append(f"x{k} <- {law}({mean} + q, {scale} / eps)")
    for k, (shift, relation) in enumerate(shifts[: len(laws) - 1]):
        lines.append(f"if x{k} + ({shift}) {relation} x{k + 1} then out <- out + 1 end")
    lines.append(f"if x0 >= {shifts[0][0]} then out <- out + 1 end")
    assert same_as_engine(dipapprox.parse("\n".join(lines))) > 0


@pytest.mark.parametrize(
    "body",
    [
        "x <- DLap(q, 1 / eps)\nif x >= 0 then out <- 1 end",
        "x <- DLap(q, 1 / eps)\ny <- DLap(1, 1 / eps)\nif x = y then out <- 1 end",
        "x <- DLap(q, 2 / eps)\ny <- DLap(0, 3 / (2 * eps))\nif x < y and y < 3 then out <- 1 end",
        "x <- DLap(q, 1 / eps)\ny <- DLap(0, 1 / eps)\nz <- DLap(-1, 1 / eps)\n"
        "if x >= y and z >= y and y > -2 then out <- 1 end",
        "x <- DLap(q, 1 / eps)\ny <- DLap(0, 1 / eps)\nz <- DLap(0, 2 / eps)\n"
        "if x + y >= z + 2 then out <- 1 end",
        "x <- Lap(q, 1 / eps)\ny <- Lap(0, 1 / eps)\nz <- Lap(0, 1 / eps)\n"
        "if x + y >= z then out <- 1 end",
        "x <- LapPlus(q, 1 / eps)\ny <- Lap(0, 3 / eps)\n"
        "if x + y >= 1 and 2 * x - y >= 0 then out <- 1 end",
    ],
)
def test_other_forms_are_those_of_the_engine(body: str) -> None:
    head = "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
    assert same_as_engine(dipapprox.parse(head + body)) > 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x <- Gauss(q, 1 / eps)\nif x >= 0 then out <- 1 end", "Gauss noise"),
        ("x <- Lap(q, 1)\nif x >= 0 then out <- 1 end", "scale"),
        (
            "x <- DLap(q, 1 / eps)\ny <- DLap(0, 1 / eps)\nif 2 * x >= 3 * y then out <- 1 end",
            "remainders",
        ),
        (
            "x <- Gauss(q, 1 / eps)\ny <- Lap(0, 1 / eps)\nz <- Lap(0, 1 / eps)\n"
            "if x + y >= z then out <- 1 end",
            "Gaussian noise among them",
        ),
    ],
)
def test_what_has_no_form_is_said(body: str, reason: str) -> None:
    head = "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
    program = dipapprox.parse(head + body)
    with pytest.raises(Stuck, match=reason):
        Forms(program, pairs.all_inputs(program), Limits()).for_input((Fraction(0),))


small = st.lists(
    st.tuples(st.integers(0, 2), st.fractions(-1, 1, max_denominator=2), st.integers(-3, 3)),
    min_size=1,
    max_size=3,
).map(lambda parts: ExponentialPolynomial.of({(n, q): Fraction(c) for n, q, c in parts}))


@settings(deadline=None, max_examples=36)
@given(small, small.filter(bool), small.filter(bool))
def test_equal_quotients_are_equal(
    top: ExponentialPolynomial, bottom: ExponentialPolynomial, factor: ExponentialPolynomial
) -> None:
    reduced = lowest_terms(top, bottom)
    assert reduced == lowest_terms(top * factor, bottom * factor)
    assert reduced.equals(top, bottom)
    assert reduced.minus(reduced) == constant(0)
