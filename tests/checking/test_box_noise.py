"""Certificates of real inputs in any noise with a density, and of inputs without bounds."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox import Limits, Outcome, certify, check, parse, verify
from dipapprox.checking.boxes.chords import ChordModels
from dipapprox.checking.boxes.infinity import moved
from dipapprox.checking.boxes.sets import all_pairs, real_ranges
from dipapprox.checking.boxes.smooth import changes
from dipapprox.checking.distributions import Distributions
from tests.checking.certified import Fields, replaced, retold, signed
from tests.schemas import check_schema

_SVT = """
input q[{n}] in {domain}
output out[{n}] in {{0, 1}}
adjacent {adjacency}
for i in 1..{n} do out[i] <- 0 end
rT <- {noise}(0, 2 / eps)
for i in 1..{n} do
    r <- {noise}(q[i], 4 / eps)
    if r >= rT then out[i] <- 1; exit end
end
"""

_ANSWER = """
input q in {domain}
output o in 0..1
adjacent {adjacency}
r <- {noise}(q, 4 / eps)
if r >= 3 then o <- 1 else o <- 0 end
"""

_MIXED = """
input q in {domain}
input k in {{0, 1}}
output o in 0..3
adjacent {adjacency}
c <- choose {{0 : 1 / 3, 1 : 2 / 3}}
r <- {noise}(q + k, 4 / eps)
t <- Gauss(0, 4 / eps)
if r >= t then o <- c else o <- c + 2 end
"""

_SUMS = """
input q[2] in {domain}
output o in {{0, 1}}
adjacent {adjacency}
r <- {noise}(q[1] + q[2], 4 / eps)
t <- {noise}(q[1], 3 / eps)
if r + 2 * t >= 1 then o <- 1 else o <- 0 end
"""

_KEPT = """
input q[2] in {domain}
output o in 0..2
adjacent {adjacency}
r <- {noise}(0, 4 / eps)
o <- 0
if r >= q[1] then o <- 1; if r <= q[2] + 1 then o <- 2 end end
"""


_IMPOSSIBLE = """
input q in {domain}
output o in 0..1
adjacent {adjacency}
o <- 0
r <- {noise}(q, 4 / eps)
if r < 0 and r >= 1 then o <- 1 end
"""


def _text(text: str, n: int = 2, **words: str) -> str:
    given = {"noise": "Lap", "domain": "real 0..1", "adjacency": "linf 1", **words}
    return text.format(n=n, **given)


def _certificate(text: str, eps_prv: str, delta: str) -> Fields:
    program = parse(text)
    verdict = verify(program, eps=Fraction(1, 2), eps_prv=eps_prv, delta=delta)
    assert verdict.answer.value == "DP", verdict
    fields: Any = json.loads(certify(program, text, verdict).to_json())
    assert isinstance(fields, dict)
    return fields


@pytest.mark.parametrize(
    ("text", "eps_prv", "delta"),
    [
        (_text(_SVT), "1/2", "0"),
        (_text(_SVT), "1/4", "1e-5"),
        (_text(_SVT, adjacency="l1 1"), "3/10", "1e-3"),
        (_text(_SVT, adjacency="increasing 1/2"), "1/4", "1e-3"),
        (_text(_SVT, n=1, domain="real -5..5"), "2/5", "1e-3"),
        (_text(_MIXED), "1/2", "1e-2"),
        (_text(_MIXED, noise="Gauss"), "1/2", "1e-2"),
        (_text(_SUMS), "1/2", "1e-2"),
        (_text(_SUMS, noise="Gauss"), "1/2", "1e-2"),
        (_text(_KEPT), "1/2", "1/5"),
        (_text(_IMPOSSIBLE), "1/4", "0"),
        (_text(_ANSWER, domain="real", noise="Gauss"), "3/4", "1e-2"),
        (_text(_ANSWER, domain="real", adjacency="increasing 1"), "1/2", "1e-2"),
    ],
)
def test_what_is_true_is_confirmed(text: str, eps_prv: str, delta: str) -> None:
    fields = _certificate(text, eps_prv, delta)
    check_schema("certificate", fields)
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, (result.reason, result.differences)
    # A hair below what some pair has, it is false.
    lower = Fraction(fields["evidence"]["delta_enclosure"][0])
    if lower:
        forged = replaced(fields, ("claim", "delta"), str(lower * Fraction(999_999, 1_000_000)))
        assert check(signed(forged)).outcome is Outcome.REFUTED


@pytest.fixture(scope="module")
def unbounded() -> Fields:
    return _certificate(_text(_ANSWER, domain="real"), "1/2", "1e-3")


def test_ends_are_recorded(unbounded: Fields) -> None:
    ((low, high),) = unbounded["evidence"]["ends"]
    assert Fraction(low) < -100
    assert Fraction(high) > 100
    assert check(unbounded).outcome is Outcome.CONFIRMED


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ([["-500", "500"]], Outcome.CONFIRMED),
        ([["-10", "10"]], Outcome.NOT_CONFIRMED),
        ([["300", "400"]], Outcome.NOT_CONFIRMED),
        ([["0", "0"]], Outcome.NOT_CONFIRMED),
        ([None], Outcome.REFUTED),
        ([], Outcome.REFUTED),
        ([["-500", "500"], None], Outcome.REFUTED),
    ],
)
def test_other_ends(unbounded: Fields, ends: list[object], outcome: Outcome) -> None:
    """Ends that are as good are as true; too narrow ones leave too much out."""
    fields = replaced(unbounded, ("evidence", "ends"), ends)
    fields["evidence"]["steps"] = []
    fields["evidence"]["roots"] = [None] * len(fields["evidence"]["roots"])
    assert check(signed(fields)).outcome is outcome


def test_bounds_are_those_of_the_program() -> None:
    """What was subdivided between bounds does not stand for all numbers, nor for wider bounds."""
    text = _text(_SVT, n=1, domain="real 0..1/4")
    bounded = _certificate(text, "1/16", "1e-3")
    for domain in ("real", "real 0..3", "real -1..1/4"):
        wider = retold(bounded, text.replace("real 0..1/4", domain))
        wider["scope"] = wider["scope"].replace("real 0..1/4", domain)
        found = check(signed(wider))
        assert found.outcome is Outcome.REFUTED
        assert not any("hash" in each or "scope" in each for each in found.differences)
    narrower = {**bounded, "evidence": {**bounded["evidence"], "ends": [["0", "1/4"]]}}
    assert check(signed(narrower)).outcome is Outcome.REFUTED


def test_numbers_around_inputs_without_bounds() -> None:
    for noise, eps_prv, delta in (("Gauss", "22/5", "1e-5"), ("Lap", "1", "0")):
        text = f"input q in real\noutput y in real\nadjacent linf 1\ny <- {noise}(q, 1/2/eps)\n"
        fields = _certificate(text, eps_prv, delta)
        assert check(fields).outcome is Outcome.CONFIRMED
        wider = retold(fields, text.replace("linf 1", "linf 2"))
        wider["scope"] = wider["scope"].replace("linf 1", "linf 2")
        found = check(signed(wider))
        assert found.outcome is Outcome.REFUTED
        assert not any("hash" in each or "scope" in each for each in found.differences)


def _point(data: st.DataObject, ends: list[tuple[Fraction, Fraction]]) -> list[Fraction]:
    shares = [data.draw(st.fractions(0, 1, max_denominator=5)) for _ in ends]
    return [low + share * (high - low) for share, (low, high) in zip(shares, ends, strict=True)]


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_chords_contain_what_they_are_near(data: st.DataObject) -> None:
    """At points of a box: against concrete inputs, and slopes against the box of one point."""
    text = data.draw(st.sampled_from([_SVT, _MIXED, _SUMS, _KEPT]))
    noise = data.draw(st.sampled_from(["Lap", "Gauss"]))
    program = parse(_text(text, domain="real -3..3", noise=noise))
    derived = Distributions(program, Fraction(data.draw(st.integers(1, 4))), Limits())
    row = all_pairs(program, real_ranges(program))[0].first
    axes = sum(value is None for value in row)
    models = ChordModels(derived, axes, 60, Limits())
    models.require([row])
    numbers = st.fractions(-3, 3, max_denominator=9)
    ends: list[tuple[Fraction, Fraction]] = []
    for _ in range(axes):
        low, high = sorted(data.draw(st.tuples(numbers, numbers)))
        ends.append((low, high))
    near = models.on(row, ends)
    point, other = _point(data, ends), _point(data, ends)
    t = np.array([float(x - c) for x, c in zip(point, near.centre, strict=True)])
    bounds = derived.at(60)

    def exact(at: list[Fraction]) -> dict[Any, tuple[int, int]]:
        own = iter(at)
        found = bounds.for_input(tuple(next(own) if value is None else value for value in row))
        return {output: found.get(output, (0, 0)) for output in models.order}

    found, others = exact(point), exact(other)
    steps = np.array([abs(float(x - y)) for x, y in zip(point, other, strict=True)])
    moves = np.array([float(y - x) for x, y in zip(point, other, strict=True)])
    for output, k in models.order.items():
        value = near.values[k] + near.gradients[k] @ t
        rest = near.rests[k] + 1e-15
        low, high = (end / 2**bounds.unit for end in found[output])
        assert low - rest <= value <= high + rest
        # The mean value theorem, along a segment in the box.
        change = (others[output][0] - found[output][0]) / 2**bounds.unit
        off = near.slope_rests[k] @ steps + 1e-15
        assert abs(change - near.gradients[k] @ moves) <= off
    signs = np.array([near.growth[k] for k in models.order.values()])
    changed = [(others[o][0] - found[o][0]) / 2**bounds.unit for o in models.order]
    if axes == 1 and moves[0]:
        assert (signs[:, 0] * np.array(changed) * np.sign(moves[0]) >= -1e-15).all()


def test_chords_are_near() -> None:
    """The rest falls with the square of a box' size, to what values are known to."""
    program = parse(_text(_SVT))
    derived = Distributions(program, Fraction(1, 2), Limits())
    models = ChordModels(derived, 2, 60, Limits())
    models.require([(None, None)])
    rests = [
        models.on((None, None), [(Fraction(0), size)] * 2).rests.max()
        for size in (Fraction(1), Fraction(1, 10), Fraction(0))
    ]
    assert rests[0] < 0.02
    assert rests[1] < rests[0] / 90
    assert rests[2] < 1e-13


