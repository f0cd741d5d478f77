"""Grids: where the functions of an event family live.

In: the laws of the samples and the constants they are compared with. Out: panels that cover the
samples' cut-off intervals, exact, with every kink and jump of a density at a boundary. One-sided
laws are kept from their mean on, where their support begins: nothing is lost on that side.

An algebra on a grid replaces every law by its *restriction* to a span of panels: the mass outside
is dropped. For independent samples X_1, X_2, … and any event A, with S = {all X_i in their
spans},

    Pr[A] - sum_i lost_i  <=  Pr[A and S]  <=  Pr[A],        lost_i >= Pr[X_i not in its span],

because Pr[not S] <= sum_i Pr[X_i not in its span]. All that is proved about a value computed with
restricted laws is this inequality; the panels' widths are a matter of speed only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, lcm

from dipapprox.distributions import Distribution, Family
from dipapprox.numerics.densities import KINKED, LEFT_SUPPORT, RIGHT_SUPPORT
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.tails import cutoff

MAX_PANELS = 4096
"""More panels than any event within reach needs; a grid that wants more is refused."""


@dataclass(frozen=True, slots=True)
class Span:
    """Panels first, …, last - 1: where a law is kept.

    Attributes:
        first: Index of the first panel, which is also the index of its left boundary.
        last: Index of the right boundary of the last panel.
        lost: Proved bound on the mass outside.
    """

    first: int
    last: int
    lost: Fraction


@dataclass(frozen=True, slots=True)
class Grid:
    """Panels [boundaries[p], boundaries[p + 1]] and every law's span among them.

    Attributes:
        boundaries: Exact, strictly increasing; at least two.
        spans: The laws that may be used on the grid. Means of all but Gaussian laws are boundaries.
        unit: A common denominator of the boundaries.
        marks: The boundaries times `unit`: integers, for bulk work.
    """

    boundaries: tuple[Fraction, ...]
    spans: Mapping[Distribution, Span]
    unit: int = field(init=False)
    marks: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        unit = lcm(*{mark.denominator for mark in self.boundaries})
        marks = tuple(mark.numerator * (unit // mark.denominator) for mark in self.boundaries)
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "marks", marks)

    @property
    def panels(self) -> int:
        """The number of panels."""
        return len(self.boundaries) - 1

    def index(self, point: Fraction) -> int:
        """Return the index of the boundary at `point`, or the nearest end if it lies outside.

        Raises:
            ValueError: If the point is inside the grid but not a boundary.
        """
        place = bisect_left(self.boundaries, point)
        if place == len(self.boundaries):
            return self.panels
        if place > 0 and self.boundaries[place] != point:
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
        max_panels: The grid is refused if it would have more.

    Returns:
        The grid, or why there is none: samples too far apart for their scales.
    """
    kept = {law: _cutoff_interval(law, bits) for law in laws}
    left = min(low for low, _ in kept.values())
    right = max(high for _, high in kept.values())
    kinks = {law.mean for law in kept if law.family in KINKED}
    inside = {point for point in points if left < point < right}
    try:
        shapes = [_Shape.of(law, bits, fineness) for law in kept]
        span = float(right - left)
    except OverflowError:
        return NotEnclosed("the samples' scales or means are beyond the range of doubles")
    if min(shape.scale for shape in shapes) < span * 2.0**-200:
        return NotEnclosed("the samples' scales are too far apart")
    # Integers over one denominator: fractions take much longer to add and to halve.
    first = {left, right} | kinks | inside
    unit = lcm(*(mark.denominator for mark in first)) << _HALVINGS
    # Depth first from the left, so that the boundaries come out in order.
    stack = sorted((mark.numerator * (unit // mark.denominator) for mark in first), reverse=True)
    boundaries = [stack.pop()]
    while stack:
        low, high = boundaries[-1], stack[-1]
        if _narrow_enough(shapes, low / unit, (high - low) / unit):
            boundaries.append(stack.pop())
        elif (low + high) % 2 == 0:
            stack.append((low + high) // 2)
        else:
            unit *= 2
            stack, boundaries = [2 * mark for mark in stack], [2 * mark for mark in boundaries]
            continue
        if len(boundaries) + len(stack) > max_panels + 1:
            return NotEnclosed(f"the samples' scales and means need more than {max_panels} panels")
    marks = tuple(Fraction(mark, unit) for mark in boundaries)
    lost = Fraction(2, 2**bits)
    spans = {
        law: Span(bisect_right(marks, low) - 1, bisect_left(marks, high), lost)
        for law, (low, high) in kept.items()
    }
    return Grid(marks, spans)


_HALVINGS = 12
"""How often a panel can be halved before the common denominator has to grow."""


def _cutoff_interval(law: Distribution, bits: int) -> tuple[Fraction, Fraction]:
    left, right = (reach * law.scale for reach in _reaches(law.family, bits))
    return law.mean - left, law.mean + right


def _reaches(family: Family, bits: int) -> tuple[Fraction, Fraction]:
    """How many scales to the left and to the right of its mean a law is kept."""
    reach = cutoff(family, bits).distance
    if family in KINKED:
        return reach * (family in LEFT_SUPPORT), reach * (family in RIGHT_SUPPORT)
    return reach, reach


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the choice of widths needs to know of a law, in doubles: nothing here is proved."""

    mean: float
    scale: float
    left: float
    right: float
    width: float
    slope: float
    edge: float

    @classmethod
    def of(cls, law: Distribution, bits: int, fineness: int) -> _Shape:
        # Widths in scales at distance d: where the density is small, a coarser panel has the same
        # absolute error. The least of many one-sided samples lies next to the edge of the support:
        # there panels shrink towards the edge, as exp(-n d) is harmless on the panel [d, 2 d].
        width, slope = _EXPONENTIAL if law.family in KINKED else _GAUSSIAN
        left, right = map(float, _reaches(law.family, bits))
        mean, scale = float(law.mean), float(law.scale)
        edge = inf if left and right else width / 2 / fineness**4
        return cls(mean, scale, left, right, width / fineness, slope / fineness, edge)


_GAUSSIAN, _EXPONENTIAL = (0.9, 0.18), (1.9, 0.16)


def _narrow_enough(shapes: list[_Shape], start: float, width: float) -> bool:
    for shape in shapes:
        left, right = shape.mean - start - width, start - shape.mean
        beyond = max(left, right, 0.0) / shape.scale
        reach = shape.left if left > right else shape.right
        most = min(shape.width + shape.slope * beyond, max(beyond, shape.edge))
        if beyond < reach and width > shape.scale * most:
            return False
    return True
