"""One function after the other, where an algebra takes many at once."""

from typing import TypeVar

from flint import arb

from dipapprox.arithmetic.precision import precision
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra

F = TypeVar("F")
V = TypeVar("V")


def product(algebra: FunctionAlgebra[F, V], *factors: F) -> F:
    """t -> Π factor(t)."""
    (found,) = algebra.products([factors])
    return found


def power(algebra: FunctionAlgebra[F, V], function: F, exponent: int) -> F:
    """t -> function(t) ** exponent."""
    return product(algebra, *[function] * exponent)


def integral(algebra: FunctionAlgebra[F, V], function: F, from_left: bool = True) -> F:
    """t -> ∫ function over (-∞, t), else over (t, ∞)."""
    (found,) = algebra.running([(function,)], from_left)
    return found


def whole(algebra: FunctionAlgebra[F, V], function: F) -> V:
    """∫ function over the line."""
    (found,) = algebra.product_totals([(function,)])
    return found


def value(algebra: BallAlgebra, function: BallFunction, panel: int, u: arb) -> arb:
    """Enclose a function at the point u in [-1, 1] of a panel."""
    piece = algebra.panels(function)[panel]
    with precision(algebra.bits):
        return arb(0) if piece is None else piece.polynomial(u) + arb(0, piece.radius)
