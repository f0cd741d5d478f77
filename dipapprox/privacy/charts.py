"""Answers as pictures that need no other package: bars and curves, drawn as SVG.

answer.charts()  →  Bars | Curve | `profiles.planes.Planes`  →  SVG text (`svg`), for a page, a file

What is drawn is rounded to the picture's accuracy; the certified numbers stand in the answer.
Names stand above the axes, never over the data. Colours are those of Okabe and Ito, told apart with
every kind of colour vision. They follow the reader's light or dark setting, and so does the paper
behind a picture that stands alone: it can be read on any page.
"""

from __future__ import annotations

import html as markup
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import TypeAlias

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.data_classes import Record
from dipapprox.errors import UserError, shorten

Scale: TypeAlias = Callable[[float], float]
"""From a value to a place in the picture."""

Points: TypeAlias = tuple[tuple[Fraction, Enclosure], ...]
"""Places, ascending, with bounds of a number there."""

LOGARITHMIC_BELOW = Fraction(1, 100)  # δs that are all below this stand on a logarithmic axis

STYLE = (
    "svg.chart{--ink:#1b1b1b;--faint:#8883;--first:#0072B2;--second:#E69F00;--mark:#D55E00;"
    "--third:#009E73;--fourth:#CC79A7;--under:#fff}"
    "@media(prefers-color-scheme:dark){svg.chart{--ink:#e8e8e8;--first:#56B4E9;--under:#16181a}}"
    "@media print{svg.chart{--ink:#000;--first:#0072B2;--under:#fff}}"
    "svg.chart text{fill:var(--ink);font:13px system-ui,sans-serif}"
    "svg.chart text.note{font-size:11.5px}svg.chart .paper{fill:var(--under)}"
    "svg.chart .axis{stroke:var(--ink);fill:none}svg.chart .grid{stroke:var(--faint)}"
    "svg.chart .bar0,svg.chart .cell{fill:var(--first)}svg.chart .bar1{fill:var(--second)}"
    "svg.chart .open{opacity:.35}"
    "svg.chart .of0{fill:var(--first);stroke:var(--first)}"
    "svg.chart .of1{fill:var(--second);stroke:var(--second)}"
    "svg.chart .of2{fill:var(--third);stroke:var(--third)}"
    "svg.chart .of3{fill:var(--fourth);stroke:var(--fourth)}svg.chart .dashed{stroke-dasharray:5 3}"
    "svg.chart .band{opacity:.35;stroke:none}svg.chart .line{stroke-width:1.5;fill:none}"
    "svg.chart .mark{fill:var(--mark)}svg.chart .tie{fill:var(--second)}"
    "svg.chart .blank{fill:none}"
)
"""How charts look, as a style sheet: once in a page, or in every file."""

WIDTH = 420  # of all pictures: on a telephone their texts are still 10 pixels high

_LEFT, _RIGHT, _BOTTOM = 64, 16, 44
"""Of a curve, around the axes."""
_HEIGHT = 220  # of its axes
_BAR = 14
_MOST_GROUPS = 12
_LABEL = 56  # characters of a line; of a label that is longer the whole is its title
_NOTE = 64  # characters of a line of small print
_NUMBER = 150  # what the number at the end of a bar takes
_DECADES = 12  # the most a logarithmic axis shows
_NARROW = 10_000  # an enclosure so many times narrower than its number is written as one number
_STYLES = 4  # colours of lines; those after them are dashed
_STEPS = 4
_MOST_POINTS = 60  # of a curve that is also drawn between its points


class Chart(ABC):
    __slots__ = ()

    @property
    @abstractmethod
    def title(self) -> str:
        """What it shows."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What it is about, what is fixed and what is proved: lines beneath the title."""
        return ()

    @abstractmethod
    def drawn(self) -> tuple[float, Iterator[str]]:
        """Return the height of what is beneath the title, and its elements; `WIDTH` wide."""


class Bars(Record, Chart):
    title: str
    series: tuple[str, ...]  # what the bars of a group stand for
    # Their labels, each with one probability for every series.
    groups: tuple[tuple[str, tuple[Enclosure, ...]], ...]
    notes: tuple[str, ...] = ()

    def drawn(self) -> tuple[float, Iterator[str]]:
        shown = self.groups[:_MOST_GROUPS]
        more = len(self.groups) - len(shown)
        size = 24 + len(self.series) * (_BAR + 2)
        first = 20.0 * len(self.series)
        largest = (
            max((float(each.upper) for _, group in shown for each in group), default=0.0) or 1.0
        )

        def drawn() -> Iterator[str]:
            for k, name in enumerate(self.series):
                yield rectangle(4, 4 + 20 * k, 12, 12, f"bar{k % 2}")
                yield words(22, 15 + 20 * k, name)
            for place, (label, group) in enumerate(shown):
                y = first + 14 + place * size
                yield words(4, y, label)
                for k, each in enumerate(group):
                    # What is certain is solid, what is possible is pale.
                    at = y + 4 + k * (_BAR + 2)
                    ends = (each.lower, each.upper)
                    low, high = ((WIDTH - _NUMBER) * float(end) / largest for end in ends)
                    yield rectangle(4, at, low, _BAR, f"bar{k % 2}")
                    yield rectangle(4 + low, at, high - low, _BAR, f"bar{k % 2} open")
                    yield words(8 + high, at + 12, _number(each))
            if more:
                yield words(4, first + 14 + len(shown) * size, f"… {more} more")

        return first + size * len(shown) + (24 if more else 8), drawn()


