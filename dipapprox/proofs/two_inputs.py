"""Two adjacent inputs between which outputs lose, and how better ones are climbed to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Value
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
    """

    part: int
    output: tuple[Value, ...]
    loss: Fraction | None
    shown: Shown = ()
    costs: tuple[PointCost | None, ...] = ()


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


def moved_pairs(
    first: Point,
    second: Point,
    radius: Fraction,
    integers: bool,
    has: Callable[[int, Fraction], bool],
) -> Iterator[tuple[Point, Point]]:
    """Yield pairs of which one input is moved: of both points, or of one.

    Args:
        first, second: The points.
        radius: The largest change of an input.
        integers: Whether inputs are integers.
        has: Whether the input of a number may have a value.
    """

    def moved(point: Point, place: int, move: Fraction) -> Point | None:
        value = point[place] + move
        return (*point[:place], value, *point[place + 1 :]) if has(place, value) else None

    for step in STEPS[: 1 if integers else None]:
        for place in range(len(first)):
            for move in (step * radius, -step * radius):
                one, other = moved(first, place, move), moved(second, place, move)
                if one is not None and other is not None:
                    yield one, other
                if other is not None:
                    yield first, other
                if one is not None:
                    yield one, second


def most_lost(places: Sequence[TwoInputs]) -> TwoInputs | None:
    """Return the inputs between which most is lost; None if there are none."""
    return max(places, key=lambda each: each.dearness, default=None)
