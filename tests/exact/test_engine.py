"""Closed forms of events against published ones, against counting and against the other engines."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event, Star, spelled_out
from dipapprox.exact.engine import LaplaceIntegrals
from dipapprox.exact.polyhedra import integrate
from dipapprox.exact.values import enclose_at
from dipapprox.exponentials import ONE, ExponentialPolynomial, exponential_sum
from dipapprox.integrals.optimizer import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.nested.engine import Nested
from dipapprox.semantics.linear import LinearForm

Q = Fraction
ENGINE = LaplaceIntegrals()  # shared on purpose: what it remembers must not matter
FAMILIES = (Family.LAPLACE, Family.EXPONENTIAL, Family.REFLECTED_EXPONENTIAL)


def lap(mean: Fraction | int, scale: Fraction | int) -> Distribution:
    return Distribution(Family.LAPLACE, Q(mean), Q(scale))


def below(i: int, j: int, shift: Fraction | int = 0) -> LinearForm:
    """x_i + shift <= x_j."""
    return LinearForm.of({i: Q(1), j: Q(-1)}, Q(shift))


def at_most(i: int, bound: Fraction | int) -> LinearForm:
    """x_i <= bound."""
    return LinearForm.of({i: Q(1)}, -Q(bound))


def form(*terms: tuple[Fraction | int, int, Fraction | int]) -> ExponentialPolynomial:
    """Σ c ε^n e^{qε} from (c, n, q)."""
    return exponential_sum(ExponentialPolynomial.monomial(c, n, q) for c, n, q in terms)


def closed_form(event: Event | Star) -> ExponentialPolynomial:
    """By elimination if it applies, and by the general recursion: they agree exactly."""
    found = ENGINE.closed_form(event, Limits())
    assert isinstance(found, ExponentialPolynomial), found
    assert integrate(spelled_out(event), Limits()) == found
    return found


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
        assert isinstance(value, Enclosure)
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
    epsilon = Q(67, 92)
    for queries, digits in (((-1, -1, 0), "0.12602749"), ((0, 0, -1), "0.059771855")):
        found = closed_form(first_above(lap(0, 2), *(lap(q, 2) for q in queries)))
        value = enclose_at(found, epsilon, 60, Limits())
        assert isinstance(value, Enclosure)
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
    for epsilon, sign in ((Q(894685, 10**6), -1), (Q(894687, 10**6), 1)):
        value = enclose_at(gap, epsilon, 60, Limits())
        assert isinstance(value, Enclosure)
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
    one_sided = Distribution(Family.EXPONENTIAL, Q(0), 1 / rate)
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


def at(event: Event, epsilon: Fraction) -> Event:
    """Every scale divided by epsilon."""
    laws = (Distribution(law.family, law.mean, law.scale / epsilon) for law in event.samples)
    return Event(tuple(laws), event.guards)


def value_at(function: ExponentialPolynomial, epsilon: Fraction) -> Enclosure:
    value = enclose_at(function, epsilon, 120, Limits())
    assert isinstance(value, Enclosure)
    return value


@given(event=events(sums=False, most=6), epsilon=epsilons)
@settings(deadline=None, max_examples=60)
def test_trees_lie_in_the_enclosures_of_elimination(event: Event, epsilon: Fraction) -> None:
    found = Eliminated().enclose(at(event, epsilon), 40, Limits())
    value = value_at(closed_form(event), epsilon)
    assert isinstance(found, Enclosure) and found.width < Q(1, 2**40)
    assert found.lower <= value.upper and value.lower <= found.upper
    assert value.width < Q(1, 2**100)


@given(event=events(sums=True, most=3), epsilon=epsilons)
@settings(deadline=None, max_examples=8)
def test_sums_lie_in_the_enclosures_of_quadrature(event: Event, epsilon: Fraction) -> None:
    found = Nested(Strategy.LEAST_NESTING).enclose(at(event, epsilon), 12, Limits())
    assert isinstance(found, Enclosure)
    assert found.meets(value_at(closed_form(event), epsilon))


@given(event=events(sums=True), data=st.data())
@settings(deadline=None, max_examples=30)
def test_a_guard_and_its_complement_add_up(event: Event, data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, len(event.guards) - 1))
    guards = list(event.guards)
    with_it = closed_form(event)
    guards[chosen] = -guards[chosen]
    against = closed_form(Event(event.samples, tuple(guards)))
    del guards[chosen]
    without = closed_form(Event(event.samples, tuple(guards))) if guards else ONE
    assert with_it + against == without


# --- limits and what is outside -------------------------------------------------------------------


def test_other_noise_is_named() -> None:
    gauss = Distribution(Family.GAUSSIAN, Q(0), Q(1))
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
