"""Certificates of violations that a number shows: by cells of it, which the kernel encloses."""

import json
from pathlib import Path

import pytest

from dipapprox.cli.app import main
from dipapprox.replays.digest import digest

PROGRAMS = Path(__file__).parents[3] / "programs" / "numbers"


def certified(folder: Path, name: str, *claim: str) -> Path:
    found = folder / "found.json"
    program = str(PROGRAMS / f"{name}.dpg")
    assert main(["verify", program, "--eps", "1", *claim, "--certificate", str(found)]) == 1
    return found


def test_a_violation_of_more_is_refuted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = certified(tmp_path, "gaussian_mechanism", "--eps-prv", "1/2", "--delta", "0.2")
    text = found.read_text(encoding="utf-8")
    fields = json.loads(text)
    fields["claim"]["delta"] = fields["steps"][0]["delta"] = "39/100"
    fields["digest"] = digest(fields)
    found.write_text(json.dumps(fields), encoding="utf-8")
    assert main(["check", str(found)]) != 0
    capsys.readouterr()


def test_decisions_are_refused_with_what_to_ask_instead(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decide", str(PROGRAMS / "gaussian_mechanism.dpg")]) == 2
    assert "ask verify, also about an interval of eps" in capsys.readouterr().err
