"""Lower bounds of budgets that are lost on rays, as eps grows, or again and again: forgeries."""

from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import conclude, replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.rays import ray_step
from kernel.streams import RAY, draw, lost, read, say, stream
from tests.automata.random_automata import random_automaton
from tests.cases import cases, check_answers, text_of
from tests.kernel.edits import require_sound
from tests.kernel.machines import judged
from tests.kernel.test_potentials import SUBJECTS, alone, file_of

OPTIONS = Options(proved=True)


def between(family: str, whole: bool = False, **fields: Any) -> Budgets:
    """Replay: the sample is at most 0 at the input 0, and less so at 1."""
    machine = alone(family, whole)
    machine["inputs"][0][1] = {"low": 0, "high": 1}
    ray = {"eps": "large", "paths": [1], "inputs": [["q", [[0, 1]]]], "noise": [[0, -1]]}
    return lost(machine, {**RAY, **ray, "multipliers": [[[[0, 1]]]], **fields}, "9/10")


def summed(*powers: int, family: str = "Lap", **fields: Any) -> Budgets:
    """Replay: a sum of samples of scales eps^k around an input without bounds is at most 0."""
    machine, x = alone(family, False), ["cell", "x"]
    (_, decided), mean = machine["body"], ["cell", "q"]
    draws = [["draw", x, family, x if k else mean, [1, p]] for k, p in enumerate(powers)]
    noise = [[0, -1]] * len(powers)
    ray = {"paths": [1], "inputs": [["q", [[0, 1]]]], "noise": noise, "multipliers": [[[[0, 1]]]]}
    return lost({**machine, "body": [*draws, decided]}, {**RAY, **ray, **fields}, "9/10")


ALL, ONE_OF_ALL, ONE_STEP = (
    {"norm": "all"},
    {"norm": "l0", "radius": 1},
    {"norm": "l1", "radius": 1},
)


def far(adjacency: Any, budget: Any = None, coin: bool = False, **fields: Any) -> Budgets:
    """Replay: a sample around an input is at most 0, which loses any budget; or a coin is seen."""
    machine, tossed = (
        alone("Lap", False),
        ["choose", ["cell", "c"], [[0, "1/2"], [1, "1/2"]], False],
    )
    if coin:
        seen = ["if", ["=", ["cell", "c"], 0], [["forget", ["c"]]], [say(2), ["exit"]]]
        machine["body"] = [machine["body"][0], tossed, seen, machine["body"][1]]
    ray = {
        "paths": [1],
        "inputs": [["q", [[0, 1]]]],
        "noise": [[0, -1]],
        "multipliers": [[[[0, 1]]]],
    }
    return lost({**machine, "adjacency": adjacency}, {**RAY, **ray, **fields}, budget)


ABOVE = {"paths": [0], "inputs": [["q", [[1, -1]]]]}

BOUNDED = text_of("kernel/rays-bounded")
INTEGERS = text_of("kernel/rays-integers")
TIES = text_of("kernel/rays-ties")
"""Paths that are impossible only as integers that are equal are not different."""

OFF_CENTRE = text_of("kernel/rays-off_centre")
"""What is lost on a ray that begins further and further away."""

CONTRADICTED = text_of("kernel/rays-contradicted")
"""One of the paths is impossible."""


@pytest.mark.parametrize(
    "program", [BOUNDED, INTEGERS, text_of("kernel/rays-number"), TIES, OFF_CENTRE]
)
def test_bounded_inputs_need_as_much_as_is_found(program) -> None:
    proof = dipapprox.prove(dipapprox.parse(program), reals=True, options=OPTIONS)
    assert proof.answer is Answer.DP, proof.unproved
    assert proof.lower > 0
    machine, claim, steps = file_of(proof)
    assert claim["at least"] == number_json(proof.lower)
    judged = replay(machine, claim, steps)
    assert not judged.at_any
    if proof.is_exact and program in (BOUNDED, INTEGERS):
        require_sound(machine, claim, steps, program)


def test_paths_that_are_impossible_lose_nothing() -> None:
    proof = dipapprox.prove(dipapprox.parse(CONTRADICTED), reals=True, options=OPTIONS)
    judged = replay(*file_of(proof))
    assert judged.below == proof.lower == proof.upper


