"""Laplace-type events are integrated exactly before quadrature, as far as the work is bounded."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.event import Event
from dipapprox.exact.laplace import polyhedra
from dipapprox.exact.methods import BoundedIntegration
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.kinds import has_density, is_laplace_type
from dipapprox.numerics.methods import InOrder, Method, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify
from tests.event_strategies import laplace
from tests.numerics.alone import alone
from tests.numerics.recording import Recording

HALF = Enclosure.exact(Fraction(1, 2))

PREFIX = """
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- 0
x <- Lap(q, 1 / eps)
y <- Lap(q, 2 / eps)
z <- Lap(q, 3 / eps)
if x + y + z >= 1 then out <- 1 end
"""


def sum_below(*laws: Distribution, bound: Fraction = Fraction(1)) -> Event:
    """The sum of all samples is at most `bound`."""
    terms = dict.fromkeys(range(len(laws)), Fraction(1))
    return Event(laws, (LinearForm.of(terms, -bound),))


def wide_laplace(scale: int) -> Distribution:
    return Distribution(LAPLACE, Fraction(0), Fraction(scale))


THREE = sum_below(laplace(0), wide_laplace(2), wide_laplace(3))


def before(engine: Method) -> InOrder:
    """Exact integration before an engine."""
    steps = [
        TriedMethod(BoundedIntegration, is_laplace_type),
        TriedMethod(lambda: engine, has_density),
    ]
    return InOrder(steps, engine.name)


def test_quadrature_agrees() -> None:
    nested = Nested(Strategy.LEAST_NESTING)
    guards = (
        LinearForm.of({0: Fraction(1), 1: Fraction(2)}, Fraction(-1)),
        LinearForm.of({0: Fraction(1), 1: Fraction(-1)}, Fraction(-2)),
    )
    event = Event((laplace(1), wide_laplace(2)), guards)
    found = alone(before(Recording(HALF)), event, 40, Limits())
    other = alone(nested, event, 30, Limits())
    assert isinstance(other, Enclosure)
    assert found.meets(other)


def test_too_much_work_goes_to_the_engine_and_is_not_begun_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = []
    integrate = polyhedra.integrate

    def counted(event: Event, limits: Limits) -> ExponentialPolynomial | NotEnclosed:
        begun.append(event)
        return integrate(event, limits)

    monkeypatch.setattr(polyhedra, "integrate", counted)
    engine = Recording(HALF)
    method = before(engine)
    larger = sum_below(*(wide_laplace(k) for k in range(1, 5)))
    for event in (THREE, THREE, larger):
        assert alone(method, event, 40, Limits(pieces=5)) == HALF
    assert engine.asked == [THREE, THREE, larger]
    assert begun == [THREE]


@pytest.mark.parametrize(
    ("event", "what"),
    [
        # Equal rates: the polynomials double with every sample.
        (sum_below(*(laplace(0) for _ in range(24))), "10000 terms"),
        # Every guard may be the one that counts.
        (
            Event(
                tuple(laplace(0) for _ in range(5)),
                tuple(
                    LinearForm.of(
                        {j: Fraction((k * (j + 2) + j) % 7 - 3) for j in range(5)}, Fraction(-k)
                    )
                    for k in range(3, 12)
                ),
            ),
            "200 pieces",
        ),
    ],
)
def test_the_work_is_bounded_by_counting(event: Event, what: str) -> None:
    found = polyhedra.integrate(event, Limits(pieces=200))
    assert isinstance(found, NotEnclosed)
    assert found.reason.startswith("integration-budget:")
    assert found.reason.endswith(f"split into more than {what}")


def test_a_program_that_adds_three_samples_needs_no_quadrature() -> None:
    program = elaborate(parse(PREFIX), {}, "prefix")
    verdict = verify(program, Claim(Fraction(1), Fraction(1, 100)), AllPairs(), Options())
    assert verdict.answer is Answer.DP
    assert verdict.engine == "exact"
