"""Coarser cells: steps that nobody can tell apart are one, and a running minimum is one of many.

In: an unfolded automaton. Out: an automaton that is no program any more: each of its walks is a
*cell* of samples with one word, and the cells of a word fill what all runs with that word fill. The
proof that shifts bound a budget (`runs.py`, Theorem A) goes through cell by cell, for any cells
that are given by an order of the samples: so the dearest walk bounds the budget from above, as the
dearest run does, and fewer relations between samples leave cheaper shifts. (For k-MIN-MAX: 1/2 +
1/k instead of 3/4 + 1/(2k); it is the least budget.)

**Joint steps.** The steps from one state to one state that show the same are one step, if the
guards together say no more than the atoms that all of them have in common, and if every variable
that some of them store, not all, becomes by it the lesser (or by it the larger) of itself and the
sample: a *running* minimum or maximum. Whether that holds is looked at for every order of the
sample and the values that is feasible at some node of the state.

**Periods.** Where a running minimum x is stored outright, and where a guard of a joint step
compares it, a period of x begins. Until the next one nothing depends on x, so of a period only
its last value counts: the first one if it is less than all samples of the period (x is *settled*,
they are at least x), or else one of them, the least. For the latter let x hold any number below
those before it, a *separator* (x is *open*): the samples before are at least x, the one that
settles it is below x. So a cell is what remains of {samples and separators in some order} when the
separators are left out. The choices exclude each other, but for ties, and fill everything. A
separator is a step that reads no input, of rate 0: whatever its shift is, it costs nothing. It is
drawn after the first value of the period, below it; or, where x holds nothing that counts, before
that value, which is then at least x and need not be stored.

Where x is open, no guard compares it, and it must settle while it still counts; walks that stop
before they do are in excess, which makes no bound smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.automata.model import Automaton, ControlState, Output, Transition
from dipapprox.automata.unfolding import Unfolding, ValueOrder
from dipapprox.data_classes import Record, replace
from dipapprox.graphs import bits, masks_ahead
from dipapprox.language.dipa import AutomatonNoise

_MOST_COMPARED = 6  # variables whose orders are looked at for joint steps: 2^6 of them
_SEPARATOR = AutomatonNoise(Fraction(0))


class _Joint(Record):
    """Steps that are taken as one, with running minima and maxima."""

    steps: tuple[int, ...]
    one: Transition
    least: int = 0
    largest: int = 0

    @property
    def running(self) -> int:
        return self.least | self.largest


def cells_of(whole: Unfolding) -> Automaton | None:
    """Return the automaton whose walks are coarser cells; None if no steps are taken as one.

    It has the variables of the original; where it draws a separator its rate is 0. `whole` is all
    of the augmented automaton.
    """
    automaton = whole.automaton
    joints = _joints(whole)
    if not any(len(joint.steps) > 1 for joint in joints):
        return None
    # For each state what some path compares before it stores it outright.
    ends = [(joint.one.source, joint.one.target) for joint in joints]
    used, kept = [joint.one.used for joint in joints], [~joint.one.assigned for joint in joints]
    live = masks_ahead(len(automaton.states), ends, used, kept)
    joints = [
        replace(j, least=j.least & live[j.one.target], largest=j.largest & live[j.one.target])
        for j in joints
    ]
    return _Builder(automaton, joints, live).build()


# --- joint steps ----------------------------------------------------------------------------------


def _joints(whole: Unfolding) -> list[_Joint]:
    automaton = whole.automaton
    orders: dict[int, list[ValueOrder]] = {}
    for state, order in zip(whole.states, whole.orders, strict=True):
        orders.setdefault(state, []).append(order)
    found = []
    for state, leaving in enumerate(automaton.leaving()):
        alike: dict[tuple[int, Output], list[int]] = {}
        for index in leaving:
            step = automaton.transitions[index]
            alike.setdefault((step.target, step.output), []).append(index)
        for indices in alike.values():
            joint = _joint(automaton, indices, orders.get(state, []))
            found.append((indices, joint))
    least = largest = 0
    for _, joint in found:
        if joint is not None:
            least |= joint.least
            largest |= joint.largest
    both = least & largest  # a variable runs in one direction only
    joints = []
    for indices, joint in found:
        if joint is None or joint.running & both:
            joints += [_Joint((index,), automaton.transitions[index]) for index in indices]
        else:
            joints.append(joint)
    return sorted(joints, key=lambda joint: joint.steps[0])


def _joint(automaton: Automaton, indices: list[int], orders: Sequence[ValueOrder]) -> _Joint | None:
    """Return some steps as one; None if they are not."""
    steps = [automaton.transitions[index] for index in indices]
    first = steps[0]
    above, below, always, sometimes = first.above, first.below, first.assigned, 0
    compared = 0
    for step in steps:
        above, below, always = above & step.above, below & step.below, always & step.assigned
        compared |= step.used
        sometimes |= step.assigned
    compared &= ~(above | below)
    running = sometimes & ~always
    if running & ~compared or compared.bit_count() > _MOST_COMPARED:
        return None
    least = largest = running
    for chosen in product((0, 1), repeat=compared.bit_count()):
        over = sum(1 << x for x, c in zip(bits(compared), chosen, strict=True) if c)
        under = compared & ~over
        if all(order.after(above | over, below | under, 0) is None for order in orders):
            continue
        taken = [
            step
            for step in steps
            if not (step.above & compared & ~over or step.below & compared & ~under)
        ]
        if len(taken) != 1:
            return None
        stored = taken[0].assigned & running
        least &= ~(stored ^ under)
        largest &= ~(stored ^ over)
    if running & ~(least | largest):
        return None
    one = replace(first, above=above, below=below, assigned=always)
    return _Joint(tuple(indices), one, least, largest & ~least)


# --- cells ----------------------------------------------------------------------------------------

_Place = tuple[int, int, tuple[int, ...]]
"""A state, the open variables, and those that may open now, one after the other."""


class _Builder:
    """Makes the automaton of cells, its states in the order in which they are reached."""

    def __init__(self, automaton: Automaton, joints: Sequence[_Joint], live: Sequence[int]) -> None:
        self.automaton, self.live = automaton, live
        self.leaving: list[list[_Joint]] = [[] for _ in automaton.states]
        for joint in joints:
            self.leaving[joint.one.source].append(joint)
        # For each state what is a running one on some path before a new period begins.
        ends = [(joint.one.source, joint.one.target) for joint in joints]
        runs, kept = [j.running for j in joints], [~(j.one.assigned | j.one.used) for j in joints]
        self.running_on = masks_ahead(len(automaton.states), ends, runs, kept)
        self.largest = 0
        for joint in joints:
            self.largest |= joint.largest

    def build(self) -> Automaton:
        start: _Place = (0, 0, tuple(self._names(self._may_open_before(0))))
        places = {start: 0}
        order = [start]
        transitions = []
        for number, place in enumerate(order):
            for above, below, target, output, assigned in self._steps(place):
                if target not in places:
                    places[target] = len(order)
                    order.append(target)
                reached = places[target]
                transitions.append(Transition(number, above, below, reached, output, assigned))
        states = tuple([self._state(place) for place in order])
        return replace(self.automaton, states=states, transitions=tuple(transitions))

    def _state(self, place: _Place) -> ControlState:
        state, _, waiting = place
        if waiting:
            return ControlState(self.automaton.states[state].name, reads=False, compared=_SEPARATOR)
        return self.automaton.states[state]

    def _names(self, mask: int) -> list[int]:
        return sorted(bits(mask), key=lambda x: self.automaton.variables[x])

    def _runs_on(self, step: Transition, variables: int) -> int:
        """Return those of some variables that count after a step, and run before they do."""
        return variables & self.live[step.target] & self.running_on[step.target]

    def _may_open_before(self, state: int) -> int:
        """Return what holds nothing that counts and is stored by the next step."""
        found = 0
        for joint in self.leaving[state]:
            found |= self._runs_on(joint.one, joint.one.assigned)
        return found & ~self.live[state]

    def _steps(self, place: _Place) -> Iterator[tuple[int, int, _Place, Output, int]]:
        state, opened, waiting = place
        if waiting:
            x, *rest = waiting
            bit = 1 << x
            yield 0, 0, (state, opened, tuple(rest)), "", 0
            side = (bit, 0) if bit & self.largest else (0, bit)
            if not bit & self.live[state]:
                side = 0, 0
            yield *side, (state, opened | bit, tuple(rest)), "", bit
            return
        early = opened & ~self.live[state]
        for joint in self.leaving[state]:
            step = joint.one
            if early & ~self._runs_on(step, step.assigned):
                continue
            if (opened & ~early) & (step.used | step.assigned | ~self.live[step.target]):
                continue
            fresh = self._runs_on(step, step.assigned & self.live[state] | step.used)
            begins = fresh | self._may_open_before(step.target)
            after = tuple(self._names(begins))
            settling = [x for x in self._names(joint.running) if opened >> x & 1]
            for chosen in product((False, True), repeat=len(settling)):
                settled = sum(1 << x for x, c in zip(settling, chosen, strict=True) if c)
                least = joint.running & joint.least | early & ~self.largest
                largest = joint.running & joint.largest | early & self.largest
                above = step.above | least & ~settled | largest & settled
                below = step.below | largest & ~settled | least & settled
                target = step.target, opened & ~settled, after
                assigned = step.assigned & ~early | settled
                yield above, below, target, step.output, assigned
