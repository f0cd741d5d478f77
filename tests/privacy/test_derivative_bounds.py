"""Rates and tubes against the probabilities themselves, at epsilons that no bound was made from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import dipapprox
from dipapprox.errors import LimitReached
from dipapprox.events.catalogue import Catalogue
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import Bounds
from dipapprox.privacy.intervals.centres import velocities
from dipapprox.privacy.intervals.derivative_bounds import (
    DerivativeBounds,
    Rates,
    SlopeBound,
    root_above,
)
from dipapprox.privacy.intervals.tube import Minorant, affine_scaled, ends, radii
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.privacy.interval_programs import BODIES, CENTRED, ROWS, program
from tests.thorough import examples

NAMES = st.sampled_from(sorted(BODIES))
STATES: dict[str, FinalStates] = {name: execute(program(name), True, Limits()) for name in BODIES}
TOLERANCE = 1e-9


def table(name: str, eps: Fraction) -> Bounds:
    options = Options()
    return open_probabilities(STATES[name], eps, options).table(ROWS, 40)


def value(bounds: Bounds) -> np.ndarray:
    return (bounds.lower + bounds.upper) / 2


@given(
    NAMES,
    st.fractions(Fraction(1, 20), Fraction(3), max_denominator=40),
    st.fractions(Fraction(1, 50), Fraction(2), max_denominator=50),
    st.fractions(0, 1, max_denominator=10),
)
@examples(5)
def test_probabilities_stay_in_their_tubes(
    name: str, lower: Fraction, width: Fraction, place: Fraction
) -> None:
    first, last = table(name, lower), table(name, lower + width)
    radius = radii(first, last, width, DerivativeBounds(STATES[name]).rates(lower))
    t = float(place)
    chord = (1 - t) * value(first) + t * value(last)
    middle = value(table(name, lower + place * width))
    assert np.all(np.abs(middle - chord) <= radius + TOLERANCE)


@given(
    NAMES,
    st.fractions(Fraction(1, 20), Fraction(3), max_denominator=40),
    st.fractions(Fraction(1, 4), Fraction(1), max_denominator=8),
)
@examples(5)
def test_first_and_second_differences_obey_the_rates(
    name: str, lower: Fraction, width: Fraction
) -> None:
    step = width / 16
    rates = DerivativeBounds(STATES[name]).rates(lower)
    values = [value(table(name, lower + k * step)) for k in range(3)]
    largest = np.max(values, axis=0) + float(step)  # p moves between the points, too
    h = float(step)
    for bounds, difference in (
        (rates.first, np.abs(values[1] - values[0]) / h),
        (rates.second, np.abs(values[2] - 2 * values[1] + values[0]) / h**2),
    ):
        for rate in bounds:
            # Doubled: `largest` is only about the largest p between the points.
            allowed = float(rate.slope) * 2 * largest + float(rate.constant)
            assert np.all(difference <= allowed + TOLERANCE / h**2)


@pytest.mark.parametrize("name", sorted(set(BODIES) - {"sums"}))  # seconds, and like others
def test_tubes_shrink_with_the_square_of_the_width(name: str) -> None:
    rates = DerivativeBounds(STATES[name]).rates(Fraction(1, 2))
    sizes = []
    for width in (Fraction(1, 8), Fraction(1, 64)):
        ends_ = table(name, Fraction(1, 2)), table(name, Fraction(1, 2) + width)
        sizes.append(float(radii(*ends_, width, rates).max()))
    assert sizes[1] <= sizes[0] / 60


@pytest.mark.parametrize("name", sorted(BODIES))
def test_which_programs_have_centres(name: str) -> None:
    used = range(len(STATES[name].samples))
    assert (velocities(STATES[name], list(used)) is not None) == (name in CENTRED)


def test_velocities_of_a_comparison_by_hand() -> None:
    # c_x = c_y = c: t = ((q1 - c)/2, q2 - c); with the centre at the weighted mean 1/2 of the
    # middles the largest distances are 1/4 and 1/2.
    found = velocities(STATES["gaussian"], [0, 1])
    assert found is not None
    square = sum(t * t for t in found)
    assert square <= Fraction(5, 16)
    # No centre does better than half of the largest possible distance of the two means.
    assert square >= Fraction(1, 5) * Fraction(1, 4)


def test_inputs_decide_alone() -> None:
    # out = 2 has probability 0 or 1: it does not move, and impossible outputs have no tube.
    first, last = (table("inputs decide", Fraction(k)) for k in (1, 2))
    radius = radii(
        first, last, Fraction(1), DerivativeBounds(STATES["inputs decide"]).rates(Fraction(1))
    )
    impossible = (first.upper == 0.0) & (last.upper == 0.0)
    assert impossible.any()
    assert np.all(radius[impossible] == 0.0)


@pytest.mark.parametrize("size", [0.001, 0.05, 0.3, 0.5])
def test_majorants_of_a_gaussian_shift(size: float) -> None:
    """For one Gaussian of velocity 1 the worst events are tails; the majorants cover them."""
    cut, outer = stats.norm.isf(size), stats.norm.isf(size / 2)
    worst_first = stats.norm.pdf(cut)
    worst_second = 2 * outer * stats.norm.pdf(outer)
    rates = _one_gaussian()
    first = min(float(r.slope) * size + float(r.constant) for r in rates.first)
    second = min(float(r.slope) * size + float(r.constant) for r in rates.second)
    assert worst_first <= first <= 1.4 * worst_first
    assert worst_second <= second <= 1.6 * worst_second


def _one_gaussian() -> Rates:
    text = """
        input q in {0, 2}
        output out in {0, 1}
        adjacent all
        x <- Gauss(q, 1 / eps)
        out <- 0
        if x < 1 then out <- 1 end
    """
    states = execute(dipapprox.parse(text), True, Limits())
    derivatives = DerivativeBounds(states)
    assert derivatives.shifted is not None
    return derivatives.shifted


def test_l1_norms_of_the_scaling_rates() -> None:
    # The constants of the module's text: E |s²+s'| bounded by E s² + E |s'|, s = z²-1 and |z|-1.
    gauss = integrate.quad(
        lambda z: abs((z * z - 1) ** 2 - 2 * z * z) * stats.norm.pdf(z), -12, 12, limit=200
    )[0]
    laplace = (
        2 * integrate.quad(lambda z: abs((z - 1) ** 2 - z) * np.exp(-z) / 2, 0, 60, limit=200)[0]
    )
    assert gauss / 2 <= 2
    assert laplace / 2 <= 1


@given(st.fractions(0, 10**6))
def test_roots_from_above(square: Fraction) -> None:
    root = root_above(square)
    assert root * root >= square
    assert (root - Fraction(1, 2**39)) ** 2 <= square or root <= Fraction(1, 2**39)


@given(
    st.fractions(Fraction(1, 10), 4, max_denominator=20),
    st.fractions(Fraction(1, 10), 4, max_denominator=20),
    st.fractions(0, 1, max_denominator=20),
)
@examples(5)
def test_scaled_probabilities_stay_below_inside_the_cell(
    at_lower: Fraction, at_upper: Fraction, place: Fraction
) -> None:
    lower, width = Fraction(1, 2), Fraction(1, 4)
    first, last = table("mixed", lower), table("mixed", lower + width)
    radius = radii(first, last, width, DerivativeBounds(STATES["mixed"]).rates(lower))
    start, end = ends(first, last, radius, Minorant(at_lower, at_upper))
    t = float(place)
    middle = value(table("mixed", lower + place * width))
    factor = (1 - t) * float(at_lower) + t * float(at_upper)
    scaled = (1 - t) * start.scaled + t * end.scaled
    assert np.all(scaled <= factor * middle + TOLERANCE)
    raised = (1 - t) * start.upper + t * end.upper
    assert np.all(raised >= middle - TOLERANCE)


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_affine_bounds_stay_below_the_proved_bound(
    values: list[float], share: float, place: float
) -> None:
    """(1 - t) A + t B - 4 t (1 - t) c bounds the scaled probability from below, and so does 0."""
    a, b, most = values
    correction = most * share
    start, end = affine_scaled(np.array([a]), np.array([b]), np.array([correction]))
    proved = (1 - place) * a + place * b - 4 * place * (1 - place) * correction
    used = (1 - place) * float(start[0]) + place * float(end[0])
    assert used <= max(proved, 0.0) + 1e-15


def test_the_end_sums_bound_what_is_between_them() -> None:
    """Functions at the very limit of their rates; the scaled probability starts at nothing."""
    width, raised = 0.5, 1e-9

    def probabilities(t: float) -> Bounds:
        first, second = 0.3 + t * (width - t) / 2, raised + t * t / 2
        inputs = np.array([[first, 1 - first], [second, 1 - second]])
        return Bounds(inputs, inputs)

    unit = SlopeBound(Fraction(0), Fraction(1))
    lower, upper = probabilities(0.0), probabilities(width)
    radius = radii(lower, upper, Fraction(1, 2), Rates((unit,), (unit,)))
    sums = [
        np.maximum(each.upper[0] - each.scaled[1], 0.0).sum()
        for each in ends(lower, upper, radius, Minorant(Fraction(1), Fraction(1)))
    ]
    for t in np.linspace(0.0, width, 101):
        input = probabilities(float(t)).lower
        true = np.maximum(input[0] - input[1], 0.0).sum()
        assert true <= sums[0] + (sums[1] - sums[0]) * t / width + 1e-12


@pytest.mark.parametrize(
    "body",
    [
        "out <- choose { 0 : exp(eps) / (1 + exp(eps)), 1 : 1 / (1 + exp(eps)) }",
        "z <- DLap(q, 1 / eps)\nif z > 0 then out <- 1 else out <- 0 end",
    ],
    ids=["choice", "integer"],
)
def test_choices_and_integers_have_no_rates(body: str) -> None:
    source = f"input q in {{0, 1}}\noutput out in {{0, 1}}\nadjacent all\n{body}\n"
    states = execute(dipapprox.parse(source), True, Limits())
    with pytest.raises(LimitReached, match="not bounded"):
        DerivativeBounds(states)


def test_one_sided_noise_has_no_second_rates_by_shifts() -> None:
    """Pr[r > 1] = exp(-eps) for r with scale 1/eps: p' = -p, p'' = p."""
    source = """input q in {0, 1}
output out in {0, 1}
adjacent all
r <- LapPlus(q, 1 / eps)
if r > 1 then out <- 1 else out <- 0 end
"""
    derivatives = DerivativeBounds(execute(dipapprox.parse(source), True, Limits()))
    assert derivatives.shifted is not None and derivatives.shifted.second == ()
    for eps in (Fraction(1, 2), Fraction(3)):
        p = Fraction(float(np.exp(-float(eps))))
        rates = derivatives.rates(eps)
        assert all(each.slope * p + each.constant >= p for each in (*rates.first, *rates.second))


