"""The least budget of a program with real inputs, at a fixed number of inputs.

    program → inputs taken as any numbers → final states, merged → a cone for each
        → per state the worst change and the cheapest shift: an upper bound
        → per output a ray of inputs on which that is lost: a lower bound

**Theorem (upper bound).** Let x be a shift for Δ as `cones` has them, of cost K. Moving the noise
by x maps the noises that lead to the state at inputs q into those that lead to it at q + Δ, one to
one, with the same real outputs, and none becomes more than e^(eps K) times less likely:
|e_i + x_i| <= |e_i| + |x_i|, and one-sided noise stays on its side. So Pr_j(q) <= e^(eps K)
Pr_j(q + Δ). Costs are convex and the changes of adjacent inputs are the convex hull of some boxes,
so the dearest box bounds them all. The states of an output add up; random choices among finitely
many outcomes, which do not depend on inputs, are a common factor of both sides. The lower bound is
in `worst_change`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, EarlyEnd, LimitReached
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import ALL_EPSILONS
from dipapprox.language.core import Program
from dipapprox.laws.distribution import weights_of
from dipapprox.proofs.cones import Cone, Pricing, ShiftSource
from dipapprox.proofs.part_proofs import PartRun, free_losses, joint_losses, share_inputs
from dipapprox.proofs.places import between_places, turns_of
from dipapprox.proofs.real_proof import CoupledSample, OutputProof, RealProof
from dipapprox.proofs.two_inputs import Point, RealInputs, TwoInputs, most_lost
from dipapprox.proofs.vanishing import as_eps_vanishes, closed, dearest_place, lost_at
from dipapprox.proofs.worst_change import Box, BoxShift, Changes, changes_of
from dipapprox.semantics.clamps import without_clamps
from dipapprox.semantics.parts import independent_parts
from dipapprox.semantics.real_inputs import (
    NotReal,
    are_bounded,
    bounds_of,
    execute_for_all_inputs,
    has_integer_inputs,
    width_of,
)
from dipapprox.semantics.state import FinalStates, Sample

MOST_CORNERS = 64  # changes that are looked at one by one where several parts read the same inputs
BOUNDED = "inputs lie between bounds, where less may be lost than on the way to infinity"

NO_SHIFT = (
    "no shift of the noise serves for all changes of the inputs, but they lie between bounds: "
    "whether an output becomes impossible there is not known"
)

IMPOSSIBLE = "an output becomes impossible at adjacent inputs"
UNLIKE = "an output's probabilities at adjacent inputs differ by a factor however small eps is"
SEVERAL_STATES = "an output comes about in several ways, which no shift keeps apart"


def prove_real(
    program: Program, budget: Fraction | None = None, *, serving: bool = False, proved: bool = False
) -> RealProof:
    """Bound the least budget D for which a program is (D·eps, 0)-DP for every eps and all inputs.

    Inputs are real numbers, or integers if there is integer noise, and adjacency is taken of these;
    finite domains play no part. Where an input lies between bounds, shifts prove as much as before,
    but rays leave the bounds: what is lost between two inputs is looked at instead.

    Args:
        budget: The claimed one: then the answer is about it. None asks whether there is one.
        serving: Whether a budget that serves is all that is wanted: then nothing is looked for
            below it.
        proved: Whether the kernel has to follow.

    Returns:
        DP with the least budget or bounds of it; Not_DP if no budget serves every eps; else Unknown
        with the reason.

    Raises:
        UserError: If a random choice is no probability distribution for some eps.
    """
    begun = time.monotonic()
    integers = has_integer_inputs(program)
    found = RealProof(
        program=program.name,
        parameters=program.parameters,
        lower=Fraction(0),
        upper=None,
        has_none=False,
        reason=None,
        states=0,
        subject=program,
        integers=integers,
        budget=budget,
    )
    try:
        search = _Search(found, proved)
    except (NotReal, LimitReached) as refused:
        found = replace(found, reason=refused.reason)
    else:
        found = search.found(found, serving)
    states = sum(len(output.states) for part in found.parts for output in part.outputs)
    return replace(found, states=states, seconds=time.monotonic() - begun)


class _Search:
    """Looks for bounds of a program, of which nothing is known yet."""

    def __init__(self, known: RealProof, proved: bool) -> None:
        program, integers = known.subject, known.integers
        if not integers:
            program = without_clamps(program)
        self._bounded = are_bounded(program)
        parts = independent_parts(program)
        read = {k for each in parts for k in each.inputs}
        widths = [
            width_of(cell, integers) if k in read else Fraction(0)
            for k, cell in enumerate(program.inputs)
        ]
        changes = changes_of(program.adjacency, widths, integers, proved=proved)
        if share_inputs([part.inputs for part in parts]):
            changes = changes.in_corners(MOST_CORNERS)
        states = [execute_for_all_inputs(part.program, integers) for part in parts]
        for each in states:
            # Rays need an eps at which all outcomes of a state are possible: weights >= 0 that are
            # not the zero function vanish at isolated eps only.
            check_choices(each.laws, ALL_EPSILONS)
        _require_one_direction(
            [sample for each in states for sample in each.samples],
            any(each.choices for each in states),
        )
        self._runs = [
            PartRun(number, part, each, changes)
            for number, (part, each) in enumerate(zip(parts, states, strict=True))
        ]
        self._states, self._changes = states, changes
        bounds = tuple([bounds_of(cell.domain, integers) for cell in program.inputs])
        self._inputs = RealInputs(program.adjacency, bounds, changes.sizes, integers)

    def found(self, known: RealProof, serving: bool) -> RealProof:
        """Return the answer."""
        runs, changes, bounded = self._runs, self._changes, self._bounded
        if not changes.unit:
            return replace(known, upper=Fraction(0))
        lost: TwoInputs | None = None
        ended = ""
        try:
            for run in runs:
                run.prove(with_rays=not (bounded or serving))
            if not (bounded or serving):
                lost = joint_losses(runs, changes)
            elif not (serving or changes.is_bounded):
                lost = free_losses(runs, changes, [b is None for b in self._inputs.bounds])
        except LimitReached as reached:
            ended = reached.reason
            rays = [run.best_ray for run in runs if run.best_ray is not None]
            lost = None if bounded else most_lost(rays)
        known = replace(known, parts=tuple(run.proof for run in runs))
        found = _concluded(known, runs, changes, lost, ended)
        if serving:
            return found
        if bounded:
            with EarlyEnd():
                found = self._with_places(found)
        if not (found.has_none or found.is_exact or ended):
            found = self._with_more_lost(found)
        told = None if bounded else next((cell for run in runs if (cell := run.telling)), None)
        if told is not None and not found.has_none and found.upper is None:
            reason = f"in some outcomes '{told.name}' is made of inputs alone"
            return replace(found, has_none=True, reason=reason, between=None, lower=Fraction(0))
        return found

    def _with_more_lost(self, found: RealProof) -> RealProof:
        """Look for a better lower bound between two inputs, for large, for small and for other eps.

        What is lost between some inputs without bounds is lost among all of them.
        """
        if not self._bounded:
            with EarlyEnd():
                found = self._with_places(found)
        if found.has_none or found.is_exact or not self._changes.is_bounded:
            return found
        with EarlyEnd():
            turns, parts = turns_of(found.parts, self._inputs), [run.part for run in self._runs]
            known = closed(parts, self._states, turns, self._inputs)
            if known is None:
                return found
            found = _with_lost(found, as_eps_vanishes(known, known.starts))
            if found.has_none or found.is_exact:
                return found
            pairs = list(known.starts)
            if found.between is not None and not found.between.is_ray:
                pairs.append((found.between.first, found.between.second))
            place = dearest_place(known, pairs)
            if place is not None:
                points = place[:2]
                found = _with_lost(found, as_eps_vanishes(known, [points]))
                found = self._with_places(found, points)
                found = _with_lost(found, lost_at(known, place))
        return found

    def _with_places(self, found: RealProof, tried: Sequence[Point] = ()) -> RealProof:
        """Look for what is lost between two inputs; where they have no bounds, not far from 0."""
        if not all(map(_keeps_pace, self._states)):
            return found
        return _with_lost(found, between_places(found.parts, self._inputs, tried))


def _with_lost(found: RealProof, lost: TwoInputs | None) -> RealProof:
    """Return a proof with what is lost between two inputs, if that is more than is known.

    However far changes may go, it is no more than what is lost for these.
    """
    if found.has_none or lost is None:
        return found
    if found.upper is not None and (lost.loss is None or lost.loss > found.upper):
        raise BrokenInvariant("more is lost than a proved budget")
    if lost.loss is None:
        reason = UNLIKE if lost.eps is not None else _trouble_between(found, lost)
        return replace(found, has_none=True, reason=reason, lower=Fraction(0), between=lost)
    if lost.loss <= found.lower:
        return found
    said = None if lost.loss == found.upper else found.reason
    return replace(found, reason=said, lower=lost.loss, between=lost)


def _keeps_pace(states: FinalStates) -> bool:
    """Whether scales are multiples of 1/eps, and finite choices have weights without eps."""
    weights = [weight for each in states.laws for weight in weights_of(each.law)]
    return all(sample.scale.power == -1 for sample in states.samples) and all(
        weight.as_constant() is not None for weight in weights
    )


def _require_one_direction(samples: Iterable[Sample], has_choices: bool) -> None:
    """Raise NotReal unless one eps, or one limit of eps, is the worst for all samples."""
    powers = {sample.scale.power for sample in samples if sample.family.shifts}
    others = powers - {-1}
    if others and (min(others) < -1 < max(others) or has_choices):
        raise NotReal("scales of noise that are no multiples of 1/eps, with others or choices")


def _concluded(
    known: RealProof, runs: Sequence[PartRun], changes: Changes, lost: TwoInputs | None, ended: str
) -> RealProof:
    """Return the answer; `ended` says which limit ended the search, if one did."""
    lower = Fraction(0)
    if lost is not None:
        known = replace(known, between=lost)
        if lost.loss is None:
            outputs = [known.parts[each.part].outputs[each.place] for each in lost.losses]
            return replace(known, has_none=True, reason=_trouble(outputs))
        lower = lost.loss
    known = replace(known, lower=lower)
    if not changes.is_bounded and lower:
        return replace(known, has_none=True, reason="adjacent inputs may differ by any amount")
    if ended:
        return replace(known, reason=ended)
    without = [
        output
        for run in runs
        for output in run.proof.outputs
        if any(state.shifts is None for state in output.states)
    ]
    if without:
        return replace(known, reason=_trouble(without, are_bounded(known.subject)))
    costs = [(_cost_in(box, runs), box) for box in changes.boxes]
    upper, box = max(costs, key=lambda each: each[0], default=(Fraction(0), ()))
    open_ = BOUNDED if are_bounded(known.subject) else SEVERAL_STATES
    if upper and not changes.is_bounded:
        return replace(known, reason=open_)
    found = [(run.own(box), run.dearest_shift(box)) for run in runs] if upper else []
    return replace(
        known,
        reason=None if upper * changes.unit == lower else open_,
        upper=upper * changes.unit,
        coupling=tuple(
            sample
            for run, (_, each) in zip(runs, found, strict=False)  # none at all if it costs nothing
            if each is not None
            for sample in _coupled(each[0].cone, each[1], run.inputs, changes.unit)
        ),
        coupled=tuple(own if each is None else each[1].box for own, each in found),
    )


def _cost_in(box: Box, runs: Iterable[PartRun]) -> Fraction:
    """What all parts together cost at most in a box, in multiples of unit · eps."""
    found = (run.dearest_shift(box) for run in runs)
    return sum((each[1].cost for each in found if each is not None), Fraction(0))


# --- words --------------------------------------------------------------------------------------


def _trouble(outputs: Iterable[OutputProof], bounded: bool = False) -> str:
    """Say why outputs have no budget, or states of theirs no shift."""
    touched = dict[ShiftSource, None]()
    impossible = False
    for output in outputs:
        impossible = impossible or output.is_endless
        for state in output.states:
            if state.dearest.cost is None:
                rows = [row.noise for row in state.cone.rows]
                touched.update(dict.fromkeys(_free_noise(state.cone, state.dearest.flow, rows)))
    for source in sorted(touched, key=lambda each: (each.line or 0, each.label)):
        where = f"'{source.label}'" if source.line is None else f"line {source.line}"
        match source.pricing:
            case Pricing.GAUSSIAN:
                return (
                    f"{where}: Gaussian noise has no finite pure budget: 'profile' gives its delta"
                )
            case Pricing.SCALE:
                return f"{where}: the scale is no multiple of 1/eps: no budget serves every eps"
            case Pricing.ONE_WAY:
                return f"{where}: shifts of this noise to one side have no finite price"
            case Pricing.LINEAR:
                pass
    if impossible:
        return IMPOSSIBLE
    return NO_SHIFT if bounded else SEVERAL_STATES


def _trouble_between(found: RealProof, places: TwoInputs) -> str:
    """Say why no budget serves what is lost between two inputs as eps grows.

    It is impossible at the second one by noise on one side, not by Gaussian noise: there the flow
    of a state is about guards, numbers that are shown, and noise bound on its side: nothing near
    these numbers is shown.
    """
    outputs = [found.parts[each.part].outputs[each.place] for each in places.losses]
    impossible = all(
        cost is None or not _free_noise(state.cone, cost.flow, _noise_rows(state.cone))
        for each, output in zip(places.losses, outputs, strict=True)
        for state, cost in zip(output.states, each.costs, strict=True)
    )
    return IMPOSSIBLE if impossible else _trouble(outputs)


def _noise_rows(cone: Cone) -> list[list[tuple[int, Fraction]]]:
    """Return the noise in a state's guards, then in what it shows that is no more, and no less."""
    forms = [*cone.guards, *(side for form in cone.shown for side in (form, -form))]
    return [[(k, c) for k, c in form.terms if isinstance(k, int)] for form in forms]


def _free_noise(
    cone: Cone, flow: Sequence[Fraction], rows: Sequence[Sequence[tuple[int, Fraction | int]]]
) -> list[ShiftSource]:
    """Return the noise, some shifts of which have no price, in the sum of rows with a flow."""
    total = dict.fromkeys(range(len(cone.sources)), Fraction(0))
    for y, row in zip(flow, rows, strict=True):
        for place, a in row:
            total[place] += y * a
    return [each for place, each in enumerate(cone.sources) if each.is_free and total[place]]


def _coupled(
    cone: Cone, found: BoxShift, inputs: Sequence[int], unit: Fraction
) -> Iterator[CoupledSample]:
    changes = dict(zip(inputs, found.box, strict=True))
    for source, shift in zip(cone.sources, found.shift, strict=True):
        cost = (source.rate or 0) * abs(shift) * unit
        mean = tuple([(inputs[k], c) for k, c in source.mean])
        known = all(lo == hi for lo, hi in (changes[k] for k, _ in mean))
        moved = sum((c * changes[k][0] for k, c in mean), shift) * unit if known else None
        yield CoupledSample(source.label, source.line, mean, shift * unit, moved, cost)
