"""Worker processes: none outlives the process that started it, and Ctrl-C is not for them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1
"""From <sys/prctl.h>."""


def end_with(parent: int) -> None:
    """Have this process, a child, killed as soon as its parent is dead (Linux).

    Args:
        parent: Process that started this one. On Linux its thread that did so has to stay as long.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, from their first instruction on.

    They inherit the signals that this thread holds back. For this thread Ctrl-C comes at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
