"""Exact comparisons of densities: tight half-lines, and agreement with enclosures."""

from collections.abc import Sequence
from fractions import Fraction as F
from math import exp

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox import Enclosure, Limits, NotEnclosed, Options
from dipapprox.arithmetic.precision import exponential
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.exact.real_outputs import quotients
from dipapprox.exact.real_outputs.comparison import ExactComparison
from dipapprox.exact.real_outputs.line_signs import is_positive_somewhere
from dipapprox.exact.real_outputs.moved_sums import EndQuotient, moved_sum
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, GUMBEL, LAPLACE, LOGISTIC
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, IntervalMasses, Split
from dipapprox.privacy.sources import open_method
from tests.cases import cases

Y = LinearForm.symbol(0)
METHOD = open_method(Options())


def _mass(parts: Sequence[Part], bits: int) -> Enclosure | NotEnclosed:
    (part,) = parts
    return IntervalMasses(METHOD, Limits()).product(part.events, bits)


COMPARISON = ExactComparison(Limits(), _mass)


def law(mean: F | int, scale: F | int = 1) -> Distribution:
    return Distribution(LAPLACE, F(mean), F(scale))


def less(i: int, j: int) -> LinearForm:
    return LinearForm.of({i: F(1), j: F(-1)})


def number(
    laws: Sequence[Distribution], guards: Sequence[LinearForm] = (), form: LinearForm = Y
) -> tuple[Part, ...]:
    return (Part((), (Marginal(Event(tuple(laws), tuple(guards)), form),)),)


def exceeds(first: Sequence[Part], second: Sequence[Part], budget: F) -> bool:
    growth = ExponentialPolynomial.monomial(1, rate=budget)
    found = COMPARISON.exceeds(first, second, growth)
    assert not isinstance(found, NotEnclosed), found.reason
    return found


def test_the_laplace_mechanism_is_tight_at_its_budget() -> None:
    noise = [number([law(mean)]) for mean in (0, 1)]
    assert not exceeds(noise[0], noise[1], F(1))
    assert exceeds(noise[0], noise[1], 1 - F(1, 10**9))


def test_one_sided_noise_and_empty_measures() -> None:
    first, second = (number([Distribution(EXPONENTIAL, F(mean), F(1))]) for mean in (0, 1))
    assert exceeds(first, second, F(50)) and not exceeds(second, first, F(1))
    assert exceeds(first, (), F(1)) and not exceeds((), first, F(1))


def _density(family: Family, z: float) -> float:
    if family is GAUSSIAN:
        return exp(-z * z / 2)
    if family is GUMBEL:
        return exp(-z - exp(-z))
    return exp(-abs(z)) / (1 + exp(-abs(z))) ** 2


@settings(max_examples=20)
@given(
    st.sampled_from([GAUSSIAN, LOGISTIC, GUMBEL]),
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=3),
    st.tuples(st.integers(-2, 0), st.integers(1, 3)),
)
def test_mixtures_on_an_interval_exceed_below_their_largest_quotient_alone(
    family, means, ends
) -> None:
    low, high = ends
    guards = [LinearForm.of({0: F(1)}, -F(high)), LinearForm.of({0: F(-1)}, F(low))]
    parts = [
        [p for m in means for p in number([Distribution(family, F(m[side]), F(2))], guards)]
        for side in (0, 1)
    ]
    places = [low + (high - low) * k / 3000 for k in range(3001)]
    largest = max(
        sum(_density(family, (x - m) / 2) for m, _ in means)
        / sum(_density(family, (x - m) / 2) for _, m in means)
        for x in places
    )
    growth = [ExponentialPolynomial.constant(F(largest) * (1 + F(c, 1000))) for c in (-1, 1)]
    found = [COMPARISON.exceeds(parts[0], parts[1], each) for each in growth]
    assert found == [True, False]


def _sum_parts(laws: Sequence[Distribution], mean: int, low: int | None, high: int | None):
    published = LinearForm.of(dict.fromkeys(range(len(laws)), F(1)), F(mean))
    guards = [] if high is None else [published - LinearForm.constant_form(high)]
    guards += [] if low is None else [LinearForm.constant_form(low) - published]
    return number(laws, guards, published)


@settings(max_examples=10)
@given(
    st.lists(st.integers(1, 3), min_size=2, max_size=2),
    st.tuples(st.integers(-2, 2), st.integers(-2, 2)).filter(lambda own: own[0] != own[1]),
    st.sampled_from([(None, None), (-1, None), (None, 1), (-1, 1)]),
)
def test_sums_that_are_moved_exceed_as_their_closed_forms_do(scales, means, ends) -> None:
    laws = [law(0, scale) for scale in scales]
    first, second = (_sum_parts(laws, mean, *ends) for mean in means)
    found = moved_sum(first, second)
    assert found is not None and (found.end is None) == (ends[means[0] > means[1]] is None)
    if found.end is None:
        rate = F(abs(means[0] - means[1]), max(scales))
        assert found.supremum == ExponentialRatio(ExponentialPolynomial.monomial(1, rate=rate))
        assert not exceeds(first, second, rate) and exceeds(first, second, rate - F(1, 1000))
        return
    bracket = EndQuotient(found, _mass)
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


def test_mixtures_may_have_no_bound() -> None:
    """|x| of Gaussian noise: what is moved further from 0 has the longer tail."""
    folded = [
        [
            *number([Distribution(GAUSSIAN, F(mean), F(1))], [-Y]),
            *number([Distribution(GAUSSIAN, F(-mean), F(1))], [-Y]),
        ]
        for mean in (0, 1)
    ]
    assert COMPARISON.is_unbounded(folded[1], folded[0])
    assert not COMPARISON.is_unbounded(folded[0], folded[1])


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
        number([law(pair[side], scale) for pair in means], guards, published) for side in range(2)
    ]
    budget = F(eighths, 8)
    stick = HockeyStick(open_method(Options()), Limits())
    found = stick.divergence(parts[0], parts[1], exponential(budget, 100), 40)
    assert isinstance(found, Split)
    if exceeds(parts[0], parts[1], budget):
        assert found.value.lower > 0 or found.value.upper < F(1, 2**30)
    else:
        assert found.value.lower == 0


@cases(
    "terms, lower, upper, positive",
    ({(0, 0): -1, (-1, 0): 1}, 0, None, False),  # e^-u - 1, zero at 0
    ({(0, 0): -1, (-1, 0): 1}, -1, None, True),
    ({(-1, 0): -2, (-2, 0): 1, (0, 0): 1}, 1, None, True),  # (1 - e^-u)^2
    ({(-1, 1): 1, (-1, 0): -1}, None, 1, False),  # (u - 1) e^-u
    ({(-1, 1): 1, (-1, 0): -1}, 0, 2, True),
    ({(0, 2): -1, (0, 1): 2, (0, 0): -1}, 0, 1, False),  # -(u - 1)^2, double zero at an end
    ({}, None, None, False),
)
def test_signs_on_the_line(terms, lower, upper, positive) -> None:
    function = {key: ExponentialRatio.constant(c) for key, c in terms.items()}
    where = None if lower is None else F(lower), None if upper is None else F(upper)
    assert is_positive_somewhere(function, where, Limits()) is positive


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_not_known_of_a_density_bounds_no_quotient(place) -> None:
    """So far out that a Gaussian density is enclosed with 0 in it, and a quotient is no number."""
    values = [arb(1), arb(1)]
    values[place] = arb("nan")
    assert quotients._most(values) == arb("inf") and quotients._least(values) == 0
    assert quotients._least([arb(2), arb("inf")]) == 2
