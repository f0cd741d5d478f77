"""Signs of functions of eps: those that the verifier proves are proved, and no false one is."""

from fractions import Fraction

import pytest
from exact.sign_functions import EPS, ONE, constant, exp, product

from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.kernel import signs
from dipapprox.kernel.errors import BadProof, NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.signs import ALL, Epsilons, Signs, read_epsilons
from tests.cases import refuses

HALF, TWO = Fraction(1, 2), Fraction(2)
INTERVALS = (
    ALL,
    Epsilons(Fraction(0), TWO),
    Epsilons(HALF, None),
    Epsilons(HALF, TWO),
    Epsilons(Fraction(1), Fraction(1)),
)


def as_sum(function: ExponentialPolynomial) -> Sum:
    return Sum.of(((q, n), c) for (n, q), c in function.terms)


def test_how_many_cuts_and_rises_are_enough(monkeypatch) -> None:
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


def test_what_touches_0_at_an_irrational_number_is_not_known() -> None:
    function = as_sum(product([EPS * exp(1) - ONE] * 2))
    for on in INTERVALS[:4]:
        assert not Signs(on).tell(function, positive=False)
    assert Signs(Epsilons(Fraction(1), None)).tell(function, positive=True)


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
        refuses(NotProved, None, signs.inverse, Ratio(one))
        refuses(NotProved, None, Signs.at(Fraction(1)).inverse, Ratio(one))


def test_intervals_are_read_strictly() -> None:
    assert read_epsilons({"from": 0, "to": None}) == ALL
    assert read_epsilons("1/2").point == HALF
    records = [{"from": 0}, {"from": None, "to": 1}, {"from": 0, "to": "inf"}]
    records += [{"from": 2, "to": 1}, {"from": 0, "to": 0}]
    for bad in (0, -1, None, "1", [0, 1], *records, {"from": 0, "to": 1, "closed": True}):
        refuses(BadProof, None, read_epsilons, bad)


def test_powers_that_are_high_are_refused_and_not_worked_out() -> None:
    function = Sum.of([((Fraction(0), 10**9), 1), ((Fraction(0), 0), -1)])
    with pytest.raises(NotProved):
        Signs(Epsilons(Fraction(2), Fraction(3))).tell(function, positive=False)
