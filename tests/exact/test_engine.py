"""Closed forms of events against published ones and against counting."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import pytest

from dipapprox.events.event import Event, Star
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, exponential_sum
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from tests.exact.laplace_events import ENGINE, FAMILIES, at_most, below, closed_form, form, lap

Q = Fraction


# --- published values: specification of DiPC, section 8 -------------------------------------------


def first_above(centre: Distribution, *queries: Distribution) -> Star:
    """SVT: all queries but the last are below the threshold."""
    return Star(centre, tuple((law, 1) for law in queries[:-1]), ((queries[-1], 1),))


def test_svt_1() -> None:
    """Oracle 1."""
    found = closed_form(first_above(lap(0, 2), lap(0, 4), lap(1, 4)))
    assert found == form(
        (Q(1, 2), 0, 0), (-Q(7, 16), 0, -Q(1, 4)), (Q(1, 6), 0, -Q(1, 2)), (-Q(1, 48), 0, -Q(3, 4))
    )
    equal = closed_form(first_above(lap(0, 2), lap(1, 4), lap(1, 4)))
    assert equal == form(
        (Q(2, 3), 0, -Q(1, 4)), (-Q(11, 24), 0, -Q(1, 2)), (-Q(1, 16), 1, -Q(1, 2))
    )
    for function, digits in ((found, "0.2505221308"), (equal, "0.2032991368")):
        value = enclose_at(function, Q(1), 60, Limits())
        assert abs(value.lower - Q(digits)) <= Q(1, 10**10)
        assert exponential_sum(map(at_zero, [function])) == form((Q(5, 24), 0, 0))


def at_zero(function: ExponentialPolynomial) -> ExponentialPolynomial:
    """The limit for ε -> 0."""
    return form(*((c, 0, 0) for (n, _), c in function.terms if not n))


def test_svt_4() -> None:
    """Oracle 2."""
    third = Q(4, 3)
    assert closed_form(first_above(lap(0, 4), lap(-1, third), lap(0, third))) == form(
        (Q(1, 2), 0, 0), (-Q(9, 16), 0, -Q(1, 4)), (Q(13, 56), 0, -Q(3, 4)), (-Q(9, 112), 0, -1)
    )
    assert closed_form(first_above(lap(0, 4), lap(0, third), lap(-1, third))) == form(
        (Q(19, 112), 0, -Q(3, 4)), (-Q(9, 112), 0, -1)
    )


def test_svt_6() -> None:
    """Oracle 3."""
    eps = Q(67, 92)
    for queries, digits in (((-1, -1, 0), "0.12602749"), ((0, 0, -1), "0.059771855")):
        found = closed_form(first_above(lap(0, 2), *(lap(q, 2) for q in queries)))
        value = enclose_at(found, eps, 60, Limits())
        assert abs(value.lower - Q(digits)) <= Q(1, 10**8)


def svt_3(query: int, rate: int) -> Event:
    """Two queries below the threshold, the third above it and at most 0."""
    laws = (lap(0, 2), *[lap(query, rate)] * 3)
    return Event(laws, (below(1, 0), below(2, 0), below(0, 3), at_most(3, 0)))


def test_svt_3() -> None:
    """Oracle 4."""
    assert closed_form(svt_3(-1, 2)) == form(
        (-Q(85, 192), 0, -Q(1, 2)),
        (Q(5, 12), 0, -1),
        (Q(1, 32), 0, -Q(3, 2)),
        (Q(1, 8), 1, -Q(1, 2)),
        (Q(1, 8), 1, -1),
    )
    assert closed_form(svt_3(0, 2)) == form((Q(1, 192), 0, 0))


def test_svt_3_changes_sign_where_published() -> None:
    """Oracle 5: [-1]^5 against [0]^5, rate ε/4, is violated for ε below about 0.894686."""
    functions = []
    for query in (-1, 0):
        laws = (lap(0, 2), *[lap(query, 4)] * 5)
        guards = (*(below(i, 0) for i in range(1, 5)), below(0, 5), at_most(5, 0))
        functions.append(closed_form(Event(laws, guards)))
    gap = form((1, 0, 1)) * functions[1] - functions[0]
    for eps, sign in ((Q(894685, 10**6), -1), (Q(894687, 10**6), 1)):
        value = enclose_at(gap, eps, 60, Limits())
        assert value.lower * sign > 0 and value.upper * sign > 0


@pytest.mark.parametrize("distance", [Q(0), Q(1), Q(7, 3)])
@pytest.mark.parametrize("rate", [Q(1), Q(1, 4), Q(5, 2)])
def test_two_samples(distance: Fraction, rate: Fraction) -> None:
    """Oracle 8, and the same with 2 x_0 + 3 x_1 in place of a difference."""
    q = -rate * distance
    for slope in (Q(1), Q(-2)):
        for factor in (Q(1), Q(-1, 2)):
            laws = (lap(0, 1 / (rate * abs(slope))), lap(0, 1 / (rate * abs(factor))))
            guard = LinearForm.of({0: slope, 1: factor}, distance)
            expected = form((Q(1, 2), 0, q), (rate * distance / 4, 1, q))
            assert closed_form(Event(laws, (guard,))) == expected
    one_sided = Distribution(EXPONENTIAL, Q(0), 1 / rate)
    found = closed_form(Event((one_sided, one_sided), (below(1, 0, distance),)))
    assert found == form((Q(1, 2), 0, q))


# --- counting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_chains_of_equal_samples(family: Family) -> None:
    law = Distribution(family, Q(1, 3), Q(2, 7))
    for count in range(2, 7):
        chain = Event((law,) * count, tuple(below(i, i + 1) for i in range(count - 1)))
        assert closed_form(chain) == form((Q(1, factorial(count)), 0, 0))
    crossed = Event((law,) * 4, tuple(below(i, j) for i in (0, 1) for j in (2, 3)))
    assert closed_form(crossed) == form((Q(1, 6), 0, 0))
    star = ENGINE.closed_form(Star(law, ((law, 200),), ()), Limits())
    assert star == form((Q(1, 201), 0, 0))
