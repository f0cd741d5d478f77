"""Proofs for independent parts of a program: a cone for each state, bounds for each output.

The parts of a program share no randomness: for fixed inputs an outcome's probability is the product
of those of its parts, so log-ratios add up. What a part can lose depends on its own inputs only.

States of one output that publish the same numbers as atoms, and other numbers with densities, are
an output of their own: the event that the atoms are these and the other numbers lie in intervals
without any atom. At all inputs the other states have probability 0 there: a number with a density
is no given atom, guards or not, and an atom lies in none of the intervals. Atoms that move with the
inputs may enter intervals, and integer noise has atoms everywhere: there nothing is told apart.

**A real output that is a form of inputs alone**, f(q) + c with f ≠ 0, in some state that is
possible leaves no budget, if there is no integer noise and inputs have no bounds. *Proof.* The
state has a positive probability on an open set of inputs q; there the output is f(q) + c with
positive probability. Let Δ be a change with f(Δ) ≠ 0; all multiples of it up to 1 are changes, too.
At q + Δ a state with noise in the output gives this number with probability 0, another one, with
g(q) + d, only if g(q + Δ) + d = f(q) + c. If g ≠ f, almost no q obeys that; if g = f, one multiple
of Δ does, and f itself none. So some q and Δ make an event impossible that was possible. ∎
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.language.core import Cell, Value
from dipapprox.linear.form import LinearForm
from dipapprox.proofs.cones import Cone, ConeBuilder
from dipapprox.proofs.real_proof import OutputProof, PartProof
from dipapprox.proofs.two_inputs import LostOutput, TwoInputs, most_lost
from dipapprox.proofs.worst_change import Box, BoxShift, Change, Changes, CostOfChanges, StateProof
from dipapprox.semantics.parts import ProgramPart
from dipapprox.semantics.state import FinalStates

Atoms = tuple[Fraction | None, ...]
"""By real output: the number that it is for all inputs and samples; None if it has a density."""


class PartRun:
    """Proves a part, for boxes of changes of all inputs, output after output; what is done stands
    when a limit ends it."""

    def __init__(
        self, number: int, part: ProgramPart, states: FinalStates, changes: Changes
    ) -> None:
        self._number, self.part, self.inputs = number, part, part.inputs
        self._outputs = part.outputs[: len(part.program.outputs)]  # the finite ones come first
        self._boxes = tuple(dict.fromkeys(self.own(box) for box in changes.boxes))
        self._unit, self._count = changes.unit, len(changes.boxes[0]) if changes.boxes else 0
        builder = ConeBuilder(states)
        groups: dict[tuple[int, Atoms], tuple[Sequence[Value], list[Cone]]] = {}
        self._is_continuous = not any(sample.family.is_discrete for sample in states.samples)
        tells = self._is_continuous and tells_atoms(state.reals for state in states.states)
        for state in states.states:
            cone = builder.cone(state)
            if cone is not None:
                key = id(state.outputs), atoms_of(state.reals) if tells else ()
                groups.setdefault(key, (state.outputs, []))[1].append(cone)
        self._groups = tuple(groups.values())
        self._reals = part.program.real_outputs
        self._costs: list[list[CostOfChanges]] = []
        self._proofs: list[OutputProof] = []
        self.best_ray: TwoInputs | None = None  # on which it loses most; None if it loses nothing

    def own(self, box: Box) -> Box:
        """Return the changes of the part's inputs in changes of all."""
        return tuple(box[k] for k in self.inputs)

    @property
    def telling(self) -> Cell | None:
        """A real output that is a form of inputs alone in some state; None if nothing is known."""
        for cone in (cone for _, cones in self._groups for cone in cones):
            for cell, form in zip(self._reals, cone.shown, strict=True):
                if self._is_continuous and not form.is_constant and not form.samples():
                    return cell
        return None

    def prove(self, with_rays: bool = True) -> None:
        """Prove all outputs; one that loses without bound on a ray, which leaves all bounds, ends
        the search."""
        for number, (output, cones) in enumerate(self._groups):
            costs = [CostOfChanges(cone) for cone in cones]
            states = tuple([cost.worst(self._boxes) for cost in costs])
            self._costs.append(costs)
            dear = [each.dearest for each in states if with_rays and each.dearest.cost != 0]
            rays = [self._along(number, change) for change in dict.fromkeys(d.change for d in dear)]
            is_endless = any(each.loss is None for each in rays)
            self._proofs.append(OutputProof(tuple(output), states, is_endless))
            known = [] if self.best_ray is None else [self.best_ray]
            self.best_ray = most_lost([*known, *(each for each in rays if each.loss != 0)])
            if is_endless:
                return

    @property
    def proof(self) -> PartProof:
        """What is proved so far."""
        names = tuple([cell.name for cell in self._reals])
        return PartProof(self.inputs, self._outputs, tuple(self._proofs), names)

    def ray_at(self, change: Change) -> TwoInputs | None:
        """The most that the part loses along the ray of a change of all inputs."""
        own = tuple(change[k] for k in self.inputs)
        return most_lost([self._along(number, own) for number in range(len(self._costs))])

    def _along(self, output: int, change: Change) -> TwoInputs:
        """What an output loses along the ray of a change, from the start of its first cone."""
        values, cones = self._groups[output]
        costs = [each.at(change).cost for each in self._costs[output]]
        loss = min((cost * self._unit for cost in costs if cost is not None), default=None)
        lost = LostOutput(self._number, tuple(values), loss, place=output)
        first, second = ([Fraction(0)] * self._count for _ in range(2))
        for k, start, step in zip(self.inputs, cones[0].start, change, strict=True):
            first[k], second[k] = start, start + step * self._unit
        return TwoInputs(tuple(first), tuple(second), (lost,), is_ray=True)

    def dearest_shift(self, box: Box) -> tuple[StateProof, BoxShift] | None:
        """The state and shift that cost most for changes in a box; None where a state has none."""
        own = self.own(box)
        found: tuple[StateProof, BoxShift] | None = None
        for output in self._proofs:
            for state in output.states:
                if state.shifts is None:
                    return None
                for shift in state.shifts:
                    if is_within(shift.box, own) and (found is None or shift.cost > found[1].cost):
                        found = state, shift
        return found


