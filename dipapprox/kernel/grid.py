"""Where panels end: at kinks and bounds, close together around means, wider away from them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from fractions import Fraction

from dipapprox.kernel.accuracy import Accuracy
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.laws import Law


def ends_of_panels(
    laws: Iterable[Law], bounds: Iterable[Fraction], eps: Fraction, accuracy: Accuracy
) -> list[Fraction]:
    """Return the ends of neighbouring panels, ascending, at least two.

    They span where all laws have all but a negligible part of their mass; kinks are among them,
    and all bounds in between.

    Args:
        laws: At least one.
        bounds: Of restrictions.
        eps: > 0.
        accuracy: How far and how wide.

    Raises:
        Refused: If there would be too many panels.
    """
    marks = set(bounds)
    means: dict[Fraction, set[Fraction]] = {}
    reached: list[Fraction] = []
    for law in set(laws):
        scale = law.scale(eps)
        left, right = law.on_reals.reach(accuracy.bits)
        reached += [law.mean - left * scale, law.mean + right * scale]
        means.setdefault(scale, set()).add(law.mean)
        if law.on_reals.has_kink:
            marks.add(law.mean)
    first, last = min(reached), max(reached)
    widths = _Widths(means, accuracy)
    ends = [first]
    for mark in [*sorted(mark for mark in marks if first < mark < last), last]:
        while (gap := mark - ends[-1]) > 0:
            if len(ends) > accuracy.panels:
                raise Refused(f"the functions need more than {accuracy.panels} panels")
            width = widths.after(ends[-1])
            if gap <= width:
                ends.append(mark)
            else:
                ends.append(ends[-1] + _rounded(min(width, gap / 2)))
    return ends


class _Widths:
    """How wide panels may be: a law allows spacing * scale + growth * distance from its mean.

    On the ellipses around panels of such widths, densities are hardly larger than on the panel,
    and where the distance is large, tiny.
    """

    def __init__(self, means: dict[Fraction, set[Fraction]], accuracy: Accuracy) -> None:
        self._means = {scale: sorted(found) for scale, found in means.items()}
        self._spacing, self._growth = accuracy.spacing, accuracy.growth

    def after(self, start: Fraction) -> Fraction:
        """Return how wide a panel may be that begins at a place.

        The law's w(t) falls by at most growth times the way: a panel of the width
        w(start) / (1 + growth) is nowhere wider than w(t).
        """
        least = min(
            self._spacing * scale + self._growth * _distance(start, means)
            for scale, means in self._means.items()
        )
        return least / (1 + self._growth)


def _distance(place: Fraction, means: list[Fraction]) -> Fraction:
    """Return how far it is to the nearest of some sorted places."""
    after = bisect_left(means, place)
    return min(abs(place - mean) for mean in means[max(after - 1, 0) : after + 1])


def _rounded(width: Fraction) -> Fraction:
    """Return a number with few digits between 7/8 of a width and itself."""
    exponent = width.numerator.bit_length() - width.denominator.bit_length() - 4
    unit = Fraction(2) ** exponent
    return width // unit * unit
