"""Certificates for all real inputs: what is true is confirmed, what is changed is refuted."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox import Limits, Outcome, certify, check, parse, verify
from dipapprox.checking.boxes.differences import closure, joined
from dipapprox.checking.boxes.models import BoxModels
from dipapprox.checking.boxes.sets import all_pairs, real_ranges
from dipapprox.checking.distributions import Distributions
from tests.checking.certified import Fields, replaced, retold, signed
from tests.schemas import check_schema

_SVT = """
input q[{n}] in {domain}
output out[{n}] in {{0, 1}}
adjacent {adjacency}
for i in 1..{n} do out[i] <- 0 end
rT <- Gauss(0, 2 / eps)
for i in 1..{n} do
    r <- Gauss(q[i], 4 / eps)
    if r >= rT then out[i] <- 1; exit end
end
"""

_MAX = """
input k in {{0, 1/2}}
input q[2] in {domain}
output out in 1..3
adjacent {adjacency}
v[1] <- Gauss(k, 4 / eps)
for i in 1..2 do v[i + 1] <- Gauss(q[i], 4 / eps) end
out <- argmax(v)
"""

_MIXED = """
input q in {domain}
output out in 0..3
adjacent {adjacency}
out <- 0
c <- choose {{1 : 1 / 3, 0 : 2 / 3}}
x <- Lap(0, 1 / eps)
r <- Gauss(2 * q, 3 / eps)
if c = 1 and x >= 1/2 then out <- 1 end
if r >= 0 and r < 1 then out <- out + 2 end
"""

_HALF = Fraction(1, 2)


def _certificate(text: str, eps_prv: str, delta: str = "1e-4") -> Fields:
    return _certificate_at(text, eps_prv, delta, _HALF)


def _certificate_at(text: str, eps_prv: str, delta: str, eps: Fraction = Fraction(1)) -> Fields:
    program = parse(text)
    verdict = verify(program, eps=eps, eps_prv=eps_prv, delta=delta)
    assert verdict.answer.value == "DP"
    fields: Any = json.loads(certify(program, text, verdict).to_json())
    assert isinstance(fields, dict)
    return fields


@pytest.mark.parametrize(
    ("text", "domain", "adjacency", "eps_prv"),
    [
        (_SVT.replace("{n}", "2"), "real 0..1", "linf 1", "41/200"),
        (_SVT.replace("{n}", "2"), "real -1..2", "l1 1", "3/20"),
        (_SVT.replace("{n}", "2"), "real 0..1", "increasing 1/2", "1/8"),
        (_MAX, "real 0..1", "linf 1", "1/5"),
        (_MAX, "real 0..1", "l0 2", "1/5"),
        (_MAX, "real 0..1", "all", "1/4"),
        (_MIXED, "real 0..1", "linf 1", "3/10"),
    ],
)
def test_what_is_true_is_confirmed(text: str, domain: str, adjacency: str, eps_prv: str) -> None:
    result = check(_certificate(text.format(domain=domain, adjacency=adjacency), eps_prv))
    assert result.outcome is Outcome.CONFIRMED, (result.reason, result.differences)
    assert result.delta_enclosure is not None
    assert result.delta_enclosure.upper == Fraction(1, 10_000)


@pytest.fixture(scope="module")
def private() -> Fields:
    """With cuts and reductions, next to its least ε_prv."""
    return _certificate(
        _MAX.format(domain="real 0..1", adjacency="linf 1"), "1840499/10000000", "1e-5"
    )


def test_cuts_and_reductions_are_recorded(private: Fields) -> None:
    assert {step[0] for step in private["evidence"]["steps"]} & {"cut", "faces"}
    result = check(private)
    assert result.outcome is Outcome.CONFIRMED
    assert result.sets is not None
    assert result.pairs is None
    check_schema("check", result.to_dict())


def _step(fields: Fields, kind: str) -> int:
    return next(k for k, step in enumerate(fields["evidence"]["steps"]) if step[0] == kind)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("claim", "eps_prv"), "184/1000"),
        (("claim", "eps"), "51/100"),
        (("claim", "delta"), "1/1000000"),
        (("evidence", "input"), [1, 1, 1]),
        (("evidence", "input"), [0, 0, 3]),
        (("evidence", "delta_enclosure"), ["0.1", "0.2"]),
        (("delta_enclosure",), ["0", "0"]),
        (("delta_enclosure",), ["0.1", "0.2"]),
        (("pairs", "count"), 7),
        (("scope",), "for inputs q[1..2] in {0, 1/2}, adjacent linf 1"),
    ],
)
def test_what_is_changed_is_refuted(
    private: Fields, place: tuple[str | int, ...], value: object
) -> None:
    assert check(signed(replaced(private, place, value))).outcome is Outcome.REFUTED


def test_steps_that_are_false_are_refuted(private: Fields) -> None:
    cut = _step(private, "cut")
    parts = private["evidence"]["steps"][cut][-1]
    for place, value in (
        ((cut, 1), 5),
        ((cut, 3), "9/1"),
        ((cut,), ["faces", [[[1, 0]]], parts]),
        ((cut,), ["faces", [[[1, 0], [-1, 0]], []], parts]),
    ):
        forged = signed(replaced(private, ("evidence", "steps", *place), value))
        assert check(forged).outcome is Outcome.REFUTED, (place, value)


def test_another_subdivision_is_as_true(private: Fields) -> None:
    """What is recorded saves time: nothing rests on it."""
    roots = private["evidence"]["roots"]
    forged = replaced(private, ("evidence", "roots"), [None] * len(roots))
    forged["evidence"]["steps"] = []
    assert check(signed(forged)).outcome is Outcome.CONFIRMED
    with_others = {**private, "claim": {**private["claim"], "eps_prv": "184/1000"}}
    with_others["evidence"] = forged["evidence"]
    assert check(signed(with_others)).outcome is Outcome.REFUTED


def test_another_program_is_refuted(private: Fields) -> None:
    from_text, to_text = "4 / eps", "3 / eps"
    text = private["program"]["text"].replace(from_text, to_text)
    found = check(retold(private, text))
    assert found.outcome is Outcome.REFUTED
    assert not any("hash" in each for each in found.differences)


def test_violations_have_a_pair() -> None:
    text = _SVT.replace("{n}", "2").format(domain="real 0..1", adjacency="linf 1")
    program = parse(text)
    verdict = verify(program, eps=_HALF, eps_prv="1/5", delta="1e-5")
    fields = json.loads(certify(program, text, verdict).to_json())
    assert fields["verdict"] == "Not_DP"
    assert check(fields).outcome is Outcome.CONFIRMED
    outside = replaced(fields, ("evidence", "input"), [2, 0])
    assert check(signed(outside)).outcome is Outcome.REFUTED


def test_numbers_with_noise_are_checked_at_vertices() -> None:
    text = "input q[2] in real 0..1\noutput y in real\nadjacent {rule}\n"
    text += "y <- Gauss(q[1] + 2 * q[2], 5)\n"
    for rule in ("linf 1/2", "l1 1", "all"):
        own = text.replace("{rule}", rule)
        program = parse(own)
        verdict = verify(program, eps=1, eps_prv="1/10", delta="1/2")
        fields = json.loads(certify(program, own, verdict).to_json())
        assert fields["verdict"] == "DP"
        assert check(fields).outcome is Outcome.CONFIRMED
        forged = signed(replaced(fields, ("claim", "delta"), "1/50"))
        assert check(forged).outcome is Outcome.REFUTED


@pytest.mark.parametrize("changed", ["Gauss(-q, 1)", "Gauss(q, 1/2)", "Gauss(q, 1) + Gauss(0, 1)"])
def test_numbers_that_finite_inputs_change_are_not_checked_at_vertices(changed: str) -> None:
    """For q and -q the shift is 2 inside, and at most 1 where both inputs change by 1."""
    text = (
        "input b in {{0, 1}}\ninput q in real 0..1\noutput y in real\nadjacent linf 1\n"
        "if b = 0 then y <- Gauss(q, 1) else y <- {other} end\n"
    )
    honest = text.replace("if b = 0 then y <- Gauss(q, 1) else y <- {other} end", "y <- {other}")
    honest = honest.format(other="Gauss(q + b, 1)")
    fields = _certificate_at(honest, "2", "2/5")
    assert check(fields).outcome is Outcome.CONFIRMED
    own = text.format(other=changed)
    assert verify(parse(own), eps=1, eps_prv="2", delta="2/5").answer.value == "Unknown"
    forged = check(retold(fields, own))
    assert forged.outcome is not Outcome.CONFIRMED
    assert not any("hash" in each for each in forged.differences)


def test_directions_without_room_for_a_move_say_nothing() -> None:
    """Sets where u_1 and u'_1 are one pair of numbers are reduced in the other input only."""
    text = """
input q[2] in real -1/2..1/2
output out in 0..2
adjacent linf 1/2
out <- 0
t <- Gauss(1/2, 1/2/eps)
r <- Gauss(q[1], 1/2/eps)
if r < t then out <- 1; exit end
r <- Gauss(q[2] + 1, 1/eps)
if r >= t then out <- 2 end
"""
    fields = _certificate_at(text, "1/4", "97999/500000")
    assert check(fields).outcome is Outcome.CONFIRMED
    # Where δ falls, and is shown to, the opposite is false; elsewhere the check does without.
    found = set()
    for k, step in enumerate(fields["evidence"]["steps"]):
        if step[0] == "faces":
            turned = [[[-x, -y] for x, y in each] for each in step[1]]
            forged = signed(replaced(fields, ("evidence", "steps", k, 1), turned))
            found.add(check(forged).outcome)
    assert found == {Outcome.CONFIRMED, Outcome.REFUTED}


