"""Budgets for all real inputs: known ones, evidence, finite programs, HiGHS, claims."""

import json
from fractions import Fraction
from itertools import pairwise, product
from math import exp
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import dipapprox
from dipapprox import (
    Answer,
    Enclosure,
    Options,
    Outcome,
    Program,
    RealProof,
    Verdict,
    decide,
    parse,
)
from dipapprox.data_classes import replace
from dipapprox.errors import Contradiction, LimitReached
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.language.core import Norm, Within
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse as parse_text
from dipapprox.linear.programme import UnknownSide
from dipapprox.pairs.adjacency import allows
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps.machines import number_json
from dipapprox.proofs.budget_verdict import by_budget, serving_budget
from dipapprox.proofs.cones import Cone, GuardRow, Pricing, ShiftSource
from dipapprox.proofs.prove_real import IMPOSSIBLE, prove_real
from dipapprox.proofs.worst_change import Change, CostOfChanges, changes_of
from dipapprox.questions.verify import Verify
from tests.cases import cases, examples, refuses, text_of
from tests.grammars import texts
from tests.kernel.test_potentials import file_of

from .confirmation import confirm


def prove_text(text: str, **parameters: int) -> RealProof:
    exact = {name: Fraction(value) for name, value in parameters.items()}
    return prove_real(elaborate(parse_text(text), exact, "program"))


def test_subsets_of_inputs_lose_what_all_do() -> None:
    """As inputs go away from the threshold, nothing is lost in the end; close to it there is."""
    proof = prove_text(
        "input q[2] in real\noutput out in 0..1\nadjacent increasing 1\nout <- 0\n"
        "r <- Lap(-1, 1/eps)\ns <- Lap(q[1], 1/eps)\nif s >= r and r >= -1 then out <- 1 end\n"
    )
    confirm(proof)
    assert proof.between is not None and not proof.between.is_ray
    assert Fraction(19, 100) < proof.lower < proof.upper == 1


def test_inputs_that_bound_a_sample_make_outputs_likelier_by_a_factor() -> None:
    """0 <= r < q has a probability like eps · q / 2 at small eps, and no multiple of eps does."""
    proof = prove_text(
        "input q in real 1..2\noutput out in 0..1\nadjacent linf 1\nout <- 0\n"
        "r <- Lap(0, 1/eps)\nif r >= 0 and r < q then out <- 1 end\n"
    )
    # ln 2 / eps is large only where eps is small.
    confirm(proof)
    assert (proof.answer, proof.lower) == (Answer.NOT_DP, Fraction(0))
    assert proof.between is not None and (proof.between.eps, proof.between.loss) == (0, None)


def test_an_atom_beside_a_density_that_becomes_impossible() -> None:
    """Above 0 and near it y is s at q = 0, and nothing at q = 1; at 0 it may be both times."""
    proof = prove_text(
        "input q in real 0..1\noutput out in bool\noutput y in real\nr <- Lap(q, 1/eps)\n"
        "s <- LapPlus(q, 1/eps)\nout <- true\nif r >= 0 then y <- 0 else y <- s end\n"
    )
    assert (proof.answer, proof.reason) == (Answer.NOT_DP, IMPOSSIBLE)
    confirm(proof)


def test_gaussian_noise_between_bounds_has_no_budget() -> None:
    """As eps grows ln Pr falls like eps² at one of the inputs."""
    proof = dipapprox.prove(
        dipapprox.parse(
            "input q in real 0..1\noutput out in {0, 1}\nadjacent linf 1\n"
            "x <- Gauss(q, 1/eps)\nif x < 0 then out <- 0 else out <- 1 end\n"
        )
    )
    assert proof.answer is Answer.NOT_DP
    assert "Gaussian noise has no finite pure budget" in str(proof.reason)
    (text,) = [each for each in proof.describe().below if isinstance(each, str)]
    assert text == (
        "As ε grows: inputs 0 against 1; the output out = 0 loses more than any multiple of ε"
    )


ONE_SIDED = (
    "input q in real{domain}\noutput out in {{0, 1}}\nadjacent linf 1\n"
    "x <- LapPlus(q, 1/eps)\nif x >= {least} then out <- 1 else out <- 0 end\n"
)


