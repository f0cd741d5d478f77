"""Source text, positions in it, and messages that point at them.

A `SourceFile` owns the text; a `Span` is a half-open range of offsets; a `Diagnostic` is one
message about a span. Rendering is the only place that knows about lines and columns.
"""

from __future__ import annotations

from dipapprox.data_classes import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceFile:
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


@dataclass(frozen=True, slots=True)
class Span:
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


@dataclass(frozen=True, slots=True)
class Located:
    """What may have been written somewhere; two things are equal wherever they are."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Diagnostic:
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
            lines = [f"{self.kind}: {self.message}"]
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
                f"{source.name}:{line}:{column}: {self.kind}: {self.message}",
                f"{label}{_excerpt(text)}",
                f"{' ' * (len(label) - 2)}| {indent}{'^' * width}",
            ]
            if len(text) > _WIDEST_LINE:
                lines.pop()
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


_WIDEST_LINE = 400


def _excerpt(text: str) -> str:
    """Shorten a line that no terminal could show; control characters become '?'."""
    printable = "".join(c if c == "\t" or c.isprintable() else "?" for c in text)
    return printable if len(printable) <= _WIDEST_LINE else printable[:_WIDEST_LINE] + " …"
