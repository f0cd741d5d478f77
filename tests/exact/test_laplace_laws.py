"""Closed forms of Laplace-type and integer events, and of distributions of programs."""

from fractions import Fraction
from itertools import product
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Enclosure, LimitReached, Limits, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event, Star
from dipapprox.exact.distributions import ExactDistributions, ratio_sum
from dipapprox.exact.integers.elimination import Integers, discrete_probability
from dipapprox.exact.laplace import algebra
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.language.core import Input
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE, EXPONENTIAL, GAUSSIAN, LAPLACE
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import is_discrete
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from exact.integer_events import (
    STEPS,
    at_most,
    dlap,
    enumerated,
    equal,
    integer_events,
    total_of,
    value_at,
)
from tests.cases import refuses
from tests.exact.laplace_events import ENGINE, FAMILIES, below, closed_form, form, lap
from tests.numerics.alone import alone
from tests.texts import text_of

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
def test_two_samples(distance, rate) -> None:
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
def test_chains_of_equal_samples(family) -> None:
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


def at(event: Event, eps: Fraction) -> Event:
    """Every scale divided by eps."""
    laws = (Distribution(law.family, law.mean, law.scale / eps) for law in event.samples)
    return Event(tuple(laws), event.guards)


def enclosed_at(function: ExponentialPolynomial, eps: Fraction) -> Enclosure:
    value = enclose_at(function, eps, 120, Limits())
    assert isinstance(value, Enclosure)
    return value


@given(event=events(sums=False, most=6), eps=st.fractions(Q(1, 10), 4, max_denominator=30))
def test_trees_lie_in_the_enclosures_of_elimination(event, eps) -> None:
    found = alone(Eliminated(), at(event, eps), 40, Limits())
    value = enclosed_at(closed_form(event), eps)
    assert found.width < Q(1, 2**40)
    assert found.lower <= value.upper and value.lower <= found.upper
    assert value.width < Q(1, 2**100)


@given(event=events(sums=True), factor=st.sampled_from([Q(2), Q(1, 3), Q(7, 5)]))
def test_dividing_the_scales_dilates(event, factor) -> None:
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


def test_long_products_and_the_time_are_limited(monkeypatch) -> None:
    star = Star(lap(0, 1), ((lap(1, 3), 3), (lap(2, 5), 3)), ())
    refuses(LimitReached, None, LaplaceIntegrals().closed_form, star, Limits(seconds=0))
    monkeypatch.setattr(algebra, "_MOST_TERMS", 10)
    engine = LaplaceIntegrals()
    found = engine.closed_form(star, Limits())
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")
    monkeypatch.undo()
    assert engine.closed_form(star, Limits()) == closed_form(star)


# --- Exact probabilities of discrete Laplace events -----------------------------------------------

SIXTEENTH = Fraction(1, 16)
ONE = ExponentialRatio.constant(1)


def form_of(*samples: Distribution, guards: list[LinearForm]) -> ExponentialRatio:
    found = discrete_probability(Event(samples, tuple(guards)), Limits())
    assert isinstance(found, ExponentialRatio)
    return found


def q(rate: Fraction | int, power: int = 1) -> ExponentialPolynomial:
    """e^{-rate * power * ε}."""
    return ExponentialPolynomial.monomial(1, 0, -Fraction(rate) * power)


def one_plus(function: ExponentialPolynomial) -> ExponentialPolynomial:
    return ExponentialPolynomial.constant(1) + function


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(4), Fraction(2, 3)])
def test_two_equal_laws_tie_as_the_specification_says(scale) -> None:
    """(1 - q)(1 + q²)/(1 + q)³ for ties, and half of the rest on either side (spec, 8.9)."""
    rate = 1 / scale
    top = (ExponentialPolynomial.constant(1) - q(rate)) * one_plus(q(rate, 2))
    tie = ExponentialRatio.of(top, {one_plus(q(rate)): 3})
    laws = (dlap(3, scale), dlap(3, scale))
    below = form_of(*laws, guards=[at_most(-1, z0=1, z1=-1)])
    both = [at_most(0, z0=1, z1=-1), at_most(0, z0=-1, z1=1)]
    assert equal(form_of(*laws, guards=both), tie)
    assert equal(below * ExponentialRatio.constant(2) + tie, ONE)


@pytest.mark.parametrize("k", [-4, 0, 3, 10**6])
def test_a_sum_of_two_is_a_difference_of_reflected_samples(k) -> None:
    plus = form_of(dlap(2), dlap(5, 3), guards=[at_most(k, z0=1, z1=1)])
    minus = form_of(dlap(2), dlap(-5, 3), guards=[at_most(k, z0=1, z1=-1)])
    assert equal(plus, minus)
    assert len(plus.numerator.terms) < 40


@given(integer_events())
def test_random_systems_agree_with_enumeration(event) -> None:
    found = discrete_probability(event, Limits())
    if isinstance(found, NotEnclosed):  # residue classes may make a form too long: no wrong number
        assert found.reason.startswith("integration-budget")
        return
    box = enumerated(event, STEPS, SIXTEENTH, 4 if len(event.samples) > 3 else 6)
    assert value_at(found, STEPS, SIXTEENTH) in box
    assert box.width < Fraction(1, 10**4)


def test_residue_classes_add_up_to_one() -> None:
    """2 z0 - 3 z1 + 2 z2 falls into exactly one of the ranges below 0, 0 to 4, above 4."""
    row = {0: Fraction(2), 1: Fraction(-3), 2: Fraction(2)}
    up, down = LinearForm.of(row), -LinearForm.of(row)
    one = LinearForm.constant_form
    ranges = ([up + one(1)], [down, up - one(4)], [down + one(5)])
    laws = (dlap(1), dlap(0, 2), dlap(-2))
    assert equal(total_of([form_of(*laws, guards=guards) for guards in ranges]), ONE)


