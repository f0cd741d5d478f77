"""Random variables that are samples or sums of earlier ones, bounded and compared: to integrate.

`sum_event` makes them of an event; plans add sums up in the order that is said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family, law_order
from dipapprox.numerics.elimination.order_event import Edge


@dataclass(frozen=True, slots=True)
class Element:
    """A random variable between two constants (None: none), and what it is compared with.

    Attributes:
        source: Its law, or the elements whose sum it is.
        lower: Least value.
        upper: Greatest value.
        below: Elements that are at most it, in no other comparison.
        above: Elements that are at least it, likewise.
        bands: (element, offset) for elements between it and it + offset, likewise.
    """

    source: Distribution | tuple[int, ...]
    lower: Fraction | None
    upper: Fraction | None
    below: tuple[int, ...]
    above: tuple[int, ...]
    bands: tuple[tuple[int, Fraction], ...] = ()

    @property
    def law(self) -> Distribution | None:
        """The law of a sample that is bounded and compared nowhere."""
        if self.below or self.above or self.bands or not (self.lower is self.upper is None):
            return None
        return self.source if isinstance(self.source, Distribution) else None


@dataclass(frozen=True, slots=True)
class SumEvent:
    """Elements within their bounds and comparisons, and an order of some of them.

    Attributes:
        elements: All independent but for sums; each after those that it is made of.
        roots: Elements that are part of no other.
        edges: (i, j): root i < root j.
        errors: The probability differs from the event's by less than errors * 2**-digits.
        digits: How exact deviations are.
    """

    elements: tuple[Element, ...]
    roots: tuple[int, ...]
    edges: frozenset[Edge]
    errors: int
    digits: int

    @property
    def error(self) -> Fraction:
        """A bound on what other deviations change."""
        return Fraction(self.errors, 2**self.digits)

    def order_of(self, parts: Sequence[int]) -> list[int]:
        """Return the parts of a sum in the order in which they are added up."""
        return sorted(parts, key=lambda part: (_ease(self.elements[part]), part))

    def partial_sums(self) -> list[tuple[Distribution, ...]]:
        """The laws of the samples in each sum on the way to each sum, sorted.

        Every one of them is a function on the grid: what it has beyond is lost.
        """
        laws: list[tuple[Distribution, ...]] = []
        found: list[tuple[Distribution, ...]] = []
        for element in self.elements:
            if isinstance(element.source, Distribution):
                laws.append((element.source,))
                continue
            reached: tuple[Distribution, ...] = ()
            for part in self.order_of(element.source):
                reached = tuple(sorted((*reached, *laws[part]), key=law_order))
                if part != self.order_of(element.source)[0]:
                    found.append(reached)
            laws.append(reached)
        return found


def _ease(element: Element) -> int:
    """What is smooth and known everywhere comes last."""
    if element.law is None:
        return 0
    return 2 if element.law.family is Family.GAUSSIAN else 1
