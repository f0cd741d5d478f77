"""Certificates as objects, and programs as they were written, which certificates record."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dipapprox.data_classes import Record
from dipapprox.language.load import Source
from dipapprox.privacy.description import Description, Tone, html


class ProgramText(Record):
    """A program as it was written; `language` is "dpg" or "dip"."""

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
