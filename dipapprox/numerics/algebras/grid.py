"""Laws and constants in; out, a grid of panels that covers them, and the mass that is lost outside.

In: the laws of the samples and the constants they are compared with. Out: panels that cover the
samples' cut-off intervals, exact, with every kink and jump of a density at a boundary. One-sided
laws are kept from their mean on, where their support begins: nothing is lost on that side.

An algebra on a grid replaces every law by its *restriction* to a span of panels: the mass outside
is dropped. For independent samples X_1, X_2, … and any event A, with S = {all X_i in their
spans},

    Pr[A] - sum_i lost_i  <=  Pr[A and S]  <=  Pr[A],        lost_i >= Pr[X_i not in its span],

because Pr[not S] <= sum_i Pr[X_i not in its span]. All that is proved about a value computed with
restricted laws is this inequality; the panels' widths are a matter of speed only.

Lattice. Laws, constants and sums in; out, a grid of panels of one width for all of them.

Convolutions add up panels: k w and l w make (k + l) w. So on a *lattice* all kinks of densities and
all constants are multiples of one width w, which is narrow for every law. The grid covers all but
little of every sample and every sum; for a sum of independent X_i and 0 < λ

    Pr[Σ X_i - mean >= t]  <=  exp(Σ ψ_i(λ) - λ t),     ψ_i(λ) = log E exp(λ (X_i - mean_i)),

which families know.

References:
    H. Chernoff, A measure of asymptotic efficiency for tests of a hypothesis, Ann. Math. Statist.
    23 (1952).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, pairwise
from math import ceil, floor, inf, lcm
from typing import NamedTuple

from flint import arb

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball
from dipapprox.data_classes import Record
from dipapprox.laws.distribution import Distribution, cutoff_interval
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.limits import asking
from dipapprox.linear.form import content

MAX_PANELS = 4096
"""More panels than any event within reach needs; a grid that wants more is refused."""


class PanelSpan(Record):
    """Panels first, …, last - 1: where a law is kept."""

    first: int  # index of the first panel, which is also the index of its left boundary
    last: int  # index of the right boundary of the last panel
    lost: Fraction  # proved bound on the mass outside


class Grid(Record):
    """Panels [boundaries[p], boundaries[p + 1]] and every law's span among them."""

    unit: int  # a common denominator of the boundaries
    # the boundaries times `unit`: integers, strictly increasing; at least two
    marks: tuple[int, ...]
    # the laws that may be used on the grid. Means of all but Gaussian laws are boundaries
    spans: Mapping[Distribution, PanelSpan]

    @property
    def boundaries(self) -> tuple[Fraction, ...]:
        """The boundaries, exact; made anew whenever they are asked for."""
        return tuple(Fraction(mark, self.unit) for mark in self.marks)

    @property
    def panels(self) -> int:
        return len(self.marks) - 1

    def also_in(self, numbers: Iterable[Fraction]) -> Grid:
        """The same in a unit of which some numbers are multiples, too."""
        unit = lcm(self.unit, *(number.denominator for number in numbers))
        marks = tuple([mark * (unit // self.unit) for mark in self.marks])
        return Grid(unit, marks, self.spans)

    def lattice(self) -> tuple[int, Fraction]:
        """Return (k, w) if the boundaries are k w, (k + 1) w, (k + 2) w, …; else a ValueError."""
        width = self.marks[1] - self.marks[0]
        start, rest = divmod(self.marks[0], width)
        if rest or any(high - low != width for low, high in pairwise(self.marks)):
            raise ValueError("the panels are no lattice")
        return start, Fraction(width, self.unit)

    def steps(self, offset: Fraction) -> int:
        """Return how many panels of a lattice an offset is; a ValueError if no number of them."""
        count = offset / self.lattice()[1]
        if count.denominator > 1:
            raise ValueError(f"{offset} is no number of panels")
        return count.numerator

    def index(self, point: Fraction) -> int:
        """Return the index of the boundary at a point, or the nearest end if it lies outside."""
        mark = point * self.unit
        place = bisect_left(self.marks, mark)
        if place == len(self.marks):
            return self.panels
        if place > 0 and self.marks[place] != mark:
            raise ValueError(f"{point} is not a boundary of the grid")
        return place


def build_grid(
    laws: Iterable[Distribution],
    points: Iterable[Fraction],
    bits: int,
    fineness: int = 1,
    max_panels: int = MAX_PANELS,
) -> Grid | NotEnclosed:
    """Cover the laws' cut-off intervals by panels narrow enough for each law near its mean.

    Args:
        laws: All laws that will be used; at least one.
        points: Constants that functions will be cut at.
        bits: Each law keeps all but 2**(1 - bits) of its mass.
        fineness: Divides the panels' widths; >= 1.

    Returns:
        The grid, or why there is none: samples too far apart for their scales.
    """
    intervals = {law: cutoff_interval(law, bits) for law in laws}
    cuts = [*points, *(law.mean for law in intervals if law.real.has_kink)]
    # Integers over one denominator: fractions take much longer to compare, to add and to halve.
    marks = chain(cuts, *intervals.values())
    common = lcm(*(mark.denominator for mark in marks))

    def units(mark: Fraction) -> int:
        return mark.numerator * (common // mark.denominator)

    kept = {law: (units(low), units(high)) for law, (low, high) in intervals.items()}
    left, right = min(low for low, _ in kept.values()), max(high for _, high in kept.values())
    inside = {mark for mark in map(units, cuts) if left < mark < right}
    try:
        shapes = [_shape(law, bits, fineness) for law in kept]
        span = (right - left) / common
    except OverflowError:
        return NotEnclosed("the samples' scales or means are beyond the range of doubles")
    least = min(shape.scale for shape in shapes)
    if least == 0:
        return NotEnclosed("the samples' scales or means are beyond the range of doubles")
    if least < span * 2.0**-200:
        return NotEnclosed("the samples' scales are too far apart")
    # Depth first from the left, so that the boundaries come out in order.
    unit = common << _HALVINGS
    stack = [mark << _HALVINGS for mark in sorted({left, right} | inside, reverse=True)]
    # A mean is an end or the middle of its interval: a multiple of 1 / (2 common).
    places = [
        (law.mean.numerator * (unit // law.mean.denominator), low << _HALVINGS, high << _HALVINGS)
        for law, (low, high) in kept.items()
    ]
    boundaries = [stack.pop()]
    while stack:
        low, high = boundaries[-1], stack[-1]
        if _narrow_enough(shapes, places, low, high, unit):
            boundaries.append(stack.pop())
        elif (low + high) % 2 == 0:
            stack.append((low + high) // 2)
        else:
            unit *= 2
            stack, boundaries = [2 * mark for mark in stack], [2 * mark for mark in boundaries]
            places = [(2 * mean, 2 * start, 2 * stop) for mean, start, stop in places]
            continue
        if len(boundaries) + len(stack) > max_panels + 1:
            return NotEnclosed(f"the samples' scales and means need more than {max_panels} panels")
    finer, lost = unit // common, Fraction(2, 2**bits)
    spans = {}
    for law, (low, high) in kept.items():
        first, last = bisect_right(boundaries, low * finer), bisect_left(boundaries, high * finer)
        spans[law] = PanelSpan(first - 1, last, lost)
    return Grid(unit, tuple(boundaries), spans)


_HALVINGS = 12  # how often a panel can be halved before the common denominator has to grow


class _Shape(NamedTuple):
    """What the choice of widths needs to know of a law, in doubles: nothing here is proved."""

    scale: float
    width: float
    slope: float
    edge: float


def _shape(law: Distribution, bits: int, fineness: int) -> _Shape:
    # Widths in scales at distance d: where the density is small, a coarser panel has the same
    # absolute error. The least of many one-sided samples lies next to the edge of the support:
    # there panels shrink towards the edge, as exp(-n d) is harmless on the panel [d, 2 d].
    width, slope = law.real.panel
    edge = inf if law.real.sides == BOTH_SIDES else width / 2 / fineness**4
    return _Shape(float(law.scale), width / fineness, slope / fineness, edge)


def _narrow_enough(
    shapes: list[_Shape], places: list[tuple[int, int, int]], low: int, high: int, unit: int
) -> bool:
    """Whether a panel suits all laws; `places` are their means and kept ends, times `unit`."""
    width = (high - low) / unit
    for (scale, widest, slope, edge), (mean, start, stop) in zip(shapes, places, strict=True):
        # Exactly the panels of the law's span, and its mean is subtracted before anything is
        # rounded: laws may lie 10^18 scales apart, and kinks next to the end of a span.
        if low < stop and start < high:
            beyond = max(mean - high, low - mean, 0) / unit / scale
            if width > scale * (widest + slope * beyond) or width > scale * max(beyond, edge):
                return False
    return True


MOST_PANELS = 2048  # convolutions take a time that grows with the square of the number of panels
_BITS = 64
_LEAST = Fraction(1, 2**24)  # least scale; its inverse is the greatest


def build_lattice(
    laws: Iterable[Distribution],
    points: Iterable[Fraction],
    sums: Iterable[Sequence[Distribution]],
    bits: int,
    fineness: int = 1,
    max_panels: int = MOST_PANELS,
) -> Grid | NotEnclosed:
    """Cover laws and sums of independent samples, as `build_grid` does, by panels of one width.

    Args:
        sums: The laws of the samples in each sum; of these, too, all but 2**(1 - bits) is covered.
    """
    laws, sums = tuple(laws), tuple(sums)
    scales = [law.scale for law in (*laws, *chain.from_iterable(sums))]
    if not _LEAST <= min(scales) <= max(scales) <= 1 / _LEAST:
        return NotEnclosed("the samples' scales are beyond the range of sums in doubles")
    cuts = [*points, *(law.mean for law in laws if law.real.has_kink)]
    width = min(law.scale * law.real.even_panel for law in laws) / fineness
    common = content(cuts)
    # Without cuts any width will do: short fractions are quicker.
    width = common / ceil(common / width) if common else width.limit_denominator(64) or width
    kept = {law: cutoff_interval(law, bits) for law in laws}
    intervals = [*kept.values(), *(_interval_of_sum(each, bits) for each in sums)]
    low = min(floor(left / width) for left, _ in intervals)
    high = max(ceil(right / width) for _, right in intervals)
    most = min(max_panels, MOST_PANELS)
    if high - low > most:
        such = "sums of samples with such scales, means and constants"
        return NotEnclosed(f"{such} need {high - low} panels of one width, more than {most}")
    lost = Fraction(2, 2**bits)
    spans = {
        law: PanelSpan(floor(left / width) - low, ceil(right / width) - low, lost)
        for law, (left, right) in kept.items()
    }
    marks = tuple(k * width.numerator for k in range(low, high + 1))
    return Grid(width.denominator, marks, spans)


def _interval_of_sum(laws: Sequence[Distribution], bits: int) -> tuple[Fraction, Fraction]:
    """An interval outside which a sum lies with a probability of at most 2**(1 - bits)."""
    mean = sum((law.mean for law in laws), Fraction(0))
    mirrored = [law.affine(Fraction(-1), Fraction(0)) for law in laws]
    return mean - _reach(mirrored, bits), mean + _reach(laws, bits)


def _reach(laws: Sequence[Distribution], bits: int) -> Fraction:
    """t with Pr[sum - mean > t] <= 2**-bits, for about the best of a few λ."""
    variance = float(sum((law.scale**2 for law in asking(laws)), Fraction(0)))
    tries = [Fraction((1.4 * bits / variance) ** 0.5).limit_denominator(2**40)]
    ends = [1 / law.scale for law in laws if law.real.tail is not None]
    if ends:
        tries = [k * min(ends) / 16 for k in range(1, 16)]

    def guess(rate: Fraction) -> float:  # what comes out below, about
        moments = [float(law.real.log_moment(arb(float(rate * law.scale))).mid()) for law in laws]
        return (0.7 * bits + sum(moments)) / float(rate)

    rate = min(tries, key=guess)
    with precision(_BITS):
        exponent = arb.const_log2() * bits
        for law, count in asking(Counter(laws).items()):
            exponent += count * law.real.log_moment(to_ball(law.scale * rate))
        return max(enclosure_of(exponent / to_ball(rate)).upper, Fraction(0))
