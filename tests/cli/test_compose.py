"""`compose` on the command line: JSON, reports, pictures, exit statuses, bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run, run_json

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


def test_a_picture(specs: Path) -> None:
    assert run("compose", "noise.toml", "--curve", "0:2:5", "--plot", "x.svg")[0] == 0
    assert (specs / "x.svg").read_bytes().startswith(b"<svg")


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
