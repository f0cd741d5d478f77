"""`compose` on the command line: JSON, reports, pictures, exit statuses, bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run, run_json

PIPELINE = """
[[run]]
mechanism = "gaussian"
sigma = 4
subsample = 0.1
times = 20
[[run]]
program = "svt.dpg"
eps = "1/2"
times = 3
"""
NOISE = """
[[run]]
mechanism = "gaussian"
sigma = 4
times = 10
"""


@pytest.fixture
def specs(files: Path) -> Path:
    (files / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    (files / "noise.toml").write_text(NOISE, encoding="utf-8")
    return files


def test_a_picture(specs: Path) -> None:
    assert run("compose", "noise.toml", "--curve", "0:2:5", "--plot", "x.svg")[0] == 0
    assert (specs / "x.svg").read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("noise.toml",), "nothing is asked"),
        (("noise.toml", "--delta", "0.1", "--curve", "0:1:3"), "one question at a time"),
        (("noise.toml", "--delta", "2"), "--delta must be in [0, 1]"),
        (("noise.toml", "--delta", "0.1", "--times", "3"), "--times is of programs"),
        (("noise.toml", "--delta", "0.1", "-p", "N=3"), "-p is of programs"),
        (("noise.toml", "noise.toml", "--delta", "0.1"), "a pipeline is one file"),
        (("noise.toml", "--delta", "0.1", "--plot", "x.svg"), "--plot draws a curve"),
        (("nowhere.toml", "--delta", "0.1"), "nowhere.toml"),
        (("svt.dpg", "--delta", "0.1"), "eps is missing"),
        (("svt.dpg", "--delta", "0.1", "--eps", "1,2"), "2 values for 1 program"),
        (("svt.dpg", "--delta", "0.1", "--eps", "1", "--subsample", "1.5"), "must be in (0, 1]"),
        (
            ("pipeline.toml", "--delta", "0.1", "--adjacency", "substitution"),
            "but the runs are stated for substitution",
        ),
    ],
)
def test_bad_input(
    specs: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert run("compose", *words) == (2, "")
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[run]", "not TOML"),
        ("x = 1", "unknown key 'x'"),
        ("", "there is no run"),
        ("[run]\nsigma = 1", "there is no run"),
        ('adjacency = "swap"\n[[run]]\nmechanism = "gaussian"', "adjacency: unknown value"),
        ('[[run]]\nmechanism = "gaussian"\nsigma = nan', "nan is no number"),
        ('[[run]]\nmechanism = "laplace"\nscale = -1', "wrong.toml: run 1: scale must be > 0"),
    ],
)
def test_wrong_pipelines(
    files: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (files / "wrong.toml").write_text(text, encoding="utf-8")
    assert run("compose", "wrong.toml", "--delta", "0.1") == (2, "")
    assert message in capsys.readouterr().err


def test_adjacency_in_one_order_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "input q in {0, 1}\noutput x in {0, 1}\nadjacent increasing 1\nx <- 0\n"
        "v <- Lap(q, 1 / eps)\nif v > 2 then x <- 1 end\n"
    )
    (files / "rising.dpg").write_text(text, encoding="utf-8")
    for question in (("--delta", "0.01"), ("--eps-prv", "1/4", "--delta", "0")):
        assert run("compose", "rising.dpg", "--eps", "1", "--times", "3", *question)[0] == 2
        assert "adjacent in one order only" in capsys.readouterr().err


def test_a_number_with_noise_about_a_real_input_costs_what_its_mechanism_does(specs: Path) -> None:
    number = "input q in real 0..2\noutput y in real\nadjacent linf 1\ny <- Lap(q, 1/eps)\n"
    (specs / "number.dpg").write_text(number, encoding="utf-8")
    run_of = "[[run]]\n{}\ntimes = 20\n"
    (specs / "program.toml").write_text(
        run_of.format('program = "number.dpg"\neps = "1/10"'), encoding="utf-8"
    )
    (specs / "noise.toml").write_text(
        run_of.format('mechanism = "laplace"\nscale = 10'), encoding="utf-8"
    )
    ends = []
    for words in (
        ("number.dpg", "--eps", "1/10", "--times", "20"),
        ("program.toml",),
        ("noise.toml",),
    ):
        status, found = run_json("compose", *words, "--delta", "1e-5")
        assert status == 0
        ends.append([float(end) for end in found["eps_prv_enclosure"]])
    assert max(low for low, _ in ends) <= min(high for _, high in ends)
    assert all(high - low < 1e-2 for low, high in ends)


def test_real_inputs_behind_labels_are_not_composed(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = "input q in real 0..2\noutput o in bool\nadjacent linf 1\no <- Lap(q, 1/eps) > 1\n"
    (specs / "label.dpg").write_text(label, encoding="utf-8")
    assert run("compose", "label.dpg", "--eps", "1", "--delta", "0.1") == (2, "")
    assert "may be any real number" in capsys.readouterr().err
