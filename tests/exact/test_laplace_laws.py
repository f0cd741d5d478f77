"""Closed forms of Laplace-type and integer events, distributions and densities of programs."""

from collections.abc import Sequence
from fractions import Fraction
from fractions import Fraction as F
from itertools import product
from math import exp, factorial, pi, sqrt

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox import Enclosure, LimitReached, Limits, NotEnclosed, Options
from dipapprox.arithmetic.precision import exponential
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event, Marginal, Part, Star
from dipapprox.exact.distributions import ExactDistributions, ratio_sum
from dipapprox.exact.integers.elimination import Integers, discrete_probability
from dipapprox.exact.laplace import algebra
from dipapprox.exact.methods import LaplaceIntegrals
from dipapprox.exact.real_outputs import quotients
from dipapprox.exact.real_outputs.at_ends import moved_sum
from dipapprox.exact.real_outputs.comparison import ExactComparison
from dipapprox.exact.real_outputs.line_signs import is_positive_somewhere
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import (
    DISCRETE_LAPLACE,
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
)
from dipapprox.laws.family import Family
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.methods import is_discrete
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, IntervalMasses, Split
from dipapprox.privacy.subjects import open_method
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests import event_strategies
from tests.cases import cases, check_answers, evaluated, examples, refuses, text_of
from tests.event_strategies import laplace, less
from tests.exact.events import (
    ENGINE,
    FAMILIES,
    STEPS,
    at_most,
    closed_form,
    dlap,
    enumerated,
    equal,
    form,
    integer_events,
    total_of,
    value_at,
)

Q = Fraction


@pytest.mark.parametrize("distance", [Q(0), Q(1), Q(7, 3)])
@pytest.mark.parametrize("rate", [Q(1), Q(1, 4), Q(5, 2)])
def test_two_samples(distance, rate) -> None:
    """Oracle 8, and the same with 2 x_0 + 3 x_1 in place of a difference."""
    q = -rate * distance
    for slope in (Q(1), Q(-2)):
        for factor in (Q(1), Q(-1, 2)):
            laws = (laplace(0, 1 / (rate * abs(slope))), laplace(0, 1 / (rate * abs(factor))))
            guard = LinearForm.of({0: slope, 1: factor}, distance)
            expected = form((Q(1, 2), 0, q), (rate * distance / 4, 1, q))
            assert closed_form(Event(laws, (guard,))) == expected
    one_sided = Distribution(EXPONENTIAL, Q(0), 1 / rate)
    found = closed_form(Event((one_sided, one_sided), (less(1, 0, distance),)))
    assert found == form((Q(1, 2), 0, q))


# --- counting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_chains_of_equal_samples(family) -> None:
    law = Distribution(family, Q(1, 3), Q(2, 7))
    for count in range(2, 7):
        chain = Event((law,) * count, tuple(less(i, i + 1) for i in range(count - 1)))
        assert closed_form(chain) == form((Q(1, factorial(count)), 0, 0))
    crossed = Event((law,) * 4, tuple(less(i, j) for i in (0, 1) for j in (2, 3)))
    assert closed_form(crossed) == form((Q(1, 6), 0, 0))
    star = ENGINE.closed_form(Star(law, ((law, 200),), ()))
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
        guards.append(less(low, high, draw(st.sampled_from([Q(0), Q(0), Q(1, 2), Q(-1, 3)]))))
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


@given(event=events(sums=True), factor=st.sampled_from([Q(2), Q(1, 3), Q(7, 5)]))
def test_dividing_the_scales_dilates(event, factor) -> None:
    assert closed_form(at(event, factor)) == closed_form(event).dilated(factor)


def test_rates_without_short_units_need_the_general_way() -> None:
    scales = [Q(10**30 + 57, 10**29 + 3), Q(10**31 + 33, 10**31 + 1)]
    event = Event(tuple(laplace(0, scale) for scale in scales), (less(1, 0, 1),))
    found = closed_form(event)
    long, short = scales
    # (b² e^(-1/b) - a² e^(-1/a)) / (2 (b² - a²)) for scales a < b
    expected = form((long**2, 0, -1 / long), (-(short**2), 0, -1 / short))
    assert found == expected.scaled(1 / (2 * (long**2 - short**2)))


