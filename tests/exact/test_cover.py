"""What a cover says is so: the arguments are repeated, with other means where there are any."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given

from dipapprox.exact.signs.interval import (
    ALL_EPSILONS,
    EpsilonInterval,
    simplest_between,
    split_point,
)
from dipapprox.exact.signs.normal_form import normal_form, reduce_function
from dipapprox.exact.signs.supremum import derivative
from dipapprox.exact.signs.values import enclose_at, sign_at
from dipapprox.exact.signs.zeros import BoxesUsedUp, BoxProof, Cover, cover
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits
from exact.sign_functions import OMEGA, exp, functions

LIMITS = Limits()
F = Fraction


def inside(lower: Fraction, upper: Fraction) -> list[Fraction]:
    """Seven points of a closed range."""
    return [lower + (upper - lower) * k / 6 for k in range(7)]


def check_cover(proof: Cover, interval: EpsilonInterval) -> None:
    """Repeat every argument by exact signs at points, and by exact values at 0."""
    function = proof.form.function()
    slope = derivative(function)
    assert isinstance(slope, ExponentialPolynomial)
    place = interval.lower
    if proof.near is not None:
        assert place == 0
        check_near_zero(function, proof)
        place = proof.near.upper
    for box in proof.boxes:
        assert box.lower == place < box.upper
        place = box.upper
        signs = [sign_at(function, point, LIMITS) for point in inside(box.lower, box.upper)]
        slopes = {sign_at(slope, point, LIMITS) for point in inside(box.lower, box.upper)}
        assert signs[0] == box.sign != 0
        changes = sum(a != b for a, b in pairwise(signs))
        assert changes == (box.argument is BoxProof.CROSSING)
        if box.argument is not BoxProof.CONSTANT:
            assert len(slopes) == 1
            assert 0 not in slopes
    if proof.far is None:
        assert place == interval.upper
    else:
        assert interval.upper is None
        assert proof.far.lower == place
        check_far_away(proof)


def check_near_zero(function: ExponentialPolynomial, proof: Cover) -> None:
    """The first derivative that is not 0 at 0, and signs in (0, upper]."""
    slope = function
    for _ in range(proof.near.order):
        assert sum(c for (n, _), c in slope.terms if n == 0) == 0
        following = derivative(slope)
        assert isinstance(following, ExponentialPolynomial)
        slope = following
    assert sum(c for (n, _), c in slope.terms if n == 0) * proof.near.sign > 0
    for point in (F(1, 1000), F(1, 2), F(1)):
        assert sign_at(function, proof.near.upper * point, LIMITS) == proof.near.sign
        assert sign_at(slope, proof.near.upper * point, LIMITS) == proof.near.sign


def check_far_away(proof: Cover) -> None:
    """The terms against the leading one are smaller at the bound, and fall from there on."""
    lower = proof.far.lower
    (leading_n, _), leading = max(
        proof.form.function().terms, key=lambda term: (term[0][1], term[0][0])
    )
    assert leading * proof.far.sign > 0
    against = [((n, q), c) for (n, q), c in proof.form.function().terms if c * proof.far.sign < 0]
    assert all((n - leading_n) <= -q * lower for (n, q), _ in against)
    total = F(0)
    for (n, q), c in against:
        value = enclose_at(exp(q), lower, 60, LIMITS)
        total += value.upper * abs(c) * lower ** (n - leading_n)
    assert total < abs(leading)


@given(functions)
def test_covers_of_any_function(function: ExponentialPolynomial) -> None:
    assume(function)
    form = reduce_function(function).form
    for interval in (ALL_EPSILONS, EpsilonInterval(F(1, 7), F(5)), EpsilonInterval(F(3), None)):
        try:
            proof = cover(form, interval, 500, LIMITS)
        except BoxesUsedUp:
            continue  # a double zero
        check_cover(proof, interval)


def test_a_double_zero_uses_up_the_boxes() -> None:
    with pytest.raises(BoxesUsedUp, match=r"box-budget: undecided for eps in \[0\.567"):
        cover(normal_form(OMEGA**2), ALL_EPSILONS, 100, LIMITS)


def test_intervals() -> None:
    assert simplest_between(F(0), None) == 1
    assert simplest_between(F(0), F(1)) == F(1, 2)
    assert simplest_between(F("0.7777777"), F("0.7777778")) == F(7, 9)
    assert simplest_between(F(3), F(4)) == F(7, 2)
    for lower, upper in ((F(1, 10**300), F(1, 10**9)), (F(1), F(10**6)), (F(5, 7), F(6, 7))):
        middle = split_point(lower, upper)
        assert lower < middle < upper
        assert middle.denominator & (middle.denominator - 1) == 0
    for bad in (
        (F(-1), None),
        (F(1), F(1)),
        (F(2), F(1), True, True),
        (F(0), F(1), True),
        (F(1), None, False, True),
    ):
        with pytest.raises(ValueError):
            EpsilonInterval(*bad)
    half_open = EpsilonInterval(F(1), F(2), True, False)
    assert F(1) in half_open
    assert F(2) not in half_open
    assert not half_open.encloses(F(1))
    assert F(10**9) in ALL_EPSILONS
