"""Commands end to end: exit statuses, the JSON contract, CSV, text, pictures, what is wrong."""

import csv
import importlib
import os
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Enclosure, LimitReached, NotEnclosed, Options
from dipapprox.bundled import BUNDLED
from dipapprox.cli import app
from dipapprox.cli.app import join_negative_values, main
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.language.core import Input
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy import subjects
from dipapprox.privacy.decisions import decider
from dipapprox.privacy.decisions.decision import range_fields, ranges_text
from dipapprox.questions.kinds import is_formula
from dipapprox.semantics.state import FinalStates
from tests.cases import cases, check_answers, evaluated, template_of
from tests.cli.running import enclosure, run, run_json

pytestmark = pytest.mark.usefixtures("files")


def test_interrupt_reports_what_is_known(monkeypatch) -> None:
    asked: list[Sequence[Input]] = []
    compute = OutputProbabilities.distributions

    def interrupted(
        self: OutputProbabilities, inputs: Sequence[Input], bits: int
    ) -> list[tuple[Enclosure, ...] | NotEnclosed]:
        asked.append(inputs)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return compute(self, inputs, bits)

    monkeypatch.setattr(OutputProbabilities, "distributions", interrupted)
    status, fields = run_json("verify", "svt.dpg", "--eps", "1", "--delta", "0.5")
    assert (status, fields["verdict"]) == (130, "Unknown")
    assert fields["reason"] == "interrupted; 1 of 12 pairs checked"


def test_wide_enclosures_are_shown_but_not_a_success(capsys) -> None:
    Path("wide.dpg").write_text(
        "output out in {0, 1}\nx <- Gauss(0, 1e300)\ny <- Lap(0, 1e-300)\n"
        "if x > y then out <- 1 else out <- 0 end\n",
        encoding="utf-8",
    )
    status, fields = run_json("probability", "wide.dpg", "--eps", "1")
    reason = "2 of 2 enclosures are wider than 2^-40"
    assert (status, fields["reason"]) == (3, reason)
    assert all(Fraction(1, 2) in enclosure(each["probability"]) for each in fields["outputs"])
    assert capsys.readouterr().err == f"unknown: {reason}\n"
    assert run("probability", "wide.dpg", "--eps", "1")[1]


def test_interrupted_with_what_is_known(monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OutputProbabilities, "distributions", interrupted)
    status, fields = run_json("probability", "svt.dpg", "--eps", "1", "--input", "0,1")
    assert (status, fields["reason"]) == (130, "interrupted")
    assert [each["probability"] for each in fields["outputs"]] == [["0", "1"]] * 3


# --- what is wrong --------------------------------------------------------------------------------


def test_a_bug_is_not_a_traceback(monkeypatch, capsys) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(OutputProbabilities, "distributions", broken)
    assert run("verify", "svt.dpg", "--eps", "1", "--delta", "0") == (3, "")
    assert "internal error: ZeroDivisionError: oops (a bug" in capsys.readouterr().err


def test_version(capsys) -> None:
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("dipapprox ")


def test_a_closed_pipe_keeps_the_verdict(files) -> None:
    """`dipapprox … | head -0`: no message, and the status still tells the verdict."""
    read, written = os.pipe()
    os.close(read)
    root = Path(app.__file__).parents[2]
    words = ("-m", "dipapprox", "verify", "svt.dpg", "--eps", "1", "--delta", "0.5")
    with os.fdopen(written, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, *words],
            stdout=pipe,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(root)},
            cwd=files,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@cases("text", "\ufeff[[[0, 0], [0, 1]]]", '[[["0", 0], [0, "1/1"]]]', "[" * 100_000)
def test_pair_files(files, capsys, text) -> None:
    (files / "pairs.json").write_text(text, encoding="utf-8")
    words = ("verify", "svt.dpg", "--eps", "1", "--delta", "1/2", "--pairs", "pairs.json")
    deep = len(text) > 1000
    assert run(*words)[0] == (2 if deep else 0)
    assert ("not a list of pairs" in capsys.readouterr().err) == deep


# --- certificates ---------------------------------------------------------------------------------

SVT_TEXT = str(Path(__file__).parents[2] / "programs" / "svt_gauss.dpg")


def certify(path: Path, *words: str) -> int:
    return main(["verify", SVT_TEXT, "--eps", "1/2", *words, "--certificate", str(path)])


def test_a_limit_ends_the_proof_and_not_the_answer(tmp_path, capsys, monkeypatch) -> None:
    def stopped(*_: object) -> None:
        raise LimitReached("time limit: 5 s")

    monkeypatch.setattr("dipapprox.replays.files.replayed", stopped)
    path = tmp_path / "certificate.json"
    assert certify(path, "--eps-prv", "1/10", "--delta", "1/40") == 0
    shown = capsys.readouterr()
    assert shown.err == "no certificate: time limit: 5 s\n"
    assert "the claim holds" in shown.out
    assert not path.exists()


