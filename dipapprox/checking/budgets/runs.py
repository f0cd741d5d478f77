"""Runs: feasible ones, those that their word determines, and flows that price their shifts.

Why a flow bounds the shifts of a run from below. Along an edge i -> j of the dependency graph the
level u must not rise (see `vectors`): u_i >= u_j. A flow f >= 0 along the edges brings position j
the gain g_j, what comes in less what goes out, and Σ g_j u_j = Σ f_ij (u_j - u_i) <= 0. Where a
position pays its rate for u = 0, let 0 <= g_j <= rate; where it pays for u = 1, -rate <= g_j <= 0;
where the sample is shown, u is given and g_j is anything. Then the price is at least

    Σ over those that pay for 0 of g_j (1 - u_j)  +  Σ over those that pay for 1 of -g_j u_j
        >= Σ over those that pay for 0 of g_j  +  Σ over the shown ones of g_j u_j
        =  - Σ over those that pay for 1 of g_j  if u = 1 where the sample is shown (gains sum to 0)

and for v, which is 0 where the sample is shown, it is at least Σ over those that pay for 0 of g_j.
That the loss of a run comes as close to the least price as one wants, for some inputs, at every
single ε: the probability of its word is the integral of a log-concave function over a cone, and
far out on a ray of inputs its logarithm has the slope of the cheapest shift (`automata.shifts`
has the proof). If the word fits no other run, the automaton loses the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.certificates.budgets import RecordedRun
from dipapprox.checking.budgets.knowledge import NOTHING, Place, moves_from
from dipapprox.checking.budgets.machine import Machine
from dipapprox.language.automata import INSAMPLE
from dipapprox.limits import Limits

Arc = tuple[int, int]
"""The sample of the first position is below that of the second."""


def places_of(machine: Machine, run: Sequence[int]) -> list[Place] | int:
    """Return where a run is before, between and after its steps, or which of them cannot be."""
    place: Place = machine.initial, NOTHING
    found = [place]
    for position, step in enumerate(run):
        following = dict(moves_from(machine, place))
        if step not in following:
            return position
        place = following[step]
        found.append(place)
    return found


def arcs_of(machine: Machine, run: Sequence[int]) -> frozenset[Arc]:
    """Return the dependency graph of a run."""
    holds: dict[int, int] = {}
    arcs: set[Arc] = set()
    for position, step in enumerate(run):
        move = machine.moves[step]
        arcs.update((holds[x], position) for x in move.at_least)
        arcs.update((position, holds[x]) for x in move.less)
        holds.update(dict.fromkeys(move.stored, position))
    return frozenset(arcs)


class Doubles:
    """Where other feasible runs may be that look like one that is followed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.others: frozenset[Place] = frozenset()
        self.here: Place = (machine.initial, NOTHING)

    def take(self, steps: Iterable[int]) -> None:
        """Follow some steps; they must be feasible."""
        for step in steps:
            look = self.machine.look(self.machine.moves[step])
            reached = set()
            for place in self.others | {self.here}:
                for number, target in moves_from(self.machine, place):
                    differs = number != step or place in self.others
                    if differs and self.machine.look(self.machine.moves[number]) == look:
                        reached.add(target)
            self.others = frozenset(reached)
            self.here = dict(moves_from(self.machine, self.here))[step]

    def take_again_and_again(self, steps: Sequence[int], limits: Limits) -> None:
        """Follow some steps that lead back to where they begin, any number of times."""
        while True:
            limits.check()
            before = self.others
            self.take(steps)
            self.others |= before
            if self.others == before:
                return


def examine_run(
    machine: Machine, recorded: RecordedRun, bound: Fraction, limits: Limits
) -> str | None:
    """Say why a run does not prove that no budget below `bound` serves, or what in it is false.

    Raises:
        LimitReached: If `limits` run out.
    """
    limits.check()
    run = [step.step for step in recorded.steps]
    if any(step >= len(machine.moves) for step in run):
        return "steps: there is no such step"
    places = places_of(machine, run)
    if isinstance(places, int):
        return f"steps[{places}]: it cannot be taken there"
    doubles = Doubles(machine)
    doubles.take(run)
    if doubles.others:
        return "steps: another run has the same word"
    complaint = _examine_flow(machine, recorded, run)
    if complaint is not None:
        return complaint
    found = _value(machine, recorded, run)
    return None if found == bound else f"the flow proves {found}"


def _examine_flow(machine: Machine, recorded: RecordedRun, run: Sequence[int]) -> str | None:
    arcs = arcs_of(machine, run)
    gains = {position: [Fraction(0), Fraction(0)] for position in range(len(run))}
    seen = set()
    for number, each in enumerate(recorded.flow):
        arc = each.below, each.above
        if arc not in arcs or arc in seen:
            return f"flow[{number}]: no edge of the dependency graph, or one that comes twice"
        seen.add(arc)
        if min(each.lower, each.upper) < 0 or not (each.lower or each.upper):
            return f"flow[{number}]: a flow is positive"
        for level, amount in enumerate((each.lower, each.upper)):
            gains[each.above][level] += amount
            gains[each.below][level] -= amount
    for position, step in enumerate(recorded.steps):
        move = machine.moves[step.step]
        where = f"steps[{position}]"
        if step.change and not machine.reads(move):
            return f"{where}: it reads no input that could change"
        if step.change and step.change not in machine.changes:
            return f"{where}: inputs do not change so"
        if [step.lower, step.upper] != gains[position]:
            return f"{where}: it gains {gains[position][0]} and {gains[position][1]}"
        if move.shows == INSAMPLE:
            continue
        if not machine.fresh_cost(move) and step.change != _change(*gains[position]):
            return f"{where}: the flows need another change of the input"
        rate = machine.rate(move)
        for level, gain in enumerate(gains[position]):
            for_zero = _pays_for_zero(step.change, level)
            if not 0 <= (gain if for_zero else -gain) <= rate:
                return f"{where}: it cannot gain {gain}"
    return None


def _change(lower: Fraction, upper: Fraction) -> int:
    """Return the least change for which gains may be what they are."""
    return int(upper > 0) - int(lower < 0)


def _pays_for_zero(change: int, level: int) -> bool:
    return change >= 0 if level == 0 else change > 0


def _value(machine: Machine, recorded: RecordedRun, run: Sequence[int]) -> Fraction:
    """Return what the flows prove, with what is paid whatever the shift is."""
    value = Fraction(0)
    for step, number in zip(recorded.steps, run, strict=True):
        move = machine.moves[number]
        value += machine.fresh_cost(move) * abs(step.change)
        if move.shows == INSAMPLE:
            value += machine.rate(move) * abs(step.change)
            continue
        if not _pays_for_zero(step.change, 0):
            value -= step.lower
        if _pays_for_zero(step.change, 1):
            value += step.upper
    return value
