"""Every program that ships is run against the verdicts that its header promises.

    # expected: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 25, pairs = single

Names other than eps, eps_prv, delta and pairs are parameters of the program.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dipapprox.language.load import load
from dipapprox.language.values import parse_rational
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.pairs.selection import select
from dipapprox.privacy.verifier import verify

PROGRAMS = Path(__file__).parent.parent / "programs"
FILES = sorted(PROGRAMS.rglob("*.dpg"))
_EXPECTED = re.compile(r"^# expected: (DP|Not_DP|Unknown) at (.*)$", re.MULTILINE)


def expectations(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The expected verdicts of a program's header with their settings, in order."""
    found = []
    for answer, settings in _EXPECTED.findall(path.read_text(encoding="utf-8")):
        pairs = (setting.split("=") for setting in settings.split(","))
        found.append((answer, {name.strip(): value.strip() for name, value in pairs}))
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
        assert expectations(path), path


@pytest.mark.parametrize(("path", "answer", "settings"), CASES)
def test_the_verdict_is_the_expected_one(path: Path, answer: str, settings: dict[str, str]) -> None:
    values = dict(settings)
    which = values.pop("pairs", "all")
    claim = Claim(
        parse_rational(values.pop("eps"), "eps"),
        parse_rational(values.pop("delta"), "delta"),
        parse_rational(values.pop("eps_prv"), "eps_prv") if "eps_prv" in values else None,
    )
    program = load(path, {name: parse_rational(text, name) for name, text in values.items()})
    verdict = verify(program, claim, select(which, program), Options())
    assert verdict.answer.value == answer, verdict
