"""The least budget of a program with real inputs, at a fixed number of inputs.

    program → inputs taken as any numbers → final states, merged → a cone for each
        → per state the worst change and the cheapest shift: an upper bound
        → per output a ray of inputs on which that is lost: a lower bound

**Theorem (upper bound).** Let x be a shift for Δ as `cones` has them, of cost K. Moving the noise
by x maps the noises that lead to the state at inputs q into those that lead to it at q + Δ, one to
one, and none becomes more than e^(eps K) times less likely: |e_i + x_i| <= |e_i| + |x_i|, and
one-sided noise stays on its side. So Pr_j(q) <= e^(eps K) Pr_j(q + Δ). Costs are convex and the
changes of adjacent inputs are the convex hull of some boxes, so the dearest box bounds them all.
The states of an output add up; random choices among finitely many outcomes, which do not depend on
inputs, are a common factor of both sides. The lower bound is in `rays`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import LimitReached
from dipapprox.language.core import Program, Value
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.changes import Changes, changes_of
from dipapprox.proofs.cones import Cone, ConeBuilder, Pricing, Row
from dipapprox.proofs.proof import CoupledSample, OutputProof, Proof, StateProof
from dipapprox.proofs.rays import best_ray
from dipapprox.proofs.real_inputs import (
    NotReal,
    RealStates,
    execute_for_all_inputs,
    has_integer_inputs,
)
from dipapprox.proofs.worst_change import BoxShift, CostOfChanges, WorstChange
from dipapprox.semantics.state import FinalStates

SEVERAL_STATES = "an output comes about in several ways, which no shift keeps apart"


def prove_real(program: Program, limits: Limits) -> Proof:
    """Bound the least budget D for which a program is (D·eps, 0)-DP for every eps and all inputs.

    The declared domains play no part: inputs are real numbers, or integers if there is integer
    noise, and adjacency is taken of these.

    Args:
        program: A closed core program.
        limits: Budget of time, memory and states; where it ends, the answer is Unknown.

    Returns:
        DP with the least budget or bounds of it; Not_DP if no budget serves every eps; else Unknown
        with the reason. Wherever the program's random choices have probabilities at all.
    """
    nothing = Proof(
        program,
        Answer.UNKNOWN,
        "",
        Fraction(0),
        None,
        has_integer_inputs(program),
        None,
        (),
        None,
        (),
    )
    try:
        changes = changes_of(program.adjacency, len(program.inputs), nothing.integers)
        real = execute_for_all_inputs(program, limits)
        _require_one_direction(real.states)
        run = _Run(program, real, changes, limits)
    except NotReal as refused:
        return replace(nothing, reason=refused.reason)
    except LimitReached as reached:
        return replace(nothing, reason=reached.reason)
    try:
        run.prove_outputs()
    except LimitReached as reached:
        return run.result(reached.reason)
    return run.result("")


def _require_one_direction(states: FinalStates) -> None:
    """Raise NotReal unless one eps, or one limit of eps, is the worst for all samples."""
    powers = {sample.scale.power for sample in states.samples if not sample.family.is_gaussian}
    others = powers - {-1}
    if others and (min(others) < -1 < max(others) or states.choices):
        raise NotReal("scales of noise that are no multiples of 1/eps, with others or choices")


@dataclass(frozen=True, slots=True)
class _Costed:
    """A final state with its cone and what it costs."""

    cone: Cone
    cost: CostOfChanges
    worst: WorstChange


class _Run:
    """Proves output after output; what is done stands when a limit ends it."""

    def __init__(
        self,
        program: Program,
        real: RealStates,
        changes: Changes,
        limits: Limits,
    ) -> None:
        self._program, self._real, self._changes = program, real, changes
        self._limits = limits
        builder = ConeBuilder(real.states, limits)
        groups: dict[int, tuple[Sequence[Value], list[Cone]]] = {}
        for state in real.states.states:
            cone = builder.cone(state)
            if cone is not None:
                groups.setdefault(id(state.outputs), (state.outputs, []))[1].append(cone)
        self._groups = tuple(groups.values())
        self._proofs: list[OutputProof] = []
        self._dearest: OutputProof | None = None

    def prove_outputs(self) -> None:
        """Prove all outputs; one without a budget ends the search."""
        for output, cones in self._groups:
            costed = [self._costed(cone) for cone in cones]
            uppers = [each.worst.upper for each in costed]
            finite = [upper for upper in uppers if upper is not None]
            enough = max(finite) if len(finite) == len(uppers) else None
            ray = best_ray(
                [each.cost for each in costed],
                [each.worst.dearest for each in costed],
                enough,
                self._limits,
            )
            states = tuple(StateProof(each.cone, each.worst.shifts) for each in costed)
            proof = OutputProof(tuple(output), states, ray)
            self._proofs.append(proof)
            if self._dearest is None or _rank(proof) > _rank(self._dearest):
                self._dearest = proof
            if ray is not None and ray.loss is None:
                return

    def _costed(self, cone: Cone) -> _Costed:
        cost = CostOfChanges(cone, self._limits)
        return _Costed(cone, cost, cost.worst(self._changes.boxes))

    def result(self, ended: str) -> Proof:
        """Return what is known; `ended` says which limit ended the search, if one did."""
        radius = self._changes.radius
        proofs = tuple(self._proofs)
        rays = [proof.ray for proof in proofs if proof.ray is not None]
        losses = [ray.loss for ray in rays if ray.loss is not None]
        lower = max(losses, default=Fraction(0)) * radius
        uppers = [_upper(proof) for proof in proofs]
        finite = [upper for upper in uppers if upper is not None]
        upper = None if ended or len(finite) < len(uppers) else max(finite, default=Fraction(0))
        dearest = self._dearest
        known = Proof(
            self._program,
            Answer.UNKNOWN,
            ended,
            lower,
            None,
            self._real.integers,
            self._changes,
            proofs,
            dearest,
        )
        if not radius:
            return replace(known, answer=Answer.DP, reason="", lower=radius, upper=radius)
        unbounded = next((proof for proof in proofs if _has_no_budget(proof)), None)
        if unbounded is not None:
            reason = self._trouble(unbounded)
            return replace(known, answer=Answer.NOT_DP, reason=reason, dearest=unbounded)
        if not self._changes.is_bounded and lower:
            reason = "adjacent inputs may differ by any amount"
            return replace(known, answer=Answer.NOT_DP, reason=reason)
        if upper is None or (upper and not self._changes.is_bounded):
            reason = ended or (SEVERAL_STATES if dearest is None else self._trouble(dearest))
            return replace(known, reason=reason)
        each = _dearest_shift(dearest)
        return replace(
            known,
            answer=Answer.DP,
            reason="" if upper * radius == lower else SEVERAL_STATES,
            upper=upper * radius,
            coupling=() if each is None else _coupled(each[0].cone, each[1], radius),
            coupled=() if each is None else each[1].box,
        )

    def _trouble(self, proof: OutputProof) -> str:
        """Say why an output has no budget, or no shift."""
        flows = () if proof.ray is None else proof.ray.flows
        touched = {
            source
            for state, flow in zip(proof.states, flows, strict=False)
            if flow.cost is None
            for place, source in enumerate(state.cone.sources)
            if source.rate is None and _total(state.cone.rows, flow.flow, place)
        }
        for source in sorted(touched, key=lambda each: (each.line or 0, each.label)):
            place = f"'{source.label}'" if source.line is None else f"line {source.line}"
            match source.pricing:
                case Pricing.GAUSSIAN:
                    return (
                        f"{place}: Gaussian noise has no finite pure budget: "
                        "'profile' gives its delta"
                    )
                case Pricing.SCALE:
                    return f"{place}: the scale is no multiple of 1/eps: no budget serves every eps"
                case Pricing.LINEAR:
                    pass
        if _has_no_budget(proof):
            return "an output becomes impossible at adjacent inputs"
        return "inputs are compared without noise, and no shift keeps the outcome"


def _dearest_shift(proof: OutputProof | None) -> tuple[StateProof, BoxShift] | None:
    """The state and the shift that an output's upper bound comes from; None if nothing costs."""
    if proof is None:
        return None
    pairs = ((state, shift) for state in proof.states for shift in state.shifts or ())
    found = max(pairs, key=lambda pair: pair[1].cost, default=None)
    return found if found is not None and found[1].cost else None


