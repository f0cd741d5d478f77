"""Every program is decided as its header promises, for all ε; those of the DiPC paper all are.

    # decide: DP at N = 3, c = 2, budget = 1/2, delta = exp(-2)
    # decide: Not_DP for eps in 0..1 at N = 3
    # decide: refused at N = 1                       the program makes no sense for all ε > 0

Names other than budget, delta and pairs are parameters of the program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.language.load import load
from dipapprox.language.values import parse_rational
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.options import Options
from dipapprox.privacy.selection import select

PROGRAMS = Path(__file__).parent.parent / "programs"
FILES = sorted(p for p in PROGRAMS.rglob("*.dpg") if p.parent.name not in ("services", "streams"))
_LINE = re.compile(
    r"^# decide: (DP|Not_DP|Unknown|refused)(?: for eps in (\S+))?(?: at (.*))?$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Expectation:
    """One line of a header."""

    path: Path
    answer: str
    interval: str | None
    settings: dict[str, str]

    def decision(self) -> Decision:
        """Decide as the line says."""
        values = dict(self.settings)
        which = values.pop("pairs", "all")
        question = DecisionQuestion(
            parse_rational(values.pop("budget", "1"), "budget"),
            read_delta(values.pop("delta", "0")),
            ALL_EPSILONS if self.interval is None else read_epsilons(self.interval),
        )
        parameters = {name: parse_rational(text, name) for name, text in values.items()}
        program = load(self.path, parameters)
        return decide(program, question, select(which, program), Options())


def _setting(text: str) -> tuple[str, str]:
    name, value = text.split("=", 1)
    return name.strip(), value.strip()


def expectations(path: Path) -> list[Expectation]:
    """The lines of a program's header."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("# decide:")]
    found = list(_LINE.finditer(text))
    assert len(found) == len(lines), f"{path}: a line is malformed"
    return [
        Expectation(
            path,
            match[1],
            match[2],
            dict(_setting(setting) for setting in (match[3] or "").split(",") if setting.strip()),
        )
        for match in found
    ]


ALL = [each for path in FILES for each in expectations(path)]


def test_every_program_says_what_is_decided() -> None:
    of_the_paper = [each for each in ALL if each.path.parent.name == "dipc"]
    assert len(of_the_paper) >= 70
    assert {each.path for each in of_the_paper} == set((PROGRAMS / "dipc").glob("*.dpg"))


@pytest.mark.parametrize("expected", ALL, ids=lambda e: f"{e.path.stem}-{e.settings}")
def test_the_decision_is_the_expected_one(expected: Expectation) -> None:
    if expected.answer == "refused":
        with pytest.raises(UserError, match="no probability distribution"):
            expected.decision()
        return
    decision = expected.decision()
    assert decision.answer.value == expected.answer, decision
    if decision.violation is not None:
        assert decision.violation.left.lower > decision.violation.right.upper
        assert decision.violation.checked_by is not None
        assert decision.violation.eps in decision.epsilons
