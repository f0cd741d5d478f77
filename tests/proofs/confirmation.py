"""Whether a proof proves what it says: everything is recomputed from the cones, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.changes import Box, Changes
from dipapprox.proofs.cones import Cone
from dipapprox.proofs.linear_programme import Side
from dipapprox.proofs.proof import OutputProof, Proof
from dipapprox.proofs.worst_change import BoxShift, Flow


def confirm(proof: Proof) -> None:
    """Fail unless the evidence gives the bounds of the proof."""
    assert proof.changes is not None
    radius = proof.changes.radius
    losses = [confirmed_loss(output, proof.changes) for output in proof.outputs]
    finite = [loss for loss in losses if loss is not None]
    assert proof.lower == max(finite, default=Fraction(0)) * radius
    match proof.answer:
        case Answer.DP:
            assert len(finite) == len(losses)
            uppers = [confirmed_upper(output, proof.changes) for output in proof.outputs]
            assert proof.upper == max(uppers, default=Fraction(0)) * radius
            assert proof.lower <= proof.upper
            cost = sum((each.cost for each in proof.coupling), Fraction(0))
            assert cost <= proof.upper
        case Answer.NOT_DP:
            assert proof.upper is None
            assert len(finite) < len(losses) or (proof.lower and not proof.changes.is_bounded)
        case Answer.UNKNOWN:
            assert proof.upper is None
            assert proof.reason


def confirmed_upper(output: OutputProof, changes: Changes) -> Fraction:
    """What an output costs at most."""
    costs = []
    for state in output.states:
        assert state.shifts is not None
        for shift in state.shifts:
            confirm_shift(state.cone, shift)
        for box in changes.boxes:
            for corner in product(*box):
                assert any(contains(shift.box, corner) for shift in state.shifts)
        costs += [shift.cost for shift in state.shifts]
    return max(costs)


def contains(box: Box, corner: Sequence[int]) -> bool:
    return all(lo <= change <= hi for (lo, hi), change in zip(box, corner, strict=True))


def confirm_shift(cone: Cone, shift: BoxShift) -> None:
    """Check that a shift keeps all rows at every corner of its box, and what it costs."""
    for source, x in zip(cone.sources, shift.shift, strict=True):
        assert source.rate is not None or x == 0
        assert source.side is not Side.AT_LEAST_ZERO or x >= 0
        assert source.side is not Side.AT_MOST_ZERO or x <= 0
        assert not source.is_integer or x.denominator == 1
    for corner in product(*(sorted({*ends}) for ends in shift.box)):
        for row in cone.rows:
            moved = sum(a * shift.shift[i] for i, a in row.noise)
            assert moved <= sum(c * corner[k] for k, c in row.inputs)
    pairs = zip(cone.sources, shift.shift, strict=True)
    assert shift.cost == sum((s.rate or 0) * abs(x) for s, x in pairs)


def confirm_flow(cone: Cone, flow: Flow) -> None:
    """Check that a flow proves a change as dear as it says."""
    assert all(y >= 0 for y in flow.flow)
    for i, source in enumerate(cone.sources):
        if source.rate is None:
            continue
        rate = source.rate if flow.cost is not None else 0
        pairs = zip(flow.flow, cone.rows, strict=True)
        total = sum((y * dict(row.noise).get(i, 0) for y, row in pairs), Fraction(0))
        assert source.side is Side.AT_LEAST_ZERO or total <= rate
        assert source.side is Side.AT_MOST_ZERO or total >= -rate
    paid = Fraction(0)
    for y, row in zip(flow.flow, cone.rows, strict=True):
        paid -= y * sum(c * flow.change[k] for k, c in row.inputs)
    assert paid > 0 if flow.cost is None else paid == flow.cost


def confirmed_loss(output: OutputProof, changes: Changes) -> Fraction | None:
    """What an output loses along its ray; None for ∞."""
    ray = output.ray
    if ray is None:
        return Fraction(0)
    step = tuple(b - a for a, b in zip(ray.origin, ray.target, strict=True))
    assert any(contains(box, step) for box in changes.boxes)
    start = output.states[ray.state]
    assert ray.shift.box == tuple((a, a) for a in ray.origin)
    confirm_shift(start.cone, ray.shift)
    for state, flow in zip(output.states, ray.flows, strict=True):
        assert flow.change == ray.target
        confirm_flow(state.cone, flow)
    costs = [flow.cost for flow in ray.flows if flow.cost is not None]
    loss = min(costs) - ray.shift.cost if costs else None
    assert loss == ray.loss
    return loss
