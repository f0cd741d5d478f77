"""The ball function algebra: polynomials on panels, at any precision.

On a panel, with u in [-1, 1] its reference variable and H its half-width, a function is
p(u) + e(u): a polynomial p whose coefficients are balls round constants, and a remainder
|e(u)| <= r. The 1-norm |p| = Σ |coefficient| bounds p on the panel.

Product: p q cut at the degree n, or before where only negligible coefficients follow; r = |p| r_q
+ |q| r_p + r_p r_q + the 1-norm of what is cut.
Integral: H ∫_{-1}^u p plus the panels before; remainder 2 H r plus what is cut.
Densities: the Taylor polynomials and remainders that families know (`RealFamily.series`).

A panel where a function is 0 is None. On one grid, t -> f(t + c) has its kinks and its ends
elsewhere than f: a function that was moved has boundaries of its own, and its polynomials are
composed with lines where it meets others. All errors are relative to the function's largest values,
and most to its size on the panel: tiny probabilities keep their digits.

Convolutions. In: f and g as pieces on panels [k w, (k+1) w]. Out:
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

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import factorial

from flint import arb, arb_mat, arb_poly

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import give_way, precision, to_ball, to_enclosure
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import check_limits
from dipapprox.numerics.algebras.grid import MAX_PANELS, Grid
from dipapprox.numerics.algebras.piecewise import Ends, Marks, Piecewise, PiecewiseAlgebra, union


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
    return sum(map(abs, coefficients), start)


Panels = Sequence[PanelPiece | None]


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


_ZERO, _ONE, _MINUS_ONE = arb(0), arb(1), arb(-1)
_NOTHING = arb_poly([])
BallPiece = PanelPiece | None
"""None where the function is 0. Beyond its marks a function is constant, and so are its pieces."""

BallFunction = Piecewise[BallPiece]


class TooManyPanels(Exception):
    """Functions at shifted places need more panels than there is time and memory for."""


class BallAlgebra(PiecewiseAlgebra[BallPiece, arb, Enclosure | NotEnclosed]):
    """The algebra on one grid at one precision and degree; functions may be moved off the grid.

    Attributes:
        off_grid: How many panels functions at shifted places had so far, all together.
        room: Most such panels.
    """

    __slots__ = ("_degree", "_halves", "_kernels", "_least", "bits", "grid", "off_grid", "room")

    def __init__(self, grid: Grid, bits: int, degree: int | None = None) -> None:
        """Prepare the grid.

        Args:
            grid: Panels about as wide as the scales of the laws that vary on them. All constants
                and shifts are multiples of its unit.
            degree: Of all polynomials, >= 1; by default chosen for the precision.
        """
        super().__init__(None, _ZERO)
        self.grid = grid
        self.bits = bits
        self.off_grid, self.room = 0, 2**20
        self._least = arb(2) ** -bits
        self._degree = bits // 4 + 12 if degree is None else degree
        self._halves: dict[int, arb] = {}
        self._kernels: dict[Distribution, tuple[BallPiece, ...]] = {}

    def mark(self, point: Fraction) -> int:
        """A point in units of the grid."""
        found = point * self.grid.unit
        if found.denominator > 1:
            raise ValueError(f"{point} is no multiple of the grid's unit")
        return found.numerator

    def panels(self, function: BallFunction) -> tuple[BallPiece, ...]:
        """The pieces of a function on the grid, panel by panel; a ValueError if it has others."""
        marks = self.grid.marks
        if function.marks == marks:
            return function.pieces[1:-1]
        inside = []
        for piece, whole, (low, high) in function.on(union(function.marks, marks)):
            if low is not None and high is not None and marks[0] <= low < marks[-1]:
                inside.append(self._part(piece, whole, (low, high)))
        if len(inside) != self.grid.panels:
            raise ValueError("a function was moved by no number of panels")
        return tuple(inside)

    def convolution(
        self, left: BallFunction, right: BallFunction, check: Callable[[], None]
    ) -> BallFunction:
        check()
        start, _ = self.grid.lattice()
        return self._convolved(left, self.panels(right), start)

    def plus_sample(
        self, function: BallFunction, law: Distribution, check: Callable[[], None]
    ) -> BallFunction:
        check()
        _, width = self.grid.lattice()
        reach = self.grid.panels
        if law not in self._kernels:
            marks = [k * width for k in range(-reach, reach + 1)]
            self._kernels[law] = self._law_pieces(law, marks)
        return self._convolved(function, self._kernels[law], -reach)

    def _convolved(self, left: BallFunction, right: Panels, start: int) -> BallFunction:
        """Convolve with a function whose first panel has the place `start`; keep the grid."""
        self._check()
        (first, own), (skipped, other) = _trimmed(self.panels(left), _ZERO), _trimmed(right, _ZERO)
        reached = range(first + start + skipped, first + start + skipped + len(own) + len(other))
        with precision(self.bits):
            width = 2 * self._half(self.grid.marks[1] - self.grid.marks[0])
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
            return self._made(self.grid.marks, (None, *pieces, None))

    # --- pieces -------------------------------------------------------------------------------

    def _is_nothing(self, piece: BallPiece) -> bool:
        return piece is None

    def _times(self, pairs: Sequence[tuple[BallPiece, BallPiece]]) -> list[BallPiece]:
        with precision(self.bits):
            bounds = [
                None if f is None or g is None else (f.norm * g.norm).upper() for f, g in pairs
            ]
            # What is so far below the largest values is not worth a coefficient.
            negligible = max((b for b in bounds if b is not None), default=_ZERO) * self._least
            return [
                None
                if f is None or g is None or bound is None
                else self._multiply(f, g, bound, negligible)
                for (f, g), bound in zip(pairs, bounds, strict=True)
            ]

    def _minus(self, upper: BallPiece, lower: BallPiece) -> BallPiece:
        if upper is None or lower is None:
            return upper
        with precision(self.bits):
            polynomial = upper.polynomial - lower.polynomial
            return PanelPiece(polynomial, upper.radius + lower.radius)

    def _part(self, piece: BallPiece, ends: Ends, part: Ends) -> BallPiece:
        """With u = δ + ρ w, |δ| + ρ <= 1, p(u) + e(u) is p(δ + ρ w) + e: the remainder stays."""
        (start, stop), (low, high) = ends, part
        if piece is None or ends == part or piece.polynomial.length() < 2:
            return piece
        if start is None or stop is None or low is None or high is None:
            raise BrokenInvariant("a function that is not constant has no last panel")
        self._check()
        center, half = low + high - start - stop, high - low
        with precision(self.bits):
            line = arb_poly([to_ball(Fraction(each, stop - start)) for each in (center, half)])
            return PanelPiece(piece.polynomial(line), piece.radius)

    def _moved(self, piece: BallPiece, by: int) -> BallPiece:
        return piece

    def _made(self, marks: Marks, pieces: Sequence[BallPiece]) -> BallFunction:
        """Off the grid without the panels at both ends where it is 0."""
        if marks != self.grid.marks:
            present = [k for k, piece in enumerate(pieces) if piece is not None]
            first, last = (max(present[0] - 1, 0), present[-1] + 1) if present else (0, 1)
            marks, pieces = marks[first:last], pieces[first : last + 1]
            self.off_grid += len(marks)
            if len(marks) > MAX_PANELS or self.off_grid > self.room:
                raise TooManyPanels
        return super()._made(marks, pieces)

    def _check(self) -> None:
        check_limits()
        give_way()

    def _half(self, width: int) -> arb:
        if width not in self._halves:
            with precision(self.bits):
                self._halves[width] = to_ball(Fraction(width, 2 * self.grid.unit))
        return self._halves[width]

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

    def _total(self, function: BallFunction) -> Enclosure | NotEnclosed:
        """∫ over each panel: H (2 p_0 + 2 p_2 / 3 + 2 p_4 / 5 + …) ± 2 H r."""
        total = _ZERO
        with precision(self.bits):
            for piece, ends in zip(function.pieces, function.ends, strict=True):
                if piece is not None:
                    even = piece.polynomial.coeffs()[::2]
                    value = sum((c / (2 * k + 1) for k, c in enumerate(even)), _ZERO)
                    total += 2 * self._half(_width(ends)) * (value + arb(0, piece.radius))
            return to_enclosure(total)

    def _integrate(self, function: BallFunction, from_left: bool) -> BallFunction:
        with precision(self.bits):
            return super()._integrate(function, from_left)

    def _integral(
        self, piece: BallPiece, ends: Ends, before: arb, from_left: bool
    ) -> tuple[BallPiece, arb]:
        self._check()
        if piece is None:
            return None if before.is_zero() else PanelPiece(arb_poly([before]), _ZERO), before
        half = self._half(_width(ends))
        primitive = piece.polynomial.integral() * half
        left, right = primitive(_MINUS_ONE), primitive(_ONE)
        reach = 2 * half * piece.radius
        polynomial = primitive - left if from_left else right - primitive
        found = self._cut(polynomial + before, reach)
        return found, before + (right - left) + arb(0, reach)

    def _density(self, law: Distribution) -> BallFunction:
        span, marks = self.grid.spans[law], self.grid.boundaries
        inside = self._law_pieces(law, marks[span.first : span.last + 1])
        before, after = span.first + 1, self.grid.panels - span.last + 1
        return Piecewise(self.grid.marks, (*[None] * before, *inside, *[None] * after))

    def _law_pieces(self, law: Distribution, marks: Sequence[Fraction]) -> tuple[BallPiece, ...]:
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


def _width(ends: Ends) -> int:
    """The width of a panel on which a function is not 0."""
    low, high = ends
    if low is None or high is None:
        raise BrokenInvariant("an integral that must be at most 1 does not converge")
    return high - low
