"""What is no number, machine, claim, step or proof is refused, soon, and never a crash."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel import compositions
from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.forward import Run
from dipapprox.kernel.judgements import Distributions, Judgement, Private
from dipapprox.kernel.losses import Losses
from dipapprox.kernel.machine import read_input, read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.proofs import Proof, growth_bound, largest_of, violation
from dipapprox.kernel.reading import as_number
from dipapprox.kernel.replay import read_claim, replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.signs import Signs
from dipapprox.proof_steps.machines import number_json
from kernel.machines import ONE, RUN, Json, cell, finite, private
from kernel.pipelines import ball, losses, steps_of
from kernel.streams import say, stream
from tests.cases import cases, refuses

X, OUT = cell("x"), cell("o")
DONE = ["set", OUT, 0]
COIN = ["choose", OUT, [[0, "1/2"], [1, "1/2"]], False]
MACHINE = finite([COIN], inputs=[["q", [0, 1]]])


@cases(
    "bad",
    *(f"1/{'7' * 5000}", f"{'7' * 3999}/{'2' * 3999}", 10**4000, "1/1", "2/4", "-0/3", "1/-3"),
    *("1e3", " 1/2", "1/2\n", "١/٢", True, 0.5, None, [1]),
)
def test_what_is_no_number_is_a_bad_proof(bad) -> None:
    refuses(BadProof, None, as_number, bad, "it")


class Whole(int):
    """No integer of JSON."""


@cases(
    "step",
    *({"rule": []}, {"rule": {}}, {"rule": None}, {}, [], None),
    {name: field for name, field in RUN.items() if name != "bits"},
    *(RUN | {"more": 1}, RUN | {"eps": True}, RUN | {"eps": 0}, RUN | {"bits": True}),
    *(RUN | {"bits": Whole(30)}, RUN | {"inputs": [[0], [0]]}, RUN | {"from": [False]}),
    *(RUN | {"from": [0]}, {"rule": "every pair", "from": [], "eps_prv": 1, "delta": "1/2"}),
)
def test_steps_that_are_none_are_bad_proofs(step) -> None:
    machine, claim, _ = private(MACHINE)
    refuses(BadProof, None, replay, machine, claim, [step])


@cases(
    "stated",
    *({"delta": 2}, {"delta": -1}, {"delta": "2/4"}, {"delta": 0.1}, {"delta": True}),
    *({"eps_prv": -1}, {"pairs": []}, {"pairs": [[[0], [0]], [[0], [0]]]}),
    {"pairs": [[[0], [1]]] * 2},
)
def test_claims_that_are_none_are_bad_proofs(stated) -> None:
    machine, claim, (run, step) = private(MACHINE)
    assert replay(machine, {**claim, "pairs": [[[0], [1]], [[1], [0]]]}, [run, step])
    refuses(BadProof, None, replay, machine, {**claim, **stated}, [run, {**step, **stated}])
    refuses(BadProof, None, read_claim, {**claim, **stated}, read_machine(machine))


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

NONE: dict[str, tuple[str, Json, str]] = {
    "a name twice": ("machine", {"reals": ["q"]}, "two cells"),
    "a range": ("machine", {"outputs": [["o", {"low": 0, "high": 1}]]}, "has a range"),
    "a value twice": ("machine", {"inputs": [["q", [0, 0]]]}, "a value twice"),
    "no values": ("machine", {"inputs": [["q", []]]}, "is empty"),
    "no integers": ("machine", {"inputs": [["q", {"from": 1, "to": 0}]]}, "is empty"),
    "no numbers": ("machine", {"inputs": [["q", {"low": "1/2", "high": "1/3"}]]}, "is empty"),
    "a negative radius": ("machine", {"adjacency": {"norm": "l1", "radius": "-1/9"}}, "below 0"),
    "no way": ("machine", {"adjacency": {"pairs": [], "one way": 1}}, "true or false"),
    "no scale": ("machine", drawn([0, 0]), "not > 0"),
    "a negative scale": ("machine", drawn(["-1/2", 0]), "not > 0"),
    "a high power": ("machine", drawn([1, 9]), "too large"),
    "a low power": ("machine", drawn([1, -9]), "too large"),
    "an input twice": ("rounds", {"inputs": numbers(0, 1) * 2}, "two inputs"),
    "listed values": ("rounds", {"inputs": [["next q", [0, 1]]]}, "no range"),
    "no integer between": (
        *("rounds", {"inputs": numbers("1/3", "2/3"), "whole": True}, "without values"),
    ),
    "pairs": ("rounds", {"adjacency": {"pairs": [], "one way": True}}, "not listed"),
    "no truth value": ("rounds", {"whole": 1}, "true or false"),
    "never": ("pipeline", {"runs": [{**RUNS, "times": 0}]}, "no run"),
    "one way": (
        *("pipeline", {"runs": [{**RUNS, "what": {"machine": ONE_WAY, "eps": 1}}]}),
        "one order only",
    ),
    "a rate of 0": ("pipeline", {"runs": [{**RUNS, "subsample": 0}]}, "rate"),
    "a rate below 0": ("pipeline", {"runs": [{**RUNS, "subsample": "-1/2"}]}, "rate"),
    "a rate above 1": ("pipeline", {"runs": [{**RUNS, "subsample": "3/2"}]}, "rate"),
    "samples and substitution": (
        *("pipeline", {"adjacency": "substitution", "runs": [{**RUNS, "subsample": "1/2"}]}),
        "a sample of no record more",
    ),
}


@pytest.mark.parametrize("name", NONE)
def test_no_such(name) -> None:
    what, change, reason = NONE[name]
    reader, given = READ[what]
    assert reader(given)
    refuses(BadProof, reason, reader, {**given, **change})


def test_what_is_at_the_edge_is_one() -> None:
    assert read_machine({**MACHINE, "inputs": [["q", {"low": "1/2", "high": "1/2"}]]})
    for power in (-8, 8):
        assert read_machine({**MACHINE, **drawn([1, power])})
    assert read_pipeline({"adjacency": "add/remove", "runs": [{**RUNS, "subsample": 1}]})
    assert read_machine(ONE_WAY).adjacency.pairs == {((0,), (1,))}
    pairs = {**ONE_WAY["adjacency"], "one way": False}
    both = read_machine({**MACHINE, "adjacency": pairs}).adjacency
    assert both.pairs == {((0,), (1,)), ((1,), (0,))}
    assert both.symmetric


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
    if depth > 400:
        refuses((BadProof, Refused), None, replay, *private(finite(block)))


@cases(
    "weight",
    ["exp", ["*", 0, ["inverse", 0]]],
    ["exp", ["*", 0, ["inverse", ["+", ["eps"], -1]]]],
    ["*", 0, ["inverse", ["+", 1, -1]]],
    ["inverse", ["inverse", 0]],
)
@pytest.mark.parametrize("bits", [30, None])
def test_a_weight_that_is_divided_by_zero_has_no_value(weight, bits) -> None:
    choice = ["choose", OUT, [[0, weight], [1, 1]], True]
    refuses(NotProved, None, replay, *private(finite([choice]), RUN | {"bits": bits}))


# --- named values, which may be called as the words of programs are -------------------------------

A, B = {"name": "a"}, {"name": "b"}


def test_inputs_are_of_their_domains() -> None:
    named = {**MACHINE, "inputs": [["q", [A, B]]]}
    domains = read_machine(named).domains
    assert read_input([A], domains) == ("a",)
    for bad in (["a"], [{"name": "c"}], [0], [], [A, A], "a"):
        refuses(BadProof, None, read_input, bad, domains)


@cases(
    "relation, left, right, holds",
    *(("=", A, A, True), ("=", A, B, False), ("!=", A, 1, True), ("=", 1, A, False)),
    *(("<", A, B, None), (">=", 1, A, None), ("=", X, A, None), ("!=", A, X, None)),
)
def test_named_values_are_only_equal_or_not(relation, left, right, holds) -> None:
    """And no samples, which are real numbers."""
    compared = ["if", [relation, left, right], [["set", OUT, 1]], []]
    machine = read_machine(finite([["draw", X, "Lap", 0, [1, 0]], DONE, compared]))
    run = Run(machine, Signs.at(ONE), Graph())
    if holds is not None:
        assert list(run.outcomes([()])[()]) == [(int(holds),)]
        return
    refuses(NotProved, None, run.outcomes, [()])


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


def violated(delta: Json, pairs: Json = None, run: Json = RUN, **changed: Json) -> Judgement:
    """That 0 and 1 differ by more than delta at eps_prv = 0; their distance is 1/4."""
    stated = {"eps_prv": 0, "delta": delta}
    claim = {"verdict": "Not_DP", "eps": 1, "pairs": pairs, **stated}
    step = {"rule": "violation", "from": [0], "input": [0], "adjacent": [1], "outputs": [[0]]}
    return replay(response(NEAR), claim, [run, {**step, **stated, **changed}])


@cases(
    "delta, changed, why",
    ("1/4", {}, "not above delta"),
    ("249/1000", {"outputs": [[0], [0]]}, "an output twice"),
    ("249/1000", {"adjacent": [2]}, "not adjacent"),
    ("249/1000", {"pairs": [[[0], [2]]]}, "not listed"),
    ("1/5", {"run": RUN | {"inputs": [[0]]}}, "no distribution"),
)
def test_a_set_that_is_likelier(delta, changed, why) -> None:
    assert violated("249/1000")
    assert violated("249/1000", [[[0], [2]]], adjacent=[2])
    refuses((BadProof, Refuted), why, violated, delta, **changed)


@pytest.mark.parametrize("bits", [40, None])
def test_all_sets_are_as_likely(bits) -> None:
    """The distance is 1/4 for every pair: a hair less is refused, and just so much proved."""
    run = RUN | {"bits": bits}
    most = "250001/1000000" if bits else "1/4"
    assert replay(*private(response(NEAR), run, 0, most))
    with pytest.raises(Refuted, match="not known to bound"):
        replay(*private(response(NEAR), run, 0, "249999/1000000"))


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


def test_growth_has_a_limit() -> None:
    assert growth_bound(Fraction(1000), 2, above=True)
    refuses(Refused, "eps_prv is above", growth_bound, Fraction(10001, 10), 2, above=True)


@cases(
    "likely, unlikely, eps_prv, delta",
    # The first output has at least 4/16, the second one at most 12/16.
    ((4, 12), (0, 0), 0, "1/2"),
    ((16, 16), (0, 12), 0, "1/2"),
    # In sixteenths e is between 43 and 44: 16 - 44/16 * 4 = 5.
    ((16, 16), (4, 4), 1, "51/160"),
)
def test_violations_are_those_of_bounds(likely, unlikely, eps_prv, delta) -> None:
    low, high = ({(k,): row[side] for k, row in enumerate((likely, unlikely))} for side in (0, 1))
    bounds = {input: ((low[input], 0), (high[input], 16)) for input in low}
    found = Distributions(Fraction(1), 4, ((0,), (1,)), bounds)
    step = {"input": [0], "adjacent": [1], "outputs": [[0]], "eps_prv": eps_prv}
    about = Proof(read_machine(EMPTY), None)
    refuses(Refuted, "is not above delta", violation, about, {**step, "delta": delta}, found)
    assert violation(about, {**step, "delta": 0}, found)


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


@cases("change", {"step": Fraction(1, 8)}, {"places": 9}, {"others": (128, 127)})
def test_losses_of_two_kinds_do_not_add_up(change) -> None:
    one = Losses(Fraction(1, 4), Fraction(0), 0, (128, 127), 1, 8)
    assert one.composed(one, (0, 0))
    refuses(BadProof, "on two grids", one.composed, replace(one, **change), (0, 0))


def test_a_pair_of_a_program_is_had_in_both_orders() -> None:
    """What bounds delta one way says nothing of the other."""
    one, other = (0,), (1,)
    there = Private(Fraction(1), Fraction(0), Fraction(1, 4), ((one, other),))
    looser = replace(there, delta=Fraction(1, 3))
    with pytest.raises(BadProof, match="without its reverse"):
        compositions._reversible(read_machine(EMPTY), frozenset({(one, other)}))
    way = {"pairs": [[[0], [1]]], "one way": True}
    with pytest.raises(BadProof, match="without its reverse"):
        compositions._reversible(read_machine({**EMPTY, "adjacency": way}), None)
    both = replace(there, pairs=((one, other), (other, one)))
    loose = replace(looser, pairs=both.pairs)
    for known in ([both, loose], [loose, both]):
        found = compositions._known(both, known).most(Fraction(0))
        assert found.overlaps(ball(Fraction(1, 4)))
        assert found < ball(Fraction(26, 100))
    refuses(BadProof, "for the same pairs", compositions._known, both, [there])


def test_bounds_of_all_sets_use_the_ends_that_are_worst() -> None:
    found = Distributions(
        Fraction(1),
        4,
        ((0,), (1,), (2,)),
        {(0,): ([8, 3, 2], [9, 4, 3]), (1,): ([2, 5, 6], [3, 6, 7])},
    )
    # At eps_prv = 0 upper bounds of one against lower bounds of the other.
    assert largest_of(found, Fraction(0))((0,), (1,)) == 9 - 2
    assert largest_of(found, Fraction(0))((1,), (0,)) == (6 - 3) + (7 - 2)
    # Where no difference is positive the largest is meant: that of a set of one output.
    assert largest_of(found, Fraction(10))((0,), (1,)) == 9 - growth(10) * 2 // 16
    refuses(Refuted, "no distribution", largest_of(found, Fraction(0)), (0,), (2,))


def growth(eps_prv: int) -> int:
    """A lower bound of e ** eps_prv in units of 1/16."""
    return int(growth_bound(Fraction(eps_prv), 4, above=False) * 16)
