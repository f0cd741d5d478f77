"""Progress on standard error: a bar on a terminal, once a run is long, and none otherwise."""

from __future__ import annotations

import sys

import pytest

from dipapprox.cli import progress, progress_bar
from dipapprox.cli.progress import reporting


class Bar:
    """Notes what is shown."""

    def __init__(self, shown: list[object]) -> None:
        self.shown = shown

    def update(self, done: int, total: int | None) -> None:
        self.shown.append((done, total))

    def close(self) -> None:
        self.shown.append("closed")


@pytest.mark.parametrize(
    ("terminal", "patience", "shown"),
    [
        (True, 0.0, [(1, None), (2, 3), "closed"]),
        (True, 1e9, []),
        (False, 0.0, []),
    ],
)
def test_a_bar_for_long_runs_on_terminals(
    terminal: bool, patience: float, shown: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    monkeypatch.setattr(progress_bar, "open_bar", lambda unit: Bar(found))
    with reporting("pairs") as report:
        report(1, None)
        report(2, 3)
    assert found == shown
