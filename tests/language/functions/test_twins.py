"""A function that is followed wrongly is found by running it with numbers."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.functions import weights
from dipapprox.language.functions.modules import read_mechanism
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.run import PathRun


def text_of(body: str) -> str:
    head = (
        "from typing import Annotated, Literal\n"
        "from fractions import Fraction\n"
        "from dipapprox import *\n"
        "@mechanism(adjacent='all')\n"
        "def f(q: Annotated[list[Quantity], '[2] in 0..2'], on: bool, x: Annotated[Quantity,\n"
        "      'in real'], w: Literal['low', 'high'], eps: Weight) -> Annotated[int, 'in -9..9']:\n"
    )
    text = head + indent(body, "    ") + "\n"
    return str(read_mechanism(Path("f.py"), text, "f").text())


SOUND = [
    "return q[0] + 2 * q[1] - (on and q[0] > 1)",
    "return 1 if laplace(x, 1 / eps) > x else 0",
    "return choose([q[0], q[1]], [Fraction(1, 3), Fraction(2, 3)])",
    "return 1 if choose({'low': Fraction(1, 3), 'high': Fraction(2, 3)}) == w else 0",
    "return exponential_mechanism(eps / 2, q)",
    "return rounded(discrete_laplace(q[0], 2 / eps) / 2, 0, 3)",
    "return argmax([gauss(v, sqrt(2) / eps) for v in q]) + clamp(q[0], 0, 1)",
    "return where(maximum([laplace_plus(v, log(3) / eps) for v in q]) > 1, q[0], -1)",
    "p = exp(eps * q[0])\nreturn choose([0, 1], [p / (1 + p), 1 / (1 + p)])",
]


@pytest.mark.parametrize("body", SOUND)
def test_what_is_followed_rightly_is_the_same(body: str) -> None:
    assert "out <- " in text_of(body)


def test_a_difference_of_outputs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Quantity, "__neg__", lambda self: self)
    with pytest.raises(SourceError) as error:
        text_of("return -q[0]")
    shown = error.value.render()
    assert "something else with numbers than with symbols" in shown
    assert "out is -2, and 2 in the program" in shown
    assert shown.startswith("f.py:5:1")


def test_a_difference_of_conditions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Condition, "__and__", Condition.__or__)
    with pytest.raises(SourceError, match="something else with numbers"):
        text_of("r = laplace(x, 1 / eps)\nreturn 1 if (r > 0) & on else 0")


def test_a_difference_of_draws_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    emit = PathRun.emit

    def shifted(self: PathRun, statement: ast.Statement) -> None:
        match statement:
            case ast.Assign(targets, ast.Call("Lap", (mean, scale))):
                call = ast.Call("Lap", (ast.Negative(mean), scale))
                emit(self, ast.Assign(targets, call))
            case _:
                emit(self, statement)

    monkeypatch.setattr(PathRun, "emit", shifted)
    with pytest.raises(SourceError, match="the program draws"):
        text_of("return 1 if laplace(q[0], 1 / eps) > 1 else 0")


def test_statements_that_numbers_do_not_meet_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    emit = PathRun.emit

    def with_a_skip(self: PathRun, statement: ast.Statement) -> None:
        emit(self, statement)
        emit(self, ast.Skip(span=statement.span))

    monkeypatch.setattr(PathRun, "emit", with_a_skip)
    with pytest.raises(SourceError, match="has 'skip', which is not compared") as error:
        text_of("return 1 if laplace(q[0], 1 / eps) > 1 else 0")
    assert error.value.render().startswith("f.py:7:17: type error")


@pytest.mark.parametrize(
    "body",
    [
        "return 1 if laplace(q[0], 1 / eps) > 1 else 0",
        "try:\n    r = laplace(q[0], 1 / eps)\nexcept Exception:\n    return 0\nreturn 1",
    ],
)
def test_expressions_that_numbers_do_not_meet_are_refused(
    monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(weights, "chained", lambda left, _, right: ast.Disc(right, (left,)))
    with pytest.raises(SourceError, match="has 'disc', which is not compared"):
        text_of(body)


@pytest.mark.parametrize(
    "power", ["eps ** 10**9", "(eps ** 10**5) ** 10**5", "1 / eps ** -(10**9)"]
)
def test_high_powers_are_not_multiplied_out(power: str) -> None:
    assert "out <- " in text_of(f"return 1 if laplace(q[0], {power}) > 1 else 0")


def test_a_division_by_zero_at_the_eps_of_a_point_says_nothing() -> None:
    scale = "1 / (eps - Fraction(3, 7))"
    body = f"try:\n    r = laplace(q[0], {scale})\nexcept ZeroDivisionError:\n    r = 0\nreturn 1"
    assert "eps - 3 / 7" in text_of(body)
