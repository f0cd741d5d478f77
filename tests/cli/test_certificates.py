"""`verify --certificate` and `check` at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dipapprox.cli.app import main
from dipapprox.errors import LimitReached

SVT = str(Path(__file__).parents[2] / "programs" / "svt_gauss.dpg")


def certify(path: Path, *words: str) -> int:
    return main(["verify", SVT, "--eps", "1/2", *words, "--certificate", str(path)])


def test_where_the_kernel_has_no_rule_the_verdict_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    words = ["--eps", "1/2..1", "--delta", "1/10", "--certificate", str(path)]
    assert main(["verify", SVT, *words]) == 0
    shown = capsys.readouterr()
    assert shown.err == (
        "no certificate: the kernel has no proof: there is no closed form of Gauss noise\n"
    )
    assert "the claim holds" in shown.out and "replayed" not in shown.out
    assert not path.exists()
    assert main(["verify", SVT, *words, "--proved"]) == 3


def test_a_limit_ends_the_proof_and_not_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise LimitReached("time limit: 5 s")

    monkeypatch.setattr("dipapprox.replays.files.replayed", stopped)
    path = tmp_path / "certificate.json"
    assert certify(path, "--eps-prv", "1/10", "--delta", "1/40") == 0
    shown = capsys.readouterr()
    assert shown.err == "no certificate: time limit: 5 s\n"
    assert "the claim holds" in shown.out
    assert not path.exists()