def test_a_bound_of_zero_is_not_impossibility() -> None:
    """An engine that says 0 at one end says nothing about the rest of the cell."""
    zero, some = np.array([[0.0, 1.0]]), np.array([[0.25, 1.0]])
    unit = SlopeBound(Fraction(1), Fraction(1))
    rates = Rates((unit,), (unit,))
    never = np.array([[True, False]])
    for first, second in ((zero, some), (some, zero), (zero, zero)):
        bounds = Bounds(first, first), Bounds(second, second)
        radius = radii(*bounds, Fraction(1, 4), rates)
        assert (radius > 0).all()
        factor = Minorant(Fraction(1), Fraction(1))
        assert all((end.upper > 0).all() for end in ends(*bounds, radius, factor))
    bounds = Bounds(zero, zero, None, never), Bounds(zero, zero, None, never)
    radius = radii(*bounds, Fraction(1, 4), rates)
    assert radius[0, 0] == 0 < radius[0, 1]
    assert all(end.upper[0, 0] == 0 for end in ends(*bounds, radius, factor))


@pytest.mark.parametrize("name", sorted(STATES))
def test_what_is_impossible_is_told(name: str) -> None:
    """Exactly the outputs that no final state with possible events has."""
    source = open_probabilities(STATES[name], Fraction(1), Options())
    found = source.table(ROWS, 40)
    catalogue = Catalogue(STATES[name], Fraction(1))
    assert found.impossible is not None
    for input, told, upper in zip(ROWS, found.impossible, found.upper, strict=True):
        behind = {output for output, _ in catalogue.states((input,))[0]}
        assert told.tolist() == [output not in behind for output in range(len(told))]
        assert (upper[told] == 0).all()
        assert (upper[~told] > 0).all()
