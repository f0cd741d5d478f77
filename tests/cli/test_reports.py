"""Reports for people: names are no markup; summaries of sweeps have whole words."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import dipapprox
from dipapprox.cli.output import show
from dipapprox.cli.report import report
from dipapprox.cli.sweep import summary_report
from dipapprox.experiments.sweep.execution import run_case
from dipapprox.experiments.sweep.ledger import FinishedCase, RecordedAnswer, read_line
from dipapprox.experiments.sweep.spec import cases_of, read_spec, record
from dipapprox.experiments.sweep.summary import groups_of
from tests.cli.conftest import SIGNED


def violated(name: str) -> dipapprox.Verdict:
    program = dipapprox.parse(SIGNED, name=name)
    found = dipapprox.verify(program, eps=1, eps_prv=0, delta=0)
    assert isinstance(found, dipapprox.Verdict)
    return found


def test_names_are_not_markup() -> None:
    out = StringIO()
    name = "[bold]x[/bold] :smile:"
    console = Console(file=out, width=100, color_system=None)
    show(console, report(violated(name).describe()))
    assert name in out.getvalue()


def test_html_for_notebooks() -> None:
    html = violated("a < b")._repr_html_()
    assert html.startswith("<div><p><b>Not_DP</b> a &lt; b: the claim is violated</p><table>")
    assert "q = (-1, -1)" in html


def grid(across: int, down: int) -> Iterator[FinishedCase]:
    """A grid over eps (down) and delta (across), all DP."""
    for eps in range(1, down + 1):
        for delta in range(across):
            asked = {"eps": str(eps), "delta": f"{delta}/100"}
            answer = RecordedAnswer(verdict="DP", delta_enclosure=("0", "0"))
            yield FinishedCase("key", "verify", "p.dpg", {}, answer, None, 0.25, asked)


@pytest.mark.parametrize(
    ("across", "down", "head"),
    [(4, 30, "eps ╲ delta"), (30, 4, "delta ╲ eps"), (30, 30, "answer"), (4, 100, "answer")],
)
def test_a_matrix_is_turned_or_listed_where_it_does_not_fit(
    across: int, down: int, head: str
) -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(*summary_report(groups_of(grid(across, down)), console.width))
    text = capture.get()
    assert head in text
    assert "…" not in text
    assert f"{across * down} cases: {across * down} DP" in text


def test_answers_of_sweeps_say_what_they_are_about(tmp_path: Path) -> None:
    (tmp_path / "p.dpg").write_text(
        "param N = 1\ninput q[N] in {0, 1}\noutput o in {0, 1, 2}\nadjacent l0 1\n"
        "x <- Lap(q[N], 1 / eps)\no <- disc(x; 0 < 1 < 2)\n"
    )
    (tmp_path / "grid.toml").write_text(
        '[[grid]]\ntask = "verify"\nprograms = ["p.dpg"]\nparameters = { N = [1, 2, 3, 4] }\n'
        'eps = 1\ndelta = 1\nwiden = ["0..1", "-5..5", "1..2"]\n'
    )
    lines = [record(case, run_case(case)) for case in cases_of(read_spec(tmp_path / "grid.toml"))]
    wide = [line for line in lines if line["widen"] == "-5..5"]
    results = [line["result"] for line in wide]
    assert [result["scope"]["inputs"] for result in results if isinstance(result, dict)] == [
        "q[1] in -5..5 (widened from {0, 1})",
        *(f"q[1..{n}] in -5..5 (widened from {{0, 1}})" for n in (2, 3, 4)),
    ]
    refused = [line["failure"] for line in lines if line["widen"] == "1..2"]
    assert all("its value 0 is not in there" in str(failure) for failure in refused)
    read = [read_line(json.dumps(line).encode()) for line in lines]
    shown = [line for line in summary_report(groups_of(read), 80) if isinstance(line, str)]
    assert shown[2:] == [
        "  for inputs q[1] in -5..5 (widened from {0, 1}), adjacent l0 1",
        "  … (6 others)",
        "  for inputs q[1..4] in {0, 1}, adjacent l0 1",
        "  about the labels of 'disc' only: publishing the number itself may need more",
    ]
    few = list(summary_report(groups_of([read[0], read[1], read[3]]), 80))
    assert "  … (1 other)" in few
