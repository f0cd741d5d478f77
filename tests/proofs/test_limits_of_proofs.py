"""Where a proof looks at its limits, arithmetic that is not handed any asks the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import dipapprox
from dipapprox import Limits, Options
from dipapprox.limits import ask

PROGRAMS = Path(__file__).parents[2] / "programs"

BOUNDED = "input q[2] in real 0..1/2\noutput out in {0, 1}\nadjacent linf 1\n"
BODY = "r <- Lap(q[1] + q[2], 1 / eps)\nif r >= 0 then out <- 1 else out <- 0 end\n"
SILENT = """
stream q in real
publishes {no}
adjacent linf 1
rT <- Lap(0, 2 / eps)
forever do
    read q
    r <- Lap(q, 4 / eps)
    if r >= rT then exit end
end
"""

SUBJECTS = [
    BOUNDED + BODY,
    SILENT,
    *(f"automata/{name}.dipa" for name in ("min_max", "svt_without_limit")),
    *(f"services/{name}.dpg" for name in ("slots",)),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda text: text.split("\n")[0])
def test_arithmetic_asks_the_limits_of_the_proof(
    monkeypatch: pytest.MonkeyPatch, subject: str
) -> None:
    """Whoever asks inside asks again and again: as often as the proof itself, or twice as often."""
    counts = {"looks": 0, "asked": 0}
    checked = Limits.check

    def check(self: Limits) -> None:
        checked(self)
        if "inside" not in counts:
            counts["looks"] += 1
            counts["inside"] = 1
            ask()
            del counts["inside"]
        else:
            counts["asked"] += 1

    monkeypatch.setattr(Limits, "check", check)
    known = dipapprox.parse(subject) if "\n" in subject else str(PROGRAMS / subject)
    dipapprox.prove(known, options=Options(limits=Limits(seconds=1000)))
    assert counts["looks"] == counts["asked"] > 0
