"""Closed forms of Laplace-type events: published ones, counting, other engines, exact laws."""

from fractions import Fraction
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.events.event import Event, Star
from dipapprox.exact.laplace import algebra
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, exponential_sum
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from tests.exact.laplace_events import ENGINE, FAMILIES, below, closed_form, form, lap
from tests.numerics.alone import alone

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


# --- the other engines ----------------------------------------------------------------------------

scales = st.sampled_from([Q(1), Q(1), Q(1, 2), Q(1000, 1001), Q(7, 3)])
means = st.sampled_from([Q(0), Q(0), Q(1), Q(-1, 2), Q(5, 7)])


@st.composite
def events(draw: st.DrawFn, sums: bool, most: int = 4) -> Event:
    """Up to `most` samples: comparisons with offsets, constants, scaled, and sums."""
    size = draw(st.integers(2, most))
    families = st.sampled_from(FAMILIES if draw(st.booleans()) else FAMILIES[:1])
    laws = [Distribution(draw(families), draw(means), draw(scales)) for _ in range(size)]
    guards = []
    for j in range(1, size):
        i = draw(st.integers(0, j - 1))
        low, high = draw(st.permutations([i, j]))
        guards.append(below(low, high, draw(st.sampled_from([Q(0), Q(0), Q(1, 2), Q(-1, 3)]))))
    if draw(st.booleans()):
        sample = draw(st.integers(0, size - 1))
        guards.append(LinearForm.of({sample: Q(draw(st.sampled_from([1, -1])))}, draw(means)))
    if sums:
        numbers = st.sampled_from([Q(1), Q(-1), Q(2), Q(-1, 2), Q(0)])
        some = [draw(numbers) for _ in range(size)]
        some[0], some[1] = some[0] or Q(1), some[1] or Q(-1)
        guards.append(LinearForm.of(dict(enumerate(some)), draw(means)))
    return Event(tuple(laws), tuple(guards))


epsilons = st.fractions(Q(1, 10), 4, max_denominator=30)


def at(event: Event, eps: Fraction) -> Event:
    """Every scale divided by eps."""
    laws = (Distribution(law.family, law.mean, law.scale / eps) for law in event.samples)
    return Event(tuple(laws), event.guards)


def enclosed_at(function: ExponentialPolynomial, eps: Fraction) -> Enclosure:
    value = enclose_at(function, eps, 120, Limits())
    assert isinstance(value, Enclosure)
    return value


@given(event=events(sums=False, most=6), eps=epsilons)
def test_trees_lie_in_the_enclosures_of_elimination(event: Event, eps: Fraction) -> None:
    found = alone(Eliminated(), at(event, eps), 40, Limits())
    value = enclosed_at(closed_form(event), eps)
    assert found.width < Q(1, 2**40)
    assert found.lower <= value.upper and value.lower <= found.upper
    assert value.width < Q(1, 2**100)


@given(event=events(sums=True), factor=st.sampled_from([Q(2), Q(1, 3), Q(7, 5)]))
def test_dividing_the_scales_dilates(event: Event, factor: Fraction) -> None:
    assert closed_form(at(event, factor)) == closed_form(event).dilated(factor)


def test_rates_without_short_units_need_the_general_way() -> None:
    scales = [Q(10**30 + 57, 10**29 + 3), Q(10**31 + 33, 10**31 + 1)]
    event = Event(tuple(lap(0, scale) for scale in scales), (below(1, 0, 1),))
    found = closed_form(event)
    long, short = scales
    # (b² e^(-1/b) - a² e^(-1/a)) / (2 (b² - a²)) for scales a < b
    expected = form((long**2, 0, -1 / long), (-(short**2), 0, -1 / short))
    assert found == expected.scaled(1 / (2 * (long**2 - short**2)))


# --- limits and what is outside -------------------------------------------------------------------


def test_other_noise_is_named() -> None:
    gauss = Distribution(GAUSSIAN, Q(0), Q(1))
    found = ENGINE.closed_form(Event((gauss, lap(0, 1)), (below(0, 1),)), Limits())
    assert found == NotEnclosed("outside-fragment: Gaussian noise has no closed form")
    assert isinstance(ENGINE.closed_form(Star(lap(0, 1), ((gauss, 2),), ()), Limits()), NotEnclosed)


def test_pieces_are_limited() -> None:
    laws = tuple(lap(i, i + 1) for i in range(5))
    sums = tuple(LinearForm.of({i: Q(1) for i in range(5) if i != k}) for k in range(5))
    found = ENGINE.closed_form(Event(laws, sums), Limits(pieces=5))
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")
    crossed = tuple(below(i, j) for i in (0, 1) for j in (2, 3, 4))
    found = ENGINE.closed_form(Event(laws, crossed), Limits(pieces=1))
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")


def test_long_products_and_the_time_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    star = Star(lap(0, 1), ((lap(1, 3), 3), (lap(2, 5), 3)), ())
    with pytest.raises(LimitReached):
        LaplaceIntegrals().closed_form(star, Limits(seconds=0))
    monkeypatch.setattr(algebra, "_MOST_TERMS", 10)
    engine = LaplaceIntegrals()
    found = engine.closed_form(star, Limits())
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")
    monkeypatch.undo()
    assert engine.closed_form(star, Limits()) == closed_form(star)
