"""How people see answers: one description, from which everything is drawn.

answer.describe()  →  Description  →  a panel and tables (`cli.report`), HTML and plain text (here)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import NoTruth

if TYPE_CHECKING:
    import html as markup

    from dipapprox.arithmetic.enclosure import Enclosure
    from dipapprox.numerics import decimals
else:
    markup = Deferred("html")
    decimals = Deferred("dipapprox.numerics.decimals")

Fact = tuple[str, str]
"""A name and a value."""


class Tone(Enum):
    """What kind of answer it is, for colours."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """A table beneath a panel.

    Attributes:
        title: Above it; "" for none.
        columns: Their headings.
        rows: Texts, one for each column.
        right: Places of the columns that are set flush right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What people see of an answer.

    Attributes:
        headline: The answer in a sentence; "" for none: then only what is below is shown.
        label: The answer in a word, or the command that gave it.
        facts: In the order of their importance.
        below: Tables, lines of text and other descriptions that explain it.
    """

    headline: str
    label: str
    tone: Tone
    facts: tuple[Fact, ...]
    below: tuple[Table | str | Description, ...] = ()


def html(description: Description) -> str:
    """Lay a description out for a notebook."""
    return f"<div>{''.join(_html(description))}</div>"


def escaped(words: str) -> str:
    """Write words so that they are no markup."""
    return markup.escape(words)


def text(description: Description) -> str:
    """Lay a description out as lines of plain text, for `print` and for reports of tests."""
    return "\n".join(_text(description))


def interval(enclosure: Enclosure) -> str:
    """Write an enclosure as "[lower, upper]", or as the number if it is one."""
    lower, upper = decimals.short(enclosure)
    return lower if lower == upper else f"[{lower}, {upper}]"


def known_to_be(enclosure: Enclosure) -> str:
    """Write what is known of a number: "in [lower, upper]", or "= number" if decimals tell it."""
    written = interval(enclosure)
    return f"in {written}" if written.startswith("[") else f"= {written}"


def count(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def seconds_text(spent: float) -> str:
    """Write a run time."""
    return f"{spent:.3g} s" if spent >= 0.001 else "< 1 ms"


def known(*facts: tuple[str, str | None]) -> tuple[Fact, ...]:
    """Return the facts that have a value."""
    return tuple((name, value) for name, value in facts if value)


def _html(description: Description) -> Iterator[str]:
    if description.headline:
        label, headline = markup.escape(description.label), markup.escape(description.headline)
        yield f"<p><b>{label}</b> {headline}</p>"
    if description.facts:
        rows = (
            f"<th>{markup.escape(name)}</th><td>{markup.escape(each)}</td>"
            for name, each in description.facts
        )
        yield _html_table(rows)
    for each in description.below:
        match each:
            case str():
                yield f"<p>{markup.escape(each)}</p>"
            case Table():
                caption = f"<caption>{markup.escape(each.title)}</caption>" if each.title else ""
                heading = _html_cells("th", each.columns)
                lines = (heading, *(_html_cells("td", row) for row in each.rows))
                yield _html_table(lines, caption)
            case Description():
                yield from _html(each)


def _html_table(rows: Iterable[str], caption: str = "") -> str:
    return f"<table>{caption}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _html_cells(tag: str, values: Sequence[str]) -> str:
    return "".join(f"<{tag}>{markup.escape(value)}</{tag}>" for value in values)


def _text(description: Description) -> Iterator[str]:
    if description.headline:
        yield f"{description.label}: {description.headline}"
    yield from _aligned(description.facts, ())
    for each in description.below:
        match each:
            case str():
                yield each
            case Table():
                if each.title:
                    yield each.title
                yield from _aligned((each.columns, *each.rows), each.right)
            case Description():
                yield from _text(each)


def _aligned(rows: Sequence[Sequence[str]], right: Sequence[int]) -> Iterator[str]:
    """Yield rows with their columns under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()


class Word(Enum):
    """The words that an answer is one of; no truth value either."""

    def __bool__(self) -> NoReturn:
        """Refuse: `if answer:` would hold for every answer.

        Raises:
            NoTruth: Always.
        """
        first = next(iter(type(self)))
        raise NoTruth(str(self), f"compare it: … is {first}")
