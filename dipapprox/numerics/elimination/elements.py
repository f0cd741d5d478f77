"""Random variables that are samples or sums of earlier ones, bounded and compared: to integrate.

In: parts, random variables that are samples or sums, with bounds and comparisons (`sum_event`).
Out: `BoundedElement`s, in coordinates in which sums and comparisons are plain. Parts are rescaled
so that sums are z = z_1 + z_2 + … and comparisons z <= z', and shifted so that as many means and
constants as possible are 0: panels of one width serve all. Plans add sums up in the order that is
said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.numerics.elimination.order_event import Edge

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class BoundedElement:
    """A random variable between two constants (None: none), and what it is compared with."""

    source: Distribution | tuple[int, ...]  # its law, or the elements whose sum it is
    lower: Fraction | None  # least value
    upper: Fraction | None  # greatest value
    below: tuple[int, ...]  # elements that are at most it, in no other comparison
    above: tuple[int, ...]  # elements that are at least it, likewise
    # (element, offset) for elements between it and it + offset, likewise
    bands: tuple[tuple[int, Fraction], ...] = ()

    @property
    def law(self) -> Distribution | None:
        """The law of a sample that is bounded and compared nowhere."""
        if self.below or self.above or self.bands or not (self.lower is self.upper is None):
            return None
        return self.source if isinstance(self.source, Distribution) else None


@dataclass(frozen=True, slots=True)
class SumEvent:
    """Elements within their bounds and comparisons, and an order of some of them."""

    # all independent but for sums; each after those that it is made of
    elements: tuple[BoundedElement, ...]
    roots: tuple[int, ...]  # elements that are part of no other
    edges: frozenset[Edge]  # (i, j): root i < root j
    # the probability differs from the event's by at most this: deviations are rounded
    error: Fraction

    def order_of(self, parts: Sequence[int]) -> list[int]:
        """Return the parts of a sum in the order in which they are added up."""
        return sorted(parts, key=lambda part: (_ease(self.elements[part]), part))

    def partial_sums(self) -> list[tuple[Distribution, ...]]:
        """The laws of the samples in each sum on the way to each sum, sorted.

        Every one of them is a function on the grid: what it has beyond is lost.
        """
        sources = {e.source for e in self.elements if isinstance(e.source, Distribution)}
        ranked = sorted(sources, key=law_order)
        # By rank: laws take long to compare.
        rank = {law: k for k, law in enumerate(ranked)}
        ranks: list[list[int]] = []
        found: list[tuple[Distribution, ...]] = []
        for element in self.elements:
            if isinstance(element.source, Distribution):
                ranks.append([rank[element.source]])
                continue
            first, *others = self.order_of(element.source)
            reached = ranks[first]
            for part in others:
                reached = sorted([*reached, *ranks[part]])
                found.append(tuple([ranked[k] for k in reached]))
            ranks.append(reached)
        return found


def _ease(element: BoundedElement) -> int:
    """What is smooth and known everywhere comes last."""
    if element.law is None:
        return 0
    return 2 if element.law.family.is_normal else 1


@dataclass(slots=True, eq=False)
class RuleVariable:
    """A random variable while rules are applied."""

    law: Distribution | None  # of a sample; None for a sum
    terms: tuple[tuple[Fraction, RuleVariable], ...] = ()  # of a sum: (coefficient, part)
    lower: Fraction | None = None
    upper: Fraction | None = None
    compared: list[SumComparison] = field(default_factory=list)

    @property
    def is_free(self) -> bool:
        """Whether it is bounded and compared nowhere."""
        return self.lower is None and self.upper is None and not self.compared


@dataclass(frozen=True, slots=True, eq=False)
class SumComparison:
    """a · part + c · another one + k <= 0; and >= -width, if there is one."""

    part: RuleVariable
    a: Fraction
    c: Fraction
    k: Fraction
    width: Fraction | None


@dataclass(slots=True, eq=False)
class _Placed:
    """A part in the coordinate z, part = slope · z + shift."""

    part: RuleVariable
    slope: Fraction
    shift: Fraction
    # numbers of a sum's terms; their z add up to this one's
    parts: list[int] = field(default_factory=list)
    # numbers of what is compared with it, and at most it
    below: list[int] = field(default_factory=list)
    above: list[int] = field(default_factory=list)  # likewise, at least it
    # (number, offset) of what is compared with it, and lies from it to it + offset
    bands: list[tuple[int, Fraction]] = field(default_factory=list)
    # a number that its means and constants differ from by few steps; None: any
    origin: Fraction | None = None

    def compared(self) -> Iterable[int]:
        """The numbers of what is compared with it."""
        return (*self.below, *self.above, *(number for number, _ in self.bands))

    def cuts(self) -> Iterable[Fraction]:
        """The kink of a law, and the bounds, in the coordinate."""
        part = self.part
        kinked = part.law is not None and part.law.real.has_kink
        points = [part.law.mean] if kinked and part.law is not None else []
        points += [bound for bound in (part.lower, part.upper) if bound is not None]
        return [(point - self.shift) / self.slope for point in points]


class PartLayout:
    """Parts with their coordinates, each before those that it is made of."""

    def __init__(self) -> None:
        self._placed: list[_Placed] = []

    def add(self, part: RuleVariable, slope: Fraction, shift: Fraction) -> int:
        """Place a part and everything that it is made of; return its number."""
        number = self._put(_Placed(part, slope, shift))
        waiting = [number]
        while waiting:
            place = self._placed[waiting.pop()]
            p, q = place.slope, place.shift
            start = len(self._placed)
            for k, (c, term) in enumerate(place.part.terms):
                # Nearly all coefficients are 1, and fractions divide slowly.
                slope, shift = (p, q) if c == 1 else (p / c, q / c)
                place.parts.append(self._put(_Placed(term, slope, _ZERO if k else shift)))
            for each in place.part.compared:
                # a y + c (p z + q) + k is a multiple c p of z - z'.
                rate, shift = each.c * p, -(each.c * q + each.k) / each.a
                other = self._put(_Placed(each.part, -rate / each.a, shift))
                if each.width is not None:  # -width <= c p (z - z') <= 0
                    place.bands.append((other, each.width / rate))
                else:
                    (place.above if rate > 0 else place.below).append(other)
            waiting += range(start, len(self._placed))
        return number

    def _put(self, place: _Placed) -> int:
        self._placed.append(place)
        return len(self._placed) - 1

    def elements(self, roots: Sequence[int], shifted: bool) -> tuple[BoundedElement, ...]:
        """List the elements, the last first; `shifted`: whether coordinates of roots may be."""
        for place in reversed(self._placed):
            place.origin = self._origin(place)
        fixed = [o for r in roots if shifted and (o := self._placed[r].origin) is not None]
        origins = [fixed[0] if fixed else _ZERO] * len(self._placed)
        last = len(self._placed) - 1
        found: list[BoundedElement] = []
        for number, place in enumerate(self._placed):
            origin = origins[number]
            for other in place.compared():
                origins[other] = origin
            own = [self._placed[k].origin for k in place.parts]
            taken = [o for o in own if o]  # nearly all are 0
            rest = origin - sum(taken, _ZERO) if taken else origin
            for k, o in zip(place.parts, own, strict=True):
                origins[k] = o or _ZERO
            if place.parts and rest:
                # Whatever has no kinks takes the rest; else the first, which then has them there.
                origins[place.parts[own.index(None) if None in own else 0]] += rest
            found.append(self._element(place, origin, last))
        return tuple(reversed(found))

    def _origin(self, place: _Placed) -> Fraction | None:
        own = [self._placed[k].origin for k in place.parts]
        fixed = [o for o in own if o is not None]
        if place.parts and len(fixed) == len(own):
            return sum(fixed, Fraction(0))
        compared = (self._placed[k].origin for k in place.compared())
        candidates = (*place.cuts(), *(o for o in compared if o is not None))
        return candidates[0] if candidates else None

    def _element(self, place: _Placed, origin: Fraction, last: int) -> BoundedElement:
        slope, shift = place.slope, place.shift
        if origin.numerator:
            shift += slope * origin
        part, law = place.part, place.part.law
        lower, upper = part.lower, part.upper
        if slope != 1 or shift.numerator:
            lower, upper = (None if b is None else (b - shift) / slope for b in (lower, upper))
            law = None if law is None else law.affine(1 / slope, -shift / slope)
        if slope.numerator < 0:
            lower, upper = upper, lower
        source = law or tuple([last - k for k in place.parts])
        below, above = ([last - k for k in side] for side in (place.below, place.above))
        bands = tuple((last - k, offset) for k, offset in place.bands)
        return BoundedElement(source, lower, upper, tuple(below), tuple(above), bands)
