"""Polynomials in balls on panels of their own: on finer panels they are composed with a line.

If u = δ + ρ w maps the new panel into the old one, |δ| + ρ <= 1, then p(u) + e(u) with |e| <= r
becomes p(δ + ρ w) + e: the remainder stays, and the 1-norm does not grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb_poly

from dipapprox.arithmetic.precision import give_way, precision, to_ball
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.ball_convolution import PanelPiece, constant_piece
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction
from dipapprox.numerics.algebras.grid import Grid
from dipapprox.numerics.algebras.places import Place


class BallPanels:
    """What `placed` asks for.

    Args:
        bits: Working precision.
        degree: Of all polynomials.
        limits: Asked at every panel.
    """

    def __init__(self, bits: int, degree: int, limits: Limits) -> None:
        self._bits = bits
        self._degree = degree
        self._limits = limits

    def on(self, grid: Grid) -> BallAlgebra:
        """The algebra on some panels."""
        algebra = BallAlgebra(grid, self._bits, self._degree)
        algebra.limits = self._limits
        return algebra

    def picked(self, function: BallFunction, panels: Sequence[int]) -> BallFunction:
        """The function on some of its panels."""
        return tuple([function[panel] for panel in panels])

    def integral(
        self, function: BallFunction, grid: Grid, from_left: bool
    ) -> Callable[[Sequence[Place]], BallFunction]:
        """∫ from an end, as a function of the panels that it is wanted on."""
        algebra = self.on(grid)
        integral = algebra.from_left(function) if from_left else algebra.from_right(function)
        nothing = -1 if from_left else 1

        def on(where: Sequence[Place]) -> BallFunction:
            with precision(self._bits):
                return tuple(
                    [
                        None if place.beyond == nothing else self._placed(integral, place)
                        for place in where
                    ]
                )

        return on

    def _placed(self, function: BallFunction, place: Place) -> PanelPiece | None:
        piece = function[place.panel]
        if piece is None or place.is_same:
            return piece
        self._limits.check()
        give_way()
        center = to_ball(Fraction(place.center, place.width))
        if place.beyond:
            return PanelPiece(constant_piece(piece.polynomial(center)).polynomial, piece.radius)
        line = arb_poly([center, to_ball(Fraction(place.half, place.width))])
        return PanelPiece(piece.polynomial(line), piece.radius)
