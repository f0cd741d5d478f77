"""Discrete events are answered exactly, whatever the engine; the engine gets the others."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.event import Event
from dipapprox.exact.methods import Exact
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.laws.choices import FiniteLaw
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import Limits
from dipapprox.numerics.integers.sums import IntegerSums
from dipapprox.numerics.kinds import has_density, is_ratio, is_sum
from dipapprox.numerics.methods import InOrder, Method, TriedMethod
from exact.integer_events import at_most, dlap
from tests.chosen import chosen
from tests.numerics.alone import alone
from tests.numerics.recording import Recording

HALF = Enclosure.exact(Fraction(1, 2))
LAPLACE = Event(
    (Distribution(LAPLACE, Fraction(0), Fraction(1)),), (at_most(Fraction(-1, 2), z0=1),)
)
TIE = Event((dlap(0), dlap(0)), (at_most(0, z0=1, z1=-1), at_most(0, z0=-1, z1=1)))
GROWING = ExponentialPolynomial.monomial(1, 0, 1)
RESPONSE = FiniteLaw(
    tuple(
        ExponentialRatio.of(top, {GROWING + ExponentialPolynomial.constant(1): 1})
        for top in (GROWING, ExponentialPolynomial.constant(1))
    )
)


def before(engine: Method) -> InOrder:
    """Choices and integers by the methods for them, all else by an engine."""
    steps = [
        TriedMethod(Exact, is_ratio),
        TriedMethod(IntegerSums, is_sum),
        TriedMethod(lambda: engine, has_density),
    ]
    return InOrder(steps, engine.name)


@pytest.mark.parametrize("bits", [10, 60, 300])
def test_values_are_as_narrow_as_wanted(bits: int) -> None:
    method = before(Recording(HALF))
    tie = alone(method, TIE, bits, Limits())
    yes = alone(method, chosen(RESPONSE, [0], 2), bits, Limits())
    for found, value in ((tie, 0.279602), (yes, 0.880797)):
        assert isinstance(found, Enclosure)
        assert found.width <= Fraction(1, 2**bits)
        assert abs(float(found.lower) - value) < 1e-2
    assert method.name == "exact"


def test_more_bits_agree_with_fewer() -> None:
    method = before(Recording(HALF))
    wide, narrow = (alone(method, TIE, bits, Limits()) for bits in (20, 200))
    assert isinstance(wide, Enclosure)
    assert isinstance(narrow, Enclosure)
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper or wide.meets(narrow)


def test_the_engine_gets_the_rest_in_one_batch_and_in_order() -> None:
    engine = Recording(HALF)
    method = before(engine)
    assert method.name == "recording"
    found = method.enclose((LAPLACE, TIE, LAPLACE), 30, Limits())
    assert engine.asked == [LAPLACE, LAPLACE]
    assert found[0] == found[2] == HALF
    assert isinstance(found[1], Enclosure)
    assert found[1].width <= Fraction(1, 2**30)
    assert method.name == "exact + recording"


def test_certain_outcomes_are_points() -> None:
    method = before(Recording(HALF))
    certain = chosen(RESPONSE, [0, 1], Fraction(1, 3))
    assert alone(method, certain, 30, Limits()) == Enclosure.exact(1)


def test_reasons_come_through() -> None:
    rows = [{0: 3, 1: 5, 2: -7}, {0: -7, 1: 3, 2: 5}]
    guards = tuple(at_most(0, **{f"z{i}": a for i, a in row.items()}) for row in rows)
    event = Event((dlap(0), dlap(0), dlap(0)), guards)
    found = alone(before(Recording(HALF)), event, 30, Limits(pieces=50))
    assert isinstance(found, NotEnclosed)
    assert "integration-budget" in found.reason
