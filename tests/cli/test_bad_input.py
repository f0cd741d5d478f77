"""Bad input: a clear message on stderr, nothing on stdout, exit status 2, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dipapprox.cli import app
from dipapprox.cli.app import join_negative_values
from dipapprox.numerics.probability import OutputProbabilities
from tests.cli.running import run

pytestmark = pytest.mark.usefixtures("files")


def test_a_bug_is_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(OutputProbabilities, "distributions", broken)
    assert run("verify", "svt.dpg", "--eps", "1", "--delta", "0") == (3, "")
    assert "internal error: ZeroDivisionError: oops (a bug" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dipapprox ")


def test_negative_values_are_joined_to_their_flags() -> None:
    assert join_negative_values(["--input", "-1,0", "--eps", "1"]) == ["--input=-1,0", "--eps", "1"]
    assert join_negative_values(["--pairs", "-.5,0~0,-1"]) == ["--pairs=-.5,0~0,-1"]
    assert join_negative_values(["-p", "x=-1", "--json", "-p", "y=2"])[-1] == "y=2"
    assert join_negative_values(["--input=-1", "-1"]) == ["--input=-1", "-1"]


def test_a_closed_pipe_keeps_the_verdict(files: Path) -> None:
    """`dipapprox … | head -0`: no message, and the status still tells the verdict."""
    read, written = os.pipe()
    os.close(read)
    root = Path(app.__file__).parents[2]
    with os.fdopen(written, "wb") as pipe:
        ended = subprocess.run(
            [
                sys.executable,
                "-m",
                "dipapprox",
                "verify",
                "svt.dpg",
                "--eps",
                "1",
                "--delta",
                "0.5",
            ],
            stdout=pipe,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(root)},
            cwd=files,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_claim_about_no_pairs_is_said_to_be_vacuous(
    files: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    text = "input q in {0, 3}\noutput out in {0, 3}\nadjacent linf 1\nout <- q\n"
    (files / "apart.dpg").write_text(text)
    status, out = run("verify", "apart.dpg", "--eps", "1", "--delta", "0", *words)
    assert status == 0 and "DP" in out
    warning = "warning: no two different inputs are adjacent: the claim holds vacuously\n"
    assert capsys.readouterr().err == warning


@pytest.mark.parametrize(
    "text", ["\ufeff[[[0, 0], [0, 1]]]", '[[["0", 0], [0, "1/1"]]]', "[" * 100_000]
)
def test_pair_files(files: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (files / "pairs.json").write_text(text, encoding="utf-8")
    words = ("verify", "svt.dpg", "--eps", "1", "--delta", "1/2", "--pairs", "pairs.json")
    deep = len(text) > 1000
    assert run(*words)[0] == (2 if deep else 0)
    assert ("not a list of pairs" in capsys.readouterr().err) == deep