def contradicted(multipliers: Any, published: bool = False) -> Budgets:
    """Replay: out is 0 if x is not above 0, or also below it; or x is published, near 0."""
    machine = alone("Lap", False)
    x, set_out = ["cell", "x"], ["set", ["cell", "out"]]
    draw, (_, above, one, zero) = machine["body"]
    also = one if published else [["if", ["<", x, 0], [[*set_out, 0]], [[*set_out, 1]]]]
    machine["body"] = [draw, ["if", above, also, zero], *([[*set_out, x]] * published)]
    step = {**RAY, "paths": [0 if published else 2], "inputs": [["q", [[0, 1]]]]}
    step |= {"noise": [[0, 1 if published else -1]], "multipliers": multipliers}
    return lost(machine, step, "9/10")


# --- what comes again, and is not told ------------------------------------------------------------

COIN = text_of("kernel/rays-coin")


def test_a_hidden_coin_and_answers_for_ever_leave_no_budget() -> None:
    proof = dipapprox.prove(dipapprox.parse(COIN), options=OPTIONS)
    assert proof.answer is Answer.NOT_DP, proof.unproved
    machine, claim, steps = file_of(proof)
    assert replay(machine, claim, steps) == Budgets(None, None)
    assert len(steps[0]["multipliers"]) > 1


RISES = "if r > 1 then publish a else publish b end"


def machine_with(other: str) -> Any:
    """The machine whose coin has another side."""
    return next(iter(machines_of(dipapprox.parse(COIN.replace(RISES, other)), True, {})))


def again() -> Any:
    """The step of a run that publishes a three times, of which the last may come again."""
    machine, falls = read_rounds(machine_with(RISES)), {"next q": [Fraction(-1)] * 3}
    return ray_step(machine, [0, 0, 0, 0], falls, [(3, 4)])[0]


@cases(
    "other",
    # Nothing is lost, more is read, or a round may say nothing.
    "publish a",
    f"read q; r <- Lap(q, 1 / eps); {RISES}",
    "if r > 1 then publish a end",
    "c <- c - 1; publish a",
)
def test_the_other_side_of_a_coin_counts(other) -> None:
    claim, step = {"verdict": "Not_DP", "budget": None}, again()
    assert replay(machine_with(RISES), claim, [step]) == Budgets(None, None)
    for rows in (step["multipliers"], step["multipliers"][:1], step["multipliers"][:1] * 2):
        with pytest.raises(NotProved):
            replay(machine_with(other), claim, [{**step, "multipliers": rows}])


def test_an_end_on_the_other_side_of_a_coin_is_seen() -> None:
    machine = machine_with("if r > 1 then publish a else exit end")
    assert replay(machine, {"verdict": "Not_DP", "budget": None}, [again()]) == Budgets(None)


# --- at one eps, and as it vanishes --------------------------------------------------------------


def likelier(
    machine: dict[str, Any], inputs: Any = ([0], [1]), seen: Any = (0,), **fields: Any
) -> Budgets:
    """Replay: the sample is at most 0 at the input 0, and less so at 1."""
    machine["inputs"][0][1] = {"low": 0, "high": 1}
    step = {"rule": "trace", "from": [], "eps": 0, "events": [[*inputs, [*seen]]], "budget": 1}
    return lost(machine, {**step, **fields})


def below_half() -> Any:
    """The probabilities of what is at most 1/2 have a quotient that tends to 2, or none."""
    machine = alone("LapPlus", False)
    machine["body"][1][1][2] = "1/2"
    return machine


def shown() -> Any:
    """The sample itself is published: one number has the probability 0."""
    machine = alone("Lap", False)
    machine["body"][1] = ["set", ["cell", "out"], ["cell", "x"]]
    return machine


def seen_as(**published: Any) -> Any:
    machine = alone("Lap", False)
    machine["published"] |= published
    return machine


def exits() -> Any:
    """On one side of the threshold the program exits, but shows the same: nobody sees that."""
    machine = alone("Lap", False)
    branch = ["if", [">", ["cell", "x"], 0], [["exit"]], []]
    machine["body"] = [["set", ["cell", "out"], 0], machine["body"][0], branch]
    return machine


