"""Signs of functions of eps: those that the verifier proves are proved, and no false one is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact.sign_functions import EPS, ONE, coarse_functions, constant, exp, functions, product
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Limits
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exact.signs.positive import positive_on
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.kernel import signs
from dipapprox.kernel.errors import BadProof, NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.signs import ALL, Epsilons, Signs, read_epsilons

HALF, TWO = Fraction(1, 2), Fraction(2)
INTERVALS = (
    ALL,
    Epsilons(Fraction(0), TWO),
    Epsilons(HALF, None),
    Epsilons(HALF, TWO),
    Epsilons(Fraction(1), Fraction(1)),
)
SAMPLES = [
    Fraction(n, d) for d in (1, 7, 64) for n in (1, 2, 3, 5, 16, 33, 64, 100, 127, 200, 1000)
]


def as_sum(function: ExponentialPolynomial) -> Sum:
    return Sum.of(((q, n), c) for (n, q), c in function.terms)


def as_function(function: Sum) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(n, q): c for (q, n), c in function.terms})


def interval_of(on: Epsilons) -> EpsilonInterval:
    return EpsilonInterval(on.lower, on.upper, on.lower > 0, on.upper is not None)


def holds(function: Sum, on: Epsilons, positive: bool) -> bool:
    """Whether a sign holds where it is tried: at simple numbers, and at the ends."""
    limits = Limits()
    ends = [end for end in (on.lower, on.upper) if end]
    tried = [eps for eps in (*SAMPLES, *ends) if on.holds(eps, eps)]
    found = [sign_at(as_function(function), eps, limits) for eps in tried]
    return all(each > 0 or (not each and not positive) for each in found)


@given(st.one_of(functions, coarse_functions), st.sampled_from(INTERVALS), st.booleans())
def test_what_the_verifier_proves_is_told(
    function: ExponentialPolynomial, on: Epsilons, positive: bool
) -> None:
    limits, told = Limits(), Signs(on).tell(as_sum(function), positive)
    found: object = positive_on(function, interval_of(on), limits) if positive else None
    if not positive:
        answer = is_nonnegative(function, interval_of(on), limits)
        found = answer if isinstance(answer, Nonnegative) else None
    touches = not positive and not Signs(on).tell(as_sum(function), positive=True)
    assert told == (found is not None) or (touches and not told)
    assert not told or holds(as_sum(function), on, positive)


TOUCHING = {
    "a square": product([EPS - ONE, EPS - ONE]),
    "a power between": product([EPS - constant(Fraction(22, 7))] * 4) * exp(1),
    "zeros at both ends": (EPS - constant(HALF)) * (constant(2) - EPS),
    "squares at both ends": product([EPS - constant(HALF), EPS - constant(2)] * 2),
    "more nearly a double zero": product([EPS - ONE, EPS - ONE]) + constant(Fraction(1, 10**40)),
    "nearly a double zero": product([EPS - ONE, EPS - ONE]) + constant(Fraction(1, 10**12)),
    "high order at 0": exp(1) - ONE - EPS - (EPS * EPS).scaled(HALF) + constant(0),
    "high order at 0, and one zero below": (exp(1) - ONE - EPS) * (EPS + ONE) * (EPS - ONE),
    "falls, then rises": EPS * EPS - EPS.scaled(Fraction(3, 2)) + constant(Fraction(3, 5)),
    "large powers": product([EPS] * 9) - product([EPS] * 8).scaled(3) + exp(3) + constant(90),
    "low far away": (product([EPS - constant(10**6)] * 2) + ONE) * exp(HALF) - ONE,
    "small rates": exp(Fraction(1, 97)) - constant(1) - EPS.scaled(Fraction(1, 100)),
}


@pytest.mark.parametrize("name", TOUCHING)
@pytest.mark.parametrize("on", INTERVALS[:4], ids=str)
@pytest.mark.parametrize("flipped", [False, True])
def test_touching_functions_are_told(name: str, on: Epsilons, flipped: bool) -> None:
    function = -TOUCHING[name] if flipped else TOUCHING[name]
    answer = is_nonnegative(function, interval_of(on), Limits())
    assert Signs(on).tell(as_sum(function), positive=False) == isinstance(answer, Nonnegative)


def test_how_many_cuts_and_rises_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rises from 0 on, slopes of one sign, and slopes of slopes at both ends need no cuts."""
    near_e = constant(Fraction(271828182845904, 10**14))
    functions_of = {
        ALL: [exp(1) - ONE - EPS, EPS * exp(1) - EPS],
        Epsilons(Fraction(1), TWO): [exp(1) - near_e, exp(-1) - exp(-2), product([EPS - ONE] * 2)],
        Epsilons(HALF, Fraction(1)): [near_e + constant(HALF) - exp(1), product([EPS - ONE] * 2)],
    }
    monkeypatch.setattr(signs, "MOST_BOXES", 2)
    for on, known in functions_of.items():
        for function in known:
            assert Signs(on).tell(as_sum(function), positive=False)
    square = as_sum(product([EPS - ONE] * 2))
    assert not Signs(Epsilons(HALF, Fraction(7, 2))).tell(square, positive=False)
    monkeypatch.setattr(signs, "MOST_RISES", 0)
    assert not Signs(Epsilons(Fraction(1), TWO)).tell(square, positive=False)


