"""Exact comparisons of densities: tight half-lines, and agreement with enclosures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction as F
from math import exp

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import exponential
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.exact.real_outputs import quotients
from dipapprox.exact.real_outputs.comparison import ExactComparison
from dipapprox.exact.real_outputs.line_signs import RealInterval, is_positive_somewhere
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, GUMBEL, LAPLACE, LOGISTIC
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, Split
from dipapprox.numerics.real_outputs.masses import IntervalMasses
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_method

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


def test_averages_approach_their_budget() -> None:
    """(x0 + x1) / 2: the quotient grows towards e^(1/2) and never reaches it."""
    half = LinearForm.of({0: F(1, 2), 1: F(1, 2)})
    noise = [number([law(mean, 2), law(0, 2)], (), half) for mean in (0, 1)]
    assert not exceeds(noise[0], noise[1], F(1, 2))
    assert exceeds(noise[0], noise[1], F(1, 2) - F(1, 1000))


def test_counts_add_up() -> None:
    parts = [[Part((), tuple(Marginal(Event((law(m),), ()), Y) for _ in range(3)))] for m in (0, 1)]
    assert not exceeds(parts[0], parts[1], F(3))
    assert exceeds(parts[0], parts[1], F(3) - F(1, 10**6))


def test_events_weigh() -> None:
    parts = [
        (Part((canonical(Event((law(-m),), (Y,))),), (Marginal(Event((law(m),), ()), Y),)),)
        for m in (0, 1)
    ]
    # Pr[x <= 0] grows from 1/2 to 1 - 1/(2e): by less than e
    assert exceeds(parts[1], parts[0], F(1)) and not exceeds(parts[1], parts[0], F(2))
    assert not exceeds(parts[0], parts[1], F(1))


def test_scales_of_many_digits_are_compared_as_others_are() -> None:
    """At the budget d / b nothing is left, for a scale of seven digits."""
    scale = F(10**7, 6274509)
    parts = [
        [Part((), tuple(Marginal(Event((law(m, b),), ()), Y) for b in (scale, 2 * scale)))]
        for m in (0, 1)
    ]
    budget = 3 / (2 * scale)
    assert not exceeds(parts[0], parts[1], budget)
    assert exceeds(parts[0], parts[1], budget * (1 - F(1, 10**9)))


def test_one_sided_noise_and_empty_measures() -> None:
    first, second = (number([Distribution(EXPONENTIAL, F(mean), F(1))]) for mean in (0, 1))
    assert exceeds(first, second, F(50)) and not exceeds(second, first, F(1))
    assert exceeds(first, (), F(1)) and not exceeds((), first, F(1))


def test_sums_of_gaussian_noise_have_no_quotient() -> None:
    noise = number([Distribution(GAUSSIAN, F(0), F(1))] * 2, (), less(0, 1))
    found = COMPARISON.exceeds(noise, noise, ExponentialPolynomial.constant(1))
    assert isinstance(found, NotEnclosed) and "one sample" in found.reason


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
    family: Family, means: list[tuple[int, int]], ends: tuple[int, int]
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


def test_quotients_on_half_lines_are_those_at_infinity() -> None:
    right = [LinearForm.of({0: F(-1)})]
    for family, first, second, bounded in (
        (LOGISTIC, 1, 0, True),
        (LOGISTIC, 0, 1, True),
        (GUMBEL, 1, 0, True),
        (GAUSSIAN, 1, 0, False),
    ):
        own, other = (number([Distribution(family, F(m), F(1))], right) for m in (first, second))
        assert exceeds(own, other, F(199, 200)) == (first == 1)
        assert exceeds(own, other, F(20)) == (not bounded)


@settings(max_examples=5)
@given(
    st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=2, max_size=3),
    st.sampled_from([1, 2]),
    st.integers(0, 16),
    st.sampled_from([Y, less(0, 1)]),
)
def test_comparisons_agree_with_enclosures(
    means: list[tuple[int, int]], scale: int, eighths: int, published: LinearForm
) -> None:
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


_MIXTURES = st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 2)), min_size=1, max_size=3)


def largest_quotient(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> Decimal:
    """Σ e^-a e^-|y - m| over the other sum: between means it is (A t + B) / (C t + D), t = e^2y,
    and so monotone: it is largest at a mean, or towards infinity."""

    def at(terms: list[tuple[int, int]], y: int) -> Decimal:
        return sum((Decimal(-a - abs(y - m)).exp() for a, m in terms), Decimal(0))

    # From a mean on outwards both sums fall alike.
    return max(at(first, y) / at(second, y) for y in range(-2, 3))


@given(_MIXTURES, _MIXTURES, st.integers(0, 24))
def test_comparisons_agree_with_the_largest_quotient(
    first: list[tuple[int, int]], second: list[tuple[int, int]], eighths: int
) -> None:
    sides = [
        tuple(
            Part((canonical(Event((law(a),), (Y,))),), (Marginal(Event((law(m),), ()), Y),))
            for a, m in terms
        )
        for terms in (first, second)
    ]
    with localcontext() as context:
        context.prec = 60
        over = largest_quotient(first, second) / (Decimal(eighths) / 8).exp() - 1
    # Numbers that are equal to 50 digits are equal: then no set exceeds.
    assert exceeds(sides[0], sides[1], F(eighths, 8)) is (over > Decimal(10) ** -50)


@pytest.mark.parametrize(
    ("terms", "lower", "upper", "positive"),
    [
        ({(0, 0): -1, (-1, 0): 1}, 0, None, False),  # e^-u - 1, zero at 0
        ({(0, 0): -1, (-1, 0): 1}, -1, None, True),
        ({(-1, 0): -2, (-2, 0): 1, (0, 0): 1}, 1, None, True),  # (1 - e^-u)^2
        ({(-1, 1): 1, (-1, 0): -1}, None, 1, False),  # (u - 1) e^-u
        ({(-1, 1): 1, (-1, 0): -1}, 0, 2, True),
        ({(0, 2): -1, (0, 1): 2, (0, 0): -1}, 0, 1, False),  # -(u - 1)^2, double zero at an end
        ({}, None, None, False),
    ],
)
def test_signs_on_the_line(
    terms: dict[tuple[int, int], int], lower: int | None, upper: int | None, positive: bool
) -> None:
    function = {key: ExponentialRatio.constant(c) for key, c in terms.items()}
    where = RealInterval(*(None if end is None else F(end) for end in (lower, upper)))
    assert is_positive_somewhere(function, where, Limits()) is positive


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_not_known_of_a_density_bounds_no_quotient(place: int) -> None:
    """So far out that a Gaussian density is enclosed with 0 in it, and a quotient is no number."""
    values = [arb(1), arb(1)]
    values[place] = arb("nan")
    assert quotients._most(values) == arb("inf") and quotients._least(values) == 0
    assert quotients._least([arb(2), arb("inf")]) == 2
