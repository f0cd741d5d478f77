"""The one exception tree, and what collects the mistakes in a text and words the hints.

Three kinds of trouble are never mixed: what a user can mend is a `UserError` (exit status 2);
a limit that was reached is a `LimitReached` (the verdict Unknown); mathematics that cannot decide
is a value wherever a function answers (inside one `arithmetic.enclosure.sure` may end it).
Everything else is a bug and may propagate.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Self

from dipapprox.source import Diagnostic, Span, named, visible

MOST_DIAGNOSTICS = 20
_LONGEST_MESSAGE = 300


def _as_it_is(error: BaseException) -> Any:
    """Say how an error is copied, and read in another process: it is not made again from what it
    was made of, which `args` is not."""
    return copyreg.__newobj__, (type(error), *error.args), vars(error)  # type: ignore[attr-defined]  # as pickle names it


class UserError(Exception):
    """Something the user wrote cannot be used: a flag, a file, a value. The message says why."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message, self.hint = visible(message), visible(hint)
        super().__init__(self.message)

    def __reduce__(self) -> Any:
        return _as_it_is(self)

    def render(self) -> str:
        """Return the text for the terminal."""
        hint = f"\nhint: {self.hint}" if self.hint else ""
        return f"error: {self.message}{hint}"


class NoTruth(UserError, TypeError):
    """An answer was used as a condition: Not_DP and Unknown are no less of an answer than DP."""

    def __init__(self, name: str, instead: str) -> None:
        super().__init__(f"{name} is neither true nor false", instead)


class NoCertificate(UserError):
    """An answer has no certificate, which takes nothing from the answer."""

    def __init__(self, missing: str) -> None:
        self.missing = missing
        super().__init__(f"no certificate: {missing}")


class SourceError(UserError):
    """A program text is wrong in one or more places; `diagnostics` lists them in source order."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("")
        self.message = "\n".join(d.render() for d in self.diagnostics)
        self.args = (self.message,)

    def render(self) -> str:
        """Return the text for the terminal: every diagnostic with its caret."""
        return self.message


class QuestionRefused(SourceError):
    """A question makes no sense for a program: at another ε, say, this place may mean something."""


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
    for each in candidates:
        if each.casefold() == name.casefold():
            return f"did you mean '{each}'?"
    close = import_module("difflib").get_close_matches(name, candidates, n=1)
    return f"did you mean '{close[0]}'?" if close else otherwise


def check_visible(name: str, what: str) -> None:
    """Refuse a name that would not be seen as one line, as it is, in answers.

    Raises:
        UserError: If it has a character that ends lines, or is not seen.
    """
    unseen = next((c for c in name if not c.isprintable()), None)
    if unseen is not None:
        raise UserError(f"{what} '{shorten(name)}' has the character {named(unseen)}", _NAME_HINT)


_NAME_HINT = "names are shown in answers: letters, digits and signs that are seen will do"


def shorten(text: str, longest: int = 40) -> str:
    """Shorten a text that is too long for a message."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


_JSON_TYPES = {
    "array": "a list", "bool": "true or false", "float": "a number", "int": "a whole number",
    "null": "null", "object": "an object", "str": "a string",
}  # fmt: skip


def complaint(said: str) -> str:
    """Say where in a JSON value something is wrong, and what: "$.rows[3].input: expected …".

    Args:
        said: By `msgspec.ValidationError`; before a colon types say themselves of the field of a
            field.
    """
    form = r"((?P<inner>\.\S+): )?(?P<reason>.*?)( - at `\$(?P<place>[^`]*)`)?"
    match = re.fullmatch(form, said, re.DOTALL)
    if match is None:
        return shorten(said, 200)
    place = f"${match['place'] or ''}{match['inner'] or ''}"
    reason = re.sub("`([^`]*)`", lambda n: _JSON_TYPES.get(n[1], f"'{n[1]}'"), match["reason"])
    return f"{shorten(place, 80)}: {shorten(reason[:1].lower() + reason[1:], 120)}"


class UnsoundArithmetic(UserError):
    """The thread does not compute as the proofs of rounding errors assume; nothing is answered."""


class LimitReached(Exception):
    """A limit was reached.

    Attributes:
        reason: A full phrase for the verdict, e.g. "time limit: 5 s".
        event: The event that was being computed, for who can say what it is in the program; None
            if it was none, or `reason` says it.
    """

    def __init__(self, reason: str, event: object = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.event = event


class BrokenInvariant(Exception):
    """A hard invariant of the computation failed: a bug. No verdict may be built on the run."""

    def __reduce__(self) -> Any:
        return _as_it_is(self)


class Contradiction(BrokenInvariant):
    """Two methods say of one number what cannot both be true: disjoint enclosures.

    Args:
        of: Which number.
        said: Who said what; "" for a method without a name.
    """

    def __init__(self, of: str, *said: tuple[str, str]) -> None:
        words = " and ".join(f"{what} by {method or 'what was known'}" for method, what in said)
        super().__init__(f"disjoint enclosures of {of}: {words}")


def was_interrupted(error: BaseException) -> bool:
    """Whether an exception stands for Ctrl-C.

    Extension modules that notice an interrupt between two instructions report it as a
    `SystemError` ("returned a result with an exception set") caused by the KeyboardInterrupt.
    """
    return any(isinstance(seen, KeyboardInterrupt) for seen in _causes(error))


def limit_behind(error: BaseException) -> LimitReached | None:
    """Return the limit that an exception stands for; None if for none.

    A limit that is noticed between two instructions may come out of an extension module as a
    `SystemError`, as an interrupt may.
    """
    return next((seen for seen in _causes(error) if isinstance(seen, LimitReached)), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


NO_MEMORY = "memory limit: no memory left"
INTERRUPTED = "interrupted"


class EarlyEnd:
    """A context in which a limit, lack of memory or Ctrl-C ends the block, but not the program.

        with EarlyEnd() as end:
            ...  # what may take long; what it found by then stays
        if end.reason is not None:
            ...  # the answer is Unknown

    Attributes:
        reason: Why the block ended early; None if it did not.
    """

    def __init__(self) -> None:
        self.reason: str | None = None

    @property
    def interrupted(self) -> bool:
        """Whether it was Ctrl-C."""
        return self.reason == INTERRUPTED

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        match error:
            case LimitReached():
                self.reason = error.reason
            case MemoryError():
                self.reason = NO_MEMORY
            case KeyboardInterrupt() | SystemError() if was_interrupted(error):
                self.reason = INTERRUPTED
            case SystemError() if (limit := limit_behind(error)) is not None:
                self.reason = limit.reason
            case _:
                return False
        return True