class Curve(Record, Chart):
    """A number that is enclosed along another, or several."""

    title: str
    across: str
    up: str
    # Names, "" for one alone, and points: what is between does not matter at their accuracy.
    lines: tuple[tuple[str, Points], ...]
    mark: tuple[Fraction, Fraction, str] | None = None  # a claimed point and its name, or None
    notes: tuple[str, ...] = ()
    of_delta: bool = False  # whether it is a δ, which may stand on a logarithmic axis

    @property
    def logarithmic(self) -> bool:
        claimed = () if self.mark is None else (self.mark[1],)
        drawn = [y.upper for _, points in self.lines for _, y in points]
        return self.of_delta and needs_powers(drawn, claimed)

    def drawn(self) -> tuple[float, Iterator[str]]:
        lines = [
            (name, [(float(x), float(y.lower), float(y.upper)) for x, y in points])
            for name, points in self.lines
        ]
        claim = self.mark
        marked = [] if claim is None else [(float(claim[0]), float(claim[1]))]
        named = [name for name, _ in lines] if len(lines) > 1 else []
        points = [point for _, line in lines for point in line]
        largest = max([high for _, _, high in points] + [y for _, y in marked]) or 1.0
        xs = [x for x, _, _ in points] + [x for x, _ in marked]
        right = max(xs) if max(xs) > min(xs) else min(xs) + 1
        across = linear(min(xs), right, _LEFT, WIDTH - _RIGHT)
        top = 24.0 + 20 * (len(named) + len(marked))
        bottom = top + _HEIGHT
        if self.logarithmic:
            positive = [low for _, low, _ in points if low > 0] + [y for _, y in marked if y > 0]
            up, ups = decades(min(positive, default=largest), largest, bottom, top, _DECADES)
        else:
            up = linear(0.0, largest * 1.08, bottom, top)
            ups = [(up(value), f"{value:g}") for value in ticks(0.0, largest * 1.08)]

        def drawn() -> Iterator[str]:
            for k, name in enumerate(named):
                yield rectangle(_LEFT, 8 + 20 * k, 12, 12, f"of{k % _STYLES}")
                yield words(_LEFT + 16, 17 + 20 * k, name)
            if claim is not None:
                down = 20 * len(named)
                yield from (
                    mark(_LEFT + 5, 13 + down, "mark"),
                    words(_LEFT + 16, 17 + down, claim[2]),
                )
            for y, name in ups:
                yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>'
                yield words(_LEFT - 6, y + 4, name, "end")
            for value in ticks(min(xs), right):
                x = across(value)
                yield f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
                yield words(x, bottom + 16, f"{value:g}", "middle")
            for k, (_, line) in enumerate(lines):
                upper = [f"{across(x):.1f} {up(high):.1f}" for x, _, high in line]
                lower = [f"{across(x):.1f} {up(low):.1f}" for x, low, _ in reversed(line)]
                style = f"of{k % _STYLES}{' dashed' if k % (2 * _STYLES) >= _STYLES else ''}"
                yield f'<path class="{style} band" d="M{"L".join(upper + lower)}Z"/>'
                yield f'<path class="{style} line" d="M{"L".join(upper)}"/>'
            yield f'<path class="axis" d="M{_LEFT} {top:.1f}V{bottom:.1f}H{WIDTH - _RIGHT}"/>'
            yield words(_LEFT - 6, top - 8, f"{self.up}{', logarithmic' * self.logarithmic}")
            yield words((_LEFT + WIDTH - _RIGHT) / 2, bottom + 36, self.across, "middle")
            yield from (mark(across(x), up(y), "mark") for x, y in marked)

        return bottom + _BOTTOM, drawn()


def needs_powers(drawn: Sequence[Fraction | float], claimed: Sequence[Fraction] = ()) -> bool:
    """Whether δs are told apart by powers of ten: from 0 on too many would lie on the axis.

    Args:
        drawn: So it is if all are small, or a fifth of those above 0 less than a hundredth of the
            largest.
        claimed: One that is small is enough.
    """
    positive = [each for each in drawn if each > 0]
    if not positive:
        return False
    largest = max(positive)
    flat = sum(100 * each < largest for each in positive)
    small = [largest, *(each for each in claimed if each > 0)]
    return min(small) < LOGARITHMIC_BELOW or 5 * flat >= len(positive)


