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

from dipapprox.data_classes import Record
from dipapprox.language.core import Cell, Value
from dipapprox.linear.form import LinearForm
from dipapprox.proofs.changes import Box, Change, Changes
from dipapprox.proofs.cones import Cone, ConeBuilder
from dipapprox.proofs.real_proof import OutputProof, PartProof
from dipapprox.proofs.two_inputs import LostOutput, TwoInputs
from dipapprox.proofs.worst_change import BoxShift, CostOfChanges, StateProof, dearness, total_loss
from dipapprox.semantics.parts import ProgramPart
from dipapprox.semantics.state import FinalStates

Atoms = tuple[Fraction | None, ...]
"""By real output: the number that it is for all inputs and samples; None if it has a density."""


class PartLoss(Record):
    """What one part loses along a ray of adjacent inputs, q + s·b for s >= 0.

    q is the start of the cone of the first of its output's possible states. All parts walk along
    their rays at the same time, so where parts share inputs, rays agree.
    """

    part: int  # the number of the part
    output: int  # the number of its output
    change: Change  # b, of the part's inputs, in multiples of the unit
    loss: Fraction | None  # the log-ratio that is reached, in multiples of unit · eps; None for ∞


class PartRun:
    """Proves a part, for boxes of changes of all inputs, output after output; what is done stands
    when a limit ends it."""

    def __init__(
        self, number: int, part: ProgramPart, states: FinalStates, boxes: Sequence[Box]
    ) -> None:
        self._number, self.part, self.inputs = number, part, part.inputs
        self._outputs = part.outputs[: len(part.program.outputs)]  # the finite ones come first
        self._boxes = tuple(dict.fromkeys(self.own(box) for box in boxes))
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
        self.best_ray: PartLoss | None = None  # on which it loses most; None if it loses nothing

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
            self.best_ray = _dearest([*known, *(each for each in rays if each.loss != 0)])
            if is_endless:
                return

    @property
    def proof(self) -> PartProof:
        """What is proved so far."""
        names = tuple([cell.name for cell in self._reals])
        return PartProof(self.inputs, self._outputs, tuple(self._proofs), names)

    def ray_at(self, change: Change) -> PartLoss | None:
        """The most that the part loses along the ray of a change of all inputs, from 0."""
        own = tuple(change[k] for k in self.inputs)
        return _dearest([self._along(number, own) for number in range(len(self._costs))])

    def _along(self, output: int, change: Change) -> PartLoss:
        costs = [each.at(change).cost for each in self._costs[output]]
        loss = min((cost for cost in costs if cost is not None), default=None)
        return PartLoss(self._number, output, change, loss)

    def start(self, each: PartLoss) -> dict[int, Fraction]:
        """Return the inputs that a ray starts from, by number among the program's."""
        states = self._proofs[each.output].states
        return dict(zip(self.inputs, states[0].cone.start, strict=True))

    def lost(self, each: PartLoss, unit: Fraction) -> LostOutput:
        """Return what is lost along a ray, in multiples of eps."""
        loss = None if each.loss is None else each.loss * unit
        return LostOutput(each.part, self._proofs[each.output].output, loss, place=each.output)

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


def _dearest(rays: Iterable[PartLoss]) -> PartLoss | None:
    return max(rays, key=lambda each: dearness(each.loss), default=None)


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

Losses = tuple[PartLoss, ...]


def joint_losses(runs: Sequence[PartRun], changes: Changes) -> Losses:
    """Return where all parts together lose most, as far as this is found."""
    alone = single_losses(runs)
    if any(lost_in(each) is None for each in alone) or len(runs) == 1:
        return dearest(alone)
    together = list[Losses]()
    if share_inputs([run.inputs for run in runs]):
        for change in dict.fromkeys(_common_changes(runs, changes)):
            rays = [run.ray_at(change) for run in runs]
            if _start_together(runs, rays):
                together.append(_losing(rays))
    elif len(changes.boxes) == 1:
        together.append(_losing(run.best_ray for run in runs))
    return dearest([*alone, *together])


def free_losses(runs: Sequence[PartRun], changes: Changes, free: Sequence[bool]) -> Losses:
    """Return where changes of inputs without bounds alone lose most: such rays leave none."""
    kept = (b for b in changes.boxes if all(free[k] or not any(e) for k, e in enumerate(b)))
    rays = (run.ray_at(tuple(lo for lo, _ in box)) for box in kept for run in runs)
    return dearest((each,) for each in rays if each is not None and each.loss != 0)


def dearest(losses: Iterable[Losses]) -> Losses:
    """Return where most is lost."""
    return max(losses, key=lambda each: dearness(lost_in(each)), default=())


def share_inputs(inputs: Iterable[Sequence[int]]) -> bool:
    """Whether some parts read the same input: then they walk along one ray."""
    found = [k for each in inputs for k in each]
    return len(found) > len(set(found))


def _start_together(runs: Sequence[PartRun], rays: Sequence[PartLoss | None]) -> bool:
    """Whether all outputs are possible at the same inputs, those where the rays start."""
    start = dict[int, Fraction]()
    return all(
        start.setdefault(k, value) == value
        for run, each in zip(runs, rays, strict=True)
        if each is not None
        for k, value in run.start(each).items()
    )


def single_losses(runs: Sequence[PartRun]) -> list[Losses]:
    """Return what each part loses where the outcomes of the others do not matter."""
    return [(best,) for run in runs if (best := run.best_ray) is not None]


def _common_changes(runs: Sequence[PartRun], changes: Changes) -> Iterator[Change]:
    for box in changes.boxes:
        ends = tuple(hi or lo for lo, hi in box)
        yield ends
        if len(changes.boxes) == 1:
            for run in runs:
                best = run.best_ray
                if best is not None:
                    change = list(ends)
                    for k, step in zip(run.inputs, best.change, strict=True):
                        change[k] = step
                    yield tuple(change)


def _losing(rays: Iterable[PartLoss | None]) -> Losses:
    return tuple(each for each in rays if each is not None and each.loss != 0)


def along_rays(losses: Losses, runs: Sequence[PartRun], unit: Fraction, size: int) -> TwoInputs:
    """Return the inputs, so many, with which rays begin, and what is lost along them."""
    start, change = ([Fraction(0)] * size for _ in range(2))
    for each in losses:
        run = runs[each.part]
        for (k, value), step in zip(run.start(each).items(), each.change, strict=True):
            start[k], change[k] = value, step * unit
    second = tuple([a + b for a, b in zip(start, change, strict=True)])
    lost = tuple([runs[each.part].lost(each, unit) for each in losses])
    return TwoInputs(tuple(start), second, lost, is_ray=True)


def lost_in(losses: Losses) -> Fraction | None:
    """What is lost in multiples of unit · eps; None for ∞."""
    return total_loss(each.loss for each in losses)
