"""Sets of numbers that a real output may be in, as text and as plain data.

y >= 0.3                       {"in": [["3/10", null]]}
-1 <= y <= 1 or y >= 7/3       {"in": [["-1", "1"], ["7/3", null]]}
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.digits import decimal_text, exact_text
from dipapprox.events.intervals import Interval, mapped

_SHORT = 8
"""Fractions with more digits are shown to people as decimals, where these are exact."""


@dataclass(frozen=True, slots=True)
class NumberSet:
    """A union of disjoint intervals, from left to right; None stands for an infinite end.

    Attributes:
        intervals: The intervals.
        about: What else there is to say, as "of a ratio above e^ε_prv"; "": nothing.
    """

    intervals: tuple[Interval, ...]
    about: str = ""

    def fields(self) -> dict[str, object]:
        """Return it as plain data, with exact ends."""
        ends = [
            [None if end is None else exact_text(end) for end in interval]
            for interval in self.intervals
        ]
        return {"in": ends, **({"about": self.about} if self.about else {})}

    def text(self, name: str) -> str:
        """Say for people that a number is in it."""
        if self.about:
            return f"{name} {self.about}"
        return " or ".join(_text(name, interval) for interval in self.intervals) or f"no {name}"

    def mapped(self, factor: Fraction, shift: Fraction) -> NumberSet:
        """Return the set of factor * x + shift, factor != 0."""
        moved = [mapped(interval, factor, shift) for interval in self.intervals]
        return NumberSet(tuple(moved if factor > 0 else moved[::-1]), self.about)


ANY_NUMBER = NumberSet(((None, None),))


def _text(name: str, interval: Interval) -> str:
    low, high = interval
    if low is None:
        return f"any {name}" if high is None else f"{name} <= {_number(high)}"
    if high is None:
        return f"{name} >= {_number(low)}"
    return f"{_number(low)} <= {name} <= {_number(high)}"


def _number(end: Fraction) -> str:
    exact = exact_text(end)
    return exact if len(exact) <= _SHORT else decimal_text(end)
