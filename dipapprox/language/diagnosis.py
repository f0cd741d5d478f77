"""Collecting what is wrong with a text: all that a phase finds, in source order, not endlessly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.errors import SourceError
from dipapprox.source import Diagnostic, Span

if TYPE_CHECKING:
    import difflib
else:
    difflib = Deferred("difflib")

MOST_DIAGNOSTICS = 20
_LONGEST_MESSAGE = 300


class Diagnosis:
    """The diagnostics of one phase. One per place: unrolled loops would repeat themselves."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], Diagnostic] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def report(self, kind: str, message: str, span: Span | None, hint: str = "") -> None:
        """Add a diagnostic, unless its place has one already.

        Raises:
            SourceError: If there are enough of them; nobody reads more.
        """
        message = shorten(message, _LONGEST_MESSAGE)
        place = (span.start, span.end) if span is not None else (-1, len(self._found))
        self._found.setdefault(place, Diagnostic(kind, message, span, hint))
        if len(self._found) >= MOST_DIAGNOSTICS:
            self.finish()

    def has_any(self, start: int, end: int) -> bool:
        """Tell whether something was reported that starts between two offsets, both included."""
        return any(start <= place <= end for place, _ in self._found)

    def abort(self, kind: str, message: str, span: Span | None, hint: str = "") -> SourceError:
        """Return the error to raise when going on makes no sense."""
        self.report(kind, message, span, hint)
        return SourceError(self._sorted())

    def finish(self) -> None:
        """Raise SourceError if anything was reported."""
        if self._found:
            raise SourceError(self._sorted())

    def _sorted(self) -> list[Diagnostic]:
        return [self._found[place] for place in sorted(self._found)]


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint naming the known name that is most like `name`."""
    # Names longer than any real one are not worth a quadratic comparison.
    candidates = [k for k in known if len(k) <= 100] if len(name) <= 100 else []
    close = difflib.get_close_matches(name, candidates, n=1)
    return f"did you mean '{close[0]}'?" if close else otherwise


def shorten(text: str, longest: int = 40) -> str:
    """Shorten a text that is too long for a message."""
    return text if len(text) <= longest else text[: longest - 3] + "..."
