"""Real inputs and which are adjacent, on intervals of eps too: grids, and changed proofs."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from math import exp
from typing import Any

import pytest

from dipapprox import Claim, Options, profile, verify
from dipapprox.kernel.errors import NotProved, Refused, Refuted, budget
from dipapprox.kernel.intervals import shrinks, smaller_eps
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.machine import (
    Adjacency,
    Input,
    Machine,
    Range,
    adjacent_pairs,
    all_inputs,
    read_machine,
)
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, distributions, pairs_of
from dipapprox.kernel.proofs import Proof as Steps
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import Epsilons
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.throughout import GoalThroughout, replayed_throughout
from dipapprox.proof_steps.verdicts import Goal, WrittenProof, replayed, written
from dipapprox.replays.words import interval_text, words_of
from kernel.edits import places_in, variants, with_at
from kernel.forgeries import names_of, outcome
from kernel.machines import RUN, judged
from kernel.small import program_of
from tests.cases import check_answers, part, refuses, text_of

HALF = Fraction(1, 2)

SVT = """
input q[{n}] in real {domain}
output out[{n}] in {{0, 1}}
adjacent {adjacency}
for i in 1..{n} do out[i] <- 0 end
t <- {noise}(0, 2 / eps)
for i in 1..{n} do
    r <- {noise}(q[i], 4 / eps)
    if r >= t then
        out[i] <- 1
        exit
    end
