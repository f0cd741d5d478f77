"""What is read, and proofs of numbers, with one thing wrong: each is refused for that."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel import compositions
from dipapprox.kernel.adjacency import Adjacency, Range, adjacent_pairs
from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.judgements import Distributions, Judgement, Private
from dipapprox.kernel.losses import Losses
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.proofs import Proof, growth_bound, largest_of
from dipapprox.kernel.replay import read_claim, replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.rules import violation
from kernel.pipelines import ball, losses, number, steps_of
from kernel.streams import say, stream

Json = Any

# --- what a machine is ---------------------------------------------------------------------------

COIN = [["choose", ["cell", "o"], [[0, "1/2"], [1, "1/2"]], False]]
MACHINE: Json = {
    "inputs": [["q", [0, 1]]],
    "outputs": [["o", [0, 1]]],
    "reals": [],
    "adjacency": {"norm": "linf", "radius": 1},
    "body": COIN,
}


def drawn(size: Json) -> Json:
    return [["draw", ["cell", "x"], "Lap", 0, size]]


NO_MACHINES: dict[str, tuple[Json, str]] = {
    "a name twice": ({"reals": ["q"]}, "two cells"),
    "an output that is a range": ({"outputs": [["o", {"low": 0, "high": 1}]]}, "has a range"),
    "a value twice": ({"inputs": [["q", [0, 0]]]}, "a value twice"),
    "no values": ({"inputs": [["q", []]]}, "is empty"),
    "no integers": ({"inputs": [["q", {"from": 1, "to": 0}]]}, "is empty"),
    "no numbers": ({"inputs": [["q", {"low": "1/2", "high": "1/3"}]]}, "is empty"),
    "a negative radius": ({"adjacency": {"norm": "l1", "radius": "-1/9"}}, "below 0"),
    "no way": ({"adjacency": {"pairs": [], "one way": 1}}, "true or false"),
    "no scale": ({"body": drawn([0, 0])}, "not > 0"),
    "a negative scale": ({"body": drawn(["-1/2", 0])}, "not > 0"),
    "a high power": ({"body": drawn([1, 9])}, "too large"),
    "a low power": ({"body": drawn([1, -9])}, "too large"),
}


@pytest.mark.parametrize("name", NO_MACHINES)
def test_no_such_machine(name: str) -> None:
    change, reason = NO_MACHINES[name]
    assert read_machine(MACHINE)
    with pytest.raises(BadProof, match=reason):
        read_machine({**MACHINE, **change})


def test_what_is_at_the_edge_is_a_machine() -> None:
    point = {"low": "1/2", "high": "1/2"}
    assert read_machine({**MACHINE, "inputs": [["q", point]]})
    for power in (-8, 8):
        assert read_machine({**MACHINE, "body": drawn([1, power])})
    pairs: Json = {"pairs": [[[0], [1]]], "one way": True}
    (pair,) = read_machine({**MACHINE, "adjacency": pairs}).adjacency.pairs
    assert pair == ((0,), (1,))
    both = read_machine({**MACHINE, "adjacency": {**pairs, "one way": False}}).adjacency
    assert both.pairs == {((0,), (1,)), ((1,), (0,))}
    assert both.symmetric


def numbers(low: Json, high: Json) -> Json:
    return [["next q", {"low": low, "high": high}]]


NO_ROUNDS: dict[str, tuple[Json, str]] = {
    "an input twice": ({"inputs": numbers(0, 1) * 2}, "two inputs"),
    "listed values": ({"inputs": [["next q", [0, 1]]]}, "no range"),
    "no integer between": ({"inputs": numbers("1/3", "2/3"), "whole": True}, "without values"),
    "pairs": ({"adjacency": {"pairs": [], "one way": True}}, "not listed"),
    "no truth value": ({"whole": 1}, "true or false"),
}


@pytest.mark.parametrize("name", NO_ROUNDS)
def test_no_such_rounds(name: str) -> None:
    change, reason = NO_ROUNDS[name]
    assert read_rounds(stream([say(0)], None))
    with pytest.raises(BadProof, match=reason):
        read_rounds(stream([say(0)], None, **change))


# --- numbers of one eps --------------------------------------------------------------------------


def response(adjacency: Json) -> Json:
    """Randomised response of three values: the true one with probability 1/2."""
    body = [
        [
            "if",
            ["=", ["cell", "q"], q],
            [
                [
                    "choose",
                    ["cell", "o"],
                    [[o, "1/2" if o == q else "1/4"] for o in range(3)],
                    False,
                ]
            ],
            [],
        ]
        for q in range(3)
    ]
    values = [0, 1, 2]
    return {
        **MACHINE,
        "inputs": [["q", values]],
        "outputs": [["o", values]],
        "adjacency": adjacency,
        "body": body,
    }


NEAR = {"norm": "linf", "radius": 1}


def violated(delta: Json, pairs: Json = None, **changed: Json) -> Judgement:
    """That 0 and 1 differ by more than delta at eps_prv = 0; their distance is 1/4."""
    stated = {"eps_prv": 0, "delta": delta}
    claim = {"verdict": "Not_DP", "eps": 1, "pairs": pairs, **stated}
    run = {"rule": "distributions", "from": [], "eps": 1, "bits": 40, "cuts": [], "inputs": None}
    step = {"rule": "violation", "from": [0], "input": [0], "adjacent": [1], "outputs": [[0]]}
    return replay(response(NEAR), claim, [run, {**step, **stated, **changed}])


def test_a_set_that_is_likelier() -> None:
    assert violated("249/1000")
    assert violated("249/1000", [[[0], [2]]], adjacent=[2])
    with pytest.raises(Refuted, match="not above delta"):
        violated("1/4")
    with pytest.raises(BadProof, match="an output twice"):
        violated("249/1000", outputs=[[0], [0]])
    with pytest.raises(Refuted, match="not adjacent"):
        violated("249/1000", adjacent=[2])
    with pytest.raises(Refuted, match="not listed"):
        violated("249/1000", [[[0], [2]]])


def test_inputs_of_the_set_have_been_run() -> None:
    stated = {"eps_prv": 0, "delta": "1/5"}
    claim = {"verdict": "Not_DP", "eps": 1, "pairs": None, **stated}
    run = {"rule": "distributions", "from": [], "eps": 1, "bits": 40, "cuts": [], "inputs": [[0]]}
    step = {"rule": "violation", "from": [0], "input": [0], "adjacent": [1], "outputs": [[0]]}
    with pytest.raises(Refuted, match="no distribution"):
        replay(response(NEAR), claim, [run, {**step, **stated}])


@pytest.mark.parametrize("exactly", [False, True])
def test_all_sets_are_as_likely(exactly: bool) -> None:
    """The distance is 1/4 for every pair: a hair less is refused, and just so much proved."""

    def private(delta: Json) -> Judgement:
        stated = {"eps_prv": 0, "delta": delta}
        run = {"rule": "distributions", "from": [], "eps": 1, "bits": 40, "cuts": []}
        step = {"rule": "every pair", "from": [0], **stated}
        if exactly:
            run["bits"] = None
        claim = {"verdict": "DP", "eps": 1, "pairs": None, **stated}
        return replay(response(NEAR), claim, [{**run, "inputs": None}, step])

    assert private("1/4" if exactly else "250001/1000000")
    with pytest.raises(Refuted, match="not known to bound"):
        private("249999/1000000")


@pytest.mark.parametrize("eps_prv", [Fraction(1, 3), Fraction(70)])
@pytest.mark.parametrize("places", [2, 40])
def test_growth_is_rounded_to_its_side(eps_prv: Fraction, places: int) -> None:
    low, high = (growth_bound(eps_prv, places, above=side) for side in (False, True))
    assert high - low == Fraction(1, 1 << places)
    # e ** eps_prv between, by its series with a bound of what is left out.
    found, term = Fraction(0), Fraction(1)
    for k in range(1, 3 * int(eps_prv) + 60):
        found, term = found + term, term * eps_prv / k
    assert low < found < found + 2 * term < high


def test_growth_has_a_limit() -> None:
    assert growth_bound(Fraction(1000), 2, above=True)
    with pytest.raises(Refused, match="eps_prv is above"):
        growth_bound(Fraction(10001, 10), 2, above=True)


@pytest.mark.parametrize("pairs", [[], [[[0], [1]]] * 2])
def test_pairs_are_listed_once(pairs: Json) -> None:
    claim = {"verdict": "DP", "eps": 1, "eps_prv": 0, "delta": 0}
    assert read_claim({**claim, "pairs": [[[0], [1]], [[1], [0]]]}, read_machine(MACHINE))
    with pytest.raises(BadProof, match="no pair is listed, or one twice"):
        read_claim({**claim, "pairs": pairs}, read_machine(MACHINE))


@pytest.mark.parametrize(
    ("likely", "unlikely", "eps_prv", "delta"),
    [
        # The first output has at least 4/16, the second one at most 12/16.
        ((4, 12), (0, 0), 0, "1/2"),
        ((16, 16), (0, 12), 0, "1/2"),
        # In sixteenths e is between 43 and 44: 16 - 44/16 * 4 = 5.
        ((16, 16), (4, 4), 1, "51/160"),
    ],
)
def test_violations_are_those_of_bounds(
    likely: Json, unlikely: Json, eps_prv: Json, delta: Json
) -> None:
    low, high = ({(k,): row[side] for k, row in enumerate((likely, unlikely))} for side in (0, 1))
    bounds = {input: ((low[input], 0), (high[input], 16)) for input in low}
    found = Distributions(Fraction(1), 4, ((0,), (1,)), bounds)
    step = {"input": [0], "adjacent": [1], "outputs": [[0]], "eps_prv": eps_prv}
    about = Proof(read_machine(MACHINE), None)
    with pytest.raises(Refuted, match="is not above delta"):
        violation(about, {**step, "delta": delta}, found)
    assert violation(about, {**step, "delta": 0}, found)


# --- compositions --------------------------------------------------------------------------------

RESPONSE = {"mechanism": "randomised_response", "probability": "3/4", "values": 3}
RUN: Json = {"what": RESPONSE, "subsample": None, "times": 2}
GIVEN: Json = {"adjacency": "add/remove", "runs": [RUN]}
ONE_WAY = response({"pairs": [[[0], [1]]], "one way": True})

NO_PIPELINES: dict[str, tuple[Json, str]] = {
    "never": ([{**RUN, "times": 0}], "no run"),
    "one way": ([{**RUN, "what": {"machine": ONE_WAY, "eps": 1}}], "one order only"),
}


@pytest.mark.parametrize("name", NO_PIPELINES)
def test_no_such_pipeline(name: str) -> None:
    runs, reason = NO_PIPELINES[name]
    assert read_pipeline({**GIVEN, "runs": [{**RUN, "times": 1, "subsample": 1}]})
    with pytest.raises(BadProof, match=reason):
        read_pipeline({**GIVEN, "runs": runs})


def test_deltas_are_those_of_the_losses() -> None:
    whole: Json = {"parts": None, "eps": None}
    for kept, reason in ((True, "is larger"), (False, "not larger")):
        steps = steps_of(GIVEN, kept, Fraction(1, 4), 16)[0]
        found = losses(GIVEN, steps).losses.delta(Fraction(1, 2))

        def concluded(
            delta: Fraction, side: bool = kept, own: Json = steps, **changed: Json
        ) -> Any:
            stated = {"eps_prv": "1/2", "delta": number(delta)}
            pair = {} if side else {"input": None, "adjacent": None}
            rule = "private composition" if side else "violated composition"
            last = {"rule": rule, "from": [len(own) - 1], **whole, **pair, **stated, **changed}
            return replay(GIVEN, {"verdict": "DP" if side else "Not_DP", **stated}, [*own, last])

        hair = Fraction(1 if kept else -1, 10**9)
        assert concluded(found if kept else found + hair)
        with pytest.raises(Refuted, match=reason):
            concluded(found - hair if kept else found)
        with pytest.raises(BadProof, match="no losses from"):
            concluded(Fraction(99, 100) if not kept else Fraction(0), side=not kept)
        with pytest.raises(BadProof, match="no parts and no eps"):
            concluded(found + hair, eps=1)
        with pytest.raises(BadProof, match="no parts and no eps"):
            concluded(found + hair, parts=[])


@pytest.mark.parametrize(
    "change", [{"step": Fraction(1, 8)}, {"places": 9}, {"others": (128, 127)}]
)
def test_losses_of_two_kinds_do_not_add_up(change: dict[str, Any]) -> None:
    one = Losses(Fraction(1, 4), Fraction(0), 0, (128, 127), 1, 8)
    assert one.composed(one, (0, 0))
    with pytest.raises(BadProof, match="on two grids"):
        one.composed(replace(one, **change), (0, 0))


@pytest.mark.parametrize(
    "change", [{"step": 0}, {"step": "-1/4"}, {"places": 0}, {"places": 2001}, {"offset": "1/2"}]
)
def test_no_such_grid(change: dict[str, Any]) -> None:
    if "offset" in change:
        change = {"offset": f"1/{1 << 257}"}
    steps = steps_of(GIVEN, True, Fraction(1, 4), 16)[0]
    first = {**steps[0], **change}
    with pytest.raises(NotProved, match="no such grid"):
        replay(GIVEN, {"verdict": "DP", "eps_prv": 1, "delta": "1/2"}, [first])


def test_a_pair_of_a_program_is_had_in_both_orders() -> None:
    """What bounds delta one way says nothing of the other."""
    one, other = (0,), (1,)
    there = Private(Fraction(1), Fraction(0), Fraction(1, 4), ((one, other),))
    looser = replace(there, delta=Fraction(1, 3))
    with pytest.raises(BadProof, match="without its reverse"):
        compositions._reversible(read_machine(MACHINE), frozenset({(one, other)}))
    way = {"pairs": [[[0], [1]]], "one way": True}
    with pytest.raises(BadProof, match="without its reverse"):
        compositions._reversible(read_machine({**MACHINE, "adjacency": way}), None)
    both = replace(there, pairs=((one, other), (other, one)))
    loose = replace(looser, pairs=both.pairs)
    for known in ([both, loose], [loose, both]):
        found = compositions._known(both, known).most(Fraction(0))
        assert found.overlaps(ball(Fraction(1, 4)))
        assert found < ball(Fraction(26, 100))
    with pytest.raises(BadProof, match="for the same pairs"):
        compositions._known(both, [there])


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
    with pytest.raises(Refuted, match="no distribution"):
        largest_of(found, Fraction(0))((0,), (2,))


def growth(eps_prv: int) -> int:
    """A lower bound of e ** eps_prv in units of 1/16."""
    return int(growth_bound(Fraction(eps_prv), 4, above=False) * 16)


def test_named_values_have_no_distance() -> None:
    near = Adjacency("l1", 1)
    for pair in (("a", 0), (0, "a"), ("a", "b")):
        with pytest.raises(BadProof, match="no distance"):
            near.price(*pair)
    assert "a" not in Range(None, None)
    listed = Adjacency("pairs", pairs=frozenset([((0,), (1,)), ((1,), (1,))]))
    assert listed.holds((0,), (1,))
    assert not listed.holds((1,), (0,))
    assert not listed.holds((1,), (1,))
    assert [*adjacent_pairs(listed, ((0, 1),))] == [((0,), (1,))]
