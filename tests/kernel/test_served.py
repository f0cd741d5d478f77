"""Claims about finite inputs that follow from a budget of all numbers between them."""

import copy
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.replay import replay
from dipapprox.language.core import Program
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.serving import served_step
from dipapprox.replays.words import words_of

Json = Any

SPARSE = """
param N = 2
input q[N] in {-1, 0, 1}
output out in 0..N
adjacent linf 1
out <- 0
t <- Lap(0, 2 / eps)
for i in 1..N do
    x <- Lap(q[i], 4 / eps)
    if x >= t then
        out <- i
        exit
    end
end
"""

GAP = """
input q in {0, 1}
output y in real
adjacent all
x <- Lap(q, 2 / eps)
z <- Lap(0, 1 / eps)
y <- x + z
"""


def parsed(text: str, **params: int) -> Program:
    return dipapprox.parse(text, params)


def written(program: Program, eps_prv: str, delta: str = "0", eps: Json = 1) -> list[Json]:
    """Machine, claim and the step, for eps = 1 or an interval of which B is eps_prv at 1."""
    machine = machine_json(program)
    step = served_step(machine, Fraction(eps_prv), Fraction(1) if eps == 1 else None)
    numbers = {"eps_prv": number_json(Fraction(eps_prv)), "delta": number_json(Fraction(delta))}
    if eps != 1:
        numbers["eps_prv"] = ["*", numbers["eps_prv"], ["eps"]]
    claim = {"verdict": "DP", "eps": eps, **numbers, "pairs": None}
    return [machine, claim, {**step, "eps": eps, **numbers}]


def says(machine: Json, claim: Json, step: Json) -> str:
    return words_of(replay(machine, claim, [step]))


def test_published_numbers_are_seen() -> None:
    assert says(*written(parsed(GAP), "1/2"))
    with pytest.raises(NoCertificate):
        written(parsed(GAP.replace("Lap(q, 2", "Lap(q, 3").replace("y <- x + z", "y <- z")), "-1")


def test_at_one_eps_any_scale_is_one_of_1_by_eps() -> None:
    """Two samples of scale 4 are shifted by 1: it costs 1/2, of allowances of 1/2 for each eps."""
    program = parsed(SPARSE.replace("2 / eps", "2 * eps").replace("4 / eps", "4"))
    machine, claim, step = written(program, "1/2")
    assert says(machine, claim, step)
    for eps, eps_prv, obstacle in (
        ("1/2", "1/2", "1/2 is missing of an allowance"),
        (2, "1/2", "not known to be as small"),
        (2, 1, ""),
        ({"from": 1, "to": 2}, 1, "cannot be shifted so"),
    ):
        other = {"eps": eps, "eps_prv": eps_prv}
        proof = machine, {**claim, **other}, {**step, **other}
        if not obstacle:
            assert says(*proof)
            continue
        with pytest.raises(NotProved, match=obstacle):
            says(*proof)


@pytest.mark.parametrize("power", [-1, 0])
def test_integers_are_not_drawn_around_fractions(power: int) -> None:
    """2 x - q would tell whether q is even."""
    draw = ["draw", ["cell", "x"], "DLap", ["*", "1/2", ["cell", "q"]], [1, power]]
    told = ["set", ["cell", "y"], ["+", ["*", 2, ["cell", "x"]], ["*", -1, ["cell", "q"]]]]
    machine = {"inputs": [["q", [0, 1]]], "outputs": [], "reals": ["y"], "body": [draw, told]}
    claim = {"eps": 1, "eps_prv": 0, "delta": 0}
    case = {"to": None, "moves": [[0, [[0, [[0, "1/2"]]]]]]}
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]], "cases": [case]}
    step = {"rule": "served", "from": [], "whole": True, "nodes": [node], **claim}
    with pytest.raises(Refuted, match="around a fraction"):
        replay(
            {**machine, "adjacency": {"norm": "all"}},
            {"verdict": "DP", **claim, "pairs": None},
            [step],
        )


def test_listed_pairs_are_adjacent_ones() -> None:
    machine, claim, step = written(parsed(SPARSE), "1")
    near, far = [[[0, 0], [1, -1]], [[-1, 0], [-1, 0]]], [[[-1, 0], [1, 0]]]
    assert "for all listed pairs" in says(machine, {**claim, "pairs": near}, step)
    with pytest.raises(Refuted, match="not adjacent"):
        says(machine, {**claim, "pairs": far}, step)


def _changed(place: int, **changed: Json) -> Callable[[list[Json]], None]:
    return lambda proof: proof[place].update(changed)


def _with_domain(domain: Json) -> Callable[[list[Json]], None]:
    return lambda proof: proof[0]["inputs"][0].__setitem__(1, domain)


def _both(**changed: Json) -> Callable[[list[Json]], None]:
    return lambda proof: (proof[1].update(changed), proof[2].update(changed))[0]


FALSE: dict[str, tuple[Callable[[list[Json]], None], type[NotProved]]] = {
    "less is claimed than the budget": (_both(eps_prv="99/100"), Refuted),
    "a smaller eps": (_both(eps=2), Refuted),
    "another claim": (_changed(1, eps_prv="99/100"), Refuted),
    "a negative delta": (_both(delta=-1), BadProof),
    "a wider domain, another adjacency": (
        lambda proof: proof[0].update(adjacency={"norm": "linf", "radius": 2}),
        Refuted,
    ),
    "all inputs are adjacent": (lambda p: p[0].update(adjacency={"norm": "all"}), Refuted),
    "named inputs": (_with_domain([0, {"name": "a"}]), BadProof),
    "integers that are none": (
        lambda proof: (_with_domain([0, "1/2"])(proof), proof[2].update(whole=True))[0],
        BadProof,
    ),
    "real inputs that are integers": (
        lambda proof: (_with_domain({"low": -1, "high": 1})(proof), proof[2].update(whole=True))[0],
        BadProof,
    ),
    "what exits is seen by nobody": (
        lambda proof: proof[2]["nodes"][0]["cases"].__setitem__(slice(1, 3), [None, None]),
        Refuted,
    ),
    "'whole' is no word": (_changed(2, whole=1), BadProof),
    "listed adjacency": (
        lambda p: p[0].update(adjacency={"pairs": [[[0, 0], [1, 0]]], "one way": True}),
        BadProof,
    ),
}


@pytest.mark.parametrize("what", FALSE)
def test_what_does_not_follow_is_refused(what: str) -> None:
    proof = copy.deepcopy(written(parsed(SPARSE), "1"))
    assert says(*proof)
    change, kind = FALSE[what]
    change(proof)
    with pytest.raises(kind):
        says(*proof)


def test_formulas_of_intervals_are_compared_on_all_of_them() -> None:
    machine, claim, step = written(parsed(SPARSE), "1", eps={"from": 1, "to": 2})
    for eps_prv in ("3/2", ["*", "1/2", ["eps"]]):
        own = {"eps_prv": eps_prv}
        with pytest.raises(Refuted, match="not known to be as small"):
            says(machine, {**claim, **own}, {**step, **own})
    for eps_prv, answer in (("2", Answer.DP), ("eps", Answer.DP), ("19/10", Answer.NOT_DP)):
        found = dipapprox.verify(
            parsed(GAP.replace("Lap(q, 2", "Lap(q, 1").replace("x + z", "x")),
            eps="1..2",
            eps_prv=eps_prv,
            delta="0",
            options=Options(proved=answer is Answer.DP),
        )
        assert found.answer is answer
