"""Budgets of `prove` and of services, replayed: all programs, random ones, and forgeries."""

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Limits, Options
from dipapprox.automata.runs import RunCost
from dipapprox.errors import NoCertificate
from dipapprox.kernel import paths
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.forms import Form
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.kernel.rounds import read_rounds
from dipapprox.proof_steps import budgets
from dipapprox.proof_steps.automata import machines_of
from dipapprox.proof_steps.budgets import BudgetBounds, replayed
from dipapprox.proof_steps.machines import number_json
from dipapprox.questions.prove import Proof
from dipapprox.replays.words import words_of
from tests.automata.random_automata import random_automaton
from tests.cases import check_answers, examples, part, refuses, text_of
from tests.grammars import texts
from tests.kernel.edits import places_in, require_sound, variants, with_at
from tests.kernel.machines import judged as judging
from tests.kernel.served import EXAMPLES, MIXED, proof_for, written
from tests.kernel.streams import draw, stream
from tests.proofs.test_rounds import random_stream

PROGRAMS = Path(__file__).parent.parent.parent / "programs"
OPTIONS = Options(proved=True)

OUTSIDE = {"laplace_parallel": "more than 20000 paths"}
"""Programs with budgets that have no proofs yet, or take seconds."""


def subjects() -> Iterator[tuple[str, Any]]:
    """Everything that `prove` may be asked about, but services."""
    for path in sorted(PROGRAMS.glob("automata/*.dipa")):
        yield path.stem, path
    for path in sorted(PROGRAMS.glob("streams/*.dpg")):
        yield path.stem, dipapprox.parse(path.read_text())
    for name in ("svt_laplace", "svt_geometric", "svt_laplace_ge", "svt_monotone"):
        text = text_of(name)
        yield f"{name} for all N", dipapprox.parse(text, for_all="N")
    patterns = "*laplace*.dpg", "literature/*.dpg", "weighted_sum.dpg"
    for path in sorted(path for pattern in patterns for path in PROGRAMS.glob(pattern)):
        if path.stem not in OUTSIDE:
            yield path.stem, dipapprox.parse(path.read_text())


SUBJECTS = dict(subjects())


def found(subject: Any, options: Options = OPTIONS, **asked: Any) -> Proof:
    reals = isinstance(subject, dipapprox.Program) and subject.rounds is None
    return dipapprox.prove(subject, reals=reals, options=options, **asked)


@cache
def proof_of(name: str) -> Proof:
    return found(SUBJECTS[name])


def file_of(proof: Proof) -> tuple[Any, Any, Any]:
    return proof.written.machine, proof.written.claim, list(proof.written.steps)


def potential_of(proof: Proof) -> tuple[Any, Any, Any]:
    """The same with the upper bound only."""
    machine, claim, steps = file_of(proof)
    return machine, {**claim, "at least": None}, steps[:1]


@pytest.mark.parametrize("name", part(list(SUBJECTS), 3))
def test_budgets_are_replayed(name) -> None:
    proof = proof_of(name)
    assert proof.unproved is None or proof.found is not Answer.DP, proof.unproved
    if proof.answer is not Answer.DP or proof.upper is None:
        return
    assert proof.replayed is not None
    judged = replay(*file_of(proof))
    if proof.is_exact and proof.upper:
        assert (judged.budget, judged.below) == (proof.upper, proof.lower)
    else:
        assert judged == Budgets(proof.upper)
    assert "replayed by the kernel" in str(proof)


def test_where_nothing_can_be_written_that_is_found_out_once(monkeypatch) -> None:
    """Whether a lesser budget fails, too, is asked only where one serves."""
    asked: list[Any] = []

    def none(machine: Any, _bounds: BudgetBounds) -> Any:
        asked.append(str(machine))
        raise NoCertificate("nothing is found")

    monkeypatch.setattr(budgets, "_written", none)
    with pytest.raises(NoCertificate):
        replayed(SUBJECTS["svt_laplace"], True, BudgetBounds(Fraction(1), Fraction(1), None))
    assert asked
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("seed", range(6))
def test_budgets_of_random_streams_are_replayed_or_refused(seed) -> None:
    program = dipapprox.parse(random_stream(seed))
    try:
        proof = found(program)
    except dipapprox.UserError:
        return  # no theorem speaks of it
    if proof.answer is Answer.DP:
        judged = replay(*file_of(proof))
        assert judged.budget == proof.upper
        assert judged.below is None or judged.below <= proof.lower
    else:
        assert proof.found is not Answer.DP or "no shifts were found" in (proof.unproved or "")


