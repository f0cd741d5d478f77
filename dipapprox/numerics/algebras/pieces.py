"""Polynomials with errors on one panel: what functions in balls are made of."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, arb_poly

_ZERO = arb(0)


class Piece:
    """p(u) + e(u) on one panel, |e| <= radius, which is exact."""

    __slots__ = ("_norm", "polynomial", "radius")

    def __init__(self, polynomial: arb_poly, radius: arb) -> None:
        self.polynomial = polynomial
        self.radius = radius.upper()
        self._norm: arb | None = None

    @property
    def norm(self) -> arb:
        """An upper bound of |p| + radius, exact; computed when it is first asked for."""
        if self._norm is None:
            self._norm = one_norm(self.polynomial.coeffs(), self.radius).upper()
        return self._norm


def one_norm(coefficients: Sequence[arb], start: arb) -> arb:
    """start + Σ |coefficient|."""
    return sum(map(abs, coefficients), start)


def constant_piece(value: arb) -> Piece:
    """The constant `value`."""
    return Piece(arb_poly([value]), _ZERO)


def spread(radius: arb) -> arb:
    """The ball [-radius, radius]."""
    return arb(0, radius)
