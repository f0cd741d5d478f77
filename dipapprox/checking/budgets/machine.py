"""An automaton as the check reads it: named states, and moves with sets of stored values.

Built from the text alone, or from the automaton that a program with rounds is. Stopping, where it
is visible, is a move like others; that branches in a certificate fill exactly what the guards of a
state leave out is shown by measure: guards that exclude each other cover everything iff the sum of
2^-(number of comparisons) is 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from dipapprox.automata.model import Laplace, Sample, members
from dipapprox.certificates.budgets import Branch
from dipapprox.data_classes import dataclass, field
from dipapprox.errors import UserError
from dipapprox.language.automata import INSAMPLE, INSAMPLE_PRIME, AutomatonText, Noise
from dipapprox.rounds.compiled import Compiled
from dipapprox.rounds.visible import Seen

STOPPED = ""
"""The state after a visible stop, and the symbol that it shows; no text can have such a name."""

Values = frozenset[int]
"""Stored values, by number."""


@dataclass(frozen=True, slots=True)
class Move:
    """One step: the sample is at least all of `at_least`, below all of `less`, then `stored`."""

    source: str
    at_least: Values
    less: Values
    stored: Values
    shows: str
    target: str

    @property
    def compared(self) -> Values:
        """The values that the guard mentions."""
        return self.at_least | self.less

    @property
    def is_real(self) -> bool:
        """Whether a number is shown; which of the two samples it is cannot be seen."""
        return self.shows in (INSAMPLE, INSAMPLE_PRIME)


@dataclass(frozen=True, slots=True)
class Machine:
    """States by name, moves by number.

    Attributes:
        values: The numbers of the stored values, by name.
        initial: Where every run begins.
        reading: The states that read an input.
        compared: The noise of the sample that guards compare, for each state with moves.
        fresh: The noise of the other sample, where there is one.
        moves: In the order of the text; those for visible stops follow.
        leaving: The moves of each state.
        needed: For each state the values that some path compares before it stores them anew.
        changes: The ends of the interval in which changes of inputs lie.
        factor: What budgets are multiplied by.
        unproved: Why a lower bound of its budget is none; empty if it is.
        words: Whether words prove lower bounds.
        seen: What each move publishes of a program that publishes less than its steps; else None.
        ways: What is feasible at a place and where it leads, as far as it was asked for.
    """

    values: Mapping[str, int]
    initial: str
    reading: frozenset[str]
    compared: Mapping[str, Noise]
    fresh: Mapping[str, Noise]
    moves: tuple[Move, ...]
    leaving: Mapping[str, tuple[int, ...]]
    needed: Mapping[str, Values]
    changes: tuple[int, ...] = (1, -1)
    factor: Fraction = Fraction(1)
    unproved: tuple[str, ...] = ()
    words: bool = True
    seen: tuple[Seen, ...] | None = None
    ways: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    def reads(self, move: Move) -> bool:
        """Whether a move reads an input."""
        return move.source in self.reading

    def rate(self, move: Move) -> Fraction:
        """The rate of the compared sample of a move."""
        return self.compared[move.source].rate

    def fresh_cost(self, move: Move) -> Fraction:
        """What a changed input costs at the fresh sample."""
        shown = move.shows == INSAMPLE_PRIME and self.reads(move)
        return self.fresh[move.source].rate if shown else Fraction(0)

    def look(self, move: Move) -> tuple[bool, str]:
        """What is seen of a move: whether an input is read, and the output."""
        return self.reads(move), INSAMPLE if move.is_real else move.shows


def machine_of(text: AutomatonText, branches: Sequence[Branch]) -> Machine:
    """Read an automaton; with branches, all that its guards leave out is filled by them.

    Raises:
        UserError: If it is not one of which the theorems speak, or a branch does not fit.
    """
    locations = {location.name: location for location in text.locations}
    if len(locations) < len(text.locations):
        raise UserError("a state is declared twice")
    steps = [(location, step) for location in text.locations for step in location.steps]
    names: dict[str, int] = {}
    for _, step in steps:
        for name in step.assigned:
            names.setdefault(name, len(names))
    moves = []
    for location, step in steps:
        sides = {True: set[int](), False: set[int]()}
        for atom in step.guard:
            sides[atom.at_least].add(_number(names, atom.variable))
        stored = frozenset(names[name] for name in step.assigned)
        at_least, less = frozenset(sides[True]), frozenset(sides[False])
        moves.append(Move(location.name, at_least, less, stored, step.output, step.target))
    for branch in branches:
        above = frozenset(_number(names, name) for name in branch.at_least)
        below = frozenset(_number(names, name) for name in branch.less)
        if branch.state not in {location.name for location, _ in steps}:
            raise UserError(f"a branch for visible stops is added to '{branch.state}'")
        moves.append(Move(branch.state, above, below, frozenset(), STOPPED, STOPPED))
    machine = Machine(
        values=names,
        initial=text.locations[0].name,
        reading=frozenset(location.name for location in text.locations if location.reads),
        compared={name: location.insample for name, location in locations.items()},
        fresh={
            name: location.insample_prime
            for name, location in locations.items()
            if location.insample_prime is not None
        },
        moves=tuple(moves),
        leaving=leaving_of(moves),
        needed=needed_of(moves),
    )
    for complaint in _complaints(machine):
        raise UserError(complaint)
    return machine


def machine_of_rounds(compiled: Compiled) -> Machine:
    """Read the automaton that a program with rounds is; its states are told by their numbers."""
    automaton = compiled.automaton
    names = [str(number) for number in range(len(automaton.states))]
    states = list(zip(names, automaton.states, strict=True))
    moves = [
        Move(
            source=names[each.source],
            at_least=frozenset(members(each.above)),
            less=frozenset(members(each.below)),
            stored=frozenset(members(each.assigned)),
            shows=each.output.value if isinstance(each.output, Sample) else symbol(each.output),
            target=names[each.target],
        )
        for each in automaton.transitions
    ]
    return Machine(
        values={name: number for number, name in enumerate(automaton.variables)},
        initial=names[0],
        reading=frozenset(name for name, state in states if state.reads),
        compared={name: _noise(state.compared) for name, state in states if state.compared},
        fresh={name: _noise(state.fresh) for name, state in states if state.fresh},
        moves=tuple(moves),
        leaving=leaving_of(moves),
        needed=needed_of(moves),
        changes=automaton.changes,
        factor=compiled.factor,
        unproved=compiled.losses,
        words=compiled.is_plain and compiled.tells,
        seen=None if compiled.tells else compiled.seen,
    )


def symbol(name: str) -> str:
    """Return what a move shows for a symbol; a program may call one as samples are called."""
    return f"'{name}'" if name in (INSAMPLE, INSAMPLE_PRIME) else name


def _noise(noise: Laplace) -> Noise:
    return Noise(noise.rate, noise.mean)


def leaving_of(moves: Sequence[Move]) -> dict[str, tuple[int, ...]]:
    leaving: dict[str, list[int]] = {}
    for number, move in enumerate(moves):
        leaving.setdefault(move.source, []).append(number)
    return {state: tuple(numbers) for state, numbers in leaving.items()}


def _number(names: Mapping[str, int], name: str) -> int:
    if name not in names:
        raise UserError(f"'{name}' is compared, but never stored")
    return names[name]


def needed_of(moves: Sequence[Move]) -> dict[str, Values]:
    """Values that are compared later: the least solution of backward equations."""
    needed = {state: frozenset[int]() for move in moves for state in (move.source, move.target)}
    into: dict[str, list[Move]] = {state: [] for state in needed}
    for move in moves:
        into[move.target].append(move)
    waiting = list(needed)
    while waiting:
        state = waiting.pop()
        for move in into[state]:
            before = needed[move.source] | move.compared | (needed[state] - move.stored)
            if before != needed[move.source]:
                needed[move.source] = before
                waiting.append(move.source)
    return needed


def _complaints(machine: Machine) -> Iterator[str]:
    for state, numbers in machine.leaving.items():
        moves = [machine.moves[number] for number in numbers]
        fresh = machine.fresh.get(state)
        if machine.compared[state].rate <= 0:
            yield f"a rate of '{state}' is not positive"
        if any(m.shows == INSAMPLE_PRIME for m in moves) and (fresh is None or fresh.rate <= 0):
            yield f"'{state}' shows a sample without noise"
        if state not in machine.reading and (len(moves) > 1 or moves[0].compared):
            yield f"'{state}' reads no input, and chooses"
        for move in moves:
            if move.at_least & move.less:
                yield f"a guard of '{state}' can never hold"
        for one, other in combinations(moves, 2):
            if not (one.at_least & other.less or one.less & other.at_least):
                yield f"two guards of '{state}' can hold together"
    stored: dict[str, Values] = {machine.initial: frozenset()}
    waiting = [machine.initial]
    while waiting:
        state = waiting.pop()
        for number in machine.leaving.get(state, ()):
            move = machine.moves[number]
            after = stored[state] | move.stored
            known = stored.get(move.target)
            if known is None or not known <= after:
                stored[move.target] = after if known is None else known & after
                waiting.append(move.target)
    for move in machine.moves:
        if move.source in stored and not move.compared <= stored[move.source]:
            yield f"'{move.source}' compares a value that may not have been stored"


def reachable(machine: Machine) -> frozenset[str]:
    """Return the states that some path leads to, whatever its guards say."""
    found = {machine.initial}
    waiting = [machine.initial]
    while waiting:
        for number in machine.leaving.get(waiting.pop(), ()):
            target = machine.moves[number].target
            if target not in found:
                found.add(target)
                waiting.append(target)
    return frozenset(found)


def is_total(machine: Machine, state: str) -> bool:
    """Whether some guard of a state always holds; a state without moves is an end, not a gap."""
    moves = [machine.moves[number] for number in machine.leaving.get(state, ())]
    counts = [len(move.compared) for move in moves]
    most = max(counts, default=0)
    return not moves or sum([2 ** (most - count) for count in counts]) == 2**most