# --- forgeries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["svt", "numeric_sparse_stream", "svt_geometric for all N"])
def test_no_forgery_proves_what_is_false(name) -> None:
    require_sound(*file_of(proof_of(name)), name)


@pytest.mark.parametrize("name", ["svt_without_limit", "last_value_stream", "svt_fresh_threshold"])
@pytest.mark.parametrize("budget", [Fraction(1, 3), Fraction(7, 2)])
def test_budgets_that_do_not_serve_are_refuted(name, budget) -> None:
    proof = found(SUBJECTS[name], budget=budget)
    assert proof.answer is Answer.NOT_DP, proof.unproved
    judged = replay(*file_of(proof))
    assert judged.below is None or judged.below > budget


ENDLESS = (
    "svt_without_limit",
    "last_value_stream",
    "svt_fresh_threshold",
    "noisy_stream",
    "numeric_sparse_same_noise",
    "numeric_sparse_stream_same_noise",
    "sparse_stream_without_limit",
)


@pytest.mark.parametrize("name", ENDLESS)
def test_parts_that_come_again_leave_no_budget(name) -> None:
    proof = proof_of(name)
    assert proof.answer is Answer.NOT_DP, proof.unproved
    machine, claim, steps = file_of(proof)
    assert claim == {"verdict": "Not_DP", "budget": None}
    assert replay(machine, claim, steps) == Budgets(None, None)
    assert replay(machine, {"verdict": "Not_DP", "budget": 1000}, steps) == Budgets(None, None)


@pytest.mark.parametrize("name", ["svt_without_limit", "last_value_stream"])
def test_parts_come_again_of_the_machine_that_is_meant(name) -> None:
    """Not if it ends, is silent, or its inputs do not change together; nor for more."""
    machine, claim, steps = file_of(proof_of(name))
    for changed in (
        {"round": [*machine["round"], ["exit"]]},
        {"published": {**machine["published"], "whenever": []}},
        {"adjacency": {**machine["adjacency"], "norm": "l1"}},
    ):
        refuses(NotProved, None, replay, {**machine, **changed}, claim, steps)
    for at, value in places_in(steps):
        if at[:2] == (0, "multipliers") and isinstance(value, str):
            with pytest.raises(NotProved):
                more = with_at(steps, at, number_json(Fraction(value) * 2))
                replay(machine, claim, more)


GAUSSIAN = ("svt_gauss", "noisy_max_gauss", "svt_mix1", "discrete_gauss_mechanism", "top_k_gauss")


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_noise_has_no_budget(name) -> None:
    proof = found(dipapprox.parse(text_of(name)))
    machine, claim, steps = file_of(proof)
    assert replay(machine, claim, steps) == Budgets(None, None)
    # With Laplace noise there is one: only less than that does not serve.
    laplace = json.loads(json.dumps(machine).replace('"Gauss"', '"Lap"').replace("DGauss", "DLap"))
    refuses(NotProved, None, replay, laplace, claim, steps)


@pytest.mark.parametrize("seed", range(6))
def test_rays_of_random_automata_prove_no_more_than_is_so(seed) -> None:
    automaton = random_automaton(seed, variables=1 + seed % 3, distinct=seed % 2 == 0)
    plain = dipapprox.prove(automaton, options=Options(limits=Limits(seconds=60)))
    if plain.upper:
        proof = found(automaton, budget=plain.upper * Fraction(2, 3))
        if proof.written is not None:
            judged = replay(*file_of(proof))
            assert plain.upper * Fraction(2, 3) < judged.below <= plain.upper
        else:
            assert not plain.is_exact or not isinstance(plain.analysis.lower, RunCost)


def rays(edit: Callable[[Any], object]) -> Any:
    """Replay that 1/2 does not serve a sparse stream, of a machine that is edited."""
    machine, _, steps = file_of(proof_of("sparse_stream"))
    machine = copy.deepcopy(machine)
    edit(machine)
    return replay(machine, {"verdict": "Not_DP", "budget": "1/2"}, steps[1:2])


