"""Laws against scipy and closed forms in other libraries; balls to exact numbers and back."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from threading import Thread
from typing import Any

import mpmath
import pytest
from flint import arb, arb_series, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dipapprox.arithmetic import precision as searching
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.laws import FAMILIES, IntegerFamily, Law, RealFamily
from dipapprox.kernel.panels import density as on_panel
from dipapprox.kernel.panels import jet
from kernel.ends import lower, upper
from kernel.machines import judged
from tests.cases import check_answers, part, refuses

REAL = {name: family for name, family in FAMILIES.items() if isinstance(family, RealFamily)}
INTEGER = {name: family for name, family in FAMILIES.items() if isinstance(family, IntegerFamily)}
fractions = st.fractions(min_value=-30, max_value=30, max_denominator=64)

ORACLES = {
    "Gauss": (stats.norm.pdf, stats.norm.cdf, stats.norm.sf),
    "Lap": (stats.laplace.pdf, stats.laplace.cdf, stats.laplace.sf),
    "LapPlus": (stats.expon.pdf, stats.expon.cdf, stats.expon.sf),
    "LapMinus": (
        lambda z: stats.expon.pdf(-z),
        lambda z: stats.expon.sf(-z),
        lambda z: stats.expon.cdf(-z),
    ),
    "Logistic": (stats.logistic.pdf, stats.logistic.cdf, stats.logistic.sf),
    "Gumbel": (stats.gumbel_r.pdf, stats.gumbel_r.cdf, stats.gumbel_r.sf),
    "GumbelMinus": (stats.gumbel_l.pdf, stats.gumbel_l.cdf, stats.gumbel_l.sf),
}


def close(ball: arb, value: float) -> bool:
    """Whether a thin ball is where a library's float is, to 1e-10 of it."""
    with precision(200):
        slack = abs(arb(float(value))) * arb("1e-10") + arb("1e-300")
        return bool(abs(ball - arb(float(value))) < slack)


def density(name: str, z: arb, side: int) -> arb:
    return on_panel(name, z, arb(0), side, 1)(arb(0))


@pytest.mark.parametrize("name", REAL)
@given(z=fractions)
def test_densities_and_distribution_functions(name, z) -> None:
    pdf, cdf, survival = ORACLES[name]
    with precision(100):
        point = to_ball(z)
        if z:
            assert close(density(name, point, 1 if z > 0 else -1), pdf(float(z)))
        assert close(REAL[name].below(point), cdf(float(z)))
        assert close(REAL[name].above(point), survival(float(z)))


@pytest.mark.parametrize("name", REAL)
@given(one=fractions, other=fractions)
def test_densities_fall_on_both_sides_of_their_means(name, one, other) -> None:
    near, far = sorted((abs(float(one)), abs(float(other))))
    pdf = ORACLES[name][0]
    assert all(pdf(side * far) <= pdf(side * near) + 1e-15 for side in (1, -1) if near)


@pytest.mark.parametrize("name", REAL)
@given(z=fractions, radius=st.fractions(min_value=0, max_value=3))
def test_a_wide_ball_holds_what_its_points_give(name, z, radius) -> None:
    family = REAL[name]
    with precision(100):
        wide = to_ball(z - radius).union(to_ball(z + radius))
        for point in (z - radius, z, z + radius, Fraction(0)):
            if abs(point - z) <= radius and point:
                thin = to_ball(point)
                side = 1 if point > 0 else -1
                assert density(name, wide, side).overlaps(density(name, thin, side))
                assert family.below(wide).overlaps(family.below(thin))
                assert family.above(wide).overlaps(family.above(thin))


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("bits", [1, 10, 53, 300, 1900])
def test_reaches(name, bits) -> None:
    with precision(2 * bits + 100):
        left, right = map(Fraction, REAL[name].reach(bits))
        assert (left == 0) == (name == "LapPlus")
        assert (right == 0) == (name == "LapMinus")
        outside = REAL[name].below(to_ball(-left)) + REAL[name].above(to_ball(right))
        assert outside <= arb(2) ** -bits
        if bits > 50:
            assert outside >= arb(2) ** (-bits * 5 // 4)


def scipy_masses(name: str, scale: Fraction):
    if name == "DLap":
        return stats.dlaplace(1 / float(scale))
    ks = range(-400, 401)
    weights = [float(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * float(scale) ** 2))) for k in ks]
    return stats.rv_discrete(values=(ks, [w / sum(weights) for w in weights]))


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(7, 3)])
def test_masses_of_integers(name, scale) -> None:
    family, oracle = INTEGER[name], scipy_masses(name, scale)
    with precision(100):
        rate = family.rate(scale)
        masses = family.masses(-7, 9, rate)
        assert len(masses) == 17
        for k, mass in zip(range(-7, 10), masses, strict=True):
            assert close(mass, oracle.pmf(k))
            assert abs(family.below(k, rate) + family.above(k + 1, rate) - 1) < arb("1e-25")
            assert (family.above(k, rate) - family.above(k + 1, rate)).overlaps(mass)
            assert abs(family.below(k, rate) - arb(float(oracle.cdf(k)))) < arb("1e-12")


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(50)])
@pytest.mark.parametrize("bits", [1, 53, 300])
def test_reaches_on_the_integers(name, scale, bits) -> None:
    with precision(2 * bits + 100):
        left, right = INTEGER[name].reach(bits)
        assert left == right
        assert (
            INTEGER[name].above(int(left * scale) + 1, INTEGER[name].rate(scale)) <= arb(2) ** -bits
        )


# --- balls -------------------------------------------------------------------------------------


