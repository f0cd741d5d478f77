"""Where panels end: at kinks and bounds, close together around means, wider away from them."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

from dipapprox.kernel.accuracy import Accuracy
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.sampled import Leaves


def ends_of_panels(leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> list[Fraction]:
    """Return the ends of neighbouring panels, ascending, at least two.

    They span where all laws have all but a negligible part of their mass; kinks are among them,
    and all bounds in between.
    """
    marks = set(leaves.bounds)
    means: dict[tuple[Fraction, Fraction], set[Fraction]] = {}
    reached: list[Fraction] = []
    for law in leaves.laws:
        family, scale = law.on_reals, law.scale(eps)
        left, right = family.reach(accuracy.bits)
        reached += [law.mean - left * scale, law.mean + right * scale]
        widths = accuracy.kinked if family.has_kink else accuracy.smooth
        means.setdefault((widths.spacing * scale, widths.growth), set()).add(law.mean)
        if family.has_kink:
            marks.add(law.mean)
    reaches = []
    for law in leaves.added:
        scale = law.scale(eps)
        reaches.append(max(law.on_reals.reach(accuracy.bits)) * scale)
        # Nowhere is far from where such a density is large.
        width = 2 * accuracy.smooth.spacing * scale
        means.setdefault((width, Fraction(0)), set()).add(Fraction(0))
    further = leaves.further(reaches)
    first, last = min(reached) - further, max(reached) + further
    around = {widths: sorted(found) for widths, found in means.items()}
    ends = [first]
    for mark in [*sorted(mark for mark in marks if first < mark < last), last]:
        while (gap := mark - ends[-1]) > 0:
            if len(ends) > accuracy.panels:
                raise Refused(f"the functions need more than {accuracy.panels} panels")
            spend(1 + 4 * len(around))
            width = _width(ends[-1], around)
            if gap <= width:
                ends.append(mark)
            else:
                ends.append(ends[-1] + _rounded(min(width, gap / 2)))
    return ends


def _width(start: Fraction, around: dict[tuple[Fraction, Fraction], list[Fraction]]) -> Fraction:
    """Return how wide a panel may be that begins at a place, for the means by w and g, ascending.

    A law with the width w at its mean and the growth g allows w(t) = w + g * distance from it.
    That falls by at most g times the way: a panel of the width w(start) / (1 + g) is nowhere wider
    than w(t). So on the ellipses around panels, densities are hardly larger than on the panel, and
    where the distance is large, tiny.
    """
    return min(
        (width + growth * _distance(start, means)) / (1 + growth)
        for (width, growth), means in around.items()
    )


def _distance(place: Fraction, means: list[Fraction]) -> Fraction:
    """Return how far it is to the nearest of some sorted places."""
    after = bisect_left(means, place)
    return min(abs(place - mean) for mean in means[max(after - 1, 0) : after + 1])


def _rounded(width: Fraction) -> Fraction:
    """Return a number with few digits between 7/8 of a width and itself."""
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - 4
    unit = Fraction(2) ** exponent
    return width // unit * unit
