"""The one exception tree.

Three kinds of trouble are never mixed: what a user can mend is a `UserError` (exit status 2);
a limit that was reached is a `LimitReached` (the verdict Unknown); mathematics that cannot decide
is a value, not an exception. Everything else is a bug and may propagate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from dipapprox.source import Diagnostic


class UserError(Exception):
    """Something the user wrote cannot be used: a flag, a file, a value. The message says why."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

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
        super().__init__(f"no certificate: {missing}")


class SourceError(UserError):
    """A program text is wrong in one or more places; `diagnostics` lists them in source order."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(d.render() for d in self.diagnostics))

    def render(self) -> str:
        """Return the text for the terminal: every diagnostic with its caret."""
        return self.message


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
