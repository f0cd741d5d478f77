"""A file of pairs extends the domain of a `.dip` program, and of no other."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox import Outcome, check
from dipapprox.experiments.sweep.spec import Case, CaseLimits, NamedProgram
from dipapprox.experiments.sweep.sweep import run_case
from dipapprox.language.domains import wider_domains
from dipapprox.language.load import DIP, load
from dipapprox.privacy.scope import widening_by_pairs
from tests.cli.running import run, run_json
from tests.texts import text_of

DIP_TEXT = """
INPUTSIZE 2; OUTPUT = [0, 0];
RANDOM T = lap(eps/2, 0);
RANDOM A = lap(eps/4, INPUT[0]);
RANDOM B = lap(eps/4, INPUT[1]);
IF A >= T THEN { OUTPUT[0] = 1; } ELSE { IF B >= T THEN { OUTPUT[1] = 1; } }
"""


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
    for command, more in (
        ("profile", ("--eps", "1/2", "--eps-prv", "1/8")),
        ("decide", ("--interval", "1/2..1", "--budget", "1/8")),
    ):
        assert run(command, *words(folder, "svt.dip"), *more)[0] in (0, 1)


def test_other_programs_and_other_pairs_keep_the_domain(folder) -> None:
    program = load(folder / "svt.dip", {})
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
        NamedProgram("svt.dip", DIP, DIP_TEXT),
        {},
        {"eps": "1/2", "eps_prv": "1/8", "delta": "1/100", "pairs": str(folder / "pairs.json")},
        CaseLimits(Fraction(60), 1000),
    )
    outcome = run_case(case)
    assert outcome.result is not None, outcome.failure
    assert outcome.result["verdict"] == "Not_DP"
