"""What is no number, machine, claim, step or proof is refused, soon, and never a crash."""

import contextlib
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel import compositions
from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.evaluate import pairs_within
from dipapprox.kernel.forward import Run
from dipapprox.kernel.judgements import Distributions, Private
from dipapprox.kernel.losses import Losses
from dipapprox.kernel.machine import (
    DEEPEST,
    NORMS,
    Adjacency,
    adjacent_pairs,
    all_inputs,
    read_cell,
    read_input,
    read_machine,
)
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.proofs import Proof, every_pair, growth_bound, largest_of, violation
from dipapprox.kernel.reading import as_number
from dipapprox.kernel.replay import read_claim, replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.signs import Signs
from dipapprox.proof_steps.machines import number_json
from kernel.machines import ONE, RUN, Json, cell, finite, judged, private
from kernel.pipelines import ball, losses, steps_of
from kernel.streams import say, stream
from tests.cases import check_answers, refuses

X, OUT = cell("x"), cell("o")
DONE = ["set", OUT, 0]
COIN = ["choose", OUT, [[0, "1/2"], [1, "1/2"]], False]
MACHINE = finite([COIN], inputs=[["q", [0, 1]]])


class Whole(int):
    """No integer of JSON."""


def proved(*proof: Json) -> str:
    assert replay(*private(*proof))
    return "proved"


def stepped(step: Json) -> str:
    """Of this step alone."""
    machine, claim, _ = private(MACHINE)
    assert replay(machine, claim, [step])
    return "proved"


def claimed(stated: Json) -> str:
    """Of a claim and a step that state this."""
    machine, claim, (run, step) = private(MACHINE)
    said = {name: stated[name] for name in stated if name != "pairs"}
    assert replay(machine, {**claim, **stated}, [run, {**step, **said}])
    return "proved"


def drawn(size: Json) -> Json:
    return {"body": [["draw", X, "Lap", 0, size]]}


def numbers(low: Json, high: Json) -> Json:
    return [["next q", {"low": low, "high": high}]]


RESPONSE = {"mechanism": "randomised_response", "probability": "3/4", "values": 3}
RUNS: Json = {"what": RESPONSE, "subsample": None, "times": 1}
ONE_WAY = {**MACHINE, "adjacency": {"pairs": [[[0], [1]]], "one way": True}}

READ: dict[str, tuple[Callable[[Json], Any], Json]] = {
    "machine": (read_machine, MACHINE),
    "rounds": (read_rounds, stream([say(0)], None)),
    "pipeline": (read_pipeline, {"adjacency": "add/remove", "runs": [RUNS]}),
}
"""What is read, and something that is one."""


def is_read(what: str, change: Json) -> str:
    """Something that is one, with this change."""
    reader, given = READ[what]
    assert reader({**given, **change})
    return "read"


BOTH = read_machine({**MACHINE, "adjacency": {**ONE_WAY["adjacency"], "one way": False}}).adjacency


@pytest.mark.parametrize("depth", [300, 390, 2_000])
def test_what_is_nested_deeply_is_refused(depth) -> None:
    expression: Json = 1
    block: Json = [DONE]
    condition: Json = ["=", 0, 0]
    for _ in range(depth):
        expression = ["+", expression, 0]
        block = [["if", ["=", 0, 0], block, block[:0]]]
        condition = ["and", condition]
    for body in ([["set", OUT, expression]], block, [["if", condition, [DONE], [DONE]]]):
        with contextlib.suppress(NotProved):
            replay(*private(finite(body)))
    if depth > DEEPEST:
        refuses((BadProof, Refused), None, replay, *private(finite(block)))


def test_a_loop_stands_in_no_other_statement() -> None:
    """Else its turns, of which there is one number, would be those of another loop, too."""
    loop, true = ["repeat", 2, [DONE]], ["=", 0, 0]
    assert read_machine(finite([loop, loop]))
    for around in (["repeat", 2, [loop]], ["if", true, [loop], []], ["while", true, [loop]]):
        refuses(BadProof, "not a statement: repeat", read_machine, finite([around]))


def test_numbers_of_a_domain_that_is_too_large_are_not_listed() -> None:
    refuses(BadProof, "too large", read_cell, ["q", {"from": 0, "to": 10**30}])


def test_a_choice_has_options() -> None:
    refuses(BadProof, "without options", read_machine, finite([["choose", OUT, [], False]]))


def test_what_is_nested_a_little_too_deeply_is_no_machine() -> None:
    expression: Json = 1
    for _ in range(DEEPEST + 1):
        expression = ["+", 0, expression]
    refuses(BadProof, "too deep", read_machine, finite([["set", OUT, expression]]))


