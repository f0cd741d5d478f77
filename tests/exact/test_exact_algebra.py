"""Laws of the exact function algebra; exact integration before quadrature, within bounds."""

from fractions import Fraction
from typing import TypeVar

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Answer, Claim, Enclosure, Limits, NotEnclosed, Options
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.exact.laplace import pieces, polyhedra
from dipapprox.exact.laplace.algebra import ExactAlgebra
from dipapprox.exact.laplace.pieces import Units
from dipapprox.exact.methods import BoundedIntegration
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.integrals.integral import Strategy
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.grid import build_grid
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra, Piecewise
from dipapprox.numerics.kinds import has_density, is_laplace_type
from dipapprox.numerics.methods import InOrder, Method, TriedMethod
from dipapprox.numerics.nested.engine import Nested
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from tests.cases import cases, refuses
from tests.event_strategies import laplace
from tests.numerics.alone import alone
from tests.numerics.one_by_one import integral, whole
from tests.numerics.recording import Recording
from tests.texts import text_of

F = TypeVar("F")
V = TypeVar("V")
Q = Fraction
FAMILIES = (LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)
LAWS = tuple(
    Distribution(family, mean, scale)
    for family in FAMILIES
    for mean in (Q(0), Q(1), Q(-1, 2))
    for scale in (Q(1), Q(2, 3), Q(1001, 1000))
)
HALF = ExponentialPolynomial.constant(Q(1, 2))
POINTS = (Q(-1), Q(0), Q(1, 3), Q(2))
ALGEBRA = ExactAlgebra(Units.of(LAWS, POINTS))
laws = st.sampled_from(LAWS)


@given(chosen=st.lists(laws, min_size=2, max_size=4), point=st.sampled_from(POINTS))
def test_integrals_agree_with_balls(chosen, point) -> None:
    """Two levels: ∫ f_1 F_3 F_4 over (point, ∞) of ∫ f_2 up to there, at ε' = 1."""
    grid = build_grid(sorted(set(chosen), key=repr), [point], 80)
    balls = BallAlgebra(grid, 128, 50)

    inside = point if grid.boundaries[0] < point < grid.boundaries[-1] else None

    def factors(algebra: FunctionAlgebra[F, V]) -> list[F]:
        inner = integral(algebra, algebra.density(chosen[1]))
        others = [algebra.survival(law) for law in chosen[2:]]
        return [algebra.restrict(algebra.density(chosen[0]), inside, None), inner, *others]

    (exact,) = ALGEBRA.product_totals([factors(ALGEBRA)])
    (found,) = balls.product_totals([factors(balls)])
    value = enclose_at(exact, Q(1), 120, Limits())
    assert isinstance(value, Enclosure)
    lost = sum((grid.spans[law].lost for law in chosen), Q(0))
    assert Enclosure(found.lower, found.upper + lost).meets(value)
    assert found.width < Q(1, 2**60)


def test_what_does_not_converge_is_a_bug() -> None:
    with pytest.raises(BrokenInvariant):
        whole(ALGEBRA, Piecewise((), ({pieces.monomial(0, 0): fmpq(1)},)))
    refuses(BrokenInvariant, None, whole, ALGEBRA, ALGEBRA.cdf(LAWS[0]))
    refuses(BrokenInvariant, "bounded", pieces.as_function, {pieces.monomial(1, 0): fmpq(1)}, 1)
    refuses(BrokenInvariant, "bounded", pieces.as_function, {pieces.monomial(0, 0, 1): fmpq(1)}, 1)


def test_what_the_units_do_not_fit_is_refused() -> None:
    algebra = ExactAlgebra(Units(2, 3))
    law = Distribution(LAPLACE, Q(1, 3), Q(2))
    assert whole(algebra, algebra.restrict(algebra.density(law), None, Q(1, 3))) == HALF
    for other in (Distribution(LAPLACE, Q(1, 2), Q(2)), Distribution(law.family, Q(0), Q(3))):
        refuses(ValueError, "multiple", algebra.density, other)
    refuses(ValueError, "multiple", algebra.restrict, algebra.density(law), Q(1, 2), None)
    refuses(ValueError, "Gauss", algebra.density, Distribution(GAUSSIAN, Q(0), Q(2)))


ONE_HALF = Enclosure.exact(Fraction(1, 2))


def sum_below(*laws: Distribution, bound: Fraction = Fraction(1)) -> Event:
    """The sum of all samples is at most `bound`."""
    terms = dict.fromkeys(range(len(laws)), Fraction(1))
    return Event(laws, (LinearForm.of(terms, -bound),))


def wide_laplace(scale: int) -> Distribution:
    return Distribution(LAPLACE, Fraction(0), Fraction(scale))


THREE = sum_below(laplace(0), wide_laplace(2), wide_laplace(3))


def before(engine: Method) -> InOrder:
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
    found = alone(before(Recording(ONE_HALF)), event, 40, Limits())
    other = alone(nested, event, 30, Limits())
    assert isinstance(other, Enclosure)
    assert found.meets(other)


def test_too_much_work_goes_to_the_engine_and_is_not_begun_again(monkeypatch) -> None:
    begun = []
    integrate = polyhedra.integrate

    def counted(event: Event, limits: Limits) -> ExponentialPolynomial | NotEnclosed:
        begun.append(event)
        return integrate(event, limits)

    monkeypatch.setattr(polyhedra, "integrate", counted)
    engine = Recording(ONE_HALF)
    method = before(engine)
    larger = sum_below(*(wide_laplace(k) for k in range(1, 5)))
    for event in (THREE, THREE, larger):
        assert alone(method, event, 40, Limits(pieces=5)) == ONE_HALF
    assert engine.asked == [THREE, THREE, larger]
    assert begun == [THREE]


@cases(
    "event, what",
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
)
def test_the_work_is_bounded_by_counting(event, what) -> None:
    found = polyhedra.integrate(event, Limits(pieces=200))
    assert found.reason.startswith("integration-budget:")
    assert found.reason.endswith(f"split into more than {what}")


def test_a_program_that_adds_three_samples_needs_no_quadrature() -> None:
    program = elaborate(parse(text_of("exact/bounded_integration-1")), {}, "prefix")
    verdict = verify(Setting(program, AllPairs(), Options()), Claim(Fraction(1), Fraction(1, 100)))
    assert verdict.answer is Answer.DP
    assert verdict.engine == "exact"
