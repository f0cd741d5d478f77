"""Claims about intervals of eps: what `decide` decides is replayed, and nothing false is."""

import json
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from dipapprox import Options, UserError
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.judgements import Private, Violated
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.proofs import Proof
from dipapprox.kernel.replay import apply, replay
from dipapprox.kernel.signs import Epsilons
from dipapprox.language.formula import parse_formula
from dipapprox.pairs.adjacency import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps.decisions import formula_json, replayed_throughout
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.throughout import GoalThroughout
from kernel.forgeries import names_of, outcome, random_change, single_changes
from kernel.machines import RUN, finite, private
from kernel.small import program_of
from kernel.throughout import ASKED, TURNING, Asked, proofs
from tests.thorough import part

SOUND = {"refused", "true", "undecided"}
HALF = Fraction(1, 2)
LONGEST = 5_000
"""Characters of a proof that is changed in every place."""


@pytest.mark.parametrize("name", ASKED)
def test_what_is_decided_is_replayed(name: str) -> None:
    asked = ASKED[name]
    assert asked.decision().answer.value == asked.answer
    found = replay(*proofs()[name])
    kind = Private if asked.answer == "DP" else Violated
    assert isinstance(found, kind)


def test_a_change_is_noticed_or_makes_no_difference() -> None:
    counts: Counter[str] = Counter()
    for number, (name, proof) in enumerate(proofs().items()):
        if len(json.dumps(proof)) > LONGEST:
            continue
        for place, forged in enumerate(single_changes(proof)):
            if place % 601 == number % 601:
                found = outcome(forged)
                counts[found] += 1
                assert found in SOUND, (name, forged)
    assert counts["refused"] > 40
    assert counts["true"] + counts["undecided"] > 2


def test_numbers_of_a_violation_are_held_against_its_premises() -> None:
    """The claim and the last step say something else than the steps before."""
    counts: Counter[str] = Counter()
    nothing: dict[str, Any] = {"inputs": [], "outputs": [], "body": []}
    for name, (machine, claim, steps) in proofs().items():
        if steps[-1]["rule"] == "violated somewhere":
            changes = list(single_changes((nothing, claim, steps)))
            for _, said, forged in part(changes, 2):
                if said != claim and forged != steps and forged[:-1] == steps[:-1]:
                    found = outcome((machine, said, forged))
                    counts[found] += 1
                    assert found in SOUND, (name, forged)
    assert counts["refused"] > 50


def test_a_violation_somewhere_is_one_somewhere_wider() -> None:
    """Its numbers are formulas, and a formula may be told of the one eps of a point."""
    halved = ["*", "1/2", ["eps"]]
    body = [
        ["draw", ["cell", "x"], "Lap", ["cell", "q"], [1, -1]],
        ["if", ["<", ["cell", "x"], 0], [["set", ["cell", "o"], 0]], [["set", ["cell", "o"], 1]]],
    ]
    machine = finite(body, inputs=[["q", [0, 5]]])
    run = RUN | {"inputs": [[0], [5]]}
    violation = {"rule": "violation", "from": [-1], "eps_prv": "1/2", "delta": "1/10"}
    violation |= {"input": [0], "adjacent": [5], "outputs": [[0]]}
    somewhere = {"rule": "violated somewhere", "from": [-2], "eps_prv": halved, "delta": "1/10"}
    wider = {"from": "1/2", "to": 2}
    steps = [run, violation, {**somewhere, "eps": 1}]
    claim = {"verdict": "Not_DP", "eps": wider, "eps_prv": halved, "delta": "1/10", "pairs": None}
    replay(machine, claim, [*steps, {**somewhere, "from": [-3], "eps": wider}])
    more = {**somewhere, "from": [-3], "eps": wider, "eps_prv": ["eps"]}
    with pytest.raises(Refuted, match="less than"):
        replay(machine, claim, [*steps, more])


def test_several_changes_are_noticed_or_make_no_difference() -> None:
    source, counts, honest = random.Random(31), Counter[str](), list(proofs().items())
    for _ in part(range(100), 2):
        name, proof = source.choice(honest)
        names = names_of(proof[0])
        for _ in range(source.randint(2, 3)):
            proof = random_change(proof, source, names)
        found = outcome(proof)
        counts[found] += 1
        assert found in SOUND, (name, proof)
    assert counts["refused"] > 20


CLAIMED: list[tuple[str, str, Any]] = [
    ("named values, kept", "eps_prv", ["*", "1/2", ["eps"]]),
    ("named values, kept", "eps_prv", "1/2"),
    ("one-sided, kept", "delta", ["+", "999/1000", ["*", -1, ["exp", ["*", -1, ["eps"]]]]]),
    ("one-sided, kept", "delta", 0),
    ("signs that change", "delta", "1/2"),
    ("signs that change", "eps", {"from": 0, "to": None}),
    ("in proportion", "eps", {"from": 0, "to": 2}),
    ("a coin, then noise", "eps", {"from": "1/4", "to": 2}),
    ("integers", "eps_prv", ["*", "1/8", ["eps"]]),
    ("a loop", "eps_prv", ["*", "1/4", ["eps"]]),
    ("an irrational bound", "eps", {"from": 0, "to": None}),
    ("one-sided, broken", "eps", {"from": 1000, "to": 1001}),
    ("signs that change, broken", "delta", "3/4"),
    ("integers, broken", "eps_prv", ["*", 2, ["eps"]]),
    ("integers, broken", "eps_prv", 5),
]  # fmt: skip
"""False claims, or claims about which the steps say nothing."""


