"""`verify --certificate` and `check` at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dipapprox.cli.app import main

SVT = str(Path(__file__).parents[2] / "programs" / "svt_gauss.dpg")


def certify(path: Path, *words: str) -> int:
    return main(["verify", SVT, "--eps", "1/2", *words, "--certificate", str(path)])


def test_the_delta_of_a_witness_is_not_called_the_largest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    for delta, label, other, status in (
        ("1/50", "δ of this pair", "largest δ", 1),
        ("1/40", "largest δ", "δ of this pair", 0),
    ):
        assert certify(path, "--eps-prv", "1/10", "--delta", delta) == status
        assert "cannot confirm" not in capsys.readouterr().err
        assert main(["check", str(path)]) == 0
        text = capsys.readouterr().out
        assert label in text
        assert other not in text


def test_a_certificate_too_large_to_check_comes_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    assert certify(path, "-p", "N=15", "--eps-prv", "1.24", "--delta", "0.01") == 0
    assert "`check` cannot confirm" in capsys.readouterr().err
    assert main(["check", str(path)]) == 3
    assert "32768 inputs" in capsys.readouterr().out.replace("\n", " ")
