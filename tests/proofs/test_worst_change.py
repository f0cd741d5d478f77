"""Budgets against scipy's HiGHS, `decide`, and claims that a budget answers."""

import json
from fractions import Fraction
from itertools import pairwise, product
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import dipapprox
from dipapprox import Answer, Enclosure, Limits, Program, Verdict, decide, parse
from dipapprox.data_classes import replace
from dipapprox.errors import Contradiction
from dipapprox.language.core import Norm, Within
from dipapprox.linear.programme import UnknownSide
from dipapprox.pairs.adjacency import allows
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proofs.budget_verdict import by_budget, serving_budget
from dipapprox.proofs.changes import Change, changes_of
from dipapprox.proofs.cones import Cone, GuardRow, Pricing, ShiftSource
from dipapprox.proofs.prove_real import prove_real
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.worst_change import CostOfChanges
from dipapprox.questions.verify import Verify
from tests.cases import cases, refuses
from tests.texts import text_of
from tests.thorough import examples


def source(rate: Fraction | None, side: UnknownSide) -> ShiftSource:
    pricing = Pricing.GAUSSIAN if rate is None else Pricing.LINEAR
    return ShiftSource("r", 1, pricing, rate, side, (), False)


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
    costs = CostOfChanges(cone, Limits())
    for _ in range(3):  # later ones start from what was optimal before
        change = tuple(data.draw(st.integers(-3, 3)) for _ in range(3))
        flow = costs.at(change)
        assert as_float(flow.cost) == pytest.approx(cost_by_highs(cone, change))
        worst = costs.worst([tuple((d, d) for d in change)])
        assert worst.dearest.cost == worst.upper == flow.cost


@given(cones())
def test_the_worst_change_is_the_worst_corner(cone) -> None:
    box = ((-1, 1),) * 3
    worst = CostOfChanges(cone, Limits()).worst([box])
    corners = [cost_by_highs(cone, corner) for corner in product(*box)]
    assert as_float(worst.dearest.cost) == pytest.approx(max(corners))
    assert as_float(worst.upper) == pytest.approx(max(corners))


SUM = """input q[2] in {inputs}
output out in {{low, high}}
adjacent l1 {radius}
r <- Lap(q[1] + q[2], 1 / eps)
if r >= 1 then out <- high else out <- low end
"""


@cases(
    "text, budget",
    # Radii between multiples of the width are used up: by one input as far as it goes, and another.
    *(
        (SUM.format(inputs="real 0..3/4", radius=radius), min(Fraction(radius), Fraction(3, 2)))
        for radius in ("1", "5/4", "3/2", "2")
    ),
    # All of the radius goes to s, which moves both samples, by 3 times as much as is lost.
    (text_of("proofs/worst_change-between"), 3 * Fraction(3, 2)),
    # An input that is read twice goes as far as it can, though a wider one is worth more.
    (text_of("proofs/worst_change-twice"), Fraction(3, 4) * Fraction(3, 2) + Fraction(3, 2)),
)
def test_changes_go_where_they_are_dearest(text, budget) -> None:
    """As eps vanishes all of it is lost."""
    proof = dipapprox.prove(dipapprox.parse(text))
    assert proof.lower == proof.upper == budget


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


@cases(
    "eps, eps_prv, delta, answer",
    ("1/2..1", "eps", "0", Answer.DP),
    ("1/2..1", "eps/5", "eps/10", Answer.DP),  # nothing is left over
    ("1/2..1", "eps/6", "0", Answer.UNKNOWN),
    ("1/2..1", "1/5", "0", Answer.DP),
    ("1/2..1", "19/100", "0", Answer.UNKNOWN),
    ("1/2..1", "log(1 + eps)", "0", Answer.DP),
    ("1/2..1", "eps/10 + delta/10", "1/100", Answer.UNKNOWN),
    ("1", "sqrt(eps)/4", "exp(-3)", Answer.DP),
    ("1", "sqrt(eps)/6", "exp(-3)", Answer.DP),  # as randomised response with 1/5: 0.018
    ("1", "sqrt(eps)/6", "exp(-5)", Answer.UNKNOWN),
)
def test_claims_that_vary_with_eps(eps, eps_prv, delta, answer) -> None:
    found = dipapprox.verify(dipapprox.parse(COMPARED), eps=eps, eps_prv=eps_prv, delta=delta)
    assert found.answer is answer
    assert json.loads(found.to_json())["verdict"] == answer.value
    assert found.describe()


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


