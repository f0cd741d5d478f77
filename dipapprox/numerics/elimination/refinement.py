"""How finely events are computed: what they require of a grid, and the levels to try.

Order events in, what they require of a grid out, and which of them may share one. A wanted width
in, the levels of refinement out: grids and algebras, coarse to fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import le, or_
from typing import Any, assert_never

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.data_classes import Record
from dipapprox.events.event import Star, count_samples, laws_of
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.elimination.plan import FunctionTable, Moved, RestrictedDensity, Terms
from dipapprox.numerics.elimination.planning import BoundedElement, Order, OrderEvent, eliminate
from dipapprox.numerics.methods import Tier


class RefinementLevel(Record):
    """One attempt: how fine the grid is and which algebra works on it."""

    fineness: int
    bits: int = 0  # precision of the balls; 0 for doubles
    degree: int = 0  # of the balls' polynomials


def bytes_per_panel(level: RefinementLevel) -> int:
    """Return about how much memory a function takes for every panel."""
    return (level.degree + 1) * (64 + level.bits // 8) if level.bits else 232


def double_levels(tier: Tier) -> list[RefinementLevel]:
    """The attempts in doubles; the first tells how large a probability is, about."""
    return [] if tier is Tier.BALLS else [RefinementLevel(fine) for fine in (1, 3, 16, 64)]


def doubles_may_do(
    before: Enclosure | NotEnclosed | None, known: Enclosure | NotEnclosed | None, bits: int
) -> bool:
    """Whether finer panels may bring an enclosure in doubles to the width 2**-bits.

    Their errors are relative, as the balls' are: what matters is the size of the probability, which
    is unknown as long as the lower bound is 0. Where finer panels made a narrow enclosure hardly
    narrower than it was `before`, what is left are errors of rounding, and they only grow with the
    number of panels.
    """
    if not isinstance(known, Enclosure):
        return True
    if isinstance(before, Enclosure) and before.width < 8 * known.width < known.upper / 2**_NARROW:
        return False
    return not known.lower or known.upper <= Fraction(2**_DOUBLES, 2**bits)


def ball_levels(bits: int, tier: Tier) -> list[RefinementLevel]:
    """The attempts in balls for `bits` correct bits behind the leading one.

    In steps of 64 bits. Panels as wide as a scale need a degree of about half the bits; more cost
    little, as the algebra drops what is negligible, and high powers need them.
    """
    if tier is Tier.FLOAT64:
        return []
    steps = (
        (1, bits + 40, bits // 2 + 30),
        (2, bits + 100, bits // 2 + 20),
        (4, bits + 160, bits // 2 + 30),
        (8, 2 * bits + 160, 3 * bits // 4 + 50),
    )
    return [RefinementLevel(fine, -(-own // 64) * 64, degree) for fine, own, degree in steps]


def leading_zeros(found: Sequence[Enclosure | NotEnclosed | None], bits: int) -> int:
    """Return k such that all these probabilities are at most 2**-k, k <= bits."""
    uppers = [each.upper for each in found if isinstance(each, Enclosure)]
    if len(uppers) < len(found) or not uppers:
        return 0
    largest = max(uppers)
    zeros = largest.denominator.bit_length() - largest.numerator.bit_length() - 1
    return min(max(zeros, 0), bits)


_NARROW = 20  # widths below 2**-20 times the probability come from panels that are fine enough
_DOUBLES = 48  # doubles rarely give enclosures that are narrower than 2**-48 times the probability


class GridRequirements(Record):
    laws: frozenset[Distribution]  # of their samples
    # constants that samples are compared with, and offsets of comparisons
    points: frozenset[Fraction]
    samples: int  # the most samples and sums that one of them has
    # the laws of the samples in each sum, and in each on the way there; with any, panels have one
    # width
    sums: frozenset[tuple[Distribution, ...]] = frozenset()
    # whether laws that differ by a shift stand for one sample at several places: then all have to
    # lose the same tails
    moved: bool = False
    # by which other functions are moved, off the grid: in balls only
    shifts: frozenset[Fraction] = frozenset()

    @classmethod
    def of(cls, order: Order) -> GridRequirements:
        match order:
            case Star():
                return cls(frozenset(laws_of(order)), frozenset(), count_samples(order))
            case OrderEvent(elements, _, bounds):
                sources = {id(each.source): each.source for each in elements}  # laws hash slowly
                laws = frozenset(s for s in sources.values() if isinstance(s, Distribution))
                points = _ends(elements) | {by for each in elements for _, by in each.bands}
                points |= {offset for _, _, offset in bounds if offset}
                sums = order.partial_sums() if len(order.roots) < len(elements) else []
                if any(element.bands for element in elements):
                    # Moved by whole panels: these have one width.
                    sums += [(law,) for law in laws]
                return cls(laws, points, len(elements) + len(sums), frozenset(sums))
            case _:
                assert_never(order)

    def scope(self) -> tuple[Any, ...]:
        """All but the number of samples."""
        return self.laws, self.points, self.sums, self.moved, self.shifts

    def __or__(self, other: GridRequirements) -> GridRequirements:
        if other <= self:
            return self
        laws, points, *others = map(or_, self.scope(), other.scope())
        return GridRequirements(laws, points, max(self.samples, other.samples), *others)

    def __le__(self, other: GridRequirements) -> bool:
        return self.samples <= other.samples and all(map(le, self.scope(), other.scope()))


def _ends(parts: Iterable[BoundedElement | RestrictedDensity]) -> frozenset[Fraction]:
    """The constants that some variables lie between."""
    ends = (end for each in parts for end in (each.lower, each.upper))
    return frozenset(end for end in ends if end is not None)


def requirements(order: Order) -> GridRequirements:
    """What a grid must offer for all functions of an event.

    Where all samples but one are leaves, only laws are moved, and they are laws again.
    """
    table = FunctionTable()
    if not isinstance(order, OrderEvent) or not order.has_offsets:
        return GridRequirements.of(order)
    if isinstance(eliminate(order, table), NotEnclosed):
        return GridRequirements.of(order)  # it will not be asked for
    leaves = [f for f in table.functions if isinstance(f, RestrictedDensity)]
    laws = frozenset(leaf.law for leaf in leaves)
    shifts = frozenset(f.offset for f in table.functions if isinstance(f, Moved))
    return GridRequirements(laws, _ends(leaves), len(order.elements), moved=True, shifts=shifts)


class GridEvent(Record, frozen=False, eq=False):
    """An event in an order, what it requires of a grid, and what is known of it so far."""

    place: int  # in its batch
    order: Order
    required: GridRequirements
    dropped: Fraction  # by how much the order's probability may exceed the event's
    terms: Terms = ()  # its plan
    found: Enclosure | NotEnclosed | None = None  # of the order's probability


_SHARED_LAWS = 12  # most laws, and most constants, that one grid serves for the sake of sharing

_CLOSE_LAWS, _CLOSE = 64, 8
"""Most laws with means that are at most so many scales apart: they want panels in one place."""


def grouped(events: Iterable[GridEvent]) -> list[tuple[GridRequirements, list[GridEvent]]]:
    """Collect events with few laws and constants between them, those with the most first.

    Returns:
        Events that may share a grid, and what they require together.
    """
    groups: list[tuple[GridRequirements, list[GridEvent]]] = []
    for event in sorted(events, key=lambda e: (not e.required.shifts, -len(e.required.laws))):
        if groups and bool(groups[-1][0].shifts) == bool(event.required.shifts):
            last, members = groups[-1]
            together = last | event.required
            if together is last or is_small(together):
                members.append(event)
                groups[-1] = together, members
                continue
        groups.append((event.required, [event]))
    return groups


def is_small(required: GridRequirements) -> bool:
    """Whether one grid serves all of them without costing much more than theirs."""
    if required.sums:
        return False  # a width that suits all may be much less than each needs
    if len(required.points) > _SHARED_LAWS:
        return False
    if has_few_laws(required):
        return True
    means = [law.mean for law in required.laws]
    spread = _CLOSE * min(law.scale for law in required.laws)
    return len(means) <= _CLOSE_LAWS and max(means) - min(means) <= spread


def has_few_laws(required: GridRequirements) -> bool:
    """Whether the functions of all its laws together are little to remember."""
    return len(required.laws) <= _SHARED_LAWS
