"""δ over planes through a pair of real inputs, two numbers at a time: data, words and pictures.

What is drawn is δ at points of a grid, enclosed at each; between the points nothing is claimed. The
certified bound over all pairs stands in the answer (`questions.worst_pair` computes the points).

Maps of δ over planes, drawn as SVG: the darker, the larger (`charts`, `profiles.planes`).

A cell has the colour of what is enclosed at one drawn point, and shows no more than that. All
planes have one scale of colours; beneath each stands what is fixed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record
from dipapprox.privacy.charts import (
    LOGARITHMIC_BELOW,
    WIDTH,
    Chart,
    Scale,
    linear,
    mark,
    rectangle,
    ticks,
    words,
)

Place = tuple[Fraction, Fraction]  # A point of a plane: its values along both sides
_FEWEST_OF_A_LINE = 3


class Plane(Record):
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


class Planes(Record, Chart):
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

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what the pictures are about, what is proved and what is drawn."""
        proved = (f"proved: {self.proved}",) if self.proved else ()
        drawn = (
            "drawn: δ enclosed at points of a grid, nothing claimed between",
            "blank: not adjacent, or not known",
        )
        return (*self.about, f"{self.pair_name}: {self.pair}", *proved, *drawn)

    def drawn(self) -> tuple[float, Iterator[str]]:
        rows = ceil(len(self.planes) / _IN_A_ROW)
        return _TOP + rows * (_ABOVE + _SIDE + _BELOW), self._parts()

    def _parts(self) -> Iterator[str]:
        colours = colours_of(self.planes)
        yield mark(9, 13, "mark", 4)
        yield words(20, 17, self.pair_name)
        if any(set(each.peaks()) - {each.pair} for each in self.planes):
            yield mark(9, 31, "tie", 2.5)
            yield words(20, 35, LARGEST_DRAWN)
        yield words(4, 59, f"δ of a pair{', log.' if colours.logarithmic else ''}")
        start = WIDTH - 40 - _SCALE
        for k in range(_LEVELS + 1):
            size = _SCALE / (_LEVELS + 1)
            yield _cells(k, [(start + k * size, 49, size, 12)])
        place = colours.scale(start, start + _SCALE)
        for value, name in colours.named():
            yield words(place(value), 76, name, "middle", "note")
        for number, each in enumerate(self.planes):
            row, column = divmod(number, _IN_A_ROW)
            x = column * WIDTH / _IN_A_ROW
            yield from _plane(each, colours, x, _TOP + row * (_ABOVE + _SIDE + _BELOW))


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


LARGEST_DRAWN = "the largest drawn, as far as told apart"  # what the small dots are
SHOWN_DECADES = 4  # the most that a logarithmic scale of colours tells apart
_TOP = 84  # above the planes: what dots and colours stand for
_SIDE = 146
_LEFT, _ABOVE, _BELOW = 42, 26, 82
"""Around the axes of a plane."""
_IN_A_ROW = 2
_LINE = 30  # characters of what stands beneath a plane
_TICKS = 3  # about so many on a side
_SCALE = 240  # the length of the scale of colours
_LEVELS = 20
_FAINTEST = 0.06


class Colours(Record):
    logarithmic: bool  # whether they stand for powers of ten
    first: float  # the number of the faintest colour; smaller ones have it, too
    last: float

    def scale(self, start: float, end: float) -> Scale:
        if not self.logarithmic:
            return linear(self.first, self.last, start, end)
        scale = linear(log10(self.first), log10(self.last), start, end)
        return lambda value: scale(log10(max(value, self.first)))

    def named(self) -> list[tuple[float, str]]:
        """Return the numbers that are written beside it, the largest among them."""
        last = (self.last, written(self.last))
        if not self.logarithmic:
            inner = (value for value in ticks(0.0, self.last) if value < 0.88 * self.last)
            return [*((value, written(value)) for value in inner), last]
        powers = range(ceil(log10(self.first)), floor(log10(self.last)) + 1)
        inner = (10.0**k for k in powers if self.first * 2 < 10.0**k < self.last / 2)
        first = (self.first, f"≤ {written(self.first)}")
        return [first, *((value, written(value)) for value in inner), last]


def colours_of(planes: Sequence[Plane]) -> Colours:
    """Choose colours: by powers of ten where all of δ is small."""
    drawn = [float(delta.upper) for each in planes for _, delta in each.known()]
    largest = max(drawn, default=0.0)
    if not 0 < largest < LOGARITHMIC_BELOW:
        return Colours(False, 0.0, largest or 1.0)
    least = min(value for value in drawn if value > 0)
    return Colours(True, max(min(least, largest / 10), largest / 10**SHOWN_DECADES), largest)


def _plane(each: Plane, colours: Colours, x: float, y: float) -> Iterator[str]:
    left, top = x + _LEFT, y + _ABOVE
    right, bottom = left + _SIDE, top + _SIDE
    across = linear(float(each.columns[0]), float(each.columns[-1]), left, right)
    up = linear(float(each.rows[0]), float(each.rows[-1]), bottom, top)
    yield rectangle(left, top, _SIDE, _SIDE, "blank")
    yield from _coloured(each, across, up, colours.scale(0, _LEVELS))
    yield f'<path class="axis" d="M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z"/>'
    for value in ticks(float(each.columns[0]), float(each.columns[-1]), _TICKS):
        yield words(across(value), bottom + 14, f"{value:g}", "middle", "note")
    for value in ticks(float(each.rows[0]), float(each.rows[-1]), _TICKS):
        yield words(left - 5, up(value) + 4, f"{value:g}", "end", "note")
    yield words(x + 4, top - 9, _cut(f"↑ {each.up}"), kind="note")
    beneath = [_cut(f"→ {each.across}"), *textwrap.wrap(f"({each.fixed})", _LINE)]
    for k, line in enumerate(beneath):
        yield words(x + 18, bottom + 31 + 14 * k, line, kind="note")
    for place in each.peaks():
        yield mark(across(float(place[0])), up(float(place[1])), "tie", 2)
    yield mark(across(float(each.pair[0])), up(float(each.pair[1])), "mark", 3.5)


def _coloured(each: Plane, across: Scale, up: Scale, level: Scale) -> Iterator[str]:
    """Draw the cells, those of a colour together: around each point, inside the sides."""
    xs, ys = ([*map(float, _edges(values))] for values in (each.columns, each.rows))
    found: dict[int, list[tuple[float, float, float, float]]] = {}
    for (start, end), column in zip(pairwise(xs), each.deltas, strict=True):
        for (low, high), delta in zip(pairwise(ys), column, strict=True):
            if delta is not None:
                x, y = across(start), up(high)
                box = (x, y, across(end) - x, up(low) - y)
                found.setdefault(round(level(float(delta.upper))), []).append(box)
    for k in sorted(found):
        yield _cells(k, found[k])


def _cut(name: str) -> str:
    return name if len(name) <= _LINE else f"{name[: _LINE - 1]}…"


def _edges(values: Sequence[Fraction]) -> list[Fraction]:
    """Return where the cells around ascending values meet: none goes beyond the first or last."""
    return [values[0], *((a + b) / 2 for a, b in pairwise(values)), values[-1]]


def _cells(level: int, boxes: Sequence[tuple[float, float, float, float]]) -> str:
    opacity = _FAINTEST + (1 - _FAINTEST) * level / _LEVELS
    path = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}z" for x, y, w, h in boxes)
    return f'<path class="cell" opacity="{opacity:.2f}" d="{path}"/>'
