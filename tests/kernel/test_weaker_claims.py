"""True claims are proved, claims a hair away are not, and a claim follows from what is stronger."""

import copy
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Options, Program, verify
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.judgements import Budgets, Private, Violated
from dipapprox.kernel.replay import follows, least_budget, read_budget, replay
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.serving import served_step
from dipapprox.replays.words import words_of
from kernel.machines import RUN
from kernel.small import CLOSED, LISTED, SMALL, program_of
from tests.cases import refuses
from tests.texts import text_of
from tests.thorough import part

Json = Any

MACHINE = machine_json(program_of(text_of("kernel/weaker_claims-1")))
AT = Fraction(1, 2)  # 3/4 - e^(1/2) / 4 = 0.3378…
KEPT, BROKEN = Fraction(27, 80), Fraction(17, 50)


def steps(verdict: str) -> list[Json]:
    if verdict == "DP":
        return [RUN, {"rule": "every pair", "from": [-1], "eps_prv": "1/2", "delta": "17/50"}]
    pair = {"input": [0], "adjacent": [1], "outputs": [[0]]}
    said = {"eps_prv": "1/2", "delta": "27/80"}
    return [RUN, {"rule": "violation", "from": [-1], **said, **pair}]


def holds(verdict: str, eps_prv: Fraction, delta: Fraction, eps: Json = 1) -> bool:
    claim = {"verdict": verdict, "eps": eps, "eps_prv": str(eps_prv), "delta": str(delta)}
    try:
        replay(MACHINE, {**claim, "pairs": None}, steps(verdict))
    except NotProved:
        return False
    return True


moves = st.fractions(Fraction(-1, 4), Fraction(1, 4), max_denominator=1000)


@given(moves, moves)
def test_weaker_claims_follow_and_others_do_not(more, also) -> None:
    eps_prv = AT + more
    assert holds("DP", eps_prv, BROKEN + also) == (more >= 0 and also >= 0)
    assert holds("Not_DP", eps_prv, KEPT + also) == (more <= 0 and also <= 0)


def test_formulas_are_claimed_as_they_are_proved_and_numbers_may_be_weaker() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    for kind, sign in (Private, 1), (Violated, -1):
        more = (None,) if kind is Private else ()
        found = kind(one, ("eps",), half, *more)
        assert follows(found, found)
        assert follows(kind(one, ("eps",), half + sign * Fraction(1, 9), *more), found)
        assert not follows(kind(one, ("eps",), half - sign * Fraction(1, 9), *more), found)
        for eps_prv in (one, ("inverse", ("eps",))):
            assert not follows(kind(one, eps_prv, half, *more), found)


def test_what_is_claimed_is_judged_and_nothing_else() -> None:
    one = Fraction(1)
    judged: list[Any] = [
        Private(one, one, one, None),
        Violated(one, one, one),
        Budgets(one),
        Budgets(None),
    ]
    for claim, found in product(judged, repeat=2):
        assert follows(claim, found) == (claim == found)


def test_what_is_claimed_is_claimed_of_the_same_eps() -> None:
    for verdict, delta in (("DP", Fraction(1, 2)), ("Not_DP", Fraction(1, 4))):
        assert holds(verdict, AT, delta)
        assert not holds(verdict, AT, delta, eps=2)
        assert not holds(verdict, AT, delta, eps={"from": 1, "to": 2})


@pytest.mark.parametrize("eps_prv", [300, 999, 10**6])
def test_a_large_eps_prv_has_a_proof(eps_prv) -> None:
    program = program_of(text_of("kernel/weaker_claims-2"))
    found = verify(program, eps=1, eps_prv=eps_prv, delta="0.01", options=Options(proved=True))
    assert found.answer is Answer.DP
    assert found.replayed is not None


# --- budgets --------------------------------------------------------------------------------------

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)


def private(budget: Any, least: Any = None) -> dict[str, Any]:
    return {"verdict": "DP", "budget": budget, "at least": least}


def violated(budget: Any) -> dict[str, Any]:
    return {"verdict": "Not_DP", "budget": budget}