def weighed(weight: Json, bits: int | None) -> str:
    choice = ["choose", OUT, [[0, weight], [1, 1]], True]
    return proved(finite([choice]), RUN | {"bits": bits})


# --- named values, which may be called as the words of programs are -------------------------------

A, B = {"name": "a"}, {"name": "b"}


NAMED = read_machine({**MACHINE, "inputs": [["q", [A, B]]]}).domains


def compared(relation: str, left: Json, right: Json) -> list[Any]:
    """What is put out; samples, which are real numbers, are compared with no names."""
    body = [
        ["draw", X, "Lap", 0, [1, 0]],
        DONE,
        ["if", [relation, left, right], [["set", OUT, 1]], []],
    ]
    run = Run(read_machine(finite(body)), Signs.at(ONE), Graph())
    assert run.outcomes([()])
    return [*run.numbers]


# --- Proofs of numbers with one thing wrong -------------------------------------------------------

NEAR = {"norm": "linf", "radius": 1}
EMPTY = finite([], inputs=[["q", [0, 1]]], adjacency=NEAR)

# --- numbers of one eps --------------------------------------------------------------------------


def response(adjacency: Json) -> Json:
    """Randomised response of three values: the true one with probability 1/2."""
    values, body = [0, 1, 2], []
    for q in values:
        options = [[o, "1/2" if o == q else "1/4"] for o in values]
        body.append(["if", ["=", cell("q"), q], [["choose", cell("o"), options, False]], []])
    return finite(body, inputs=[["q", values]], outputs=[["o", values]], adjacency=adjacency)


def violated(delta: Json, pairs: Json = None, run: Json = RUN, **changed: Json) -> str:
    """That 0 and 1 differ by more than delta at eps_prv = 0; their distance is 1/4."""
    stated = {"eps_prv": 0, "delta": delta}
    claim = {"verdict": "Not_DP", "eps": 1, "pairs": pairs, **stated}
    step = {"rule": "violation", "from": [0], "input": [0], "adjacent": [1], "outputs": [[0]]}
    assert replay(response(NEAR), claim, [run, {**step, **stated, **changed}])
    return "proved"


@pytest.mark.parametrize("eps_prv", [Fraction(1, 3), Fraction(70)])
@pytest.mark.parametrize("places", [2, 40])
def test_growth_is_rounded_to_its_side(eps_prv, places) -> None:
    low, high = (growth_bound(eps_prv, places, above=side) for side in (False, True))
    assert high - low == Fraction(1, 1 << places)
    # e ** eps_prv between, by its series with a bound of what is left out.
    found, term = Fraction(0), Fraction(1)
    for k in range(1, 3 * int(eps_prv) + 60):
        found, term = found + term, term * eps_prv / k
    assert low < found < found + 2 * term < high


def of_bounds(likely: Json, unlikely: Json, eps_prv: int, delta: Json) -> str:
    """Of two outputs, in sixteenths, where e is between 43 and 44: 16 - 44/16 * 4 = 5."""
    low, high = ({(k,): row[side] for k, row in enumerate((likely, unlikely))} for side in (0, 1))
    bounds = {input: ((low[input], 0), (high[input], 16)) for input in low}
    found = Distributions(Fraction(1), 4, ((0,), (1,)), bounds)
    step = {"input": [0], "adjacent": [1], "outputs": [[0]], "eps_prv": eps_prv, "delta": delta}
    assert violation(Proof(read_machine(EMPTY), None), step, found)
    return "proved"


# --- compositions --------------------------------------------------------------------------------

TWICE: Json = {"what": RESPONSE, "subsample": None, "times": 2}
GIVEN: Json = {"adjacency": "add/remove", "runs": [TWICE]}


def test_deltas_are_those_of_the_losses() -> None:
    whole: Json = {"parts": None, "eps": None}
    for kept, reason in ((True, "is larger"), (False, "not larger")):
        steps = steps_of(GIVEN, kept, Fraction(1, 4), 16)[0]
        found = losses(GIVEN, steps).losses.delta(Fraction(1, 2))

        def concluded(
            delta: Fraction, side: bool = kept, own: Json = steps, **changed: Json
        ) -> Any:
            stated = {"eps_prv": "1/2", "delta": number_json(delta)}
            pair = {} if side else {"input": None, "adjacent": None}
            rule = "private composition" if side else "violated composition"
            last = {"rule": rule, "from": [len(own) - 1], **whole, **pair, **stated, **changed}
            return replay(GIVEN, {"verdict": "DP" if side else "Not_DP", **stated}, [*own, last])

        hair = Fraction(1 if kept else -1, 10**9)
        assert concluded(found if kept else found + hair)
        refuses(Refuted, reason, concluded, found - hair if kept else found)
        with pytest.raises(BadProof, match="no losses from"):
            concluded(Fraction(99, 100) if not kept else Fraction(0), side=not kept)
        for of_machines in ({"eps": 1}, {"parts": []}):
            refuses(BadProof, "no parts and no eps", concluded, found + hair, **of_machines)


