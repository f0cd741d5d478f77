"""The reference engine against closed forms, permutations, scipy and nasty parameters."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import LimitReached
from dipapprox.events.event import Event
from dipapprox.integrals.integral import Integral, Level, Multiply
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.nested.engine import Nested, enclose_plan
from tests.families import REAL_FAMILIES
from tests.numerics.alone import alone

ENGINE = Nested(Strategy.LEAST_NESTING)
BITS = 40
both = pytest.mark.parametrize("family", REAL_FAMILIES)


def law(family: Family, mean: Fraction | int, scale: Fraction | int) -> Distribution:
    return Distribution(family, Fraction(mean), Fraction(scale))


def gauss(mean: Fraction | int, scale: Fraction | int) -> Distribution:
    return law(GAUSSIAN, mean, scale)


def form(constant: Fraction | int, **coefficients: Fraction | int) -> LinearForm:
    """form(1, x0=2) is 2 x[0] + 1."""
    terms = {int(name[1:]): Fraction(c) for name, c in coefficients.items()}
    return LinearForm.of(dict(terms), Fraction(constant))


def below(lesser: int, greater: int) -> LinearForm:
    return LinearForm.symbol(lesser) - LinearForm.symbol(greater)


def chain(family: Family, length: int) -> Event:
    samples = tuple(law(family, 0, 1) for _ in range(length))
    return Event(samples, tuple(below(i, i + 1) for i in range(length - 1)))


def enclose(event: Event, bits: int = BITS, engine: Nested | Eliminated = ENGINE) -> Enclosure:
    found = alone(engine, event, bits, Limits())
    assert 0 <= found.lower <= found.upper <= 1
    return found


def sharp(event: Event, bits: int = BITS, engine: Nested | Eliminated = ENGINE) -> Enclosure:
    found = enclose(event, bits, engine)
    assert found.width <= Fraction(1, 2**bits)
    return found


def assert_near(found: Enclosure, reference: float, tolerance: float = 1e-15) -> None:
    """The reference, a rounded number, lies in the enclosure up to its own error."""
    assert found.lower - Fraction(tolerance) <= Fraction(reference)
    assert found.upper + Fraction(tolerance) >= Fraction(reference)


def test_the_truncated_box_of_example_6() -> None:
    """∫ over |t| <= 16, x1 in [-32, t], x2 in [t, 33]: three finite ranges, no tails."""
    t = LinearForm.symbol(0)
    ends = [LinearForm.constant_form(value) for value in (-16, 16, -32, 33)]
    body = Multiply((Integral(Level(1, ends[2], t), None), Integral(Level(2, t, ends[3]), None)))
    event = Event((gauss(0, 4), gauss(0, 8), gauss(1, 8)), (below(1, 0), below(0, 2)))
    found = enclose_plan(event, Integral(Level(0, ends[0], ends[1]), body), 50, Limits())
    assert found.width <= Fraction(1, 2**50)
    assert abs(found.lower - Fraction("0.2403760929249837317")) <= Fraction(1, 2**50)


def test_laplace_closed_forms() -> None:
    # x - y of two standard Laplace: P[x - y <= -d] = (1/2 + d/4) e^-d
    pair = (law(LAPLACE, 0, 1), law(LAPLACE, 0, 1))
    shifted = Event(pair, (form(3, x0=1, x1=-1),))
    assert_near(sharp(shifted), (1 / 2 + 3 / 4) * math.exp(-3))
    # scales 1 and 2: P[y - x > d] = (4 e^(-d/2) - e^-d) / 6
    unlike = (law(LAPLACE, 0, 1), law(LAPLACE, 0, 2))
    expected = (4 * math.exp(-1) - math.exp(-2)) / 6
    assert_near(sharp(Event(unlike, (form(2, x0=1, x1=-1),))), expected)


MILLION = 10**6


@both
@pytest.mark.parametrize("eps", [Fraction(1, MILLION), Fraction(50)])
def test_extreme_epsilons(family: Family, eps: Fraction) -> None:
    samples = (law(family, 0, 2 / eps), *(law(family, k % 2, 4 / eps) for k in range(4)))
    event = Event(samples, (below(1, 0), below(2, 0), below(3, 0), below(0, 4)))
    complement = Event(samples, (below(1, 0), below(2, 0), below(3, 0), below(4, 0)))
    whole = Event(samples[:4], event.guards[:3])
    parts = sharp(event) + sharp(complement)
    assert parts.meets(sharp(whole))


def test_limits_stop_the_quadrature() -> None:
    with pytest.raises(LimitReached, match="time limit"):
        alone(ENGINE, chain(GAUSSIAN, 6), 100, Limits(seconds=0.02))