# --- `prove` and `decide` end to end: exit statuses, the JSON contract, drawings ------------------

SVT = str(BUNDLED / "automata" / "svt.dipa")
LEAKY = str(BUNDLED / "automata" / "svt_without_limit.dipa")
LEAKY_PROGRAM = str(BUNDLED / "svt_laplace_leaky_6.dpg")
MIN_MAX = str(BUNDLED / "automata" / "min_max.dipa")
RANGE = str(BUNDLED / "automata" / "range.dipa")


def test_a_drawing_has_the_evidence_in_red(tmp_path) -> None:
    out, before = tmp_path / "drawn.dot", set(tmp_path.iterdir())
    assert run("prove", LEAKY, "--draw", str(out))[0] == 1
    text = out.read_text(encoding="utf-8")
    assert text.startswith('digraph "svt_without_limit" {')
    assert text.count("color=red, fontcolor=red") == 3
    assert run("prove", LEAKY_PROGRAM, "--for-all", "N", "--draw", str(out))[0] == 1
    assert "color=red" in out.read_text(encoding="utf-8")
    assert run("prove", MIN_MAX, "--draw", str(out))[0] == 0  # a word that fits several runs
    assert "color=red" not in out.read_text(encoding="utf-8")
    assert set(tmp_path.iterdir()) - before == {out}


def test_certificates_from_python() -> None:
    text = Path(SVT).read_text(encoding="utf-8")
    proof = dipapprox.prove(SVT, budget=1)
    certificate = dipapprox.certify(proof.automaton, text, proof)
    result = dipapprox.check(certificate.to_json())
    assert (result.outcome, result.verdict) == (dipapprox.Outcome.CONFIRMED, "DP")
    assert "digest" in certificate._repr_html_()
    with pytest.raises(dipapprox.UserError, match="automaton of the proof"):
        dipapprox.certify(dipapprox.prove(RANGE).automaton, text, proof)


# --- `dipapprox decide` and `explain --closed-form` from the command line -------------------------

DIPC = Path(__file__).parents[2] / "programs" / "dipc"
SVT1 = str(DIPC / "svt1.dpg")
SVT4 = str(DIPC / "svt4.dpg")


def test_an_interrupt_is_unknown(monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(decider, "execute", interrupt)
    status, fields = run_json("decide", SVT1)
    assert (status, fields["reason"]) == (130, "interrupted")


def test_a_contradiction_gives_no_verdict_and_names_both_methods(monkeypatch, capsys) -> None:
    """An engine that contradicts the exact forms."""

    def lying(states: FinalStates, eps: Fraction, options: Options) -> OutputProbabilities:
        return honest(states, eps * 3, options)

    honest = subjects.open_probabilities
    monkeypatch.setattr(subjects, "open_probabilities", lying)
    assert run("decide", SVT4) == (3, "")
    said = capsys.readouterr().err
    assert "the probability of an output" in said
    assert "by closed forms and" in said and "by elimination" in said
    assert f"in decide {SVT4}" in said


# --- Words: expressions, and what they are --------------------------------------------------------

ZERO, UNIT, TWO, THREE = (Enclosure.exact(k) for k in range(4))


def end(lower: str, upper: str) -> Enclosure:
    return Enclosure(Fraction(lower), Fraction(upper))


def below(lower: str, upper: str) -> str:
    """A range of eps that ends there."""
    return ranges_text((NegativeRange(ZERO, end(lower, upper)),))


def test_words_ranges_and_flags() -> None:
    """Of an end only the digits that are certain; formulas are told from numbers."""
    asked = {"join_negative_values": join_negative_values, "is_formula": is_formula}
    check_answers("cli_words", evaluated(globals() | asked | {"range_fields": range_fields}))


# --- `profile`, `calibrate` and `compose` on the command line: JSON, CSV, text, pictures ----------

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
    # A curve that was not begun is no answer; of one number all is known that is known of any.
    assert run(*PROFILE, "--curve", "0:1:3", "--timeout", "1e-9") == (3, "")
    assert "time limit" in capsys.readouterr().err
    status, late = run_json(*PROFILE, "--delta", "0", "--timeout", "1e-9")
    assert status == 3 and late["reason"].startswith("time limit")
    assert late["eps_prv_enclosure"] == ["0", "inf"]
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


NOISE = template_of("commands-noise")


@pytest.fixture
def specs(files: Path) -> Path:
    (files / "noise.toml").write_text(NOISE, encoding="utf-8")
    return files


def test_a_picture(specs) -> None:
    assert run("compose", "noise.toml", "--curve", "0:2:5", "--plot", "x.svg")[0] == 0
    assert (specs / "x.svg").read_bytes().startswith(b"<svg")
