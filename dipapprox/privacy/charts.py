"""Answers as pictures that need no other package: bars and curves, drawn as SVG.

answer.charts()  →  Bars | Curve  →  SVG text (`svg`), for a page or a file of its own

What is drawn is rounded to the picture's accuracy; the certified numbers stand in the answer.
Colours are those of Okabe and Ito, told apart with every kind of colour vision. Where the page
gives none, they follow the reader's light or dark setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure

if TYPE_CHECKING:
    import html as markup
else:
    markup = Deferred("html")

Scale: TypeAlias = Callable[[float], float]
"""From a value to a place in the picture."""

LOGARITHMIC_BELOW = Fraction(1, 100)
"""A δ that matters below this stands on a logarithmic axis."""

STYLE = (
    "svg.chart{--ink:#1b1b1b;--faint:#8883;--first:#0072B2;--second:#E69F00;--mark:#D55E00}"
    "@media(prefers-color-scheme:dark){svg.chart{--ink:#e8e8e8;--first:#56B4E9}}"
    "@media print{svg.chart{--ink:#000;--first:#0072B2}}"
    "svg.chart text{fill:var(--ink);font:13px system-ui,sans-serif}"
    "svg.chart .axis{stroke:var(--ink);fill:none}svg.chart .grid{stroke:var(--faint)}"
    "svg.chart .bar0{fill:var(--first)}svg.chart .bar1{fill:var(--second)}"
    "svg.chart .open{opacity:.35}svg.chart .band{fill:var(--first);opacity:.35}"
    "svg.chart .line{stroke:var(--first);stroke-width:1.5;fill:none}"
    "svg.chart .mark{fill:var(--mark)}"
)
"""How charts look, as a style sheet: once in a page, or in every file."""

_WIDTH = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 16, 40, 44
"""Of a curve, around the axes."""
_HEIGHT = 300
_BAR = 14
_MOST_GROUPS = 12
_LABEL = 60
"""Characters of a label; the whole is its title."""
_DECADES = 12
"""The most a logarithmic axis shows."""
_NARROW = 10_000
"""An enclosure so many times narrower than its number is written as one number."""
_STEPS = 4
_MOST_POINTS = 60
"""Of a curve that is also drawn between its points."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Probabilities side by side.

    Attributes:
        series: What the bars of a group stand for.
        groups: Their labels, each with one probability for every series.
    """

    title: str
    series: tuple[str, ...]
    groups: tuple[tuple[str, tuple[Enclosure, ...]], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A number that is enclosed along another.

    Attributes:
        points: Ascending; straight lines between them do not matter at the picture's accuracy.
        mark: A claimed point and its name, or None.
    """

    title: str
    across: str
    up: str
    points: tuple[tuple[Fraction, Enclosure], ...]
    mark: tuple[Fraction, Fraction, str] | None = None


Chart: TypeAlias = Bars | Curve


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart that notebooks show and that can be saved."""

    chart: Chart

    def svg(self) -> str:
        """Return it as the text of an SVG file."""
        return svg(self.chart, STYLE)

    def save(self, path: str | Path) -> None:
        """Write it to an SVG file.

        Raises:
            UserError: If the name does not end in .svg, or the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise UserError(f"cannot write '{path.name}'", "the name must end in .svg")
        try:
            path.write_text(self.svg() + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write '{path}': {error.strerror}") from None

    def _repr_svg_(self) -> str:
        return self.svg()


def between(
    budgets: Sequence[Fraction], at: Callable[[Fraction], Enclosure]
) -> tuple[tuple[Fraction, Enclosure], ...]:
    """Evaluate bounds at points, and between them if these are few."""
    places = list(budgets)
    if len(places) <= _MOST_POINTS:
        places = [
            a + (b - a) * step / _STEPS for a, b in pairwise(budgets) for step in range(_STEPS)
        ]
        places.append(budgets[-1])
    return tuple((place, at(place)) for place in places)


def svg(chart: Chart, style: str = "") -> str:
    """Draw a chart.

    Args:
        chart: What to draw.
        style: A style sheet to put into it, for a file of its own.
    """
    match chart:
        case Bars():
            height, parts = _bars(chart)
        case Curve():
            height, parts = _HEIGHT, _curve(chart)
        case _:
            assert_never(chart)
    sheet = f"<style>{style}</style>" if style else ""
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img"><title>{markup.escape(chart.title)}</title>{sheet}{"".join(parts)}</svg>'
    )


