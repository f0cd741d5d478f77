"""How people see answers: one description, from which everything is drawn.

answer.describe()  →  Description  →  a panel and tables (`cli.report`), HTML and text (here)

And how parameters of programs and values of cells are written in all of them; and who gave each end
of an answer: the method, and the pair and the outputs that show it. Ends come with the words of
their methods from where they are found (`arithmetic.extended`). An end that says nothing (δ >= 0,
no upper one) has no method.

Certificates as objects, and programs as they were written, which certificates record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from importlib import import_module
from typing import NoReturn

from dipapprox.arithmetic import enclosure as enclosures
from dipapprox.arithmetic import extended
from dipapprox.data_classes import Record
from dipapprox.digits import brief_text, exact_text
from dipapprox.errors import NoTruth
from dipapprox.language.core import Value
from dipapprox.language.load import Source

Fact = tuple[str, str]  # A name and a value


class Tone(Enum):
    """What kind of answer it is, for colours."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"
    PLAIN = "plain"


class Table(Record):
    title: str  # above it; "" for none
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()  # places of the columns that are set flush right


class Description(Record):
    headline: str  # the answer in a sentence; "" for none: then only what is below is shown
    label: str  # the answer in a word, or the command that gave it
    tone: Tone
    facts: tuple[Fact, ...]
    # Tables, lines of text and other descriptions that explain it.
    below: tuple[Table | str | Description, ...] = ()


def known_to_be(enclosure: enclosures.Enclosure) -> str:
    """Write what is known of a number: "in [lower, upper]", or "= number" if decimals tell it."""
    written = str(enclosure)
    return f"in {written}" if written.startswith("[") else f"= {written}"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def seconds_text(spent: float) -> str:
    return f"{spent:.3g} s" if spent >= 0.001 else "< 1 ms"


def known(*facts: tuple[str, str | None]) -> tuple[Fact, ...]:
    return tuple((name, value) for name, value in facts if value)


class Word(Enum):
    """The words that an answer is one of; no truth value either."""

    def __bool__(self) -> NoReturn:
        """Refuse: `if answer:` would hold for every answer."""
        first = next(iter(type(self)))
        raise NoTruth(str(self), f"compare it: … is {first}")


def parameter_fields(parameters: Mapping[str, Fraction]) -> dict[str, str]:
    """Return a program's parameters as the field "params"."""
    return {name: exact_text(value) for name, value in parameters.items()}


def parameters_text(parameters: Mapping[str, Fraction]) -> str:
    """Write a program's parameters for people: "N = 2, s = 4/3"."""
    return ", ".join(f"{name} = {brief_text(value)}" for name, value in parameters.items())


def values_text(values: Sequence[Value]) -> str:
    """Write values for people: "(0, 1)"."""
    return f"({', '.join(map(brief_text, values))})"


class End(Record):
    of: str  # of which number: "largest δ"
    least: bool
    value: str  # a decimal, rounded outward, a formula, or "inf"
    by: str
    # The inputs that show a lower end; None where no pair does alone.
    pair: tuple[str, str] | None = None
    outputs: str = ""  # the set that tells them apart, for people; "" if none is known
    brief: str = ""  # the value with few digits, rounded outward; "" for the value itself

    def fields(self) -> dict[str, object]:
        return {
            "of": self.of,
            "end": "least" if self.least else "most",
            "value": self.value,
            "by": self.by,
            "pair": None if self.pair is None else list(self.pair),
            "outputs": self.outputs or None,
        }

    def row(self) -> tuple[str, ...]:
        pair = "" if self.pair is None else " against ".join(self.pair)
        sign = "≥" if self.least else "≤"
        return f"{self.of} {sign} {self.brief or self.value}", self.by, pair, self.outputs


def why_table(ends: Sequence[End]) -> Table:
    return Table("Why", ("end", "by", "pair", "outputs"), tuple(each.row() for each in ends))


def ends_of(
    of: str,
    told: extended.Extended | None,
    engine: str = "",
    pair: tuple[str, str] | None = None,
    outputs: str = "",
    trivial: Fraction | None = None,
) -> tuple[End, ...]:
    """Return the ends of bounds that say something.

    Args:
        engine: What encloses probabilities: said where enclosures gave an end.
        trivial: An upper end that says nothing.
    """
    if told is None:
        return ()
    lower, upper = told.ends()
    brief = lower, upper
    if told.lower is not None and told.upper is not None:
        brief = enclosures.short(enclosures.Enclosure(told.lower, told.upper))

    def word(by: str) -> str:
        return f"{by}: {engine}" if by == extended.BY_ENCLOSURES[0] and engine else by

    found = []
    if told.lower is None or told.lower > 0:
        found.append(End(of, True, lower, word(told.least_by), pair, outputs, brief[0]))
    if told.upper is not None and told.upper != trivial:
        found.append(End(of, False, upper, word(told.most_by), brief=brief[1]))
    return tuple(found)


def html(description: Description) -> str:
    return f"<div>{''.join(_html(description))}</div>"


def text(description: Description) -> str:
    """Lay a description out as lines of plain text, for `print` and for reports of tests."""
    return "\n".join(_text(description))


def _html(description: Description) -> Iterator[str]:
    if description.headline:
        label, headline = _escaped(description.label), _escaped(description.headline)
        yield f"<p><b>{label}</b> {headline}</p>"
    if description.facts:
        rows = (
            f"<th>{_escaped(name)}</th><td>{_escaped(each)}</td>"
            for name, each in description.facts
        )
        yield _html_table(rows)
    for each in description.below:
        match each:
            case str():
                yield f"<p>{_escaped(each)}</p>"
            case Table():
                caption = f"<caption>{_escaped(each.title)}</caption>" if each.title else ""
                heading = _html_cells("th", each.columns)
                lines = (heading, *(_html_cells("td", row) for row in each.rows))
                yield _html_table(lines, caption)
            case Description():
                yield from _html(each)


def _escaped(text: str) -> str:
    found: str = import_module("html").escape(text)
    return found


def _html_table(rows: Iterable[str], caption: str = "") -> str:
    return f"<table>{caption}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _html_cells(tag: str, values: Sequence[str]) -> str:
    return "".join(f"<{tag}>{_escaped(value)}</{tag}>" for value in values)


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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"  {'  '.join(cells)}".rstrip()


class ProgramText(Record):
    """A program, or another text, as it was written; `language` is "dpg", "dip" or another."""

    name: str
    language: str
    text: str


def text_of(source: Source) -> ProgramText:
    """Return the text of a program that was read; of a Python function, of the program it is."""
    return ProgramText(source.name, source.language, source.text)


class Certificate(Record):
    """A certificate; `fields` is the JSON object, digest included."""

    fields: Mapping[str, object]

    def to_json(self) -> str:
        """Return the text of the file: one line."""
        return json.dumps(self.fields, ensure_ascii=False) + "\n"

    def __hash__(self) -> int:
        return hash(self.fields.get("digest"))

    def _repr_html_(self) -> str:
        shown = ("verdict", "claim", "scope", "params", "computed", "digest")
        said = ((name, str(self.fields[name])) for name in shown if name in self.fields)
        return html(Description("", "", Tone.PLAIN, tuple(said)))