def test_huge_means_stay_short() -> None:
    """Far apart samples: e^{-distance ε} times a short ratio; a common shift changes nothing."""
    far = 10**12
    guards = [at_most(0, z0=1, z1=-1), at_most(0, z2=1, z1=-1)]
    here = form_of(dlap(0), dlap(2), dlap(-1, 2), guards=guards)
    there = form_of(dlap(far), dlap(far + 2), dlap(far - 1, 2), guards=guards)
    assert here == there
    apart = form_of(dlap(far), dlap(0), guards=[at_most(0, z0=1, z1=-1)])
    assert len(apart.numerator.terms) < 20
    assert max(rate for (_, rate), _ in apart.numerator.terms) == -far


def test_what_has_no_closed_form_says_why() -> None:
    guard = at_most(0, z0=1, z1=-1)
    mixed = Event((dlap(0), Distribution(LAPLACE, Fraction(0), Fraction(1))), (guard,))
    assert not is_discrete(mixed)
    assert isinstance(discrete_probability(mixed, Limits()), NotEnclosed)
    half = Distribution(DISCRETE_LAPLACE, Fraction(1, 2), Fraction(1))
    found = discrete_probability(Event((dlap(0), half), (guard,)), Limits())
    assert "1/2" in found.reason


def test_budgets_are_kept() -> None:
    rows = [{0: 3, 1: 5, 2: -7}, {0: -7, 1: 3, 2: 5}]
    guards = tuple(LinearForm.of({i: Fraction(a) for i, a in row.items()}) for row in rows)
    event = Event((dlap(0), dlap(0), dlap(0)), guards)
    found = discrete_probability(event, Limits(pieces=50))
    assert found.reason.startswith("integration-budget: more than 50 pieces")
    refuses(LimitReached, None, discrete_probability, event, Limits(seconds=0.0))


def test_closed_forms_that_are_too_long_say_so() -> None:
    """Rates without simple ratios: subsets of them have as many different sums."""
    scales = [4 + Fraction(i, 7) for i in range(12)]
    samples = (dlap(0, 2), *(dlap(0, scale) for scale in scales))
    guards = tuple(at_most(0, **{f"z{i + 1}": 1, "z0": -1}) for i in range(len(scales)))
    found = discrete_probability(Event(samples, guards), Limits())
    assert found.reason == "integration-budget: the closed form has too many terms"


LAW = Distribution(DISCRETE_LAPLACE, Fraction(0), Fraction(1))
tightened = Integers((LAW,) * 3, Fraction(1), Limits()).tightened


def test_rows_are_divided_and_rounded() -> None:
    assert tightened([((2, -4, 0), 5), ((1, -2, 0), 7)]) == (((1, -2, 0), 2),)
    assert tightened([((0, 0, 0), 0)]) == ()
    assert tightened([((0, 0, 0), -1)]) is None
    assert tightened([((2, 2, 0), 1), ((-2, -2, 0), -1)]) is None


# --- Exact output distributions -------------------------------------------------------------------

NOTHING: dict[str, int] = {}


def states_of(text: str, parameters: dict[str, int] = NOTHING) -> FinalStates:
    return execute(dipapprox.parse(text, parameters), True, Limits())


def program(name: str, **parameters: int) -> FinalStates:
    return states_of(text_of(name), parameters)


def rows_of(states: FinalStates) -> list[Input]:
    return list(product(*(cell.domain for cell in states.program.inputs)))


def found(source: ExactDistributions, input: Input) -> tuple[ExponentialRatio, ...]:
    distribution = source.distribution(input)
    assert isinstance(distribution, tuple), distribution
    return distribution


CASES = [
    ("svt_laplace_ge", 3),
    ("svt_laplace_leaky_3", 2),
    ("svt_laplace_leaky_4", 3),
    ("svt_laplace_leaky_5", 3),
    pytest.param("m_range_laplace", 2, marks=pytest.mark.thorough),
    ("k_min_max_laplace", 3),
    ("dipc/nmax2", 3),
    ("dipc/nmax3", 2),
    ("dipc/sparse", 3),
]


@pytest.mark.parametrize(("name", "count"), CASES)
def test_outputs_sum_to_one_and_lie_in_the_enclosures(name, count) -> None:
    """For all ε as functions, at one ε as numbers, and next to elimination in doubles."""
    states, eps = program(name, N=count), Q(7, 5)
    for_all = ExactDistributions(states, None, Limits())
    at_one = ExactDistributions(states, eps, Limits())
    enclosed = OutputProbabilities(states, eps, Eliminated(), Limits())
    for place, input in enumerate(rows_of(states)):
        functions, numbers = found(for_all, input), found(at_one, input)
        assert not (ratio_sum(functions) - ExponentialRatio.constant(1)).numerator
        for function, number in zip(functions, numbers, strict=True):
            assert not (function.at(eps) - number).numerator.at(Q(1))
        if place < 4:
            bounds = enclosed.distribution(input, 40)
            assert not isinstance(bounds, NotEnclosed), bounds
            for number, bound in zip(numbers, bounds, strict=True):
                value = enclose_at(number, Q(1), 80, Limits())
                assert value.meets(bound)
                assert value.width < Q(1, 2**79) and bound.width < Q(1, 2**40)


def test_weights_that_do_not_sum_to_one_are_noticed() -> None:
    states = states_of(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
        "out <- choose { 0 : 1 / (1 + eps), 1 : 1 / 2 }\n"
    )
    refuses(BrokenInvariant, None, ExactDistributions(states, None, Limits()).distribution, (Q(0),))