def test_all_epsilons_are_those_above_0() -> None:
    assert ALL.holds(Fraction(0), None) and ALL.value is ALL
    assert Epsilons(HALF, HALF).value == HALF
    assert not Signs(ALL).tell(as_sum(EPS - constant(HALF)), positive=False)


def test_what_touches_0_at_an_irrational_number_is_not_known() -> None:
    function = as_sum(product([EPS * exp(1) - ONE] * 2))
    for on in INTERVALS[:4]:
        assert not Signs(on).tell(function, positive=False)
    assert Signs(Epsilons(Fraction(1), None)).tell(function, positive=True)


def test_signs_at_the_ends_are_weak_where_they_are_zero() -> None:
    for low, high, function, positive in (
        (1, 2, EPS - ONE, False),
        (1, 2, constant(2) - EPS, False),
        (HALF, 2, EPS - constant(Fraction(1, 4)), True),
        (HALF, 1, constant(2) - EPS, True),
        (0, None, exp(1) - ONE, True),
        (2, None, EPS - ONE, True),
        (0, 2, exp(1) - ONE, True),
        (0, 1, EPS * (ONE - EPS), False),
        (1, None, product([EPS - ONE] * 3), False),
        (0, None, product([EPS - ONE] * 2), False),
        (2, 3, product([EPS - ONE] * 2), True),
        (1, 1, product([EPS - ONE] * 2), False),
    ):
        signs = Signs(Epsilons(Fraction(low), None if high is None else Fraction(high)))
        assert signs.tell(as_sum(function), positive=False)
        assert signs.tell(as_sum(function), positive=True) is positive
        assert low == high or not signs.tell(as_sum(-function), positive=False)


def test_signs_of_a_part_may_be_known_where_those_of_the_whole_are_not() -> None:
    function, signs = as_sum(EPS - ONE), Signs(ALL)
    for lower, upper, positive, told in (
        (1, 3, False, True),
        (1, 3, True, False),
        (2, None, True, True),
        (HALF, 2, False, False),
        (2, 2, True, True),
        (1, 1, True, False),
        (HALF, HALF, False, False),
    ):
        on = Epsilons(Fraction(lower), None if upper is None else Fraction(upper))
        assert signs.tell(function.scaled(TWO), positive, on) is told


def test_only_what_has_one_sign_is_divided_by() -> None:
    signs = Signs(ALL)
    grows, falls = (Ratio(as_sum(each)) for each in (exp(1) - ONE, ONE - exp(1)))
    for eps in (HALF, TWO):
        for one in (grows, falls):
            whole = (signs.inverse(one) * one + Ratio.constant(Fraction(-1))).numerator
            assert whole.sign(eps) == 0
        # A quotient has the sign of its numerator.
        assert signs.inverse(falls).numerator.sign(eps) == -1
    for one in (as_sum(EPS - ONE), Sum(())):
        with pytest.raises(NotProved):
            signs.inverse(Ratio(one))
        with pytest.raises(NotProved):
            Signs.at(Fraction(1)).inverse(Ratio(one))


def test_intervals_are_read_strictly() -> None:
    assert read_epsilons({"from": 0, "to": None}) == ALL
    assert read_epsilons("1/2").point == HALF
    records = [{"from": 0}, {"from": None, "to": 1}, {"from": 0, "to": "inf"}]
    records += [{"from": 2, "to": 1}, {"from": 0, "to": 0}]
    for bad in (0, -1, None, "1", [0, 1], *records, {"from": 0, "to": 1, "closed": True}):
        with pytest.raises(BadProof):
            read_epsilons(bad)


def test_powers_that_are_high_are_refused_and_not_worked_out() -> None:
    function = Sum.of([((Fraction(0), 10**9), 1), ((Fraction(0), 0), -1)])
    with pytest.raises(NotProved):
        Signs(Epsilons(Fraction(2), Fraction(3))).tell(function, positive=False)
