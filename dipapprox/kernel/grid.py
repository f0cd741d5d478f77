"""Functions >= 0 on the cells of a grid, and beyond; and how fine it is.

On the reals cells are panels, and a polynomial holds f on each (`panels`). On the integers they are
(k - 1/2, k + 1/2), from a first to a last k, with a ball around f(k). Beyond the grid, to the left
and to the right, a tail says what is known.

No choice of a grid makes an answer wrong. A bad one makes it wide, or is refused: panels end at
kinks and bounds, are narrow around means, and wider away from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, isqrt
from operator import mul, sub
from typing import Any, NamedTuple

from flint import arb, arb_poly

from dipapprox.kernel.balls import between, to_ball
from dipapprox.kernel.errors import NotProved, Refused, spend
from dipapprox.kernel.laws import FAMILIES, IntegerFamily, Law, cost_of

MOST_BITS = 1000  # of what is aimed at


class Accuracy(NamedTuple):
    """What one evaluation asks for."""

    bits: int  # laws are followed to where about 2^-bits of their mass is left
    terms: int  # of polynomials on panels, >= 1
    # How wide panels are at most at the means of laws with analytic densities, as a part of their
    # scale, > 0; and how much more for each unit of their distance from there, in [0, 1].
    smooth: tuple[Fraction, Fraction]
    kinked: tuple[Fraction, Fraction]  # those around other laws
    panels: int = 2000  # how many there may be
    integers: int = 50_000  # how many may be between the first and the last

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
        terms=8 + 3 * bits // 10,
        smooth=(Fraction(60, bits + 32), Fraction(1, 6)),
        kinked=(min(Fraction(60, bits + 32), Fraction(8, factors)), Fraction(1, 4)),
    )


@dataclass(slots=True)
class Leaves:
    """What the functions on one grid are made of."""

    laws: set[Law]  # of densities, at least one
    bounds: set[Fraction]  # of restrictions
    added: set[Law]  # those of samples, with the mean 0, that are added to others
    samples: int = 0  # how many are added to one at most
    # Those not only integrated, up to t or from t on: beyond the grid others are known.
    outer: set[Law] = field(default_factory=set)

    def span(self, eps: Fraction, bits: int) -> tuple[Fraction, Fraction]:
        """Return from where to where those, and about sums, have all but 2^-bits of their mass.

        All means are in between. Spreads add up as squares.
        """
        reaches = [max(law.reach(eps, bits)) for law in self.added]
        further = max(reaches, default=Fraction(0)) * Fraction(isqrt(16 * self.samples) + 1, 4)
        lefts, rights = ([law.mean for law in self.laws] for _ in range(2))
        for law in self.outer or self.laws:
            left, right = law.reach(eps, bits)
            lefts.append(law.mean - left - further)
            rights.append(law.mean + right + further)
        return min(lefts), max(rights)


def ends_of_panels(leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> list[Fraction]:
    """Return the ends of neighbouring panels, ascending, at least two: of the span of the leaves.

    Kinks and bounds that are in it are among them.
    """
    marks = set(leaves.bounds)
    means: dict[tuple[Fraction, Fraction], set[Fraction]] = {}
    for law in leaves.laws:
        kinked = law.has_kink
        width, growth = accuracy.kinked if kinked else accuracy.smooth
        scale = law.scale(eps)
        for place, part in FAMILIES[law.family].widths(accuracy.bits):
            means.setdefault((width * scale * part, growth), set()).add(law.mean + place * scale)
        if kinked:
            marks.add(law.mean)
    # What w + g * distance allows falls by at most g times the way.
    around = [(w / (1 + g), g / (1 + g), sorted(found)) for (w, g), found in means.items()]
    # Nowhere is far from where the density of a sample is large that is added.
    widest = [law.scale(eps) / 2 for law in leaves.added]
    first, last = leaves.span(eps, accuracy.bits)
    ends = [first]
    for mark in [*sorted(mark for mark in marks if first < mark < last), last]:
        while (gap := mark - ends[-1]) > 0:
            if len(ends) > accuracy.panels:
                raise Refused(f"the functions need more than {accuracy.panels} panels")
            spend(1 + (4 + cost_of(gap)) * len(around))
            allowed = [w + g * _distance(ends[-1], near) for w, g, near in around]
            width = min([*allowed, *widest])
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


ZERO = arb(0)


class Tail(NamedTuple):
    """A function beyond the grid, on one side."""

    values: arb  # its upper end bounds f there
    whole: arb  # encloses its integral there, or the sum; not finite where that is not known

    def part(self) -> Tail:
        """Return what is known of functions between 0 and f."""
        return Tail(self.values, between(ZERO, self.whole))


Way = tuple[arb, arb, arb, arb]
"""From a cell to the left end of a grid: the density of a law over the way back, from where on it
falls, and how likely it goes as far. Then the same at the right end."""

NOTHING = Tail(ZERO, ZERO)  # of a function that is 0 there


class Sampled(NamedTuple):
    """A function on a grid: what is known of it on each cell, a ball or a polynomial; beyond."""

    cells: list[Any]
    left: Tail
    right: Tail


def mixed(terms: Iterable[tuple[arb, Sampled]]) -> Sampled:
    """Return the sum of scalar * f, scalars >= 0."""
    scalars, functions = zip(*terms, strict=True)

    def summed(rows: Iterable[Iterable[Any]]) -> list[Any]:
        return [sum(map(mul, column, scalars), ZERO) for column in zip(*rows, strict=True)]

    return Sampled(
        summed(f.cells for f in functions),
        Tail(*summed(f.left for f in functions)),
        Tail(*summed(f.right for f in functions)),
    )


def rise(upper: Sampled, lower: Sampled) -> Sampled:
    """Return upper - lower, where 0 <= lower <= upper on the line."""
    return Sampled(list(map(sub, upper.cells, lower.cells)), upper.left.part(), upper.right.part())


def _product(a: Tail, b: Tail) -> Tail:
    """The integral of a * b is at most that of a, times the largest value of b."""
    ways = (a.whole * b.values, b.whole * a.values)
    whole = min(filter(arb.is_finite, ways), key=arb.upper, default=arb.pos_inf())
    return Tail(a.values * b.values, whole).part()


class Space(ABC):
    """Functions on one grid, of `size` numbers each; `nothing` is what is known of 0 on a cell."""

    nothing: Any
    size: int

    @abstractmethod
    def density(self, law: Law, factor: Fraction) -> Sampled:
        """Return a law's density, or its masses, times a factor."""

    def times(self, one: Any, other: Any) -> Any:
        """Return what is known of a product on a cell; as here and below, where cells are balls."""
        return one * other

    def partial(self, place: int, cell: Any, from_left: bool) -> tuple[Any, arb]:
        """Return the integral of f from an end of a cell on, and over it; on the integers f(t)."""
        return cell, cell.nonnegative_part()

    def gathered(self, cells: Sequence[Any]) -> arb:
        """Enclose the integral of f over all cells."""
        return sum(cells, ZERO)

    @abstractmethod
    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        """Return how many cells are to the left of a bound, and on which side of the grid it is.

        That is -1, 0 or 1; 0 if it is the end of a cell.
        """

    @abstractmethod
    def summed(self, f: Sampled, law: Law) -> tuple[list[Any], arb, list[Way]]:
        """Return what of the density of X + Y is from X on the grid; Y's largest density; ways."""

    def product(self, f: Sampled, g: Sampled) -> Sampled:
        """Return t -> f(t) * g(t)."""
        cells = list(map(self.times, f.cells, g.cells))
        return Sampled(cells, _product(f.left, g.left), _product(f.right, g.right))

    def restrict(self, f: Sampled, lower: Fraction | None, upper: Fraction | None) -> Sampled:
        """Return f between two constants, 0 elsewhere; those on the grid are ends of cells."""
        count, left, right = len(f.cells), f.left.part(), f.right.part()
        first, last = 0, count
        if lower is not None:
            first, side = self.place(lower, False)
            left = left if side < 0 else NOTHING
        if upper is not None:
            last, side = self.place(upper, True)
            right = right if side > 0 else NOTHING
        last = max(first, last)
        before, after = [self.nothing] * first, [self.nothing] * (count - last)
        return Sampled(before + f.cells[first:last] + after, left, right)

    def running(self, f: Sampled, from_left: bool) -> Sampled:
        """Return the integral of f up to t, or from t on."""
        near, far = (f.left, f.right) if from_left else (f.right, f.left)
        if not near.whole.is_finite():
            raise NotProved("an integral is not bounded")
        reached = near.whole.nonnegative_part()
        cells = list(f.cells)
        for place in range(len(cells)) if from_left else reversed(range(len(cells))):
            part, whole = self.partial(place, cells[place], from_left)
            cells[place] = part + reached
            reached += whole
        first = Tail(near.whole, ZERO if near.whole.is_zero() else arb.pos_inf())
        last = Tail(reached + far.whole, arb.pos_inf())
        return Sampled(cells, *((first, last) if from_left else (last, first)))

    def total(self, f: Sampled, g: Sampled | None = None) -> arb:
        """Enclose the integral of f over everything, or of f * g."""
        if g is not None:
            tails = _product(f.left, g.left), _product(f.right, g.right)
            f = Sampled([*map(mul, f.cells, g.cells)], *tails)
        found = self.gathered(f.cells) + f.left.whole + f.right.whole
        if not found.is_finite():
            raise NotProved("an integral is not bounded")
        return found.nonnegative_part()

    def convolved(self, f: Sampled, law: Law) -> Sampled:
        """Return the density of X + Y, where f is that of X, and Y has a law.

        The density of X + Y is nowhere above the largest one of Y times the integral of f. What
        comes from X beyond the grid is at most the largest density of Y over the way from there,
        times the integral there; X + Y is beyond the grid if X is, or Y goes from X beyond it.
        """
        (cells, most, ways), left, right = self.summed(f, law), f.left, f.right
        highest = self.total(f) * most
        lefts = left.whole + right.whole * ways[-1][1]
        rights = right.whole + left.whole * ways[0][3]
        for place, own in enumerate(ways):
            _, whole = self.partial(place, f.cells[place], True)
            lefts, rights = lefts + whole * own[1], rights + whole * own[3]
            cells[place] += between(ZERO, left.whole * own[0] + right.whole * own[2])
        return Sampled(cells, Tail(highest, lefts).part(), Tail(highest, rights).part())


