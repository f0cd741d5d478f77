"""Certificates of budgets for real inputs are written: what was proved, and all a check needs.

In: a proof and the program's text. Out: the JSON object that `certificates.real_inputs` defines.
Unknown has no certificate. Programs with finite choices are proved once more, `by_cases`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from dipapprox.certificates.budgets import BudgetClaimed, StatedBounds
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.real_inputs import (
    FORMAT,
    VERSION,
    CertificateAgainstRealInputs,
    CertificateOfRealInputs,
    Chosen,
    Coefficient,
    HalfSpace,
    RecordedFlow,
    RecordedOutput,
    RecordedPart,
    RecordedPlaceLoss,
    RecordedPlaces,
    RecordedRay,
    RecordedShift,
    RecordedState,
    RecordedVanishing,
    RecordedVanishingLoss,
)
from dipapprox.certificates.statement import Computed, RecordedProgram
from dipapprox.certificates.writing import UNSIGNED
from dipapprox.errors import BrokenInvariant, LimitReached, UserError
from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, DPG, parse_program
from dipapprox.limits import Limits
from dipapprox.privacy.certificate import MOST_ENTRIES, Certificate, versions
from dipapprox.privacy.notation import plain_value
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.by_cases import by_cases
from dipapprox.proofs.cones import Cone, Row
from dipapprox.proofs.places import PlaceLoss, Places
from dipapprox.proofs.point_costs import PointCost
from dipapprox.proofs.proof import OutputProof, PartProof, Proof, StateProof
from dipapprox.proofs.rays import Ray
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.subject import with_real_inputs
from dipapprox.proofs.vanishing import Vanishing
from dipapprox.proofs.worst_change import BoxShift, Flow
from dipapprox.semantics.linear import LinearForm


def certify_real(proof: RealProof, text: str, limits: Limits) -> Certificate:
    """Record what was proved of a program with real inputs.

    Args:
        proof: The answer.
        text: The program's text, `.dpg` or `.dip`.
        limits: For what is proved again, by cases.

    Raises:
        UserError: If there is no evidence that could be recorded, or `text` is not the program's.
        LimitReached: If `limits` run out, the evidence is too large, or there is none by cases.
    """
    missing = without_evidence(proof)
    changes = proof.proof.changes
    if missing is not None or changes is None:
        raise UserError(f"no certificate: {missing}")
    program = proof.proof.program
    language, reals = _language_of(text, program)
    found = by_cases(proof.proof, limits)
    private = proof.answer is Answer.DP
    places = found.places
    on_rays = {(each.part, each.output) for each in found.losses}
    between = {(each.part, each.output) for each in (() if places is None else places.losses)}
    evidence = tuple(
        _part(part, _of_part(number, on_rays), _of_part(number, between), private)
        for number, part in enumerate(found.parts)
    )
    _require_few(evidence)
    bounds = StatedBounds(lower=proof.lower, upper=proof.upper if private else None)
    stated: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "program": RecordedProgram(
            name=program.name, language=language, text=text, sha256=text_hash(text)
        ),
        "params": dict(program.parameters),
        "reals": reals,
        "claim": BudgetClaimed(budget=proof.budget),
        "least_budget": None if proof.has_none else bounds,
        "radius": changes.radius,
        "evidence": evidence,
        "places": None if places is None else _places(places, found, private),
        "vanishing": None if found.vanishing is None else _vanishing(found.vanishing),
        "computed": Computed(engine="exact", **versions()),
        "digest": UNSIGNED,
    }
    if private:
        return Certificate.of(CertificateOfRealInputs(**stated, verdict="DP"))
    return Certificate.of(CertificateAgainstRealInputs(**stated, verdict="Not_DP"))


def _language_of(text: str, program: core.Program) -> tuple[str, bool]:
    """Return the language in which a text is a program, and whether all its inputs became real.

    Raises:
        UserError: If it is that program in no language.
    """
    for language in (DPG, DIP):
        try:
            parsed = parse_program(text, language, program.name)
            read = elaborate(parsed, program.parameters, program.name)
        except UserError:
            continue
        reals = any(not isinstance(cell.domain, AllReals) for cell in read.inputs)
        if (with_real_inputs(read) if reals else read) == program:
            return language, reals
    raise UserError("the text is not that of the program of which this was proved")


def without_evidence(proof: RealProof) -> str | None:
    """Say why a proof has no evidence that could be recorded; None if it has some."""
    found = proof.proof
    adjacency = found.program.adjacency
    if proof.answer is Answer.UNKNOWN:
        return "the answer is Unknown"
    if found.changes is None or not found.changes.radius:
        return "adjacent inputs are equal"
    if isinstance(adjacency, core.Listed):
        return "adjacent inputs are listed"
    if proof.answer is Answer.NOT_DP and not _is_recorded(found):
        return "that an output tells inputs is not recorded"
    cones = [s.cone for part in found.parts for output in part.outputs for s in output.states]
    if any(len({s.site for s in cone.sources}) < len(cone.sources) for cone in cones):
        return "a draw has several means in one outcome"
    return None


def _is_recorded(found: Proof) -> bool:
    """Whether there is evidence of a lower bound."""
    return bool(found.losses) or found.places is not None or found.vanishing is not None


def _require_few(evidence: Iterable[RecordedPart]) -> None:
    states = [state for part in evidence for output in part.outputs for state in output.states]
    entries = sum(len(state.guards) + len(state.shifts or ()) for state in states)
    if entries > MOST_ENTRIES // 10:
        raise LimitReached(f"evidence of {entries} half spaces and shifts")


def _of_part(part: int, outputs: Iterable[tuple[int, int]]) -> set[int]:
    return {output for number, output in outputs if number == part}


def _part(part: PartProof, on_rays: set[int], between: set[int], private: bool) -> RecordedPart:
    return RecordedPart(
        inputs=part.inputs,
        cells=part.cells,
        cases=tuple([tuple([Chosen(*each) for each in case]) for case in part.cases]),
        outputs=tuple(
            [
                _output(output, part, number in on_rays, private)
                for number, output in enumerate(part.outputs)
                if private or number in on_rays | between
            ]
        ),
    )


def _output(output: OutputProof, part: PartProof, loses: bool, private: bool) -> RecordedOutput:
    ray = output.ray if loses else None
    return RecordedOutput(
        output=tuple([plain_value(value) for value in output.output]),
        states=tuple([_state(state, part, private) for state in output.states]),
        ray=None if ray is None else _ray(ray, output),
    )


def _state(state: StateProof, part: PartProof, private: bool) -> RecordedState:
    shifts = None
    if private and state.shifts is not None:
        shifts = tuple(
            [
                RecordedShift(each.box, _moved(each, state.cone), each.cost)  # type: ignore[arg-type]  # -1, 0, 1
                for each in state.shifts
            ]
        )
    cone = state.cone
    guards, shown = _half_spaces(cone.guards, cone), _half_spaces(cone.shown, cone)
    return RecordedState(case=state.case, guards=tuple(guards), shown=tuple(shown), shifts=shifts)


def _half_spaces(forms: Iterable[LinearForm], cone: Cone) -> Iterator[HalfSpace]:
    for form in forms:
        noise = sorted((cone.sources[s].site, c) for s, c in form.terms if isinstance(s, int))
        inputs = sorted((cone.inputs[s], c) for s, c in form.terms if isinstance(s, str))
        yield HalfSpace(_coefficients(noise), _coefficients(inputs), form.constant)


def _coefficients(numbers: Iterable[tuple[int, Fraction]]) -> tuple[Coefficient, ...]:
    return tuple([Coefficient(place, Fraction(value)) for place, value in numbers])


def _moved(shift: BoxShift, cone: Cone) -> tuple[Coefficient, ...]:
    pairs = zip(cone.sources, shift.shift, strict=True)
    return _coefficients(sorted((source.site, x) for source, x in pairs if x))


def _ray(ray: Ray, output: OutputProof) -> RecordedRay:
    state = output.states[ray.state]
    return RecordedRay(
        start=state.cone.start,
        origin=ray.origin,
        target=ray.target,
        flows=tuple(
            [_flow(flow, each.cone) for flow, each in zip(ray.flows, output.states, strict=True)]
        ),
        state=ray.state,
        shift=_moved(ray.shift, state.cone),
        loss=ray.loss,
    )


def _places(places: Places, proof: Proof, private: bool) -> RecordedPlaces:
    return RecordedPlaces(
        first=places.first,
        second=places.second,
        losses=tuple([_place_loss(each, places, proof, private) for each in places.losses]),
    )


def _place_loss(loss: PlaceLoss, places: Places, proof: Proof, private: bool) -> RecordedPlaceLoss:
    # Without an upper bound only what loses is recorded: one output of the part.
    states = proof.parts[loss.part].outputs[loss.output].states
    pairs = zip(states[loss.state].cone.sources, loss.noise, strict=True)
    return RecordedPlaceLoss(
        part=loss.part,
        output=loss.output if private else 0,
        shown=loss.shown,
        state=loss.state,
        noise=_coefficients(sorted((source.site, e) for source, e in pairs if e)),
        flows=tuple([_place_flow(each) for each in loss.costs]),
        loss=loss.loss,
    )


def _vanishing(vanishing: Vanishing) -> RecordedVanishing:
    losses = [
        RecordedVanishingLoss(
            part=each.part,
            output=tuple([plain_value(value) for value in each.output]),
            loss=each.loss,
        )
        for each in vanishing.losses
    ]
    return RecordedVanishing(first=vanishing.first, second=vanishing.second, losses=tuple(losses))


def _place_flow(cost: PointCost | None) -> RecordedFlow | None:
    if cost is None:
        return None
    flow = [(place, y) for place, y in enumerate(cost.flow) if y]
    return RecordedFlow(_coefficients(flow), cost.cost)


def _flow(flow: Flow, cone: Cone) -> RecordedFlow:
    """Write a flow over the rows of a cone as one over its guards, of which rows are multiples."""
    found = list[tuple[int, Fraction]]()
    for y, row in zip(flow.flow, cone.rows, strict=True):
        if y:
            place, factor = _guard_of(row, cone)
            found.append((place, y * factor))
    return RecordedFlow(_coefficients(sorted(found)), flow.cost)


def _guard_of(row: Row, cone: Cone) -> tuple[int, Fraction]:
    """Return a guard that a row is a multiple of, and the factor."""
    sides = [side for form in cone.shown for side in (form, -form)]
    for place, form in enumerate((*cone.guards, *sides)):
        noise = {s: c for s, c in form.terms if isinstance(s, int)}
        inputs = {cone.inputs[s]: -c for s, c in form.terms if isinstance(s, str)}
        factor = _factor(dict(row.noise) | {-1 - k: c for k, c in row.inputs}, noise | {
            -1 - k: c for k, c in inputs.items()
        })  # fmt: skip
        if factor is not None:
            return place, factor
    raise BrokenInvariant("a row of a cone is a multiple of no guard")


def _factor(one: dict[int, int], other: dict[int, Fraction]) -> Fraction | None:
    """Return the number > 0 that makes one form of the other; None if none does."""
    if one.keys() != other.keys() or not one:
        return None
    factors = {Fraction(one[k]) / other[k] for k in one}
    factor = factors.pop()
    return factor if not factors and factor > 0 else None
