"""What people expect of a command line: names, standard input, warnings, plain terminals."""

import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper

import pytest

from dipapprox.cli import app, command, progress
from dipapprox.cli.progress import reporting
from dipapprox.language import load
from tests.cli.running import run, run_json

CLAIM = ("--eps", "1/2", "--delta", "0.01")


def test_a_program_that_comes_along_is_found_by_its_name(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("explain", "dipc/svt1")[0] == 0
    assert run("show", "svt_gauss")[1].startswith("# SVT-Gauss")
    (tmp_path / "svt_gauss").write_text("output out in {0, 1}\nadjacent all\nout <- 1\n")
    assert run("show", "svt_gauss")[1].startswith("output out")


def test_a_minus_is_standard_input(monkeypatch, tmp_path) -> None:
    text = (load.BUNDLED / "svt_gauss.dpg").read_bytes()
    load._standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text)))
    out = tmp_path / "certificate.json"
    assert run("verify", "-", *CLAIM, "--certificate", str(out))[0] == 0
    assert run("check", str(out))[0] == 0
    load._standard_input.cache_clear()


def test_what_is_closed_is_not_written(monkeypatch) -> None:
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert app.main(["verify", "svt_gauss", *CLAIM]) == 0
    assert app.main(["verify", "nothing.dpg", *CLAIM]) == 2


def test_an_interval_in_brackets_is_told_how_it_is_written(monkeypatch, capsys) -> None:
    load._standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"input q in [0, 1]\n")))
    assert run("show", "-")[0] == 2
    said = capsys.readouterr().err
    assert said.startswith("standard input:1:12: syntax error: unexpected '['")
    assert "all numbers between 'real 0..1'" in said
    load._standard_input.cache_clear()


def test_what_is_not_used_is_said(tmp_path, capsys) -> None:
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


def test_signs_have_words(monkeypatch) -> None:
    command.register()
    said = "ε_prv ≤ δ … ∞ ☃".encode("ascii", errors=command.HANDLER).decode()
    assert said == "eps_prv <= delta ... inf ?"
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    assert command.shown("δ") == "delta"


def test_a_wide_terminal_without_greek_letters() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "dipapprox", "verify", "svt_gauss", *CLAIM),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "200"},
    )
    lines = done.stdout.decode("ascii").splitlines()
    assert "(eps_prv, delta) = (1/2, 1/100)" in lines[2]
    assert {len(line) for line in lines} == {100}, "panels are not too wide"


# --- what an answer is about ----------------------------------------------------------------------

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
def test_every_panel_says_what_it_is_about(words) -> None:
    command, *asked = words
    _, text = run(command, "svt.dpg", *asked)
    assert SCOPE in text
    _, text = run(command, "svt.dpg", *asked, "--pairs", "0,0~0,1; 0,0~1,0")
    headline = text.splitlines()[1]
    assert "for the 2 listed pairs" in headline
    assert SCOPE not in text


def test_pairs_of_a_file_are_ordered(files) -> None:
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
def test_decisions_by_enclosures_say_what_was_done(words, done) -> None:
    _, text = run("decide", "svt.dpg", *words.split())
    assert done in text
    assert "inequalit" not in text
    _, fields = run_json("decide", "svt.dpg", *words.split())
    assert (fields["pairs"], fields["inequalities"]) == (int(done.split()[0]), 0)


# --- progress -------------------------------------------------------------------------------------


class Bar:
    def __init__(self, shown: list[object]) -> None:
        self.shown = shown

    def update(self, done: int, total: int | None) -> None:
        self.shown.append((done, total))

    def close(self) -> None:
        self.shown.append("closed")


@pytest.mark.parametrize(
    ("terminal", "patience", "shown"),
    [(True, 0.0, [(1, None), (2, 3), "closed"]), (True, 1e9, []), (False, 0.0, [])],
)
def test_a_bar_for_long_runs_on_terminals(terminal, patience, shown, monkeypatch) -> None:
    found: list[object] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    monkeypatch.setattr(progress, "ProgressBar", lambda unit: Bar(found))
    with reporting("pairs") as report:
        report(1, None)
        report(2, 3)
    assert found == shown
