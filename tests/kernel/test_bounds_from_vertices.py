"""Deltas of sets of real inputs: exactly what the vertices and the curvature say, and no less."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, sqrt
from typing import Any

import pytest

from dipapprox.kernel import sets
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import Distributions
from dipapprox.kernel.machine import Machine, read_machine
from dipapprox.kernel.proofs import Proof, largest_of
from dipapprox.kernel.rules import distributions
from dipapprox.kernel.sets import every_real_pair, representatives
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from kernel.ends import lower
from kernel.small import program_of

Json = Any
Band = tuple[float, float | None]
HALF, EPS_PRV = Fraction(1, 2), Fraction(1, 10)
CURVATURE = 0.484
"""Of Gaussian noise of scale 1: half of 4 phi(1), rounded up."""


def machine(bands: list[Band], high: int, adjacency: Json, named: bool) -> Machine:
    """A noisy number lies in the first band, in the second one, or outside."""
    x, o = ["cell", "x"], ["cell", "o"]
    tree: Json = [["set", o, 0]]
    for k, (low, top) in reversed(list(enumerate(bands, 1))):
        inside: Json = [">=", x, number_json(Fraction(low))]
        if top is not None:
            inside = ["and", inside, ["<=", x, number_json(Fraction(top))]]
        tree = [["if", inside, [["set", o, k]], tree]]
    names = [["c", [{"name": "one"}, {"name": "two"}]]] if named else []
    return read_machine(
        {
            "inputs": [["q", {"low": 0, "high": high}], *names],
            "outputs": [["o", [0, 1, 2]]],
            "reals": [],
            "adjacency": adjacency,
            "body": [["draw", x, "Gauss", ["cell", "q"], [1, 0]], *tree],
        }
    )


def run(of: Machine, points: list[Fraction]) -> Distributions:
    """For the ends of all zones."""
    rest = [{"name": "one"}, {"name": "two"}] if len(of.inputs) > 1 else [None]
    listed = [[number_json(p), *([] if name is None else [name])] for p in points for name in rest]
    step = {"eps": "1/2", "inputs": listed, "bits": 40, "cuts": []}
    return distributions(Proof(of, None), step)


def between(low: float, high: float | None, q: float) -> float:
    """Pr[low <= q + Z <= high]."""
    above = [erfc((end - q) / sqrt(2)) / 2 for end in (low, high) if end is not None]
    return above[0] - sum(above[1:])


def largest(bands: list[Band], u: float, v: float) -> float:
    """Of f_S for two inputs, over all S but {}; for all outputs it is 1 - a."""
    rows = []
    for q in (u, v):
        row = [between(*band, q) for band in bands]
        rows.append([*row, 1 - sum(row)])
    f = [p - exp(EPS_PRV) * q for p, q in zip(*rows, strict=True)]
    return sum(max(each, 0.0) for each in f) or max(f)


ALL: Json = {"norm": "all"}
NEAR: Json = {"norm": "linf", "radius": 1}
BAND: list[Band] = [(0.25, 0.75)]
LEVEL: list[Band] = [(1.0, None)]
CUT = [["cut", 0, "first", "1/2", None, None]]
THRICE = [["cut", 0, "change", 0, ["cut", 0, "second", "1/2", None, None], None]]
ENDS = [["ends", 0, None, None]]
SQUARE = [(u, v) for u in (0.0, 1.0) for v in (0.0, 1.0)]

# (bands, high, adjacency, parts; vertices with the squares of lengths of each part)
PARTS: dict[str, tuple[Any, int, Json, Json, Any]] = {
    "a square": (BAND, 1, ALL, [None], [(SQUARE, 1, 1)]),
    "halves": (
        BAND,
        1,
        ALL,
        CUT,
        [
            ([(u, v) for u in (0.0, 0.5) for v in (0.0, 1.0)], 0.25, 1),
            ([(u, v) for u in (0.5, 1.0) for v in (0.0, 1.0)], 0.25, 1),
        ],
    ),
    "other halves": (
        BAND,
        1,
        ALL,
        [["cut", 0, "second", "1/2", None, None]],
        [
            ([(u, v) for u in (0.0, 1.0) for v in (0.0, 0.5)], 1, 0.25),
            ([(u, v) for u in (0.0, 1.0) for v in (0.5, 1.0)], 1, 0.25),
        ],
    ),
    "triangles, of which one is cut": (
        BAND,
        1,
        ALL,
        THRICE,
        [
            ([(0.0, 0.0), (1.0, 0.0), (0.5, 0.5), (1.0, 0.5)], 1, 0.25),
            ([(0.5, 0.5), (1.0, 0.5), (1.0, 1.0)], 0.25, 0.25),
            ([(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)], 1, 1),
        ],
    ),
    "ends of changes": (
        LEVEL,
        2,
        NEAR,
        ENDS,
        [([(1.0, 0.0), (2.0, 1.0)], 1, 1), ([(0.0, 1.0), (1.0, 2.0)], 1, 1)],
    ),
}


@pytest.mark.parametrize("named", [False, True], ids=["alone", "beside a name"])
@pytest.mark.parametrize("name", PARTS)
def test_a_bound_is_the_largest_at_vertices_and_the_share_of_curvature(
    name: str, named: bool
) -> None:
    bands, high, adjacency, parts, expected = PARTS[name]
    if named and adjacency != ALL:
        return
    of = machine(bands, high, adjacency, named)
    found = run(of, [Fraction(k, 2) for k in range(2 * high + 1)])
    bound = max(
        max(largest(bands, *pair) for pair in vertices)
        + CURVATURE * (first + exp(EPS_PRV) * second) / 8
        for vertices, first, second in expected
    )
    # Finite inputs may change as well: a set of parts for each pair of names.
    count = 4 if named else 1
    step: Json = {"eps_prv": "1/10", "parts": parts * count}
    above, below = (number_json(Fraction(round((bound + d) * 10**8), 10**8)) for d in (1e-7, -1e-7))
    private = every_real_pair(Proof(of, None), {**step, "delta": above}, found)
    assert f"bounded on {count * len(expected)} sets of them" in str(private)
    with pytest.raises(Refuted, match="is larger"):
        every_real_pair(Proof(of, None), {**step, "delta": below}, found)


def test_no_unit_of_the_last_place_is_given_away() -> None:
    """A delta that is attained is a bound; a unit less is none, and no error is rounded down."""
    of = machine(BAND, 1, ALL, False)
    found = run(of, [Fraction(0), Fraction(1)])
    unit = Fraction(1, 1 << found.places)
    f_s, curvature = largest_of(found, EPS_PRV), Fraction(484, 1000)
    most = max(f_s((u,), (v,)) for u in (0, 1) for v in (0, 1)) * unit
    with precision(300):
        growth = lower(to_ball(EPS_PRV).exp())
    error = curvature * (1 + growth) / 8
    step: Json = {"eps_prv": "1/10", "parts": [None]}
    for delta, holds in ((most + error, False), (most + error + unit, True)):
        asked = {**step, "delta": number_json(delta)}
        if holds:
            every_real_pair(Proof(of, None), asked, found)
        else:
            with pytest.raises(Refuted, match="is larger"):
                every_real_pair(Proof(of, None), asked, found)


def test_of_single_pairs_the_bound_is_attained() -> None:
    of = machine(BAND, 1, {"norm": "linf", "radius": 0}, False)
    zero = machine(BAND, 0, ALL, False)
    found = run(zero, [Fraction(0)])
    f_s = largest_of(found, Fraction(0))((0,), (0,))
    assert f_s > 0  # probabilities are enclosed
    unit, step = Fraction(1, 1 << found.places), {"eps_prv": 0, "parts": [None]}
    every_real_pair(Proof(zero, None), {**step, "delta": number_json(f_s * unit)}, found)
    with pytest.raises(Refuted, match="is larger"):
        delta = number_json((f_s - 1) * unit)
        every_real_pair(Proof(zero, None), {**step, "delta": delta}, found)
    with pytest.raises(Refuted, match="no distribution"):
        every_real_pair(Proof(of, None), {**step, "delta": 1}, found)


def test_what_has_no_sets_of_pairs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    of = machine(BAND, 1, ALL, False)
    found = run(of, [Fraction(0), Fraction(1)])
    step: Json = {"eps_prv": "1/10", "delta": 1, "parts": [None]}
    every_real_pair(Proof(of, None), step, found)
    monkeypatch.setattr(sets, "MOST_VERTICES", 3)
    with pytest.raises(Refused, match="more than 3 vertices"):
        every_real_pair(Proof(of, None), step, found)
    with pytest.raises(BadProof, match="listed pairs"):
        every_real_pair(Proof(of, (((0,), (1,)),)), step, found)
    telling = read_machine(
        {
            "inputs": [["q", {"low": 0, "high": 1}]],
            "outputs": [],
            "reals": ["y"],
            "adjacency": ALL,
            "body": [["draw", ["cell", "y"], "Gauss", ["cell", "q"], [1, 0]]],
        }
    )
    with pytest.raises(BadProof, match="real outputs"):
        every_real_pair(Proof(telling, None), step, found)


def test_a_line_of_pairs_is_no_single_pair() -> None:
    """Its ends have other changes than what lies between; or the same, which is not enough."""
    line = ["cut", 0, "second", 0, None, ["cut", 0, "second", 1, None, None]]
    text = "input q in real 0..1\noutput y in real\nadjacent all\ny <- Gauss(q, 1)"
    shifted = read_machine(machine_json(program_of(text)))
    found = representatives(Proof(shifted, None), {"parts": [["ends", 0, None, None]]})
    assert {v - u for (u,), (v,) in found.pairs} == {-1, 1}  # type: ignore[operator]
    for of, part in ((shifted, line), (machine(LEVEL, 2, NEAR, False), ENDS[0])):
        with pytest.raises(Refuted, match="more pairs than one"):
            representatives(Proof(of, None), {"parts": [part]})


def test_an_empty_set_has_no_parts() -> None:
    of = machine(BAND, 1, ALL, False)
    found = run(of, [Fraction(0), Fraction(1)])
    step: Json = {"eps_prv": "1/10", "delta": 1}
    every_real_pair(Proof(of, None), {**step, "parts": [["cut", 0, "first", 2, None, None]]}, found)
    beyond = [["cut", 0, "first", 2, None, ["cut", 0, "first", 3, None, None]]]
    with pytest.raises(BadProof, match="an empty set"):
        every_real_pair(Proof(of, None), {**step, "parts": beyond}, found)
