"""Standard laws on balls and in doubles, and closed forms of half-spaces and one-sided noise."""

from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dipapprox import NotEnclosed
from dipapprox.arithmetic.boxes import Box
from dipapprox.arithmetic.double_functions import (
    EXCESS,
    RELATIVE,
    UNDERFLOW,
    exponential,
    growth,
    mills_ratio,
)
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.legendre import legendre_rule
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.events.event import Event, Star
from dipapprox.exponentials import ExponentialRatio
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution, FiniteLaw, cutoff, tail_mass
from dipapprox.laws.families import (
    DISCRETE_LAPLACE,
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    REFLECTED_EXPONENTIAL,
    REFLECTED_GUMBEL,
)
from dipapprox.laws.family import BOTH_SIDES, Family, RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.sampled import Samples, sample_law
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.methods import InOrder, Method, Tier, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from tests.cases import check_answers, evaluated, refuses
from tests.event_strategies import REAL_FAMILIES, gauss, laplace, less
from tests.exact.events import chosen

BITS = 100
points = st.fractions(-12, 12, max_denominator=64)
lengths = st.fractions(0, 6, max_denominator=64)
unit = st.fractions(0, 1, max_denominator=16)
branches = st.sampled_from(
    [
        *((family, 0) for family in REAL_FAMILIES if not family.has_kink),
        *((family, side) for family in REAL_FAMILIES if family.has_kink for side in (-1, 1)),
    ]
)
MASS = {
    (LAPLACE, -1): Fraction(1, 2),
    (LAPLACE, 1): Fraction(1, 2),
    (EXPONENTIAL, 1): Fraction(1),
    (REFLECTED_EXPONENTIAL, -1): Fraction(1),
}
"""Of a side of the mean; else 0."""


def in_fractions(ball: arb) -> Enclosure:
    found = to_enclosure(ball)
    assert isinstance(found, Enclosure)
    return found


def complex_value(family: Family, side: int, name: str, z: acb) -> acb:
    """The branches by flint's own complex functions: an independent route."""
    if family is GAUSSIAN:
        root = acb(2).sqrt()
        return {
            "pdf": (-z * z / 2).exp() / (2 * acb.pi()).sqrt(),
            "cdf": (-z / root).erfc() / 2,
            "survival": (z / root).erfc() / 2,
        }[name]
    if family is LOGISTIC:
        below, above = 1 / (1 + (-z).exp()), 1 / (1 + z.exp())
        return {"pdf": below * above, "cdf": below, "survival": above}[name]
    if family in (GUMBEL, REFLECTED_GUMBEL):
        outer = -z if family is GUMBEL else z
        w = outer.exp()
        ends = [(-w).exp(), 1 - (-w).exp()]
        below, above = ends if family is GUMBEL else ends[::-1]
        return {"pdf": (outer - w).exp(), "cdf": below, "survival": above}[name]
    mass = to_ball(MASS.get((family, side), Fraction(0)))
    tail = (z if side < 0 else -z).exp() * mass
    increasing = tail if side < 0 else 1 - tail
    return {"pdf": tail, "cdf": increasing, "survival": 1 - increasing}[name]


def agrees(law: RealFamily, side: int, point: Fraction, density: float, below: float) -> bool:
    """Whether a density and a distribution function are those of scipy, to 16 digits."""
    with precision(BITS):
        x = to_ball(point)
        assert (law.cdf(x, side) + law.survival(x, side)).overlaps(arb(1))
        both = (law.pdf(x, side), density), (law.cdf(x, side), below)
        return all(abs(float(found.mid()) - known) < 1e-15 for found, known in both)


def test_reference_values() -> None:
    """Of scipy.stats.norm, laplace, expon, logistic, gumbel_r and gumbel_l."""
    asked = {family.name: family for family in REAL_FAMILIES}
    check_answers("densities", evaluated(globals() | asked))


@given(branches, points, lengths, lengths, unit, unit, st.sampled_from(["pdf", "cdf", "survival"]))
def test_bounds_hold_in_the_whole_box(branch, low, length, height, across, up, name) -> None:
    family, side = branch
    with precision(BITS):
        box = Box(to_ball(low).lower(), to_ball(low + length).upper(), to_ball(height).upper())
        z = acb(to_ball(low + across * length), to_ball(up * height))
        if name == "pdf":
            bound = family.pdf_bound(box, side)
        else:
            bound = family.mass_bound(*((None, box) if name == "cdf" else (box, None)), side, side)
        value = complex_value(family, side, name, z).abs_lower()
        assert bound.is_exact()
        assert not value > bound


@given(branches, points, lengths, lengths, unit)
def test_densities_are_bounded_on_ellipses_that_reach_beyond_the_mean(
    branch, place, height, beyond, up
) -> None:
    family, side = branch
    with precision(BITS):
        real = side * (abs(place) - beyond) if side else place
        value = complex_value(family, side, "pdf", acb(to_ball(real), to_ball(up * height)))
        assert not value.abs_lower() > family.ellipse(to_ball(height), to_ball(beyond))