def test_claims_follow_from_what_is_judged_wherever_that_is_so() -> None:
    """Whatever the least budget is that serves: one of these numbers, one between, or none."""
    numbers: list[Any] = [None, 0, 1, 2, 3]
    least = (*(Fraction(k, 2) for k in range(-1, 8)), inf)

    def serves(budget: Any, claimed: Any, truth: Any) -> bool:
        """Whether it is so that one budget serves, and none below another one."""
        return truth <= budget and (claimed is None or claimed <= truth)

    for one, below, budget, at_least in product(numbers, repeat=4):
        serving, failing = (None if n is None else Fraction(n) for n in (one, below))
        found = Budgets(serving, failing)
        where = [truth for truth in least if serves(inf if one is None else one, below, truth)]
        if one is None and below is None:
            where = [inf]
        if budget is not None:
            claim = private(budget, at_least)
            true = [truth for truth in where if serves(budget, at_least, truth)]
        elif at_least is None:
            claim, true = violated(None), [truth for truth in where if truth == inf]
        else:
            claim, true = violated(at_least), [truth for truth in where if at_least < truth]
        if follows(read_budget(claim), found):
            assert where == true, (claim, found)
        elif one is None or budget is not None:
            assert not where or where != true, (claim, found)


def test_a_budget_that_serves_is_a_number() -> None:
    refuses(BadProof, "that is none", read_budget, private(None))


def test_one_budget_serves_and_none_below_another() -> None:
    machine: Any = None
    found = least_budget(machine, {}, Budgets(TWO), Budgets(None, HALF, at_any=False))
    assert found == Budgets(TWO, HALF, at_any=False)
    for pair in (
        (Budgets(None, ONE), Budgets(None, HALF)),
        (Budgets(TWO), Budgets(ONE, HALF)),
        (Budgets(TWO), Budgets(None)),
    ):
        refuses(BadProof, "it is not that", least_budget, machine, {}, *pair)


# --- small machines: what is true within a hair ---------------------------------------------------


@pytest.mark.parametrize("small", [*part(SMALL, 2), *LISTED], ids=lambda small: small.name)
def test_enclosures_tell_a_hair(small) -> None:
    machine = small.machine
    private, violated = (
        replay(machine, *small.private(small.above())),
        replay(machine, *small.violated(small.below())),
    )
    assert isinstance(private, Private)
    assert isinstance(violated, Violated)
    assert private.eps == violated.eps == Fraction(1, 2)
    refuses(Refuted, None, replay, machine, *small.private(small.below()))
    refuses(Refuted, None, replay, machine, *small.violated(small.above()))


@pytest.mark.parametrize("small", CLOSED, ids=lambda small: small.name)
def test_closed_forms_tell_a_hair(small) -> None:
    replay(small.machine, *small.private(small.above(), exactly=True))
    refuses(Refuted, None, replay, small.machine, *small.private(small.below(), exactly=True))


# --- Claims about finite inputs that follow from a budget of all numbers between them -------------

SPARSE = text_of("kernel/weaker_claims-sparse")
GAP = text_of("kernel/weaker_claims-gap")


def parsed(text: str, **params: int) -> Program:
    return dipapprox.parse(text, params)


def written(program: Program, eps_prv: str, delta: str = "0", eps: Json = 1) -> list[Json]:
    """Machine, claim and the step, for eps = 1 or an interval of which B is eps_prv at 1."""
    machine = machine_json(program)
    step = served_step(machine, Fraction(eps_prv), Fraction(1) if eps == 1 else None)
    numbers = {"eps_prv": number_json(Fraction(eps_prv)), "delta": number_json(Fraction(delta))}
    if eps != 1:
        numbers["eps_prv"] = ["*", numbers["eps_prv"], ["eps"]]
    claim = {"verdict": "DP", "eps": eps, **numbers, "pairs": None}
    return [machine, claim, {**step, "eps": eps, **numbers}]


def says(machine: Json, claim: Json, step: Json) -> str:
    return words_of(replay(machine, claim, [step]))


def test_published_numbers_are_seen() -> None:
    assert says(*written(parsed(GAP), "1/2"))
    with pytest.raises(NoCertificate):
        written(parsed(GAP.replace("Lap(q, 2", "Lap(q, 3").replace("y <- x + z", "y <- z")), "-1")


def test_at_one_eps_any_scale_is_one_of_1_by_eps() -> None:
    """Two samples of scale 4 are shifted by 1: it costs 1/2, of allowances of 1/2 for each eps."""
    program = parsed(SPARSE.replace("2 / eps", "2 * eps").replace("4 / eps", "4"))
    machine, claim, step = written(program, "1/2")
    assert says(machine, claim, step)
    for eps, eps_prv, obstacle in (
        ("1/2", "1/2", "1/2 is missing of an allowance"),
        (2, "1/2", "not known to be as small"),
        (2, 1, ""),
        ({"from": 1, "to": 2}, 1, "cannot be shifted so"),
    ):
        other = {"eps": eps, "eps_prv": eps_prv}
        proof = machine, {**claim, **other}, {**step, **other}
        if not obstacle:
            assert says(*proof)
            continue
        refuses(NotProved, obstacle, says, *proof)


