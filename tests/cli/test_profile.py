"""`profile`, `calibrate` and `compose` on the command line: JSON, CSV, text, pictures."""

import csv
import importlib
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest

import dipapprox
from tests.cli.running import enclosure, run, run_json

PROFILE = ("profile", "svt.dpg", "--eps", "1/2")


def test_csv(files) -> None:
    status, text = run(*PROFILE, "--curve", "0:0.2:5", "--csv")
    assert status == 0
    rows = list(csv.DictReader(StringIO(text)))
    assert len(rows) == 5
    _, fields = run_json(*PROFILE, "--curve", "0:0.2:5")
    for row, point in zip(rows, fields["curve"], strict=True):
        assert row["eps_prv"] == point["eps_prv"]
        assert [row["delta_lower"], row["delta_upper"]] == point["delta_enclosure"]
        assert row["line_slope"] == point["line"]["slope"]
    assert run(*PROFILE, "--delta", "1/100", "--csv")[1].startswith("delta,eps_prv_lower,eps_prv")
    assert run(*PROFILE, "--csv")[1] == "eps_prv,delta_lower,delta_upper\n1/2,0,0\n"
    assert run(*PROFILE, "--renyi", "2", "--csv")[1].count("\n") == 2


def test_reports(files) -> None:
    assert "least ε_prv for δ = 1/100" in run(*PROFILE, "--delta", "0.01")[1]
    assert "0.0239073584" in run(*PROFILE, "--eps-prv", "0.1")[1]
    assert "zCDP" in run(*PROFILE, "--renyi", "2")[1]
    status, text = run(*PROFILE, "--curve", "0:0.3:12")
    assert (status, "between them to within" in text) == (0, True)
    status, text = run("profile", "coin.dpg", "--eps", "1", "--delta", "0")
    assert "no ε_prv is enough" in text


@pytest.mark.parametrize("name", ["curve.svg", "curve.png"])
def test_pictures(files, name) -> None:
    assert run(*PROFILE, "--curve", "0:0.3:4", "--plot", name)[0] == 0
    content = (files / name).read_bytes()
    assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<svg")
    assert len(content) > 3_000


def test_pictures_without_matplotlib(files, monkeypatch, capsys) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    program = dipapprox.parse(files / "svt.dpg")
    curve = dipapprox.profile(program, eps="1/2", curve="0:0.3:3")
    monkeypatch.setattr(importlib, "import_module", missing)
    assert run(*PROFILE, "--curve", "0:0.3:3", "--plot", "x.svg")[0] == 0
    assert (files / "x.svg").read_text() == curve.plot().svg() + "\n"
    assert run(*PROFILE, "--curve", "0:0.3:3", "--plot", "x.png") == (2, "")
    error = capsys.readouterr().err
    assert "needs matplotlib" in error
    assert "dipapprox[plots]" in error


def test_limits(files, capsys) -> None:
    assert run(*PROFILE, "--delta", "0", "--timeout", "1e-9") == (3, "")
    assert "time limit" in capsys.readouterr().err
    # Eight bits do not give the width asked for: an answer, with its reason.
    status, fields = run_json(
        *PROFILE, "--delta", "0.01", "--width", "1e-40", "--precision", "8", "--max-precision", "8"
    )
    assert status == 3
    assert "width" in fields["reason"]
    wide = enclosure(fields["eps_prv_enclosure"])
    _, better = run_json(*PROFILE, "--delta", "0.01", "--width", "1e-40")
    assert better["reason"] is None
    narrow = enclosure(better["eps_prv_enclosure"])
    assert wide.meets(narrow)
    assert narrow.width <= Fraction(1, 10**40) < wide.width


NOISE = """
[[run]]
mechanism = "gaussian"
sigma = 4
times = 10
"""


@pytest.fixture
def specs(files: Path) -> Path:
    (files / "noise.toml").write_text(NOISE, encoding="utf-8")
    return files


def test_a_picture(specs) -> None:
    assert run("compose", "noise.toml", "--curve", "0:2:5", "--plot", "x.svg")[0] == 0
    assert (specs / "x.svg").read_bytes().startswith(b"<svg")
