"""Work: what a step of a proof may cost, so that no kilobyte of text costs an hour.

Whoever does something that grows with the proof says what it costs, in about microseconds; when a
step has spent all that there is, it is refused. Every thread has its own account. Nothing is
counted where no step is replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dipapprox.kernel.errors import Refused

MOST_WORK = 200_000_000
"""Of one step."""

_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def budget() -> Iterator[None]:
    """Let the block spend as much as a step may."""
    token = _left.set([MOST_WORK])
    try:
        yield
    finally:
        _left.reset(token)


def spend(work: int) -> None:
    """Spend some of it."""
    left = _left.get()
    if left is None:
        return
    left[0] -= work
    if left[0] < 0:
        raise Refused("a step asks for more work than the kernel spends on one")
