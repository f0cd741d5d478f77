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
from math import lcm

from dipapprox.certificates.budgets import RecordedRun
from dipapprox.checking.budgets.knowledge import NOTHING, Place, moves_from
from dipapprox.checking.budgets.machine import Machine
from dipapprox.digits import brief_text
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
    return _Flow(machine, recorded, run).examine(bound)


class _Flow:
    """The flows along a run, in whole units."""

    def __init__(self, machine: Machine, recorded: RecordedRun, run: Sequence[int]) -> None:
        self.machine, self.recorded = machine, recorded
        self.moves = [machine.moves[step] for step in run]
        self.arcs = arcs_of(machine, run)
        rates = [machine.rate(move) for move in self.moves]
        fresh = [machine.fresh_cost(move) for move in self.moves]
        amounts = [amount for each in recorded.flow for amount in (each.lower, each.upper)]
        amounts += [amount for step in recorded.steps for amount in (step.lower, step.upper)]
        self.scale = lcm(1, *(each.denominator for each in (*rates, *fresh, *amounts)))
        self.rates, self.fresh = list(map(self._whole, rates)), list(map(self._whole, fresh))

    def _whole(self, amount: Fraction) -> int:
        return amount.numerator * (self.scale // amount.denominator)

    def examine(self, bound: Fraction) -> str | None:
        """Say what is wrong, or that the flows prove another bound."""
        gains = [[0, 0] for _ in self.moves]
        seen = set()
        for number, each in enumerate(self.recorded.flow):
            arc = each.below, each.above
            if arc not in self.arcs or arc in seen:
                return f"flow[{number}]: no edge of the dependency graph, or one that comes twice"
            seen.add(arc)
            amounts = self._whole(each.lower), self._whole(each.upper)
            if min(amounts) < 0 or not any(amounts):
                return f"flow[{number}]: a flow is positive"
            for level, amount in enumerate(amounts):
                gains[each.above][level] += amount
                gains[each.below][level] -= amount
        for position, gained in enumerate(gains):
            complaint = self._complaint(position, *gained)
            if complaint is not None:
                return f"steps[{position}]: {complaint}"
        found = Fraction(self._value(gains), self.scale)
        return None if found == bound else f"the flow proves {brief_text(found)}"

    def _complaint(self, position: int, lower: int, upper: int) -> str | None:
        step, move = self.recorded.steps[position], self.moves[position]
        if step.change and not self.machine.reads(move):
            return "it reads no input that could change"
        if step.change and step.change not in self.machine.changes:
            return "inputs do not change so"
        if (self._whole(step.lower), self._whole(step.upper)) != (lower, upper):
            gains = [brief_text(Fraction(end, self.scale)) for end in (lower, upper)]
            return f"it gains {gains[0]} and {gains[1]}"
        if move.shows == INSAMPLE:
            return None
        # Of all changes for which gains may be what they are, the least is recorded.
        if not self.fresh[position] and step.change != int(upper > 0) - int(lower < 0):
            return "the flows need another change of the input"
        for level, gain in enumerate((lower, upper)):
            amount = gain if _pays_for_zero(step.change, level) else -gain
            if not 0 <= amount <= self.rates[position]:
                return f"it cannot gain {brief_text(Fraction(gain, self.scale))}"
        return None

    def _value(self, gains: Sequence[Sequence[int]]) -> int:
        """Return what the flows prove, with what is paid whatever the shift is."""
        value = 0
        for position, (step, (lower, upper)) in enumerate(
            zip(self.recorded.steps, gains, strict=True)
        ):
            value += self.fresh[position] * abs(step.change)
            if self.moves[position].shows == INSAMPLE:
                value += self.rates[position] * abs(step.change)
                continue
            if not _pays_for_zero(step.change, 0):
                value -= lower
            if _pays_for_zero(step.change, 1):
                value += upper
        return value


def _pays_for_zero(change: int, level: int) -> bool:
    return change >= 0 if level == 0 else change > 0
