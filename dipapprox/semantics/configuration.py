"""One symbolic state during execution: store, knowledge of the inputs, guards, trail.

States are mutable and owned by one path: a split forks them first. Everything they refer to is
immutable or persistent and shared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import xor
from random import getrandbits

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import bits
from dipapprox.language import core
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.evaluation import Forms, PathFault, StoredValue, constant, over_inputs
from dipapprox.semantics.inputs import Knowledge, NeedsValue
from dipapprox.semantics.order import Order, Points, complement
from dipapprox.semantics.outcomes import ALWAYS
from dipapprox.semantics.state import Constraint, Extreme, Guard, Path, Store, newest
from dipapprox.source import Span

SHARE_BITS = 64
_Terms = tuple[tuple[Symbol, object], ...]


class GuardCone(Record, frozen=False):
    """The guards of a path, closed under simple consequences; never changed."""

    order: Order = field(default_factory=Order)  # the comparisons of two points
    # The remaining guards by their non-constant part, the tightest of each.
    others: Mapping[_Terms, Guard] = field(default_factory=dict)

    def decides(self, guard: Constraint, points: Points) -> bool | None:
        """Whether a guard follows (True), leaves a null set (False) or neither (None)."""
        pair = points.pair(guard)
        if pair is not None:
            return self.order.decides(pair, points)
        assert isinstance(guard, Guard)
        form = guard.form
        parallel = self.others.get(form.terms)
        if parallel is not None and parallel.form.constant >= form.constant:
            return True
        opposite = self.others.get((-form).terms)
        # terms <= -constant and -terms <= -constant' leave no more than a hyperplane
        if opposite is not None and opposite.form.constant + form.constant >= 0:
            return False
        return None

    def assume(self, guard: Constraint, points: Points) -> GuardCone:
        """Add an undecided guard."""
        pair = points.pair(guard)
        if pair is not None:
            return GuardCone(self.order.assume(pair, points), self.others)
        assert isinstance(guard, Guard)
        return GuardCone(self.order, {**self.others, guard.form.terms: guard})

    def knows_none_of(self, group: Collection[int], points: Points) -> bool:
        """Whether no guard mentions any sample of a group."""
        samples = set(group)
        others = (guard.form.samples() for guard in self.others.values())
        return not self.order.mentions(points.mask(group)) and all(
            samples.isdisjoint(mentioned) for mentioned in others
        )

    def with_extreme(self, extreme: Extreme, group: int, points: Points) -> GuardCone:
        """Add that a sample is the extreme of a group, of which no guard knows any yet.

        Args:
            group: The mask of the group's points.
        """
        best = points.number(extreme.best)
        order = self.order.with_extreme(best, group & ~(1 << best), extreme.largest)
        return GuardCone(order, self.others)

    def guards(self, points: Points) -> Iterator[Constraint]:
        """Yield guards that say the same, without those that others imply."""
        for large, mask in self.order.covers().items():
            if points.fixed >> large & 1:
                mask &= ~points.fixed
            for small in bits(mask):
                yield points.constraint((small, large))
        yield from self.others.values()


class Trail(Record, frozen=False, eq=False):
    """A persistent list of the decisions of a path, newest first; never changed."""

    parent: Trail | None
    statement: core.If | core.While | core.Choose
    number: int  # of the statement or, for random choices, of the statement and the outcome
    # Whether the condition held; for choices what came out, for people.
    outcome: bool | core.Value | LinearForm
    # What some cells in the statement stand for, in the turn of a loop.
    cells: Mapping[str, str] = field(default_factory=dict)

    @property
    def taken(self) -> bool:
        """Whether the branch with this number was taken."""
        return self.outcome is not False

    def steps(self) -> Iterator[Trail]:
        """Yield the decisions, newest first."""
        node: Trail | None = self
        while node is not None:
            yield node
            node = node.parent


class State(Record, frozen=False, eq=False):
    """A path in progress."""

    store: Store[StoredValue]  # values of the variables assigned so far; inputs are not in it
    # Values of the output cells assigned so far; equal values are one object.
    outputs: Store[core.Value]
    knowledge: Knowledge  # what the path knows about the inputs
    # The guards up to `settled`, when infeasible states are pruned; None to keep all.
    cone: GuardCone | None
    # What of the path is in the cone: many states end before it is needed.
    settled: Path | None = None
    path: Path | None = None  # the guards as they were assumed
    trail: Trail | None = None
    outcomes: int = ALWAYS  # what random choices gave, see `OutcomeSets`
    # Equal for equal outputs, and rarely for others: the sum of the products of two hashes, of cell
    # and value. (Where states differ in one cell each, exclusive ors of hashes of pairs are equal
    # far too often.)
    fingerprint: int = 0
    # A number such that those of all states of a run are 0 under exclusive or, ended ones included:
    # a state that is dropped by mistake is noticed.
    share: int = 0

    def set_output(self, name: str, value: core.Value) -> None:
        """Assign an output cell. `value` must be the one object that stands for equal values."""
        before = self.outputs.get(name)
        change = id(value) if before is None else id(value) - id(before)
        self.fingerprint += hash(name) * change
        self.outputs[name] = value

    def fingerprint_but(self, names: Iterable[str]) -> int:
        """Return the fingerprint of the outputs without some of them."""
        found = self.fingerprint
        for name in names:
            value = self.outputs.get(name)
            if value is not None:
                found -= hash(name) * id(value)
        return found

    def fork(self) -> State:
        """Return a copy that may be changed independently; it takes a part of the share."""
        share = getrandbits(SHARE_BITS)
        self.share ^= share
        return self.copy(share)

    def copy(self, share: int = 0) -> State:
        """Return a copy that may be changed independently; without a share it only tries things."""
        return State(
            self.store.fork(),
            self.outputs.fork(),
            self.knowledge,
            self.cone,
            self.settled,
            self.path,
            self.trail,
            self.outcomes,
            self.fingerprint,
            share,
        )

    def take_values(self, other: State) -> None:
        """Take over the values of variables and outputs."""
        self.store, self.outputs = other.store.fork(), other.outputs.fork()
        self.fingerprint = other.fingerprint

    def read(self, forms: Forms, name: str, span: Span | None) -> StoredValue:
        """Return the value of a cell, which the first turn of a loop may call by another name.

        Raises:
            NeedsValue: If it is an input that the path has to know first.
            PathFault: If it has none on this path.
        """
        name = forms.cells.get(name, name)
        stored = self.store.get(name)
        if stored is not None:
            return stored
        output = self.outputs.get(name)
        if output is not None:
            return constant(forms, output)
        if name not in forms.inputs:
            message = f"'{name}' is read before it is assigned"
            hint = f"assign '{name}' on every path that leads here"
            raise PathFault("value error", message, span, hint, name)
        form = forms.inputs[name]
        if form is not None:
            return form
        value = self.knowledge.sole(name)
        if value is None:
            raise NeedsValue(name)
        return constant(forms, value)

    def known(self, form: LinearForm, span: Span | None) -> Fraction:
        """Return the number that a form over inputs is.

        Raises:
            NeedsValue: If an input has to be known first.
            PathFault: If there are samples in the form.
        """
        for cell in over_inputs(form, span).inputs():
            if self.knowledge.sole(cell) is None:
                raise NeedsValue(cell)
        return self.knowledge.instantiate(form).constant

    def product(self, left: LinearForm, right: LinearForm, span: Span | None) -> LinearForm:
        """Return the product of two forms with symbols, of which the path knows one.

        Raises:
            NeedsValue: If an input has to be known first.
            PathFault: If there are samples in both.
        """
        left, right = (self.knowledge.instantiate(form) for form in (left, right))
        if left.is_constant:
            return right.scaled(left.constant)
        if right.is_constant:
            return left.scaled(right.constant)
        if left.samples() and right.samples():
            raise PathFault("type error", "product of two reals", span)
        # Not affine: one factor has to be a number, the one with fewer inputs if both may be.
        factors = [form for form in (left, right) if not form.samples()]
        raise NeedsValue(min(factors, key=lambda form: len(form.terms)).inputs()[0])

    def settle(self, points: Points) -> GuardCone | None:
        """Take the whole path into the cone, and return it."""
        if self.cone is not None and self.path is not self.settled:
            for step in steps_since(self.path, self.settled):
                self.cone = _taken_in(self.cone, step, points)
            self.settled = self.path
        return self.cone

    def add_guard(self, guard: Constraint) -> None:
        """Append a guard to the path."""
        length = 1 if self.path is None else self.path.length + 1
        self.path = Path(self.path, guard, length)

    def add_extreme(self, extreme: Extreme) -> None:
        """Append the guards of an extreme to the path."""
        length = 0 if self.path is None else self.path.length
        self.path = Path(self.path, extreme, length + len(extreme.group) - 1)

    def take_guards(self, cone: GuardCone, points: Points) -> None:
        """Have the guards of a cone, and no others."""
        self.cone, self.path = cone, None
        for guard in cone.guards(points):
            self.add_guard(guard)
        self.settled = self.path


def standing_for(group: Sequence[State]) -> State:
    """Return the first of some states, which are used up: it stands for all."""
    group[0].share = reduce(xor, (state.share for state in group))
    return group[0]


def split_on_guard(
    state: State, guard: Constraint, points: Points
) -> tuple[list[State], list[State]]:
    """Split a state into the part where a guard holds and the part where it does not.

    The state is used up. With a cone, a part that is null is left out and the other part needs no
    new guard; without, both parts are always there.
    """
    cone = state.settle(points)
    verdict = None if cone is None else cone.decides(guard, points)
    if verdict is not None:
        return ([state], []) if verdict else ([], [state])
    negative = state.fork()
    for part, added in ((state, guard), (negative, complement(guard))):
        part.add_guard(added)
    return [state], [negative]


def steps_since(path: Path | None, start: Path | None) -> list[Path]:
    """Return the nodes of a path after one of them, oldest first."""
    found = []
    while path is not start:
        if path is None:
            raise BrokenInvariant("a path does not continue the one that a cone was made of")
        found.append(path)
        path = path.parent
    return found[::-1]


def cones_of(paths: Iterable[Path | None], points: Points) -> Iterator[GuardCone]:
    """Yield the cones of paths with undecided guards only; what paths share is read once."""
    known: dict[int, GuardCone] = {}
    for path in paths:
        waiting = []
        node = path
        while node is not None and id(node) not in known:
            waiting.append(node)
            node = node.parent
        cone = GuardCone() if node is None else known[id(node)]
        for node in reversed(waiting):
            cone = known[id(node)] = _taken_in(cone, node, points)
        yield cone


def _taken_in(cone: GuardCone, node: Path, points: Points) -> GuardCone:
    """Add the newest guards of a path, which are undecided."""
    if isinstance(node.step, Extreme) and cone.knows_none_of(node.step.group, points):
        return cone.with_extreme(node.step, points.mask(node.step.group), points)
    for constraint in newest(node):
        cone = cone.assume(constraint, points)
    return cone


def cone_of(guards: Iterable[Guard], points: Points) -> tuple[GuardCone, bool]:
    """Return the cone of guards, but for those that contradict the ones before them; if any do."""
    cone, contradicted = GuardCone(), False
    for guard in guards:
        verdict = cone.decides(guard, points)
        contradicted = contradicted or verdict is False
        cone = cone.assume(guard, points) if verdict is None else cone
    return cone, contradicted
