"""What ends a proof without a conclusion: it does not hold, or it is too much work.

Functions of the kernel return what is proved. Where that is nothing, where it is too much work, or
what is read is no proof, they raise one of these; their docstrings do not say so again.

Whoever does something that grows with the proof says what it costs, in about microseconds; when a
step has spent all that there is, so that no kilobyte of text costs an hour, it is refused. Now and
then, as work is spent, somebody is asked whether to go on. Every thread has its own account; where
there is none, nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class NotProved(Exception):
    """What was asked for is not proved; nothing is said about whether it is true."""


class Refuted(NotProved):
    """A step does not hold as it is written."""


class Refused(NotProved):
    """A step asks for more work or memory than the kernel spends on one."""


class BadProof(NotProved):
    """What is read is no proof: a field is missing, unknown, or of another type."""


MOST_WORK = 60_000_000  # of one step: about a minute
MOST_UNASKED = 1_000
_ENDLESS = 1 << 80
_Account = tuple[list[int], Callable[[], None]]

_account: ContextVar[_Account | None] = ContextVar("account", default=None)
"""What is left, and at how much less somebody is asked; and who."""


@contextmanager
def asking(ask: Callable[[], None], most: int = _ENDLESS) -> Iterator[None]:
    """Let the block spend so much, and call `ask` all the time: what it raises ends the block."""
    token = _account.set(([most, most], ask))
    try:
        yield
    finally:
        _account.reset(token)


@contextmanager
def budget(most: int | None = None) -> Iterator[None]:
    """Let the block spend as much as a step may, or so much; ask whom the block around it asks."""
    around, most = _account.get(), MOST_WORK if most is None else most
    with asking((lambda: None) if around is None else around[1], most):
        yield


def spend(work: int) -> None:
    """Spend some of it."""
    account = _account.get()
    if account is None:
        return
    (left, due), ask = account
    account[0][0] = left = left - work
    if left < due:
        if left < 0:
            raise Refused("a step asks for more work than the kernel spends on one")
        account[0][1] = max(left - MOST_UNASKED, 0)
        ask()