def beside(power: int) -> Any:
    """The cost of two paths, whose samples may be of different scales."""
    one, other = (paths.Sample("Lap", Form(Fraction(0)), Fraction(1), k) for k in (0, power))
    both = paths.Path({}, (one,)), paths.Path({}, (other,))
    return paths.Beside(both, ([Form(Fraction(0))],) * 2, {}).cost()


def test_inputs_beyond_their_bounds_have_no_rays() -> None:
    check_answers("kernel_potentials", judging(globals()))


def least(machine: Any) -> Fraction | None:
    """The least budget of SVT for a stream: its machine, read again as a program."""
    (noise,), (other, *_) = (
        [each for each in machine[block] if each[0] == "draw"] for block in ("body", "round")
    )
    if machine["adjacency"]["norm"] != "linf" or {noise[2], other[2]} != {"Lap"}:
        return None
    sizes = [Fraction(each[4][0]) for each in (noise, other)]
    radius = Fraction(machine["adjacency"]["radius"])
    return radius / sizes[0] + 2 * radius / sizes[1]


def test_forged_machines_are_refused_or_have_the_budget() -> None:
    proof = proof_of("sparse_stream")
    machine, claim, steps = potential_of(proof)
    assert least(machine) == proof.upper == 1
    tried = 0
    for at, value in places_in(machine):
        for other in variants(value):
            forged = with_at(machine, at, other)
            try:
                replay(forged, claim, steps)
            except NotProved:
                tried += 1
                continue
            # What is confirmed has the same draws and comparison, or publishes less.
            read_rounds(forged)
            try:
                budget = least(forged)
            except (ValueError, TypeError, IndexError):
                budget = None
            assert budget is None or budget <= 1 or _shows_less(forged), (at, other)
    assert tried > 100


def _shows_less(machine: Any) -> bool:
    """Whether what is published no longer depends on the samples."""
    branch = next((each for each in machine["round"] if each[0] == "if"), None)
    return branch is None or machine["published"]["whenever"] != ["published "]


def alone(family: str, whole: bool) -> Any:
    """One sample around an input that changes by 1 at most, compared with 0."""
    cell = ["cell", "x"]
    above, below = ([["set", ["cell", "out"], value]] for value in (1, 0))
    body = [["draw", cell, family, ["cell", "q"], [1, -1]], ["if", [">", cell, 0], above, below]]
    machine = stream(body, None, inputs=[["q", {"low": None, "high": None}]], whole=whole)
    machine["published"] |= {"whenever": [], "first": ["out"]}
    return machine


@pytest.mark.parametrize("noise", ["Lap(0, 3)", "Gauss(0, 2 / eps)", "LapPlus(1, 2)"])
def test_noise_of_any_scale_stays_where_it_is(noise) -> None:
    program = dipapprox.parse(text_of("kernel/potentials-any_scale").replace("Lap(0, 3)", noise))
    machine, claim, (step, *_) = potential_of(found(program))
    assert dipapprox.decide(program, options=OPTIONS).replayed is not None
    first = machine["body"][0]
    for scale in ([1, 0], [1, -2]):
        moved = {**machine, "body": [[*first[:4], scale], *machine["body"][1:]]}
        refuses(Refuted, "samples of Lap cannot be shifted so", replay, moved, claim, [step])


def test_many_paths_share_few_cases() -> None:
    text = text_of("literature/noisy_histogram")
    program = dipapprox.parse(text, {"N": 3})
    _, _, (step, *_) = file_of(found(program))
    cases = step["nodes"][0]["cases"]
    assert len(cases) == 5**3
    assert len([case for case in cases if not isinstance(case, int)]) <= 2**3


def test_costs_that_grow_round_after_round_are_given_up() -> None:
    """A budget that is far above the least one: a shift that costs 2^-70 a round is not needed."""
    path = Path(__file__).parent.parent / "corpus" / "programs" / "automata" / "budgets-5.dipa"
    proof = dipapprox.prove(path, budget=2, stops="visible", options=OPTIONS)
    assert proof.answer is Answer.DP
    assert proof.replayed is not None


