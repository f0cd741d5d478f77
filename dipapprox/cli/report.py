"""Answers on a terminal: a panel, and tables beneath it; and a bar of progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich import progress, table
from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.panel import Panel
from rich.text import Text

from dipapprox.cli.command import shown
from dipapprox.privacy.description import Description, Fact, Table, Tone

WIDEST_PANEL = 100  # columns: longer lines are hard to read
_COLOURS = {Tone.HOLDS: "green", Tone.FAILS: "red", Tone.OPEN: "yellow"}


def open_console(file: TextIO, width: int | None) -> Console:
    return Console(file=file, width=width, highlight=False)


def report(description: Description) -> RenderableType:
    parts: list[RenderableType] = []
    if description.headline:
        parts.append(_panel(description))
    for each in description.below:
        match each:
            case str():
                parts.append(Text(shown(each)))
            case Table():
                parts.append(_table(each))
            case Description():
                parts.append(report(each))
    return Group(*parts)


def _panel(description: Description) -> RenderableType:
    colour = _COLOURS.get(description.tone)
    headline = Text(shown(description.headline), style=f"bold {colour or ''}".strip())
    body = Group(headline, _grid(description.facts))
    panel = Panel(body, title=description.label, border_style=colour or "none")
    return Constrain(panel, WIDEST_PANEL)


def _grid(facts: Iterable[Fact]) -> table.Table:
    grid = table.Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(Text(shown(name)), Text(shown(value)))
    return grid


def _table(described: Table) -> table.Table:
    found = table.Table(title=shown(described.title) or None, title_justify="left")
    for place, name in enumerate(described.columns):
        right = place in described.right
        found.add_column(Text(shown(name)), overflow="fold", justify="right" if right else "left")
    for row in described.rows:
        found.add_row(*(Text(shown(each)) for each in row))
    return found


class ProgressBar:
    """A bar on standard error that counts `unit`, with what is done per second and the time left;
    it disappears when it is closed."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._progress = progress.Progress(
            progress.TextColumn(unit),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]}", style="dim"),
            progress.TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
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
