"""Certified intervals of what compositions cost, for one direction or the greater of two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant


@dataclass(frozen=True, slots=True)
class CostBounds:
    """A certified interval: lower <= truth <= upper; None stands for infinity."""

    lower: Fraction | None
    upper: Fraction | None

    @property
    def width(self) -> Fraction | None:
        """upper - lower; None if infinite."""
        if self.upper is None or self.lower is None:
            return None
        return self.upper - self.lower

    def is_within(self, width: Fraction) -> bool:
        """Whether the interval is as narrow as wanted, or the number is surely infinite."""
        own = self.width
        return self.lower is None if own is None else own <= width

    def meet(self, other: CostBounds) -> CostBounds:
        """The common part of two intervals of one number.

        Raises:
            BrokenInvariant: If there is none.
        """
        lower = None if self.lower is None or other.lower is None else max(self.lower, other.lower)
        ends = [each for each in (self.upper, other.upper) if each is not None]
        upper = min(ends) if ends else None
        if upper is not None and (lower is None or lower > upper):
            raise BrokenInvariant("two intervals of what a composition costs do not meet")
        return CostBounds(lower, upper)


def matters(known: Sequence[CostBounds], greatest: Sequence[CostBounds]) -> bool:
    """Whether one direction may be the greater one somewhere."""
    for own, other in zip(known, greatest, strict=True):
        if own.upper is None or (other.lower is not None and own.upper > other.lower):
            return True
    return False


def greatest_of(directions: Iterable[Sequence[CostBounds]]) -> tuple[CostBounds, ...]:
    """Bound the greater of two costs, for every value asked."""
    return tuple(
        CostBounds(_most(each.lower for each in two), _most(each.upper for each in two))
        for two in zip(*directions, strict=True)
    )


def _most(values: Iterable[Fraction | None]) -> Fraction | None:
    found: Fraction | None = Fraction(0)
    for value in values:
        found = None if value is None or found is None else max(value, found)
    return found


def are_finite(known: Sequence[CostBounds]) -> bool:
    """Whether all widths are."""
    return all(each.width is not None for each in known)


def gain(before: Sequence[CostBounds], after: Sequence[CostBounds]) -> float:
    """By which part the interval that is narrowed most got narrower."""
    return max(
        1.0
        if old.width is None and new.width is not None
        else 0.0
        if old.width is None or new.width is None or not old.width
        else float(1 - new.width / old.width)
        for old, new in zip(before, after, strict=True)
    )
