"""The reproduced tables and the pictures: nothing lost, nothing unexplained, axes with units."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.experiments.pictures import new_figure, plot_groups, save
from dipapprox.experiments.sweep.ledger import FinishedCase, read_line
from dipapprox.experiments.sweep.summary import Group, groups_of, readable
from dipapprox.experiments.tables.rows import make_tables
from dipapprox.experiments.tables.table import Notes, PaperTable, plan, printed_rows
from tests.cases import THOROUGH, refuses
from tests.cli.running import run

TABLES = ("7", "dipc-3", "dipaut-1", "coupling-1")
"""Of verdicts, decisions, least budgets by structure and by coupling; `make tables` makes all."""


@pytest.fixture(scope="module")
def quick() -> dict[str, PaperTable]:
    """Tables, rows that take little time; all of them where everything is asked."""
    few = [table for table in plan().tables if THOROUGH or table.name in TABLES]
    made = make_tables(plan(), few, quick=True, progress=lambda _done, _total: None)
    return {table.name: table for table in made}


def test_every_difference_is_explained(quick) -> None:
    assert [each for table in quick.values() for each in table.unexplained] == []
    for table in quick.values():
        assert table.rows
        assert not any("Unknown" in cell for row in table.rows for cell in row)
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_weights_that_are_not_the_least_budget_are_marked(quick) -> None:
    columns = quick["dipaut-1"].columns
    weight, least = columns.index("weight"), columns.index("least D")
    cells = {row[0]: row for row in quick["dipaut-1"].rows}
    assert (cells["SVT"][weight], cells["SVT"][least]) == ("5/4", "5/4")
    assert cells["GAP-PV"][weight] == "9/10"
    assert cells["GAP-PV"][least].startswith("101/5 [")
    assert cells["10-MIN-MAX"][least].startswith("3/5")
    if THOROUGH:
        proved = [row for row in quick["dipaut-4"].rows if not row[1].startswith("refused")]
        assert len(proved) >= 31
    assert all("unexplained" not in cell for row in quick["coupling-1"].rows for cell in row)


def test_known_differences_are_marked(quick) -> None:
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


def test_files_are_written(tmp_path) -> None:
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


# --- pictures -------------------------------------------------------------------------------------


def record(task: str, result: dict[str, object] | None, **fields: str) -> FinishedCase:
    line = {
        "case": "0",
        "task": task,
        "program": "svt.dpg",
        "params": {"N": fields.pop("N", "2")},
        "result": result,
        "failure": None if result is not None else "time limit",
        "seconds": 0.25,
        **fields,
    }
    return read_line(json.dumps(line).encode())


def budgets() -> list[FinishedCase]:
    """Least budgets for N in {1, 2} and eps in {1/2, 1, 50}; one is infinite, one is missing."""
    found = [
        record("profile", {"eps_prv_enclosure": [f"{n * e}", f"{n * e}.1"]}, N=str(n), eps=str(e))
        for n in (1, 2)
        for e in (1, 50)
    ]
    found.append(record("profile", {"eps_prv_enclosure": ["inf", "inf"]}, N="1", eps="1/2"))
    found.append(record("profile", None, N="2", eps="1/2"))
    return found


def words(svg: Path) -> str:
    """The texts of a picture: matplotlib draws them as paths, and says them in comments."""
    text = svg.read_text(encoding="utf-8")
    found = re.finditer(r"<!-- (.*?) -->|<t(?:itle|ext)\b[^>]*>(.*?)<", text)
    return "\n".join(each[1] or each[2] for each in found)


def group_of(records: list[FinishedCase]) -> Group:
    (group,) = groups_of(records)
    return group


def test_guarantee_against_noise(tmp_path) -> None:
    written = plot_groups([group_of(budgets())], tmp_path)
    names = {path.name for path in written}
    assert {p.name for p in tmp_path.iterdir()} == names
    for stem in ("profile-svt-eps_prv-by-eps", "profile-svt-map", "profile-svt-time-N"):
        assert {f"{stem}.svg", f"{stem}.png"} <= names
    shown = words(tmp_path / "profile-svt-eps_prv-by-eps.svg")
    assert "of the program (no unit)" in shown and "least budget" in shown
    assert "svt: budget against ε" in shown
    assert "N = 1" in shown and "N = 2" in shown
    times = words(tmp_path / "profile-svt-time-N.svg")
    assert "time (seconds per case)" in times and "N (array cells)" in times


def test_numbers_of_different_kinds_never_share_a_picture(tmp_path) -> None:
    records = [
        *(record("profile", {"delta_enclosure": ["0.1", "0.2"]}, eps=e, eps_prv="1") for e in "12"),
        *(record("profile", {"eps_prv_enclosure": ["1", "2"]}, eps=e, delta="0") for e in "12"),
    ]
    names = {path.name for path in plot_groups(groups_of(records), tmp_path)}
    assert {"profile-svt-delta-by-eps.svg", "profile-svt-eps_prv-by-eps.svg"} <= names
    assert "least $\\delta$ (probability)" in words(tmp_path / "profile-svt-delta-by-eps.svg")


def test_maps_show_by_how_much_a_claim_holds_or_fails(tmp_path) -> None:
    def verdict(word: str, lower: str, upper: str) -> dict[str, object]:
        return {"verdict": word, "reason": None, "delta_enclosure": [lower, upper]}

    answers = {
        ("1", "1/1000000"): verdict("Not_DP", "0.001", "0.002"),
        ("1", "0.01"): verdict("DP", "0.001", "0.001"),
        ("2", "1/1000000"): verdict("Not_DP", "0.00001", "1"),
        ("2", "0.01"): verdict("Unknown", "0", "1"),
    }
    records = [record("verify", r, eps=e, delta=d, pairs="single") for (e, d), r in answers.items()]
    group = group_of(records)
    margins = {(r.values["eps"], r.values["delta"]): r.margin for r in group.rows}
    assert margins[("1", "1/1000000")] == -3 and margins[("2", "0.01")] is None
    assert margins[("1", "0.01")] == pytest.approx(1) == -(margins[("2", "1/1000000")] or 0)
    shown = words(plot_groups([group], tmp_path)[0])
    assert "1e-6" in shown and "1/1000000" not in shown
    assert "pairs = single" in shown and "N = 2" in shown


def test_numbers_as_people_write_them() -> None:
    written = {"1/1000000": "1e-6", "1/2": "0.5", "1/3": "1/3", "25": "25", "0.0001": "0.0001"}
    assert {text: readable(Fraction(text)) for text in written} == written
    for text in ("1e400", "1e-400", "-1e400", "123456789/10"):
        assert Fraction(readable(Fraction(text))) == Fraction(text)


def test_pictures_that_cannot_be_written(tmp_path) -> None:
    figure, _ = new_figure()
    with pytest.raises(UserError, match=r"cannot write 'x\.bmp'") as wrong:
        save(figure, tmp_path / "x.bmp")
    assert wrong.value.hint == "the name must end in .svg, .png, .pdf"
    refuses(UserError, "cannot write", save, figure, tmp_path / "no" / "x.svg")