end
"""

LARGEST = """
input q[2] in real 0..1
output out in 1..2
adjacent {adjacency}
for i in 1..2 do v[i] <- {noise}(q[i], 2 / eps) end
out <- argmax(v)
"""

BAND = """
input q in real {domain}
output o in {{0, 1}}
adjacent {adjacency}
x <- {noise}(q, 1)
o <- 0
if x >= 1/4 and x <= 3/4 then o <- 1 end
"""

LEVELS = """
input q in real 0..1
output o in 0..2
adjacent all
x <- {noise}(q, 1)
if x >= 1 then o <- 2 elif x >= 0 then o <- 1 else o <- 0 end
"""

BESIDE = """
input q in real 0..1
input c in {{0, 1}}
output o in {{0, 1}}
adjacent {adjacency}
x <- {noise}(q + 1/2 * c, 1)
y <- {noise}(c, 2)
if x >= y then o <- 1 else o <- 0 end
"""

SUM = """
input q[2] in real 0..1
output o in {{0, 1}}
adjacent {adjacency}
x <- {noise}(q[1] + 2 * q[2], 2)
if x >= 1 then o <- 1 else o <- 0 end
"""


@dataclass
class Question:
    """A program and a budget, with the least delta that is known to hold, and largest on a grid."""

    name: str
    text: str
    eps_prv: Fraction
    step: Fraction = field(default=HALF)

    @cached_property
    def proof(self) -> tuple[Any, Any, list[Any]]:
        """A proof of a delta that is hardly larger than that of some pair."""
        program = program_of(self.text)
        answer = profile(program, eps=HALF, eps_prv=self.eps_prv, width=Fraction(1, 10**4))
        delta = round(answer.delta_enclosure.upper + Fraction(1, 500), 4)
        goal = Goal(Claim(HALF, delta, self.eps_prv), None, Fraction(1, 10**5), 4)
        found = written(Setting(program, AllPairs(), Options()), goal, 30)
        return found.machine, found.claim, list(found.steps)

    @property
    def delta(self) -> Fraction:
        return Fraction(self.proof[1]["delta"])


def _questions() -> Iterator[Question]:
    few, more = Fraction(1, 20), Fraction(1, 10)
    for noise, adjacency in (
        ("Gauss", "linf 1"), ("Gauss", "increasing 1/2"), ("Lap", "linf 1"), ("Lap", "decreasing 1")
    ):  # fmt: skip
        text = SVT.format(n=2, domain="0..1", adjacency=adjacency, noise=noise)
        yield Question(f"svt {noise} {adjacency}", text, few)
    text = SVT.format(n=1, domain="-2..2", adjacency="l1 1", noise="Gauss")
    yield Question("svt Gauss wide", text, few)
    for noise, largest, band, domain, beside in (
        ("Gauss", "linf 1", "all", "0..1", "l0 1"), ("Lap", "l0 1", "linf 1/2", "-1..1", "all")
    ):  # fmt: skip
        yield Question(f"largest {noise}", LARGEST.format(adjacency=largest, noise=noise), few)
        text = BAND.format(adjacency=band, domain=domain, noise=noise)
        yield Question(f"band {noise} {band}", text, few, Fraction(1, 4))
        yield Question(f"levels {noise}", LEVELS.format(noise=noise), more)
        yield Question(f"beside {noise}", BESIDE.format(adjacency=beside, noise=noise), more)
    yield Question("sum", SUM.format(adjacency="linf 1/2", noise="Gauss"), more)


QUESTIONS = list(_questions())
IDS = [question.name for question in QUESTIONS]


def largest_on_grid(
    machine: Machine, eps: Fraction, eps_prv: Fraction, step: Fraction, most: int = 2000
) -> float:
    """The largest delta of adjacent pairs on a grid, from below."""
    sides = []
    for _, domain in machine.inputs:
        if isinstance(domain, Range):
            count = min(int((domain.high - domain.low) / step), 16)
            sides.append([domain.low + k * step for k in range(count + 1)])
        else:
            assert isinstance(domain, tuple)
            sides.append(list(domain))
    inputs: list[Input] = list(product(*sides))
    if len(inputs) > most:
        return 0.0
    listed: list[Any] = [
        [{"name": v} if isinstance(v, str) else number_json(Fraction(v)) for v in each]
        for each in inputs
    ]
    proof = Proof(machine, None)
    found = distributions(proof, {**RUN, "eps": number_json(eps), "inputs": listed, "bits": 30})
    unit, growth = 2**found.places, exp(eps_prv) + 1e-12
    bounds = {
        each: ([x / unit for x in low], [x / unit for x in high])
        for each, (low, high) in found.bounds.items()
    }
    return max(
        (
            sum(max(0.0, a - growth * b) for a, b in zip(bounds[u][0], bounds[v][1], strict=True))
            for u, v in product(inputs, inputs)
            if machine.adjacency.holds(u, v)
        ),
        default=0.0,
    )


@pytest.mark.parametrize("question", part(QUESTIONS, 4), ids=part(IDS, 4))
def test_what_is_proved_holds_on_grids_and_is_hardly_too_large(question) -> None:
    machine, claim, (*before, last) = question.proof
    found = replay(machine, claim, [*before, last])
    assert isinstance(found, Private)
    assert found.in_sets
    read = read_machine(machine)
    grid = largest_on_grid(read, HALF, question.eps_prv, question.step)
    assert grid <= question.delta
    # Below what a pair of the grid has, nothing is proved.
    lower = {"delta": number_json(Fraction(int(grid * 10**6) - 1, 10**6))}
    if grid > 1e-5:
        refuses(Refuted, None, replay, machine, {**claim, **lower}, [*before, {**last, **lower}])
        goal = Goal(Claim(HALF, Fraction(lower["delta"]), question.eps_prv), None, None, 4)
        with pytest.raises(NotProved):
            replayed(Setting(program_of(question.text), AllPairs(), Options()), goal)


def is_true_on_grid(step: Fraction, machine: Any, claim: Any, steps: Any) -> bool:
    """Whether a claim is true, as far as a grid tells."""
    read, delta = read_machine(machine), Fraction(claim["delta"])
    eps, eps_prv = Fraction(claim["eps"]), Fraction(claim["eps_prv"])
    return largest_on_grid(read, eps, eps_prv, step) <= delta


def test_changes_of_machines_claims_and_steps_make_nothing_false_confirmed() -> None:
    source, counts = random.Random(8), Counter[str]()
    for _ in part(range(70), 2):
        question = source.choice(QUESTIONS)
        machine, claim, steps = question.proof
        tree: Any = [machine, claim, steps]
        for _ in range(source.randint(1, 2)):
            kind = source.choices([0, 1, 2], [5, 1, 2])[0]
            places = [place for place in places_in(tree[kind], (kind,)) if len(place[0]) > 1]
            # Names of what is changed would be refused, mostly.
            path, given = source.choice([each for each in places if "inputs" not in each[0][2:]])
            tree = with_at(tree, path, source.choice(variants(given, names_of(machine))))
        found = outcome(tree, partial(is_true_on_grid, question.step))
        counts[found] += 1
        assert found in {"refused", "true"}, (question.name, tree)
    assert counts["refused"] > 15
    assert counts["true"] > 1


def test_steps_that_are_none() -> None:
    question = next(question for question in QUESTIONS if question.name == "band Gauss all")
    machine, claim, (step,) = question.proof
    for bad in ({"bits": None}, {"bits": 0}, {"eps": 1}, {"parts": [None]}, {"from": [0]}):
        refuses(NotProved, None, replay, machine, claim, [{**step, **bad}])


def test_pairs_that_stand_for_all_are_found_by_the_kernel() -> None:
    question = next(question for question in QUESTIONS if question.name == "svt Gauss linf 1")
    machine, claim, (run, step) = question.proof
    assert "bounded on 4 sets of them" in words_of(replay(machine, claim, [run, step]))
    first, second = run["inputs"][:2]
    listed = {**claim, "pairs": [[first, second]]}
    assert "each of the 1 listed" in words_of(replay(machine, listed, [run, step]))
    for stated, steps in (
        (claim, [{**run, "inputs": run["inputs"][1:]}, step]),
        (claim, [run, {**step, "delta": 0}]),
        (claim, [run]),
        ({**claim, "delta": 0}, [run, step]),
    ):
        refuses(NotProved, None, replay, machine, stated, steps)


def test_a_delta_that_is_attained() -> None:
    text = SVT.format(n=2, domain="0..1", adjacency="linf 1", noise="Lap")
    program = program_of(text)
    proved = Options(proved=True)
    verdict = verify(program, eps=HALF, delta=0, options=proved)
    assert verdict.answer.value == "DP"
    assert verdict.replayed is not None
    with pytest.raises(NotProved):
        goal = Goal(Claim(HALF, Fraction(0), Fraction(1, 10)), None, None, 4)
        replayed(Setting(program, AllPairs(), proved), goal)


def test_outputs_that_are_seen_to_be_impossible_are_none() -> None:
    """Two samples below 0 whose sum is above 1 have a measure that nobody sees to be 0."""
    text = text_of("kernel/real_inputs-1")
    options = Options(proved=True)
    verdict = verify(program_of(text), eps=1, eps_prv=1, delta="1/10", options=options)
    assert verdict.answer.value == "DP"


def test_listed_pairs_of_real_inputs() -> None:
    program = program_of(BAND.format(domain="0..1", adjacency="all", noise="Gauss"))
    verdict = verify(
        program,
        eps=HALF,
        eps_prv="1/10",
        delta="1/5",
        pairs="1/3~1/2",
        options=Options(proved=True),
    )
    assert verdict.replayed is not None


# --- Which inputs are adjacent --------------------------------------------------------------------

Changes = list[Any]
DEFINED: dict[str, Callable[[Changes, Any], bool]] = {
    "linf": lambda changes, radius: max(map(abs, changes)) <= radius,
    "l1": lambda changes, radius: sum(map(abs, changes)) <= radius,
    "l0": lambda changes, radius: sum(map(bool, changes)) <= radius,
    "increasing": lambda changes, radius: all(0 <= c <= radius for c in changes),
    "decreasing": lambda changes, radius: all(-radius <= c <= 0 for c in changes),
    "all": lambda changes, radius: True,
}
DOMAINS = (0, 1, 3), (-1, 0, Fraction(1, 2)), (0, 2)
INPUTS = list(product(*DOMAINS))


@pytest.mark.parametrize("radius", [0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3])
@pytest.mark.parametrize("norm", DEFINED)
def test_pairs_are_those_of_the_definition(norm, radius) -> None:
    adjacency = Adjacency(norm, radius)
    expected = {
        (u, v)
        for u, v in product(INPUTS, INPUTS)
        if u != v and DEFINED[norm]([b - a for a, b in zip(u, v, strict=True)], radius)
    }
    found = list(adjacent_pairs(adjacency, DOMAINS))
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert {pair for pair in product(INPUTS, INPUTS) if adjacency.holds(*pair)} == expected
    if adjacency.symmetric:
        assert {(v, u) for u, v in expected} == expected
    assert adjacency.symmetric == (norm not in ("increasing", "decreasing"))
    for u, v in product(INPUTS, INPUTS):
        price = adjacency.total(zip(u, v, strict=True))
        assert (price is not None) == (u == v or (u, v) in expected)
        changed = [abs(b - a) for a, b in zip(u, v, strict=True)]
        if price is not None:
            assert price == {"l1": sum(changed), "l0": sum(map(bool, changed))}.get(norm, 0)


def test_pairs_are_counted() -> None:
    machine = {"inputs": [["q", [0, 1, 2]]], "outputs": [["o", [0]]], "reals": []}
    about = Proof(read_machine({**machine, "adjacency": {"norm": "all"}, "body": []}), None)
    listed = Proof(about.machine, tuple(pairs_of(about)))
    with budget(24):
        assert len(list(pairs_of(listed))) == 6
    with pytest.raises(Refused, match="more work"), budget(23):
        list(pairs_of(listed))


# --- Real inputs on intervals of eps: what the greatest eps of a part says of all of it -----------

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

Written = tuple[Any, Any, list[Any]]


def threshold(**words: str) -> str:
    return THRESHOLD.format(**{**WORDS, **words})


def proof_of(text: str, delta: str) -> Written:
    goal = GoalThroughout(Epsilons(LOW, HIGH), ["*", "1/10", ["eps"]], delta, None)
    proof = replayed_throughout(Setting(program_of(text), AllPairs(), Options()), [goal]).proof
    assert isinstance(proof, WrittenProof)
    return proof.machine, proof.claim, list(proof.steps)


THRESHOLD_PROOF = proof_of(threshold(), "1/10")


def test_what_holds_at_the_greatest_eps_holds_on_the_interval() -> None:
    machine, claim, steps = THRESHOLD_PROOF
    found = replay(machine, claim, steps)
    assert isinstance(found, Private)
    assert found.eps == Epsilons(LOW, HIGH)
    assert found.in_sets
    assert steps[-1]["rule"] == "smaller eps"
    assert steps[-1]["point"] == [1]


# --- What is adjacent, and what does not follow: expressions, and what is said of each ------------

ONE, TWO = Fraction(1), Fraction(2)
NAMES = (("a", "b"), ("a", 1))
ONE_WAY, BACK, SAME = ((0,), (1,)), ((1,), (0,)), ((1,), (1,))


def inside(low: Fraction | None, high: Fraction | None) -> list[Any]:
    points: list[Any] = [-1, 0, HALF, 1, 2, "name"]
    return [str(point) for point in points if point in Range(low, high)]


def neighbours(*listed: Any) -> Any:
    """Whether a list goes both ways; its pairs, and those of three values that it has."""
    adjacency, inputs = Adjacency("pairs", pairs=frozenset(listed)), [(k,) for k in range(3)]
    held = [pair for pair in product(inputs, inputs) if adjacency.holds(*pair)]
    return adjacency.symmetric, sorted(adjacent_pairs(adjacency, ((0, 1, 2),))), held


def threshold_replayed(claimed: Any = (), last: Any = (), **steps: Any) -> Any:
    """What is said of the proof where its claim and its last step, or others, have other fields."""
    machine, claim, own = THRESHOLD_PROOF
    own = steps.get("steps", own)
    return replay(machine, {**claim, **dict(claimed)}, [*own[:-1], {**own[-1], **dict(last)}])


def threshold_machine(*changes: str, **words: str) -> Machine:
    """A machine, of a text in which some words are others."""
    text = threshold(**words)
    for before, after in zip(changes[::2], changes[1::2], strict=True):
        text = text.replace(before, after)
    return read_machine(machine_json(program_of(text)))


def smaller(machine: Machine, **changed: Any) -> str:
    """The interval on which a machine is private, because it is so at the greatest eps."""
    step = {"eps": {"from": "1/4", "to": "1/2"}, "eps_prv": 1, "delta": "1/2", "point": [1]}
    private = replace(Private(HIGH, ONE, HALF, None, 1), **changed)
    return interval_text(smaller_eps(Steps(machine, None), step, private).eps)


def test_real_inputs_and_what_is_refused_of_them() -> None:
    asked = {"all_inputs": all_inputs, "shrinks": shrinks, "Motion": Motion}
    check_answers("kernel_real_inputs", judged(globals() | asked))
