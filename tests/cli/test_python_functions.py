"""Commands about mechanisms in Python files."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import run

FILE = str(Path(__file__).parents[2] / "examples" / "mechanisms.py")


def test_they_are_proved_for_all_real_inputs(tmp_path: Path) -> None:
    out = tmp_path / "above.json"
    status, shown = run("prove", f"{FILE}:above", "--reals", "--certificate", str(out))
    assert status == 0
    assert "threshold <- laplace(T, 2 / eps)" in shown  # the lines are those of the function
    assert run("check", str(out))[0] == 0
