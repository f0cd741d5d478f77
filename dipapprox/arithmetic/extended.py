"""Bounds of numbers that may be infinite, with who gave them: budgets, divergences, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR
from fractions import Fraction
from functools import reduce
from math import inf

from dipapprox.arithmetic.enclosure import Enclosure, outward, rounded_down, rounded_to
from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant, Contradiction

_PLACES = 20


class Extended(Record):
    """lower <= true value <= upper, in [0, ∞]."""

    lower: Fraction | None  # None if the value is infinite, for certain
    upper: Fraction | None  # none if the value is infinite, or no bound is known
    # The methods that gave `lower` and `upper`; "" if nobody says.
    least_by: str = field(default="", compare=False)
    most_by: str = field(default="", compare=False)

    @classmethod
    def of(cls, enclosure: Enclosure, by: str) -> Extended:
        """Return an enclosure of a finite number, with who gave it."""
        return cls(enclosure.lower, enclosure.upper, by, by)

    @classmethod
    def at_most(cls, upper: Fraction | None, by: str) -> Extended:
        """Return what a method knows that bounds a number from above only."""
        return cls(Fraction(0), upper, "", by)

    @property
    def infinite(self) -> bool:
        """Whether the value is certainly infinite."""
        return self.lower is None

    @property
    def by(self) -> GivenBy:
        return self.least_by, self.most_by

    def enclosure(self) -> Enclosure:
        """Return it without who gave it; no end is infinite."""
        if self.lower is None or self.upper is None:
            raise BrokenInvariant("an end is infinite")
        return Enclosure(self.lower, self.upper)

    @property
    def width(self) -> Fraction | None:
        """upper - lower; 0 if certainly infinite, None if unbounded."""
        if self.lower is None:
            return Fraction(0)
        return None if self.upper is None else self.upper - self.lower

    def is_within(self, width: Fraction) -> bool:
        """Whether the interval is as narrow as wanted, or the number is surely infinite."""
        own = self.width
        return own is not None and own <= width

    def meet(self, other: Extended, of: str) -> Extended:
        """Return the common part of what two methods say of a number, `of`, or contradict them."""
        low = self.lower is not None and (other.lower is None or other.lower > self.lower)
        high = other.upper is not None and (self.upper is None or other.upper < self.upper)
        lower, least_by = (other if low else self).lower, (other if low else self).least_by
        upper, most_by = (other if high else self).upper, (other if high else self).most_by
        if upper is not None and (lower is None or lower > upper):
            at_least = "infinite" if lower is None else f"at least {float(lower)}"
            raise Contradiction(of, (least_by, at_least), (most_by, f"at most {float(upper)}"))
        return Extended(lower, upper, least_by, most_by)

    def greater(self, other: Extended) -> Extended:
        """Return what is known of the greater of two numbers; of equal ends the first is told."""
        low = self.lower is not None and (other.lower is None or other.lower > self.lower)
        high = self.upper is not None and (other.upper is None or other.upper > self.upper)
        low = low or (not self.least_by and other.lower == self.lower)
        high = high or (not self.most_by and other.upper == self.upper)
        least, most = (other if low else self), (other if high else self)
        return Extended(least.lower, most.upper, least.least_by, most.most_by)

    def __contains__(self, value: Fraction | int) -> bool:
        return (
            self.lower is not None
            and self.lower <= value
            and (self.upper is None or value <= self.upper)
        )

    def plus(self, other: Extended, times: int) -> Extended:
        """Return the sum with so many times another number."""
        if self.lower is None or other.lower is None:
            return INFINITE
        upper = None
        if self.upper is not None and other.upper is not None:
            upper = self.upper + times * other.upper
        return Extended(self.lower + times * other.lower, upper, *self.by)

    def __float__(self) -> float:
        """About its middle, or infinite: for people and plots, no bound."""
        if self.lower is None or self.upper is None:
            return inf
        return float(Enclosure(self.lower, self.upper))

    def __str__(self) -> str:
        return format(self, "")

    def __format__(self, spec: str) -> str:
        """Write it for people, with ".4f", ".4e" or ".4g" to so many places; see `Enclosure`."""
        if self.lower is None:
            return "∞"
        if self.upper is None:
            least = rounded_to(self.lower, spec, ROUND_FLOOR) if spec else self.ends()[0]
            return f"at least {least}"
        return format(Enclosure(self.lower, self.upper), spec)

    def ends(self) -> list[str]:
        """Return [lower, upper] as decimals rounded outward, or "inf"."""
        if self.lower is None:
            return ["inf", "inf"]
        if self.upper is None:
            return [rounded_down(self.lower, _PLACES), "inf"]
        return list(outward(Enclosure(self.lower, self.upper)))


GivenBy = tuple[str, str]  # the methods that gave the lower and the upper end of an enclosure
BY_ENCLOSURES = ("enclosures", "enclosures")
CLOSED_FORM, EXACTLY = "closed form", "exact comparison"
"""Words for methods that many use."""

INFINITE = Extended(None, None)


def matters(known: Sequence[Extended], greatest: Sequence[Extended]) -> bool:
    """Whether one direction may be the greater one somewhere."""
    for own, other in zip(known, greatest, strict=True):
        if own.upper is None or (other.lower is not None and own.upper > other.lower):
            return True
    return False


def greatest_of(directions: Iterable[Sequence[Extended]]) -> tuple[Extended, ...]:
    """Bound the greater of two costs, for every value asked."""
    return tuple(reduce(Extended.greater, two) for two in zip(*directions, strict=True))


def are_finite(known: Sequence[Extended]) -> bool:
    """Whether all widths are."""
    return all(each.width is not None for each in known)


def gain(before: Sequence[Extended], after: Sequence[Extended]) -> float:
    """By which part the interval that is narrowed most got narrower."""
    return max(
        1.0
        if old.width is None and new.width is not None
        else 0.0
        if old.width is None or new.width is None or not old.width
        else float(1 - new.width / old.width)
        for old, new in zip(before, after, strict=True)
    )
