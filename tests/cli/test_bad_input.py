"""Bad input: a clear message on stderr, nothing on stdout, exit status 2, never a traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dipapprox.cli import app
from dipapprox.cli.app import join_negative_values
from dipapprox.numerics.probability import OutputProbabilities
from tests.cli.running import run

pytestmark = pytest.mark.usefixtures("files")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("verify svt.dpg --eps 0 --delta 0", "eps must be > 0, got 0"),
        ("verify svt.dpg --eps -1 --delta 0", "eps must be > 0, got -1"),
        ("verify svt.dpg --eps x --delta 0", "--eps must be a number, got 'x'"),
        ("verify svt.dpg --eps nan --delta 0", "eps must be a number"),
        ("verify svt.dpg --eps 1/0 --delta 0", "zero denominator"),
        ("verify svt.dpg --eps 1 --delta 3/2", "delta must be in [0, 1], got 3/2"),
        ("verify svt.dpg --eps 1 --delta -0.1", "delta must be in [0, 1]"),
        ("verify svt.dpg --eps 1 --eps-prv -1 --delta 0", "--eps-prv must be >= 0, got -1"),
        ("verify nowhere.dpg --eps 1 --delta 0", "no file 'nowhere.dpg'"),
        ("verify . --eps 1 --delta 0", "is a directory"),
        ("verify svt.dpg CLAIM -p M=3", "M"),
        ("verify svt.dpg CLAIM -p N", "-p needs NAME=VALUE"),
        ("verify svt.dpg CLAIM -p N=2 -p N=3", "twice"),
        ("verify svt.dpg CLAIM -p N=two", "'two'"),
        ("verify svt.dpg CLAIM --pairs 0,0", "cannot read"),
        ("verify svt.dpg CLAIM --pairs ''", "--pairs is empty"),
        ("verify svt.dpg CLAIM --pairs 0,0~0,7", "7 is not in"),
        ("verify svt.dpg CLAIM --pairs 0~1", "1 value given"),
        ("verify svt.dpg CLAIM --pairs 0,0~0,1~1,1", "not a pair"),
        ("verify signed.dpg CLAIM --pairs single", "single needs 1"),
        ("verify svt.dpg CLAIM --precision 1", "--precision must be"),
        ("verify svt.dpg CLAIM --precision many", "--precision must be a number, got 'many'"),
        ("verify svt.dpg CLAIM --timeout -3", "--timeout must be > 0, got -3"),
        ("verify svt.dpg CLAIM --jobs 1.5", "--jobs must be a whole number, got 3/2"),
        ("probability svt.dpg --eps 1 --input 0", "1 value given"),
        ("probability svt.dpg --eps 1", "no values given"),
        ("probability svt.dpg --eps -1 --input 0,1", "eps must be > 0"),
        ("explain svt.dpg --input 0,2", "2 is not in the domain"),
    ],
)
def test_a_clean_message(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(*shlex.split(words.replace("CLAIM", "--eps 1 --delta 0")))
    error = capsys.readouterr().err
    assert (status, out) == (2, "")
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[[0,0],[0,1]]", "pairs.json:1:15: not JSON"),
        ("[[[0,0],[0,1],[1,1]]]", "pair 1 is not a list of two inputs"),
        ("[[[0,0],[0,1]], [[0,0],[0]]]", "pair 2, input 2: expected 2 values, got 1"),
        ("[[[0,0],[0,5]]]", "pair 1, input 2: 5 is not in the domain of 'q[2]'"),
        ("[[[0,0],[0,true]]]", "'q[2]' is neither a number nor a name"),
        ("[[[0,0],[0,NaN]]]", "must be a number, got 'NaN'"),
        ('{"a": 1}', "expected a list of pairs"),
        ("[" * 100_000, "not a list of pairs"),
        ("", "not JSON"),
    ],
)
def test_a_malformed_pairs_file(
    text: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "pairs.json").write_text(text)
    status, out = run("verify", "svt.dpg", "--eps", "1", "--delta", "0", "--pairs", "pairs.json")
    assert (status, out) == (2, "")
    assert message in capsys.readouterr().err


def test_a_bug_is_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(OutputProbabilities, "distributions", broken)
    assert run("verify", "svt.dpg", "--eps", "1", "--delta", "0") == (3, "")
    assert "internal error: ZeroDivisionError: oops (a bug" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("", "a command is missing", "dipapprox --help lists them"),
        ("frobnicate", "there is no command 'frobnicate'", "dipapprox --help lists them"),
        ("verfy svt.dpg", "there is no command 'verfy'", "did you mean 'verify'?"),
        ("svt.dpg", "there is no command 'svt.dpg'", "dipapprox verify svt.dpg --eps 1 --delta 0"),
        ("--vresion", "--vresion is no flag", "did you mean '--version'?"),
        ("verify", "FILE, --eps and --delta are missing", "dipapprox verify --help explains it"),
        ("verify svt.dpg --eps", "--eps needs a value", "dipapprox verify --help explains it"),
        ("verify svt.dpg --eps 1", "--delta is missing", "dipapprox verify --help explains it"),
        ("verify svt.dpg --esp 1", "--esp is no flag of verify", "did you mean '--eps'?"),
        (
            "decide svt.dpg --eps 1",
            "--eps is no flag of decide",
            "decide answers for every ε; --interval 1/2 is one, and verify has --eps",
        ),
        (
            "prove svt.dpg --curve 0:1:3",
            "--curve is no flag of prove",
            "profile and compose have it",
        ),
        ("decide svt.dpg --renyi 2", "--renyi is no flag of decide", "profile has it"),
        (
            "verify svt.dpg --eps 1 --delta 0 --engine nestd",
            "--engine cannot be 'nestd'",
            "did you mean 'nested'?",
        ),
    ],
)
def test_usage_errors_take_two_lines(
    words: str, message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(words.split()) == 2
    assert capsys.readouterr() == ("", f"error: {message}\nhint: {hint}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "", "--eps", "1", "--delta", "0"),
        ("prove", ""),
        ("check", ""),
        ("compose", "", "--delta", "0"),
        ("test", ""),
        ("verify", "svt.dpg", "--eps", "1", "--delta", "0", "--report", ""),
        ("verify", "svt.dpg", "--eps", "1", "--delta", "0", "--certificate", ""),
        ("profile", "svt.dpg", "--eps", "1", "--curve", "0:1:3", "--plot", ""),
    ],
)
def test_an_empty_name_is_not_the_current_folder(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(words) == 2
    assert "the name of the file is empty\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mine", "svt_gauss"])
@pytest.mark.parametrize("kind", ["dpg", "dip", "dipa", "py"])
def test_a_name_without_its_extension_is_that_file_and_no_example(
    name: str, kind: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / f"{name}.{kind}").write_text("")
    assert app.main(["verify", name, "--eps", "1", "--delta", "0"]) == 2
    said = f"error: there is no file '{name}'\nhint: did you mean '{name}.{kind}'?\n"
    assert capsys.readouterr() == ("", said)


def test_real_outputs_in_rounds_without_end(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command does not name itself as the one that would answer."""
    (files / "sums.dpg").write_text(
        "param N = 2\ninput q[N] in {0, 1}\noutput y[N] in real\nadjacent linf 1\n"
        "for i in 1..N do\ny[i] <- Lap(q[i], 1/eps)\nend\n"
    )
    assert run("prove", "sums.dpg", "--for-all", "N") == (2, "")
    error = capsys.readouterr().err
    assert "the output 'y[i]' may be any real number" in error
    assert "prove without --for-all" in error
    assert run("prove", "sums.dpg", "--reals")[0] == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dipapprox ")


