"""Given families and subroutines: those of the papers, and what is wrong with others."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dipapprox import Answer, UserError
from dipapprox.language.core import Value
from dipapprox.services.families import (
    Budgets,
    Families,
    check_pairs,
    prove_families,
    read_families,
)
from dipapprox.services.model import AskedService, Call, State
from dipapprox.services.prove_service import find_loss
from dipapprox.services.service_proof import prove_implementation
from dipapprox.services.system import System
from tests.cases import refuses
from tests.cli.running import run, run_json
from tests.services.examples import DATA, HEAD, ONCE, proof_of, service_of
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
def test_the_families_of_the_paper(t, v, loose) -> None:
    service = service_of(SLOTS, {"t": t, "v": v})
    system = System(AskedService(service))
    states = list(system.reachable())

    def families(step: int, equal: bool) -> Families:
        named = {
            (state, Fraction(data)): paper_family(system, state, data, t, v, step, equal)
            for state in states
            for data in (-1, 1)
        }
        return Families(Fraction(step), t, None, named)

    accepted = prove_families(service, families(2, True), None, ())
    assert accepted.answer is Answer.DP
    assert accepted.upper == 2 * t
    assert accepted.describe()
    for step, equal in ((2, False), (1, True)):
        rejected = prove_families(service, families(step, equal), None, ())
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
    return covered and check_pairs(system, family) is None


def test_a_file_of_families(tmp_path) -> None:
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


def test_pairs_with_budgets_of_their_own(tmp_path) -> None:
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


# --- Idealised steps replaced by subroutines ------------------------------------------------------

PRINTED = text_of("literature/truncated_geometric_printed")

SERVICE = text_of("services/families-counts")


def with_sampler(sampler: str = text_of("literature/truncated_geometric")) -> str:
    """The service that answers by the sampler of the paper, a loop of coins."""
    body = sampler[sampler.index("negative <-") :].replace("\n", "\n        ")
    for name, other in (("count", "value"), ("n <-", "noise <-"), ("+ n", "+ noise")):
        body = body.replace(name, other)
    # State cells of the service have other names.
    body = body.replace("left", "rest")
    return SERVICE.replace("SAMPLE", "value <- n\n        " + body)


def with_clamp() -> str:
    """The service that answers by a clamped sample."""
    return SERVICE.replace("SAMPLE", "reply <- clamp(DLap(n, 1 / eps), 0, 2*m)")


def test_the_command_shows_that_one_implements_the_other(tmp_path) -> None:
    (tmp_path / "sampler.dpg").write_text(with_sampler())
    (tmp_path / "ideal.dpg").write_text(with_clamp())
    files = [str(tmp_path / f"{name}.dpg") for name in ("sampler", "ideal")]
    words = ("prove", files[0], "--implements", files[1])
    status, fields = run_json(*words)
    assert (status, fields["program"], fields["least_budget"]["upper"]) == (0, "sampler", "2")
    status, text = run(*words, "--budget", "2")
    assert status == 0
    assert "every reply and next state has the same law" in text
    other = str(tmp_path / "other.dpg")
    Path(other).write_text(with_clamp().replace("DLap(n, 1 / eps)", "DLap(n, 2 / eps)"))
    status, fields = run_json("prove", files[0], "--implements", other)
    assert (status, fields["verdict"]) == (3, "Unknown")
    assert "does not implement other: in state (0, 2), at 'count'" in fields["reason"]
    Path(other).write_text(with_clamp().replace("left", "rest"))
    with pytest.raises(UserError, match="differ in their state cells"):
        prove_implementation(
            service_of(with_sampler()), service_of(Path(other).read_text()), None, ()
        )


def test_the_printed_sampler_is_refused_for_every_eps() -> None:
    """For large eps it is no probability; m = 2 runs its wrong line."""
    refuses(UserError, "probability", proof_of, with_sampler(PRINTED), m=2)


def test_the_printed_sampler_loses_too_much_at_one_eps() -> None:
    """Once asked, at eps = 1/4 and m = 2, it loses as much as its header says, 1.58 to 1.59."""
    text = with_sampler(PRINTED).replace("0..2 <- 2", "0..2 <- 1")
    service = service_of(text, {"m": 2})
    loss = find_loss(AskedService(service, Fraction(1, 4)))
    assert loss.is_known
    assert Fraction(158, 100) < loss.lower / 4 <= loss.upper / 4 < Fraction(159, 100)


def test_services_with_either_lose_the_same() -> None:
    for text in (with_sampler(), with_clamp()):
        proof = proof_of(text, m=1)
        assert proof.is_exact
        assert proof.upper == 2
