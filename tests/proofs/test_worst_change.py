"""Worst changes: against scipy's HiGHS at every corner, and all pairs of finite inputs."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import dipapprox
from dipapprox.language.core import Norm, Within
from dipapprox.limits import Limits
from dipapprox.linear.programme import UnknownSide
from dipapprox.proofs.changes import Change, allows, changes_of
from dipapprox.proofs.cones import Cone, GuardRow, Pricing, ShiftSource
from dipapprox.proofs.worst_change import CostOfChanges


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
def test_the_cost_of_a_change_agrees_with_highs(cone: Cone, data: st.DataObject) -> None:
    costs = CostOfChanges(cone, Limits())
    for _ in range(3):  # later ones start from what was optimal before
        change = tuple(data.draw(st.integers(-3, 3)) for _ in range(3))
        flow = costs.at(change)
        assert as_float(flow.cost) == pytest.approx(cost_by_highs(cone, change))
        worst = costs.worst([tuple((d, d) for d in change)])
        assert worst.dearest.cost == worst.upper == flow.cost


@given(cones())
def test_the_worst_change_is_the_worst_corner(cone: Cone) -> None:
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


def test_a_radius_between_multiples_of_the_width_is_bounded_from_both_sides() -> None:
    proof = dipapprox.prove(dipapprox.parse(SUM.format(inputs="real 0..1", radius="3/2")))
    assert proof.lower <= Fraction(3, 2) <= proof.upper


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("radius", [Fraction(n, 2) for n in (0, 1, 2, 3, 5)])
def test_boxes_hold_every_change(norm: Norm, radius: Fraction) -> None:
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