@cases(
    "domain, least, inputs",
    (" -1..1", 0, "-1 against 0"),  # Pr[out = 0] is 1 - e^(-eps), then 0
    (" 0..1", 1, "0 against 1"),
    ("", 0, "-1 against 0"),
)
def test_an_output_becomes_impossible(domain, least, inputs) -> None:
    proof = dipapprox.prove(dipapprox.parse(ONE_SIDED.format(domain=domain, least=least)))
    assert proof.answer is Answer.NOT_DP
    assert proof.reason == "an output becomes impossible at adjacent inputs"
    below = proof.describe().below
    assert (
        f"For every ε: inputs {inputs}; the output out = 0 is possible at the first only" in below
    )


def test_no_shift_between_bounds_is_no_impossible_output() -> None:
    """Pr[out = 0] > 0 at all inputs: 1 - e^(-(3 - q) eps)."""
    proof = dipapprox.prove(dipapprox.parse(ONE_SIDED.format(domain=" 1..2", least=3)))
    assert proof.between is None or proof.between.eps is not None
    assert proof.answer is Answer.NOT_DP
    assert proof.reason is not None and proof.reason.endswith("however small eps is")
    words = "As ε goes to 0: inputs 1 against 2; the output out = 0 loses a factor"
    assert words in proof.describe().below


# --- lower bounds at one ε, or near no ray --------------------------------------------------------


def proved(program: str) -> RealProof:
    """The answer, with both ends replayed by the kernel."""
    options = Options(proved=True)
    proof = dipapprox.prove(dipapprox.parse(program), reals=True, options=options)
    assert proof.answer is Answer.DP, proof.unproved
    machine, claim, steps = file_of(proof)
    assert claim["at least"] == number_json(proof.lower)
    judged = replay(machine, claim, steps)
    assert isinstance(judged, Budgets) and not judged.at_any
    return proof


def test_more_is_lost_at_one_eps_than_at_the_ends() -> None:
    answer = proved(text_of("proofs/prove_real-in_between"))
    lost = answer.between
    assert lost is not None and lost.eps
    # What is lost there as eps vanishes, or grows, is less.
    assert Fraction(1, 3) < answer.lower < Fraction(7, 20)
    assert f"At ε = {lost.eps}" in str(answer)
    fields = answer.to_dict()["witness"]
    assert isinstance(fields, dict) and fields["kind"] == "one eps"