def _coupled(cone: Cone, found: BoxShift, radius: Fraction) -> tuple[CoupledSample, ...]:
    return tuple(
        CoupledSample(
            source.label,
            source.line,
            source.mean,
            shift * radius,
            (source.rate or 0) * abs(shift) * radius,
        )
        for source, shift in zip(cone.sources, found.shift, strict=True)
    )


def _total(rows: Sequence[Row], flow: Iterable[Fraction], place: int) -> Fraction:
    """Σ_g y_g a_gi."""
    return sum(
        (y * a for y, row in zip(flow, rows, strict=True) for i, a in row.noise if i == place),
        Fraction(0),
    )


def _upper(proof: OutputProof) -> Fraction | None:
    """What an output costs at most, in multiples of radius · eps; None if that is unknown."""
    costs = [
        None if state.shifts is None else max((each.cost for each in state.shifts), default=None)
        for state in proof.states
    ]
    finite = [cost for cost in costs if cost is not None]
    return max(finite) if len(finite) == len(costs) else None


def _has_no_budget(proof: OutputProof) -> bool:
    return proof.ray is not None and proof.ray.loss is None


def _rank(proof: OutputProof) -> tuple[bool, bool, Fraction]:
    upper = _upper(proof)
    return _has_no_budget(proof), upper is None, upper or Fraction(0)
