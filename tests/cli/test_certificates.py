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


def test_a_program_that_the_check_cannot_follow_comes_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It follows 2^n paths, where the verdict merges them."""
    path = tmp_path / "program.dpg"
    draws = "".join(
        f"x{k} <- Lap(0, 1)\nif x{k} >= 0 then o <- 1 else o <- 0 end\n" for k in range(9)
    )
    path.write_text(
        f"input q in real 0..1\noutput o in 0..2\nadjacent linf 1\n{draws}r <- Lap(q, 1 / eps)\n"
        "if r >= 0 then o <- 2 end\n",
        encoding="utf-8",
    )
    words = ["--eps", "1", "--delta", "0.1", "--certificate", str(tmp_path / "c.json")]
    for limit, warned in (("100000", False), ("200", True)):
        assert main(["verify", str(path), *words, "--max-states", limit]) == 0
        printed = capsys.readouterr()
        assert ("`check` cannot confirm" in printed.err) is warned
