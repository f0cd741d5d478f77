"""Lower bounds of budgets that are lost on rays, as eps grows, or again and again: forgeries."""

from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox import Answer, Options
from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import conclude, replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.rays import ray_step
from kernel.streams import RAY, lost
from tests.automata.random_automata import random_automaton
from tests.cases import cases, refuses
from tests.kernel.edits import require_sound
from tests.kernel.test_potentials import SUBJECTS, alone, file_of
from tests.texts import text_of

OPTIONS = Options(proved=True)


def between(family: str, whole: bool = False, **fields: Any) -> Budgets:
    """Replay: the sample is at most 0 at the input 0, and less so at 1."""
    machine = alone(family, whole)
    machine["inputs"][0][1] = {"low": 0, "high": 1}
    ray = {"eps": "large", "paths": [1], "inputs": [["q", [[0, 1]]]], "noise": [[0, -1]]}
    return lost(machine, {**RAY, **ray, "multipliers": [[[[0, 1]]]], **fields}, "9/10")


def test_much_is_lost_between_two_inputs_as_eps_grows() -> None:
    assert between("Lap") == Budgets(None, Fraction(1), at_any=False)


@cases(
    "fields, why",
    ({"multipliers": [[[[0, 2]]]]}, "worth less"),
    ({"multipliers": [[[]]]}, "nothing is lost"),
    ({"noise": [[0, 0]]}, "guard"),
    ({"noise": [[0, 1]]}, "guard"),
    ({"noise": [[-1, 0]]}, "nothing is lost"),
    ({"noise": [["-1/2", 0]]}, "does not conclude"),
    ({"eps": "every"}, "leaves the bounds"),
    ({"inputs": [["q", [[0, 2]]]]}, "leaves the bounds"),
    ({"inputs": [["q", [[1, -1]]]]}, "guard"),
    ({"inputs": [["q", [[1, -1]]]], "noise": [[-1, -1]]}, "nothing is lost"),
    ({"paths": [0], "noise": [[1, 0]]}, "nothing is lost"),
)
def test_forged_losses_between_two_inputs_are_refuted(fields, why) -> None:
    refuses(Refuted, why, between, "Lap", **fields)


def test_gaussian_noise_is_at_its_mean_as_eps_grows() -> None:
    assert between("Gauss") == Budgets(None, None, at_any=False)
    refuses(Refuted, "not known to be possible", between, "Gauss", noise=[[-1, 0]])


def summed(*powers: int, family: str = "Lap", **fields: Any) -> Budgets:
    """Replay: a sum of samples of scales eps^k around an input without bounds is at most 0."""
    machine, x = alone(family, False), ["cell", "x"]
    (_, decided), mean = machine["body"], ["cell", "q"]
    draws = [["draw", x, family, x if k else mean, [1, p]] for k, p in enumerate(powers)]
    noise = [[0, -1]] * len(powers)
    ray = {"paths": [1], "inputs": [["q", [[0, 1]]]], "noise": noise, "multipliers": [[[[0, 1]]]]}
    return lost({**machine, "body": [*draws, decided]}, {**RAY, **ray, **fields}, "9/10")


def test_noise_of_other_scales_keeps_no_budget_as_eps_vanishes_or_grows() -> None:
    """At eps = 1/100 a step loses 1 where the scale is 1: no budget up to 99 serves there."""
    for powers in ((0,), (1,), (-2,), (0, 3), (-2, -3)):
        assert summed(*powers) == Budgets(None, None, at_any=False)
        assert summed(*powers, multipliers=[[[[0, 5]]]]) == Budgets(None, None, at_any=False)
        refuses(Refused, "no multiple of 1 / eps", summed, *powers, eps="large")
        assert summed(*powers, -1) == Budgets(None, Fraction(1), at_any=False)
        refuses(Refuted, "worth less", summed, *powers, -1, multipliers=[[[[0, 2]]]])
    assert summed(0, family="Gauss") == Budgets(None, None, at_any=False)
    for powers in ((0, -2), (-1, 0, -2)):
        refuses(Refused, "no multiple of 1 / eps", summed, *powers)


def test_noise_on_one_side_makes_outputs_impossible() -> None:
    above = {"paths": [0], "inputs": [["q", [[1, -1]]]]}
    minus = between("LapMinus", **above, noise=[["-1/2", 0]])
    assert minus == Budgets(None, None, at_any=False)
    for family in ("Lap", "LapPlus"):
        refuses(Refuted, "nothing is lost", between, family, **above, noise=[["1/2", 0]])


def test_integers_that_are_above_0_are_at_least_1() -> None:
    above = {"paths": [0], "inputs": [["q", [[1, -1]]]], "noise": [[0, 0]]}
    assert between("DLap", whole=True, **above) == Budgets(None, Fraction(1), at_any=False)
    refuses(Refuted, None, between, "Lap", **above)
    refuses(Refuted, None, between, "Lap", whole=True, **above)
    refuses(Refuted, "not known to be possible", between, "DLap", whole=True, noise=[[0, -1]])
    with pytest.raises(Refuted, match="not known to be possible"):
        between("DLap", whole=True, noise=[["1/2", 0]], paths=[0])


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


def test_guards_that_contradict_each_other_are_of_no_run() -> None:
    both, alone_below = [[[0, 1], [1, 1]]], [[[0, 1]]]
    assert contradicted([both, alone_below]) == Budgets(None, Fraction(1))
    for forged in ([[[[0, 1]]], alone_below], [[[]], alone_below], [both, [[]]]):
        refuses(Refuted, "nothing is lost", contradicted, forged)


