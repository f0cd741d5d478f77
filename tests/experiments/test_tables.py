"""The reproduced tables: nothing lost, nothing unexplained, and the figures that are promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from dipapprox.experiments.tables.plan import plan, printed_rows
from dipapprox.experiments.tables.rows import make_tables
from dipapprox.experiments.tables.table import Notes, PaperTable
from tests.cli.running import run
from tests.thorough import THOROUGH

TABLES = ("7", "dipc-3", "dipaut-1", "dipaut-4", "coupling-1")
"""Of verdicts, decisions, least budgets by structure and by coupling; `make tables` makes all."""


@pytest.fixture(scope="module")
def quick() -> dict[str, PaperTable]:
    """Tables, rows that take little time; all of them where everything is asked."""
    few = [table for table in plan().tables if THOROUGH or table.name in TABLES]
    made = make_tables(plan(), few, quick=True, progress=lambda _done, _total: None)
    return {table.name: table for table in made}


def test_every_difference_is_explained(quick: dict[str, PaperTable]) -> None:
    assert [each for table in quick.values() for each in table.unexplained] == []
    for table in quick.values():
        assert table.rows
        assert not any("Unknown" in cell for row in table.rows for cell in row)
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_weights_that_are_not_the_least_budget_are_marked(quick: dict[str, PaperTable]) -> None:
    columns = quick["dipaut-1"].columns
    weight, least = columns.index("weight"), columns.index("least D")
    cells = {row[0]: row for row in quick["dipaut-1"].rows}
    assert (cells["SVT"][weight], cells["SVT"][least]) == ("5/4", "5/4")
    assert cells["GAP-PV"][weight] == "9/10"
    assert cells["GAP-PV"][least].startswith("101/5 [")
    assert cells["10-MIN-MAX"][least].startswith("3/5")
    proved = [row for row in quick["dipaut-4"].rows if not row[1].startswith("refused")]
    assert len(proved) >= 31
    assert all("unexplained" not in cell for row in quick["coupling-1"].rows for cell in row)


def test_known_differences_are_marked(quick: dict[str, PaperTable]) -> None:
    cells = {row[0]: row for row in quick["7"].rows}
    assert cells["SVT-Gauss-Ge-Leaky-2"][5].startswith("DP [")
    assert "Leaky-2 would be DP" in " ".join(quick["7"].notes.values())
    random = {row[0].partition(" ")[0]: row for row in quick["dipc-3"].rows}["Rand1"]
    assert random[2].startswith("DP [")
    assert random[3] == "Not_DP"


def test_a_difference_without_a_note_is_noticed() -> None:
    notes = Notes()
    assert notes.compare("DP", "DP", None, "x") == "DP"
    assert notes.compare("DP", "T.O", None, "x") == "DP"
    assert "unexplained" in notes.compare("DP", "Not_DP", None, "x")
    assert "unexplained" in notes.compare("Unknown", "DP", "a note is no excuse", "y")
    assert notes.compare("DP", "Not_DP", "because", "z") == "DP [1]"
    assert [each.partition(":")[0] for each in notes.unexplained] == ["x", "y"]


def test_files_are_written(tmp_path: Path) -> None:
    status, text = run("tables", "8", "dipc-2", "--quick", "--out", str(tmp_path))
    assert status == 0
    assert "CheckDP" in text
    markdown = (tmp_path / "tables.md").read_text()
    assert "## Table 8" in markdown
    assert "## DiPC Table 2" in markdown
    header, *rows = (tmp_path / "table-8.csv").read_text().splitlines()
    assert header.startswith("example,N,")
    assert len(rows) == len(printed_rows("table8"))


def test_bars_in_cells_are_escaped() -> None:
    table = Notes().table("x", "X", ("a", "|G|"), [("1|2", "3")])
    header, rule, row = table.as_markdown().splitlines()[2:5]
    assert (header, rule, row) == (r"| a | \|G\| |", "|---|---|", r"| 1\|2 | 3 |")
