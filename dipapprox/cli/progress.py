"""Progress on standard error: only on a terminal, and only for runs longer than a second.

What draws the bar is loaded when it is first needed: most runs end before, and start-up counts.
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
    from rich import console as consoles
    from rich import progress as bars
else:
    bars = Deferred("rich.progress")
    consoles = Deferred("rich.console")

_PATIENCE = 1.0  # seconds before a bar appears
_INTERVAL = 0.1  # seconds between two updates


@contextmanager
def reporting(unit: str = "pairs") -> Iterator[Progress]:
    """Yield what is told about progress; it opens a bar of `unit`s when the run turns out to be
    long."""
    bar: ProgressBar | None = None
    due = time.monotonic() + _PATIENCE

    def report(done: int, total: int | None) -> None:
        nonlocal bar, due
        now = time.monotonic()
        if now < due:
            return
        due = now + _INTERVAL
        bar = bar or ProgressBar(unit)
        bar.update(done, total)

    try:
        yield report if sys.stderr.isatty() else silent
    finally:
        if bar is not None:
            bar.close()


class ProgressBar:
    """A bar on standard error that counts `unit`, with what is done per second and the time left;
    it disappears when it is closed."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._progress = bars.Progress(
            bars.TextColumn(unit),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[rate]}", style="dim"),
            bars.TimeRemainingColumn(compact=True),
            console=consoles.Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(unit, total=None, rate="")
        self._progress.start()

    def update(self, done: int, total: int | None) -> None:
        (task,) = self._progress.tasks
        rate = "" if task.speed is None else f"{task.speed:.3g} {self._unit}/s"
        self._progress.update(self._task, completed=done, total=total, rate=rate)

    def close(self) -> None:
        self._progress.stop()
