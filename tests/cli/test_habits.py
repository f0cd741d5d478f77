"""What people expect of a command line: names, standard input, warnings, plain terminals."""

from __future__ import annotations

import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from dipapprox.cli import plain
from dipapprox.language import load
from tests.cli.running import run

CLAIM = ("--eps", "1/2", "--delta", "0.01")


def test_a_program_that_comes_along_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("explain", "dipc/svt1")[0] == 0
    assert run("show", "svt_gauss")[1].startswith("# SVT-Gauss")
    (tmp_path / "svt_gauss").write_text("output out in {0, 1}\nadjacent all\nout <- 1\n")
    assert run("show", "svt_gauss")[1].startswith("output out")


def test_a_minus_is_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (load.BUNDLED / "svt_gauss.dpg").read_bytes()
    load._standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text)))
    out = tmp_path / "certificate.json"
    assert run("verify", "-", *CLAIM, "--certificate", str(out))[0] == 0
    assert run("check", str(out))[0] == 0
    load._standard_input.cache_clear()


def test_an_interval_in_brackets_is_told_how_it_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load._standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"input q in [0, 1]\n")))
    assert run("show", "-")[0] == 2
    said = capsys.readouterr().err
    assert said.startswith("standard input:1:12: syntax error: unexpected '['")
    assert "all numbers between 'real 0..1'" in said
    load._standard_input.cache_clear()


def test_what_is_not_used_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "slip.dpg"
    file.write_text(
        "param T = 3\ninput q in {0, 1}\noutput out in {0, 1, 2}\nadjacent linf 1\n"
        "r <- Lap(0, 1/eps)\nif r > 0 then out <- 1 else out <- 0 end\n"
    )
    assert run("verify", str(file), *CLAIM)[0] == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert [line.partition("warning: ")[2] for line in said] == [
        "the parameter 'T' is not used",
        "the input 'q' is not used",
        "the output 'out' is never 2",
    ]


def test_signs_have_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plain.register()
    said = "ε_prv ≤ δ … ∞ ☃".encode("ascii", errors=plain.HANDLER).decode()
    assert said == "eps_prv <= delta ... inf ?"
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    assert plain.shown("δ") == "delta"


def test_a_terminal_without_greek_letters() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "dipapprox", "verify", "svt_gauss", *CLAIM),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
    )
    lines = done.stdout.decode("ascii").splitlines()
    assert "(eps_prv, delta) = (1/2, 1/100)" in lines[2]
    assert {len(line) for line in lines} == {80}


def test_panels_are_not_too_wide() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "dipapprox", "verify", "svt_gauss", *CLAIM),
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert {len(line) for line in done.stdout.splitlines()} == {100}