def _bars(chart: Bars) -> tuple[int, Iterator[str]]:
    shown = chart.groups[:_MOST_GROUPS]
    more = len(chart.groups) - len(shown)
    size = 24 + len(chart.series) * (_BAR + 2)
    top = 28 + 20 * len(chart.series)
    largest = max((float(each.upper) for _, group in shown for each in group), default=0.0) or 1.0

    def drawn() -> Iterator[str]:
        yield _text(4, 18, chart.title)
        for k, name in enumerate(chart.series):
            yield _rectangle(4, 28 + 20 * k, 12, 12, f"bar{k % 2}")
            yield _text(22, 39 + 20 * k, name)
        for place, (label, group) in enumerate(shown):
            y = top + 14 + place * size
            yield _text(4, y, label)
            for k, each in enumerate(group):
                # What is certain is solid, what is possible is pale.
                at = y + 4 + k * (_BAR + 2)
                low, high = ((_WIDTH - 130) * float(e) / largest for e in (each.lower, each.upper))
                yield _rectangle(4, at, low, _BAR, f"bar{k % 2}")
                yield _rectangle(4 + low, at, high - low, _BAR, f"bar{k % 2} open")
                yield _text(8 + high, at + 12, _number(each))
        if more:
            yield _text(4, top + 14 + len(shown) * size, f"… {more} more")

    return top + size * len(shown) + (24 if more else 8), drawn()


def _curve(chart: Curve) -> Iterator[str]:
    points = [(float(x), float(y.lower), float(y.upper)) for x, y in chart.points]
    mark = chart.mark
    marked = [] if mark is None else [(float(mark[0]), float(mark[1]))]
    largest = max([high for _, _, high in points] + [y for _, y in marked]) or 1.0
    claimed = [mark[1]] if mark is not None and mark[1] > 0 else []
    most = max(y.upper for _, y in chart.points)
    small = min([most, *claimed]) < LOGARITHMIC_BELOW and most > 0
    xs = [x for x, _, _ in points] + [x for x, _ in marked]
    right = max(xs) if max(xs) > min(xs) else min(xs) + 1
    across = _linear(min(xs), right, _LEFT, _WIDTH - _RIGHT)
    bottom = _HEIGHT - _BOTTOM
    ups: list[tuple[float, str]]
    up: Scale
    if small:
        positive = [low for _, low, _ in points if low > 0] + [y for _, y in marked if y > 0]
        last = ceil(log10(largest))
        first = max(floor(log10(min(positive, default=largest))), last - _DECADES)
        first = min(first, last - 1)
        scale = _linear(first, last, bottom, _TOP)
        up = _logarithmic(scale, first)
        step = max(1, (last - first) // 6)
        ups = [(scale(k), "1" if k == 0 else f"1e{k}") for k in range(first, last + 1, step)]
    else:
        up = _linear(0.0, largest * 1.08, bottom, _TOP)
        ups = [(up(value), f"{value:g}") for value in ticks(0.0, largest * 1.08)]
    yield _text(4, 16, chart.title)
    for y, name in ups:
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield _text(_LEFT - 6, y + 4, name, "end")
    for value in ticks(min(xs), right):
        x = across(value)
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom}"/>'
        yield _text(x, bottom + 16, f"{value:g}", "middle")
    upper = [f"{across(x):.1f} {up(high):.1f}" for x, _, high in points]
    lower = [f"{across(x):.1f} {up(low):.1f}" for x, low, _ in reversed(points)]
    yield f'<path class="band" d="M{"L".join(upper + lower)}Z"/>'
    yield f'<path class="line" d="M{"L".join(upper)}"/>'
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - _RIGHT}"/>'
    yield _text(_LEFT - 6, 34, f"{chart.up}{', logarithmic' if small else ''}")
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, chart.across, "middle")
    if mark is not None:
        x, y = across(marked[0][0]), up(marked[0][1])
        # The name stands where there is room: left of a point at the right.
        side, shift = ("end", -8) if x > _WIDTH / 2 else ("start", 8)
        yield f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        yield _text(x + shift, y - 6, mark[2], side)


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high`, four to nine if they differ."""
    size = (high - low) / 5
    if size <= 0:
        return [low]
    unit = 10.0 ** floor(log10(size))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 1.25 >= size)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) * (end - start) / (high - low)


def _logarithmic(scale: Scale, least: float) -> Scale:
    """Place values by their logarithms; what is too small lies on the axis."""
    return lambda value: scale(max(log10(value), least) if value > 0 else least)


def _number(each: Enclosure) -> str:
    lower, upper = short(each, 6)
    if lower == upper:
        return lower
    narrow = each.width * _NARROW <= each.upper
    return f"≈ {lower}" if narrow else f"[{lower}, {upper}]"


def _rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}"/>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    cut = words if len(words) <= _LABEL else f"{words[: _LABEL - 1]}…"
    whole = "" if cut == words else f"<title>{markup.escape(words)}</title>"
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{placed}>{markup.escape(cut)}{whole}</text>'
