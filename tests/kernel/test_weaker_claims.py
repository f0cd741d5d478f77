"""True claims and ends of profiles are confirmed, what is a hair away is not; weaker claims too."""

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
from dipapprox import Answer, Options, Program, calibrate, profile, verify
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved, Refuted
from dipapprox.kernel.judgements import Budgets, Private, Violated
from dipapprox.kernel.replay import follows, least_budget, read_budget, replay
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.profiles.calibration import Calibration
from dipapprox.privacy.profiles.profile_result import AtDelta, AtEpsPrv, LeastDelta, LeastEpsPrv
from dipapprox.privacy.run import Setting, Witness
from dipapprox.privacy.verdict import Claim
from dipapprox.proof_steps.ends import proved_calibration, proved_delta, proved_eps_prv
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.serving import served_step
from dipapprox.proof_steps.verdicts import IN_CLOSED_FORM, Goal, replayed
from dipapprox.replays.words import words_of
from tests.cases import cases, check_answers, part, refuses, text_of
from tests.cli.running import run, run_json
from tests.kernel.machines import RUN, judged
from tests.kernel.small import CLOSED, LISTED, SMALL, program_of
from tests.schemas import check_schema

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


def other_scales(eps: Json, eps_prv: Json) -> str:
    """Two samples of scale 4 are shifted by 1: it costs 1/2, where an allowance has eps / 2."""
    machine, claim, step = written(
        parsed(SPARSE.replace("2 / eps", "2 * eps").replace("4 / eps", "4")), "1/2"
    )
    own = {"eps": eps, "eps_prv": eps_prv}
    return says(machine, {**claim, **own}, {**step, **own})


def around_a_fraction(power: int) -> str:
    """2 x - q would tell whether q is even, if integers were drawn around q / 2."""
    draw = ["draw", ["cell", "x"], "DLap", ["*", "1/2", ["cell", "q"]], [1, power]]
    told = ["set", ["cell", "y"], ["+", ["*", 2, ["cell", "x"]], ["*", -1, ["cell", "q"]]]]
    machine = {"inputs": [["q", [0, 1]]], "outputs": [], "reals": ["y"], "body": [draw, told]}
    claim = {"eps": 1, "eps_prv": 0, "delta": 0}
    case = {"to": None, "moves": [[0, [[0, [[0, "1/2"]]]]]]}
    node = {"values": [], "held": [], "facts": [], "allowances": [[0, []]], "cases": [case]}
    step = {"rule": "served", "from": [], "whole": True, "nodes": [node], **claim}
    machine["adjacency"] = {"norm": "all"}
    return says(machine, {"verdict": "DP", **claim, "pairs": None}, step)


def listed(pairs: Json) -> str:
    machine, claim, step = written(parsed(SPARSE), "1")
    return says(machine, {**claim, "pairs": pairs}, step)


def on_an_interval(eps_prv: Json) -> str:
    machine, claim, step = written(parsed(SPARSE), "1", eps={"from": 1, "to": 2})
    own = {"eps_prv": eps_prv}
    return says(machine, {**claim, **own}, {**step, **own})


def _changed(place: int, **changed: Json) -> Callable[[list[Json]], None]:
    return lambda proof: proof[place].update(changed)


def _with_domain(domain: Json) -> Callable[[list[Json]], None]:
    return lambda proof: proof[0]["inputs"][0].__setitem__(1, domain)


def _both(**changed: Json) -> Callable[[list[Json]], None]:
    return lambda proof: (proof[1].update(changed), proof[2].update(changed))[0]


def false(change: Callable[[list[Json]], object]) -> str:
    """A proof with this change."""
    proof = copy.deepcopy(written(parsed(SPARSE), "1"))
    change(proof)
    return says(*proof)


def test_what_follows_and_what_does_not() -> None:
    asked = {"least_budget": least_budget}
    check_answers("kernel_weaker_claims", judged(globals() | asked))


def test_what_is_less_than_nothing_is_not_written() -> None:
    alone = parsed(GAP.replace("Lap(q, 2", "Lap(q, 3").replace("y <- x + z", "y <- z"))
    refuses(NoCertificate, None, written, alone, "-1")


def test_formulas_of_intervals_are_compared_on_all_of_them() -> None:
    for eps_prv, answer in (("2", Answer.DP), ("eps", Answer.DP), ("19/10", Answer.NOT_DP)):
        found = dipapprox.verify(
            parsed(GAP.replace("Lap(q, 2", "Lap(q, 1").replace("x + z", "x")),
            eps="1..2",
            eps_prv=eps_prv,
            delta="0",
            options=Options(proved=answer is Answer.DP),
        )
        assert found.answer is answer


