"""Polynomials with errors on panels, at any precision, and their convolutions.

Functions in balls are made of such pieces. In: f and g as pieces on panels [k w, (k+1) w]. Out:
pieces of h(t) = ∫ f(r) g(t - r) dr. With θ in [0, 1] for the place on a panel,

    h_m(θ) = w Σ_k ( ∫_0^θ f_k(ρ) g_{m-k}(θ - ρ) dρ + ∫_θ^1 f_k(ρ) g_{m-k-1}(1 + θ - ρ) dρ ).

As ∫_0^θ ρ^a / a! (θ - ρ)^b / b! dρ = θ^(a+b+1) / (a+b+1)!, the first integral of polynomials Σ α_a
θ^a / a! and Σ β_b θ^b / b! is the product of Σ α_a x^a and Σ β_b x^b with x^c read as θ^(c+1) /
(c+1)!. The second is the same in 1 - θ. All products of panels with one sum of places come from one
product of two long polynomials, panels side by side with room for the products.

Errors: |f - p| <= r, |p| + r <= N on a panel, likewise for g: the summand errs by at most
r_f N_g + N_f r_g, with the larger one of the two panels of g, at most their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from flint import arb, arb_mat, arb_poly


class PanelPiece:
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


Panels = Sequence[PanelPiece | None]

_ZERO, _NOTHING = arb(0), arb_poly([])


def convolved_pieces(
    left: Panels, right: Panels, width: arb, wanted: range
) -> list[PanelPiece | None]:
    """Convolve f on panels k, k + 1, … with g on panels l, l + 1, …, of `width` w, in balls.

    Args:
        wanted: Which panels of h are wanted, counted from k + l.

    Returns:
        h on these panels; polynomials of about twice the degree.
    """
    # A piece without coefficients has its radius.
    degrees = [
        max((max(p.polynomial.length(), 1) for p in each if p is not None), default=0)
        for each in (left, right)
    ]
    if not all(degrees):
        return [None] * len(wanted)
    room = sum(degrees)
    rising = _long(left, room, 1) * _long(right, room, 1)
    falling = _long(left, room, -1) * _long(right, room, -1)
    radii = _folded(left, right)
    places = [arb_poly([int(p is not None) for p in each]) for each in (left, right)]
    reached = places[0] * places[1]
    first, second = rising.coeffs(), falling.coeffs()
    found: list[PanelPiece | None] = []
    rows: list[list[arb]] = []
    for panel in wanted:
        before = panel - 1
        if panel < 0 or (reached[panel].is_zero() and (not panel or reached[before].is_zero())):
            found.append(None)
            continue
        start = panel * room
        radius = radii[panel] + (radii[before] if panel else _ZERO)
        earlier = second[start - room : start] if panel else ()
        rows.append([*_row(first[start : start + room], room), *_row(earlier, room)])
        found.append(PanelPiece(_NOTHING, radius * width))
    # All panels at once: a product of matrices takes a tenth of the time of compositions.
    read = iter((arb_mat(rows) * _reading(room, width)).tolist() if rows else ())
    return [piece and PanelPiece(arb_poly(next(read)), piece.radius) for piece in found]


def _long(panels: Panels, room: int, side: int) -> arb_poly:
    """Σ α_a x^a of every panel, in θ (side 1) or 1 - θ (side -1), side by side."""
    place = arb_poly([-side, 2 * side])
    coefficients: list[arb] = []
    for piece in panels:
        own = [] if piece is None else piece.polynomial(place).coeffs()
        coefficients += [c * factorial(a) for a, c in enumerate(own)]
        coefficients += [_ZERO] * (room - len(own))
    return arb_poly(coefficients)


def _row(coefficients: Sequence[arb], room: int) -> list[arb]:
    return [*coefficients, *[_ZERO] * (room - len(coefficients))]


def _reading(room: int, width: arb) -> arb_mat:
    """Rows: what x^c is in u = 2θ - 1, read as w θ^(c+1) / (c+1)!; then as w (1 - θ)^(c+1) / …."""
    half = arb(1) / 2
    rows: list[list[arb]] = []
    for side in (half, -half):
        line = arb_poly([half, side])
        power = arb_poly([width])
        for c in range(room):
            power = power * line * (1 / arb(c + 1))
            rows.append(_row(power.coeffs(), room + 1))
    return arb_mat(rows)


def _folded(left: Panels, right: Panels) -> arb_poly:
    """Bounds of the errors by sum of places."""
    radii = [arb_poly([piece.radius if piece else _ZERO for piece in p]) for p in (left, right)]
    norms = [arb_poly([piece.norm if piece else _ZERO for piece in p]) for p in (left, right)]
    found: arb_poly = radii[0] * norms[1] + norms[0] * radii[1]
    return found