@pytest.mark.parametrize("power", [-1, 0])
def test_integers_are_not_drawn_around_fractions(power) -> None:
    """2 x - q would tell whether q is even."""
    draw = ["draw", ["cell", "x"], "DLap", ["*", "1/2", ["cell", "q"]], [1, power]]
    told = ["set", ["cell", "y"], ["+", ["*", 2, ["cell", "x"]], ["*", -1, ["cell", "q"]]]]
    machine = {"inputs": [["q", [0, 1]]], "outputs": [], "reals": ["y"], "body": [draw, told]}
    claim = {"eps": 1, "eps_prv": 0, "delta": 0}
    case = {"to": None, "moves": [[0, [[0, [[0, "1/2"]]]]]]}
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]], "cases": [case]}
    step = {"rule": "served", "from": [], "whole": True, "nodes": [node], **claim}
    with pytest.raises(Refuted, match="around a fraction"):
        replay(
            {**machine, "adjacency": {"norm": "all"}},
            {"verdict": "DP", **claim, "pairs": None},
            [step],
        )


def test_listed_pairs_are_adjacent_ones() -> None:
    machine, claim, step = written(parsed(SPARSE), "1")
    near, far = [[[0, 0], [1, -1]], [[-1, 0], [-1, 0]]], [[[-1, 0], [1, 0]]]
    assert "for all listed pairs" in says(machine, {**claim, "pairs": near}, step)
    refuses(Refuted, "not adjacent", says, machine, {**claim, "pairs": far}, step)


def _changed(place: int, **changed: Json) -> Callable[[list[Json]], None]:
    return lambda proof: proof[place].update(changed)


def _with_domain(domain: Json) -> Callable[[list[Json]], None]:
    return lambda proof: proof[0]["inputs"][0].__setitem__(1, domain)


def _both(**changed: Json) -> Callable[[list[Json]], None]:
    return lambda proof: (proof[1].update(changed), proof[2].update(changed))[0]


FALSE: dict[str, tuple[Callable[[list[Json]], None], type[NotProved]]] = {
    "less is claimed than the budget": (_both(eps_prv="99/100"), Refuted),
    "a smaller eps": (_both(eps=2), Refuted),
    "another claim": (_changed(1, eps_prv="99/100"), Refuted),
    "a negative delta": (_both(delta=-1), BadProof),
    "a wider domain, another adjacency": (
        lambda proof: proof[0].update(adjacency={"norm": "linf", "radius": 2}),
        Refuted,
    ),
    "all inputs are adjacent": (lambda p: p[0].update(adjacency={"norm": "all"}), Refuted),
    "named inputs": (_with_domain([0, {"name": "a"}]), BadProof),
    "integers that are none": (
        lambda proof: (_with_domain([0, "1/2"])(proof), proof[2].update(whole=True))[0],
        BadProof,
    ),
    "real inputs that are integers": (
        lambda proof: (_with_domain({"low": -1, "high": 1})(proof), proof[2].update(whole=True))[0],
        BadProof,
    ),
    "what exits is seen by nobody": (
        lambda proof: proof[2]["nodes"][0]["cases"].__setitem__(slice(1, 3), [None, None]),
        Refuted,
    ),
    "'whole' is no word": (_changed(2, whole=1), BadProof),
    "listed adjacency": (
        lambda p: p[0].update(adjacency={"pairs": [[[0, 0], [1, 0]]], "one way": True}),
        BadProof,
    ),
}


@pytest.mark.parametrize("what", FALSE)
def test_what_does_not_follow_is_refused(what) -> None:
    proof = copy.deepcopy(written(parsed(SPARSE), "1"))
    assert says(*proof)
    change, kind = FALSE[what]
    change(proof)
    refuses(kind, None, says, *proof)


def test_formulas_of_intervals_are_compared_on_all_of_them() -> None:
    machine, claim, step = written(parsed(SPARSE), "1", eps={"from": 1, "to": 2})
    for eps_prv in ("3/2", ["*", "1/2", ["eps"]]):
        own = {"eps_prv": eps_prv}
        with pytest.raises(Refuted, match="not known to be as small"):
            says(machine, {**claim, **own}, {**step, **own})
    for eps_prv, answer in (("2", Answer.DP), ("eps", Answer.DP), ("19/10", Answer.NOT_DP)):
        found = dipapprox.verify(
            parsed(GAP.replace("Lap(q, 2", "Lap(q, 1").replace("x + z", "x")),
            eps="1..2",
            eps_prv=eps_prv,
            delta="0",
            options=Options(proved=answer is Answer.DP),
        )
        assert found.answer is answer