def test_a_budget_that_a_pair_contradicts_stops_the_run(monkeypatch) -> None:
    name = "dipapprox.proofs.budget_verdict.serving_budget"
    monkeypatch.setattr(name, lambda *_: Fraction(9, 10))
    said = r"the least ε_prv: at least .* by enclosures and at most 0\.9 by least budget"
    refuses(Contradiction, said, dipapprox.profile, dipapprox.parse(ROUNDED), eps=1, delta=0)


def test_what_was_known_from_below_stays_beside_a_budget() -> None:
    program = dipapprox.parse(COMPARED)
    claim = dipapprox.Claim(Fraction(1), Fraction(1, 10), Fraction(3, 20))
    stated = Verify(eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    open_ = verified(COMPARED, "1", "3/20", "1/1000")
    assert open_.answer is Answer.UNKNOWN
    known = replace(open_, claim=claim, delta_enclosure=Enclosure(Fraction(1, 100), Fraction(1)))
    setting = Setting(program, AllPairs(), dipapprox.Options())
    found = by_budget(known, Fraction(1, 5), stated, setting)
    assert isinstance(found, Verdict) and found.answer is Answer.DP
    assert found.delta_enclosure is not None and found.delta_enclosure.lower == Fraction(1, 100)
    assert float(found.delta_enclosure.upper) == pytest.approx(
        (exp(0.2) - exp(0.15)) / (exp(0.2) + 1)
    )
    assert [end.by.split(":")[0] for end in found.why()] == ["enclosures", "least budget"]
    with pytest.raises(Contradiction, match=r"at least 0\.01 by enclosures and at most 0\.0 by"):
        by_budget(known, Fraction(1, 10), stated, setting)


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
    proof = prove_real(program, Limits())
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
    proof = prove_real(program, Limits())
    pairs = along(proof, 4)
    assert decide(program, budget=proof.lower * NEARLY, pairs=pairs).answer is Answer.NOT_DP


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Decision trees over three samples and two inputs, with an output at each leaf."""
    lines = [
        "input q[2] in -1..1",
        "output out in {1, 2, 3}",
        draw(st.sampled_from(["adjacent linf 1", "adjacent l1 1", "adjacent increasing 1"])),
    ]
    means = ["0", "q[1]", "q[2]", "q[1] + 1", "0 - q[2]", "q[1] - q[2]"]
    laws = draw(st.sampled_from([["Lap", "Lap", "LapPlus", "LapMinus"], ["DLap"]]))
    for k in range(1, 4):
        law, mean = draw(st.sampled_from(laws)), draw(st.sampled_from(means))
        lines.append(f"r{k} <- {law}({mean}, {draw(st.integers(1, 3))} / eps)")
    sides = ["r1", "r2", "r3", "0", "1", "q[1]"]

    def tree(depth: int) -> None:
        if depth == 0:
            lines.append(f"out <- {draw(st.integers(1, 3))}")
            return
        left = draw(st.sampled_from(sides[:3]))
        right = draw(st.sampled_from([side for side in sides if side != left]))
        lines.append(f"if {left} {draw(st.sampled_from(['<', '>=']))} {right} then")
        tree(depth - draw(st.integers(1, 2)) if depth > 1 else 0)
        lines.append("else")
        tree(depth - 1)
        lines.append("end")

    tree(3)
    return "\n".join(lines) + "\n"


@examples(2)
@given(programs())
def test_random_programs(text) -> None:
    """Private at the upper bound on a small domain; far out on the ray not below the lower one."""
    program = parse(text, widen="-999..999")
    proof = prove_real(program, Limits())
    if proof.answer is Answer.DP:
        assert decide(parse(text), budget=proof.upper).answer is Answer.DP
    if proof.between is not None and proof.between.is_ray:
        pairs = along(proof, 20)
        if proof.answer is Answer.DP:
            last = decide(program, budget=proof.lower * NEARLY, pairs=pairs[-2:])
            assert last.answer is Answer.NOT_DP
        elif proof.answer is Answer.NOT_DP:
            assert decide(program, budget=20, pairs=pairs).answer is Answer.NOT_DP
