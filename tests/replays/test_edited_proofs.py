"""Files of proofs that were edited by hand, with a digest that fits."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dipapprox
from dipapprox import Options, Outcome, UserError
from dipapprox.replays.digest import digest

TEXT = """\
input q in {0, 1, 2}
output o in {low, high}
adjacent linf 1
r <- Lap(q, 1 / eps)
o <- low
if r > 1 then
    o <- high
end
"""


def proof(pairs: str = "all") -> dict[str, Any]:
    program, options = dipapprox.parse(TEXT), Options(proved=True)
    verdict = dipapprox.verify(program, eps=1, delta="1/10", pairs=pairs, options=options)
    found = dipapprox.certify(program, TEXT, verdict, pairs=pairs, options=options)
    return dict(json.loads(found.to_json()))


def judged(content: dict[str, Any]) -> dipapprox.Replay:
    return dipapprox.check(content | {"digest": digest(content)})


@pytest.mark.parametrize("pairs", ["all", "single", "1~2;0~1"])
def test_the_scope_is_that_of_the_claim(pairs: str) -> None:
    content = proof(pairs)
    assert judged(content).outcome is Outcome.CONFIRMED
    found = judged(content | {"scope": "for all real inputs, adjacent all"})
    assert found.outcome is Outcome.REFUTED
    assert found.differences == (f"scope: the proof is {content['scope']}",)


def test_a_claim_about_no_pairs_is_none() -> None:
    content = proof("single")
    with pytest.raises(UserError, match="no pair is listed"):
        judged(content | {"claim": content["claim"] | {"pairs": []}})


@pytest.mark.parametrize("rule", [[], {}, None, 1, "trust me"])
def test_rules_are_names(rule: object) -> None:
    content = proof()
    steps = [*content["steps"][:-1], content["steps"][-1] | {"rule": rule}]
    with pytest.raises(UserError, match="a rule"):
        judged(content | {"steps": steps})
