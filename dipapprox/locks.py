"""Locks for what belongs to the process and not to a thread: precisions, settings."""

from __future__ import annotations

import os
from threading import Condition
from weakref import WeakSet


class ProcessLock:
    """A re-entrant lock that no fork leaves locked for good.

        with lock.held:
            ...

    A child process has the thread that forked, and no other: a lock that another one held would
    never be released. There it is made anew; what the thread itself holds it goes on holding.

    Attributes:
        held: The lock of this process. A condition, so that whoever has it may let it go for a
            while, however often it was taken: `held.wait(seconds)`.
    """

    __slots__ = ("__weakref__", "held")

    def __init__(self) -> None:
        self.held = Condition()
        _locks.add(self)

    def after_fork(self) -> None:
        """See to it that somebody in this process can have the lock."""
        if self.held.acquire(blocking=False):
            self.held.release()
        else:
            self.held = Condition()


_locks: WeakSet[ProcessLock] = WeakSet()


def _after_fork() -> None:
    for lock in _locks:
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
