"""What tells two sums of densities apart: ∫ max(0, f - α g), enclosed, and masses of sets.

On a panel f - α g is p(s) + e(s), |e| <= E. Where |a_0| > Σ_{k>0} |a_k| + E for the coefficients of
p, its sign is that of a_0, and it contributes ∫ p up to 2 E, or nothing. Other panels are halved,
until what they may contribute, their length times Σ |a_k| + E, is next to nothing or mostly E.

From below, a part of which the sign is open contributes 0, as ∫ max(0, h) >= 0. What the panels
leave out of f and of g, at most λ and μ, moves the integral by at most λ + α μ.

The parts where the sign is surely positive are a set S that nearly attains the integral: f(S) and
g(S) are those of f and of g, which the panels know up to λ and μ.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly

from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.panels import Function, Piece
from dipapprox.checking.published.densities import Densities1D, Density, DensityPanels, combined
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import give_way, precision, to_ball, to_enclosure

Interval = tuple[Fraction | None, Fraction | None]
"""None: infinite."""

Weighted = Sequence[tuple[Enclosure, Density]]

_GUARD_BITS = 60
_ATTEMPTS = 3
_DEEPEST = 400
_NOTHING = arb(0)


@dataclass(frozen=True, slots=True)
class HockeyStick:
    """What is known of two sums of densities.

    Attributes:
        value: Encloses ∫ max(0, f - α g).
        first: Encloses the mass of f on the intervals that were asked for.
        second: That of g.
    """

    value: Enclosure
    first: Enclosure
    second: Enclosure


def hockey_stick(
    known: Densities1D,
    first: Weighted,
    second: Weighted,
    growth: Enclosure,
    intervals: Sequence[Interval],
    bits: int,
) -> HockeyStick:
    """Enclose the divergence of two measures on the line, and their masses on intervals.

    Args:
        known: Has found the densities.
        first: f; at least one density here.
        second: g.
        growth: α.
        intervals: Disjoint.
        bits: Wanted width: 2**-bits; what comes back is proved even if it is wider.

    Raises:
        NoBounds: If the densities are too different for panels.
        LimitReached: If the limits run out.
    """
    best: HockeyStick | None = None
    own = bits + max(int(growth.upper), 1).bit_length() + 8
    for fineness in range(_ATTEMPTS):
        try:
            found = _at(known, first, second, growth, intervals, own, fineness)
        except NoBounds:
            if best is None:
                raise
            break
        if best is not None:
            found = HockeyStick(
                best.value.intersect(found.value),
                best.first.intersect(found.first),
                best.second.intersect(found.second),
            )
        best = found
        if found.value.width <= Fraction(1, 2**bits):
            break
    assert best is not None, "there is one attempt at least"
    return best


def _at(
    known: Densities1D,
    first: Weighted,
    second: Weighted,
    growth: Enclosure,
    intervals: Sequence[Interval],
    bits: int,
    fineness: int,
) -> HockeyStick:
    cuts = [end for each in intervals for end in each if end is not None]
    pair = OnPanels(known, first, second, cuts, bits, fineness)
    with precision(pair.bits):
        alpha = ball_of(growth)
        difference = combined([(arb(1), pair.first), (-alpha, pair.second)], pair.panels)
        lower, upper = positive_part(difference, pair.spare(bits), known.limits)
        value = _between(*pair.doubted(lower, upper, alpha))
        masses = [
            _between(total - lack, total + lack)
            for total, lack in (
                (_mass(function, pair.points, intervals), lack)
                for function, lack in zip((pair.first, pair.second), pair.lacks, strict=True)
            )
        ]
    return HockeyStick(value, masses[0], masses[1])


class OnPanels:
    """Two sums of densities on one grid.

    Args:
        known: Has found the densities.
        first: f; at least one density here.
        second: g.
        cuts: More ends of panels.
        bits: Wanted accuracy.
        fineness: See `Grid`.

    Attributes:
        points: The ends of panels.
        first: f, times the half-width of each panel.
        second: g likewise.
        lacks: What the panels leave out of f and of g, at most.
        bits: The working precision.

    Raises:
        NoBounds: If the densities are too different for panels.
        LimitReached: If the limits run out.
    """

    def __init__(
        self,
        known: Densities1D,
        first: Weighted,
        second: Weighted,
        cuts: Sequence[Fraction],
        bits: int,
        fineness: int,
    ) -> None:
        densities = [density for _, density in (*first, *second)]
        panels = DensityPanels(known, densities, cuts, bits, fineness)
        self.points = points = panels.grid.points
        least = min((b - a for a, b in pairwise(points)), default=Fraction(1))
        extent = max(map(abs, points), default=Fraction(1))
        self.bits = bits + _GUARD_BITS + int(extent / least).bit_length()
        self._limits = known.limits
        with precision(self.bits):
            sides: list[Function] = []
            lacks: list[arb] = []
            for side in (first, second):
                terms = []
                missing = arb(0)
                for weight, density in side:
                    function, lost = panels.function(density)
                    terms.append((ball_of(weight), function))
                    missing += ball_of(weight) * lost
                sides.append(combined(terms, self.panels))
                lacks.append(missing.upper())
        self.first, self.second = sides
        self.lacks = lacks[0], lacks[1]

    @property
    def panels(self) -> int:
        """How many there are."""
        return len(self.points) - 1

    def spare(self, bits: int) -> arb:
        """What an open part may contribute for an integral of that accuracy."""
        return arb(2) ** -(bits + max(len(self.points), 1).bit_length())

    def doubted(self, lower: arb, upper: arb, alpha: arb) -> tuple[arb, arb]:
        """Return bounds of the integral over the line, by those of the one over the panels."""
        doubt = (self.lacks[0] + alpha * self.lacks[1]).upper()
        return lower - doubt, upper + doubt

    def best(self, growth: Enclosure, bits: int) -> HockeyStick:
        """Enclose the divergence, and the masses of one set that nearly attains it.

        Args:
            growth: α > 0.
            bits: Wanted accuracy.
        """
        with precision(self.bits):
            alpha, spare = ball_of(growth), self.spare(bits)
            masses, open_ = [_NOTHING, _NOTHING], _NOTHING
            for f, g in zip(self.first, self.second, strict=True):
                if f is None:
                    continue
                (difference,) = combined([(arb(1), (f,)), (-alpha, (g,))], 1)
                if difference is None:
                    continue
                parts, rest = _positive_parts(difference, spare, self._limits)
                open_ += rest
                for k, piece in enumerate((f, g)):
                    if piece is not None and parts:
                        masses[k] += _over(piece, parts)
            value = masses[0] - alpha * masses[1]
            return HockeyStick(
                _between(*self.doubted(value, value + open_, alpha)),
                _between(masses[0], masses[0] + self.lacks[0]),
                _between(masses[1], masses[1] + self.lacks[1]),
            )


def positive_part(function: Function, spare: arb, limits: Limits) -> tuple[arb, arb]:
    """Return two balls: the integral of the positive part is above the first, below the second.

    Args:
        function: Times half-widths: integrals are over [-1, 1].
        spare: What an open part may contribute.
        limits: Asked throughout.
    """
    lower = upper = _NOTHING
    for piece in function:
        if piece is not None:
            parts, rest = _positive_parts(piece, spare, limits)
            total = _over(piece, parts) if parts else _NOTHING
            lower, upper = lower + total, upper + total + rest
    return lower, upper


_Part = tuple[int, int]
"""(depth, k): of [-1, 1], the k-th of 2^depth equal parts."""


def _positive_parts(piece: Piece, spare: arb, limits: Limits) -> tuple[list[_Part], arb]:
    """Return parts where a piece is surely > 0, and what all that are open contribute, at most."""
    parts, open_ = [], _NOTHING
    halves = arb_poly([arb(-1) / 2, arb(1) / 2]), arb_poly([arb(1) / 2, arb(1) / 2])
    waiting = [(0, 0, piece.polynomial, piece.error)]
    while waiting:
        limits.check()
        give_way()
        depth, place, polynomial, error = waiting.pop()
        leading, *others = polynomial.coeffs() or [_NOTHING]
        sizes = [abs(each) for each in others]
        rest = sum(sizes, error)
        length = arb(2) / 2**depth
        if leading < -rest:
            continue
        if leading > rest:
            parts.append((depth, place))
            continue
        size = (abs(leading) + rest).upper()
        noise = error + sum((each.rad() for each in (leading, *others)), _NOTHING)
        if size * length <= spare or size <= 4 * noise or depth == _DEEPEST:
            open_ += size * length
            continue
        # On small parts functions are nearly lines: what is next to nothing is no coefficient.
        while sizes and (more := error + sizes[-1]) < spare:
            error = more.upper()
            sizes.pop()
        short = arb_poly([leading, *others[: len(sizes)]])
        waiting += [(depth + 1, 2 * place + k, short(half), error) for k, half in enumerate(halves)]
    return parts, open_


def _over(piece: Piece, parts: Sequence[_Part]) -> arb:
    """The integral of a piece over some of its parts."""
    primitive = piece.polynomial.integral()
    total = _NOTHING
    for depth, place in parts:
        width = arb(2) / 2**depth
        low = width * place - 1
        total += primitive(low + width) - primitive(low) + arb(0, (width * piece.error).upper())
    return total


def _integral(piece: Piece) -> arb:
    """The integral over [-1, 1]."""
    primitive = piece.polynomial.integral()
    return primitive(arb(1)) - primitive(arb(-1)) + arb(0, (2 * piece.error).upper())


def _mass(function: Function, points: Sequence[Fraction], intervals: Sequence[Interval]) -> arb:
    total = arb(0)
    for piece, (left, right) in zip(function, pairwise(points), strict=True):
        if piece is not None and any(
            (low is None or low <= left) and (high is None or right <= high)
            for low, high in intervals
        ):
            total += _integral(piece)
    return total


def ball_of(enclosure: Enclosure) -> arb:
    """Return a ball around an enclosure."""
    return to_ball(enclosure.lower).union(to_ball(enclosure.upper))


def _between(low: arb, high: arb) -> Enclosure:
    """A number >= 0 between two balls."""
    ends = to_enclosure(low), to_enclosure(high)
    if isinstance(ends[0], NotEnclosed) or isinstance(ends[1], NotEnclosed):
        raise NoBounds("a density is not finite on the check's panels")
    least = max(ends[0].lower, Fraction(0))
    return Enclosure(least, max(ends[1].upper, least))