# --- Ends of profiles and calibrations that the kernel confirms, and what becomes of the others ---

PROVED = Options(proved=True)

THRESHOLD = """
input q in {{0, 1}}
output o in {{0, 1}}
adjacent linf 1
x <- {noise}
if x >= 1 then o <- 1 else o <- 0 end
"""

CHOICES = text_of("kernel/ends-choices")


TEXTS = {
    "Laplace": THRESHOLD.format(noise="Lap(q, 1 / eps)"),
    "Gauss": THRESHOLD.format(noise="Gauss(q, 1 / eps)"),
    "integer": THRESHOLD.format(noise="DLap(q, 1 / eps)"),
    "choices": CHOICES,
}
LEAKY = "input q in {0, 1}\noutput o in {0, 1}\nadjacent all\no <- q"


def least_delta(program: Program, options: Options, eps_prv: str | Fraction) -> LeastDelta:
    found = profile(program, eps=HALF, eps_prv=eps_prv, options=options)
    assert isinstance(found, LeastDelta)
    return found


def least_eps_prv(program: Program, options: Options, delta: str | int) -> LeastEpsPrv:
    found = profile(program, eps=HALF, delta=delta, options=options)
    assert isinstance(found, LeastEpsPrv)
    return found


def is_proved(
    program: Program, eps_prv: Fraction, delta: Fraction, gap: Fraction, witness: Witness | None
) -> bool:
    """Whether the kernel confirms a claim, or that the witness breaks it."""
    goal = Goal(Claim(HALF, delta, eps_prv), witness, gap, 3)
    try:
        replayed(Setting(program, AllPairs(), Options()), goal)
    except NotProved:
        return False
    return True


@pytest.mark.parametrize("name", TEXTS)
def test_a_least_delta_is_proved_and_a_hair_inside_is_not(name) -> None:
    program, eps_prv = program_of(TEXTS[name]), Fraction(1, 10)
    found, own = least_delta(program, Options(), eps_prv), least_delta(program, PROVED, eps_prv)
    outer, inner = own.delta_enclosure, found.delta_enclosure
    assert 0 < outer.lower <= inner.lower <= inner.upper <= outer.upper < 1
    tolerance = inner.upper / 10**12
    assert outer.width <= tolerance * Fraction(101, 100)
    assert own.reason is None
    assert own.to_dict()["proved"]["steps"] == 4
    assert ("witness", own.witness) == ("witness", found.witness)
    hair, witness = tolerance / 1000, own.witness
    for place, keeps in ((outer.upper, True), (inner.lower - hair, False)):
        assert is_proved(program, eps_prv, place, hair, None) is keeps
    for place, breaks in ((outer.lower, True), (inner.upper + hair, False)):
        assert is_proved(program, eps_prv, place, hair, witness) is breaks


def test_ends_of_thousands_of_digits_are_proved() -> None:
    """1 - delta is about e^-50000."""
    text = "input q in {0, 1}\noutput y in real\nadjacent linf 1\ny <- Lap(q, 1e-5)"
    own = least_delta(program_of(text), PROVED, HALF)
    assert own.reason is None
    assert own.delta_enclosure.lower > 1 - Fraction(1, 10**12)


@cases("name, delta", ("Laplace", "0"), ("Gauss", "1/50"), ("integer", "1/50"), ("choices", "0"))
def test_a_least_eps_prv_is_proved_and_a_hair_inside_is_not(name, delta) -> None:
    program = program_of(TEXTS[name])
    found, own = least_eps_prv(program, Options(), delta), least_eps_prv(program, PROVED, delta)
    outer, inner = own.eps_prv_enclosure, found.eps_prv_enclosure
    assert outer.lower is not None and inner.lower is not None
    assert outer.upper is not None and inner.upper is not None
    assert 0 < outer.lower < inner.lower <= inner.upper < outer.upper
    assert outer.upper - outer.lower <= Fraction(101, 10**11)
    assert own.reason is None
    assert own.to_dict()["proved"]["steps"] == 4
    hair = Fraction(1, 10**12)
    for place, keeps in ((outer.upper, True), (inner.lower - hair, False)):
        assert is_proved(program, place, Fraction(delta), hair / 100, None) is keeps
    for place, breaks in ((outer.lower, True), (inner.upper + hair, False)):
        assert is_proved(program, place, Fraction(delta), hair / 100, own.witness) is breaks


