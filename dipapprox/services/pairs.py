"""Pairs of runs whose calls are adjacent, as a graph; its edges are calls with equal replies.

A node is two states and, for cells kept by differences, how much more the first holds. An edge says
how much likelier the first run is to answer so and go on there. What a run may show in the end is
at most the longest path from a *covering* pair, the states after and without the inserted data call
(after one value and after another, if adjacent is `replace`):

**Lemma.** Let V be a function on pairs, V(x, y) >= 0 and V(x, x) = 0. For every pair, call and
*label* (what is seen of an outcome: values of reply cells, and which samples are published, of
which noise) let the outcomes (x', p) and (y', q) of the two runs with that label be

- paired one to one, with V(x, y) >= ln(p / q) / eps + cost + V(x', y') for each two, or
- paired all with all, with the logarithm of the quotient of the two sums in place of ln(p / q),

where *cost* is the sum of |D| / g over the published samples, of scale g / eps and means D apart.
Then the courses of any calls, whatever is seen in them, are at most e^(V(x, y) eps) times as likely
from x as from y.

*Proof.* What is seen of a course has a density with respect to products of counting and Lebesgue
measure, so it suffices to bound the density f_x(r) of single courses r: that bounds the probability
of any set of them, and of courses in which later calls depend on replies. By induction over the
calls. Without calls both densities are 1. For a call first seen as r1, let f_x'(r') be the density
of the rest of r from x'. A published sample is seen by nothing else (`handlers`), so the next state
does not depend on the number shown, and f_x(r) is the sum of p h(r1) f_x'(r') over the outcomes,
h the density of their samples at r1. Labels that may show the same add up on both sides, so one
label suffices. There h(r1) <= e^(cost eps) h'(r1) for every r1, h' of the second run's outcome: the
noise has density proportional to e^(-eps |z - mean| / g), and a clamp sends the same numbers to the
same end in both runs. With f_x' <= e^(V(x', y') eps) f_y' every term is at most e^(V(x, y) eps)
times its partner's, q h' f_y'. All with all: the sum of p f_x' is at most (sum of p) times the
largest f_x', which is at most (sum of p / sum of q) e^(V' eps) times (sum of q f_y'), as every f_x'
is at most e^(V' eps) times every f_y'. A call that is not seen has one label and cost 0. ∎

So a clamped sample is charged for the tail that its ends stand for, too: no smaller cost would do,
as at an end, or for whole numbers and reals beyond both means, h = e^(cost eps) h'.

What holds of pairs of states holds of the call in which the runs differ: its outcomes are paired in
the same ways, and an outcome p of the first run against q of the second adds ln(p / q) / eps.

With one outcome each nothing is lost: V is then the least such function. With additive cells the
costs of a course are convex in its data, as everything else does not depend on it: the ends of the
range of data are all that matters.

Outcomes of two runs that show the same, paired.

The order of the outcomes is that in which they come about, so equal choices meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import inf
from typing import TypeVar

from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.language.services import Change
from dipapprox.limits import check_limits, check_states
from dipapprox.linear.form import LinearForm
from dipapprox.services.handlers import cases, range_of
from dipapprox.services.model import (
    NO_GAIN,
    Arrival,
    Call,
    CallOutcome,
    Gain,
    Inexpressible,
    Range,
    State,
    Step,
    Told,
    Untracked,
    one_sided_reply,
    spelled_out,
)
from dipapprox.services.system import System, merged, unseen

Node = tuple[int, int, tuple[Fraction, ...]]
"""The numbers of the two states, and the differences of the additive cells, first minus second."""

_Way = tuple[Call | None, Step, Fraction | None]
"""A call with its data, None for no call; its outcomes; the data, if it is a number."""

_FREE = Fraction(0)
EQUAL = -1  # the target of an edge to runs that are in the same state, from where nothing is lost


class Edge(Record):
    """Both runs answer a call alike, or get the calls in which they differ."""

    target: int  # index of a node, or EQUAL
    gain: Gain  # of the first run's probability over the second's, published samples left out
    cost: Fraction  # of published samples, in eps
    calls: tuple[Call | None, Call | None]  # of the two runs
    outcomes: tuple[CallOutcome, CallOutcome]

    @property
    def weight(self) -> Fraction:
        """What it may add to the loss, in eps; 0 for what is not bounded."""
        return self.cost if self.gain is NO_GAIN else self.cost + (self.gain.upper or 0)


Covering = tuple[State, Edge]
"""How a covering pair comes about: the state before the calls in which the runs differ, and these.
"""


OneSided = tuple[int, Call, tuple[Value | None, ...], bool]
"""A reply that only one run can give: node, call, reply, and whether that is the second run, which
is asked for where noise of several kinds has no other way."""


class RunPairs:
    """Pairs of runs as a graph: all that calls lead to from the covering ones, or what is asked.

    Attributes:
        edges: For each node, where `explore` has come to it.
        covers: Covering pairs, and how the first one of each comes about of those that gain most.
        least: What the calls in which the runs differ gain alone, where both come to one state.
        parents: For each state how it was first come to; None for the initial one.
        one_sided: The first reply that only one run can give.
        last_resort: One that only a density shows, between numbers that the other run shows, too:
            for where nothing else tells the runs apart.
        determined: Whether replies determine all successors, and the first call too.
        calm: The least data, where it is numbers.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.nodes: list[Node] = []
        self.edges: list[list[Edge]] = []
        self.covers: dict[int, Covering] = {}
        self.least = _FREE
        self.parents: dict[State, Arrival | None] = {}
        self.one_sided: OneSided | None = None
        self.last_resort: OneSided | None = None
        self.determined = True
        self.numbers: dict[Node, int] = {}
        self._plain: dict[tuple[int, int], Fraction | None] = {}
        service = system.service
        kept = [cell for cell in service.states if cell.name in system.kept]
        self._kept = tuple(cell.name for cell in kept)
        self._place = {name: place for place, name in enumerate(self._kept)}
        ranges = ((cell.name, range_of(cell.cell)) for cell in kept)
        self.held: dict[Told, Range] = {
            name: values for name, values in ranges if values is not None
        }
        self._data_name = service.data.arguments[0].name
        data = [v for v in service.data.arguments[0].domain if isinstance(v, Fraction)]
        self._ends = tuple(dict.fromkeys((min(data), max(data)))) if data else ()
        self.calm = (min(data, key=lambda v: (abs(v), v)),) if data else ()

    def explore(self, most: float) -> None:
        """Find the pairs from all covering ones, until a reply is one-sided.

        What is found before a limit is reached stays.
        """
        self.parents = self.system.reachable(most)
        for state in self.parents:
            check_limits()
            for edge in self.covering(state):
                if edge.target == EQUAL:
                    self.least = max(self.least, edge.weight)
                    continue
                known = self.covers.get(edge.target)
                if known is None or known[1].weight < edge.weight:
                    self.covers[edge.target] = state, edge
        place = 0
        while place < min(len(self.nodes), most):
            check_limits()
            for call in range(len(self.system.calls)):
                self.edges[place] += self.leaving(place, call)
                if self.one_sided is not None:
                    return
            place += 1
            check_states(len(self.nodes))
        if max(len(self.parents), place) >= most:
            raise LimitReached(f"more than {most} states")

    def number(self, node: Node) -> int:
        if node[0] == node[1] and not any(node[2]):
            return EQUAL
        number = self.numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
            self.edges.append([])
        return number

    # --- covering pairs -------------------------------------------------------------------------

    def covering(self, state: State) -> Iterator[Edge]:
        """Yield the edges of calls in which the runs differ, both of which are in one state."""
        system = self.system
        ways: list[_Way] = []
        for call in system.calls:
            if call.is_data:
                values: tuple[Value, ...] = self._ends if system.any_data else call.values
                step = system.step(state, call)
                for given in values:
                    number = given if isinstance(given, Fraction) else None
                    ways.append((Call(call.handler, call.name, (given,)), step, number))
                self.determined &= len({each.where for each in step}) == len(step)
        unchanged = tuple(LinearForm.symbol(name) for name in self._kept)
        stay = CallOutcome(_CERTAINLY, (), state, unchanged)
        zero = (Fraction(0),) * len(self._kept)
        different = [(one, other) for one in ways for other in ways if one[0] != other[0]]
        if system.service.change is Change.INSERT:
            nothing: _Way = None, (stay,), None
            different = [pair for way in ways for pair in ((way, nothing), (nothing, way))]
        for (one, step, first), (other, others, second) in different:
            for ours, theirs in cases(step, others, self.held, lambda _: _FREE):
                for left, right, gain in paired(ours, theirs, system.gain):
                    if gain.upper is None:
                        raise Inexpressible(_UNEVEN)
                    after = self.after(left, right, zero, first, second)
                    states = system.number(left.state), system.number(right.state)
                    target = self.number((*states, after))
                    yield Edge(target, gain, _FREE, (one, other), (left, right))

    # --- differences ----------------------------------------------------------------------------

    def after(
        self,
        left: CallOutcome,
        right: CallOutcome,
        differences: tuple[Fraction, ...],
        first: Fraction | None,
        second: Fraction | None,
    ) -> tuple[Fraction, ...]:
        forms = zip(left.forms, right.forms, strict=True)
        return tuple([self.difference(*both, differences, first, second) for both in forms])

    def difference(
        self,
        ours: LinearForm,
        theirs: LinearForm,
        differences: tuple[Fraction, ...],
        first: Fraction | None,
        second: Fraction | None,
    ) -> Fraction:
        """Return how much more one form is than another, from the differences of their cells;
        `Untracked` if that depends on what the cells hold."""
        total = ours.constant - theirs.constant
        if ours.terms == theirs.terms and first == second:
            for name, factor in ours.terms:
                if name != self._data_name:
                    total += factor * differences[self._place[str(name)]]
            return total
        for place, name in enumerate(self._kept):
            factor = ours.coefficient(name)
            if factor != theirs.coefficient(name):
                raise Untracked((name,))
            total += factor * differences[place]
        for form, value, sign in ((ours, first, 1), (theirs, second, -1)):
            factor = form.coefficient(self._data_name)
            if factor:
                if value is None:
                    raise Untracked
                total += sign * factor * value
        return total

    def apart(self, told: Told, differences: tuple[Fraction, ...]) -> Fraction:
        """Return how much more the first run's cells hold of what comparisons are about."""
        terms = [(told, Fraction(1))] if isinstance(told, str) else told.terms
        return sum((c * differences[self._place[str(name)]] for name, c in terms), _FREE)

    # --- edges ----------------------------------------------------------------------------------

    def leaving(self, place: int, number: int) -> Iterator[Edge]:
        first, second, differences = self.nodes[place]
        call = self.system.calls[number]
        left, our_states, ours_shown = self.system.moves(first, number)
        right, their_states, theirs_shown = self.system.moves(second, number)
        visible = self.system.seen[number]
        if len(left) == 1 == len(right) and not differences:
            # One outcome each: nearly all calls of services that are worked out cell by cell.
            one, other = left[0], right[0]
            cost: Fraction | None = _FREE
            if visible:
                shown = ours_shown[0], theirs_shown[0]
                if shown not in self._plain:
                    alike = one.label == other.label
                    self._plain[shown] = self.costs(one, other, ()) if alike else None
                cost = self._plain[shown]
            if cost is not None:
                gain = self.system.gain(one.probability, other.probability)
                target = self.number((our_states[0], their_states[0], ()))
                (value,) = self.data_values(call, one, other)
                yield Edge(target, gain, cost, _alike(call, value), (one, other))
                return
        if not visible:
            left, right = unseen(left), unseen(right)
        for ours, theirs in cases(left, right, self.held, lambda t: self.apart(t, differences)):
            yield from self.answers(place, call, ours, theirs, visible)
            if self.one_sided is not None:
                return

    def answers(
        self, place: int, call: Call, left: Step, right: Step, visible: bool
    ) -> Iterator[Edge]:
        """Yield the edges of outcomes that two runs may have together."""
        differences = self.nodes[place][2]
        groups = [(left, right)]
        plain = True
        if visible and not (len(left) == 1 == len(right) and left[0].label == right[0].label):
            told, missing = one_sided_reply(left, right), None
            if told is None or told[0] == inf:
                try:
                    groups = list(self.grouped(left, right))
                except Inexpressible as reason:
                    missing = reason
            back = one_sided_reply(right, left) if missing or (told and told[0]) else None
            found = [(each, side) for each, side in ((told, False), (back, True)) if each]
            if found:
                (order, reply), is_back = min(found, key=lambda way: way[0][0])
                only = place, call, reply, is_back
                if order < inf:
                    self.one_sided = only
                    return
                self.last_resort = only
            if missing is not None:
                raise missing
            plain = not any(each.samples for each in (*left, *right))
        for ours, theirs in groups:
            self.determined &= plain and len(ours) == 1 == len(theirs)
            for one, other, gain in paired(ours, theirs, self.system.gain):
                cost = self.costs(one, other, differences) if visible else _FREE
                for value in self.data_values(call, one, other):
                    after = self.after(one, other, differences, value, value)
                    our_state, their_state = map(self.system.number, (one.state, other.state))
                    target = self.number((our_state, their_state, after))
                    yield Edge(target, gain, cost, _alike(call, value), (one, other))

    def data_values(
        self, call: Call, one: CallOutcome, other: CallOutcome
    ) -> Sequence[Fraction | None]:
        """Return the data that may matter to the differences; None: all are alike."""
        if not (call.is_data and self.system.any_data):
            return (None,)
        alike = all(
            a.coefficient(self._data_name) == b.coefficient(self._data_name)
            for a, b in zip(one.forms, other.forms, strict=True)
        )
        return self.calm if alike else self._ends

    def costs(
        self, one: CallOutcome, other: CallOutcome, differences: tuple[Fraction, ...]
    ) -> Fraction:
        """Return what two replies cost: the samples that they publish."""
        total = _FREE
        for ours, theirs in zip(one.samples, other.samples, strict=True):
            apart = self.difference(ours.mean, theirs.mean, differences, None, None)
            total += abs(apart) / ours.scale
        return total

    def grouped(self, left: Step, right: Step) -> Iterator[tuple[Step, Step]]:
        """Group outcomes by their replies; each of the first run has a match. `Untracked` if
        samples whose means are not known would have to be spelled out."""
        ours, theirs = by_label(left), by_label(right)
        if ours.keys() != theirs.keys() and any(each.samples for each in (*left, *right)):
            left, right = (
                merged([each for outcome in step for each in spelled_out(outcome)])
                for step in (left, right)
            )
            ours, theirs = by_label(left), by_label(right)
        for label, outcomes in ours.items():
            if label not in theirs:
                raise Inexpressible("a reply that one run may give and the other cannot")
            yield outcomes, theirs[label]