def is_within(inner: Box, outer: Box) -> bool:
    """Whether a box is part of another."""
    pairs = zip(inner, outer, strict=True)
    return all(least <= lo and hi <= most for (lo, hi), (least, most) in pairs)


def tells_atoms(shown: Iterable[Sequence[LinearForm]]) -> bool:
    """Whether every real output, over samples without integers and inputs, is in each state a
    constant or has a density at all inputs."""
    return all(form.samples() or form.is_constant for forms in shown for form in forms)


def atoms_of(shown: Iterable[LinearForm]) -> Atoms:
    """Return the real outputs of a state that are the same for all inputs and samples."""
    return tuple(None if form.samples() else form.constant for form in shown)


# --- along rays of inputs, together ---------------------------------------------------------------


def joint_losses(runs: Sequence[PartRun], changes: Changes) -> TwoInputs | None:
    """Return the ray on which all parts together lose most, as far as this is found.

    All walk along it at the same time, so where parts share inputs, their rays agree.
    """
    alone = [run.best_ray for run in runs if run.best_ray is not None]
    known = [*alone]
    if any(each.loss is None for each in alone) or len(runs) == 1:
        return most_lost(alone)
    if share_inputs([run.inputs for run in runs]):
        for change in dict.fromkeys(_common_changes(runs, changes)):
            rays = [ray for run in runs if (ray := run.ray_at(change)) is not None]
            known += _together(runs, rays)
    elif len(changes.boxes) == 1:
        known += _together(runs, alone)
    return most_lost(known)


def free_losses(
    runs: Sequence[PartRun], changes: Changes, free: Sequence[bool]
) -> TwoInputs | None:
    """Return where changes of inputs without bounds alone lose most: such rays leave none."""
    kept = (b for b in changes.boxes if all(free[k] or not any(e) for k, e in enumerate(b)))
    rays = (run.ray_at(tuple(lo for lo, _ in box)) for box in kept for run in runs)
    return most_lost([each for each in rays if each is not None and each.loss != 0])


def share_inputs(inputs: Iterable[Sequence[int]]) -> bool:
    """Whether some parts read the same input: then they walk along one ray."""
    found = [k for each in inputs for k in each]
    return len(found) > len(set(found))


def _common_changes(runs: Sequence[PartRun], changes: Changes) -> Iterator[Change]:
    for box in changes.boxes:
        ends = tuple(hi or lo for lo, hi in box)
        yield ends
        if len(changes.boxes) == 1:
            for run in runs:
                if run.best_ray is not None:
                    best = run.best_ray.change
                    own = {k: int(best[k] / changes.unit) for k in run.inputs}
                    yield tuple(own.get(k, end) for k, end in enumerate(ends))


def _together(runs: Sequence[PartRun], rays: Sequence[TwoInputs]) -> Iterator[TwoInputs]:
    """Yield what parts lose along their rays together, if all outputs are possible where rays
    start."""
    ends = dict[int, tuple[Fraction, Fraction]]()
    for each in rays:
        for k in runs[each.losses[0].part].inputs:
            if ends.setdefault(k, (each.first[k], each.second[k]))[0] != each.first[k]:
                return
    lost = tuple([each for ray in rays for each in ray.losses if each.loss != 0])
    if lost:
        read = {k: ends[k] for each in lost for k in runs[each.part].inputs}
        first, second = (
            tuple([read[k][side] if k in read else Fraction(0) for k in range(len(rays[0].first))])
            for side in (0, 1)
        )
        yield TwoInputs(first, second, lost, is_ray=True)