def test_a_number_near_the_border_of_a_guard_contradicts_nothing() -> None:
    """It is > 0, and published near 0."""
    with pytest.raises(Refuted, match="nothing is lost"):
        contradicted([[[[0, 1], [2, 1]]], [[[0, 1]]]], published=True)


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


def with_bound(machine: dict[str, Any], bound: Any) -> dict[str, Any]:
    machine["body"][1][1][2] = bound
    return machine


def test_what_is_lost_at_one_eps_and_as_it_vanishes() -> None:
    one = Budgets(None, Fraction(1), at_any=False)
    assert likelier(alone("Lap", False)) == one
    assert likelier(alone("DLap", True)) == one
    assert likelier(alone("Lap", False), eps=3, budget="99/100").below == Fraction(99, 100)
    # The probabilities of what is at most 1/2 have a quotient that tends to 2.
    jump = with_bound(alone("LapPlus", False), "1/2")
    assert likelier(jump, inputs=([0], ["1/4"]), budget=None) == Budgets(None, None, False)
    # At 1 it becomes exponentially unlikely, at 0 it does not.
    assert likelier(alone("Lap", False), eps=None) == one
    # One-sided noise does not get there.
    never = with_bound(alone("LapPlus", False), "1/2")
    assert likelier(never, eps=1, budget=None) == Budgets(None, None, False, Fraction(1))


@cases(
    "fields, why",
    ({"budget": "101/100"}, "so much likelier"),
    ({"budget": None}, "so much likelier"),
    ({"eps": 1, "budget": "101/100"}, "so much likelier"),
    ({"eps": 1, "budget": None}, "so much likelier"),
    ({"eps": None, "budget": "101/100"}, "so much likelier"),
    ({"eps": None, "budget": None}, "so much likelier"),
    ({"eps": -1}, "eps is below 0"),
    ({"inputs": ([1], [0])}, "so much likelier"),
    ({"inputs": ([0], [2])}, "no program has"),
    ({"inputs": ([2], [1])}, "no program has"),
    ({"inputs": ([0], [0])}, "not adjacent"),
    ({"inputs": ([0], [])}, "inputs"),
    ({"inputs": ([0], ["1/2"])}, "so much likelier"),
    ({"seen": [1]}, "so much likelier"),
    ({"seen": [2]}, "so much likelier"),
    ({"seen": [None]}, "so much likelier"),
    ({"seen": [{"most": "-1/2"}]}, "so much likelier"),
    ({"seen": []}, "what is seen"),
)
def test_forged_chances_are_refuted(fields, why) -> None:
    refuses(NotProved, why, likelier, alone("Lap", False), **fields)


def test_inputs_of_a_trace_are_integers_and_adjacent_where_those_of_the_program_are() -> None:
    refuses(Refuted, "no program has", likelier, alone("DLap", True), inputs=([0], ["1/2"]))
    for norm, radius in (("linf", "1/2"), ("increasing", "1/2"), ("decreasing", 1)):
        machine = alone("Lap", False)
        machine["adjacency"] = {"norm": norm, "radius": radius}
        refuses(Refuted, "not adjacent", likelier, machine)


def test_a_trace_is_of_a_service_or_a_program_at_all_eps() -> None:
    step = {"eps": 0, "events": [[[0], [1], [0]]], "budget": 1}
    refuses(BadProof, "is about services", conclude, "trace", alone("Lap", False), step, [])


def test_chances_of_numbers_are_those_on_one_side() -> None:
    machine = alone("Lap", False)
    machine["body"] = [machine["body"][0], ["set", ["cell", "out"], ["cell", "x"]]]
    less = {"seen": [{"most": 0}], "eps": 1, "budget": 1}
    assert likelier(machine, **less) == Budgets(None, Fraction(1), False, eps=Fraction(1))
    for fields in ({"budget": "101/100"}, {"seen": [{"least": 0}]}, {"seen": [{"most": "1/2"}]}):
        refuses(Refuted, None, likelier, machine, **{**less, **fields})
    # One number has the probability 0.
    refuses(Refuted, None, likelier, machine, **{**less, "seen": [0]})


def test_chances_are_those_of_programs_that_publish_in_the_end() -> None:
    turning = {**alone("Lap", False), "round": []}
    early = alone("Lap", False)
    early["published"] = {**early["published"], "whenever": ["out"]}
    unseen = alone("Lap", False)
    unseen["published"] = {**unseen["published"], "ends": False}
    for machine in (turning, early, unseen):
        refuses(Refused, "more is seen", likelier, machine)


def test_nobody_sees_that_a_program_without_rounds_exits() -> None:
    """On one side of the threshold the program exits, but shows the same."""
    machine = alone("Lap", False)
    machine["body"] = [
        ["set", ["cell", "out"], 0],
        machine["body"][0],
        ["if", [">", ["cell", "x"], 0], [["exit"]], []],
    ]
    refuses(Refuted, "so much likelier", likelier, machine)
    machine["inputs"][0][1] = {"low": None, "high": None}
    for rows in ([[[[0, 1]]]], [[[]], [[]]], [[[[0, 1]]], [[[0, 1]]]]):
        for run in (0, 1):
            forged = {**RAY, "paths": [run], "inputs": [["q", [[0, 1]]]], "multipliers": rows}
            refuses(NotProved, None, lost, machine, {**forged, "noise": [[2 * run - 1, 0]]})


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