# --- limits and what is outside -------------------------------------------------------------------


def test_pieces_are_limited() -> None:
    laws = tuple(laplace(i, i + 1) for i in range(5))
    sums = tuple(LinearForm.of({i: Q(1) for i in range(5) if i != k}) for k in range(5))
    with limited(Limits(pieces=5)):
        found = ENGINE.closed_form(Event(laws, sums))
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")
    crossed = tuple(less(i, j) for i in (0, 1) for j in (2, 3, 4))
    with limited(Limits(pieces=1)):
        found = ENGINE.closed_form(Event(laws, crossed))
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")


def test_long_products_and_the_time_are_limited(monkeypatch) -> None:
    star = Star(laplace(0, 1), ((laplace(1, 3), 3), (laplace(2, 5), 3)), ())
    with limited(Limits(seconds=0)):
        refuses(LimitReached, None, LaplaceIntegrals().closed_form, star)
    monkeypatch.setattr(algebra, "_MOST_TERMS", 10)
    engine = LaplaceIntegrals()
    found = engine.closed_form(star)
    assert isinstance(found, NotEnclosed) and found.reason.startswith("integration-budget")
    monkeypatch.undo()
    assert engine.closed_form(star) == closed_form(star)


# --- Exact probabilities of discrete Laplace events -----------------------------------------------

SIXTEENTH = Fraction(1, 16)
ONE = ExponentialRatio.constant(1)


def form_of(*samples: Distribution, guards: list[LinearForm]) -> ExponentialRatio:
    found = discrete_probability(Event(samples, tuple(guards)))
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
    found = discrete_probability(event)
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
    assert isinstance(discrete_probability(mixed), NotEnclosed)
    half = Distribution(DISCRETE_LAPLACE, Fraction(1, 2), Fraction(1))
    found = discrete_probability(Event((dlap(0), half), (guard,)))
    assert "1/2" in found.reason


def test_budgets_are_kept() -> None:
    rows = [{0: 3, 1: 5, 2: -7}, {0: -7, 1: 3, 2: 5}]
    guards = tuple(LinearForm.of({i: Fraction(a) for i, a in row.items()}) for row in rows)
    event = Event((dlap(0), dlap(0), dlap(0)), guards)
    with limited(Limits(pieces=50)):
        found = discrete_probability(event)
    assert found.reason.startswith("integration-budget: more than 50 pieces")
    with limited(Limits(seconds=0.0)):
        refuses(LimitReached, None, discrete_probability, event)


def test_closed_forms_that_are_too_long_say_so() -> None:
    """Rates without simple ratios: subsets of them have as many different sums."""
    scales = [4 + Fraction(i, 7) for i in range(12)]
    samples = (dlap(0, 2), *(dlap(0, scale) for scale in scales))
    guards = tuple(at_most(0, **{f"z{i + 1}": 1, "z0": -1}) for i in range(len(scales)))
    found = discrete_probability(Event(samples, guards))
    assert found.reason == "integration-budget: the closed form has too many terms"


LAW = Distribution(DISCRETE_LAPLACE, Fraction(0), Fraction(1))
tightened = Integers((LAW,) * 3, Fraction(1)).tightened


# --- Exact output distributions -------------------------------------------------------------------

NOTHING: dict[str, int] = {}


def states_of(text: str, parameters: dict[str, int] = NOTHING) -> FinalStates:
    return execute(dipapprox.parse(text, parameters), True)


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
    for_all = ExactDistributions(states, None)
    at_one = ExactDistributions(states, eps)
    enclosed = OutputProbabilities(states, eps, Eliminated())
    for place, input in enumerate(rows_of(states)):
        functions, numbers = found(for_all, input), found(at_one, input)
        assert not (ratio_sum(functions) - ExponentialRatio.constant(1)).numerator
        for function, number in zip(functions, numbers, strict=True):
            assert not (function.at(eps) - number).numerator.at(Q(1))
        if place < 4:
            bounds = enclosed.distribution(input, 40)
            assert not isinstance(bounds, NotEnclosed), bounds
            for number, bound in zip(numbers, bounds, strict=True):
                value = enclose_at(number, Q(1), 80)
                assert value.meets(bound)
                assert value.width < Q(1, 2**79) and bound.width < Q(1, 2**40)


