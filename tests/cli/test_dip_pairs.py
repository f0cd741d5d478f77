"""A file of pairs extends the domain of a `.dip` program, and of no other."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from dipapprox.experiments.sweep.case import Case
from dipapprox.experiments.sweep.execution import run_case
from dipapprox.experiments.sweep.spec import CaseLimits, NamedProgram
from dipapprox.language.load import DIP
from dipapprox.replays.any_file import check
from dipapprox.replays.result import Outcome
from tests.cli.running import run, run_json

DIP_TEXT = """
INPUTSIZE 2; OUTPUT = [0, 0];
RANDOM T = lap(eps/2, 0);
RANDOM A = lap(eps/4, INPUT[0]);
RANDOM B = lap(eps/4, INPUT[1]);
IF A >= T THEN { OUTPUT[0] = 1; } ELSE { IF B >= T THEN { OUTPUT[1] = 1; } }
"""


QUESTION = ("--eps", "1/2", "--eps-prv", "1/8", "--delta", "1/100", "--precision", "60")


def words(folder: Path, file: str, pairs: str = "pairs.json") -> list[str]:
    return [str(folder / file), "--pairs", str(folder / pairs)]


def test_a_wider_domain_is_kept(folder: Path) -> None:
    status, fields = run_json("verify", str(folder / "svt.dip"), "--widen", "-1..1", *QUESTION)
    assert status == 1
    assert "-1" in fields["scope"]["inputs"] or "{-1, 0, 1}" in fields["scope"]["text"]


def test_certificates_and_sweeps_know_the_pairs(folder: Path) -> None:
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