def test_negative_values_are_joined_to_their_flags() -> None:
    assert join_negative_values(["--input", "-1,0", "--eps", "1"]) == ["--input=-1,0", "--eps", "1"]
    assert join_negative_values(["--pairs", "-.5,0~0,-1"]) == ["--pairs=-.5,0~0,-1"]
    assert join_negative_values(["-p", "x=-1", "--json", "-p", "y=2"])[-1] == "y=2"
    assert join_negative_values(["--input=-1", "-1"]) == ["--input=-1", "-1"]


def test_a_closed_pipe_keeps_the_verdict(files: Path) -> None:
    """`dipapprox … | head -0`: no message, and the status still tells the verdict."""
    read, written = os.pipe()
    os.close(read)
    root = Path(app.__file__).parents[2]
    with os.fdopen(written, "wb") as pipe:
        ended = subprocess.run(
            [
                sys.executable,
                "-m",
                "dipapprox",
                "verify",
                "svt.dpg",
                "--eps",
                "1",
                "--delta",
                "0.5",
            ],
            stdout=pipe,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(root)},
            cwd=files,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


PAIRS = [
    ("[]", 2, "the list of pairs is empty"),
    ("\ufeff[[[0, 0], [0, 1]]]", 0, ""),
    ('[[["0", 0], [0, "1/1"]]]', 0, ""),
    ('[[["x", 0], [0, 1]]]', 2, "pair 1, input 1: 'q[1]' must be a number, got 'x'"),
    ('[[["7", 0], [0, 1]]]', 2, "7 is not in the domain of 'q[1]'"),
]


@pytest.mark.parametrize(("text", "status", "message"), PAIRS)
def test_pair_files(
    files: Path, capsys: pytest.CaptureFixture[str], text: str, status: int, message: str
) -> None:
    (files / "pairs.json").write_text(text, encoding="utf-8")
    words = ("verify", "svt.dpg", "--eps", "1", "--delta", "1/2", "--pairs", "pairs.json")
    assert run(*words)[0] == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_claim_about_no_pairs_is_said_to_be_vacuous(
    files: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    text = "input q in {0, 3}\noutput out in {0, 3}\nadjacent linf 1\nout <- q\n"
    (files / "apart.dpg").write_text(text)
    status, out = run("verify", "apart.dpg", "--eps", "1", "--delta", "0", *words)
    assert status == 0 and "DP" in out
    warning = "warning: no two different inputs are adjacent: the claim holds vacuously\n"
    assert capsys.readouterr().err == warning


def test_an_output_without_value_is_shown_where_it_is_declared(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "input q in {0, 1}\noutput o, p[2] in {0, 1}\nif q = 1 then o <- 1 end\np[1] <- 0\n"
    (files / "none.dpg").write_text(text)
    assert run("verify", "none.dpg", "--eps", "1", "--delta", "0") == (2, "")
    error = capsys.readouterr().err
    assert "none.dpg:2:8: value error: output 'o' is never assigned when 'q = 1'" in error
    assert "none.dpg:2:11: value error: output 'p[2]' is never assigned" in error