@given(branches, points, lengths, points, lengths, unit, unit, lengths, unit)
def test_mass_bound_holds_for_all_choices_of_the_ends(
    branch, first, first_length, second, second_length, across_first, across_second, height, up
) -> None:
    family, side = branch
    with precision(BITS):
        tall = to_ball(height).upper()
        lower = Box(to_ball(first).lower(), to_ball(first + first_length).upper(), tall)
        upper = Box(to_ball(second).lower(), to_ball(second + second_length).upper(), tall)
        start = acb(to_ball(first + across_first * first_length), to_ball(-up * height))
        stop = acb(to_ball(second + across_second * second_length), to_ball(up * height))
        ends = [complex_value(family, side, "cdf", end) for end in (start, stop)]
        bound = family.mass_bound(lower, upper, side, side)
        assert not (ends[1] - ends[0]).abs_lower() > bound


@given(branches, points, lengths)
def test_masses_are_differences_and_keep_their_accuracy_in_the_tails(branch, low, length) -> None:
    family, side = branch
    law = family
    with precision(BITS):
        start, stop = to_ball(low), to_ball(low + length)
        mass = law.mass(start, stop, side, side)
        assert mass.overlaps(law.cdf(stop, side) - law.cdf(start, side))
    with precision(3 * BITS):
        fine = law.mass(to_ball(low), to_ball(low + length), side, side)
    if length:
        # Far out nothing cancels against 1: the error is small beside the tail itself.
        tail = max(in_fractions(law.cdf(stop, side)).upper, in_fractions(fine).upper)
        if low + length < 0 and side <= 0:
            assert in_fractions(mass).width <= tail * Fraction(1, 2**80)
        assert mass.overlaps(fine)


@given(st.sampled_from(REAL_FAMILIES), st.integers(4, 400))
def test_cutoffs_are_proved_and_not_wasteful(family, bits) -> None:
    wanted = Fraction(1, 2**bits)
    for side in (-1, 1):
        found = cutoff(family, side, bits)
        beyond = in_fractions(tail_mass(family, found, side, bits + 80))
        assert beyond.upper <= wanted
        assert (beyond.upper == 0) == (side not in family.sides)
        # One step of the grid inwards and Chernoff's constant are all that is lost.
        nearer = max(found - Fraction(3, 4), Fraction(0))
        if found:
            assert in_fractions(tail_mass(family, nearer, side, bits + 80)).upper > wanted


def test_tail_masses() -> None:
    laplace = in_fractions(tail_mass(LAPLACE, Fraction(0), 1, BITS))
    assert Fraction(1, 2) in laplace
    # the reference is from scipy.stats.norm
    gaussian = in_fractions(tail_mass(GAUSSIAN, Fraction(5), -1, BITS))
    assert abs(float(gaussian.lower) - 2.866515718791939e-07) < 1e-21
    refuses(ValueError, "distance", tail_mass, GAUSSIAN, Fraction(-1), 1, BITS)


# --- Elementary functions and sampled laws in doubles against balls -------------------------------

Doubles = NDArray[np.float64]

RATIOS = (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 18.0)
RULE = legendre_rule(8, RATIOS)
NAMES = ("pdf", "cdf", "survival")
GUMBELS = {GUMBEL: 1, REFLECTED_GUMBEL: -1}
SHARP = (GAUSSIAN, LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)
"""Families whose errors are small beside the function wherever it is not tiny."""


def panels(family: Family) -> tuple[Doubles, Doubles]:
    """Panels of all sizes and places; on one side of a kink, and on the support."""
    generator = np.random.default_rng(7)
    half = 10 ** generator.uniform(-4, 0.3, 160)
    center = generator.uniform(-36, 36, 160) * generator.choice([1.0, 0.1], 160)
    if family is LAPLACE:
        center = np.sign(center) * (np.abs(center) + half)
    elif family in GUMBELS:
        center = generator.uniform(-8, 40, 160) * GUMBELS[family]
    elif family in (EXPONENTIAL, REFLECTED_EXPONENTIAL):
        # The first panels begin at the edge of the support.
        center = np.abs(center) * (np.arange(160) > 20) + half
        center *= 1 if family is EXPONENTIAL else -1
    if family.sides == BOTH_SIDES:
        center[:20] = half[:20] * generator.choice([1.0, -1.0], 20)  # at the mean they begin or end
    return center, half


CASES = [(family, *each) for family in REAL_FAMILIES for each in enumerate(NAMES)]


def exact(family: RealFamily, name: str, z: acb, center: float) -> acb:
    return complex_value(family, int(np.sign(center)) if family.has_kink else 0, name, z)


def sample(family: Family, place: int) -> tuple[np.ndarray, np.ndarray, Samples]:
    """Sample a function: the density, the distribution function, the survival function."""
    center, half = panels(family)
    every = sample_law(family, center, half, RULE)
    return center, half, Samples(every.values[place], every.error[place], every.majorants[place])


