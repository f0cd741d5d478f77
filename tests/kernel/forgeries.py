"""Proofs with something changed, and whether what they claim is true all the same.

    python -m tests.kernel.forgeries COUNT [SEED]

Whoever forges a proof renews its digest, so that the kernel alone has to notice. What it confirms
is judged without it: the machine is made a core program again, the verifier finds the distributions
of its outputs, and pairs, sums and comparisons are written out here.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

from flint import arb, ctx, fmpq

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from dipapprox import LimitReached, Options, UserError
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.replay import replay
from dipapprox.language import core
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import FAMILIES
from dipapprox.privacy.probabilities import output_distribution
from kernel.edits import places_in, variants, with_at
from kernel.machines import RUN, finite, private
from kernel.small import LISTED, SMALL

Json = Any
Proof = tuple[Json, Json, list[Json]]
"""A machine, a claim, and steps."""
Named = tuple[str, Proof]

SOUND = {"refused", "true", "undecided"}
"""What may become of a forgery."""

# --- what is true --------------------------------------------------------------------------------


def number(given: Json) -> Fraction:
    assert type(given) in (int, str)
    return Fraction(given)


def value(given: Json) -> core.Value:
    return str(given["name"]) if isinstance(given, dict) else number(given)


def domain(given: Json) -> tuple[core.Value, ...]:
    if isinstance(given, dict):
        return tuple(map(Fraction, range(given["from"], given["to"] + 1)))
    return tuple(map(value, given))


class Rebuilt:
    """A machine as a core program; `repeat` is written out."""

    def __init__(self, machine: Json) -> None:
        self._site = 0
        self.program = core.Program(
            name="rebuilt",
            parameters={},
            inputs=tuple(core.Cell(n, n, None, domain(d)) for n, d in machine["inputs"]),
            outputs=tuple(core.Cell(n, n, None, domain(d)) for n, d in machine["outputs"]),
            body=self._block(machine["body"], 0),
            adjacency=core.Everyone(),
        )

    def _block(self, block: Json, turn: int) -> tuple[core.Statement, ...]:
        found: list[core.Statement] = []
        for statement in block:
            if statement[0] == "repeat":
                _, turns, body = statement
                for k in range(turns):
                    found += self._block(body, k)
            elif statement[0] != "forget":
                # A run that reads what was forgotten has no meaning, and is never confirmed.
                found.append(self._statement(statement, turn))
        return tuple(found)

    def _statement(self, statement: Json, turn: int) -> core.Statement:
        def tree(given: Json) -> Any:
            return self._tree(given, turn)

        self._site += 1
        match statement:
            case ["set", target, given]:
                return core.Assign(tree(target), tree(given))
            case ["draw", target, family, mean, [coefficient, power]]:
                scale = Scale(number(coefficient), power)
                return core.Draw(tree(target), FAMILIES[family], tree(mean), scale, self._site)
            case ["if", condition, then, otherwise]:
                blocks = self._block(then, turn), self._block(otherwise, turn)
                return core.If(self._condition(condition, turn), *blocks)
            case ["exit"]:
                return core.Exit()
            case ["choose", target, options, proportional]:
                weights = tuple((tree(v), tree(w)) for v, w in options)
                return core.Choose(tree(target), weights, proportional, self._site)
            case ["while", condition, body]:
                return core.While(self._condition(condition, turn), self._block(body, turn))
        raise ValueError(statement)

    def _condition(self, given: Json, turn: int) -> core.Condition:
        word, *parts = given
        if word in ("and", "or"):
            kind = core.All if word == "and" else core.Any
            return kind(tuple(self._condition(part, turn) for part in parts))
        left, right = (self._tree(part, turn) for part in parts)
        return core.Comparison(left, core.Relation(word), right)

    def _tree(self, given: Json, turn: int) -> Any:
        match given:
            case ["cell", name]:
                return core.Variable(name)
            case ["moving", array, first]:
                return core.Variable(f"{array}[{first + turn}]")
            case ["element", array, size, index]:
                return core.Element(array, size, self._tree(index, turn))
            case ["+", left, right]:
                return core.Sum(self._tree(left, turn), self._tree(right, turn))
            case ["*", left, right]:
                return core.Product(self._tree(left, turn), self._tree(right, turn))
            case ["eps"]:
                return core.Epsilon()
            case ["inverse", operand]:
                return core.Inverse(self._tree(operand, turn))
            case ["exp", operand]:
                return core.Exponential(self._tree(operand, turn))
        return core.Constant(value(given))


@lru_cache(maxsize=2000)
def probabilities(machine: str, eps: Fraction, given: core.Input) -> dict[Any, Any]:
    """The probability of every output, between two numbers."""
    program = Rebuilt(json.loads(machine)).program
    found = output_distribution(program, eps, given, Options())
    return {each.output: each.probability for each in found.outputs}


def adjacent(rule: Json, first: core.Input, second: core.Input) -> bool:
    if first == second:
        return False
    if "pairs" in rule:
        pairs = [tuple(tuple(map(value, each)) for each in pair) for pair in rule["pairs"]]
        ways = [(first, second)] + ([] if rule["one way"] else [(second, first)])
        return any(way in pairs for way in ways)
    if rule["norm"] == "all":
        return True
    radius = number(rule["radius"])
    if rule["norm"] == "l0":
        return sum(u != v for u, v in zip(first, second, strict=True)) <= radius
    changes = [Fraction(v) - Fraction(u) for u, v in zip(first, second, strict=True)]
    sizes = [abs(change) for change in changes]
    return {
        "linf": max(sizes) <= radius,
        "l1": sum(sizes) <= radius,
        "increasing": min(changes) >= 0 and max(sizes) <= radius,
        "decreasing": max(changes) <= 0 and max(sizes) <= radius,
    }[rule["norm"]]


Ends = tuple[Fraction, Fraction]
"""Two numbers that a third one lies between."""


def ends(ball: arb) -> Ends:
    found = []
    for end in (ball.lower(), ball.upper()):
        mantissa, exponent = end.man_exp()
        found.append(int(mantissa) * Fraction(2) ** int(exponent))
    return found[0], found[1]


def formula(tree: Json, eps: Fraction) -> arb:
    """The value of a formula in eps."""
    match tree:
        case ["eps"]:
            return arb(fmpq(eps.numerator, eps.denominator))
        case ["+", left, right]:
            return formula(left, eps) + formula(right, eps)
        case ["*", left, right]:
            return formula(left, eps) * formula(right, eps)
        case ["inverse", operand]:
            return 1 / formula(operand, eps)
        case ["exp", operand]:
            return formula(operand, eps).exp()
    given = number(tree)
    return arb(fmpq(given.numerator, given.denominator))


def is_private(machine: Json, claim: Json, eps: Fraction) -> bool | None:
    """Whether the machine is private at one eps; None if the verifier's numbers do not tell.

    Raises:
        UserError: If the verifier finds that the program has no meaning.
    """
    before, ctx.prec = ctx.prec, 200
    try:
        low, high = ends(formula(claim["eps_prv"], eps).exp())
        delta = ends(formula(claim["delta"], eps))
    finally:
        ctx.prec = before
    inputs = list(product(*(domain(d) for _, d in machine["inputs"])))
    if claim["pairs"] is None:
        rule = machine["adjacency"]
        pairs = [(u, v) for u in inputs for v in inputs if adjacent(rule, u, v)]
    else:
        pairs = [tuple(tuple(map(value, each)) for each in pair) for pair in claim["pairs"]]
    text = json.dumps({**machine, "adjacency": None})
    private: bool | None = True
    for u, v in pairs:
        ours, theirs = (probabilities(text, eps, each) for each in (u, v))
        least = most = Fraction(0)
        for output, own in ours.items():
            other = theirs.get(output)
            below, above = (0, 0) if other is None else (other.lower, other.upper)
            least += max(Fraction(0), own.lower - high * above)
            most += max(Fraction(0), own.upper - low * below)
        if least > delta[1]:
            return False
        if most > delta[0]:
            private = None
    return private


SAMPLES = [Fraction(k, d) for k, d in ((1, 16), (2, 5), (1, 1), (7, 4), (5, 1), (30, 1))]
"""Where claims about intervals are tried."""


def is_true(machine: Json, claim: Json, steps: list[Json]) -> bool | None:
    """Whether a claim holds, about an interval as far as it is tried; see `is_private`."""
    holds = claim["verdict"] == "DP"
    if not isinstance(claim["eps"], dict):
        found = is_private(machine, claim, number(claim["eps"]))
        return None if found is None else found == holds
    low, high = number(claim["eps"]["from"]), claim["eps"]["to"]
    ended = [low] if high is None else [low, number(high)]
    said = [number(step["eps"]) for step in steps if not isinstance(step.get("eps", {}), dict)]
    tried = [
        eps
        for eps in dict.fromkeys([*(each for each in ended if each), *said, *SAMPLES])
        if low <= eps and (high is None or eps <= ended[1])
    ]
    everywhere = [is_private(machine, claim, eps) for eps in tried]
    if False in everywhere:
        return not holds
    return None if None in everywhere else holds


# --- what is changed -----------------------------------------------------------------------------

PLACES = ("eps", "eps_prv", "delta")
"""Fields that the claim and steps have in common."""


def names_of(machine: Json) -> list[str]:
    """Cells that are assigned or declared."""
    found = [name for name, _ in (*machine["inputs"], *machine["outputs"])]
    waiting = [machine["body"]]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            if len(part) == 2 and part[0] == "cell":
                found.append(part[1])
            waiting += part
    return sorted({name for name in found if isinstance(name, str)})


def single_changes(proof: Proof) -> Iterator[Proof]:
    """Every proof with one thing changed; numbers of the claim are changed in the steps, too."""
    names = names_of(proof[0])
    tree = list(proof)
    for path, given in places_in(tree):
        if not path:
            continue
        for new in variants(given, names):
            changed = with_at(tree, path, new)
            yield tuple(changed)
            if path[0] == 1 and path[-1] in PLACES:
                # The same in all steps that state it, or in the last one alone.
                before = changed[2]
                changed[2] = _restated(before, {path[-1]: new})
                yield tuple(changed)
                if changed[2][:-1] != before[:-1]:
                    yield changed[0], changed[1], [*before[:-1], changed[2][-1]]
            if path[:1] == (1,) and path[1:2] == ("pairs",) and proof[1]["pairs"] is not None:
                together = deepcopy(changed)
                listed = together[1]["pairs"]
                if "input" not in together[2][1] and isinstance(listed, list):
                    together[2][0]["inputs"] = _inputs(listed)
                    yield tuple(together)


def _restated(steps: list[Json], said: Json) -> list[Json]:
    """Steps with a field changed in those that have it."""
    return [
        step | said if isinstance(step, dict) and step.keys() & said.keys() else step
        for step in steps
    ]


def _inputs(pairs: list[Json]) -> list[Json]:
    found: list[Json] = []
    for pair in pairs:
        for each in pair if isinstance(pair, list) else [pair]:
            if each not in found:
                found.append(each)
    return found


def random_change(proof: Proof, source: random.Random, names: list[str]) -> Proof:
    """A proof with one thing changed at random; `names` are those of cells."""
    tree = list(proof)
    # The body of the machine has most places; claim and steps have their share.
    part = source.choices([0, 1, 2], [3, 2, 1])[0]
    places = [place for place in places_in(tree[part], (part,)) if len(place[0]) > 1]
    if not places:
        return proof
    path, given = source.choice(places)
    changed = with_at(tree, path, source.choice(variants(given, names)))
    if path[0] == 1 and path[-1] in PLACES and isinstance(changed[2], list):
        restated = _restated(changed[2], {path[-1]: changed[1][path[-1]]})
        alone = len(restated) > 1 and source.random() < 1 / 3
        changed[2] = [*changed[2][:-1], restated[-1]] if alone else restated
    return tuple(changed)


# --- the trial -----------------------------------------------------------------------------------


def proofs() -> list[tuple[str, Proof]]:
    """True proofs to start from."""
    found: list[tuple[str, Proof]] = []
    for small in (*SMALL, *LISTED):
        found.append((f"{small.name}: DP", (small.machine, *small.private(small.above()))))
        found.append((f"{small.name}: Not_DP", (small.machine, *small.violated(small.below()))))
    return [*found, *attained()]


def attained() -> Iterator[tuple[str, Proof]]:
    """Bounds that are attained, and a loop written as one."""
    cell, out = ["cell", "x"], ["cell", "o"]
    yes, no = [["set", out, 1]], [["set", out, 0]]
    body = [["draw", cell, "Lap", ["cell", "q"], [1, -1]], ["if", [">", cell, "1/2"], yes, no]]
    near = {"pairs": [[[0], [1]]], "one way": False}
    machine = finite(body, inputs=[["q", [0, 1]]], adjacency=near)
    yield "attained", private(machine, RUN | {"eps": "1/2", "bits": None}, "1/2", 0)
    (vectors,) = (small for small in SMALL if small.name == "sparse vectors")
    yield "repeat: DP", (repeated(), *vectors.private(vectors.above()))
    yield "repeat: Not_DP", (repeated(), *vectors.violated(vectors.below()))


def moving(tree: Json) -> Json:
    """Let the first elements of arrays move with a loop."""
    if isinstance(tree, list) and tree[:1] == ["cell"] and tree[1].endswith("[1]"):
        return ["moving", tree[1].removesuffix("[1]"), 1]
    return [moving(each) for each in tree] if isinstance(tree, list) else tree


def repeated() -> Json:
    """Sparse vectors, with equal turns there once."""
    (vectors,) = (small for small in SMALL if small.name == "sparse vectors")
    machine = deepcopy(vectors.machine)
    body = machine["body"]
    machine["body"] = [["repeat", 3, moving(body[:1])], body[3], ["repeat", 3, moving(body[4:6])]]
    return machine


def outcome(proof: Proof, judge: Callable[..., bool | None] | None = None) -> str:
    """What becomes of a forgery.

    Returns:
        "refused", "true", "undecided" (the verifier's numbers do not tell), or what is wrong.
    """
    machine, claim, steps = proof
    if not isinstance(steps, list):
        # Who reads files takes a list of steps.
        return "refused"
    try:
        replay(machine, claim, steps)
    except NotProved:
        return "refused"
    except Exception as crash:
        return f"crash: {type(crash).__name__}: {crash}"
    try:
        found = (judge or is_true)(machine, claim, steps)
    except LimitReached:
        return "undecided"
    except UserError as objection:
        return f"no meaning: {objection.message}"
    except Exception as crash:
        return f"judge: {type(crash).__name__}: {crash}"
    return "undecided" if found is None else "true" if found else "FALSE"


def spread(honest: Iterable[Named], every: int = 1) -> Iterator[Named]:
    """One change each, spread over all that there are."""
    for number, (name, proof) in enumerate(honest):
        for place, forged in enumerate(single_changes(proof)):
            if place % every == number % every:
                yield name, forged


def several(honest: Iterable[Named], seed: int, least: int = 2) -> Iterator[Named]:
    """Up to three changes each, without end."""
    source, honest = random.Random(seed), list(honest)
    while True:
        name, proof = source.choice(honest)
        names = names_of(proof[0])
        for _ in range(source.randint(least, 3)):
            proof = random_change(proof, source, names)
        yield name, proof


def judged(forged: Iterable[Named]) -> Counter[str]:
    """Want what the kernel confirms to be true; count what becomes of all."""
    counts: Counter[str] = Counter()
    for name, proof in forged:
        found = outcome(proof)
        counts[found] += 1
        assert found in SOUND, (found, name, proof)
    return counts


def main(count: int, seed: int) -> int:
    """Try all single changes, then random ones of one to three places."""
    counts: Counter[str] = Counter()
    everything = proofs()
    for name, proof in everything:
        assert outcome(proof) == "true", name
    tried = chain(() if seed else spread(everything), several(everything, seed, least=1))
    for name, proof in islice(tried, count):
        found = outcome(proof)
        kind = found.partition(":")[0]
        counts[kind] += 1
        if kind not in SOUND and counts[kind] <= 12:
            print(found[:200], "|", name, "|", json.dumps(proof)[:1500], flush=True)
    print(dict(counts))
    return sum(number for kind, number in counts.items() if kind not in SOUND)


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0), 1))