def test_listed_pairs_of_real_inputs() -> None:
    text = _SVT.replace("{n}", "2").format(domain="real 0..1", adjacency="linf 1")
    program = parse(text)
    pairs = [((Fraction(0), Fraction(1, 3)), (Fraction(1), Fraction(0)))]
    verdict = verify(program, eps=_HALF, eps_prv="1/5", delta="1e-3", pairs=pairs)
    certificate = certify(program, text, verdict, pairs=pairs)
    assert check(certificate.to_json()).outcome is Outcome.CONFIRMED


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_models_contain_what_they_are_near(data: st.DataObject) -> None:
    """At points of a box: against distributions of concrete inputs, by other integrals."""
    text = data.draw(st.sampled_from([_SVT.replace("{n}", "2"), _MAX, _MIXED]))
    program = parse(text.format(domain="real -3..3", adjacency="linf 1"))
    derived = Distributions(program, Fraction(data.draw(st.integers(1, 4))), Limits())
    rows = all_pairs(program, real_ranges(program))
    row = rows[0].first
    axes = sum(value is None for value in row)
    models = BoxModels(derived, axes, 60, Limits())
    models.require([row])
    numbers = st.fractions(-3, 3, max_denominator=9)
    ends = [tuple(sorted(data.draw(st.tuples(numbers, numbers)))) for _ in range(axes)]
    near = models.on(row, ends)
    shares = [data.draw(st.fractions(0, 1, max_denominator=5)) for _ in range(axes)]
    point = [low + share * (high - low) for share, (low, high) in zip(shares, ends, strict=True)]
    own = iter(point)
    bounds = derived.at(60)
    exact = bounds.for_input(tuple(next(own) if value is None else value for value in row))
    t = np.array([float(x - c) for x, c in zip(point, near.centre, strict=True)])
    for output, k in models.order.items():
        low, high = exact.get(output, (0, 0))
        value = near.values[k] + near.gradients[k] @ t + t @ near.hessians[k] @ t / 2
        rest = near.rests[k] + 1e-16
        assert low / 2**bounds.unit - rest <= value <= high / 2**bounds.unit + rest
    alone = models.on(row, [(x, x) for x in point])
    assert alone.rests.max() < 1e-12
    slopes = near.gradients + near.hessians @ t
    assert (np.abs(slopes - alone.gradients) <= near.slope_rests + alone.slope_rests).all()
    assert (alone.gradients * near.growth >= -1e-12).all()


def test_sets_are_joined_where_they_are_one() -> None:
    below = {(1, 2): Fraction(0), (2, 3): Fraction(0)}
    other = {(2, 1): Fraction(0), (1, 3): Fraction(0)}
    assert joined([below, other], Limits()) == [{(1, 3): Fraction(0), (2, 3): Fraction(0)}]
    apart = {(2, 1): Fraction(0), (1, 3): Fraction(1)}
    assert len(joined([below, apart], Limits())) == 2
    assert closure({(1, 2): Fraction(0), (2, 1): Fraction(0)}) is None
