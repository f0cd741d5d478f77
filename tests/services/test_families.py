"""Given families: those of the paper, repaired, and what is wrong with others."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dipapprox.errors import UserError
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer
from dipapprox.services.families import Budgets, Families, FamilyCheck
from dipapprox.services.family_files import read_families
from dipapprox.services.family_proof import prove_families
from dipapprox.services.model import AskedService, Call, State
from dipapprox.services.system import System
from tests.cli.running import run, run_json
from tests.services.examples import DATA, HEAD, ONCE, service_of
from tests.texts import text_of

SLOTS = text_of("services/families-1")
"""The server of the paper for D = {-1, 1}: a slot is how many of each it holds."""


def paper_family(
    system: System, state: State, data: int, t: int, v: int, step: int, equal: bool
) -> Budgets:
    """The family of the specification, section 4.4, for one state and data point."""
    c = int(state[0] or 0)  # type: ignore[arg-type]

    def slot(u: State, place: int) -> tuple[int, int]:
        return int(u[place] or 0), int(u[t + place] or 0)  # type: ignore[arg-type]

    def changed(u: State, low: int, high: int) -> State:
        values = list(u)
        values[c], values[t + c] = Fraction(low), Fraction(high)
        return tuple(values)

    def partners(u: State) -> Iterator[State]:
        low, high = slot(u, c)
        if low + high < v:
            yield changed(u, low + (data < 0), high + (data > 0))
        else:
            yield u
        if data > 0 and low:
            yield changed(u, low - 1, high + 1)
        if data < 0 and high:
            yield changed(u, low + 1, high - 1)

    layers = [{state}]
    for answers in range(t + 1):
        waiting = list(layers[answers])
        for u in waiting:
            for call in system.calls:
                if call.is_data:
                    for outcome in system.step(u, call):
                        if outcome.state not in layers[answers]:
                            layers[answers].add(outcome.state)
                            waiting.append(outcome.state)
        layers.append(
            {
                o.state
                for u in layers[answers]
                for call in system.calls
                if not call.is_data
                for o in system.step(u, call)
            }
        )
    values: dict[tuple[State, State], Fraction] = {}
    for level in range(1, t + 1):
        for u in layers[t - level]:
            for w in partners(u):
                values.setdefault((u, w), Fraction(step * level))
    return Budgets(values, equal)


@pytest.mark.parametrize(("t", "v", "loose"), [(1, 1, 2), (1, 2, 2), (2, 1, 12)])
def test_the_families_of_the_paper(t: int, v: int, loose: int) -> None:
    service = service_of(SLOTS, {"t": t, "v": v})
    system = System(AskedService(service, Limits()))
    states = list(system.reachable())

    def families(step: int, equal: bool) -> Families:
        named = {
            (state, Fraction(data)): paper_family(system, state, data, t, v, step, equal)
            for state in states
            for data in (-1, 1)
        }
        return Families(Fraction(step), t, None, named)

    accepted = prove_families(service, families(2, True), None, (), Limits())
    assert accepted.answer is Answer.DP
    assert accepted.upper == 2 * t
    assert accepted.describe()
    for step, equal in ((2, False), (1, True)):
        rejected = prove_families(service, families(step, equal), None, (), Limits())
        assert rejected.answer is Answer.UNKNOWN
        assert rejected.rejection is not None
        assert rejected.describe()
    loosely = families(1, True).named
    assert sum(passes(system, t, key, family) for key, family in loosely.items()) == loose


def passes(system: System, t: int, key: tuple[State, Value], family: Budgets) -> bool:
    """Whether the family of one state and data point covers it, with steps of ε."""
    state, data = key
    call = Call(0, "data", (data,))
    covered = all(
        family.covers(state, outcome.state, Fraction(t)) for outcome in system.step(state, call)
    )
    check = FamilyCheck(system, family)
    return covered and check.run() is None


def test_a_file_of_families(tmp_path: Path) -> None:
    service = HEAD + DATA + ONCE
    (tmp_path / "s.dpg").write_text(service)
    bits = (0, 1)
    open_ = [[[a, "false"], [b, "false"]] for a in bits for b in bits]
    closed = [[[a, "true"], [b, "true"]] for a in bits for b in bits]
    content: dict[str, Any] = {
        "step": 1, "steps": 1, "families": [{"levels": [closed, [*open_, *closed]]}],
    }  # fmt: skip
    path = tmp_path / "F.json"
    path.write_text(json.dumps(content))
    words = ("prove", str(tmp_path / "s.dpg"), "--families", str(path))
    status, fields = run_json(*words)
    assert (status, fields["least_budget"]["upper"]) == (0, "1")
    assert run(*words, "--budget", "1/2")[0] == 3
    content["step"] = "1/2"
    path.write_text(json.dumps(content))
    status, text = run(*words)
    assert status == 3
    assert "cannot be matched within what the pair may lose" in text
    assert "too few matches" in text
    content["families"][0]["levels"][1] = closed
    content["step"] = 1
    path.write_text(json.dumps(content))
    assert "the covering pair is missing" in run(*words)[1]


def test_pairs_with_budgets_of_their_own(tmp_path: Path) -> None:
    """What is left of the questions is what a pair may lose."""
    text = (
        "state n in 0..1 <- 0\nstate left in 0..2 <- 2\noutput reply in {0, 1, stop}\n"
        + DATA
        + "on query ask do\nif left = 0 then reply <- stop else\nleft <- left - 1\n"
        "reply <- clamp(DLap(n, 1 / eps), 0, 1)\nend\nend\n"
    )
    (tmp_path / "s.dpg").write_text(text)
    pairs = [[[a, left], [1 - a, left], left] for a in (0, 1) for left in (0, 1, 2)]
    content: dict[str, Any] = {"budget": 2, "equal": True, "families": [{"budgets": pairs}]}
    path = tmp_path / "F.json"
    path.write_text(json.dumps(content))
    words = ("prove", str(tmp_path / "s.dpg"), "--families", str(path))
    status, fields = run_json(*words)
    assert (status, fields["least_budget"]["upper"]) == (0, "2")
    status, fields = run_json(*words, "--eps", "1")
    assert (status, fields["eps"]) == (0, "1")
    pairs[0][2] = "-1"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"budgets\[0\]\[2\]: expected a number >= 0"):
        read_families(path, service_of(text))
