"""The automaton of coarser cells, made again from the machine.

Nobody can tell apart steps from one state to one state that show the same. They are *joint* if for
every order of the sample and the stored values that some feasible run allows, all orders that keep
the comparisons that the steps have in common, exactly one of them is taken, and if each value that
some of them store, not all, becomes the lesser (or, always, the larger) of itself and the sample.
Then, until a guard compares that value or a step stores it outright, the run does not depend on
it: of such a *period* only the last value counts. So the samples of a word are parted by which
value of each period it is:

    settled   the value is held already; later samples of the period are beyond it
    open      a *separator* is held, any number between that value and all before it in the period;
              the sample that settles it is beyond the separator

Each part is given by an order of samples and separators, so shifts bound its loss as they bound
that of a run (`vectors`), and the parts of a word add up to it. Separators have no density: they
are moves that read nothing, of rate 0, drawn below (above) the first value of the period after it
is stored or compared; or, where nothing that counts is held, before it, when that value is only
compared. A value that is open must settle while it counts.

States are told by the machine's state, the open values, and those that may still be opened there.
They are made in the order in which walks reach them, moves in the order of the first step, values
in that of their names, what stays before what opens or settles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.checking.budgets.knowledge import Knowledge, follow, places
from dipapprox.checking.budgets.machine import Machine, Move, Values, leaving_of, needed_of
from dipapprox.data_classes import dataclass, replace
from dipapprox.language.automata import Noise
from dipapprox.limits import Limits

_MOST_COMPARED = 6
"""Values in whose orders steps may differ, to be looked at."""

_NONE: Values = frozenset()

_SEPARATOR = Noise(Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class _Joint:
    """A move that stands for joint ones, or for itself; `stored` has what is stored outright."""

    first: int
    move: Move
    least: Values = _NONE
    largest: Values = _NONE

    @property
    def running(self) -> Values:
        """What becomes the lesser or larger of itself and the sample."""
        return self.least | self.largest


def machine_of_cells(machine: Machine, limits: Limits) -> Machine:
    """Return the automaton of coarser cells.

    Raises:
        LimitReached: If `limits` run out.
    """
    known: dict[str, list[Knowledge]] = {}
    for state, knowledge in places(machine, limits):
        known.setdefault(state, []).append(knowledge)
    return _Cells(machine, _joints(machine, known), limits).machine()


def _joints(machine: Machine, known: dict[str, list[Knowledge]]) -> list[_Joint]:
    alike: dict[tuple[str, str, str], list[int]] = {}
    for number, move in enumerate(machine.moves):
        alike.setdefault((move.source, move.target, move.shows), []).append(number)
    found = [
        (numbers, _joint(machine, numbers, known.get(source, [])))
        for (source, _, _), numbers in alike.items()
    ]
    least = _NONE.union(*(joint.least for _, joint in found if joint is not None))
    largest = _NONE.union(*(joint.largest for _, joint in found if joint is not None))
    joints = []
    for numbers, joint in found:
        if joint is None or joint.running & least & largest:
            joints += [_Joint(number, machine.moves[number]) for number in numbers]
        else:
            joints.append(joint)
    return sorted(joints, key=lambda joint: joint.first)


def _joint(machine: Machine, numbers: Sequence[int], known: list[Knowledge]) -> _Joint | None:
    moves = [machine.moves[number] for number in numbers]
    at_least = frozenset.intersection(*(move.at_least for move in moves))
    less = frozenset.intersection(*(move.less for move in moves))
    always = frozenset.intersection(*(move.stored for move in moves))
    compared = _NONE.union(*(move.compared for move in moves)) - at_least - less
    running = _NONE.union(*(move.stored for move in moves)) - always
    if not running <= compared or len(compared) > _MOST_COMPARED:
        return None
    whole = replace(moves[0], at_least=at_least, less=less, stored=always)
    least = largest = running
    for signs in product((False, True), repeat=len(compared)):
        above = frozenset(x for x, sign in zip(sorted(compared), signs, strict=True) if sign)
        below = compared - above
        order = replace(whole, at_least=at_least | above, less=less | below, stored=_NONE)
        if all(follow(machine, each, order) is None for each in known):
            continue
        taken = [m for m in moves if m.at_least <= at_least | above and m.less <= less | below]
        if len(taken) != 1:
            return None
        least -= taken[0].stored ^ below
        largest -= taken[0].stored ^ above
    if running != least | largest:
        return None
    return _Joint(numbers[0], whole, least, largest - least)


@dataclass(frozen=True, slots=True)
class _Place:
    """A state of the machine, the values that are open there, and those that may open now."""

    state: str
    open: Values
    waiting: tuple[int, ...]


class _Cells:
    """Follows the joint moves, with what is open."""

    def __init__(self, machine: Machine, joints: Sequence[_Joint], limits: Limits) -> None:
        self.original, self.limits = machine, limits
        names = {number: name for name, number in machine.values.items()}
        by_name = sorted(names, key=names.__getitem__)
        self.rank = {number: rank for rank, number in enumerate(by_name)}
        counts = needed_of([joint.move for joint in joints])
        self.counts = {**dict.fromkeys(machine.leaving, _NONE), **counts}
        self.leaving: dict[str, list[_Joint]] = {}
        for joint in joints:
            after = self.counts[joint.move.target]
            least, largest = joint.least & after, joint.largest & after
            kept = replace(joint, least=least, largest=largest)
            self.leaving.setdefault(joint.move.source, []).append(kept)
        self.upwards = _NONE.union(
            *(joint.largest for each in self.leaving.values() for joint in each)
        )
        self.running = self._running_later()

    def _running_later(self) -> dict[str, Values]:
        """For each state the values that may run before they are compared or stored outright."""
        found = dict.fromkeys(self.counts, _NONE)
        changed = True
        while changed:
            changed = False
            for state, joints in self.leaving.items():
                for joint in joints:
                    later = found[joint.move.target] - joint.move.stored - joint.move.compared
                    if not joint.running | later <= found[state]:
                        found[state] |= joint.running | later
                        changed = True
        return found

    def _begins(self, joint: _Joint, values: Values) -> Values:
        """Those of some values that count after a move, and run before they do."""
        return values & self.counts[joint.move.target] & self.running[joint.move.target]

    def _empty(self, state: str) -> Values:
        """Values that hold nothing that counts, and whose period may begin with the next move."""
        found = _NONE.union(
            *(self._begins(joint, joint.move.stored) for joint in self.leaving.get(state, ()))
        )
        return found - self.counts[state]

    def _in_order(self, values: Values) -> tuple[int, ...]:
        return tuple(sorted(values, key=self.rank.__getitem__))

    def machine(self) -> Machine:
        """Return the automaton."""
        initial = self.original.initial
        order = [_Place(initial, _NONE, self._in_order(self._empty(initial)))]
        names = {order[0]: "0"}
        moves = []
        for place in order:
            self.limits.check()
            self.limits.check_states(len(order))
            source = names[place]
            for at_least, less, stored, shows, target in self._moves(place):
                if target not in names:
                    names[target] = str(len(order))
                    order.append(target)
                moves.append(Move(source, at_least, less, stored, shows, names[target]))
        drawing = [place for place in order if not place.waiting]
        original = self.original
        return replace(
            original,
            initial="0",
            reading=frozenset(names[p] for p in drawing if p.state in original.reading),
            compared={
                names[place]: _SEPARATOR if place.waiting else original.compared[place.state]
                for place in order
                if place.waiting or place.state in original.compared
            },
            fresh={names[p]: original.fresh[p.state] for p in drawing if p.state in original.fresh},
            moves=tuple(moves),
            leaving=leaving_of(moves),
            needed=needed_of(moves),
            ways={},
        )

    def _moves(self, place: _Place) -> Iterator[tuple[Values, Values, Values, str, _Place]]:
        """Yield guards, what is stored and shown, and where each move leads."""
        if place.waiting:
            yield from self._openings(place)
            return
        counts = self.counts[place.state]
        early, late = place.open - counts, place.open & counts
        for joint in self.leaving.get(place.state, ()):
            move, target = joint.move, joint.move.target
            if not early <= self._begins(joint, move.stored):
                continue  # what was to be the first value of a period is not
            if late & (move.compared | move.stored) or not late <= self.counts[target]:
                continue
            begins = self._begins(joint, move.stored & counts | move.compared)
            waiting = self._in_order(begins | self._empty(target))
            settling = self._in_order(joint.running & place.open)
            bounds = joint.running | early
            for signs in product((False, True), repeat=len(settling)):
                settled = frozenset(x for x, sign in zip(settling, signs, strict=True) if sign)
                over = (bounds - self.upwards - settled) | (settled & self.upwards)
                under = (bounds & self.upwards - settled) | (settled - self.upwards)
                after = _Place(target, place.open - settled, waiting)
                stored = move.stored - early | settled
                yield move.at_least | over, move.less | under, stored, move.shows, after

    def _openings(self, place: _Place) -> Iterator[tuple[Values, Values, Values, str, _Place]]:
        """Yield that a value stays, and that it opens."""
        x, *rest = place.waiting
        one, waiting = frozenset({x}), tuple(rest)
        yield _NONE, _NONE, _NONE, "", _Place(place.state, place.open, waiting)
        bound = one & self.counts[place.state]  # what is held is the first value
        over, under = bound & self.upwards, bound - self.upwards
        yield over, under, one, "", _Place(place.state, place.open | one, waiting)