def file_to_write(given: object, suffix: str) -> Path:
    """Return the path of a file; a `UserError` if it is none, or its name does not end so."""
    if not isinstance(given, str | Path):
        raise UserError(f"a file is a path or its text, got {shorten(repr(given))}")
    path = Path(given)
    if path.suffix.lower() != suffix:
        raise UserError(f"cannot write '{path.name}'", f"the name must end in {suffix}")
    return path


class Picture(Record):
    """A chart that notebooks show and that can be saved."""

    chart: Chart

    def svg(self) -> str:
        """Return it as the text of an SVG file, on paper of its own."""
        return svg(self.chart, STYLE)

    def save(self, path: str | Path) -> None:
        """Write it to an SVG file.

        Raises:
            UserError: If the name does not end in .svg, or the file cannot be written.
        """
        path = file_to_write(path, ".svg")
        try:
            path.write_text(self.svg() + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write '{path}': {error.strerror}") from None

    def _repr_svg_(self) -> str:
        return self.svg()


def between(
    budgets: Sequence[Fraction], at: Callable[[Fraction], Enclosure]
) -> tuple[tuple[str, Points], ...]:
    """Evaluate bounds at points, and between them if these are few: the one line of a curve."""
    places = list(budgets)
    if len(places) <= _MOST_POINTS:
        places = [
            a + (b - a) * step / _STEPS for a, b in pairwise(budgets) for step in range(_STEPS)
        ]
        places.append(budgets[-1])
    return (("", tuple((place, at(place)) for place in places)),)


def svg(chart: Chart, style: str = "") -> str:
    """Draw a chart.

    Args:
        style: A style sheet to put into it, for a file of its own; that has title, small print and
            paper, too. Without it they are the page's (`figure`).
    """
    height, parts = chart.drawn()
    drawn = "".join(parts)
    if style:
        top, written = _heading(chart)
        height += top
        paper = rectangle(0, 0, WIDTH, height, "paper")
        drawn = (
            f'<style>{style}</style>{paper}{written}<g transform="translate(0 {top})">{drawn}</g>'
        )
    title = markup.escape(chart.title)
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'role="img" aria-label="{title}"><title>{title}</title>{drawn}</svg>'
    )


def figure(chart: Chart) -> str:
    """Draw a chart for a page that has `STYLE`: title and small print are text of the page."""
    below = "".join(f"<br><small>{markup.escape(each)}</small>" for each in chart.notes)
    caption = f"<figcaption>{markup.escape(chart.title)}{below}</figcaption>"
    return f"<figure>{caption}{svg(chart)}</figure>"


def _heading(chart: Chart) -> tuple[float, str]:
    """Write a title and small print beneath it; return also how high they are."""
    lines = textwrap.wrap(chart.title, _LABEL)
    small = [part for note in chart.notes for part in textwrap.wrap(note, _NOTE)]
    below = 17.0 * len(lines) + 3
    written = [words(4, 18 + 17 * k, line) for k, line in enumerate(lines)]
    written += [words(4, below + 13 + 15 * k, line, kind="note") for k, line in enumerate(small)]
    return below + 15 * len(small) + 8, "".join(written)


def ticks(low: float, high: float, few: int = 5) -> list[float]:
    """Return round numbers from `low` to `high`: about `few` to twice as many if they differ."""
    size = (high - low) / few
    if size <= 0:
        return [low]
    unit = 10.0 ** floor(log10(size))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 1.25 >= size)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Return the scale that takes `low` to `start` and `high` to `end`."""
    return lambda value: start + (value - low) * (end - start) / (high - low)


def decades(
    least: float, most: float, start: float, end: float, limit: int
) -> tuple[Scale, list[tuple[float, str]]]:
    """Return a logarithmic scale over whole powers of ten, and its ticks.

    Args:
        least: The smallest number that must be told apart, > 0.
        start: Where the scale begins; numbers below it stand there.
        limit: The most powers of ten: beyond them small numbers are not told apart.
    """
    last = ceil(log10(most))
    first = min(max(floor(log10(least)), last - limit), last - 1)
    scale = linear(first, last, start, end)
    step = max(1, (last - first) // 6)
    named = [(scale(k), "1" if k == 0 else f"1e{k}") for k in range(first, last + 1, step)]
    return lambda value: scale(max(log10(value), first) if value > 0 else first), named


def _number(each: Enclosure) -> str:
    lower, upper = short(each, 6)
    if lower == upper:
        return lower
    narrow = each.width * _NARROW <= each.upper
    return f"≈ {lower}" if narrow else f"[{lower}, {upper}]"


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}"/>'
    )


def mark(x: float, y: float, kind: str, radius: float = 4.5) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def words(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    """Write a line; of one that is too long the whole is its title."""
    most = _NOTE if kind == "note" else _LABEL
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    whole = "" if cut == text else f"<title>{markup.escape(text)}</title>"
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{placed}{named}>{markup.escape(cut)}{whole}</text>'
