"""Deltas of sets of real inputs: exactly what the vertices and the curvature say, and no less."""

from dataclasses import replace
from fractions import Fraction
from math import erfc, exp, sqrt
from typing import Any

import pytest

from dipapprox.kernel import sets
from dipapprox.kernel.adjacency import Adjacency, Range
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.machine import Machine, read_machine
from dipapprox.kernel.proofs import Proof, largest_of
from dipapprox.kernel.rules import distributions
from dipapprox.kernel.sets import every_real_pair, representatives
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from kernel.ends import lower
from kernel.machines import finite
from kernel.small import program_of

Json = Any
Band = tuple[float, float | None]
EPS_PRV = Fraction(1, 10)
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
    body = [["draw", x, "Gauss", ["cell", "q"], [1, 0]], *tree]
    inputs = [["q", {"low": 0, "high": high}], *names]
    return read_machine(
        finite(body, inputs=inputs, outputs=[["o", [0, 1, 2]]], adjacency=adjacency)
    )


def private(of: Machine, delta: Fraction, eps_prv: Fraction = EPS_PRV) -> str:
    """What is concluded."""
    stated = {"eps_prv": number_json(eps_prv), "delta": number_json(delta)}
    return words_of(every_real_pair(Proof(of, None), {"eps": "1/2", "bits": 40, **stated}))


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
SQUARE = [(u, v) for u in (0.0, 1.0) for v in (0.0, 1.0)]

# (bands, high, adjacency; vertices with the squares of lengths of each set)
PARTS: dict[str, tuple[Any, int, Json, Any]] = {
    "a square": (BAND, 1, ALL, [(SQUARE, 1, 1)]),
    "ends of changes": (
        LEVEL,
        2,
        NEAR,
        [([(1.0, 0.0), (2.0, 1.0)], 1, 1), ([(0.0, 1.0), (1.0, 2.0)], 1, 1)],
    ),
}


@pytest.mark.parametrize("named", [False, True], ids=["alone", "beside a name"])
@pytest.mark.parametrize("name", PARTS)
def test_a_bound_is_the_largest_at_vertices_and_the_share_of_curvature(
    name: str, named: bool
) -> None:
    bands, high, adjacency, expected = PARTS[name]
    if named and adjacency != ALL:
        return
    of = machine(bands, high, adjacency, named)
    bound = max(
        max(largest(bands, *pair) for pair in vertices)
        + CURVATURE * (first + exp(EPS_PRV) * second) / 8
        for vertices, first, second in expected
    )
    # Finite inputs may change as well: a set of pairs for each pair of names.
    count = (4 if named else 1) * len(expected)
    above, below = (Fraction(round((bound + d) * 10**8), 10**8) for d in (1e-7, -1e-7))
    assert f"bounded on {count} sets of them" in private(of, above)
    assert f"bounded on {count} sets of them" not in private(of, below)


@pytest.mark.parametrize("name", PARTS)
def test_what_a_pair_exceeds_is_refuted_and_hardly_more_is_shown(name: str) -> None:
    bands, high, adjacency, _ = PARTS[name]
    of = machine(bands, high, adjacency, False)
    grid = [k / 64 for k in range(64 * high + 1)]
    pairs = [(u, v) for u in grid for v in grid if abs(u - v) <= 1]
    most = Fraction(round(max(largest(bands, *pair) for pair in pairs) * 10**6), 10**6)
    assert "sets of them" in private(of, most + Fraction(1, 500))
    with pytest.raises(Refuted, match="is larger"):
        private(of, most - Fraction(1, 500))


def test_no_unit_of_the_last_place_is_given_away() -> None:
    """A delta that is attained is a bound; a unit less is none, and no error is rounded down."""
    of, step = machine(BAND, 1, ALL, False), {"eps": "1/2", "bits": 40}
    found = distributions(Proof(of, None), {**step, "inputs": [[0], [1]]})
    unit = Fraction(1, 1 << found.places)
    f_s, curvature = largest_of(found, EPS_PRV), Fraction(484, 1000)
    most = max(f_s((u,), (v,)) for u in (0, 1) for v in (0, 1)) * unit
    with precision(300):
        growth = lower(to_ball(EPS_PRV).exp())
    error = curvature * (1 + growth) / 8
    for delta, holds in ((most + error, False), (most + error + unit, True)):
        assert ("on 1 sets" in private(of, delta)) == holds


def test_of_single_pairs_the_bound_is_attained() -> None:
    zero = machine(BAND, 0, ALL, False)
    step = {"eps": "1/2", "bits": 40, "inputs": [[0]]}
    found = distributions(Proof(zero, None), step)
    f_s = largest_of(found, Fraction(0))((0,), (0,))
    assert f_s > 0  # probabilities are enclosed
    unit = Fraction(1, 1 << found.places)
    private(zero, f_s * unit, Fraction(0))
    with pytest.raises(Refuted, match="is larger"):
        private(zero, (f_s - 1) * unit, Fraction(0))


def test_what_has_no_sets_of_pairs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    of = machine(BAND, 1, ALL, False)
    step: Json = {"eps": "1/2", "bits": 40, "eps_prv": "1/10", "delta": 1}
    every_real_pair(Proof(of, None), step)
    with monkeypatch.context() as patch:
        patch.setattr(sets, "MOST_PARTS", 0)
        with pytest.raises(Refused, match="more than 0 sets"):
            every_real_pair(Proof(of, None), {**step, "delta": "1/10"})
    endless = replace(of, inputs=(("q", Range(None, None)),), adjacency=Adjacency("linf", 1))
    with pytest.raises(Refused, match="without ends"):
        every_real_pair(Proof(endless, None), step)
    with pytest.raises(BadProof, match="listed pairs"):
        every_real_pair(Proof(of, (((0,), (1,)),)), step)
    body = [["draw", ["cell", "y"], "Gauss", ["cell", "q"], [1, 0]]]
    inputs = [["q", {"low": 0, "high": 1}]]
    telling = read_machine(finite(body, inputs=inputs, outputs=[], reals=["y"]))
    with pytest.raises(BadProof, match="published numbers"):
        every_real_pair(Proof(telling, None), step)


def test_a_line_of_pairs_is_no_single_pair() -> None:
    """Its ends have other changes than what lies between; or the same, which is not enough."""
    text = "input q in real 0..1\noutput y in real\nadjacent all\ny <- Gauss(q, 1)"
    shifted = read_machine(machine_json(program_of(text)))
    found = representatives(shifted)
    assert {v - u for (u,), (v,) in found} == {-1, 1}  # type: ignore[operator]
    with pytest.raises(Refuted, match="more pairs than one"):
        representatives(machine(LEVEL, 2, NEAR, False))
