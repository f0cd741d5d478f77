"""Progress on standard error: only on a terminal, and only for runs longer than a second.

The bar itself is loaded when it is first needed: most runs end before, and start-up counts.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from dipapprox.limits import Progress, silent

_PATIENCE = 1.0
_INTERVAL = 0.1  # seconds before a bar appears, and between two updates


class Bar(Protocol):
    """What `progress_bar.open_bar` returns."""

    def update(self, done: int, total: int | None) -> None:
        """Show how much is done."""

    def close(self) -> None:
        """Remove the bar."""


@contextmanager
def reporting(unit: str = "pairs") -> Iterator[Progress]:
    """Yield what is told about progress; it opens a bar of `unit`s when the run turns out to be
    long."""
    bar: Bar | None = None
    due = time.monotonic() + _PATIENCE

    def report(done: int, total: int | None) -> None:
        nonlocal bar, due
        now = time.monotonic()
        if now < due:
            return
        due = now + _INTERVAL
        if bar is None:
            opened: Bar = importlib.import_module("dipapprox.cli.progress_bar").open_bar(unit)
            bar = opened
        bar.update(done, total)

    try:
        yield report if sys.stderr.isatty() else silent
    finally:
        if bar is not None:
            bar.close()
