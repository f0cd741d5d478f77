"""Proofs of programs with finite choices, case by case.

If the laws of the choices depend on ε alone, a program is a mixture of programs that choose
nothing, one for each way in which the choices may go: Pr[out | q] = Σ weight · Pr[out | q, case].
So a shift for each state of each case proves a budget, and an output is the union of its states in
all cases. What a proof says of the program as a whole is proved here of its cases once more: for
certificates, whose check follows one case at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.language import core
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits
from dipapprox.proofs.part_proofs import Atoms, PartRun, atoms_of, is_within, tells_atoms
from dipapprox.proofs.places import PlaceLoss, Places, loss_between
from dipapprox.proofs.proof import Case, OutputProof, PartProof, Proof, StateProof
from dipapprox.proofs.rays import Ray, ray_along
from dipapprox.proofs.worst_change import CostOfChanges
from dipapprox.semantics.cells import statements_in
from dipapprox.semantics.parts import Part, independent_parts
from dipapprox.semantics.real_inputs import execute_for_all_inputs
from dipapprox.semantics.weights import expressions_in, weight_value

MOST_CASES = 256


def has_choices(program: core.Program) -> bool:
    """Whether a program chooses at random among finitely many values."""
    return any(isinstance(each, core.Choose) for each in statements_in(program.body))


def by_cases(proof: Proof, limits: Limits) -> Proof:
    """Return a proof of the same bounds, in which parts with choices are proved by cases.

    Raises:
        LimitReached: If there are too many cases, or the bounds are not the same; the reason says
            so.
    """
    if not has_choices(proof.program):
        return proof
    parts = list[PartProof]()
    renumbered = dict[tuple[int, int], int]()
    for number, (part, known) in enumerate(
        zip(independent_parts(proof.program), proof.parts, strict=True)
    ):
        found, outputs = known, list(range(len(known.outputs)))
        if has_choices(part.program):
            losing = {each.output for each in proof.losses if each.part == number}
            found, outputs = _PartByCases(part, known, losing, proof, limits).proved()
        renumbered |= {(number, k): new for k, new in enumerate(outputs)}
        parts.append(found)
    losses = tuple(
        replace(each, output=renumbered[each.part, each.output], ray=ray)
        for each in proof.losses
        for ray in (parts[each.part].outputs[renumbered[each.part, each.output]].ray,)
        if ray is not None
    )
    places = proof.places
    if places is not None:
        lost = [
            _place(
                places, each, renumbered[each.part, each.output], parts[each.part], proof, limits
            )
            for each in places.losses
        ]
        places = replace(places, losses=tuple(lost))
    again = replace(proof, parts=tuple(parts), losses=losses, places=places)
    if proof.upper is not None and _upper(again) != proof.upper:
        raise LimitReached("case by case, shifts of the noise prove another budget")
    return again


def _upper(proof: Proof) -> Fraction | None:
    """Return what the shifts of all states prove; None if one has none."""
    changes, zero = proof.changes, Fraction(0)
    states = [
        (number, state)
        for number, part in enumerate(proof.parts)
        for output in part.outputs
        for state in output.states
    ]
    if changes is None or any(state.shifts is None for _, state in states):
        return None
    dearest = zero
    for box in changes.boxes:
        costs = dict[int, Fraction]()
        for part, state in states:
            own = tuple([box[k] for k in proof.parts[part].inputs])
            inside = (shift.cost for shift in state.shifts or () if is_within(shift.box, own))
            known = costs.get(part, zero)
            costs[part] = max([known, *inside])
        dearest = max(dearest, sum(costs.values(), zero))
    return dearest * changes.radius


def _place(
    places: Places, loss: PlaceLoss, output: int, part: PartProof, proof: Proof, limits: Limits
) -> PlaceLoss:
    points = [tuple([point[k] for k in part.inputs]) for point in (places.first, places.second)]
    cones = [state.cone for state in part.outputs[output].states]
    found = loss_between(cones, loss, points[0], points[1], proof.integers, limits)
    if found is None or found.loss != loss.loss:
        raise LimitReached("case by case, other bounds are proved between two inputs")
    return replace(found, output=output)


_Key = tuple[tuple[core.Value, ...], Atoms]


def _key(values: tuple[core.Value, ...], state: StateProof, tells: bool) -> _Key:
    return values, atoms_of(state.cone.shown) if tells else ()


class _PartByCases:
    def __init__(
        self, part: Part, known: PartProof, losing: set[int], proof: Proof, limits: Limits
    ) -> None:
        self._part, self._known, self._losing = part, known, losing
        self._proof, self._limits = proof, limits
        if proof.changes is None:
            raise BrokenInvariant("a proof without changes")
        self._boxes = proof.changes.boxes

    def proved(self) -> tuple[PartProof, list[int]]:
        """Return the proof by cases, and its number of each output that was known."""
        cases = list(_cases(self._part.program))
        states = list[tuple[tuple[core.Value, ...], StateProof]]()
        for case, (_, program) in enumerate(cases):
            executed = execute_for_all_inputs(program, self._proof.integers, self._limits)
            part = replace(self._part, program=program)
            run = PartRun(part, executed, self._boxes, self._limits)
            run.prove(with_rays=False)
            for output in run.proof.outputs:
                states += [(output.output, replace(s, case=case)) for s in output.states]
        tells = not self._proof.integers and tells_atoms(each.cone.shown for _, each in states)
        groups = dict[_Key, list[StateProof]]()
        for values, state in states:
            groups.setdefault(_key(values, state, tells), []).append(state)
        outputs = [OutputProof(key[0], tuple(group), None) for key, group in groups.items()]
        numbers = {key: number for number, key in enumerate(groups)}
        places = list[int]()
        for number, known in enumerate(self._known.outputs):
            place = numbers.get(_key(known.output, known.states[0], tells))
            if place is None:
                raise LimitReached("case by case, an output is impossible")
            places.append(place)
            if known.ray is not None and number in self._losing:
                ray = self._ray(known.ray, outputs[place])
                outputs[place] = replace(outputs[place], ray=ray)
        labels = tuple([case for case, _ in cases])
        return replace(self._known, outputs=tuple(outputs), cases=labels), places

    def _ray(self, ray: Ray, output: OutputProof) -> Ray:
        costs = [CostOfChanges(state.cone, self._limits) for state in output.states]
        found = ray_along(costs, ray.origin, ray.target)
        if found is None or found.loss != ray.loss:
            raise LimitReached("case by case, a ray of inputs proves another bound")
        return found


def _cases(program: core.Program) -> Iterator[tuple[Case, core.Program]]:
    """Yield the ways in which the choices of a program may go, and what it is then."""
    choices = [each for each in statements_in(program.body) if isinstance(each, core.Choose)]
    sites = {each.site: each for each in choices}
    if len(sites) < len(choices) or any(
        isinstance(each, core.While)
        and any(isinstance(s, core.Choose) for s in statements_in(each.body))
        for each in statements_in(program.body)
    ):
        raise LimitReached("the program chooses at random in a loop")
    options = [[(site, k) for k in _possible(each)] for site, each in sorted(sites.items())]
    if prod(map(len, options)) > MOST_CASES:
        raise LimitReached(f"the choices of the program go in more than {MOST_CASES} ways")
    for case in product(*options):
        yield case, replace(program, body=_without_choices(written_out(program.body), dict(case)))


def _possible(choice: core.Choose) -> Iterator[int]:
    """Yield the options of a choice whose weights are not 0."""
    for place, (_, weight) in enumerate(choice.options):
        if any(not isinstance(each, core.Constant) for each in expressions_in(weight)):
            raise LimitReached("the law of a random choice depends on what happened before")
        if weight_value(weight, _number, choice.span).numerator:
            yield place


def _number(expression: core.Expression) -> Fraction:
    if not isinstance(expression, core.Constant) or isinstance(expression.value, str):
        raise BrokenInvariant("a weight that is no number")
    return expression.value


def _without_choices(block: Iterable[core.Statement], options: dict[int, int]) -> core.Block:
    return tuple([_chosen(each, options) for each in block])


def _chosen(statement: core.Statement, options: dict[int, int]) -> core.Statement:
    match statement:
        case core.Choose(target=target, options=values, site=site):
            return core.Assign(target, values[options[site]][0], span=statement.span)
        case core.If(then=then, otherwise=otherwise):
            return replace(
                statement,
                then=_without_choices(then, options),
                otherwise=_without_choices(otherwise, options),
            )
        case core.While(body=body):
            return replace(statement, body=_without_choices(body, options))
        case _:
            return statement
