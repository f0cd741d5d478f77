"""Pictures: files in both formats, the same bytes every time, axes that say what they show."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.experiments.pictures import new_figure, save
from dipapprox.experiments.sweep.lines import FinishedCase, read_line
from dipapprox.experiments.sweep.plots import plot_groups
from dipapprox.experiments.sweep.summary import Group, groups_of, readable

ROOT = Path(__file__).parent.parent.parent


def record(task: str, result: dict[str, object] | None, **fields: str) -> FinishedCase:
    """One line of a results file."""
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


def test_guarantee_against_noise(tmp_path: Path) -> None:
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


def test_numbers_of_different_kinds_never_share_a_picture(tmp_path: Path) -> None:
    records = [
        *(record("profile", {"delta_enclosure": ["0.1", "0.2"]}, eps=e, eps_prv="1") for e in "12"),
        *(record("profile", {"eps_prv_enclosure": ["1", "2"]}, eps=e, delta="0") for e in "12"),
    ]
    names = {path.name for path in plot_groups(groups_of(records), tmp_path)}
    assert {"profile-svt-delta-by-eps.svg", "profile-svt-eps_prv-by-eps.svg"} <= names
    assert "least $\\delta$ (probability)" in words(tmp_path / "profile-svt-delta-by-eps.svg")


def test_maps_show_by_how_much_a_claim_holds_or_fails(tmp_path: Path) -> None:
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


def test_pictures_that_cannot_be_written(tmp_path: Path) -> None:
    figure, _ = new_figure()
    with pytest.raises(UserError, match=r"cannot write 'x\.bmp'") as wrong:
        save(figure, tmp_path / "x.bmp")
    assert wrong.value.hint == "the name must end in .svg, .png, .pdf"
    with pytest.raises(UserError, match="cannot write"):
        save(figure, tmp_path / "no" / "x.svg")
