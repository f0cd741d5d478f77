"""One symbolic state during execution: store, knowledge of the inputs, guards, trail.

States are mutable and owned by one path: a split forks them first. Everything they refer to is
immutable or persistent and shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dipapprox.language import core
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.linear import LinearForm, Symbol
from dipapprox.semantics.order import Order, Points, bits, complement
from dipapprox.semantics.state import Guard, Path

StoredValue = LinearForm | str
"""A form over samples and input cells, or a named value."""

_Terms = tuple[tuple[Symbol, object], ...]


@dataclass(frozen=True, slots=True)
class Cone:
    """The guards of a path, closed under simple consequences.

    Attributes:
        order: The comparisons of two points.
        others: The remaining guards by their non-constant part, the tightest of each.
    """

    order: Order = field(default_factory=Order)
    others: Mapping[_Terms, Guard] = field(default_factory=dict, hash=False)

    def assume(self, guard: Guard, points: Points) -> Cone | None:
        """Add a guard; None if it leaves at most a null set; the same cone if it is implied."""
        pair = points.pair(guard)
        if pair is not None:
            order = self.order.assume(pair, points)
            if order is None:
                return None
            return self if order is self.order else Cone(order, self.others)
        form = guard.form
        parallel = self.others.get(form.terms)
        if parallel is not None and parallel.form.constant >= form.constant:
            return self
        opposite = self.others.get((-form).terms)
        # terms <= -constant and -terms <= -constant' leave no more than a hyperplane
        if opposite is not None and opposite.form.constant + form.constant >= 0:
            return None
        return Cone(self.order, {**self.others, form.terms: guard})

    def guards(self, points: Points) -> Iterator[Guard]:
        """Yield guards that say the same, without those that others imply."""
        for large, mask in self.order.covers().items():
            for small in bits(mask):
                if not (points.fixed >> small & points.fixed >> large & 1):
                    yield points.guard((small, large))
        yield from self.others.values()


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """A persistent list of the decisions of a path, newest first."""

    parent: Trail | None
    branch: core.If
    number: int
    taken: bool

    def steps(self) -> Iterator[Trail]:
        """Yield the decisions, newest first."""
        node: Trail | None = self
        while node is not None:
            yield node
            node = node.parent


@dataclass(slots=True, eq=False)
class State:
    """A path in progress.

    Attributes:
        store: Values of the variables assigned so far; inputs are not in it.
        outputs: Values of the output cells assigned so far; equal values are one object.
        knowledge: What the path knows about the inputs.
        cone: The guards, when infeasible states are pruned; None to keep every path.
        path: The guards as they were assumed.
        trail: The decisions.
    """

    store: dict[str, StoredValue]
    outputs: dict[str, core.Value]
    knowledge: Knowledge
    cone: Cone | None
    path: Path | None = None
    trail: Trail | None = None

    def fork(self) -> State:
        """Return a copy that may be changed independently."""
        return State(
            self.store.copy(),
            self.outputs.copy(),
            self.knowledge,
            self.cone,
            self.path,
            self.trail,
        )

    def add_guard(self, guard: Guard) -> None:
        """Append a guard to the path."""
        length = 1 if self.path is None else self.path.length + 1
        self.path = Path(self.path, guard, length)


def split_on_guard(state: State, guard: Guard, points: Points) -> tuple[list[State], list[State]]:
    """Split a state into the part where a guard holds and the part where it does not.

    The state is used up. With a cone, a part that is null is left out and the other part needs no
    new guard; without, both parts are always there.
    """
    opposite = complement(guard)
    negative_cone = positive_cone = None
    if state.cone is not None:
        positive_cone = state.cone.assume(guard, points)
        if positive_cone is None:
            return [], [state]
        if positive_cone is state.cone:
            return [state], []
        negative_cone = state.cone.assume(opposite, points)
        if negative_cone is None:
            return [state], []
    negative = state.fork()
    state.cone, negative.cone = positive_cone, negative_cone
    state.add_guard(guard)
    negative.add_guard(opposite)
    return [state], [negative]


def are_contradictory(guards: Iterable[Guard], points: Points) -> bool:
    """Whether guards are seen to leave at most a null set."""
    cone: Cone | None = Cone()
    for guard in guards:
        cone = cone.assume(guard, points) if cone is not None else None
    return cone is None


def is_feasible(state: State, points: Points) -> bool:
    """Whether the guards of a path may hold; always so where infeasible states are pruned."""
    if state.cone is not None or state.path is None:
        return True
    return not are_contradictory(state.path.guards(), points)