def test_changes_do_not_choose_what_is_known() -> None:
    machine, claim, (step,) = potential_of(proof_of("sparse_stream"))
    start, node = step["nodes"]
    # What is done for all changes, for both ends of them.
    place, bot = next((k, c) for k, c in enumerate(node["cases"]) if c["to"] == 1)
    apart = {"input": 1, "cases": [bot, {**bot, "to": 2}]}
    cases = [apart if k == place else case for k, case in enumerate(node["cases"])]

    def nodes(more: list[Any]) -> list[Any]:
        """Where the input rises a copy of the node comes next, which knows a cell more."""
        values = [*node["values"], *more]
        return [start, {**node, "cases": cases}, {**node, "cases": cases, "values": values}]

    replay(machine, claim, [{**step, "nodes": nodes([])}])
    with pytest.raises(Refuted, match="not alike"):
        replay(machine, claim, [{**step, "nodes": nodes([["published ", {"name": "bot"}]])}])


@pytest.mark.parametrize("factor", [1, 2, -1, "1/2"])
@pytest.mark.parametrize("shift", [1, 2, -1, "1/2"])
def test_what_cells_hold_is_shifted_as_much_as_it_is_multiplied(factor, shift) -> None:
    """In the first round x becomes a multiple of what it was, and a number more; then it ends."""
    moved = ["set", ["cell", "x"], ["+", ["*", factor, ["cell", "x"]], 3]]
    first, then = (["set", ["cell", "n"], k] for k in (0, 1))
    turn = [["if", ["=", ["cell", "n"], 0], [moved, then], [["exit"]]]]
    machine = stream([draw("x", 0), first], turn)

    def node(held: list[str], values: Any, left: int, shifts: Any, to: Any, drawn: Any) -> Any:
        cases = [{"to": to, "moves": [[0, drawn]]}]
        known = {"values": values, "held": held, "facts": []}
        return {**known, "allowances": [[left, shifts]], "cases": cases}

    nodes = [
        node([], [], 1, [], 1, [1]),
        node(["x"], [["n", 0]], 0, [1], 2, []),
        node(["x"], [["n", 1]], 0, [shift], None, []),
    ]
    step = {"rule": "potential", "from": [], "nodes": nodes, "quiet": []}
    claim = {"verdict": "DP", "budget": 1, "at least": None}
    if shift == factor:
        assert replay(machine, claim, [step]) == Budgets(Fraction(1))
    else:
        refuses(Refuted, "'x' is shifted otherwise", replay, machine, claim, [step])


def test_an_automaton_is_the_machine_that_its_text_means() -> None:
    proof = proof_of("svt")
    assert proof.written.machine in machines_of(proof.automaton, False, proof.written.claim)


def test_unknown_without_a_proof_names_the_reason() -> None:
    text = "input q in real 1..2\noutput o in {0, 1}\nadjacent linf 1\nx <- LapPlus(q, 1/eps)\n"
    text += "if x >= 0 then o <- 1 else o <- 0 end"
    service = dipapprox.prove(dipapprox.parse(text), reals=True, options=OPTIONS)
    assert service.answer is Answer.UNKNOWN
    assert service.found is Answer.DP
    assert "the kernel has no proof" in str(service)
    assert service.to_dict()["reason"] == service.unproved


# --- Budgets of services, replayed ----------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_replayed(name) -> None:
    text, least = EXAMPLES[name]
    judged = replay(*written(proof_for(text)))
    assert isinstance(judged, Budgets)
    if least is None:
        assert judged == Budgets(None, None, at_any=False, eps=judged.eps)
        assert "for no B at e" in words_of(judged)
    else:
        assert judged == Budgets(least, least, at_any=False)


@pytest.mark.parametrize("name", part(list(EXAMPLES), 2))
def test_at_one_eps_they_are_replayed_for_it_alone(name: str) -> None:
    eps, other = Fraction(1, 3), {"eps": "1/2"}
    are_replayed(EXAMPLES[name][0], eps)
    machine, claim, steps = written(proof_for(EXAMPLES[name][0], eps=eps))
    assert claim["eps"] == "1/3"
    at_all = {name: value for name, value in claim.items() if name != "eps"}
    for forged in ({**claim, **other}, at_all if claim["verdict"] == "DP" else {**claim, "eps": 0}):
        refuses(NotProved, None, replay, machine, forged, steps)
    if len(steps) == 3:
        with pytest.raises(NotProved, match=r"different eps|so much likelier"):
            replay(machine, claim, [steps[0], {**steps[1], **other}, steps[2]])


