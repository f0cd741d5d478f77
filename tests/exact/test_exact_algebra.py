"""Laws of the exact function algebra, and its integrals against the algebra in balls."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import BrokenInvariant
from dipapprox.exact.laplace import pieces
from dipapprox.exact.laplace.algebra import ExactAlgebra
from dipapprox.exact.laplace.pieces import Units
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.grid import build_grid
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra, Piecewise
from tests.numerics.one_by_one import integral, whole

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
def test_integrals_agree_with_balls(chosen: list[Distribution], point: Fraction) -> None:
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
    with pytest.raises(BrokenInvariant):
        whole(ALGEBRA, ALGEBRA.cdf(LAWS[0]))
    with pytest.raises(BrokenInvariant, match="bounded"):
        pieces.as_function({pieces.monomial(1, 0): fmpq(1)}, 1)
    with pytest.raises(BrokenInvariant, match="bounded"):
        pieces.as_function({pieces.monomial(0, 0, 1): fmpq(1)}, 1)


def test_what_the_units_do_not_fit_is_refused() -> None:
    algebra = ExactAlgebra(Units(2, 3))
    law = Distribution(LAPLACE, Q(1, 3), Q(2))
    assert whole(algebra, algebra.restrict(algebra.density(law), None, Q(1, 3))) == HALF
    for other in (Distribution(LAPLACE, Q(1, 2), Q(2)), Distribution(law.family, Q(0), Q(3))):
        with pytest.raises(ValueError, match="multiple"):
            algebra.density(other)
    with pytest.raises(ValueError, match="multiple"):
        algebra.restrict(algebra.density(law), Q(1, 2), None)
    with pytest.raises(ValueError, match="Gauss"):
        algebra.density(Distribution(GAUSSIAN, Q(0), Q(2)))