LOSSES = Losses(Fraction(1, 4), Fraction(0), 0, (128, 127), 1, 8)
ONE_PAIR = Private(Fraction(1), Fraction(0), Fraction(1, 4), (((0,), (1,)),))


def bounds(*deltas: Fraction) -> list[Private]:
    """What bounds delta for a pair in both orders; one way says nothing of the other."""
    pairs = ((0,), (1,)), ((1,), (0,))
    return [replace(ONE_PAIR, delta=delta, pairs=pairs) for delta in deltas]


@pytest.mark.parametrize("turn", [1, -1])
def test_what_is_known_of_a_program_is_the_least_bound(turn) -> None:
    known = bounds(Fraction(1, 4), Fraction(1, 3))[::turn]
    found = compositions._known(known[0], known).most(Fraction(0))
    assert found.overlaps(ball(Fraction(1, 4)))
    assert found < ball(Fraction(26, 100))


BOUNDS = Distributions(
    Fraction(1), 4, ((0,), (1,), (2,)), {(0,): ([8, 3, 2], [9, 4, 3]), (1,): ([2, 5, 6], [3, 6, 7])}
)
"""At eps_prv = 0 upper bounds of one count against lower bounds of the other."""


def test_where_no_difference_is_positive_the_largest_is_that_of_one_output() -> None:
    growth = int(growth_bound(Fraction(10), 4, above=False) * 16)
    assert largest_of(BOUNDS, Fraction(10))((0,), (1,)) == 9 - growth * 2 // 16


def test_a_delta_between_two_units_bounds_what_the_smaller_one_does() -> None:
    about = Proof(read_machine(EMPTY), (((0,), (1,)),))
    assert every_pair(about, {"eps_prv": 0, "delta": "7/16"}, BOUNDS).delta == Fraction(7, 16)
    step = {"eps_prv": 0, "delta": "13/32"}
    refuses(Refuted, "not known to bound", every_pair, about, step, BOUNDS)


def test_what_is_read_and_what_is_refused() -> None:
    read = {"as_number": as_number, "read_claim": read_claim, "read_input": read_input}
    check_answers("kernel_reading", judged(globals() | read))


@pytest.mark.parametrize("norm", [*NORMS, "all"])
def test_all_pairs_together_are_those_one_by_one(norm: str) -> None:
    for seed in range(60):
        compare_pairs(norm, random.Random(seed))


def compare_pairs(norm: str, rng: random.Random) -> None:
    values = [0, 1, 3, Fraction(-1, 2)]
    domains = [tuple(rng.sample(values, rng.randint(1, 3))) for _ in range(rng.randint(0, 4))]
    adjacency = Adjacency(norm, rng.choice([0, 1, Fraction(5, 2)]))
    inputs, places = [*all_inputs(domains)], 5
    columns = []
    for _ in range(rng.randint(1, 4)):
        # Told by some of the cells, as if these were what it depends on.
        cells, told = [k for k in range(len(domains)) if rng.random() < 0.6], dict[Any, Any]()
        columns.append(
            [
                told.setdefault(
                    tuple([u[k] for k in cells]),
                    sorted(rng.choices(range(rng.choice([2, 33])), k=2)),
                )
                for u in inputs
            ]
        )
    rows = [tuple(zip(*row, strict=True)) for row in zip(*columns, strict=True)]
    found = Distributions(
        ONE, places, tuple(range(len(columns))), dict(zip(inputs, rows, strict=True))
    )
    cells = tuple((f"q{k}", domain) for k, domain in enumerate(domains))
    machine = read_machine(finite([]))._replace(inputs=cells, adjacency=adjacency)
    eps_prv = Fraction(rng.choice([0, 1]), 2)
    largest, pairs = largest_of(found, eps_prv), [*adjacent_pairs(adjacency, domains)]
    most = max([0, *(largest(*pair) for pair in pairs)])
    delta = Fraction(most, 1 << places)
    assert pairs_within(found, eps_prv, delta, machine) == len(pairs)
    if most:
        less = delta - Fraction(1, 1 << 2 * places)
        refuses(Refuted, "all pairs", pairs_within, found, eps_prv, less, machine)
    if len(inputs) > 1:
        rest = found._replace(bounds=dict([*found.bounds.items()][1:]))
        refuses(Refuted, "no distribution", pairs_within, rest, eps_prv, delta, machine)
