"""The limits of a command, asked four times a second wherever its time is spent.

Computations ask their limits themselves, at places that end well. What lies between two such places
may be long: a linear program, the parsing of a large file, one sum of many thousand terms. A timer
asks there, between two instructions, as Ctrl-C interrupts; what that leaves behind is told in the
same way. A single call of an extension module is not interrupted: those that can be long are
bounded where they are made.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from dipapprox.errors import LimitReached
from dipapprox.limits import Limits

_INTERVAL = 0.25  # seconds between two looks at the limits
_SOON = 0.01  # seconds until the next look where nobody would hear of one
_TO_CONCLUDE = 1.0  # seconds that a run has to tell what it found, once a limit has ended it


@contextmanager
def watching(limits: Limits) -> Iterator[None]:
    """Raise `LimitReached` inside the block when the limits are used up, wherever that is.

    It may be raised again if something swallows it. Only the main thread can be watched, and only
    where there are timers; elsewhere the block runs as it is.
    """
    if not _can_watch():
        yield
        return

    collecting = False

    def note(phase: str, _info: dict[str, int]) -> None:
        nonlocal collecting
        collecting = phase == "start"

    def look(_signal: int, _frame: FrameType | None) -> None:
        if collecting:
            # What finalizers raise is only printed.
            signal.setitimer(signal.ITIMER_REAL, _SOON, _INTERVAL)
            return
        try:
            limits.check()
        except LimitReached:
            signal.setitimer(signal.ITIMER_REAL, _TO_CONCLUDE, _INTERVAL)
            raise

    gc.callbacks.append(note)
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _INTERVAL, _INTERVAL)
    try:
        yield
    finally:
        stop_watching()
        signal.signal(signal.SIGALRM, before)
        gc.callbacks.remove(note)


def stop_watching() -> None:
    """Let what is left of the block run undisturbed: an answer is told whole."""
    if _can_watch():
        signal.setitimer(signal.ITIMER_REAL, 0)


def _can_watch() -> bool:
    return hasattr(signal, "setitimer") and current_thread() is main_thread()
