"""False claims about pipelines, and honest steps with something changed: none may be confirmed.

    python -m tests.kernel.false_compositions COUNT [SEED]

Of each pipeline the least delta is known closely. The steps are those of a claim that is true by a
hair, the claim is false by less. So no judge is wanted: whatever the kernel confirms is a hole.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

import dipapprox
from dipapprox.errors import NoCertificate
from dipapprox.kernel import errors
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps import composed_runs
from dipapprox.proof_steps.compositions import ComposedGoal, PipelineProofs
from dipapprox.proof_steps.machines import number_json
from kernel.edits import Json, places_in, variants, with_at
from kernel.edits import Path as Place
from kernel.small import program_of

Claimed = tuple[str, Json, Json, list[Json]]
"""A name, a pipeline, a claim, and steps."""

LESS_WORK = 2_000_000
"""Of one step of a forgery: what asks for more is refused."""

HEAD = "input q in 0..1\noutput y in {}\nadjacent linf 1\n"
LABEL = HEAD.format("0..1") + "x <- Lap(q, 2)\ny <- x > 1\n"
THREE = """
input q in 0..2
output y in 0..1
adjacent linf 1
if q = 0 then y <- choose {0 : 1/2, 1 : 1/2} else
if q = 1 then y <- choose {0 : 1/3, 1 : 2/3} else y <- choose {0 : 1/8, 1 : 7/8} end end
"""
PARTS = """
input q[2] in {0, 1}
output y[2] in 0..1
adjacent l1 1
if q[1] = 0 then y[1] <- choose {0 : 1/3, 1 : 2/3} else y[1] <- choose {0 : 1/2, 1 : 1/2} end
if q[2] = 0 then y[2] <- choose {0 : 1/5, 1 : 4/5} else y[2] <- choose {0 : 2/5, 1 : 3/5} end
"""
NUMBER = HEAD.format("real") + "y <- Gauss(q, 2 / eps)\n"
HIDDEN = HEAD.format("real") + "c <- choose {0 : 1/4, 1 : 3/4}\ny <- Lap(q + c, 1 / eps)\n"

LAP: Json = {"mechanism": "laplace", "scale": 2}
NORMAL: Json = {"mechanism": "gaussian", "sigma": 2}
WHOLE: Json = {"mechanism": "discrete_laplace", "sensitivity": 2, "scale": 3}
RESPONSE: Json = {"mechanism": "randomised_response", "probability": "3/4", "values": 3}
PAIR: Json = {"mechanism": "approx_dp", "eps": "1/3", "delta": "1/50"}
CHOICE: Json = {"mechanism": "exponential_mechanism", "eps": "1/2"}
ZCDP: Json = {"mechanism": "zcdp", "rho": "1/8"}
RDP: Json = {"mechanism": "rdp", "orders": [[2, "1/10"], [8, "1/2"]]}

PIPELINES: dict[str, tuple[list[Json], str, bool]] = {
    "noise": ([LAP, NORMAL], "1/2", False),
    "noise alone": ([{**LAP, "times": 3}], "3/2", True),
    "noise on a sample": ([{**NORMAL, "subsample": "1/4", "times": 2}, LAP], "1/4", False),
    "integers": ([{**WHOLE, "times": 2}], "1/2", False),
    "responses": ([{**RESPONSE, "subsample": "1/3", "times": 3}], "1/4", False),
    "statements": ([{**PAIR, "times": 2}, CHOICE], "1/2", False),
    "divergences": ([ZCDP, RDP, RESPONSE], "1/2", False),
    "a label": ([{"program": LABEL, "times": 2, "subsample": "1/3"}], "1/8", False),
    "several pairs": ([{"program": THREE, "times": 2}, RESPONSE], "1/4", False),
    "parts": ([{"program": PARTS, "times": 2}], "13863/10000", True),
    "a number": ([{"program": NUMBER, "subsample": "1/2", "times": 2}], "1/8", False),
    "a hidden coin": ([{"program": HIDDEN, "times": 2}], "1/2", False),
}
"""Runs, eps_prv, and whether that is the least one for a delta of 0, rather than any."""


def false_claims(name: str) -> Iterator[Claimed]:
    """What is false by a hair, with steps of what is true."""
    runs, text, pure = PIPELINES[name]
    listed = [
        {**run, "program": program_of(run["program"]), "eps": 1} if "program" in run else run
        for run in runs
    ]
    sampled = any("subsample" in run for run in runs)
    adjacency = "add/remove" if sampled else "substitution"
    pipeline, place = dipapprox.compose(listed, adjacency=adjacency), Fraction(text)
    ends = None if pure else pipeline.delta(place).delta_enclosure
    many = 0 if name == "parts" else composed_runs.MANY_OUTPUTS  # as parts, however few there are
    for kept, sign in ((True, 1), (False, -1)):
        if ends is None:
            said, delta = {"eps_prv": place * (1 - sign * Fraction(1, 1000))}, Fraction(0)
            goal = ComposedGoal(kept, place * (1 + sign * Fraction(1, 100)), delta, delta, None)
        else:
            end = ends.upper if kept else ends.lower
            gap = end / 20
            goal = ComposedGoal(kept, place, (end + sign * gap).limit_denominator(10**6), gap, None)
            end = ends.lower if kept else ends.upper
            said = {"delta": (end * (1 - sign * Fraction(1, 1000))).limit_denominator(10**8)}
        before, composed_runs.MANY_OUTPUTS = composed_runs.MANY_OUTPUTS, many
        try:
            proof, _ = PipelineProofs(pipeline.pipeline).proof(goal)
        except NoCertificate:
            continue  # of divergences nobody has as much as they allow
        finally:
            composed_runs.MANY_OUTPUTS = before
        # No premise is forgotten: others may be chosen.
        steps = [{**s, "from": [max(k, -k - 1) for k in s["from"]]} for s in proof.steps]
        assert replay(proof.pipeline, proof.claim, steps)
        stated = {field: number_json(value) for field, value in said.items()}
        changed = [*steps[:-1], {**steps[-1], **stated}]
        yield name, proof.pipeline, {**proof.claim, **stated}, changed


def field_of(at: Place) -> str:
    """The last name on the way to a place."""
    return next(name for name in reversed(at) if isinstance(name, str))


def others(at: Place, given: Json, steps: list[Json]) -> list[Json]:
    """What may stand in a place: what stands in others of this field, and limits."""
    numbers = [*range(len(steps))]
    limits: dict[str, list[Json]] = {
        "from": numbers if isinstance(given, int) else [[k] for k in numbers],
        "sample": [None, *([r, added] for r in (1, "1/100") for added in (True, False))],
        "knots": [[[0, 0, 1]], [[-1, 1, 1]], [[-4000, -3999, 1]], [[0, 100, 1]]],
        "cut": [10**60, -1] if isinstance(given, int) else [[10**60, 0], [0, 10**60]],
        "orders": [[], ["1/100"], [2, 2, 2], ["5001/10000", "1/2", 1, 1]],
    }
    same = [other for place, other in places_in(steps) if place[-1:] == at[-1:]]
    return same + limits.get(field_of(at), [])


def forged(steps: list[Json], source: random.Random) -> list[Json]:
    """Steps with something changed, in one place or up to four; each field as often as another."""
    tree: Json = steps
    for _ in range(source.randint(1, 4)):
        fields: dict[str, list[tuple[Place, Json]]] = {}
        for at, given in places_in(tree):
            if len(at) > 1:
                fields.setdefault(field_of(at), []).append((at, given))
        at, given = source.choice(fields[source.choice(sorted(fields))])
        likely = others(at, given, steps) if source.random() < 2 / 3 else variants(given, ["q"])
        changed = with_at(tree, at, source.choice(likely or [None]))
        if not all(
            isinstance(step, dict) and isinstance(step.get("from"), list) for step in changed
        ):
            break
        tree = changed
    return list(tree)


def outcome(claimed: Claimed, steps: list[Json]) -> str:
    """What becomes of steps to a false claim: "refused", or what is wrong."""
    name, pipeline, claim, _ = claimed
    before, errors.MOST_WORK = errors.MOST_WORK, LESS_WORK
    try:
        replay(pipeline, claim, steps)
    except NotProved:
        return "refused"
    except Exception as crash:
        return f"crash: {name}: {type(crash).__name__}: {crash}: {steps}"
    finally:
        errors.MOST_WORK = before
    return f"FALSE: {name}: {claim}: {steps}"


def main(count: int, seed: int) -> int:
    """Forge so many proofs about each claim."""
    counts, source = Counter[str](), random.Random(seed)
    for claimed in (each for name in PIPELINES for each in false_claims(name)):
        for _ in range(count):
            found = outcome(claimed, forged(claimed[3], source))
            counts[found.partition(":")[0]] += 1
            if found != "refused":
                print(found[:2000], flush=True)
    print(dict(counts))
    return counts.total() - counts["refused"]


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0), 1))
