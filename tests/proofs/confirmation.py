"""Whether a proof proves what it says: everything is recomputed from the cones, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from dipapprox import decide
from dipapprox.data_classes import replace
from dipapprox.language.domains import AllReals
from dipapprox.linear.programme import UnknownSide
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.changes import Box, Changes
from dipapprox.proofs.cones import Cone
from dipapprox.proofs.places import Places
from dipapprox.proofs.proof import OutputProof, PartProof, Proof
from dipapprox.proofs.vanishing import Vanishing
from dipapprox.proofs.worst_change import BoxShift, DearChange
from dipapprox.semantics.real_inputs import with_values


def confirm(proof: Proof) -> None:
    """Fail unless the evidence gives the bounds of the proof."""
    changes = proof.changes
    assert changes is not None
    for part in proof.parts:
        for output in part.outputs:
            confirm_output(output, [own(part, box) for box in changes.boxes])
    lost = confirmed_loss(proof, changes)
    between = proof.vanishing if proof.places is None else proof.places
    if between is not None:
        assert lost == 0
        confirm_between(proof, between)
        lost = None if between.loss is None else between.loss / changes.radius
    match proof.answer:
        case Answer.DP:
            uppers = [
                sum((most_in(part, own(part, box)) for part in proof.parts), Fraction(0))
                for box in changes.boxes
            ]
            assert proof.upper == max(uppers, default=Fraction(0)) * changes.radius
            assert lost is not None
            assert proof.lower == lost * changes.radius <= proof.upper
            assert sum((each.cost for each in proof.coupling), Fraction(0)) == proof.upper
            assert (proof.reason == "") == proof.is_exact
        case Answer.NOT_DP:
            assert proof.upper is None
            assert lost is None or (lost and not changes.is_bounded)
            assert proof.reason
        case Answer.UNKNOWN:
            assert proof.upper is None
            assert lost is not None
            assert proof.lower == lost * changes.radius
            assert proof.reason


def confirm_between(proof: Proof, between: Places | Vanishing) -> None:
    """Check that two inputs need nearly the budget at some eps, however large it is said to be."""
    reals = [replace(cell, domain=AllReals()) for cell in proof.program.inputs]
    pair = between.first, between.second
    program = with_values(replace(proof.program, inputs=tuple(reals)), [pair])
    if not program.real_outputs:
        budget = Fraction(100) if between.loss is None else Fraction(19, 20) * between.loss
        assert decide(program, budget=budget, pairs=[pair]).answer is Answer.NOT_DP


def own(part: PartProof, box: Box) -> Box:
    return tuple(box[k] for k in part.inputs)


def most_in(part: PartProof, box: Box) -> Fraction:
    """What a part costs at most for changes in a box; every corner of it is covered."""
    costs = []
    for output in part.outputs:
        for state in output.states:
            assert state.shifts is not None
            inside = [
                shift
                for shift in state.shifts
                if all(lo <= a and b <= hi for (a, b), (lo, hi) in zip(shift.box, box, strict=True))
            ]
            for corner in product(*(sorted({*ends}) for ends in box)):
                assert any(contains(shift.box, corner) for shift in inside)
            costs += [shift.cost for shift in inside]
    return max(costs)


def confirm_output(output: OutputProof, boxes: Sequence[Box]) -> None:
    for state in output.states:
        for shift in state.shifts or ():
            confirm_shift(state.cone, shift)
        confirm_flow(state.cone, state.dearest)
    if output.ray is not None:
        assert any(contains(box, output.ray.target) for box in boxes)


def contains(box: Box, corner: Sequence[int]) -> bool:
    return all(lo <= change <= hi for (lo, hi), change in zip(box, corner, strict=True))


def confirm_shift(cone: Cone, shift: BoxShift) -> None:
    """Check that a shift keeps all rows for every change in its box, and what it costs."""
    for source, x in zip(cone.sources, shift.shift, strict=True):
        assert source.rate is not None or x == 0
        assert source.side is not UnknownSide.AT_LEAST_ZERO or x >= 0
        assert source.side is not UnknownSide.AT_MOST_ZERO or x <= 0
        assert not source.is_integer or x.denominator == 1
    for row in cone.rows:
        moved = sum(a * shift.shift[i] for i, a in row.noise)
        assert moved <= sum(min(c * end for end in shift.box[k]) for k, c in row.inputs)
    pairs = zip(cone.sources, shift.shift, strict=True)
    assert shift.cost == sum((s.rate or 0) * abs(x) for s, x in pairs)


def confirm_flow(cone: Cone, flow: DearChange) -> None:
    """Check that a flow proves a change as dear as it says."""
    assert all(y >= 0 for y in flow.flow)
    for i, source in enumerate(cone.sources):
        if source.rate is None:
            continue
        rate = source.rate if flow.cost is not None else 0
        pairs = zip(flow.flow, cone.rows, strict=True)
        total = sum((y * dict(row.noise).get(i, 0) for y, row in pairs), Fraction(0))
        assert source.side is UnknownSide.AT_LEAST_ZERO or total <= rate
        assert source.side is UnknownSide.AT_MOST_ZERO or total >= -rate
    paid = Fraction(0)
    for y, row in zip(flow.flow, cone.rows, strict=True):
        paid -= y * sum(c * flow.change[k] for k, c in row.inputs)
    assert paid > 0 if flow.cost is None else paid == flow.cost


def confirmed_loss(proof: Proof, changes: Changes) -> Fraction | None:
    """What is lost along all rays at once, which is one change of the inputs; None for ∞."""
    total: Fraction | None = Fraction(0)
    step, start = dict[int, int](), dict[int, Fraction]()
    assert len({each.part for each in proof.losses}) == len(proof.losses)
    for each in proof.losses:
        part = proof.parts[each.part]
        for k, d in zip(part.inputs, each.ray.target, strict=True):
            assert step.setdefault(k, d) == d
        state = part.outputs[each.output].states[0]
        for k, q in zip(part.inputs, state.cone.start, strict=True):
            assert start.setdefault(k, q) == q
        total = None if total is None or each.ray.loss is None else total + each.ray.loss
    assert total is not None or len(proof.losses) == 1
    if proof.losses:
        assert any(
            all(k not in step or lo <= step[k] <= hi for k, (lo, hi) in enumerate(box))
            for box in changes.boxes
        )
    return total