def test_what_a_shift_of_published_noise_costs_is_proved_exactly() -> None:
    """The lower end, at outputs that are far away, is less than that."""
    text = "input q in {0, 1}\noutput y in real\nadjacent linf 1\ny <- Logistic(q, 1 / eps)"
    own = least_eps_prv(program_of(text), PROVED, 0)
    least, most = own.eps_prv_enclosure.lower, own.eps_prv_enclosure.upper
    assert least is not None and 0 < HALF - least < Fraction(1, 10**9) and most == HALF
    assert own.reason is None


def test_a_wider_end_is_proved_where_losses_of_parts_are_rounded() -> None:
    """Two numbers of ten may move; there are too many pairs to go through."""
    text = "input c[10] in 0..3\noutput o[10] in 0..3\nadjacent l1 2\nfor i in 1..10 do\n"
    text += "    o[i] <- clamp(DGauss(c[i], 2 / eps), 0, 3)\nend"
    own = least_delta(program_of(text), PROVED, Fraction(1, 10))
    found = least_delta(program_of(text), Options(), Fraction(1, 10)).delta_enclosure
    assert own.reason is not None and own.reason.endswith("; it has one of a wider end")
    assert own.delta_enclosure.lower <= found.lower <= found.upper <= own.delta_enclosure.upper
    assert found.upper / 10**12 < own.delta_enclosure.width < found.upper / 10**6


def test_an_irrational_eps_prv_is_between_rational_ones() -> None:
    program = program_of(text_of("kernel/ends-response"))
    # 3/4 - 2 * 1/4
    found = least_delta(program, PROVED, "log(2)")
    assert Fraction(1, 4) in found.delta_enclosure and found.reason is None
    assert found.delta_enclosure.width < Fraction(1, 10**12)
    assert found.to_dict()["proved"]["steps"] == 4
    attained = least_delta(program, PROVED, "log(3)").delta_enclosure
    assert attained.lower == 0 < attained.upper < Fraction(1, 10**30)


def test_no_eps_prv_is_enough_by_closed_forms_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert least_eps_prv(program_of(LEAKY), PROVED, "1/2").eps_prv_enclosure.infinite
    monkeypatch.setattr("dipapprox.proof_steps.verdicts.LEAST_BITS", IN_CLOSED_FORM)
    found = least_eps_prv(program_of(LEAKY), PROVED, "1/2")
    assert found.eps_prv_enclosure == Extended(Fraction(1000), None)
    assert found.reason == (
        "the kernel has no proof of the lower end: "
        "it confirms that 1000 is not enough, for ∞ it has no proof"
    )


