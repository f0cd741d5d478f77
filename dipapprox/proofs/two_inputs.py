"""Two adjacent inputs between which outputs lose, and how better ones are climbed to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Adjacency, Value
from dipapprox.proofs.changes import allows
from dipapprox.proofs.point_costs import Point, PointCost, Shown
from dipapprox.proofs.rays import dearness, total_loss


@dataclass(frozen=True, slots=True)
class LostOutput:
    """What an output of a part loses between two inputs.

    Attributes:
        part: The number of the part.
        output: The values of its cells.
        loss: In multiples of eps; None for ∞.
        shown: What its real outputs are close to.
        costs: As eps grows: of all states of the output at the second input; None where one is
            impossible.
        place: As eps grows: the number of the output among those of its part.
    """

    part: int
    output: tuple[Value, ...]
    loss: Fraction | None
    shown: Shown = ()
    costs: tuple[PointCost | None, ...] = ()
    place: int = 0


@dataclass(frozen=True, slots=True)
class TwoInputs:
    """Two adjacent inputs, and what the outputs of some parts lose between them.

    Attributes:
        first, second: The inputs; the outputs are likelier at the first.
        losses: Of the parts; a single one if it is ∞.
        eps: Where; 0 as it vanishes, None as it grows.
    """

    first: Point
    second: Point
    losses: tuple[LostOutput, ...]
    eps: Fraction | None = None

    @property
    def loss(self) -> Fraction | None:
        """What is lost in multiples of eps; None for ∞."""
        return total_loss(each.loss for each in self.losses)

    @property
    def is_impossible(self) -> bool:
        """Whether no state of the output has a positive probability at the second input."""
        each = [cost for loss in self.losses for cost in loss.costs]
        return self.eps is None and all(cost is None for cost in each)

    @property
    def dearness(self) -> tuple[bool, Fraction]:
        """Greater where more is lost."""
        return dearness(self.loss)


Place = TypeVar("Place")


def climbed(
    place: Place, near: Callable[[Place], Iterable[Place]], height: Callable[[Place], Any]
) -> Place:
    """Return a place, above a given one, that nothing near it is above."""
    known: Place | None = None
    while known is not place:
        known, reached = place, height(place)
        place = next((each for each in near(place) if height(each) > reached), place)
    return place


STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4))
"""By which inputs are moved, in multiples of the largest change; only the first for integers."""


@dataclass(frozen=True, slots=True)
class RealInputs:
    """All inputs that there are, and which of them are adjacent.

    Attributes:
        adjacency: Of the program.
        bounds: By input the least and the greatest value; None for no bounds.
        radius: The largest change of an input.
        integers: Whether they are integers.
    """

    adjacency: Adjacency
    bounds: tuple[tuple[Fraction, Fraction] | None, ...]
    radius: Fraction
    integers: bool

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """By which they are moved, in multiples of the radius."""
        return STEPS[: 1 if self.integers else None]

    def has(self, place: int, value: Fraction) -> bool:
        """Whether an input may have a value."""
        bounds = self.bounds[place]
        return bounds is None or bounds[0] <= value <= bounds[1]

    def allows(self, first: Point, second: Point) -> bool:
        """Whether two points are different, and adjacent."""
        change = [b - a for a, b in zip(first, second, strict=True)]
        return any(change) and allows(self.adjacency, change)

    def near(self, first: Point, second: Point) -> Iterator[tuple[Point, Point]]:
        """Yield adjacent pairs of which one input is moved: of both points, or of one."""

        def moved(point: Point, place: int, move: Fraction) -> Point | None:
            value = point[place] + move
            kept = self.has(place, value)
            return (*point[:place], value, *point[place + 1 :]) if kept else None

        for step in self.steps:
            for place in range(len(first)):
                for move in (step * self.radius, -step * self.radius):
                    one, other = moved(first, place, move), moved(second, place, move)
                    for a, b in ((one, other), (first, other), (one, second)):
                        if a is not None and b is not None and self.allows(a, b):
                            yield a, b


def most_lost(places: Sequence[TwoInputs]) -> TwoInputs | None:
    """Return the inputs between which most is lost; None if there are none."""
    return max(places, key=lambda each: each.dearness, default=None)
