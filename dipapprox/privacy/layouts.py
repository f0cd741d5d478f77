"""Descriptions of answers as HTML for notebooks, and as plain text."""

from __future__ import annotations

import html as markup
from collections.abc import Iterable, Iterator, Sequence

from dipapprox.privacy.description import Description, Table


def html(description: Description) -> str:
    """Lay a description out for a notebook."""
    return f"<div>{''.join(_html(description))}</div>"


def text(description: Description) -> str:
    """Lay a description out as lines of plain text, for `print` and for reports of tests."""
    return "\n".join(_text(description))


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
