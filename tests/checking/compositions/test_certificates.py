"""Certificates of compositions: the true ones are confirmed, and no false one is."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import dipapprox
from dipapprox.certificates.digest import digest
from dipapprox.checking.check import check
from dipapprox.errors import UserError
from dipapprox.replays.result import Outcome
from tests.cli.conftest import SVT
from tests.schemas import check_schema

F = Fraction
Fields = dict[str, Any]

GAUSSIAN = {"mechanism": "gaussian", "sigma": 4, "times": 10}
SAMPLED = {"mechanism": "gaussian", "sigma": 2, "subsample": "1/10", "times": 30}
PIPELINES: dict[str, list[dict[str, object]]] = {
    "gaussian": [GAUSSIAN],
    "sampled": [SAMPLED],
    "one": [{"mechanism": "gaussian", "sigma": 4}],
    "laplace": [{"mechanism": "laplace", "scale": 10, "times": 30}],
    "lattice": [{"mechanism": "discrete_laplace", "scale": 2, "sensitivity": 3, "times": 20}],
    "discrete": [{"mechanism": "discrete_gaussian", "sigma": 5, "sensitivity": 2, "times": 20}],
    "response": [{"mechanism": "randomised_response", "probability": "0.55", "subsample": "1/3",
                  "times": 60}],
    "exponential": [{"mechanism": "exponential_mechanism", "eps": "1/8", "times": 30}],
    "statements": [{"mechanism": "approx_dp", "eps": "1/10", "delta": "1e-7", "times": 5},
                   {"mechanism": "laplace", "scale": 10, "times": 9}],
    "renyi": [{"mechanism": "rdp", "orders": [[2, "1/50"], [16, "1/5"]], "times": 5}],
}  # fmt: skip


@cache
def certificate(name: str, eps_prv: str | None = None, delta: str | None = "1e-5") -> Fields:
    composed = dipapprox.compose(PIPELINES[name], adjacency="add/remove")
    if eps_prv is None:
        answer = composed.epsilon(str(delta), "0.05")
    elif delta is None:
        answer = composed.delta(eps_prv)
    else:
        answer = composed.verify(eps_prv, delta)
    fields = json.loads(composed.certify(answer).to_json())
    assert isinstance(fields, dict)
    return fields


def outcome(fields: Fields) -> Outcome | None:
    """None: it is no certificate."""
    try:
        return check({**fields, "digest": digest(fields)}).outcome
    except UserError:
        return None


@pytest.mark.parametrize("name", PIPELINES)
def test_what_is_found_is_confirmed(name: str) -> None:
    fields = certificate(name)
    check_schema("composition_certificate", fields)
    found = check(fields)
    assert found.outcome is Outcome.CONFIRMED, (found.reason, found.differences)
    check_schema("check", json.loads(json.dumps(found.to_dict())))
    assert found.describe().headline.endswith("is confirmed")


@pytest.mark.parametrize(
    ("budget", "delta", "verdict"),
    [("3.5", "1e-5", "DP"), ("3.2", "1e-5", "Not_DP"), ("1", None, "DP")],
)
def test_claims(budget: str, delta: str | None, verdict: str) -> None:
    fields = certificate("gaussian", budget, delta)
    assert fields["verdict"] == verdict and outcome(fields) is Outcome.CONFIRMED
    if delta is not None:
        other = "Not_DP" if verdict == "DP" else "DP"
        assert outcome({**fields, "verdict": other}) is None


def changed(fields: Fields, *place: str | int, to: object) -> Fields:
    found = copy.deepcopy(fields)
    inner: Any = found
    for step in place[:-1]:
        inner = inner[step]
    assert inner[place[-1]] != to
    inner[place[-1]] = to
    return found


PARAMETERS: dict[str, list[tuple[str, tuple[object, ...]]]] = {
    "gaussian": [("sigma", ("4001/1000", "3999/1000")), ("sensitivity", ("101/100", "99/100"))],
    "laplace": [("scale", ("1001/100", "999/100"))],
    "lattice": [("scale", ("201/100", "199/100")), ("sensitivity", (2, 4))],
    "discrete": [("sigma", ("501/100", "499/100")), ("sensitivity", (1, 3))],
    "response": [("probability", ("551/1000", "549/1000")), ("values", (3,))],
    "statements": [("eps", ("101/1000", "99/1000")), ("delta", ("2/10000000", "1/20000000"))],
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_other_runs_are_not_what_the_masses_are_of(name: str) -> None:
    """Both sides are recorded: a run that costs more breaks the one, a cheaper one the other."""
    fields = certificate(name)
    for parameter, values in PARAMETERS[name]:
        for value in values:
            forged = changed(fields, "runs", 0, "what", parameter, to=value)
            assert outcome(forged) is not Outcome.CONFIRMED, (parameter, value)
    run = fields["runs"][0]
    for place, value in (("times", run["times"] + 1), ("subsample", "1/2")):
        assert outcome(changed(fields, "runs", 0, place, to=value)) is not Outcome.CONFIRMED
    more = changed(fields, "runs", 0, "times", to=run["times"] + 1)
    for side in ("below", "above"):
        piece = more["grid"]["removed"][side][0]
        piece["times"] += F(1, piece["group"]).denominator == 1
    assert outcome(more) is not Outcome.CONFIRMED


@pytest.mark.parametrize("name", ["gaussian", "sampled", "lattice", "statements"])
def test_changed_masses_are_told(name: str) -> None:
    """One mass that is less from above, or more from below, by as little as a few units."""
    fields = certificate(name)
    directions = [d for d in ("removed", "added") if fields["grid"][d] is not None]
    for direction in directions:
        for side, sign in (("above", -1), ("below", 1)):
            atoms = fields["grid"][direction][side][0]["masses"]["atoms"]
            for k in {0, len(atoms) // 3, len(atoms) // 2, len(atoms) - 1}:
                mass = int(atoms[k][1], 16)
                # From below there is room for a slip, a squared step or so.
                units = (
                    2**12 if side == "above" else (mass >> 2) + 2 ** (fields["grid"]["bits"] - 30)
                )
                if mass + sign * units < 0:
                    continue
                place = ("grid", direction, side, 0, "masses", "atoms", k, 1)
                forged = changed(fields, *place, to=f"{mass + sign * units:x}")
                assert outcome(forged) is Outcome.REFUTED, (direction, side, k)
            infinite = ("grid", direction, side, 0, "masses", "infinite")
            forged = changed(fields, *infinite, to=f"{2**70:x}")
            assert outcome(forged) is not Outcome.CONFIRMED


def test_other_grids_are_told() -> None:
    fields = certificate("sampled")
    unit, bits = F(fields["grid"]["unit"]), fields["grid"]["bits"]
    for place, value in (
        ("unit", str(unit * F(1001, 1000))),
        ("unit", str(unit * F(999, 1000))),
        ("bits", bits + 1),
        ("bits", bits - 1),
        ("base", "3"),
        ("slip", "0"),
        ("added", None),
    ):
        assert outcome(changed(fields, "grid", place, to=value)) is not Outcome.CONFIRMED, place


@pytest.mark.parametrize("name", ["gaussian", "sampled", "one", "response"])
def test_adversarial_intervals(name: str) -> None:
    """A hair narrower than what the masses say, at either end, is not confirmed; wider is true."""
    fields = certificate(name)
    for k, stated in enumerate(fields["deltas"]):
        low, high = map(F, stated["delta"])
        hair = (high - low) / 100
        forged = [str(high - hair * 30), str(high)]
        assert outcome(changed(fields, "deltas", k, "delta", to=forged)) is not Outcome.CONFIRMED
        forged = [str(low), str(low + hair * 30)]
        assert outcome(changed(fields, "deltas", k, "delta", to=forged)) is not Outcome.CONFIRMED
        apart = [str(high + hair * 200), str(high + hair * 300)]
        told = outcome(changed(fields, "deltas", k, "delta", to=apart))
        assert told in (Outcome.REFUTED, None)


def test_what_has_no_certificate() -> None:
    composed = dipapprox.compose(PIPELINES["laplace"])
    with pytest.raises(UserError, match="greatest losses are added"):
        composed.certify(composed.epsilon(0))
    with pytest.raises(UserError, match="one of this pipeline"):
        composed.certify(dipapprox.compose(PIPELINES["one"]).epsilon("1e-5", "0.1"))
    limited = dipapprox.compose(
        PIPELINES["laplace"], options=dipapprox.Options(limits=dipapprox.Limits(atoms=100))
    )
    with pytest.raises(UserError, match="the verdict is Unknown"):
        limited.certify(limited.verify("3.3", "1e-5"))
    program = dipapprox.parse(SVT)
    composed = dipapprox.compose([{"program": program, "eps": "1/2", "times": 3}])
    with pytest.raises(UserError, match="text of"):
        composed.certify(composed.epsilon("1e-3", "0.1"))
