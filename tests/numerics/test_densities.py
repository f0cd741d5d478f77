"""Standard laws on balls: values, monotone branches, bounds of the modulus, proved cut-offs."""

from fractions import Fraction

import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.boxes import Box
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.laws.families import (
    EXPONENTIAL,
    GAUSSIAN,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    REFLECTED_EXPONENTIAL,
    REFLECTED_GUMBEL,
)
from dipapprox.laws.family import Family
from dipapprox.laws.tails import cutoff, mass_bound, tail_mass
from tests.families import REAL_FAMILIES

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


def enclosed(ball: arb) -> Enclosure:
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


@pytest.mark.parametrize(
    ("family", "side", "point", "density", "below"),
    [
        # scipy.stats.norm, scipy.stats.laplace and scipy.stats.expon, 16 digits
        (GAUSSIAN, 0, Fraction(0), 0.3989422804014327, 0.5),
        (GAUSSIAN, 0, Fraction(-3, 2), 0.12951759566589174, 0.06680720126885807),
        (GAUSSIAN, 0, Fraction(2), 0.05399096651318806, 0.9772498680518208),
        (LAPLACE, -1, Fraction(-1), 0.18393972058572117, 0.18393972058572117),
        (LAPLACE, 1, Fraction(3), 0.024893534183931972, 0.9751064658160680),
        (EXPONENTIAL, 1, Fraction(3), 0.049787068367863944, 0.950212931632136),
        (EXPONENTIAL, -1, Fraction(-3), 0.0, 0.0),
        (REFLECTED_EXPONENTIAL, -1, Fraction(-3), 0.049787068367863944, 0.049787068367863944),
        (REFLECTED_EXPONENTIAL, 1, Fraction(3), 0.0, 1.0),
        # scipy.stats.logistic, gumbel_r and gumbel_l
        (LOGISTIC, 0, Fraction(2), 0.10499358540350652, 0.8807970779778823),
        (GUMBEL, 0, Fraction(-3, 2), 0.05070711360998073, 0.011314286380459627),
        (GUMBEL, 0, Fraction(2), 0.1182049515931431, 0.8734230184931166),
        (REFLECTED_GUMBEL, 0, Fraction(1), 0.17937407873401718, 0.9340119641546875),
    ],
)
def test_reference_values(
    family: Family, side: int, point: Fraction, density: float, below: float
) -> None:
    law = family
    with precision(BITS):
        x = to_ball(point)
        assert abs(float(law.pdf(x, side).mid()) - density) < 1e-15
        assert abs(float(law.cdf(x, side).mid()) - below) < 1e-15
        assert (law.cdf(x, side) + law.survival(x, side)).overlaps(arb(1))


@given(branches, points, lengths, lengths, unit, unit, st.sampled_from(["pdf", "cdf", "survival"]))
def test_bounds_hold_in_the_whole_box(
    branch: tuple[Family, int],
    low: Fraction,
    length: Fraction,
    height: Fraction,
    across: Fraction,
    up: Fraction,
    name: str,
) -> None:
    family, side = branch
    with precision(BITS):
        box = Box(to_ball(low).lower(), to_ball(low + length).upper(), to_ball(height).upper())
        z = acb(to_ball(low + across * length), to_ball(up * height))
        bound = getattr(family, name + "_bound")(box, side)
        value = complex_value(family, side, name, z).abs_lower()
        assert bound.is_exact()
        assert not value > bound


@given(branches, points, lengths, points, lengths, unit, unit, lengths, unit)
def test_mass_bound_holds_for_all_choices_of_the_ends(
    branch: tuple[Family, int],
    first: Fraction,
    first_length: Fraction,
    second: Fraction,
    second_length: Fraction,
    across_first: Fraction,
    across_second: Fraction,
    height: Fraction,
    up: Fraction,
) -> None:
    family, side = branch
    with precision(BITS):
        tall = to_ball(height).upper()
        lower = Box(to_ball(first).lower(), to_ball(first + first_length).upper(), tall)
        upper = Box(to_ball(second).lower(), to_ball(second + second_length).upper(), tall)
        start = acb(to_ball(first + across_first * first_length), to_ball(-up * height))
        stop = acb(to_ball(second + across_second * second_length), to_ball(up * height))
        ends = [complex_value(family, side, "cdf", end) for end in (start, stop)]
        bound = mass_bound(family, lower, upper, side, side)
        assert not (ends[1] - ends[0]).abs_lower() > bound


@given(branches, points, lengths)
def test_masses_are_differences_and_keep_their_accuracy_in_the_tails(
    branch: tuple[Family, int], low: Fraction, length: Fraction
) -> None:
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
        tail = max(enclosed(law.cdf(stop, side)).upper, enclosed(fine).upper)
        if low + length < 0 and side <= 0:
            assert enclosed(mass).width <= tail * Fraction(1, 2**80)
        assert mass.overlaps(fine)


@given(st.sampled_from(REAL_FAMILIES), st.integers(4, 400))
def test_cutoffs_are_proved_and_not_wasteful(family: Family, bits: int) -> None:
    wanted = Fraction(1, 2**bits)
    for side in (-1, 1):
        found = cutoff(family, side, bits)
        beyond = enclosed(tail_mass(family, found, side, bits + 80))
        assert beyond.upper <= wanted
        assert (beyond.upper == 0) == (side not in family.sides)
        # One step of the grid inwards and Chernoff's constant are all that is lost.
        nearer = max(found - Fraction(3, 4), Fraction(0))
        if found:
            assert enclosed(tail_mass(family, nearer, side, bits + 80)).upper > wanted


def test_tail_masses() -> None:
    laplace = enclosed(tail_mass(LAPLACE, Fraction(0), 1, BITS))
    assert Fraction(1, 2) in laplace
    # the reference is from scipy.stats.norm
    gaussian = enclosed(tail_mass(GAUSSIAN, Fraction(5), -1, BITS))
    assert abs(float(gaussian.lower) - 2.866515718791939e-07) < 1e-21
    with pytest.raises(ValueError, match="distance"):
        tail_mass(GAUSSIAN, Fraction(-1), 1, BITS)
