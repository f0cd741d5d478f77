"""Every program that ships keeps what its header promises.

    # expected: DP at eps = 1/2, eps_prv = 1.24, delta = 0.01, N = 25, pairs = single

Names other than eps, eps_prv, delta and pairs are parameters of the program. What holds for all
eps, or fails for some, is promised by other lines:

    # decide: DP at N = 3, c = 2
    # decide: Not_DP for eps in 0..1 at N = 2, budget = 1/2, delta = exp(-3)
    # decide: refused at N = 1                       the program makes no sense for all ε > 0

for all eps > 0 unless an interval is given. Names other than budget (the t of t * eps, by default
1), delta (by default 0) and pairs are parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dipapprox
from dipapprox import Options, UserError
from dipapprox.language.load import load
from dipapprox.language.values import parse_rational
from dipapprox.privacy.decisions.decision import Decision
from dipapprox.privacy.verdict import Verdict
from dipapprox.replays.result import Outcome
from tests.thorough import THOROUGH

PROGRAMS = Path(__file__).parent.parent / "programs"
FILES = sorted(p for p in PROGRAMS.rglob("*.dpg") if p.parent.name not in ("services", "streams"))
_PROMISE = re.compile(
    r"^# (expected|decide): (DP|Not_DP|Unknown|refused)(?: for eps in (\S+))?(?: at (.*))?$",
    re.MULTILINE,
)
_ASKED = {"expected": ("eps", "eps_prv", "delta"), "decide": ("budget", "delta")}


@dataclass(frozen=True)
class Promise:
    """One line of a header.

    Attributes:
        path: The file.
        kind: "expected" or "decide".
        answer: "DP", "Not_DP", "Unknown" or "refused".
        interval: "LO..HI"; None for all eps > 0, and where one eps is given.
        settings: As written, by name.
    """

    path: Path
    kind: str
    answer: str
    interval: str | None
    settings: dict[str, str]

    def program(self) -> dipapprox.Program:
        """The program with its parameters."""
        others = {k: v for k, v in self.settings.items() if k not in (*_ASKED[self.kind], "pairs")}
        values = {name: parse_rational(text, name) for name, text in others.items()}
        return load(self.path, values, reals=True)

    def asked(self) -> dict[str, Any]:
        """What is asked of it, as keywords."""
        names = (*_ASKED[self.kind], "pairs")
        found = {name: self.settings[name] for name in names if name in self.settings}
        return found if self.interval is None else {**found, "interval": self.interval}

    def verdict(self) -> Verdict:
        """Verify as the line says."""
        found = dipapprox.verify(self.program(), **self.asked())
        assert isinstance(found, Verdict)
        return found

    def decision(self, options: Options | None = None) -> Decision:
        """Decide as the line says."""
        return dipapprox.decide(self.program(), options=options, **self.asked())


def promises(path: Path) -> list[Promise]:
    """What a header promises, in order."""
    found = []
    for kind, answer, interval, settings in _PROMISE.findall(path.read_text(encoding="utf-8")):
        pairs = (setting.split("=", 1) for setting in settings.split(",") if setting.strip())
        values = {name.strip(): value.strip() for name, value in pairs}
        found.append(Promise(path, kind, answer, interval or None, values))
    return found


_DEAR = ("noisy_max_with_gap", "partial_sum")
"""Files whose verdicts take seconds: `make thorough` asks them."""


def cases(kind: str) -> list[Any]:
    """The promises of one kind, each with a name: all, or the first of a file for each answer."""
    found = []
    for path in [path for path in FILES if THOROUGH or path.stem not in _DEAR]:
        seen = set[str]()
        for number, promise in enumerate(each for each in promises(path) if each.kind == kind):
            if THOROUGH or promise.answer not in seen:
                seen.add(promise.answer)
                found.append(pytest.param(promise, id=f"{path.stem}-{number}"))
    return found


def test_every_program_names_its_source_and_promises_something() -> None:
    assert len(FILES) >= 24
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        header = text.split("\n\n")[0]
        assert "# source: " in header or "Zhu and Wang" in header, path
        found = promises(path)
        assert found, path
        assert len(found) == text.count("# expected:") + text.count("# decide:"), path
        for promise in found:
            program, asked = promise.program(), promise.asked()
            others = promise.settings.keys() - asked.keys()
            assert others <= program.parameters.keys(), promise


def test_every_program_of_the_dipc_paper_is_decided() -> None:
    files = sorted((PROGRAMS / "dipc").glob("*.dpg"))
    decided = [[each for each in promises(path) if each.kind == "decide"] for path in files]
    assert len(files) == 17
    assert all(decided)
    assert sum(map(len, decided)) >= 70


@pytest.mark.parametrize("promise", cases("expected"))
def test_the_verdict_is_the_expected_one(promise: Promise) -> None:
    verdict = promise.verdict()
    assert verdict.answer.value == promise.answer, verdict


@pytest.mark.parametrize("promise", cases("decide"))
def test_the_decision_is_the_expected_one(promise: Promise) -> None:
    """Short ones are proved, and the files that say so are confirmed."""
    if promise.answer == "refused":
        with pytest.raises(UserError, match="no probability distribution"):
            promise.decision()
        return
    short = promise.settings.get("N", "1") in ("1", "2")
    proved = promise.answer == "Not_DP" or (promise.answer == "DP" and short)
    options = Options(proved=proved)
    decision = promise.decision(options)
    assert decision.answer.value == promise.answer, decision
    assert (decision.replayed is not None) is proved, decision.reason
    if decision.violation is not None:
        assert decision.violation.left.lower > decision.violation.right.upper
        assert decision.violation.checked_by is not None
        assert decision.violation.eps in decision.epsilons
    if proved:
        pairs = {k: v for k, v in promise.asked().items() if k == "pairs"}
        text = promise.path.read_text(encoding="utf-8")
        file = dipapprox.certify(promise.program(), text, decision, options=options, **pairs)
        found = dipapprox.check(file.to_json())
        assert (found.outcome, found.reason) == (Outcome.CONFIRMED, None)
