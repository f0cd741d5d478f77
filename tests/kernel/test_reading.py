"""What is no number, machine, claim or step is refused, soon, and never a crash."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.errors import BadProof, NotProved, Refused
from dipapprox.kernel.forward import Run
from dipapprox.kernel.machine import read_input, read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.reading import as_number
from dipapprox.kernel.replay import read_claim, replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.signs import Signs
from kernel.machines import ONE, RUN, Json, cell, finite, private
from kernel.streams import say, stream

X, OUT = cell("x"), cell("o")
DONE = ["set", OUT, 0]
COIN = ["choose", OUT, [[0, "1/2"], [1, "1/2"]], False]
MACHINE = finite([COIN], inputs=[["q", [0, 1]]])


@pytest.mark.parametrize(
    "bad",
    [
        *(f"1/{'7' * 5000}", f"{'7' * 3999}/{'2' * 3999}", 10**4000, "1/1", "2/4", "-0/3", "1/-3"),
        *("1e3", " 1/2", "1/2\n", "١/٢", True, 0.5, None, [1]),
    ],
)
def test_what_is_no_number_is_a_bad_proof(bad: object) -> None:
    with pytest.raises(BadProof):
        as_number(bad, "it")


class Whole(int):
    """No integer of JSON."""


@pytest.mark.parametrize(
    "step",
    [
        *({"rule": []}, {"rule": {}}, {"rule": None}, {}, [], None),
        {name: field for name, field in RUN.items() if name != "bits"},
        *(RUN | {"more": 1}, RUN | {"eps": True}, RUN | {"eps": 0}, RUN | {"bits": True}),
        *(RUN | {"bits": Whole(30)}, RUN | {"inputs": [[0], [0]]}, RUN | {"from": [False]}),
        *(RUN | {"from": [0]}, {"rule": "every pair", "from": [], "eps_prv": 1, "delta": "1/2"}),
    ],
)
def test_steps_that_are_none_are_bad_proofs(step: object) -> None:
    machine, claim, _ = private(MACHINE)
    with pytest.raises(BadProof):
        replay(machine, claim, [step])


@pytest.mark.parametrize(
    "stated",
    [
        *({"delta": 2}, {"delta": -1}, {"delta": "2/4"}, {"delta": 0.1}, {"delta": True}),
        *({"eps_prv": -1}, {"pairs": []}, {"pairs": [[[0], [0]], [[0], [0]]]}),
        {"pairs": [[[0], [1]]] * 2},
    ],
)
def test_claims_that_are_none_are_bad_proofs(stated: Json) -> None:
    machine, claim, (run, step) = private(MACHINE)
    assert replay(machine, {**claim, "pairs": [[[0], [1]], [[1], [0]]]}, [run, step])
    with pytest.raises(BadProof):
        replay(machine, {**claim, **stated}, [run, {**step, **stated}])
    with pytest.raises(BadProof):
        read_claim({**claim, **stated}, read_machine(machine))


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
def test_no_such(name: str) -> None:
    what, change, reason = NONE[name]
    reader, given = READ[what]
    assert reader(given)
    with pytest.raises(BadProof, match=reason):
        reader({**given, **change})


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
def test_what_is_nested_deeply_is_refused(depth: int) -> None:
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
        with pytest.raises((BadProof, Refused)):
            replay(*private(finite(block)))


@pytest.mark.parametrize(
    "weight",
    [
        ["exp", ["*", 0, ["inverse", 0]]],
        ["exp", ["*", 0, ["inverse", ["+", ["eps"], -1]]]],
        ["*", 0, ["inverse", ["+", 1, -1]]],
        ["inverse", ["inverse", 0]],
    ],
)
@pytest.mark.parametrize("bits", [30, None])
def test_a_weight_that_is_divided_by_zero_has_no_value(weight: Json, bits: int | None) -> None:
    choice = ["choose", OUT, [[0, weight], [1, 1]], True]
    with pytest.raises(NotProved):
        replay(*private(finite([choice]), RUN | {"bits": bits}))


# --- named values, which may be called as the words of programs are -------------------------------

A, B = {"name": "a"}, {"name": "b"}


def test_inputs_are_of_their_domains() -> None:
    named = {**MACHINE, "inputs": [["q", [A, B]]]}
    domains = read_machine(named).domains
    assert read_input([A], domains) == ("a",)
    for bad in (["a"], [{"name": "c"}], [0], [], [A, A], "a"):
        with pytest.raises(BadProof):
            read_input(bad, domains)


@pytest.mark.parametrize(
    ("relation", "left", "right", "holds"),
    [
        *(("=", A, A, True), ("=", A, B, False), ("!=", A, 1, True), ("=", 1, A, False)),
        *(("<", A, B, None), (">=", 1, A, None), ("=", X, A, None), ("!=", A, X, None)),
    ],
)
def test_named_values_are_only_equal_or_not(
    relation: str, left: object, right: object, holds: bool | None
) -> None:
    """And no samples, which are real numbers."""
    compared = ["if", [relation, left, right], [["set", OUT, 1]], []]
    machine = read_machine(finite([["draw", X, "Lap", 0, [1, 0]], DONE, compared]))
    run = Run(machine, Signs.at(ONE), Graph())
    if holds is not None:
        assert list(run.outcomes([()])[()]) == [(int(holds),)]
        return
    with pytest.raises(NotProved):
        run.outcomes([()])
