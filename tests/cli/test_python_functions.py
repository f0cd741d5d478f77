"""Commands about mechanisms in Python files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run

FILE = str(Path(__file__).parents[2] / "examples" / "mechanisms.py")


def test_they_are_proved_for_all_real_inputs(tmp_path: Path) -> None:
    out = tmp_path / "above.json"
    status, shown = run("prove", f"{FILE}:above", "--reals", "--certificate", str(out))
    assert status == 0
    assert "threshold <- laplace(T, 2 / eps)" in shown  # the lines are those of the function
    assert run("check", str(out))[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", FILE, "--eps", "1", "--delta", "0"], "defines several mechanisms"),
        (["verify", f"{FILE}:svd", "--eps", "1", "--delta", "0"], "did you mean 'svt'?"),
        (["verify", "no.py:svt", "--eps", "1", "--delta", "0"], "there is no file 'no.py'"),
        (["prove", f"{FILE}:svt", "--for-all", "N"], "executed for one number of rounds"),
        (["decide", f"{FILE}:above", "-p", "M=3"], "no parameter 'M'"),
    ],
)
def test_what_is_wrong(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = run(*words)
    assert status == 2
    assert message in capsys.readouterr().err
