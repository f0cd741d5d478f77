"""What people expect of a command line: claims in files, pairs, names, input, warnings, refusals.

Refusals: the first line of a question is the command line; files that it needs follow, each below
`= name`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from fractions import Fraction
from io import BytesIO, TextIOWrapper
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from dipapprox import Outcome, check
from dipapprox.cli import app, command, output
from dipapprox.cli import report as reports
from dipapprox.cli.output import reporting
from dipapprox.experiments.sweep.spec import Case, CaseLimits
from dipapprox.experiments.sweep.sweep import run_case
from dipapprox.language import load
from dipapprox.language.domains import wider_domains
from dipapprox.language.load import DIP
from dipapprox.language.load import load as load_program
from dipapprox.privacy.description import ProgramText
from dipapprox.privacy.scope import widening_by_pairs
from tests.cases import cases, check_answers, template_of, text_of
from tests.cli.running import run, run_json
from tests.services.examples import DATA, HEAD, ONCE

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


pytestmark = pytest.mark.usefixtures("files")

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
    monkeypatch.setattr(output, "_PATIENCE", patience)
    monkeypatch.setattr(output, "_INTERVAL", 0.0)
    monkeypatch.setattr(reports, "ProgressBar", lambda unit: Bar(found))
    with reporting("pairs") as report:
        report(1, None)
        report(2, 3)
    assert found == shown


# --- `dipapprox test`, and what runs it: pytest, pre-commit, a GitHub action ----------------------

ROOT = Path(__file__).parents[2]

PROGRAM = text_of("cli/claims-1")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "noisy.dpg"
    file.write_text(PROGRAM)
    return file


def test_a_report_for_services(program, tmp_path) -> None:
    out = tmp_path / "report.xml"
    status, fields = run_json("test", str(tmp_path), "--junit", str(out))
    assert status == 1
    assert (fields["holds"], fields["false"], fields["error"]) == (1, 1, 1)
    (suite,) = ElementTree.parse(out).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    kinds = [[element.tag for element in case] for case in suite]
    assert kinds == [[], ["failure"], ["error"]]
    assert "Pr[S | input]" in (suite[1][0].text or "")


MODULE = template_of("habits-module")
OTHERS = {
    "other.py": "# @mechanism\nTEXT = 'claim: DP at eps = 1, delta = 0'\nraise SystemExit\n",
    "quiet.py": MODULE.replace("claim:", "promise"),
    ".hidden/copy.py": MODULE,
}


def test_claims_of_a_folder(tmp_path) -> None:
    """By `dipapprox test` and by pytest, which collects them beside what it finds itself."""
    (tmp_path / ".hidden").mkdir()
    for name, text in {"gates.py": MODULE, **OTHERS}.items():
        (tmp_path / name).write_text(text)
    status, fields = run_json("test", str(tmp_path))
    assert (status, fields["holds"], fields["false"]) == (1, 1, 1)
    (tmp_path / "noisy.dpg").write_text(PROGRAM)
    words = ("-p", "dipapprox.pytest_plugin", "-p", "no:cacheprovider", "-q", ".")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *words),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
    assert "3 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "Witness: these outputs are too likely" in done.stdout
    assert "FAILED noisy.dpg::DP at eps = 1, eps_prv = 1/2, delta = 0" in done.stdout
    assert "FAILED gates.py::above: DP for all eps at budget = 1/2" in done.stdout


def test_of_a_folder_all_that_cannot_be_read_is_said(tmp_path, capsys) -> None:
    """A module that stops Python claims nothing in secret: what it speaks of is untested."""
    (tmp_path / "binary.dpg").write_bytes(b"\x89PNG")
    (tmp_path / "line.dpg").write_text(f"# claim DP\n{PROGRAM}")
    (tmp_path / "broken.py").write_text(MODULE.replace("def above(", "def above((", 1))
    (tmp_path / "other.py").write_text("def f(:\n    pass\n")
    assert app.main(["test", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert [name in said for name in ("binary", "line", "broken", "other")] == [True] * 3 + [False]


def test_the_action_runs_what_its_inputs_say(program, tmp_path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    assert set(step["env"].values()) == {
        f"${{{{ inputs.{name} }}}}" for name in ("files", "junit", "timeout")
    }
    command = tmp_path / "dipapprox"
    command.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    command.chmod(0o755)
    done = subprocess.run(
        ("bash", "-eo", "pipefail", "-c", step["run"]),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "FILES": "noisy*.dpg more",
            "JUNIT": "a b.xml",
            "TIMEOUT": "60",
        },
    )
    words = ["test", "noisy.dpg", "more", "--timeout", "60", "--junit", "a b.xml"]
    assert done.stdout.splitlines() == words


def test_the_hook_runs_a_command_that_there_is(program) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    name, *words = hook["entry"].split()
    assert name == "dipapprox"
    program.write_text("\n".join(PROGRAM.splitlines()[3:]))
    assert run(*words, str(program))[0] == 0


# --- A file of pairs extends the domain of a `.dip` program, and of no other ----------------------

DIP_TEXT = template_of("habits-dip_text")


QUESTION = ("--eps", "1/2", "--eps-prv", "1/8", "--delta", "1/100", "--precision", "60")


@pytest.fixture(name="folder")
def folder_with_files(tmp_path: Path) -> Path:
    (tmp_path / "svt.dip").write_text(DIP_TEXT)
    (tmp_path / "wide.dpg").write_text(text_of("cli/dip_pairs-1"))
    (tmp_path / "pairs.json").write_text(json.dumps([[[-1, 0], [1, 0.5]], [[0, 1], [-1, -1]]]))
    return tmp_path


def words(folder: Path, file: str) -> list[str]:
    return [str(folder / file), "--pairs", str(folder / "pairs.json")]


def test_the_answer_is_that_of_a_program_with_the_domain(folder) -> None:
    (status, dip), (other, dpg) = (
        run_json("verify", *words(folder, file), *QUESTION) for file in ("svt.dip", "wide.dpg")
    )
    assert status == other == 1
    assert dip["witness"] == dpg["witness"]
    assert dip["delta_enclosure"] == dpg["delta_enclosure"]
    assert dip["scope"]["inputs"].endswith("[1..2] in {-1, 0, 1/2, 1} (widened from {0, 1})")
    for asked, more in (
        ("profile", ("--eps", "1/2", "--eps-prv", "1/8")),
        ("decide", ("--interval", "1/2..1", "--budget", "1/8")),
    ):
        assert run(asked, *words(folder, "svt.dip"), *more)[0] in (0, 1)


def test_other_programs_and_other_pairs_keep_the_domain(folder) -> None:
    program = load_program(folder / "svt.dip", {})
    kept = widening_by_pairs("all", program)
    assert wider_domains(kept, {"q": program.inputs[0].domain}) == {}
    wider = widening_by_pairs(str(folder / "pairs.json"), program)
    numbers = (Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1))
    assert wider_domains(wider, {program.inputs[0].variable: program.inputs[0].domain}) == {
        program.inputs[0].variable: numbers
    }


def test_a_wider_domain_is_kept(folder) -> None:
    status, fields = run_json("verify", str(folder / "svt.dip"), "--widen", "-1..1", *QUESTION)
    assert status == 1
    assert "-1" in fields["scope"]["inputs"] or "{-1, 0, 1}" in fields["scope"]["text"]


def test_certificates_and_sweeps_know_the_pairs(folder) -> None:
    written = folder / "certificate.json"
    status, _ = run("verify", *words(folder, "svt.dip"), *QUESTION, "--certificate", str(written))
    assert status == 1
    assert check(written.read_text()).outcome is Outcome.CONFIRMED
    case = Case(
        "verify",
        ProgramText("svt.dip", DIP, DIP_TEXT),
        {},
        {"eps": "1/2", "eps_prv": "1/8", "delta": "1/100", "pairs": str(folder / "pairs.json")},
        CaseLimits(Fraction(60), 1000),
    )
    outcome = run_case(case)
    assert outcome.result is not None, outcome.failure
    assert outcome.result["verdict"] == "Not_DP"


# --- Command lines, and all that is said: of what is refused on stderr, with the exit status 2 ----

TEXTS = {
    "noise.toml": '[[run]]\nmechanism = "gaussian"\nsigma = 4\ntimes = 10\n',
    "pipeline.toml": '[[run]]\nmechanism = "gaussian"\nsigma = 4\nsubsample = 0.1\ntimes = 20\n'
    '[[run]]\nprogram = "svt.dpg"\neps = "1/2"\ntimes = 3\n',
    "service.dpg": HEAD + DATA + ONCE,
    "p.dpg": "param N = 1\ninput q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
    "r <- Lap(q, N / eps)\nif r >= 1 then out <- 1 end\n",
}
"""Files that many questions are about, besides those of all tests of commands."""

AUTOMATA = ("svt", "range", "silent", "svt_without_limit")
COPIED = (
    *(ROOT / "programs" / "automata" / f"{name}.dipa" for name in AUTOMATA),
    ROOT / "programs" / "streams" / "numeric_sparse_stream.dpg",
    ROOT / "examples" / "mechanisms.py",
)

_SECONDS = re.compile(r"(?:< 1 ms|\d[\d.]*(?:e-\d+)? s\b) *|(?<=\"seconds\": )[\d.e-]+")
_LAST = re.compile(r"(?<=\.\d{13})\d+")
"""The last digits of ends: they differ from machine to machine, as sums are added in some order."""


@cases("kind", "shown", "refused_commands", "refused_questions", "refused_proofs", "refused_sweeps")
def test_what_is_said_is_what_was_said(kind, files, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for copied in COPIED:
        shutil.copy(copied, files)
    for name, text in TEXTS.items():
        (files / name).write_text(text, encoding="utf-8")

    def said(asked: str) -> str:
        line, _, texts = asked.partition("\n")
        own = re.findall(r"^= (.*)\n((?:(?!= ).*\n?)*)", texts, re.MULTILINE)
        for name, text in own:
            (files / name).write_text(text, encoding="utf-8")
        status = app.main(shlex.split(line))
        for name, _ in own:
            (files / name).unlink()
        out, err = capsys.readouterr()
        if (status, out) == (2, ""):
            return err
        return f"{_LAST.sub('…', _SECONDS.sub('… s', out))}{err}status {status}\n"

    check_answers(kind, said)


def test_numbers_are_longer_than_what_an_environment_lets_python_write(tmp_path, capsys) -> None:
    long = "7" * 900
    file = tmp_path / "long.dpg"
    file.write_text(f"input q in {{0, {long}}}\noutput out in bool\nadjacent all\nout <- q > 1\n")
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert app.main(["verify", str(file), "--eps", "1", "--delta", "0"]) == 1
    finally:
        sys.set_int_max_str_digits(before)
    assert capsys.readouterr().out.count("7") >= 900
