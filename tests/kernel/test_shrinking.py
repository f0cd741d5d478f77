"""Real inputs on intervals of eps: what the greatest eps of a part says of all of it."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dipapprox import Options
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.machine import Adjacency, read_machine
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof as Steps
from dipapprox.kernel.replay import replay
from dipapprox.kernel.sets import shrinks, smaller_eps
from dipapprox.kernel.signs import Epsilons
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.throughout import GoalThroughout, written_throughout
from kernel.small import program_of
from tests.cases import cases, refuses

LOW, HIGH = Fraction(1, 4), Fraction(1, 2)

THRESHOLD = """
input q in real {domain}
output o in {{0, 1}}
adjacent {adjacency}
x <- {noise}(q, {scale})
t <- {noise}(0, 2 / eps)
o <- 0
if x >= t + {tie} then
    o <- 1
end
"""

WORDS = {"domain": "-1..2", "adjacency": "linf 1", "noise": "Gauss", "scale": "3 / eps", "tie": "1"}

Proof = tuple[Any, Any, list[Any]]


def text_of(**words: str) -> str:
    return THRESHOLD.format(**{**WORDS, **words})


def proof_of(text: str, delta: str) -> Proof:
    goal = GoalThroughout(Epsilons(LOW, HIGH), ["*", "1/10", ["eps"]], delta, None)
    proof = next(written_throughout(Setting(program_of(text), AllPairs(), Options()), goal))
    return proof.machine, proof.claim, list(proof.steps)


@pytest.fixture(scope="module")
def proof() -> Proof:
    return proof_of(text_of(), "1/10")


def test_what_holds_at_the_greatest_eps_holds_on_the_interval(proof) -> None:
    machine, claim, steps = proof
    found = replay(machine, claim, steps)
    assert isinstance(found, Private)
    assert found.eps == Epsilons(LOW, HIGH)
    assert found.in_sets
    assert steps[-1]["rule"] == "smaller eps"
    assert steps[-1]["point"] == [1]


def test_a_smaller_delta_is_not_confirmed(proof) -> None:
    machine, claim, steps = proof
    for delta in ("1/50", 0):
        lower = [{**step, "delta": delta} if "delta" in step else step for step in steps]
        refuses(NotProved, None, replay, machine, {**claim, "delta": delta}, lower)
        with pytest.raises(NotProved):
            replay(machine, {**claim, "delta": delta}, [*steps[:-1], lower[-1]])


@cases(
    "change",
    {"point": [0]},
    {"point": [3]},
    {"point": []},
    {"point": [1, 1]},
    {"point": ["a"]},
    {"eps_prv": 0},
    {"eps_prv": ["eps"]},
    {"delta": "1/20"},
    {"eps": {"from": "1/4", "to": 1}},
    {"eps": {"from": "1/8", "to": "1/2"}},
    {"eps": "1/2"},
    {"from": []},
)
def test_steps_that_do_not_hold(proof, change) -> None:
    machine, claim, (*steps, last) = proof
    refuses(NotProved, None, replay, machine, claim, [*steps, {**last, **change}])
    stated = {name: change[name] for name in change if name in claim}
    if stated and change not in ({"eps_prv": ["eps"]},):
        refuses(NotProved, None, replay, machine, {**claim, **stated}, [*steps, {**last, **change}])


def test_one_eps_needs_a_premise(proof) -> None:
    """An interval of one eps has no parts, and no premise says anything of it."""
    machine, claim, steps = proof
    one = {"eps": "1/2", "eps_prv": 0, "delta": 0}
    refuses(NotProved, None, replay, machine, {**claim, **one}, [{**steps[-1], **one, "from": []}])


@cases(
    "before, after",
    ("o <- 0", "o <- choose {0 : 1 / (1 + eps), 1 : eps / (1 + eps)}"),
    ("o <- 0", "k <- DLap(0, 1 / eps)\no <- 0\nif k > 0 then\n    o <- 1\nend"),
    ("if x >= t + 1", "if x >= t + 1 or x >= 0"),
    ("output o in {0, 1}", "output o in {0, 1}\noutput y in real\ny <- 0"),
)
def test_what_does_not_shrink(before, after) -> None:
    text = text_of().replace(before, after)
    if "real\ny" in after:
        text = text.replace("\ny <- 0", "").replace("o <- 0", "o <- 0\ny <- 0")
    machine = read_machine(machine_json(program_of(text)))
    assert not shrinks(Motion(machine), {0: Fraction(1)})


def test_the_point_is_an_input() -> None:
    """Elsewhere inputs that shrink leave their ranges."""
    private = Private(HIGH, Fraction(1), Fraction(1, 2), None, 1)
    step = {"eps": {"from": "1/4", "to": "1/2"}, "eps_prv": 1, "delta": "1/2", "point": [1]}
    for domain, is_input in (("-1..2", True), ("1..2", True), ("2..3", False), ("", True)):
        machine = read_machine(machine_json(program_of(text_of(domain=domain))))
        about = Steps(machine, None)
        if is_input:
            assert smaller_eps(about, step, private).eps == Epsilons(LOW, HIGH)
            continue
        refuses(NotProved, None, smaller_eps, about, step, private)


def test_listed_pairs_do_not_shrink() -> None:
    private = Private(HIGH, Fraction(1), Fraction(1, 2), None, 1)
    step = {"eps": {"from": "1/4", "to": "1/2"}, "eps_prv": 1, "delta": "1/2", "point": [1]}
    machine = read_machine(machine_json(program_of(text_of())))
    listed = frozenset({((0,), (1,))})
    other = replace(machine, adjacency=Adjacency("pairs", pairs=listed))
    for about, premise in (
        (Steps(other, None), private),
        (Steps(machine, None), replace(private, pairs=listed)),
        (Steps(machine, None), replace(private, eps=Epsilons(LOW, HIGH))),
        (Steps(machine, None), replace(private, eps_prv=("eps",))),
        (Steps(machine, None), replace(private, delta=("eps",))),
    ):
        refuses(NotProved, None, smaller_eps, about, step, premise)
