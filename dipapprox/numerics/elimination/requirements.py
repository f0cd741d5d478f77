"""Order events in, what they require of a grid out, and which of them may share one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.events.event import Star
from dipapprox.numerics.elimination.elements import SumEvent
from dipapprox.numerics.elimination.order_event import DifferenceEvent, OrderEvent

Order = OrderEvent | DifferenceEvent | SumEvent | Star


@dataclass(frozen=True, slots=True)
class GridRequirements:
    """What some events require of a grid.

    Attributes:
        laws: Of their samples.
        points: Constants that samples are compared with, and offsets of comparisons.
        samples: The most samples and sums that one of them has.
        sums: The laws of the samples in each sum, and in each on the way there; with any, panels
            have one width.
        moved: Whether laws that differ by a shift stand for one sample at several places: then all
            have to lose the same tails.
    """

    laws: frozenset[Distribution]
    points: frozenset[Fraction]
    samples: int
    sums: frozenset[tuple[Distribution, ...]] = frozenset()
    moved: bool = False

    @classmethod
    def of(cls, order: Order) -> GridRequirements:
        """Read what an event requires."""
        match order:
            case Star(centre, below, above):
                leaves = (*below, *above)
                laws = frozenset((centre, *(law for law, _ in leaves)))
                return cls(laws, frozenset(), 1 + sum(count for _, count in leaves))
            case OrderEvent(samples) | DifferenceEvent(samples):
                shared = {id(sample.law): sample.law for sample in samples}  # laws hash slowly
                bounds = {bound for each in samples for bound in (each.lower, each.upper)}
                if isinstance(order, DifferenceEvent):
                    bounds |= {offset for _, _, offset in order.bounds}
                points = frozenset(bound for bound in bounds if bound is not None)
                return cls(frozenset(shared.values()), points, len(samples))
            case SumEvent(elements):
                sources = (element.source for element in elements)
                laws = frozenset(source for source in sources if isinstance(source, Distribution))
                bounds = {bound for each in elements for bound in (each.lower, each.upper)}
                points = frozenset(bound for bound in bounds if bound is not None)
                points |= {offset for each in elements for _, offset in each.bands}
                sums = order.partial_sums()
                if any(element.bands for element in elements):
                    # Moved by whole panels: these have one width.
                    sums += [(law,) for law in laws]
                return cls(laws, points, len(elements) + len(sums), frozenset(sums))
            case _:
                assert_never(order)

    def scope(self) -> tuple[object, ...]:
        """All but the number of samples."""
        return self.laws, self.points, self.sums, self.moved

    def __or__(self, other: GridRequirements) -> GridRequirements:
        if other <= self:
            return self
        samples = max(self.samples, other.samples)
        return GridRequirements(
            self.laws | other.laws,
            self.points | other.points,
            samples,
            self.sums | other.sums,
            self.moved or other.moved,
        )

    def __le__(self, other: GridRequirements) -> bool:
        return (
            self.samples <= other.samples
            and self.points <= other.points
            and self.laws <= other.laws
            and self.sums <= other.sums
            and self.moved <= other.moved
        )


@dataclass(frozen=True, slots=True)
class GridEvent:
    """An order event and what it requires of a grid."""

    order: Order
    required: GridRequirements


_SHARED_LAWS = 12
"""Most laws, and most constants, that one grid serves for the sake of sharing."""

_CLOSE_LAWS, _CLOSE = 64, 8
"""Most laws with means that are at most so many scales apart: they want panels in one place."""


@dataclass(slots=True)
class Group:
    """Events that may share a grid, by position, and what they require together."""

    places: list[int]
    required: GridRequirements


def grouped(grid_events: Mapping[int, GridEvent]) -> list[Group]:
    """Collect events with few laws and constants between them, those with the most first."""
    groups: list[Group] = []
    for place in sorted(grid_events, key=lambda place: -len(grid_events[place].required.laws)):
        required = grid_events[place].required
        if groups:
            together = groups[-1].required | required
            if together is groups[-1].required or is_small(together):
                groups[-1].places.append(place)
                groups[-1].required = together
                continue
        groups.append(Group([place], required))
    return groups


def is_small(required: GridRequirements) -> bool:
    """Whether one grid serves all of them without costing much more than theirs."""
    if required.sums:
        return False  # a width that suits all may be much less than each needs
    if len(required.points) > _SHARED_LAWS:
        return False
    return has_few_laws(required) or (
        len(required.laws) <= _CLOSE_LAWS and _are_close(required.laws)
    )


def has_few_laws(required: GridRequirements) -> bool:
    """Whether the functions of all its laws together are little to remember."""
    return len(required.laws) <= _SHARED_LAWS


def _are_close(laws: frozenset[Distribution]) -> bool:
    means = [law.mean for law in laws]
    return max(means) - min(means) <= _CLOSE * min(law.scale for law in laws)
