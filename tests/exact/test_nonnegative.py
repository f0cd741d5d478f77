"""Decisions f >= 0 on adversarial functions, their evidence and their witnesses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exact.signs.nonnegative import (
    Negative,
    Nonnegative,
    Undecided,
    is_nonnegative,
    positive_on,
)
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from exact.sign_functions import EPS, OMEGA, ONE, constant, exp
from tests.thorough import part

LIMITS = Limits()
F = Fraction


TRUE = {
    "zero function": constant(0),
    "spec: touching zero": OMEGA**2,
    "spec: e^x - 1 - x": exp(1) - ONE - EPS,
    "e^x - 1 - x - x²/2": exp(1) - ONE - EPS - (EPS * EPS).scaled(F(1, 2)),
    "double rational zero": (EPS - constant(F(1, 3))) ** 2 * (exp(1) + ONE),
    "two double zeros": (EPS * EPS - constant(2)) ** 2 * (exp(1) - constant(5)) ** 4,
    "nearly a double zero": OMEGA**2 + constant(F(1, 10**30)),
    "nearly a double zero, decaying": OMEGA**2 * exp(-2) + exp(-3).scaled(F(1, 10**20)),
    "x e^-x <= 1": ONE - EPS * exp(-1),
    "large denominators": exp(F(12345, 10007)) * (ONE - exp(F(-1, 8))) - EPS.scaled(F(1, 8)),
}

FALSE = {
    "spec: triple zero": OMEGA**3,
    "spec: e^x - 1 - x - x²": exp(1) - ONE - EPS - EPS * EPS,
    "negative constant": constant(F(-1, 10**50)),
    "nearly a double zero": OMEGA**2 - constant(F(1, 10**30)),
    "negative below 1e-9": exp(1) - constant(1 + F(1, 10**9)),
    "negative beyond 1e6": constant(10**6) - EPS,
    "negative far away": exp(F(-1, 10**6)) - constant(F(1, 3)),
    "a millionth wide, around 1": (EPS - ONE) ** 2 * exp(2) - exp(1).scaled(F(1, 4 * 10**12)),
    "a millionth wide, around W(1)": OMEGA**2 * exp(-2) - constant(F(1, 10**13)),
    "a rational pair": (EPS - constant(F("0.7777777"))) * (EPS - constant(F("0.7777778"))),
}


@pytest.mark.parametrize("name", TRUE)
def test_nonnegative(name: str) -> None:
    answer = is_nonnegative(TRUE[name], ALL_EPSILONS, LIMITS)
    assert isinstance(answer, Nonnegative)


@pytest.mark.parametrize("name", FALSE)
def test_negative(name: str) -> None:
    answer = is_nonnegative(FALSE[name], ALL_EPSILONS, LIMITS)
    assert isinstance(answer, Negative)
    assert sign_at(FALSE[name], answer.eps, LIMITS) == -1


def test_intervals_restrict_the_question() -> None:
    function = exp(1) - ONE - EPS - EPS * EPS  # < 0 until 1.79
    assert isinstance(is_nonnegative(function, EpsilonInterval(F(2), None), LIMITS), Nonnegative)
    part = EpsilonInterval(F(17, 10), F(2), True, True)
    answer = is_nonnegative(function, part, LIMITS)
    assert isinstance(answer, Negative)
    assert answer.eps in part
    # A zero at an end is no sign change inside.
    line = EPS - ONE
    assert isinstance(is_nonnegative(line, EpsilonInterval(F(1), F(5)), LIMITS), Nonnegative)
    assert isinstance(is_nonnegative(-line, EpsilonInterval(F(0), F(1)), LIMITS), Nonnegative)
    point = EpsilonInterval(F(1), F(1), True, True)
    answer = is_nonnegative(line, point, LIMITS)
    assert answer == Nonnegative()
    assert is_nonnegative(line - constant(1), point, LIMITS) == Negative(F(1))


def test_out_of_time_is_undecided_with_the_reason() -> None:
    late = is_nonnegative(OMEGA**2, ALL_EPSILONS, Limits(seconds=0))
    assert isinstance(late, Undecided)
    assert late.reason.startswith("time limit")


@pytest.mark.parametrize("name", [*TRUE, *FALSE])
@pytest.mark.parametrize(("bits", "boxes"), part([(64, 3), (128, 10), (64, 40), (256, 160)], 2))
def test_more_effort_never_changes_an_answer(
    name: str, bits: int, boxes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = {**TRUE, **FALSE}[name]
    full = is_nonnegative(function, ALL_EPSILONS, LIMITS)
    monkeypatch.setattr("dipapprox.exact.signs.values.MOST_BITS", bits)
    monkeypatch.setattr("dipapprox.exact.signs.zeros._FIRST_BOXES", boxes)
    monkeypatch.setattr("dipapprox.exact.signs.zeros._MOST_BOXES", boxes)
    less = is_nonnegative(function, ALL_EPSILONS, LIMITS)
    assert isinstance(less, type(full) | Undecided)


def test_denominators() -> None:
    below = ONE - exp(F(-1, 2))
    assert positive_on(below, ALL_EPSILONS, LIMITS)
    answer = is_nonnegative(ExponentialRatio.of(OMEGA**2, {below: 3}), ALL_EPSILONS, LIMITS)
    assert isinstance(answer, Nonnegative)
    # 1 - eps changes its sign: the ratio (1 + eps) / (1 - eps) is < 0 beyond 1.
    ratio = ExponentialRatio.of(ONE + EPS, {ONE - EPS: 1})
    assert not positive_on(ONE - EPS, ALL_EPSILONS, LIMITS)
    assert positive_on(ONE - EPS, EpsilonInterval(F(0), F(1)), LIMITS)
    assert not positive_on(ONE - EPS, EpsilonInterval(F(0), F(1), False, True), LIMITS)
    assert is_nonnegative(ratio, ALL_EPSILONS, LIMITS) == Negative(F(2))
    unit = EpsilonInterval(F(0), F(1))
    assert isinstance(is_nonnegative(ratio, unit, LIMITS), Nonnegative)
    assert isinstance(is_nonnegative(-ratio, unit, LIMITS), Negative)
    # Even powers have no say.
    squared = ExponentialRatio.of(ONE, {ONE - EPS: 2})
    assert isinstance(is_nonnegative(squared, ALL_EPSILONS, LIMITS), Nonnegative)
