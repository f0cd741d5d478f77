"""Questions consult every method that applies before they are Unknown, or answered in half."""

from __future__ import annotations

from pathlib import Path

import pytest

import dipapprox
from dipapprox.privacy.verdict import Answer
from tests.cli.running import run_json
from tests.privacy.test_why import ABOVE

CONSTANT = ABOVE.replace("noisy >= 2", "noisy >= other").replace(
    "noisy <-", "other <- Lap(2, 3)\nnoisy <-"
)
"""Noise that does not shrink with ε: no closed form for every ε; a shift of `noisy` costs ε."""

WEIGHTS = """
input x in {0, 1}
output y in real
adjacent linf 1
f <- choose { 0 : 1 / (1 + exp(eps)), 1 : exp(eps) / (1 + exp(eps)) }
if f = 0 then
    y <- Lap(x, 1 / eps)
else
    y <- Lap(x, 2 / eps)
end
"""
"""At ε = 1 it needs 0.6824: log((w + v/2) / (w e^-1 + v/2 e^-1/2)), the weights w and v."""


@pytest.mark.parametrize(
    ("text", "eps", "eps_prv", "answer"),
    [
        (ABOVE, "1/2..1", "eps", Answer.DP),
        (ABOVE, "1/2..1", "0.999 * eps", Answer.NOT_DP),
        (CONSTANT, "1/2..1", "eps", Answer.DP),
        (CONSTANT, "1/2..1", "eps / 20", Answer.NOT_DP),
        (WEIGHTS, "1/2..1", "eps", Answer.DP),
        (WEIGHTS, "1/2..1", "0.999 * eps", Answer.UNKNOWN),
        (WEIGHTS, "1/2..1", "0.68 * eps", Answer.NOT_DP),
    ],
)
def test_claims_about_intervals(text: str, eps: str, eps_prv: str, answer: Answer) -> None:
    found = dipapprox.verify(dipapprox.parse(text), eps=eps, eps_prv=eps_prv, delta=0)
    assert found.answer is answer
    if answer is Answer.DP:
        assert [end.by for end in found.why()] == ["least budget"]


@pytest.mark.parametrize(
    ("budget", "answer"),
    [("1", Answer.DP), ("1.001", Answer.DP), ("1/20", Answer.NOT_DP)],
)
def test_decisions_where_nothing_has_a_closed_form(budget: str, answer: Answer) -> None:
    found = dipapprox.decide(dipapprox.parse(CONSTANT), budget=budget)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.reason is None and found.cause is None
        assert [end.by for end in found.why()] == ["least budget"]
        assert "budget" in str(found)


def test_what_a_budget_tells_is_proved_or_unknown(tmp_path: Path) -> None:
    path = tmp_path / "asked.dpg"
    path.write_text(CONSTANT, encoding="utf-8")
    status, fields = run_json("decide", str(path), "--proved")
    assert (status, fields["verdict"], fields["reason"]) == (3, "Unknown", "no-proof")
    path.write_text(ABOVE, encoding="utf-8")
    asked = ("verify", str(path), "--eps", "1/2..1", "--delta", "0", "--proved")
    status, fields = run_json(*asked)
    assert (status, fields["verdict"]) == (0, "DP") and fields["proved"]["steps"] >= 1


def test_a_budget_is_the_last_word_on_an_upper_end() -> None:
    options = dipapprox.Options(max_precision=40)
    asked = dipapprox.parse(ABOVE)
    found = dipapprox.profile(asked, eps=1, delta=0, width="1e-300", options=options)
    assert found.eps_prv_enclosure.upper == 1
    assert [end.by for end in found.why()][1] == "least budget" and found.reason is not None