def test_changes_in_closed_form() -> None:
    """A Laplace sample of scale 2: |P'| <= 1/4, P' moves by at most 1/4, |P'| <= P / 2."""
    text = "input q in real 0..1\noutput o in {0, 1}\nadjacent linf 1\n"
    text += "x <- Lap(q, 1 / eps)\nif x >= 1 then o <- 1 else o <- 0 end\n"
    derived = Distributions(parse(text), Fraction(1, 2), Limits())
    found = changes(derived, (None,), Limits())
    for output, own in found.items():
        assert own.steep == (Fraction(1, 4),)
        assert own.curved == ((Fraction(1, 4),),)
        assert own.rates == (Fraction(1, 2),)
        assert own.growth == ((1,) if output == (1,) else (-1,))


def test_what_lies_beyond_ends() -> None:
    """One comparison: P changes beyond the end h by P(noise > h), at most."""
    text = "input q in real\noutput o in {0, 1}\nadjacent linf 1\n"
    text += "x <- Lap(q, 1)\nif x >= 1 then o <- 1 else o <- 0 end\n"
    derived = Distributions(parse(text), Fraction(1), Limits())
    for end in (2, 10, 40):
        ranges = [(Fraction(1 - end), Fraction(1 + end))]
        found = moved(derived, [(None,)], ranges, [0], Limits())
        assert np.exp(-end) / 2 <= float(found) <= 1.1 * np.exp(-end)
    assert moved(derived, [(None,)], [(Fraction(1), Fraction(9))], [0], Limits()) == 1
