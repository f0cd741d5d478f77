"""The progress bar: what is done, rate, time left. Loaded by `progress` when a run is long."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class RateColumn(ProgressColumn):
    """What is done per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.3g} {self._unit}/s", style="dim")


class ProgressBar:
    """A bar on standard error that counts `unit` and disappears when it is closed."""

    def __init__(self, unit: str) -> None:
        columns = TextColumn(unit), BarColumn(), MofNCompleteColumn(), RateColumn(unit)
        left, console = TimeRemainingColumn(compact=True), Console(stderr=True)
        self._progress = Progress(*columns, left, console=console, transient=True)
        self._task = self._progress.add_task(unit, total=None)
        self._progress.start()

    def update(self, done: int, total: int | None) -> None:
        self._progress.update(self._task, completed=done, total=total)

    def close(self) -> None:
        self._progress.stop()
