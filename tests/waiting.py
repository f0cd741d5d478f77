"""Waiting for what other processes do, however long they take on a busy machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

HOPELESS = 600
"""Seconds after which a process is given up that would never end: only defects take as long."""


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[Any] | None = None) -> None:
    """Look until something has happened; fail if the process that does it has ended without it."""
    given_up = time.monotonic() + HOPELESS
    while not happened():
        assert process is None or process.poll() is None or happened(), "it will never happen"
        assert time.monotonic() < given_up, "it has not happened"
        time.sleep(0.01)