def test_weights_that_do_not_sum_to_one_are_noticed() -> None:
    states = states_of(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
        "out <- choose { 0 : 1 / (1 + eps), 1 : 1 / 2 }\n"
    )
    refuses(BrokenInvariant, None, ExactDistributions(states, None).distribution, (Q(0),))


# --- Exact comparisons of densities: tight half-lines, and agreement with enclosures --------------

Y = LinearForm.symbol(0)
METHOD = open_method(Options())


def _mass(parts: Sequence[Part], bits: int) -> Enclosure | NotEnclosed:
    (part,) = parts
    return IntervalMasses(METHOD).product(part.events, bits)


COMPARISON = ExactComparison(_mass)


def number(
    laws: Sequence[Distribution], guards: Sequence[LinearForm] = (), form: LinearForm = Y
) -> tuple[Part, ...]:
    return (Part((), (Marginal(Event(tuple(laws), tuple(guards)), form),)),)


def exceeds(first: Sequence[Part], second: Sequence[Part], budget: F) -> bool:
    growth = ExponentialPolynomial.monomial(1, rate=budget)
    found = COMPARISON.exceeds(first, second, growth)
    assert not isinstance(found, NotEnclosed), found.reason
    return found


def _density(family: Family, z: float) -> float:
    if family is GAUSSIAN:
        return exp(-z * z / 2) / sqrt(2 * pi)
    if family is LAPLACE:
        return exp(-abs(z)) / 2
    if family is GUMBEL:
        return exp(-z - exp(-z))
    return exp(-abs(z)) / (1 + exp(-abs(z))) ** 2


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([GAUSSIAN, LAPLACE, LOGISTIC, GUMBEL]), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=3),
    st.tuples(st.integers(-2, 0), st.integers(1, 3)),
)
def test_mixtures_on_an_interval_exceed_below_their_largest_quotient_alone(
    families, means, ends
) -> None:
    low, high = ends
    guards = [LinearForm.of({0: F(1)}, -F(high)), LinearForm.of({0: F(-1)}, F(low))]
    each = list(zip(families, means, strict=False))
    parts = [
        [p for f, m in each for p in number([Distribution(f, F(m[side]), F(2))], guards)]
        for side in (0, 1)
    ]
    places = [low + (high - low) * k / 3000 for k in range(3001)]
    largest = max(
        sum(_density(family, (x - m) / 2) for family, (m, _) in each)
        / sum(_density(family, (x - m) / 2) for family, (_, m) in each)
        for x in places
    )
    growths = [ExponentialPolynomial.constant(F(largest) * (1 + F(c, 500))) for c in (-1, 1)]
    found = [COMPARISON.exceeds(parts[0], parts[1], growth) for growth in growths]
    assert found == [True, False]


def _sum_parts(laws: Sequence[Distribution], mean: int, low: int | None, high: int | None):
    published = LinearForm.of(dict.fromkeys(range(len(laws)), F(1)), F(mean))
    guards = [] if high is None else [published - LinearForm.constant_form(high)]
    guards += [] if low is None else [LinearForm.constant_form(low) - published]
    return number(laws, guards, published)


