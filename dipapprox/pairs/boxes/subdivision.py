"""How a search subdivided all pairs: what a certificate records of it.

Sets of pairs have numbers, in the order in which they came up. A set that became others has a step;
one that was left out, as its upper bound says enough, or that is a single pair, has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.pairs.boxes.polygons import Direction


@dataclass(frozen=True, slots=True)
class CutAt:
    """A set was cut where real input `axis` has the value `place` in u (side 0), or u' (side 1)."""

    axis: int
    side: int
    place: Fraction
    parts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class FacesFor:
    """A set became products of edges and corners: δ never falls along `directions`, by input."""

    directions: tuple[tuple[Direction, ...], ...]
    parts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Subdivision:
    """Steps by their places, and for each root that of its step; None: it needs none."""

    roots: tuple[int | None, ...]
    steps: tuple[CutAt | FacesFor, ...]


class Trace:
    """What became of sets, while a search goes on."""

    def __init__(self) -> None:
        self._steps: dict[int, CutAt | FacesFor] = {}
        self._same: dict[int, int] = {}
        self._roots: list[int] = []

    def root(self, number: int) -> None:
        """Note a set that the search began with."""
        self._roots.append(number)

    def step(self, number: int, step: CutAt | FacesFor) -> None:
        """Note what a set became; `step.parts` are numbers of sets."""
        self._steps[number] = step

    def same(self, number: int, other: int) -> None:
        """Note that a set came up again."""
        self._same[number] = other

    def subdivision(self) -> Subdivision:
        """Return the steps of all sets, those of parts behind those of wholes."""
        places: dict[int, int] = {}
        found: list[CutAt | FacesFor] = []
        waiting = [self._last(number) for number in self._roots]
        for number in waiting:  # which grows
            step = self._steps.get(number)
            if step is not None:
                places[number] = len(found)
                found.append(step)
                waiting += [self._last(part) for part in step.parts if part is not None]

        def placed(numbers: Sequence[int | None]) -> tuple[int | None, ...]:
            return tuple(
                None if number is None else places.get(self._last(number)) for number in numbers
            )

        steps: list[CutAt | FacesFor] = []
        for step in found:
            match step:
                case CutAt(axis, side, place, parts):
                    steps.append(CutAt(axis, side, place, placed(parts)))
                case FacesFor(directions, parts):
                    steps.append(FacesFor(directions, placed(parts)))
        return Subdivision(placed(self._roots), tuple(steps))

    def _last(self, number: int) -> int:
        while number in self._same:
            number = self._same[number]
        return number
