"""δ over planes through a pair of real inputs, two numbers at a time: data, words and pictures.

What is drawn is δ at points of a grid, enclosed at each; between the points nothing is claimed. The
certified bound over all pairs stands in the answer (`around_pair` computes the points).
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass

Place = tuple[Fraction, Fraction]  # A point of a plane: its values along both sides
_FEWEST_OF_A_LINE = 3


@dataclass(frozen=True, slots=True)
class Plane:
    """δ where two numbers of a pair of inputs move."""

    across: str  # the first number, for people: "q[1] of the input"
    up: str
    fixed: str  # what holds of the others
    columns: tuple[Fraction, ...]  # values of the first, ascending; that of the pair is among them
    rows: tuple[Fraction, ...]
    pair: Place
    # [column][row]; None where the inputs are not adjacent, or δ is not known.
    deltas: tuple[tuple[Enclosure | None, ...], ...]

    def known(self) -> list[tuple[Place, Enclosure]]:
        return [
            ((x, y), delta)
            for x, column in zip(self.columns, self.deltas, strict=True)
            for y, delta in zip(self.rows, column, strict=True)
            if delta is not None
        ]

    def peaks(self) -> list[Place]:
        """Return the drawn points where δ may be the largest: enclosures that overlap the highest.

        Where that may be 0 there are none.
        """
        known = self.known()
        highest = max((delta.lower for _, delta in known), default=Fraction(0))
        return [place for place, delta in known if delta.upper >= highest > 0]

    def text(self) -> str:
        """Say in words where δ is largest in the plane, as far as drawn points tell."""
        sides = f"{self.across} in {_ends(self.columns)}, {self.up} in {_ends(self.rows)}"
        known, peaks = self.known(), self.peaks()
        if not peaks:
            return f"{sides} ({self.fixed}): no drawn δ is told apart from 0"
        first = self.pair if self.pair in peaks else peaks[0]
        largest = max(delta.upper for _, delta in known)
        found = f"largest of {len(known)} drawn δ {written(float(largest))} at {_place(first)}"
        if self.pair not in peaks:
            found += f", not at the pair {_place(self.pair)}"
        if len(peaks) == len(known) > 1:
            found += ", not told apart from it at all others"
        elif len(peaks) > 1:
            found += f", not told apart from it at {len(peaks) - 1} others"
            line = _line(peaks)
            found += (
                f", all on the line from {_place(line[0])} to {_place(line[1])}" if line else ""
            )
        return f"{sides} ({self.fixed}): {found}"


@dataclass(frozen=True, slots=True)
class Planes:
    """Planes through one pair."""

    title: str
    about: tuple[str, ...]
    pair_name: str  # "worst pair", or what it is else
    pair: str
    proved: str  # what is certain of all pairs; "" for nothing
    planes: tuple[Plane, ...]
    left_out: str  # why there are no more; "" if there are all

    def lines(self) -> tuple[str, ...]:
        more = (f"  not drawn: {self.left_out}",) if self.left_out else ()
        planes = (f"  {each.text()}" for each in self.planes)
        return (f"{self.pair_name}: {self.pair}", *planes, *more)

    def notes(self) -> tuple[str, ...]:
        """Say what the pictures are about, what is proved and what is drawn."""
        proved = (f"proved: {self.proved}",) if self.proved else ()
        drawn = (
            "drawn: δ enclosed at points of a grid, nothing claimed between",
            "blank: not adjacent, or not known",
        )
        return (*self.about, f"{self.pair_name}: {self.pair}", *proved, *drawn)


def written(value: float) -> str:
    """Write a number as people do: 0.25, 1e-6."""
    if value == 0 or value >= 0.001:
        return f"{value:.3g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(exponent)}"


def short_number(value: Fraction) -> str:
    """Write a number to drawing accuracy."""
    return f"{float(value):.6g}"


def _place(place: Place) -> str:
    return f"({short_number(place[0])}, {short_number(place[1])})"


def _ends(values: tuple[Fraction, ...]) -> str:
    return f"[{short_number(values[0])}, {short_number(values[-1])}]"


def _line(places: list[Place]) -> tuple[Place, Place] | None:
    """Return the ends of the line on which points lie; None if there are few, or none has all."""
    first, last = min(places), max(places)
    across, up = last[0] - first[0], last[1] - first[1]
    straight = all(across * (y - first[1]) == up * (x - first[0]) for x, y in places)
    return (first, last) if straight and len(places) >= _FEWEST_OF_A_LINE else None