@given(st.fractions(), st.integers(min_value=-80, max_value=200), st.integers(2, 300))
def test_ends_are_outward(value, places, bits) -> None:
    with precision(bits):
        ball = to_ball(value)
        low, high = lower(ball), upper(ball)
        assert low <= value <= high
        assert high - low <= abs(value) * Fraction(1, 2 ** (bits - 2))
        unit = Fraction(2) ** -places
        assert lower_at(ball, places) * unit <= low < (lower_at(ball, places) + 1) * unit
        assert upper_at(ball, places) * unit >= high > (upper_at(ball, places) - 1) * unit


@pytest.mark.parametrize("others", [precision, searching.precision])
@pytest.mark.parametrize("ours", [precision, searching.precision])
def test_the_precision_is_taken_in_turns(ours, others) -> None:
    """The search and the kernel share one precision: a block of either waits for the other's."""
    seen: list[int] = []
    before = ctx.prec

    def compute() -> None:
        with others(200):
            seen.append(ctx.prec)

    with ours(77):
        other = Thread(target=compute)
        other.start()
        other.join(0.02)
        assert ctx.prec == 77
        assert not seen
    other.join()
    assert seen == [200]
    assert ctx.prec == before


def test_the_precision_is_restored() -> None:
    with precision(77):
        with pytest.raises(ZeroDivisionError), precision(99):
            _ = 1 // 0
        assert ctx.prec == 77


def weight(name: str, z: Fraction) -> arb:
    """The density, or the mass at scale 1, but for a factor."""
    family = FAMILIES[name]
    if isinstance(family, IntegerFamily):
        (found,) = family.masses(int(z), int(z), Fraction(1))
        return found
    side = next((side for side in family.sides if side * z >= 0), 0)
    return density(name, to_ball(z), side)


@pytest.mark.parametrize("name", FAMILIES)
def test_shifts_are_those_that_cost_their_length(name) -> None:
    with precision(100):
        for sign in (-1, 1):
            holds = all(
                # Where both sides are the same, balls overlap.
                not weight(name, Fraction(z - sign * d)) > arb(d).exp() * weight(name, Fraction(z))
                for d in (1, 2, 5)
                for z in range(-6, 7)
            )
            assert holds == (sign in FAMILIES[name].shifts)


def test_norms_of_derivatives_are_hardly_more_than_they_are() -> None:
    with precision(100):
        bell = (2 * arb.pi()).sqrt()
        ends = [(3 + sign * arb(5).sqrt()) / 2 for sign in (1, -1)]
        turned = 2 * sum(abs((v * v - v) * (-v).exp()) for v in ends)
        true = {
            "Gauss": (2 / bell, 4 * arb("-0.5").exp() / bell),
            # The density rises to 1/2 and falls; f' rises to 1/2, jumps to -1/2, rises.
            "Lap": (arb(1), arb(2)),
            "Logistic": (arb("0.5"), 2 * arb(3).sqrt() / 9),
            **dict.fromkeys(("Gumbel", "GumbelMinus"), (2 * arb(-1).exp(), turned)),
        }
        for name, family in REAL.items():
            assert (family.norms is not None) == (name in true)
            for norm, least in zip(family.norms or (), true.get(name, ()), strict=True):
                assert least <= to_ball(norm) < least + arb("0.001")


@pytest.mark.parametrize("name", REAL)
def test_densities_on_panels_are_narrow(name) -> None:
    """Between 1/4 and 3/4, or on the other side, at a third of the way from the middle."""
    side = -1 if name == "LapMinus" else 1
    with precision(120):
        centre, half, t = side * arb(1) / 2, arb(1) / 4, arb(1) / 3
        found = on_panel(name, centre, half, side, 24)(t)
        point = float((centre + half * t).mid())
    assert float(found.mid()) == pytest.approx(ORACLES[name][0](point))
    assert float(found.rad()) < 1e-9


@pytest.mark.parametrize("name", REAL)
def test_wide_panels_with_few_terms_hold_densities(name) -> None:
    """At both ends, at the middle and between, whatever series do not tell."""
    for side, places in product((-1, 1), (Fraction(1, 2), Fraction(1), Fraction(4), Fraction(9))):
        shapes = list(product((places, places / 2, places / 8), (1, 2, 5)))
        for half, terms in part(shapes, 3):
            with precision(80):
                found = on_panel(name, to_ball(side * places), to_ball(half), side, terms)
            for k in part(range(-4, 5), 2):
                with precision(200):
                    at, t = side * places + half * Fraction(k, 4), to_ball(Fraction(k, 4))
                    true = density(name, to_ball(at), side)
                    assert lower(found(t)) <= upper(true)
                    assert lower(true) <= upper(found(t))


@pytest.mark.parametrize("short", [(8,), (9,), (8, 9)])
def test_series_are_as_long_as_they_are_asked_for(short) -> None:
    """Of 4 terms 8 are looked at, and one more; what is left out is not known to be 0."""
    ctx.cap = 7
    assert jet(arb_series.exp, arb(0), arb(1), 4)(arb(1)).contains(arb(1).exp())

    def cut(series: arb_series) -> arb_series:
        return arb_series(series.coeffs(), series.prec - (series.prec in short))

    refuses(Refused, "too short", jet, cut, arb(0), arb(1), 4)


def inside(bits: int, work: Callable[[], object]) -> object:
    with precision(bits):
        return work()


def image(name: str, *by: Any) -> Law:
    """Of the law around 3 with the scale 2 / eps, after one change of variables or several."""
    law = Law(name, Fraction(3), Fraction(2), -1)
    for factor, offset in zip(by[::2], by[1::2], strict=True):
        law = law.affine(Fraction(factor), Fraction(offset))
    return law


def test_laws_and_balls_that_are_told_or_refused() -> None:
    check_answers("kernel_laws", judged(globals()))
