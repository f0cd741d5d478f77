"""Progress on standard error: only on a terminal, and only for runs longer than a second.

The bar itself is loaded when it is first needed: most runs end before, and start-up counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.limits import Progress, silent

if TYPE_CHECKING:
    from dipapprox.cli import progress_bar
else:
    progress_bar = Deferred("dipapprox.cli.progress_bar")

_PATIENCE = 1.0  # seconds before a bar appears
_INTERVAL = 0.1  # seconds between two updates


@contextmanager
def reporting(unit: str = "pairs") -> Iterator[Progress]:
    """Yield what is told about progress; it opens a bar of `unit`s when the run turns out to be
    long."""
    bar: progress_bar.ProgressBar | None = None
    due = time.monotonic() + _PATIENCE

    def report(done: int, total: int | None) -> None:
        nonlocal bar, due
        now = time.monotonic()
        if now < due:
            return
        due = now + _INTERVAL
        bar = bar or progress_bar.ProgressBar(unit)
        bar.update(done, total)

    try:
        yield report if sys.stderr.isatty() else silent
    finally:
        if bar is not None:
            bar.close()
