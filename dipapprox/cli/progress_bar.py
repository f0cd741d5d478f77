"""The progress bar: pairs done, rate, time left. Loaded by `progress` when a run is long."""

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
    """Pairs per second."""

    def render(self, task: Task) -> Text:
        """Render the rate, once there is one."""
        return Text("" if task.speed is None else f"{task.speed:.3g} pairs/s", style="dim")


class PairsBar:
    """A bar on standard error that disappears when it is closed."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("pairs"),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("pairs", total=None)
        self._progress.start()

    def update(self, done: int, total: int | None) -> None:
        """Show the pairs done."""
        self._progress.update(self._task, completed=done, total=total)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


def open_bar() -> PairsBar:
    """Open a bar on standard error."""
    return PairsBar(Console(stderr=True))
