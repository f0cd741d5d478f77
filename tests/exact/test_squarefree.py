"""Squarefree parts multiply to the function, also with several exponentials."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.exact.signs import squarefree
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.exact.signs.squarefree import SquarefreeParts, squarefree_parts
from dipapprox.exponentials import ExponentialPolynomial
from exact.sign_functions import EPS, ONE, constant, exp

F = Fraction


def multiplied(parts: SquarefreeParts) -> NormalForm:
    """The normal form of the product."""
    total = constant(parts.sign)
    for part, exponent in parts.parts:
        total = total * part.function() ** exponent
    return normal_form(total)


@pytest.mark.parametrize(
    ("function", "exponents"),
    [
        ((EPS * exp(F(12345, 10007)) - ONE) ** 2 * (exp(F(1, 8)) + EPS), [1, 2]),
        ((exp(2) - exp(F(1, 3)) - exp(F(1, 5)) - exp(F(1, 1007)) - EPS) ** 4, [4]),
        (-((exp(F(1, 10007)) - EPS) ** 3), [3]),
    ],
)
def test_several_exponentials(function: ExponentialPolynomial, exponents: list[int]) -> None:
    form = normal_form(function)
    found = squarefree_parts(form)
    assert sorted(exponent for _, exponent in found.parts) == exponents
    assert multiplied(found) == form


def test_incomplete_parts_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squarefree, "_WORK_BUDGET", 10)
    form = normal_form((exp(1) - EPS) ** 2 * (exp(3) + EPS))
    found = squarefree_parts(form)
    assert not found.complete
    assert multiplied(found) == form