@pytest.fixture
def unwilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that spends little."""
    monkeypatch.setattr("dipapprox.kernel.errors.MOST_WORK", 1)


def test_what_the_kernel_refuses_is_given_up(unwilling) -> None:
    program = program_of(TEXTS["Gauss"])
    delta = least_delta(program, PROVED, Fraction(1, 10))
    assert delta.delta_enclosure == Enclosure(Fraction(0), Fraction(1))
    assert delta.witness is None
    eps_prv = least_eps_prv(program, PROVED, "1/100")
    assert eps_prv.eps_prv_enclosure == Extended(Fraction(0), None)
    calibrated = calibrate(program, eps_prv=HALF, delta="1/10", width="1/10", options=PROVED)
    assert calibrated.certified is calibrated.refuted is None
    for answer, ends in (
        (delta, "lower and upper"),
        (eps_prv, "lower and upper"),
        (calibrated, "refuted and certified"),
    ):
        assert answer.reason == (
            f"the kernel has no proof of the {ends} ends: "
            "a step asks for more work than the kernel spends on one"
        )
        assert "proved" not in answer.to_dict()


def test_false_ends_are_given_up() -> None:
    """Each end falls by itself: the kernel believes nothing of what was found."""
    program, eps_prv = program_of(TEXTS["Gauss"]), Fraction(1, 10)
    setting = Setting(program, AllPairs(), Options())
    found = least_delta(program, Options(), eps_prv)
    true, off = found.delta_enclosure, found.delta_enclosure.upper / 10**6

    def judged(lower: Fraction, upper: Fraction) -> Enclosure:
        false = replace(found, delta_enclosure=Enclosure(lower, upper))
        question = AtEpsPrv(eps_prv)
        own = proved_delta(setting, question, false)
        assert (own.reason is None) == (own.delta_enclosure.upper < 1)
        return own.delta_enclosure

    low = judged(true.lower - 2 * off, true.upper - off)
    assert low.upper == 1 and 0 < low.lower < true.lower
    # The witness stands for the lower end: too high an end comes down to it.
    high = judged(true.lower + off, true.upper + 2 * off)
    assert 0 < high.lower < true.lower < true.upper < high.upper < 1

    least = least_eps_prv(program, Options(), "1/50")
    ends = least.eps_prv_enclosure
    assert ends.lower is not None and ends.upper is not None
    for by, expected in ((off, (False, True)), (-off, (True, False))):
        false = replace(least, eps_prv_enclosure=Extended(ends.lower + by, ends.upper + by))
        question = AtDelta(Fraction(1, 50))
        own = proved_eps_prv(setting, question, false)
        kept = own.eps_prv_enclosure
        assert (bool(kept.lower), kept.upper is not None) == expected
        assert (own.witness is not None) == expected[0]
        assert own.reason is not None


def test_a_false_witness_is_no_proof() -> None:
    program, eps_prv = program_of(CHOICES), Fraction(1, 10)
    setting = Setting(program, AllPairs(), Options())
    found = least_delta(program, Options(), eps_prv)
    turned = replace(found.witness, input=found.witness.adjacent, adjacent=found.witness.input)
    for witness in (turned, replace(found.witness, rows=()), None):
        false = replace(found, witness=witness)
        own = proved_delta(setting, AtEpsPrv(eps_prv), false)
        assert own.delta_enclosure.lower == 0
        assert own.delta_enclosure.upper < 1
        assert own.reason is not None and own.reason.startswith(
            "the kernel has no proof of the lower end: "
        )


def calibrated(options: Options) -> tuple[Program, Calibration]:
    """A program, and how little noise it needs."""
    program = program_of(TEXTS["Gauss"])
    found = calibrate(program, eps_prv=HALF, delta="1/50", width="1/1000", options=options)
    return program, found


def test_calibrations_are_proved_at_both_ends() -> None:
    program, found = calibrated(Options())
    own = calibrated(PROVED)[1]
    assert own.certified is not None and own.refuted is not None
    assert found.certified is not None and found.refuted is not None
    assert (own.certified.eps, own.refuted.eps) == (found.certified.eps, found.refuted.eps)
    # What follows from the two proofs, and no more.
    assert own.certified.needed == Extended(Fraction(0), HALF)
    assert own.refuted.needed == Extended(HALF, None)
    assert own.to_dict()["proved"]["steps"] == 4
    check_schema("calibrate", own.to_dict())
    crossed = replace(
        found,
        certified=replace(found.certified, eps=found.refuted.eps),
        refuted=replace(found.refuted, eps=found.certified.eps),
    )
    neither = proved_calibration(Setting(program, AllPairs(), Options()), crossed)
    assert neither.certified is neither.refuted is None
    assert neither.reason is not None
    assert all(f"no proof of the {end} end" in neither.reason for end in ("refuted", "certified"))


def test_on_the_command_line(tmp_path) -> None:
    path = tmp_path / "choices.dpg"
    path.write_text(CHOICES)
    words = ("profile", str(path), "--eps", "1/2", "--proved")
    for asked in (("--eps-prv", "1/10"), ("--delta", "1/10")):
        status, fields = run_json(*words, *asked)
        assert (status, fields["proved"]["steps"]) == (0, 4)
        status, shown = run(*words, *asked)
        assert (status, "replayed by the kernel: 4 steps" in shown) == (0, True)
    assert run(*words, "--curve", "0:1:3")[0] == 2


def test_an_end_that_is_given_up_has_a_status(tmp_path, unwilling) -> None:
    path = tmp_path / "choices.dpg"
    path.write_text(CHOICES)
    status, fields = run_json("profile", str(path), "--eps", "1/2", "--proved")
    assert (status, fields["delta_enclosure"]) == (3, ["0", "1"])


def test_wider_ends_are_proved_of_several_numbers() -> None:
    """Losses of both numbers are far from all places of a grid, and add up to 0."""
    text = "input q in {0, 1}\noutput y[2] in real\nadjacent all\n"
    text += "for i in 1..2 do\n    y[i] <- Lap(q, 90)\nend"
    own = profile(program_of(text), eps=1, eps_prv=0, width=Fraction(1, 10**6), options=PROVED)
    found = least_delta(program_of(text), Options(), Fraction(0)).delta_enclosure
    assert own.reason is not None and own.reason.endswith("; it has one of a wider end")
    assert own.delta_enclosure.lower <= found.lower <= found.upper <= own.delta_enclosure.upper
    assert own.delta_enclosure.width < found.upper / 8