@pytest.mark.parametrize(("name", "field", "new"), CLAIMED)
def test_other_claims_are_not_concluded(name: str, field: str, new: Any) -> None:
    machine, claim, steps = proofs()[name]
    with pytest.raises(NotProved):
        replay(machine, {**claim, field: new}, steps)
    with pytest.raises(NotProved):
        replay(machine, {**claim, field: new}, [*steps[:-1], {**steps[-1], field: new}])
    changed = [{**step, field: new} if field in step else step for step in steps]
    with pytest.raises(NotProved):
        replay(machine, {**claim, field: new}, changed)


def test_a_constant_eps_prv_is_bounded_from_below() -> None:
    """(1/2, 0) on [1/8, 1/2] is attained at its end; a hair more is enough."""
    setting = Setting(program_of(ASKED["named values, kept"].text), AllPairs(), Options())
    on = Epsilons(Fraction(1, 8), HALF)
    for eps_prv in ("1/2", "501/1000"):
        goals = [GoalThroughout(on, eps_prv, 0, None)]
        if eps_prv == "1/2":
            with pytest.raises(NotProved):
                replayed_throughout(setting, goals)
        else:
            assert replayed_throughout(setting, goals).steps == 2


def test_weights_that_are_no_probabilities_somewhere_are_refused() -> None:
    machine, _, _ = proofs()["signs that change"]
    assert "eps / 4" in TURNING
    for to in ("201/100", None):
        step = RUN | {"bits": None, "eps": {"from": 0, "to": to}}
        with pytest.raises(NotProved):
            apply(Proof(read_machine(machine), None), {}, step)
    with pytest.raises(UserError):
        Asked(TURNING, "DP", interval="0..3").decision()


CHOICE = """
input q in {0, 1}
output out in {0, 1}
adjacent all
a <- choose {0 : 1, 1 : 0}
out <- choose {WEIGHTS}
"""
TINY = "1/1" + "0" * 300
WEIGHTS = [
    f"0 : 1/2, 1 : 1/2 + {TINY}",
    f"0 : 1/2, 1 : 1/2 - {TINY}",
    f"0 : 1 + {TINY}, 1 : -{TINY}",
    "0 : 1/2 * (eps - 1) / (eps - 1), 1 : 1/2",
    "0 : 1/2 + 0 / (eps - 1), 1 : 1/2",
    "0 : 1/2 + (eps - 1) / 10 ^ 100, 1 : 1/2",
    "0 : 1/4, 1 : 1/4",
]
HALVES = "0 : 1/2, 1 : 1/2"


def fair(weights: str, delta: Any, interval: tuple[Any, Any]) -> object:
    """Replay that a program whose inputs do nothing is private."""
    run = RUN | {"eps": {"from": interval[0], "to": interval[1]}, "bits": None}
    machine = machine_json(program_of(CHOICE.replace("WEIGHTS", weights)))
    return replay(*private(machine, run, ["eps"], delta))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_what_is_no_distribution_somewhere_is_not_confirmed(weights: str) -> None:
    for interval in ((0, None), ("1/2", 1), (1, 1), (1, 2)):
        if "10 ^" in weights and interval == (1, 1):
            continue  # it is one at eps = 1
        with pytest.raises(NotProved):
            fair(weights, 0, interval)
        assert isinstance(fair(HALVES, 0, interval), Private)


HOLES = [
    "(D)*(eps-1)/(eps-1)", "(D)*((eps-1)/(eps-1))", "(D)/((eps-1)/(eps-1))",
    "(D)+0/(eps-1)", "(D)+0*(eps-1)^-1", "(D)*exp(0*(eps-1)/(eps-1))",
    "(D)*(exp(eps)-exp(2*eps)/exp(eps)+1)^0/(eps-1)*(eps-1)", "0*(eps-1)/(eps-1)",
]  # fmt: skip


def test_a_delta_is_defined_on_the_whole_interval() -> None:
    for delta in ("0", "exp(-eps)", "1/(1 + eps)", "exp(-eps)/(1 + exp(-eps))", "(1 + eps)^-1"):
        given = formula_json(parse_formula(delta, "delta", ("eps",)))
        assert isinstance(fair(HALVES, given, (0, None)), Private), delta
    for hole in HOLES:
        for inside in ("exp(-eps)", "1/2", "0"):
            given = formula_json(parse_formula(hole.replace("D", inside), "delta", ("eps",)))
            for interval in ((0, None), (1, 1)):
                with pytest.raises(NotProved):
                    fair(HALVES, given, interval)
