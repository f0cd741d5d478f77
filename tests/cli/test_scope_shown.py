"""Reports name what an answer is about: domains, pairs, what `disc` leaves out, what was done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run, run_json

pytestmark = pytest.mark.usefixtures("files")

SCOPE = "for inputs q[1..2] in {0, 1}, adjacent linf 1"
QUESTIONS = [
    ("verify", "--eps", "1/2", "--delta", "0.01"),
    ("verify", "--eps", "1/2", "--eps-prv", "1/100", "--delta", "0"),
    ("profile", "--eps", "1/2", "--eps-prv", "1/10"),
    ("calibrate", "--eps-prv", "1", "--delta", "0.01", "--width", "0.9"),
    ("decide", "--interval", "1/2..1/2", "--delta", "0.01"),
]


@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
def test_every_panel_says_what_it_is_about(words: tuple[str, ...]) -> None:
    command, *asked = words
    _, text = run(command, "svt.dpg", *asked)
    assert SCOPE in text
    _, text = run(command, "svt.dpg", *asked, "--pairs", "0,0~0,1; 0,0~1,0")
    headline = text.splitlines()[1]
    assert "for the 2 listed pairs" in headline
    assert SCOPE not in text


def test_pairs_of_a_file_are_ordered(files: Path) -> None:
    (files / "pairs.json").write_text("[[[0,0],[0,1]], [[0,0],[1,0]], [[0,1],[1,0]]]")
    _, text = run("verify", "svt.dpg", "--eps", "1/2", "--delta", "0.01", "--pairs", "pairs.json")
    assert "svt: the claim holds for the 3 listed pairs (ordered)" in text
    _, text = run("verify", "svt.dpg", "--eps", "1/2", "--delta", "0.01", "--pairs", "single")
    assert "svt: the claim holds for the pair (0, 0) ~ (0, 1)" in text


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("--interval 1..2 --delta 0.1", "12 ordered pairs, 3 outputs, by enclosures for all ε in"),
        ("--interval 1..1 --delta 0.1", "12 ordered pairs, 3 outputs, by enclosures for ε = 1"),
        ("--budget 1/100", "1 ordered pair, 3 outputs, by enclosures at ε = 1"),
    ],
)
def test_decisions_by_enclosures_say_what_was_done(words: str, done: str) -> None:
    _, text = run("decide", "svt.dpg", *words.split())
    assert done in text
    assert "inequalit" not in text
    _, fields = run_json("decide", "svt.dpg", *words.split())
    assert (fields["pairs"], fields["inequalities"]) == (int(done.split()[0]), 0)