def with_data(call: Call, value: Fraction | None) -> Call:
    """Return a call that stands for data of all values with one of them; None leaves a call."""
    return call if value is None else Call(call.handler, call.name, (value,))


def _alike(call: Call, value: Fraction | None) -> tuple[Call, Call]:
    said = with_data(call, value)
    return said, said


_CERTAINLY = ExponentialRatio.constant(1)
_UNEVEN = "data calls that choose with other probabilities for other data, whatever ε is"


T = TypeVar("T")


def by_label(step: Step) -> dict[tuple[object, ...], Step]:
    found: dict[tuple[object, ...], list[CallOutcome]] = defaultdict(list)
    for outcome in step:
        found[outcome.label].append(outcome)
    return {label: tuple(outcomes) for label, outcomes in found.items()}


def matched(
    left: Sequence[T], right: Sequence[T], state: Callable[[T], object]
) -> list[tuple[Sequence[T], Sequence[T]]]:
    """Match ways of two runs to show the same, as the lemma of `pairs` allows: those that lead to
    the same states, those that come about alike, or all with all."""
    ours, theirs = ({state(each): each for each in side} for side in (left, right))
    if len(ours) == len(left) and len(theirs) == len(right) and ours.keys() == theirs.keys():
        return [((each,), (theirs[key],)) for key, each in ours.items()]
    if len(left) == len(right):
        return [((one,), (other,)) for one, other in zip(left, right, strict=True)]
    return [(left, right)]


def paired(
    left: Step, right: Step, gain: Callable[[ExponentialRatio, ExponentialRatio], Gain]
) -> Iterator[tuple[CallOutcome, CallOutcome, Gain]]:
    if len(left) == 1 == len(right):
        yield left[0], right[0], gain(left[0].probability, right[0].probability)
        return
    for ours, theirs in matched(left, right, lambda outcome: outcome.state):
        found = gain(_total(ours), _total(theirs))
        for one, other in product(ours, theirs):
            yield one, other, found


def _total(outcomes: Sequence[CallOutcome]) -> ExponentialRatio:
    first, *others = [outcome.probability for outcome in outcomes]
    return sum(others, first)
