"""Every program that ships is run against the verdicts that its header promises.

    # expected: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 25, pairs = single

Names other than eps, eps_prv, delta and pairs are parameters of the program. What holds for all
eps, or fails for some, is promised by other lines:

    # decide: DP at N = 3, c = 2
    # decide: Not_DP for eps in 0..1 at N = 2, budget = 1/2, delta = exp(-3)

for all eps > 0 unless an interval is given. Names other than budget (the t of t * eps, by default
1), delta (by default 0) and pairs are parameters. "refused": the program makes no sense there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.language.load import load
from dipapprox.language.values import parse_rational
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.selection import select
from dipapprox.privacy.verifier import verify

PROGRAMS = Path(__file__).parent.parent / "programs"
FILES = sorted(p for p in PROGRAMS.rglob("*.dpg") if p.parent.name not in ("services", "streams"))
_DECIDED = re.compile(
    r"^# decide: (DP|Not_DP|Unknown|refused)(?: for eps in (\S+))?(?: at (.*))?$",
    re.MULTILINE,
)
_EXPECTED = re.compile(r"^# expected: (DP|Not_DP|Unknown) at (.*)$", re.MULTILINE)


def expectations(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The expected verdicts of a program's header with their settings, in order."""
    found = []
    for answer, settings in _EXPECTED.findall(path.read_text(encoding="utf-8")):
        pairs = (setting.split("=") for setting in settings.split(","))
        found.append((answer, {name.strip(): value.strip() for name, value in pairs}))
    return found


@dataclass(frozen=True, slots=True)
class Decision:
    """What a header promises about all epsilons.

    Attributes:
        verdict: "DP", "Not_DP", "Unknown" or "refused".
        interval: "LO..HI"; None for all eps > 0.
        settings: As written, by name.
    """

    verdict: str
    interval: str | None
    settings: dict[str, str]

    def parameters(self) -> dict[str, Fraction]:
        """The parameters of the program."""
        return {
            name: parse_rational(text, name)
            for name, text in self.settings.items()
            if name not in ("budget", "delta", "pairs")
        }


def decisions(path: Path) -> list[Decision]:
    """What a program's header promises about all epsilons, in order."""
    found = []
    for verdict, interval, settings in _DECIDED.findall(path.read_text(encoding="utf-8")):
        pairs = (setting.split("=") for setting in settings.split(",") if setting)
        values = {name.strip(): value.strip() for name, value in pairs}
        found.append(Decision(verdict, interval or None, values))
    return found


CASES = [
    pytest.param(path, answer, settings, id=f"{path.stem}-{n}")
    for path in FILES
    for n, (answer, settings) in enumerate(expectations(path))
]


def test_every_program_names_its_source_and_at_least_one_verdict() -> None:
    assert len(FILES) >= 24
    for path in FILES:
        header = path.read_text(encoding="utf-8").split("\n\n")[0]
        assert "# source: " in header or "Zhu and Wang" in header, path
        assert expectations(path) or decisions(path), path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_promise_can_be_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("# expected:") == len(expectations(path))
    assert text.count("# decide:") == len(decisions(path))
    for decision in decisions(path):
        program = load(path, decision.parameters(), reals=True)
        assert decision.parameters().items() <= program.parameters.items()


def test_every_program_of_the_dipc_paper_is_decided() -> None:
    files = sorted((PROGRAMS / "dipc").glob("*.dpg"))
    assert len(files) == 17
    assert all(decisions(path) for path in files)


@pytest.mark.parametrize(("path", "answer", "settings"), CASES)
def test_the_verdict_is_the_expected_one(path: Path, answer: str, settings: dict[str, str]) -> None:
    values = dict(settings)
    which = values.pop("pairs", "all")
    claim = Claim(
        parse_rational(values.pop("eps"), "eps"),
        parse_rational(values.pop("delta"), "delta"),
        parse_rational(values.pop("eps_prv"), "eps_prv") if "eps_prv" in values else None,
    )
    parameters = {name: parse_rational(text, name) for name, text in values.items()}
    program = load(path, parameters, reals=True)
    verdict = verify(program, claim, select(which, program), Options())
    assert verdict.answer.value == answer, verdict
