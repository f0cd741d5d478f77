"""Proofs about pipelines in files: written, confirmed, and refuted where something was changed."""

import json
from collections.abc import Callable
from copy import deepcopy
from math import exp
from pathlib import Path
from typing import Any

import pytest

import dipapprox
from dipapprox import Options
from dipapprox.errors import UserError
from dipapprox.replays.digest import digest
from dipapprox.replays.result import Outcome, Replay

PROGRAM = Path(__file__).parents[3] / "programs" / "svt_gauss.dpg"
Json = Any


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """A file about a program and a mechanism."""
    tmp_path = tmp_path_factory.mktemp("pipeline")
    text = f"""
    [[run]]
    program = "{PROGRAM}"
    eps = "1/2"
    params = {{ N = 2 }}
    times = 3
    [[run]]
    mechanism = "laplace"
    scale = 4
    subsample = "1/5"
    times = 5
    """
    spec = tmp_path / "pipeline.toml"
    spec.write_text(text, encoding="utf-8")
    composed = dipapprox.compose(spec, options=Options(proved=True))
    certificate = composed.certify(composed.verify("1/4", "27/1000"))
    return json.loads(certificate.to_json())


@pytest.mark.parametrize(
    ("run", "eps_prv", "true"),
    [
        ({"mechanism": "laplace", "scale": 1}, "1/2", 1 - exp(-1 / 4)),
        ({"mechanism": "laplace", "scale": 1}, "2", 0.0),
        ({"mechanism": "gaussian", "sigma": 1}, "3", 0.001537185369442),
        ({"mechanism": "laplace", "scale": 1, "subsample": "1/3"}, "1/5", 0.0725166650672503),
    ],
)
def test_proofs_of_one_run_have_the_digits_of_the_answer(
    run: dict[str, Any], eps_prv: str, true: float
) -> None:
    """Closed forms; of a sample r H((α - 1 + r) / r)."""
    composed = dipapprox.compose([run], options=Options(proved=True))
    answer = composed.delta(eps_prv)
    assert answer.proofs and answer.reason is None
    found = answer.delta_enclosure
    assert found.width <= found.upper / 10**8
    assert float(found.upper) == pytest.approx(true, rel=1e-8)


@pytest.fixture
def content(once: Json) -> Json:
    """It, to be changed."""
    return deepcopy(once)


def checked(content: Json) -> Replay:
    """What `check` says of a file with this content, signed again."""
    fields = {key: value for key, value in content.items() if key != "digest"}
    found = dipapprox.check({**fields, "digest": digest(fields)})
    assert isinstance(found, Replay)
    return found


def test_a_proof_is_written_and_confirmed(content: Json) -> None:
    found = dipapprox.check(json.dumps(content))
    assert found.outcome is Outcome.CONFIRMED
    assert found.elaborated
    assert found.verdict == "DP"
    assert found.concluded == (
        "whatever the pipeline runs, it is (1/4, 27/1000)-differentially private",
    )
    assert len(found.steps) == len(content["proofs"][0]["steps"])
    changed = dipapprox.check({**content, "verdict": "DP", "computed": {}})
    assert changed.outcome.value == "refuted"


def _claimed(content: Json, name: str, value: str) -> None:
    (proof,) = content["proofs"]
    proof["claim"][name] = value
    proof["steps"][-1][name] = value


FALSE: dict[str, Callable[[Json], None]] = {
    "a smaller budget": lambda c: _claimed(c, "eps_prv", "1/100"),
    "a smaller delta": lambda c: _claimed(c, "delta", "1/1000000"),
    "more runs": lambda c: c["pipeline"]["runs"][0].update(times=4),
    "less noise": lambda c: c["pipeline"]["runs"][1]["what"].update(scale=2),
    "no sample": lambda c: c["pipeline"]["runs"][1].update(subsample=None),
    "another eps": lambda c: c["pipeline"]["runs"][0]["what"].update(eps=1),
    "another text": lambda c: c["programs"][0]["program"].update(text="input q in {0, 1}"),
    "other parameters": lambda c: c["programs"][0].update(
        params={"N": "3", "T": "0", "Delta": "1"}
    ),
    "a step less": lambda c: c["proofs"][0]["steps"].pop(-2),
}


@pytest.mark.parametrize("why", FALSE)
def test_what_was_changed_is_not_confirmed(why: str, content: Json) -> None:
    """Though it was signed again."""
    FALSE[why](content)
    try:
        found = checked(content)
    except UserError:
        return
    assert found.outcome is Outcome.REFUTED


MALFORMED: dict[str, Callable[[Json], None]] = {
    "another version": lambda c: c.update(version=2),
    "a field more": lambda c: c.update(more=1),
    "a machine without a program": lambda c: c.update(programs=[None, None]),
    "no proof": lambda c: c.update(proofs=[]),
    "another verdict": lambda c: c.update(verdict="Not_DP"),
    "a field of a run more": lambda c: c["pipeline"]["runs"][0].update(more=1),
    "an unknown mechanism": lambda c: c["pipeline"]["runs"][1]["what"].update(mechanism="magic"),
}


@pytest.mark.parametrize("why", MALFORMED)
def test_what_is_no_proof_is_bad_input(why: str, content: Json) -> None:
    MALFORMED[why](content)
    with pytest.raises(UserError, match="malformed"):
        checked(content)