@pytest.mark.parametrize("name", ["halves", "from_the_middle"])
def test_their_certificates_are_confirmed(name) -> None:
    text = text_of(f"proofs/prove_real-{name}")
    proof = dipapprox.prove(dipapprox.parse(text))
    certificate = dipapprox.certify(dipapprox.parse(text), text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED


# --- Budgets against scipy's HiGHS, `decide`, and claims that a budget answers --------------------


def source(rate: Fraction | None, side: UnknownSide) -> ShiftSource:
    pricing = Pricing.GAUSSIAN if rate is None else Pricing.LINEAR
    return ShiftSource("r", 1, pricing, rate, side, side, (), False)


@st.composite
def cones(draw: st.DrawFn) -> Cone:
    samples = draw(st.integers(1, 4))
    inputs = draw(st.integers(1, 3))
    small = st.integers(-2, 2)
    rates = st.one_of(st.none(), st.fractions(Fraction(1, 4), 2, max_denominator=4))
    sources = [source(draw(rates), draw(st.sampled_from(UnknownSide))) for _ in range(samples)]
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        noise = {i: draw(small) for i in range(samples)}
        change = {k: draw(small) for k in range(inputs)}
        rows.append(
            GuardRow(
                tuple((i, a) for i, a in noise.items() if a),
                tuple((k, c) for k, c in change.items() if c),
            )
        )
    return Cone(tuple(rows), tuple(sources), (Fraction(0),) * inputs)


def cost_by_highs(cone: Cone, change: Change) -> float:
    """Least Σ rate (up + down) with up - down the shift; ∞ if there is none."""
    if not cone.rows:
        return 0.0
    matrix = np.zeros((len(cone.rows), 2 * len(cone.sources)))
    right = np.zeros(len(cone.rows))
    for g, row in enumerate(cone.rows):
        for i, a in row.noise:
            matrix[g, 2 * i], matrix[g, 2 * i + 1] = a, -a
        right[g] = sum(c * change[k] for k, c in row.inputs)
    prices, bounds = list[float](), list[tuple[float, float | None]]()
    for each in cone.sources:
        free = each.rate is not None
        prices += [float(each.rate or 0)] * 2
        bounds.append((0, None if free and each.side is not UnknownSide.AT_MOST_ZERO else 0))
        bounds.append((0, None if free and each.side is not UnknownSide.AT_LEAST_ZERO else 0))
    result = linprog(prices, A_ub=matrix, b_ub=right, bounds=bounds)
    assert result.status in (0, 2)
    return float(result.fun) if result.status == 0 else float("inf")


def as_float(cost: Fraction | None) -> float:
    return float("inf") if cost is None else float(cost)


@given(cones(), st.data())
def test_the_cost_of_a_change_agrees_with_highs(cone, data) -> None:
    costs = CostOfChanges(cone)
    for _ in range(3):  # later ones start from what was optimal before
        change = tuple(data.draw(st.integers(-3, 3)) for _ in range(3))
        flow = costs.at(change)
        assert as_float(flow.cost) == pytest.approx(cost_by_highs(cone, change))
        worst = costs.worst([tuple((d, d) for d in change)])
        assert worst.dearest.cost == worst.upper == flow.cost


@given(cones())
def test_the_worst_change_is_the_worst_corner(cone) -> None:
    box = ((-1, 1),) * 3
    worst = CostOfChanges(cone).worst([box])
    corners = [cost_by_highs(cone, corner) for corner in product(*box)]
    assert as_float(worst.dearest.cost) == pytest.approx(max(corners))
    assert as_float(worst.upper) == pytest.approx(max(corners))


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("radius", [Fraction(n, 2) for n in (0, 1, 2, 3, 5)])
def test_boxes_hold_every_change(norm, radius) -> None:
    """For inputs of [0, 1] and [0, 2]: every allowed change is in the hull of the boxes."""
    adjacency = Within(norm, radius)
    changes = changes_of(adjacency, [Fraction(1), Fraction(2)], integers=False)
    steps = [[Fraction(k, 2) for k in range(-n, n + 1)] for n in (2, 4)]
    corners = {
        tuple(changes.unit * end for end in corner)
        for box in changes.boxes
        for corner in product(*box)
    }
    for change in product(*steps):
        if allows(adjacency, change):
            # In two dimensions: no direction in which a change goes farther than all corners.
            for normal in product(range(-2, 3), repeat=2):
                far = max(
                    sum(a * b for a, b in zip(normal, corner, strict=True))
                    for corner in (*corners, (0, 0))
                )
                assert sum(a * b for a, b in zip(normal, change, strict=True)) <= far
    if norm is Norm.L1:
        assert all(allows(adjacency, corner) for corner in corners)


# --- Claims about real inputs at one ε that a budget for every ε answers --------------------------

COMPARED = text_of("proofs/worst_change-compared")


def verified(text: str, eps: str, eps_prv: str, delta: str, pairs: str = "all") -> Verdict:
    program = dipapprox.parse(text)
    found = dipapprox.verify(program, eps=eps, eps_prv=eps_prv, delta=delta, pairs=pairs)
    assert isinstance(found, Verdict)
    return found


def test_its_certificate_is_that_of_the_budget() -> None:
    found = verified(COMPARED, "1", "1/2", "1/10")
    file = dipapprox.certify(dipapprox.parse(COMPARED), COMPARED, found).to_json()
    assert [step["rule"] for step in json.loads(file)["steps"]] == ["served"]


def test_scales_are_whatever_they_are_at_one_eps() -> None:
    """A sample of scale 4 may be shifted by 2, another one, of scale 8 eps, stay."""
    text = "input q in real\noutput out in {0, 1}\nadjacent linf 1\nout <- 0\nx <- Lap(q, 4)\n"
    program = dipapprox.parse(text + "if x > Lap(-q, 8 * eps) then out <- 1 end\n")
    assert isinstance(program, Program)
    setting = Setting(program, AllPairs(), dipapprox.Options())
    assert serving_budget(setting, Fraction(1, 2)) == 1
    assert serving_budget(setting, Fraction(1, 4)) == 2
    assert serving_budget(setting) is None
    options = dipapprox.Options(proved=True)
    found = dipapprox.verify(program, eps="1/2", eps_prv="1/2", delta=0, options=options)
    assert found.answer is Answer.DP
    assert dipapprox.profile(program, eps="1/2", eps_prv="1/2").engine == "budget"


def test_real_inputs_far_within_a_budget_are_told_by_it_at_once() -> None:
    above = "input q in real\noutput out in {0, 1}\nadjacent linf 1\nout <- 0\n"
    above += "if Lap(q, 1 / eps) > 0 then out <- 1 end\n"
    assert verified(above, "1", "2", "1/100000").engine == "budget"


ROUNDED = text_of("privacy/charts-rounded")


def test_a_budget_is_the_upper_end_of_profiles_and_calibrations() -> None:
    program = dipapprox.parse(ROUNDED)
    found = dipapprox.profile(program, eps="1/2", delta=0)
    assert isinstance(found, dipapprox.LeastEpsPrv) and found.reason is None
    least = found.eps_prv_enclosure
    assert least.upper == Fraction(1, 2) and Fraction(1, 2) - Fraction(1, 10**6) <= least.lower
    assert "budget" in found.engine.split(" + ")
    calibrated = dipapprox.calibrate(program, eps_prv=1, delta=0)
    assert calibrated.reason is None
    assert 1 - Fraction(1, 10**5) <= calibrated.certified.eps <= 1 < calibrated.refuted.eps


def test_a_budget_is_the_upper_end_of_curves_from_where_it_is_enough() -> None:
    program = dipapprox.parse(Path("programs/numbers/clamped_laplace.dpg").read_text())
    found = dipapprox.profile(program, eps=1, curve=("999/1000", "1001/1000", 3))
    below, at, above = found.envelope.points
    assert Fraction(1, 2001) < below.delta.lower
    assert at.delta == above.delta == Enclosure.exact(0)
    assert at.by[1] == "least budget" and "budget" in found.engine.split(" + ")
    assert found.envelope.at("9999/10000").lower > 0


def test_a_budget_that_a_pair_contradicts_stops_the_run(monkeypatch) -> None:
    name = "dipapprox.proofs.budget_verdict.serving_budget"
    monkeypatch.setattr(name, lambda *_: Fraction(9, 10))
    said = r"the least ε_prv: at least .* by enclosures and at most 0\.9 by least budget"
    refuses(Contradiction, said, dipapprox.profile, dipapprox.parse(ROUNDED), eps=1, delta=0)


def test_rays_tell_nothing_where_their_outputs_are_impossible() -> None:
    # At ε = 1 it is always 2; at all others the first two outputs lose ε on rays.
    program = dipapprox.parse(
        "input q[2] in real\noutput o in {0, 1, 2}\nadjacent linf 1\n"
        "c <- choose { 1 : (eps-1)^2/(1+(eps-1)^2), 0 : 1/(1+(eps-1)^2) }\n"
        "x <- Lap(q[1], 2/eps)\ny <- Lap(q[2], 2/eps)\n"
        "if c = 1 then\n  if x > y then\n    o <- 1\n  else\n    o <- 0\n  end\n"
        "else\n  o <- 2\nend\n"
    )
    assert 0 in dipapprox.profile(program, eps=1, delta=0).eps_prv_enclosure
    assert 2 in dipapprox.profile(program, eps=2, delta=0).eps_prv_enclosure


def test_what_rays_lose_is_known_where_a_limit_ends_the_pairs(monkeypatch) -> None:
    def ended(*_) -> None:
        raise LimitReached("no more")

    monkeypatch.setattr("dipapprox.proofs.real_bounds.RealBounds.from_below", ended)
    program = dipapprox.parse(
        "input q[2] in real\noutput o in {0, 1}\nadjacent linf 1\n"
        "x <- Lap(q[1], 2/eps)\ny <- Lap(q[2], 4/eps)\no <- 0\n"
        "if x > y then\n  o <- 1\nend\n"
    )
    found = dipapprox.profile(program, eps=1, delta=0)
    # The second number's noise makes up for both: 2 · ε / 4.
    least = found.eps_prv_enclosure
    assert least.lower == least.upper == Fraction(1, 2)
    assert found.reason is None and found.witness is None


def test_what_was_known_from_below_stays_beside_a_budget() -> None:
    program = dipapprox.parse(COMPARED)
    claim = dipapprox.Claim(Fraction(1), Fraction(1, 10), Fraction(3, 20))
    stated = Verify(eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta).formulas()
    asked = stated, (claim.eps, claim.eps), claim
    open_ = verified(COMPARED, "1", "3/20", "7/1000")
    assert open_.answer is Answer.UNKNOWN
    known = replace(open_, claim=claim, delta_enclosure=Enclosure(Fraction(1, 100), Fraction(1)))
    setting = Setting(program, AllPairs(), dipapprox.Options())
    found = by_budget(known, Fraction(1, 5), *asked, setting)
    assert isinstance(found, Verdict) and found.answer is Answer.DP
    assert found.delta_enclosure is not None and found.delta_enclosure.lower == Fraction(1, 100)
    assert float(found.delta_enclosure.upper) == pytest.approx(
        (exp(0.2) - exp(0.15)) / (exp(0.2) + 1)
    )
    assert [end.by.split(":")[0] for end in found.why()] == ["enclosures", "least budget"]
    with pytest.raises(Contradiction, match=r"at least 0\.01 by enclosures and at most 0\.0 by"):
        by_budget(known, Fraction(1, 10), *asked, setting)


# --- Proved bounds against `decide`, which computes probabilities of finite programs exactly ------

Row = tuple[Fraction, ...]

NEARLY = Fraction(19, 20)


@cases(
    "path, parameters",
    ("svt_laplace", {"N": 2}),
    ("m_range_laplace", {}),
    ("k_min_max_laplace", {}),
    ("svt_geometric", {"N": 2}),
    ("svt_laplace_leaky_4", {"N": 2}),
    ("literature/noisy_max_exponential", {"N": 3}),
)
def test_budgets_hold_on_small_domains(path, parameters) -> None:
    program = parse(text_of(path), parameters, widen="-1..1" if len(parameters) else None)
    proof = prove_real(program)
    assert decide(program, budget=proof.upper).answer is Answer.DP


def along(proof: RealProof, steps: int) -> list[tuple[Row, Row]]:
    """Adjacent inputs from where rays begin, so many steps."""
    assert proof.between is not None and proof.between.is_ray
    return list(pairwise(map(proof.between.along, range(steps + 1))))


@cases(
    "path, parameters",
    ("svt_laplace", {"N": 2}),
    ("noisy_max_laplace", {"N": 3}),
    ("svt_geometric", {"N": 3}),
    ("literature/laplace_parallel", {"K": 3}),
    ("literature/noisy_histogram", {"N": 2}),
)
def test_rays_lose_nearly_the_budget(path, parameters) -> None:
    program = parse(text_of(path), parameters, widen="-60..60")
    proof = prove_real(program)
    pairs = along(proof, 4)
    assert decide(program, budget=proof.lower * NEARLY, pairs=pairs).answer is Answer.NOT_DP


@examples(2)
@given(texts("decisions", 20))
def test_random_programs(text) -> None:
    """Private at the upper bound on a small domain; far out on the ray not below the lower one."""
    program = parse(text, widen="-999..999")
    proof = prove_real(program)
    if proof.answer is Answer.DP:
        assert decide(parse(text), budget=proof.upper).answer is Answer.DP
    if proof.between is not None and proof.between.is_ray:
        pairs = along(proof, 20)
        if proof.answer is Answer.DP:
            last = decide(program, budget=proof.lower * NEARLY, pairs=pairs[-2:])
            assert last.answer is Answer.NOT_DP
        elif proof.answer is Answer.NOT_DP:
            assert decide(program, budget=20, pairs=pairs).answer is Answer.NOT_DP
