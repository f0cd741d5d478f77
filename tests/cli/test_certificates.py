"""`--certificate` and `check` at the command line, of programs and of functions in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from dipapprox.cli.app import main
from dipapprox.errors import LimitReached
from tests.cli.running import run

SVT = str(Path(__file__).parents[2] / "programs" / "svt_gauss.dpg")


def certify(path: Path, *words: str) -> int:
    return main(["verify", SVT, "--eps", "1/2", *words, "--certificate", str(path)])


def test_where_the_kernel_has_no_rule_the_verdict_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    words = ["--eps", "1/2..1", "--eps-prv", "eps^2", "--delta", "1/5", "--certificate", str(path)]
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


FILE = str(Path(__file__).parents[2] / "examples" / "mechanisms.py")


def test_they_are_proved_for_all_real_inputs(tmp_path: Path) -> None:
    out = tmp_path / "above.json"
    status, shown = run("prove", f"{FILE}:above", "--reals", "--certificate", str(out))
    assert status == 0
    assert "threshold <- laplace(T, 2 / eps)" in shown  # the lines are those of the function
    assert run("check", str(out))[0] == 0