@examples(4)
@given(texts("services", 9), st.sampled_from([None, Fraction(1, 2), Fraction(3)]))
def test_random_services_are_replayed(text: str, eps: Fraction | None) -> None:
    are_replayed(text, eps)


def are_replayed(text: str, eps: Fraction | None) -> None:
    """Replay the proof of a service, of just what was found."""
    proof = proof_for(text, eps=eps)
    if proof.answer is Answer.UNKNOWN:
        return
    judged = replay(*written(proof))
    assert isinstance(judged, Budgets)
    if proof.has_none:
        assert judged == Budgets(None, None, at_any=False, eps=eps or judged.eps)
    elif proof.lower:
        assert judged == Budgets(proof.upper, proof.lower, at_any=False, eps=eps)
    else:
        assert judged == Budgets(proof.upper, eps=eps)


def test_a_claimed_budget_that_is_too_small_is_refuted() -> None:
    asked = [(EXAMPLES[name][0], None) for name in ("counted", "coin", "never ends", "hidden")]
    for text, eps in (*asked, (MIXED, None), (MIXED, Fraction(1, 3))):
        budget = Fraction(1, 2)
        proof = proof_for(text, budget=budget, eps=eps)
        assert proof.answer is Answer.NOT_DP
        judged = replay(*written(proof))
        assert judged.below is None or judged.below > budget


@pytest.mark.parametrize(("users", "least"), [((), 3), (("alice",), 2), (("bob",), 1)])
def test_those_who_do_not_see_replies_learn_less(users, least) -> None:
    text = text_of("services/users")
    judged = replay(*written(proof_for(text, *users)))
    assert judged == Budgets(Fraction(least, 2), Fraction(least, 2), at_any=False)


# --- forgeries -----------------------------------------------------------------------------------

EXACT = [name for name, (_, least) in EXAMPLES.items() if least is not None]


@pytest.mark.parametrize("name", EXACT)
def test_no_forged_service_proves_what_is_false(name) -> None:
    require_sound(*written(proof_for(EXAMPLES[name][0])), name)


@pytest.mark.parametrize("name", EXACT)
def test_what_may_be_lost_is_no_less_anywhere(name) -> None:
    """V of every point is the length of a longest path: less, or a point less, proves nothing."""
    machine, _, steps = written(proof_for(EXAMPLES[name][0]))
    (at,) = (k for k, step in enumerate(steps) if step["rule"] == "couplings")
    claim = {"verdict": "DP", "budget": 1000, "at least": None}
    step, before = steps[at], steps[:at]
    forged = [{**step, "budget": number_json(Fraction(step["budget"]) * Fraction(99, 100))}]
    for number, (one, other, points, groups) in enumerate(step["pairs"]):
        for place, (shifts, value) in enumerate(points):
            less = Fraction(value) * Fraction(99, 100)
            if less:
                own = with_at(points, (place,), [shifts, number_json(less)])
                forged.append(with_at(step, ("pairs", number), [one, other, own, groups]))
        forged.append({**step, "pairs": step["pairs"][:number] + step["pairs"][number + 1 :]})
    for number in range(len(step["changes"])):
        fewer = step["changes"][:number] + step["changes"][number + 1 :]
        forged.append({**step, "changes": fewer})
    for each in forged:
        refuses(NotProved, None, replay, machine, claim, [*before, each])


@pytest.mark.parametrize("name", ["counted", "decided", "real", "slots"])
def test_the_machine_is_the_one_that_was_meant(name) -> None:
    """With less noise, another change or other cells at first the same steps prove nothing."""
    machine, claim, steps = written(proof_for(EXAMPLES[name][0]))
    scales = [at for at, value in places_in(machine) if is_scale(at, value)]
    edits = [with_at(machine, (*at, 0), number_json(Fraction(1, 9))) for at in scales]
    edits.append({**machine, "change": "replace"})
    edits.append(with_at(machine, ("cells", 0, 1), 7))
    edits.append(with_at(machine, ("calls", 1, "seen"), False))
    for edited in edits:
        refuses(NotProved, None, replay, edited, claim, steps)


def is_scale(at: tuple[Any, ...], value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[1] == -1 and at[-1] == 4
