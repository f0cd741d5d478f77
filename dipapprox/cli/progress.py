"""Progress on standard error: only on a terminal, and only for runs longer than a second.

The bar itself is loaded when it is first needed: most runs end before, and start-up counts.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import Protocol, Self

_PATIENCE = 1.0
_INTERVAL = 0.1
"""Seconds before a bar appears, and between two updates."""


class Bar(Protocol):
    """What `progress_bar.open_bar` returns."""

    def update(self, done: int, total: int | None) -> None:
        """Show how much is done."""

    def close(self) -> None:
        """Remove the bar."""


class Reporter:
    """A progress callback that opens a bar when the run turns out to be long.

    Args:
        unit: What is counted.
    """

    def __init__(self, unit: str = "pairs") -> None:
        self._unit = unit
        self._next = time.monotonic() + _PATIENCE
        self._bar: Bar | None = None
        self._watched = sys.stderr.isatty()

    def __call__(self, done: int, total: int | None) -> None:
        """Count `done` of `total`."""
        if not self._watched:
            return
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        if self._bar is None:
            module = importlib.import_module("dipapprox.cli.progress_bar")
            self._bar = module.open_bar(self._unit)
        if self._bar is not None:
            self._bar.update(done, total)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
