"""Summaries of sweeps: every word is whole, whatever the number of columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.console import Console

from dipapprox.cli.sweep_report import summary_report
from dipapprox.experiments.sweep.summary import groups_of


def records(across: int, down: int) -> Iterator[dict[str, object]]:
    """A grid over eps (down) and delta (across), all DP."""
    for eps in range(1, down + 1):
        for delta in range(across):
            yield {
                "task": "verify",
                "program": "p.dpg",
                "params": {},
                "eps": str(eps),
                "delta": f"{delta}/100",
                "result": {"verdict": "DP", "delta_enclosure": ["0", "0"]},
                "failure": None,
                "seconds": 0.25,
            }


@pytest.mark.parametrize(
    ("across", "down", "head"),
    [(4, 30, "eps ╲ delta"), (30, 4, "delta ╲ eps"), (30, 30, "answer"), (4, 100, "answer")],
)
def test_a_matrix_is_turned_or_listed_where_it_does_not_fit(
    across: int, down: int, head: str
) -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(*summary_report(groups_of(records(across, down)), console.width))
    text = capture.get()
    assert head in text
    assert "…" not in text
    assert f"{across * down} cases: {across * down} DP" in text
