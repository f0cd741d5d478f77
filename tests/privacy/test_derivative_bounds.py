"""Rates and tubes against the probabilities themselves, at epsilons that no bound was made from."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dipapprox
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import Bounds
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds, Rates
from dipapprox.privacy.intervals.tables import radii
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.privacy.interval_programs import BODIES, ROWS, program
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
