"""What tells two sums of densities apart: ∫ max(0, f - α g), enclosed, and masses of intervals.

On a panel f - α g is p(s) + e(s), |e| <= E. Where |a_0| > Σ_{k>0} |a_k| + E for the coefficients of
p, its sign is that of a_0, and it contributes ∫ p up to 2 E, or nothing. Other panels are halved,
until what they may contribute, their length times Σ |a_k| + E, is next to nothing or mostly E.

From below, a part of which the sign is open contributes 0, as ∫ max(0, h) >= 0. What the panels
leave out of f and of g, at most λ and μ, moves the integral by at most λ + α μ.
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
    densities = [density for _, density in (*first, *second)]
    panels = DensityPanels(known, densities, cuts, bits, fineness)
    points = panels.grid.points
    least = min((b - a for a, b in pairwise(points)), default=Fraction(1))
    extent = max(map(abs, points), default=Fraction(1))
    with precision(bits + _GUARD_BITS + int(extent / least).bit_length()):
        sides: list[Function] = []
        lacks: list[arb] = []
        for side in (first, second):
            terms = []
            missing = arb(0)
            for weight, density in side:
                function, lost = panels.function(density)
                ball = to_ball(weight.lower).union(to_ball(weight.upper))
                terms.append((ball, function))
                missing += ball * lost
            sides.append(combined(terms, len(points) - 1))
            lacks.append(missing.upper())
        alpha = to_ball(growth.lower).union(to_ball(growth.upper))
        f, g = sides
        difference = combined([(arb(1), f), (-alpha, g)], len(points) - 1)
        spare = arb(2) ** -(bits + max(len(points), 1).bit_length())
        lower, upper = positive_part(difference, spare, known.limits)
        doubt = (lacks[0] + alpha * lacks[1]).upper()
        value = _between(lower - doubt, upper + doubt)
        masses = [
            _between(total - lack, total + lack)
            for total, lack in (
                (_mass(function, points, intervals), lack)
                for function, lack in zip(sides, lacks, strict=True)
            )
        ]
    return HockeyStick(value, masses[0], masses[1])


def positive_part(function: Function, spare: arb, limits: Limits) -> tuple[arb, arb]:
    """Return two balls: the integral of the positive part is above the first, below the second.

    Args:
        function: Times half-widths: integrals are over [-1, 1].
        spare: What an open part may contribute.
        limits: Asked throughout.
    """
    lower = upper = _NOTHING
    halves = arb_poly([arb(-1) / 2, arb(1) / 2]), arb_poly([arb(1) / 2, arb(1) / 2])
    for piece in function:
        if piece is None:
            continue
        waiting: list[tuple[int, arb_poly]] = [(0, piece.polynomial)]
        while waiting:
            limits.check()
            give_way()
            depth, polynomial = waiting.pop()
            leading, *others = polynomial.coeffs() or [_NOTHING]
            rest = sum((abs(each) for each in others), piece.error)
            length = arb(2) / 2**depth
            if leading < -rest:
                continue
            if leading > rest:
                total = _integral(Piece(polynomial, piece.error, piece.size)) / 2**depth
                lower, upper = lower + total, upper + total
                continue
            size = (abs(leading) + rest).upper()
            noise = piece.error + sum((each.rad() for each in (leading, *others)), _NOTHING)
            if size * length <= spare or size <= 4 * noise or depth == _DEEPEST:
                upper = upper + size * length
                continue
            waiting += [(depth + 1, polynomial(half)) for half in halves]
    return lower, upper


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


def _between(low: arb, high: arb) -> Enclosure:
    """A number >= 0 between two balls."""
    ends = to_enclosure(low), to_enclosure(high)
    if isinstance(ends[0], NotEnclosed) or isinstance(ends[1], NotEnclosed):
        raise NoBounds("a density is not finite on the check's panels")
    least = max(ends[0].lower, Fraction(0))
    return Enclosure(least, max(ends[1].upper, least))
