"""Order events: comparisons of independent samples with each other and with constants.

In: an `Event`, any linear guards. Out: an `OrderEvent`, if an affine change of the samples makes
one (`reduce.coordinates`). On a tree that always works; every further guard must fit. Where only
its constant does not, as with x - 1 <= y <= x + 3, comparisons with offsets are left.

Elements of an order are samples, bounded; or, as `sum_event` makes them, sums of others, compared
with others that are in no other comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.events.event import Event
from dipapprox.events.intervals import EVERYWHERE, Interval, common
from dipapprox.events.reduce import SAME, Change, coordinates, is_plain
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.linear.form import LinearForm

Edge = tuple[int, int]  # (i, j): x[i] is bounded by x[j]


@dataclass(frozen=True, slots=True)
class BoundedElement:
    """A random variable between two constants (None: none), and what it is compared with."""

    source: Distribution | tuple[int, ...]  # its law, or the elements whose sum it is
    lower: Fraction | None  # least value
    upper: Fraction | None  # greatest value
    below: tuple[int, ...] = ()  # elements that are at most it, in no other comparison
    above: tuple[int, ...] = ()  # elements that are at least it, likewise
    # (element, offset) for elements between it and it + offset, likewise
    bands: tuple[tuple[int, Fraction], ...] = ()

    @property
    def law(self) -> Distribution | None:
        """The law of a sample that is bounded and compared nowhere."""
        if self.below or self.above or self.bands or not (self.lower is self.upper is None):
            return None
        return self.source if isinstance(self.source, Distribution) else None


Bound = tuple[int, int, Fraction]  # (i, j, w): x[i] <= x[j] + w


@dataclass(frozen=True, slots=True)
class OrderEvent:
    """Elements within their bounds and comparisons, and comparisons x_i <= x_j + w of roots."""

    # all independent but for sums; each after those that it is made of
    elements: tuple[BoundedElement, ...]
    roots: tuple[int, ...]  # elements that are part of no other
    # (i, j, w) for the roots i and j; a pair may have two, one in each direction
    bounds: frozenset[Bound]
    # the probability differs from the event's by at most this: deviations are rounded
    error: Fraction = Fraction(0)

    @property
    def has_offsets(self) -> bool:
        """Whether it is more than an order: some w is not 0."""
        return any(w for _, _, w in self.bounds)

    def order_of(self, parts: Sequence[int]) -> list[int]:
        """Return the parts of a sum in the order in which they are added up.

        What is smooth and known everywhere comes last.
        """

        def ease(part: int) -> int:
            law = self.elements[part].law
            return 0 if law is None else 2 if law.family.is_normal else 1

        return sorted(parts, key=lambda part: (ease(part), part))

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


def order_event(event: Event) -> OrderEvent | NotEnclosed:
    """Turn an event into comparisons, with offsets only if no shifts make them plain."""
    for guard in event.guards:
        if len(guard.terms) > 2:
            return NotEnclosed(f"a guard compares {len(guard.terms)} samples at once")
    size = len(event.samples)
    change = [SAME] * size if all(map(is_plain, event.guards)) else coordinates(size, event.guards)
    ranges: list[Interval] = [EVERYWHERE] * size
    bounds: dict[Edge, Fraction] = {}
    for guard in event.guards:
        if len(guard.terms) == 2:
            found = compared(guard, change)
            if found is None:
                return NotEnclosed("guards round a cycle of samples compare different multiples")
            edge, offset = found
            bounds[edge] = min(bounds.get(edge, offset), offset)
            continue
        ((i, a),) = [(int(s), c) for s, c in guard.terms]
        slope, shift = change[i]
        bound = -(guard.constant + a * shift) / (a * slope)
        ranges[i] = common(ranges[i], (None, bound) if a * slope > 0 else (bound, None))
    laws = [
        law if each is SAME else law.affine(1 / each[0], -each[1] / each[0])  # of (x - q) / p
        for law, each in zip(event.samples, change, strict=True)
    ]
    samples = [BoundedElement(law, *ends) for law, ends in zip(laws, ranges, strict=True)]
    offsets = frozenset((i, j, w) for (i, j), w in bounds.items())
    return OrderEvent(tuple(samples), tuple(range(size)), offsets)


_NOTHING = Fraction(0)


def compared(guard: LinearForm, change: Sequence[Change]) -> tuple[Edge, Fraction] | None:
    """Read a guard about two samples as z_i <= z_j + w; None if it compares multiples."""
    (i, a), (j, b) = [(int(s), c) for s, c in guard.terms]
    if change[i] is SAME and change[j] is SAME and is_plain(guard):
        return ((i, j) if a > 0 else (j, i)), _NOTHING
    (p, q), (r, s) = change[i], change[j]
    if a * p + b * r:
        return None
    offset = -(guard.constant + a * q + b * s) / (a * p)
    return ((i, j), offset) if a * p > 0 else ((j, i), -offset)
