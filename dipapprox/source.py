"""Source text, positions in it, and messages that point at them.

A `SourceFile` owns the text; a `Span` is a half-open range of offsets; a `Diagnostic` is one
message about a span. Rendering is the only place that knows about lines and columns.

Texts may be other than they look: ৪ is a digit four, а is Cyrillic, some blanks are no blanks. Such
characters are refused by their names (`unlike_ascii`). And what ends lines, moves the cursor of a
terminal or turns the direction of writing around makes an answer look like another: it is never
shown as it is (`visible`).
"""

from __future__ import annotations

import re
import unicodedata

from dipapprox.data_classes import Record, field

BLANKS = " \t\r\n\f\v"
"""What may stand around numbers and names: no other blank is one."""


def visible(text: str) -> str:
    """Return a text with '?' for all that is not seen as one character on one line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def visible_lines(text: str) -> str:
    """Return a text of several lines, each as in `visible`; tabs stay."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


def named(character: str) -> str:
    """Say which character one is: "U+09EA BENGALI DIGIT FOUR"."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def unlike_ascii(text: str) -> str:
    """Say which character of a text that must be ASCII is another; "" if none is.

    Returns:
        A hint: "'৪' is U+09EA BENGALI DIGIT FOUR: digits are 0 to 9".
    """
    found = next((c for c in text if not c.isascii()), None)
    if found is None:
        return ""
    said = _PLAIN.get(unicodedata.category(found)[0], "other characters stand in comments only")
    return f"'{visible(found)}' is {named(found)}: {said}"


_PLAIN = {"N": "digits are 0 to 9", "L": "letters are a to z and A to Z", "Z": "blanks are ASCII"}
"""By the first letter of Unicode's category."""


BEYOND_ASCII = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff"
HIDDEN = re.compile(rf"[\x00-\x08\x0b\x0e-\x1f{BEYOND_ASCII}]|\r(?!\n)")
"""What steers terminals, ends lines for some, or turns writing around: programs have none of it,
not in comments either, or they would not be what they look like. A carriage return alone ends a
line for some readers, and a comment goes on behind it for others."""


class SourceFile(Record):
    """A named text. `name` is what messages show: a path, or "<text>" for the Python API."""

    name: str
    text: str

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based (line, column) of a character offset."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def line(self, number: int) -> str:
        """Return the text of a 1-based line without its line break."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else ""


class Span(Record):
    """The characters `start <= offset < end` of a source file."""

    source: SourceFile
    start: int
    end: int

    @property
    def line(self) -> int:
        """The 1-based line on which the span starts."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]


class Located(Record, kw_only=True):
    """What may have been written somewhere; two things are equal wherever they are."""

    span: Span | None = field(default=None, compare=False, repr=False)


class Diagnostic(Record):
    """One message about a place: what is wrong there, and a hint saying what is allowed.

    Attributes:
        kind: "syntax error", "name error", "type error", "value error", …
        message: Lower case, no full stop, quotes the offending text.
        span: Where; None only where no text is at fault.
        hint: What to do instead; empty if the message says it all.
    """

    kind: str
    message: str
    span: Span | None
    hint: str = ""

    def render(self) -> str:
        """Render as `file:line:column: kind: message`, the line, a caret, the hint."""
        if self.span is None:
            lines = [f"{self.kind}: {visible(self.message)}"]
        else:
            source = self.span.source
            line, column = source.position(self.span.start)
            text = source.line(line)
            # A span over several lines is underlined to the end of its first line.
            width = max(1, min(self.span.end - self.span.start, len(text) - column + 1))
            # Tabs stay tabs in the caret line, so that the caret stands under its text.
            indent = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
            label = f"{line:>5} | "
            lines = [
                f"{visible(source.name)}:{line}:{column}: {self.kind}: {visible(self.message)}",
                f"{label}{_excerpt(text)}",
                f"{' ' * (len(label) - 2)}| {indent}{'^' * width}",
            ]
            if len(text) > _WIDEST_LINE:
                lines.pop()
        if self.hint:
            lines.append(f"hint: {visible(self.hint)}")
        return "\n".join(lines)


_WIDEST_LINE = 400


def _excerpt(text: str) -> str:
    """Shorten a line that no terminal could show; control characters become '?'."""
    printable = "".join(c if c == "\t" or c.isprintable() else "?" for c in text)
    return printable if len(printable) <= _WIDEST_LINE else printable[:_WIDEST_LINE] + " …"
