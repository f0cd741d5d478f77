"""Commands end to end: exit statuses, the JSON contract, limits, interrupts, what is wrong."""

import os
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

from dipapprox import Enclosure, LimitReached, NotEnclosed
from dipapprox.cli import app
from dipapprox.cli.app import join_negative_values, main
from dipapprox.language.core import Input
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.questions.kinds import is_formula
from tests.cases import cases
from tests.cli.running import enclosure, run, run_json


@pytest.mark.usefixtures("files")
class TestVerify:
    @cases(
        "words, reason",
        (("--max-states", "1"), "path limit"),
        (("--max-memory", "1"), "memory limit"),
    )
    def test_a_limit_is_unknown(self, words, reason) -> None:
        asked = ("verify", "svt.dpg", "--eps", "1", "--delta", "0.5", *words)
        status, fields = run_json(*asked)
        assert (status, fields["verdict"]) == (3, "Unknown")
        assert reason in fields["reason"]
        assert fields["delta_enclosure"] == ["0", "1"]

    def test_interrupt_reports_what_is_known(self, monkeypatch) -> None:
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


@pytest.mark.usefixtures("files")
class TestProbability:
    def test_real_inputs_have_values_too(self) -> None:
        text = (
            "input q in real 0..1\noutput o in {0, 1}\nadjacent linf 1\n"
            "o <- 0\nx <- Lap(q, 1/eps)\nif x >= 1 then o <- 1 end\n"
        )
        Path("real.dpg").write_text(text)
        status, fields = run_json("probability", "real.dpg", "--eps", "2", "--input", "1/3")
        assert (status, fields["input"]) == (0, {"q": "1/3"})
        found = {each["output"]["o"]: enclosure(each["probability"]) for each in fields["outputs"]}
        assert float(found[1].lower) == pytest.approx(exp(-4 / 3) / 2)
        status, out = run("explain", "real.dpg", "--closed-form", "--input", "1/3")
        assert (status, "Pr[o = 1] = 1/2 e^(-2 ε/3)" in out) == (0, True)
        status, out = run("explain", "real.dpg")
        assert (status, "at       q = 0" in out) == (0, True)
        Path("decides.dpg").write_text(text.replace("if x", "if q > 1/2 and x"))
        status, fields = run_json("probability", "decides.dpg", "--eps", "2", "--input", "2/3")
        found = {each["output"]["o"]: enclosure(each["probability"]) for each in fields["outputs"]}
        assert float(found[1].lower) == pytest.approx(exp(-2 / 3) / 2)

    def test_a_limit_is_not_a_result(self, capsys) -> None:
        words = ("probability", "svt.dpg", "--eps", "1", "--input", "0,1", "--timeout", "1e-9")
        assert run(*words) == (3, "")
        message = "unknown: time limit: 1e-09 s, before all final states were found\n"
        assert capsys.readouterr().err == message
        status, fields = run_json(*words)
        assert (status, fields["outputs"]) == (3, [])
        assert fields["reason"].startswith("time limit")

    def test_wide_enclosures_are_shown_but_not_a_success(self, capsys) -> None:
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

    def test_interrupted_with_what_is_known(self, monkeypatch) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(OutputProbabilities, "distributions", interrupted)
        status, fields = run_json("probability", "svt.dpg", "--eps", "1", "--input", "0,1")
        assert (status, fields["reason"]) == (130, "interrupted")
        assert [each["probability"] for each in fields["outputs"]] == [["0", "1"]] * 3


pytestmark = pytest.mark.usefixtures("files")


def test_unknown_with_what_remains() -> None:
    status, fields = run_json("verify", "svt.dpg", "--eps", "1..2", "--delta", "0",
                              "--timeout", "1e-9")  # fmt: skip
    assert (status, fields["verdict"]) == (3, "Unknown")
    assert fields["remaining"] == [["1", "2"]]
    assert "time limit" in fields["reason"]


@pytest.mark.parametrize("text", ["1", "-1", "1e-6", "2E+3", "1/10", ".5", "x", "nan", "-0.1"])
def test_numbers_are_no_formulas(text) -> None:
    assert not is_formula(text)


@pytest.mark.parametrize("text", ["eps", "1+1", "2*3", "1e-6-1", "(1)", "log(2)", "-eps", "2^2"])
def test_formulas_are_no_numbers(text) -> None:
    assert is_formula(text)


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


def test_negative_values_are_joined_to_their_flags() -> None:
    assert join_negative_values(["--input", "-1,0", "--eps", "1"]) == ["--input=-1,0", "--eps", "1"]
    assert join_negative_values(["--pairs", "-.5,0~0,-1"]) == ["--pairs=-.5,0~0,-1"]
    assert join_negative_values(["-p", "x=-1", "--json", "-p", "y=2"])[-1] == "y=2"
    assert join_negative_values(["--input=-1", "-1"]) == ["--input=-1", "-1"]


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


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_claim_about_no_pairs_is_said_to_be_vacuous(files, capsys, words) -> None:
    text = "input q in {0, 3}\noutput out in {0, 3}\nadjacent linf 1\nout <- q\n"
    (files / "apart.dpg").write_text(text)
    status, out = run("verify", "apart.dpg", "--eps", "1", "--delta", "0", *words)
    assert status == 0 and "DP" in out
    warning = "warning: no two different inputs are adjacent: the claim holds vacuously\n"
    assert capsys.readouterr().err == warning


@cases("text", "\ufeff[[[0, 0], [0, 1]]]", '[[["0", 0], [0, "1/1"]]]', "[" * 100_000)
def test_pair_files(files, capsys, text) -> None:
    (files / "pairs.json").write_text(text, encoding="utf-8")
    words = ("verify", "svt.dpg", "--eps", "1", "--delta", "1/2", "--pairs", "pairs.json")
    deep = len(text) > 1000
    assert run(*words)[0] == (2 if deep else 0)
    assert ("not a list of pairs" in capsys.readouterr().err) == deep


# --- certificates ---------------------------------------------------------------------------------

SVT = str(Path(__file__).parents[2] / "programs" / "svt_gauss.dpg")


def certify(path: Path, *words: str) -> int:
    return main(["verify", SVT, "--eps", "1/2", *words, "--certificate", str(path)])


def test_where_the_kernel_has_no_rule_the_verdict_stands(tmp_path, capsys) -> None:
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


FILE = str(Path(__file__).parents[2] / "examples" / "mechanisms.py")


def test_they_are_proved_for_all_real_inputs(tmp_path) -> None:
    out = tmp_path / "above.json"
    status, shown = run("prove", f"{FILE}:above", "--reals", "--certificate", str(out))
    assert status == 0
    assert "threshold <- laplace(T, 2 / eps)" in shown  # the lines are those of the function
    assert run("check", str(out))[0] == 0