class Lattice(Space):
    """Functions made of some laws of integers at one eps; bounds are of no interest."""

    nothing = ZERO

    def __init__(self, leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> None:
        self._eps = eps
        first, last = leaves.span(eps, accuracy.bits)
        self._first, self._last = floor(first), ceil(last)
        self.size = self._last - self._first + 1
        if self.size > accuracy.integers:
            raise Refused(f"the functions need more than {accuracy.integers} integers")

    def density(self, law: Law, factor: Fraction) -> Sampled:
        # Masses rise up to the mean and fall from there.
        family, size = law.on(IntegerFamily), to_ball(factor)
        rate = family.rate(law.scale(self._eps))
        first, last = self._first - int(law.mean), self._last - int(law.mean)
        before, *masses, after = family.masses(first - 1, last + 1, rate)
        return Sampled(
            [size * mass for mass in masses],
            Tail(size * before, size * family.below(first - 1, rate)),
            Tail(size * after, size * family.above(last + 1, rate)),
        )

    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        # Both bounds count: the end of a cell that is meant is half an integer away.
        place = (floor(bound) + 1 if is_upper else ceil(bound)) - self._first
        return min(max(place, 0), self.size), (place > self.size) - (place < 0)

    def summed(self, f: Sampled, law: Law) -> tuple[list[arb], arb, list[Way]]:
        # Sums of products are coefficients of products of polynomials.
        count, family = self.size, law.on(IntegerFamily)
        spend(20 * count)
        rate = family.rate(law.scale(self._eps))
        masses = family.masses(1 - count, count, rate)
        sums = (arb_poly(f.cells) * arb_poly(masses[:-1])).coeffs()
        cells = [*sums, *[ZERO] * (3 * count)][count - 1 : 2 * count - 1]
        # Beyond the grid is one further than its ends.
        most, *less = masses[count - 1 :]
        above = [*accumulate(less[::-1], initial=family.above(count + 1, rate))][:0:-1]
        ways = [*zip(less, above, strict=True)]
        return cells, most, [(*a, *b) for a, b in zip(ways, ways[::-1], strict=True)]
