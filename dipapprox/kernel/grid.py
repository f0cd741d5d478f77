"""How finely functions are sampled, and where panels end. No choice makes an answer wrong.

A bad one makes it wide, or is refused: panels end at kinks and bounds, are narrow around means, and
wider away from them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.laws import FAMILIES, Law, cost_of

MOST_BITS = 500
"""Of what is aimed at."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What one evaluation asks for.

    Attributes:
        bits: Laws are followed to where about 2^-bits of their mass is left.
        terms: Of polynomials on panels, >= 1.
        smooth: How wide panels are at most at the means of laws with analytic densities, as a part
            of their scale, > 0.
        kinked: Those around other laws.
        growth: How much more for each unit of their distance from there, in [0, 1].
        panels: How many there may be.
        integers: How many may be between the first and the last.
    """

    bits: int
    terms: int
    smooth: Fraction
    kinked: Fraction
    growth: Fraction
    panels: int = 2000
    integers: int = 50_000

    @property
    def precision(self) -> int:
        """The precision of balls, in bits."""
        return self.bits + 32


def accuracy(bits: int, factors: int = 1) -> Accuracy:
    """Return what encloses typical probabilities within about 2^-bits.

    A product of n functions, of as many factors at most, may fall n times as fast as one where it
    begins to, at a kink.
    """
    if not 1 <= bits <= MOST_BITS:
        raise Refused(f"{bits} bits are not in [1, {MOST_BITS}]")
    return Accuracy(
        bits=bits + 6,
        terms=8 + bits // 3,
        smooth=Fraction(24, bits + 8),
        kinked=min(Fraction(24, bits + 8), Fraction(8, factors)),
        growth=Fraction(1, 8),
    )


@dataclass(slots=True)
class Leaves:
    """What the functions on one grid are made of.

    Attributes:
        laws: Of densities, at least one.
        bounds: Of restrictions.
        added: Those of samples, with the mean 0, that are added to others.
        samples: How many are added to one at most.
    """

    laws: set[Law]
    bounds: set[Fraction]
    added: set[Law]
    samples: int = 0

    def span(self, eps: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Return from where to where laws, and about sums, have all but 2^-bits of their mass.

        All means are in between. Spreads add up as squares.
        """
        reaches = [max(law.reach(eps, bits)) for law in self.added]
        further = max(reaches, default=Fraction(0)) * Fraction(isqrt(16 * self.samples) + 1, 4)
        ends = [
            (law.mean - left, law.mean + right)
            for law in self.laws
            for left, right in [law.reach(eps, bits)]
        ]
        return min(left for left, _ in ends) - further, max(right for _, right in ends) + further


def ends_of_panels(leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> list[Fraction]:
    """Return the ends of neighbouring panels, ascending, at least two: of the span of the leaves.

    Kinks and bounds that are in it are among them.
    """
    marks = set(leaves.bounds)
    means: dict[Fraction, set[Fraction]] = {}
    for law in leaves.laws:
        kinked = law.has_kink
        width = (accuracy.kinked if kinked else accuracy.smooth) * (scale := law.scale(eps))
        for place, part in FAMILIES[law.family].widths(accuracy.bits):
            means.setdefault(width * part, set()).add(law.mean + place * scale)
        if kinked:
            marks.add(law.mean)
    around = [(width, sorted(found)) for width, found in means.items()]
    # Nowhere is far from where the density of a sample is large that is added.
    widest = [law.scale(eps) / 2 for law in leaves.added]
    first, last = leaves.span(eps, accuracy.bits)
    ends = [first]
    for mark in [*sorted(mark for mark in marks if first < mark < last), last]:
        while (gap := mark - ends[-1]) > 0:
            if len(ends) > accuracy.panels:
                raise Refused(f"the functions need more than {accuracy.panels} panels")
            spend(1 + (4 + cost_of(gap)) * len(around))
            # What w + g * distance allows falls by at most g times the way.
            allowed = (w + accuracy.growth * _distance(ends[-1], near) for w, near in around)
            width = min([min(allowed) / (1 + accuracy.growth), *widest])
            ends.append(mark if gap <= width else ends[-1] + _rounded(min(width, gap / 2)))
    return ends


def _distance(place: Fraction, means: list[Fraction]) -> Fraction:
    """Return how far it is to the nearest of some sorted places."""
    after = bisect_left(means, place)
    return min(abs(place - mean) for mean in means[max(after - 1, 0) : after + 1])


def _rounded(width: Fraction) -> Fraction:
    """Return a number with few digits between 7/8 of a width and itself."""
    unit = Fraction(2) ** (width.numerator.bit_length() - width.denominator.bit_length() - 4)
    return width // unit * unit
