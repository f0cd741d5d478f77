"""Pairs of runs whose calls are adjacent, as a graph; its edges are calls with equal replies.

A node is two states and, for additive cells, how much more the first holds. An edge says how much
likelier the first run is to answer so and go on there. What a run may show in the end is at most
the longest path from a *covering* pair, the states after and without the inserted data call (after
one value and after another, if adjacent is `replace`):

**Lemma.** Let V be a function on pairs with V(x, y) >= 0 and, for every call, reply r and pairing
of the successors with that reply, V(x, y) >= ln(ν(x') / ν'(y')) + V(x', y'). Then the probability
of any calls and replies from x is at most e^V(x, y) times that from y.

If the successors are as many on both sides, they are paired in the order in which they come about
(any bijection will do: sum over the first side). Else each is paired with each, and the quotient
is that of the sums. With one successor each, nothing is lost: then V is the least such function.

A published sample of scale g / eps whose mean is D apart costs |D| / g, whatever it shows
(Laplace noise, discrete or not, clamped or not). With additive cells the costs of a course of
calls are convex in its data, so the ends of their range are all that matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.language.services import Change
from dipapprox.limits import Limits
from dipapprox.semantics.linear import LinearForm
from dipapprox.services.couplings import agree, by_reply, paired
from dipapprox.services.model import (
    Call,
    Inexpressible,
    Outcome,
    Published,
    State,
    Step,
    Untracked,
)
from dipapprox.services.publishing import one_sided_reply, spelled_out
from dipapprox.services.ratios import NO_GAIN, Gain, gain_of
from dipapprox.services.system import System, merged

Node = tuple[int, int, tuple[Fraction, ...]]
"""The numbers of the two states, and the differences of the additive cells, first minus second."""

_FREE = Fraction(0)

EQUAL = -1
"""The target of an edge to runs that are in the same state, from where nothing is lost."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Both runs answer a call alike.

    Attributes:
        target: Index of a node, or EQUAL.
        gain: Of the first run's probability over the second's, published samples left out.
        cost: Of published samples, in eps.
        call: With the value of the data, if it is one.
        outcomes: Of the two runs.
        determined: Whether there was one successor on either side.
    """

    target: int
    gain: Gain
    cost: Fraction
    call: Call
    outcomes: tuple[Outcome, Outcome]
    determined: bool


@dataclass(frozen=True, slots=True)
class OneSided:
    """A reply that only the first run can give.

    Attributes:
        node: The pair in which the call is made.
        call: The call.
        reply: Of the first run.
    """

    node: int
    call: Call
    reply: tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Cover:
    """How a covering pair comes about.

    Attributes:
        state: Before the call in which the runs differ.
        first: The data of the first run; None if it has none.
        second: The data of the second run.
    """

    state: State
    first: Value | None
    second: Value | None


@dataclass(slots=True)
class PairGraph:
    """All pairs that calls lead to from the covering ones.

    Attributes:
        nodes: The pairs.
        edges: For each node.
        covers: Covering pairs, and how the first one of each comes about.
        parents: For each state the call that led there first, and from where.
        one_sided: The first reply that only one run can give.
        determined: Whether replies determine all successors, and the first call too.
    """

    nodes: list[Node] = field(default_factory=list)
    edges: list[list[Edge]] = field(default_factory=list)
    covers: dict[int, Cover] = field(default_factory=dict)
    parents: dict[State, tuple[State, Call] | None] = field(default_factory=dict)
    one_sided: OneSided | None = None
    determined: bool = True


@dataclass(frozen=True, slots=True)
class Examiner:
    """Whose queries and replies are seen; None: all of them."""

    users: frozenset[str] | None = None

    def sees(self, system: System, call: Call) -> bool:
        """Whether a call and its reply are seen."""
        handler = system.service.handlers[call.handler]
        if handler.is_data:
            return False
        return self.users is None or not handler.users or bool(self.users & set(handler.users))


def reachable_states(system: System, limits: Limits) -> dict[State, tuple[State, Call] | None]:
    """Return the states that calls lead to, each with a state and call before it.

    Raises:
        LimitReached: If there are too many.
    """
    found: dict[State, tuple[State, Call] | None] = {system.initial: None}
    waiting = [system.initial]
    system.number(system.initial)
    for state in waiting:
        limits.check()
        number = system.number(state)
        for place, call in enumerate(system.calls):
            outcomes, _ = system.moves(number, place)
            for outcome in outcomes:
                if outcome.state not in found:
                    found[outcome.state] = state, call
                    waiting.append(outcome.state)
        limits.check_states(len(found))
    return found


def explore_pairs(graph: PairGraph, system: System, examiner: Examiner, limits: Limits) -> None:
    """Explore the pairs from all covering ones, until a reply is one-sided.

    Args:
        graph: Empty; what is found before a limit is reached stays in it.
        system: By differences or not.
        examiner: Who looks.
        limits: Of time, memory and states.

    Raises:
        LimitReached: If there are too many.
        Untracked: If differences do not determine what happens to them.
        SourceError, UserError, Inexpressible: See `System.step`.
    """
    _Exploration(graph, system, examiner, limits).run()


class _Exploration:
    def __init__(
        self, graph: PairGraph, system: System, examiner: Examiner, limits: Limits
    ) -> None:
        self.system = system
        self.limits = limits
        self.graph = graph
        self.numbers: dict[Node, int] = {}
        self.plain: dict[tuple[int, ...], tuple[Fraction | None, Outcome, Outcome]] = {}
        self.seen = [examiner.sees(system, call) for call in system.calls]
        service = system.service
        self.additive = tuple(
            cell.name for cell in service.states if cell.is_additive and system.by_differences
        )
        self.data_name = service.data.arguments[0].name
        values = [v for v in service.data.arguments[0].domain if isinstance(v, Fraction)]
        self.ends = tuple(dict.fromkeys((min(values), max(values)))) if values else ()
        self.calm = (min(values, key=lambda v: (abs(v), v)),) if values else ()

    def run(self) -> None:
        graph = self.graph
        graph.parents = reachable_states(self.system, self.limits)
        for state in graph.parents:
            self.limits.check()
            for pair, cover in self.covering(state):
                number = self.number(pair)
                if number != EQUAL:
                    graph.covers.setdefault(number, cover)
        place = 0
        while place < len(graph.nodes):
            self.limits.check()
            for call in range(len(self.system.calls)):
                graph.edges[place] += self.edges(place, call)
                if graph.one_sided is not None:
                    return
            place += 1
            self.limits.check_states(len(graph.nodes))

    def number(self, node: Node) -> int:
        if node[0] == node[1] and not any(node[2]):
            return EQUAL
        number = self.numbers.setdefault(node, len(self.graph.nodes))
        if number == len(self.graph.nodes):
            self.graph.nodes.append(node)
            self.graph.edges.append([])
        return number

    # --- covering pairs -------------------------------------------------------------------------

    def covering(self, state: State) -> Iterator[tuple[Node, Cover]]:
        system = self.system
        ways: list[tuple[Value | None, Step, Fraction | None]] = []
        for call in system.calls:
            if call.is_data:
                values: tuple[Value, ...] = self.ends if system.any_data else call.values
                step = system.step(state, call)
                for given in values:
                    number = given if isinstance(given, Fraction) else None
                    ways.append((given, step, number))
                self.graph.determined &= len(step) == 1
        unchanged = tuple(LinearForm.symbol(name) for name in self.additive)
        stay = Outcome(_CERTAINLY, (), (), state, unchanged)
        zero = (Fraction(0),) * len(self.additive)
        for value, step, number in ways:
            if system.service.change is Change.INSERT:
                for outcome in step:
                    yield self._pair(outcome, stay, zero, number, None, Cover(state, value, None))
                    yield self._pair(stay, outcome, zero, None, number, Cover(state, None, value))
                continue
            for other, others, second in ways:
                if other != value:
                    cover = Cover(state, value, other)
                    for left, right, gain in paired(step, others, self.limits):
                        if gain != NO_GAIN:
                            self.uneven(cover)
                        yield self._pair(left, right, zero, number, second, cover)

    def uneven(self, cover: Cover) -> None:
        """Refuse data calls whose hidden choices depend on the data.

        Raises:
            Inexpressible: Always.
        """
        raise Inexpressible(
            "data calls that choose with other probabilities for other data, under 'replace'"
        )

    def _pair(
        self,
        left: Outcome,
        right: Outcome,
        differences: tuple[Fraction, ...],
        first: Fraction | None,
        second: Fraction | None,
        cover: Cover,
    ) -> tuple[Node, Cover]:
        after = self.after(left, right, differences, first, second)
        ours, theirs = self.system.number(left.state), self.system.number(right.state)
        return (ours, theirs, after), cover

    # --- differences ----------------------------------------------------------------------------

    def after(
        self,
        left: Outcome,
        right: Outcome,
        differences: tuple[Fraction, ...],
        first: Fraction | None,
        second: Fraction | None,
    ) -> tuple[Fraction, ...]:
        return tuple(
            [
                self.difference(ours, theirs, differences, first, second)
                for ours, theirs in zip(left.forms, right.forms, strict=True)
            ]
        )

    def difference(
        self,
        ours: LinearForm,
        theirs: LinearForm,
        differences: tuple[Fraction, ...],
        first: Fraction | None,
        second: Fraction | None,
    ) -> Fraction:
        """Return how much more one form is than another, from the differences of their cells.

        Args:
            ours: Of the first run.
            theirs: Of the second run.
            differences: Of the additive cells before the call.
            first: The data in the first form, if it occurs.
            second: The data in the second one.

        Raises:
            Untracked: If that depends on what the cells hold.
        """
        total = ours.constant - theirs.constant
        if ours.terms == theirs.terms and first == second:
            for name, factor in ours.terms:
                if name != self.data_name:
                    total += factor * differences[self.additive.index(str(name))]
            return total
        for place, name in enumerate(self.additive):
            factor = ours.coefficient(name)
            if factor != theirs.coefficient(name):
                raise Untracked
            total += factor * differences[place]
        for form, value, sign in ((ours, first, 1), (theirs, second, -1)):
            factor = form.coefficient(self.data_name)
            if factor:
                if value is None:
                    raise Untracked
                total += sign * factor * value
        return total

    # --- edges ----------------------------------------------------------------------------------

    def edges(self, place: int, number: int) -> Iterator[Edge]:
        first, second, differences = self.graph.nodes[place]
        call = self.system.calls[number]
        left, our_states = self.system.moves(first, number)
        right, their_states = self.system.moves(second, number)
        visible = self.seen[number]
        if len(left) == 1 == len(right) and not differences:
            # One outcome each: nearly all calls of services that are worked out cell by cell.
            cost = self.plain_cost(left[0], right[0]) if visible else _FREE
        else:
            cost = None
        if cost is not None:
            gain = gain_of(left[0].probability, right[0].probability, self.limits)
            target = self.number((our_states[0], their_states[0], ()))
            yield Edge(target, gain, cost, call, (left[0], right[0]), True)
            return
        groups = [(left, right)]
        plain = True
        if visible and not (len(left) == 1 == len(right) and agree(left[0], right[0])):
            reply = one_sided_reply(left, right)
            if reply is not None:
                self.graph.one_sided = OneSided(place, call, reply)
                return
            groups = list(self.grouped(left, right))
            plain = all(not each.published for each in (*left, *right))
        for ours, theirs in groups:
            determined = plain and len(ours) == 1 == len(theirs)
            self.graph.determined &= determined
            for one, other, gain in paired(ours, theirs, self.limits):
                cost = self.costs(one, other, differences) if visible else _FREE
                for value in self.data_values(call, one, other):
                    after = self.after(one, other, differences, value, value)
                    our_state, their_state = map(self.system.number, (one.state, other.state))
                    target = self.number((our_state, their_state, after))
                    said = call if value is None else Call(call.handler, call.name, (value,))
                    yield Edge(target, gain, cost, said, (one, other), determined)

    def data_values(self, call: Call, one: Outcome, other: Outcome) -> Sequence[Fraction | None]:
        """Return the data that may matter to the differences; None: all are alike."""
        if not (call.is_data and self.system.any_data):
            return (None,)
        alike = all(
            a.coefficient(self.data_name) == b.coefficient(self.data_name)
            for a, b in zip(one.forms, other.forms, strict=True)
        )
        return self.calm if alike else self.ends

    def plain_cost(self, one: Outcome, other: Outcome) -> Fraction | None:
        """Return what two replies cost without differences; None if they show other things.

        Few outcomes differ in what they show, many in where they lead.
        """
        key = id(one.reply), id(one.published), id(other.reply), id(other.published)
        known = self.plain.get(key)
        if known is None:
            cost = self.costs(one, other, ()) if agree(one, other) else None
            known = self.plain[key] = cost, one, other  # whose ids are not given away
        return known[0]

    def costs(self, one: Outcome, other: Outcome, differences: tuple[Fraction, ...]) -> Fraction:
        """Return what two published replies cost."""
        if not one.published:
            return _FREE
        shown = zip(one.published, other.published, strict=True)
        return sum((self.cost(a, b, differences) for a, b in shown), _FREE)

    def cost(
        self, ours: Published, theirs: Published, differences: tuple[Fraction, ...]
    ) -> Fraction:
        """Return what a published sample costs."""
        apart = self.difference(ours.mean, theirs.mean, differences, None, None)
        return abs(apart) / ours.scale

    def grouped(self, left: Step, right: Step) -> Iterator[tuple[Step, Step]]:
        """Group outcomes by their replies; each of the first run has a match.

        Raises:
            Untracked: If samples whose means are not known would have to be spelled out.
            Inexpressible: If they have too many values, or one of them has no match.
        """
        ours, theirs = by_reply(left), by_reply(right)
        if ours.keys() != theirs.keys() and any(each.published for each in (*left, *right)):
            left, right = (
                merged(each for outcome in step for each in spelled_out(outcome))
                for step in (left, right)
            )
            ours, theirs = by_reply(left), by_reply(right)
        for label, outcomes in ours.items():
            if label not in theirs:
                raise Inexpressible("a reply that one run may give and the other cannot")
            yield outcomes, theirs[label]


_CERTAINLY = ExponentialRatio.constant(1)