def behind_parts(threshold: Any, number: int = 1) -> Budgets:
    """Replay: noise that says nothing may come again, before an input is compared once."""
    x, q, t = (["cell", name] for name in "xqt")
    compared = ["if", [">=", q, t], [say(1), ["exit"]], [say(2), ["exit"]]]
    turn = [draw("x", 0), ["if", [">", x, 0], [say(0)], [read("q"), compared]]]
    step = {"paths": [0, 0, 0, 1], "inputs": [["next q", [[0, -1]]]], "parts": [[2, 3]]}
    drawn = threshold[0] == "draw"
    step |= {"noise": [*([[-1, 0]] * drawn), [1, 0], [1, 0], [-1, 0]]}
    step |= {"multipliers": [[[], [], [], [[number, 1]]]]}
    return lost(stream([threshold], turn), {**RAY, **step})


def answered(norm: str = "linf", **fields: Any) -> Budgets:
    """Replay: answers about one number each come again, as often as numbers may change."""
    x = ["cell", "x"]
    told = ["if", [">", x, 0], [say(0)], [say(1)]]
    turn = [read("q"), draw("x", ["cell", "q"]), told, ["forget", ["x", "q"]]]
    step = {"paths": [0, 0, 0], "inputs": [["next q", [[0, 0], [0, -1]]]], "parts": [[2, 3]]}
    step |= {"noise": [[1, 0]] * 2, "multipliers": [[[], [], [[0, 1]]]], **fields}
    return lost(stream([], turn, adjacency={"norm": norm, "radius": 1}), {**RAY, **step})


def overwritten() -> Budgets:
    """Replay: answers come again, of which the last one alone is compared: 1 is enough for it."""
    answer = [say(0), read("q"), draw("x", ["cell", "q"])]
    compared = ["if", [">", ["cell", "x"], 0], [say(1), ["exit"]], [say(2), ["exit"]]]
    turn = [draw("r", 0), ["if", [">", ["cell", "r"], 0], answer, [compared]]]
    step = {"paths": [0, 0, 0, 1], "inputs": [["next q", [[0, -1], [0, -1]]]], "parts": [[2, 3]]}
    step |= {"noise": [*[[1, 0]] * 5, [-1, 0]], "multipliers": [[[], [], [], [[1, 1]]]]}
    return lost(stream([draw("x", 0)], turn), {**RAY, **step})


def test_what_is_lost_and_forgeries_of_it() -> None:
    """Noise of other scales keeps no budget: at eps = 1/100 a step loses 1 where the scale is 1."""
    check_answers("kernel_rays", judged(globals() | {"conclude": conclude}))


def test_what_is_lost_as_eps_vanishes_is_replayed() -> None:
    proof = dipapprox.prove(
        dipapprox.parse(text_of("kernel/rays-vanishing")), reals=True, options=OPTIONS
    )
    machine, claim, steps = file_of(proof)
    assert claim["at least"] == number_json(proof.lower) == "4/9"
    judged = replay(machine, claim, steps)
    assert isinstance(judged, Budgets) and not judged.at_any
    more = {**steps[1], "budget": "9/20"}
    with pytest.raises(Refuted, match="so much likelier"):
        replay(machine, {"verdict": "Not_DP", "budget": "4/9"}, [more])


@pytest.mark.parametrize("seed", [1003, 1010])
def test_cycles_of_automata_are_gone_round(seed) -> None:
    automaton = random_automaton(seed, variables=1 + (seed - 1000) % 3, distinct=seed % 2 == 0)
    proof = dipapprox.prove(automaton, options=OPTIONS)
    assert proof.answer is Answer.NOT_DP, proof.unproved
    assert replay(*file_of(proof)) == Budgets(None, None)


def test_parts_lead_to_the_same_numbers() -> None:
    machine, claim, (step,) = file_of(
        dipapprox.prove(SUBJECTS["last_value_stream"], options=OPTIONS)
    )
    said = set[str]()
    for place, (value, side) in enumerate(step["noise"]):
        for moved in (
            [number_json(Fraction(value) + Fraction(1, 8)), side],
            [value, Fraction(side) + 1],
        ):
            moved[1] = number_json(Fraction(moved[1]))
            noise = [moved if k == place else each for k, each in enumerate(step["noise"])]
            try:
                replay(machine, claim, [{**step, "noise": noise}])
            except NotProved as why:
                said.add(str(why))
    assert any("does not lead to where it began" in why for why in said), said
