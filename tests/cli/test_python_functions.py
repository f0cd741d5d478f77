"""Commands about mechanisms in Python files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dipapprox
from examples import mechanisms
from tests.cli.running import run

FILE = str(Path(__file__).parents[2] / "examples" / "mechanisms.py")


def test_they_are_verified_and_certified(tmp_path: Path) -> None:
    out = tmp_path / "svt.json"
    words = ["--eps", "1/2", "--delta", "0.01", "--certificate", str(out), "--json"]
    status, shown = run("verify", f"{FILE}:svt", "-p", "N=3", *words)
    assert status == 0
    assert json.loads(shown)["program"] == "svt(N=3, T=0)"
    assert "threshold <- Gauss(0, 2 / eps)" in json.loads(out.read_text())["program"]["text"]
    assert run("check", str(out))[0] == 0


def test_they_are_proved_for_all_real_inputs(tmp_path: Path) -> None:
    out = tmp_path / "above.json"
    status, shown = run("prove", f"{FILE}:above", "--reals", "--certificate", str(out))
    assert status == 0
    assert "threshold <- laplace(T, 2 / eps)" in shown  # the lines are those of the function
    assert run("check", str(out))[0] == 0


def test_they_are_composed(tmp_path: Path) -> None:
    out = tmp_path / "many.json"
    words = ["--eps", "1/2", "--times", "9", "--delta", "1e-6", "--width", "1"]
    status, shown = run("compose", f"{FILE}:sign", *words, "--certificate", str(out))
    assert status == 0
    assert "9 runs of sign" in shown
    assert run("check", str(out))[0] == 0
    tables = [{"program": function, "eps": "1/2", "times": 9} for function in (mechanisms.sign,)]
    assert dipapprox.compose(tables).delta(1).reason is None


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
