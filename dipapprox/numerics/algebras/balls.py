"""The ball function algebra: polynomials on panels, at any precision.

On a panel, with u in [-1, 1] its reference variable and H its half-width, a function is
p(u) + e(u): a polynomial p whose coefficients are balls round constants, and a remainder
|e(u)| <= r. The 1-norm |p| = Σ |coefficient| bounds p on the panel.

Product: p q cut at the degree n, or before where only negligible coefficients follow; r = |p| r_q
+ |q| r_p + r_p r_q + the 1-norm of what is cut.
Integral: H ∫_{-1}^u p plus the panels before; remainder 2 H r plus what is cut.
Densities: their Taylor polynomials.

A panel where a function is 0 is None. All errors are relative to the function's largest values,
and most to its size on the panel: tiny probabilities keep their digits.

Taylor polynomials of standard densities on panels, in balls, with the remainder on the panel.

Gaussian. For g(u) = φ(c + h u), g' = -h (c + h u) g, so (k + 1) g_{k+1} = -h c g_k - h² g_{k-1}.
By Cauchy, |g_k| <= m ρ^-k with m = φ(0) max exp(-Re(c + h u)² / 2) over |u| = ρ, and the
coefficients beyond n add up to at most m ρ^-n / (ρ - 1).

Laplace and one-sided laws, with the mass m on the panel's side of 0: the exponential series, with
remainder m exp(-|c|) h^(n+1) / (n+1)! e^h by Lagrange.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import give_way, precision, to_ball, to_enclosure
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.algebra import SharedProducts
from dipapprox.numerics.algebras.ball_convolution import (
    PanelPiece,
    Panels,
    constant_piece,
    convolved_pieces,
    one_norm,
    spread,
)
from dipapprox.numerics.algebras.grid import Grid

_ZERO, _ONE, _MINUS_ONE = arb(0), arb(1), arb(-1)

BallFunction = tuple[PanelPiece | None, ...]
"""One piece per panel; None where the function is 0."""


class BallAlgebra:
    """The algebra on one grid at one precision and degree.

    Attributes:
        limits: Asked at every panel, as thousands of bits take their time; no limits at first.
    """

    __slots__ = ("_degree", "_half", "_least", "_leaves", "_products", "bits", "grid", "limits")

    def __init__(self, grid: Grid, bits: int, degree: int | None = None) -> None:
        """Prepare the grid.

        Args:
            grid: Panels about as wide as the scales of the laws that vary on them.
            bits: Working precision, >= 2.
            degree: Of all polynomials, >= 1; by default chosen for the precision.
        """
        self.grid = grid
        self.bits = bits
        self.limits = Limits()
        self._least = arb(2) ** -bits
        self._degree = bits // 4 + 12 if degree is None else degree
        with precision(bits):
            self._half = [
                to_ball((high - low) / 2)
                for low, high in zip(grid.boundaries, grid.boundaries[1:], strict=False)
            ]
        self._products = SharedProducts(self.product)
        self._leaves: dict[tuple[str, Distribution], BallFunction] = {}

    @property
    def together(self) -> int:
        """How many products to hand over at a time."""
        return 1

    def density(self, law: Distribution) -> BallFunction:
        """The density of the restricted law."""
        return self._cached("density", law, lambda: self._density(law))

    def cdf(self, law: Distribution) -> BallFunction:
        """t -> mass of the restricted law below t."""
        return self._cached("cdf", law, lambda: self._integrate(self.density(law), True))

    def survival(self, law: Distribution) -> BallFunction:
        """t -> mass of the restricted law above t."""
        return self._cached("survival", law, lambda: self._integrate(self.density(law), False))

    def restrict(
        self, function: BallFunction, lower: Fraction | None, upper: Fraction | None
    ) -> BallFunction:
        """t -> function(t) between the bounds, else 0."""
        first = 0 if lower is None else self.grid.index(lower)
        last = self.grid.panels if upper is None else self.grid.index(upper)
        return tuple(
            piece if first <= panel < last else None for panel, piece in enumerate(function)
        )

    def product(self, left: BallFunction, right: BallFunction) -> BallFunction:
        """t -> left(t) right(t)."""
        with precision(self.bits):
            bounds = [
                None if f is None or g is None else (f.norm * g.norm).upper()
                for f, g in zip(left, right, strict=True)
            ]
            # What is so far below the largest values is not worth a coefficient.
            negligible = max((b for b in bounds if b is not None), default=_ZERO) * self._least
            return tuple(
                None
                if f is None or g is None or bound is None
                else self._multiply(f, g, bound, negligible)
                for f, g, bound in zip(left, right, bounds, strict=True)
            )

    def difference(self, upper: BallFunction, lower: BallFunction) -> BallFunction:
        """t -> upper(t) - lower(t), which is known to lie between 0 and `upper`."""
        with precision(self.bits):
            return tuple(
                [
                    f if f is None or g is None else _minus(f, g)
                    for f, g in zip(upper, lower, strict=True)
                ]
            )

    def moved(self, function: BallFunction, offset: Fraction) -> BallFunction:
        """t -> function(t + offset) on a lattice, for a function that is 0 beyond the end there."""
        steps, panels = self.grid.steps(offset), range(self.grid.panels)
        return tuple([function[k + steps] if k + steps in panels else None for k in panels])

    def convolution(
        self, left: BallFunction, right: BallFunction, check: Callable[[], None]
    ) -> BallFunction:
        """t -> ∫ left(r) right(t - r) dr, on a lattice."""
        check()
        start, _ = self.grid.lattice()
        return self._convolved(left, right, start)

    def plus_sample(
        self, function: BallFunction, law: Distribution, check: Callable[[], None]
    ) -> BallFunction:
        """t -> ∫ function(r) φ(t - r) dr, φ the density of a law, on a lattice."""
        check()
        _, width = self.grid.lattice()
        reach = self.grid.panels

        def kernel() -> BallFunction:
            marks = [k * width for k in range(-reach, reach + 1)]
            return self._law_pieces(law, marks)

        return self._convolved(function, self._cached("kernel", law, kernel), -reach)

    def _convolved(self, left: BallFunction, right: Panels, start: int) -> BallFunction:
        """Convolve with a function whose first panel has the place `start`; keep the grid."""
        self._check()
        (first, own), (skipped, other) = _trimmed(left, _ZERO), _trimmed(right, _ZERO)
        reached = range(first + start + skipped, first + start + skipped + len(own) + len(other))
        with precision(self.bits):
            width = 2 * self._half[0]
            lost, ends = _ZERO, []
            for this, that in ((own, other), (other, own)):
                least = max((p.norm for p in this if p), default=_ZERO) * self._least
                ends.append(_trimmed(this, least))
                # Every panel that is left out is multiplied by each of the others' at most once.
                lost += least * sum((p.norm for p in that if p), _ZERO) * width
        (more, own), (further, other) = ends
        offset = first + start + skipped + more + further
        lengths = [p.polynomial.length() for p in (*own, *other) if p]
        with precision(self.bits + 2 * max(lengths, default=0) + 16):
            wanted = range(-offset, self.grid.panels - offset)
            found = convolved_pieces(own, other, width, wanted)
            negligible = max((p.norm for p in found if p), default=_ZERO) * self._least
            pieces: list[PanelPiece | None] = []
            for panel, piece in enumerate(found):
                self._check()
                if panel not in reached:
                    pieces.append(None)
                elif piece is None:
                    pieces.append(None if lost.is_zero() else PanelPiece(arb_poly([]), lost))
                else:
                    pieces.append(self._cut(piece.polynomial, piece.radius + lost, negligible))
            return tuple(pieces)

    def products(self, products: Sequence[Sequence[BallFunction]]) -> list[BallFunction]:
        """Multiply the factors of each."""
        return list(self._products.of(products))

    def product_totals(
        self, products: Sequence[Sequence[BallFunction]]
    ) -> list[Enclosure | NotEnclosed]:
        """Enclose ∫ over the line of every product of functions."""
        with precision(self.bits):
            wholes = self._products.of(products)
            return [to_enclosure(sum(self._panel_totals(f), _ZERO)) for f in wholes]

    def running(
        self, products: Sequence[Sequence[BallFunction]], from_left: bool
    ) -> list[BallFunction]:
        """t -> ∫ over (-∞, t), or over (t, ∞), of every product of functions."""
        return [self._integrate(f, from_left) for f in self._products.of(products)]

    def _check(self) -> None:
        self.limits.check()
        give_way()

    def _cached(
        self, kind: str, law: Distribution, make: Callable[[], BallFunction]
    ) -> BallFunction:
        key = (kind, law)
        if key not in self._leaves:
            self._leaves[key] = make()
        return self._leaves[key]

    def _multiply(self, f: PanelPiece, g: PanelPiece, bound: arb, negligible: arb) -> PanelPiece:
        self._check()
        if bound <= negligible:  # all of it: |f g| <= bound
            return PanelPiece(arb_poly([]), bound)
        radius = f.norm * g.radius + g.norm * f.radius
        return self._cut(f.polynomial * g.polynomial, radius, negligible)

    def _cut(self, polynomial: arb_poly, radius: arb, negligible: arb = _ZERO) -> PanelPiece:
        """Move the coefficients beyond the degree into the radius; so with negligible ones."""
        length = min(self._degree + 1, polynomial.length())
        dropped = one_norm(polynomial.right_shift(length).coeffs(), _ZERO)
        if not negligible.is_zero():
            coefficients = polynomial.coeffs()
            while length and (more := dropped + abs(coefficients[length - 1])) <= negligible:
                dropped, length = more, length - 1
        return PanelPiece(polynomial.truncate(length), radius + dropped)

    def _panel_totals(self, function: BallFunction) -> list[arb]:
        """∫ over each panel: H (2 p_0 + 2 p_2 / 3 + 2 p_4 / 5 + …) ± 2 H r."""
        totals = []
        for piece, half in zip(function, self._half, strict=True):
            if piece is None:
                totals.append(_ZERO)
                continue
            even = piece.polynomial.coeffs()[::2]
            value = sum((c / (2 * k + 1) for k, c in enumerate(even)), _ZERO)
            totals.append(2 * half * (value + spread(piece.radius)))
        return totals

    def _integrate(self, function: BallFunction, from_left: bool) -> BallFunction:
        with precision(self.bits):
            order = range(self.grid.panels)
            pieces: list[PanelPiece | None] = []
            before = _ZERO
            for panel in order if from_left else reversed(order):
                self._check()
                piece = function[panel]
                if piece is None:
                    pieces.append(None if before.is_zero() else constant_piece(before))
                    continue
                half = self._half[panel]
                primitive = piece.polynomial.integral() * half
                left, right = primitive(_MINUS_ONE), primitive(_ONE)
                reach = 2 * half * piece.radius
                polynomial = primitive - left if from_left else right - primitive
                pieces.append(self._cut(polynomial + before, reach))
                before = before + (right - left) + spread(reach)
            return tuple(pieces if from_left else reversed(pieces))

    def _density(self, law: Distribution) -> BallFunction:
        span, marks = self.grid.spans[law], self.grid.boundaries
        inside = self._law_pieces(law, marks[span.first : span.last + 1])
        return (
            *[None] * span.first,
            *inside,
            *[None] * (self.grid.panels - span.last),
        )

    def _law_pieces(self, law: Distribution, marks: Sequence[Fraction]) -> BallFunction:
        """The density of a law on some panels."""
        with precision(self.bits + 32):
            scale = to_ball(law.scale)
            pieces: list[PanelPiece | None] = []
            for low, high in pairwise(marks):
                self._check()
                center = ((low + high) / 2 - law.mean) / law.scale
                half = (high - low) / 2 / law.scale
                if (center > 0) - (center < 0) not in (0, *law.family.sides):
                    pieces.append(None)
                    continue
                coefficients, remainder = law.real.series(center, half, self._degree)
                coefficients = [c / scale for c in coefficients]
                pieces.append(PanelPiece(arb_poly(coefficients), remainder / scale))
            return tuple(pieces)


def _trimmed(panels: Panels, least: arb) -> tuple[int, Panels]:
    """The panels from the first to the last above a bound, and how many come before them."""
    places = [k for k, piece in enumerate(panels) if piece and not piece.norm <= least]
    return (places[0], panels[places[0] : places[-1] + 1]) if places else (0, ())


def _minus(f: PanelPiece, g: PanelPiece) -> PanelPiece:
    return PanelPiece(f.polynomial - g.polynomial, f.radius + g.radius)