def test_exponential_is_within_its_bound() -> None:
    x = np.random.default_rng(1).uniform(-760, 700, 4000)
    x[:3] = 0.0, -690.0, 700.0
    with precision(120):
        for argument, value in zip(x, exponential(x), strict=True):
            exact = arb(float(argument)).exp()
            assert abs(exact - arb(float(value))) <= exact * arb(RELATIVE) + arb(UNDERFLOW)
        for argument, value in zip(x, growth(x), strict=True):
            exact = arb(float(argument)).exp()
            assert arb(float(value)) >= exact * (1 + arb(2) ** -30)
            assert arb(float(value)) * (1 - arb(EXCESS)) <= exact + arb(2) ** -988
    assert np.isinf(growth(np.array([700.5, 1e9]))).all()


@pytest.mark.parametrize("farthest", [10.0, 40.0])
def test_mills_ratio_is_within_its_bound(farthest) -> None:
    t = np.random.default_rng(2).uniform(0, farthest, 2500)
    t[:5] = 0.0, 0.25, 1e-300, np.nextafter(farthest, 0), farthest
    with precision(200):
        for argument, value in zip(t, mills_ratio(t), strict=True):
            x = arb(float(argument))
            exact = (x * x / 2).exp() * (x / arb(2).sqrt()).erfc() * (arb.pi() / 2).sqrt()
            assert abs(exact - arb(float(value))) <= exact * arb(RELATIVE)


@pytest.mark.parametrize(("family", "place", "name"), CASES)
def test_values_are_within_their_errors(family, place, name) -> None:
    center, half, samples = sample(family, place)
    with precision(160):
        nodes = [arb(-1), *(arb.legendre_p_root(8, k) for k in reversed(range(8))), arb(1)]
        for p in range(len(center)):
            for j, node in enumerate(nodes):
                z = acb(arb(float(center[p])) + arb(float(half[p])) * node)
                truth = exact(family, name, z, center[p]).real
                error = abs(truth - arb(float(samples.values[j, p])))
                assert error <= arb(float(samples.error[p]))
                assert truth <= arb(float(samples.majorants[0, p]))
    # The errors are small: relative to the function's size, except where e^-690 is reached, or
    # where 1 - e^-t is small itself, next to the edge of the support.
    one_sided = family in (EXPONENTIAL, REFLECTED_EXPONENTIAL)
    sizes = samples.majorants[0] + 1e-3 * one_sided
    ordinary = sizes > 1e-200
    assert family not in SHARP or (samples.error / sizes)[ordinary].max() < 1e-11


@pytest.mark.parametrize(("family", "place", "name"), CASES)
def test_majorants_hold_on_the_ellipses(family, place, name) -> None:
    center, half, samples = sample(family, place)
    angles = np.random.default_rng(5).uniform(0, 1, 6)
    checked = 0
    with precision(120):
        for p in range(0, len(center), 4):
            for r, ratio in enumerate(RATIOS, start=1):
                bound = float(samples.majorants[r, p])
                if not np.isfinite(bound):
                    continue
                for angle in (*angles, 0.0, 0.5, 1.0):
                    turn = arb(float(angle))
                    w = acb(turn.cos_pi(), turn.sin_pi())
                    point = (w * arb(ratio) + 1 / (w * arb(ratio))) / 2
                    z = arb(float(center[p])) + arb(float(half[p])) * point
                    assert abs(exact(family, name, z, center[p])).lower() <= arb(bound)
                    checked += 1
    assert checked > 1200


# --- Half-spaces and one-sided noise in all engines: closed forms, erfc, mirror images, scipy -----


Q = Fraction
BALLS, NESTED = Eliminated(Tier.BALLS), Nested(Strategy.LEAST_NESTING)
ENGINES: tuple[Method, ...] = (Eliminated(), BALLS, NESTED)


def test_what_has_no_density_is_refused_with_the_reason() -> None:
    integer = Distribution(DISCRETE_LAPLACE, Q(0), Q(1))
    half = ExponentialRatio.constant(Q(1, 2))
    choice = chosen(FiniteLaw((half, half)), [0])
    guard = LinearForm.of({0: Q(1), 1: Q(-1)}, Q(-1, 2))
    cases = {
        choice: "choice",
        Event((integer, integer), (guard,)): "integer samples",
        Event((gauss(0), integer), (guard,)): "integer samples",
        Event((integer,), (LinearForm.of({0: Q(1)}, Q(-1, 2)),)): "integer samples",
        Star(integer, (), ((integer, 2),)): "integer samples",
    }
    steps = [
        TriedMethod(lambda each=each: each, lambda event: True) for each in (ENGINES[0], NESTED)
    ]
    for engine in (*ENGINES, InOrder(steps, "both")):
        plain = Event((gauss(0), laplace(0)), (less(0, 1),))
        *found, last = engine.enclose([*cases, plain], 30)
        assert isinstance(last, Enclosure)
        for answer, reason in zip(found, cases.values(), strict=True):
            assert isinstance(answer, NotEnclosed) and reason in answer.reason