@examples(4)
@given(
    st.lists(st.integers(1, 3), min_size=2, max_size=2),
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)).filter(lambda own: own[0] != own[1]),
    st.sampled_from([(None, None), (-1, None), (None, 1), (-1, 1)]),
)
def test_sums_that_are_moved_exceed_as_their_closed_forms_do(scales, means, ends) -> None:
    laws = [laplace(0, scale) for scale in scales]
    first, second = (_sum_parts(laws, mean, *ends) for mean in means)
    found = moved_sum(first, second)
    assert found is not None and (found.end is None) == (ends[means[0] > means[1]] is None)
    if found.end is None:
        rate = F(abs(means[0] - means[1]), max(scales))
        assert found.supremum == ExponentialRatio(ExponentialPolynomial.monomial(1, rate=rate))
        assert not exceeds(first, second, rate) and exceeds(first, second, rate - F(1, 1000))
        return
    bracket = found.at_end(_mass)
    for _ in range(5):
        for place, is_exceeded in ((bracket.low, True), (bracket.high, False)):
            growth = ExponentialPolynomial.constant(F(place) * (1 + F(1 - 2 * is_exceeded, 10**9)))
            assert COMPARISON.exceeds(first, second, growth) is is_exceeded
        bracket.halve()
    assert bracket.high < bracket.low * F(3, 2)


@cases(
    "laws, up, down",
    ([GAUSSIAN, LAPLACE], 1, 1),
    ([GUMBEL, GAUSSIAN], 1, None),
    ([GUMBEL, LOGISTIC], 1, 1),
    ([GUMBEL.mirror, GAUSSIAN], None, 1),
    ([GAUSSIAN, GAUSSIAN], None, None),
)
def test_sums_need_what_moments_of_their_samples_allow(laws, up, down) -> None:
    noise = [Distribution(family, F(0), F(2)) for family in laws]
    low, high = (_sum_parts(noise, mean, None, None) for mean in (0, 1))
    for own, other, wanted in ((high, low, up), (low, high, down)):
        assert COMPARISON.is_unbounded(own, other) == (wanted is None)
        if wanted is not None:
            assert not exceeds(own, other, F(1, 2)) and exceeds(own, other, F(499, 1000))


@settings(max_examples=5)
@given(
    st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=2, max_size=3),
    st.sampled_from([1, 2]),
    st.integers(0, 16),
    st.sampled_from([Y, less(0, 1)]),
)
def test_comparisons_agree_with_enclosures(means, scale, eighths, published) -> None:
    guards = [less(k + 1, k) for k in range(len(means) - 1)]
    parts = [
        number([laplace(pair[side], scale) for pair in means], guards, published)
        for side in range(2)
    ]
    budget = F(eighths, 8)
    stick = HockeyStick(open_method(Options()))
    found = stick.divergence(parts[0], parts[1], exponential(budget, 100), 40)
    assert isinstance(found, Split)
    if exceeds(parts[0], parts[1], budget):
        assert found.value.lower > 0 or found.value.upper < F(1, 2**30)
    else:
        assert found.value.lower == 0


# --- Expressions, and what they are ---------------------------------------------------------------


def moved(family: Family, mean: int) -> tuple[Part, ...]:
    return number([Distribution(family, F(mean), F(1))])


def folded(mean: int) -> tuple[Part, ...]:
    """|x| of Gaussian noise: what is moved further from 0 has the longer tail."""
    laws = (Distribution(GAUSSIAN, F(sign * mean), F(1)) for sign in (1, -1))
    return tuple(part for law in laws for part in number([law], [-Y]))


def positive(terms: dict[tuple[int, int], int], lower: int | None, upper: int | None) -> bool:
    """Whether a sum of c u^k e^(b u), of c by (b, k), is positive somewhere between two numbers."""
    function = {key: ExponentialRatio.constant(c) for key, c in terms.items()}
    where = None if lower is None else F(lower), None if upper is None else F(upper)
    return is_positive_somewhere(function, where)


UNKNOWN = [arb(1), arb("nan")]
"""Densities, one so far out that it is enclosed with 0 in it: a quotient is no number."""


def test_forms_signs_and_comparisons() -> None:
    asked = {"EXPONENTIAL": EXPONENTIAL, "Star": Star, "quotients": quotients}
    asked |= {"gauss": event_strategies.gauss}
    check_answers("laplace_laws", evaluated(globals() | asked))
