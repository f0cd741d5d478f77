"""Final symbolic states: outputs, conditions on the inputs, guards on the samples.

This is the paper's (alpha, beta, G) (DiPApprox section 4.2) after the end of the program, with
beta already substituted into G: guards speak about independent samples only. Inputs are symbolic:
one `FinalStates` serves every input and every eps.

A `Store` holds values of cells and forks cheaply: copies share what was assigned before they
parted. The assignments are kept in layers, newest first, that no one changes once they are shared;
a layer is at least twice as large as the one above it. So a path that forks after each of n
assignments costs O(n log n) in time and memory, all its copies included, and a look-up O(log n).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Generic, NamedTuple, TypeVar

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.language.core import Program, Value
from dipapprox.laws.distribution import ChoiceLaw, Scale
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.outcomes import ALWAYS, NO_CHOICES, Node
from dipapprox.source import Located, Span

V = TypeVar("V", bound=object)
_Layers = tuple[dict[str, V], ...]


class Store(Generic[V]):
    """A mapping from names of cells to values; nothing is ever unassigned, and None is no value."""

    __slots__ = ("_count", "_layers", "_own")

    def __init__(self, values: dict[str, V] | None = None) -> None:
        self._own: dict[str, V] = {} if values is None else values
        self._layers: _Layers[V] = ()
        self._count = len(self._own)

    def __len__(self) -> int:
        return self._count

    def get(self, name: str) -> V | None:
        found = self._own.get(name)
        if found is None:
            for layer in self._layers:
                found = layer.get(name)
                if found is not None:
                    return found
        return found

    def __setitem__(self, name: str, value: V) -> None:
        if self.get(name) is None:
            self._count += 1
        self._own[name] = value

    def fork(self) -> Store[V]:
        """Return a copy that may be changed independently."""
        if self._own:
            newest, layers = self._own, self._layers
            while layers and len(layers[0]) <= 2 * len(newest):
                newest, layers = {**layers[0], **newest}, layers[1:]
            self._own, self._layers = {}, (newest, *layers)
        copy: Store[V] = Store.__new__(Store)
        copy._own, copy._layers, copy._count = {}, self._layers, self._count
        return copy

    def items(self) -> Iterator[tuple[str, V]]:
        """Yield the cells that have a value, in no meaningful order."""
        seen = set[str]()
        for layer in (self._own, *self._layers):
            for name, value in layer.items():
                if name not in seen:
                    seen.add(name)
                    yield name, value

    def equals(self, other: Store[V], but: Container[str] = ()) -> bool:
        """Whether the same cells have equal values; only what is not shared is looked at.

        Args:
            but: Cells that may differ, or have no value in one of the two.
        """
        if self._layers is other._layers and not self._own and not other._own:
            return True
        if not but and self._count != other._count:
            return False
        names = assigned_apart((self, other))
        return all(name in but or self.get(name) == other.get(name) for name in names)

    def changes(self, before: Store[V]) -> Iterator[tuple[str, V]]:
        """Yield the cells whose values are other objects than `before`, with the new values."""
        for name in sorted(assigned_apart((before, self))):
            value = self.get(name)
            if value is not None and value is not before.get(name):
                yield name, value


def assigned_apart(stores: Sequence[Store[V]]) -> set[str]:
    """Return the names of all cells, at least, whose values may differ between copies."""
    layers = {id(layer): layer for store in stores for layer in store._layers}
    holders = Counter([id(layer) for store in stores for layer in store._layers])
    names = set[str]()
    for store in stores:
        names.update(store._own)
    for number, count in holders.items():
        if count < len(stores):
            names.update(layers[number])
    return names


class Sample(Record):
    """An independent draw. `mean` is a form over input cells only; `site` is its `Draw.site`."""

    family: Family
    mean: LinearForm
    scale: Scale
    site: int
    label: str  # the variable it was first assigned to, for people
    line: int | None = field(default=None, compare=False)  # of the program, for people


class Choice(Located):
    """An independent draw from finitely many outcomes, numbered from 0."""

    # Closed: it depends on eps only. A choice whose law depends on inputs is one `Choice` for each
    # law.
    law: ChoiceLaw
    site: int  # of the `Choose`; for a loop, of the first one in it
    label: str  # the variable that was assigned, for people


class Reading(Record):
    """What an input cell is, as a choice: outcome k is the k-th value of its domain.

    At an input it has one outcome. Several may be of one cell; a set has no two of them on a way.
    The place is that of the cell in `Program.inputs`.
    """

    place: int


class Guard(Record):
    """form <= 0, or form < 0 if `strict`; at least one sample occurs in `form`.

    `form` is over samples and input cells, `normalised()`. For continuous samples strictness does
    not change a probability; it is kept so that complements are exact. Between integer samples
    (discrete Laplace) the constant is moved to the middle of two neighbouring values of the form:
    z1 <= z2 is z1 - z2 - 1/2 <= 0 and z1 < z2 is z1 - z2 + 1/2 <= 0. No integer point lies on a
    boundary, so what holds up to null sets for the reals (complements, implication, an interior)
    holds exactly for integers.
    """

    form: LinearForm
    strict: bool


class SampleComparison(NamedTuple):
    """x[small] <= x[large], or < if `strict`: nearly all guards, as two small integers."""

    small: int
    large: int
    strict: bool


class Extreme(Record, eq=False):
    """One sample of a group lies above, or below, all others: a comparison with each of them."""

    best: int  # the sample
    group: tuple[int, ...]  # all samples, ascending, at least three; states share it
    largest: bool  # whether `best` is the largest, else the smallest


def comparisons(extreme: Extreme) -> Iterator[SampleComparison]:
    """Yield the comparisons that an extreme is."""
    for other in extreme.group:
        if other != extreme.best:
            pair = (other, extreme.best) if extreme.largest else (extreme.best, other)
            yield SampleComparison(*pair, False)


Constraint = Guard | SampleComparison  # what a path assumes at one step
Step = Constraint | Extreme  # what a node of a path holds: one constraint, or many at once


def guard_of(constraint: Constraint) -> Guard:
    if isinstance(constraint, Guard):
        return constraint
    small, large, strict = constraint
    terms: tuple[tuple[Symbol, Fraction], ...] = ((small, _ONE), (large, _MINUS_ONE))
    if large < small:
        terms = (terms[1], terms[0])
    return Guard(LinearForm(terms, _ZERO), strict)


def samples_of(step: Step) -> tuple[int, ...]:
    match step:
        case Guard(form):
            return form.samples()
        case SampleComparison(small, large):
            return small, large
        case Extreme(_, group):
            return group


_ZERO, _ONE, _MINUS_ONE = Fraction(0), Fraction(1), Fraction(-1)


class InputCondition(Record):
    """A condition on the inputs alone.

    Either `form` (over input cells) is compared with 0 — <= 0, or < 0 if `strict` — or, when
    `values` is not None, the single cell `cell` has one of `values`.
    """

    form: LinearForm | None = None
    strict: bool = False
    cell: str | None = None
    values: frozenset[Value] | None = None


class Path(Record, frozen=False, eq=False):
    """A persistent list of guards: states that share a prefix share the objects.

    Compared by identity, and never changed; not frozen, for a run makes hundreds of thousands. The
    length counts the guards up to and including the newest ones, those of `step`.
    """

    parent: Path | None
    step: Step
    length: int


def newest(path: Path) -> Iterable[Constraint]:
    """Return the newest guards of a path, in reverse order."""
    if isinstance(path.step, Extreme):
        return [*comparisons(path.step)][::-1]
    return (path.step,)


def constraints_of(path: Path | None) -> list[Constraint]:
    """Return the guards of a path, oldest first, as comparisons of samples where they are such."""
    found: list[Constraint] = []
    while path is not None:
        found += newest(path)
        path = path.parent
    return found[::-1]


def guards_of(path: Path | None) -> tuple[Guard, ...]:
    """Return the guards of a path, oldest first; an empty path has none."""
    return tuple(map(guard_of, constraints_of(path)))


class Valuation(Sequence[Value]):
    """The values of all output cells, in the order of `Program.outputs`; equal to such a tuple.

    It shares what it holds with the valuations of other states: thousands of outputs with thousands
    of cells each are spelled out where they are read, and nowhere else.
    """

    __slots__ = ("_cells", "_names")

    def __init__(self, names: tuple[str, ...], cells: Store[Value]) -> None:
        self._names = names
        self._cells = cells

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self)[place]
        return self._value(self._names[place])

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Value]:
        return map(self._value, self._names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Valuation) and other._names == self._names:
            return self._cells.equals(other._cells)
        return tuple(self) == tuple(other) if isinstance(other, tuple | Valuation) else False

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _value(self, name: str) -> Value:
        value = self._cells.get(name)
        if value is None:
            raise BrokenInvariant(f"the output '{name}' of a final state has no value")
        return value


class GuardLines:
    """Where the guards of one run are written, for messages: comparisons that it splits states on.

    Guards of merged states are guards of the states before. Those about one or two samples are told
    apart by the lines on which the samples are drawn, which may grow: a loop over thousands of
    samples has a few such pairs. Those about more are told apart by their forms.
    """

    __slots__ = ("_drawn", "_places")

    def __init__(self, drawn: Sequence[int | None] = ()) -> None:
        self._drawn = drawn
        self._places: dict[Hashable, dict[int, Span]] = {}

    def note(self, guard: Constraint, span: Span | None) -> None:
        """Remember that the text compares some samples so at `span`."""
        if span is not None:
            if isinstance(guard, Guard):
                self._add(self._key(guard.form), span)
            else:
                self._add(_pair(self._drawn[guard.small], self._drawn[guard.large]), span)

    def note_group(self, group: Iterable[int], span: Span | None) -> None:
        """Remember that the text compares all samples of a group at `span`."""
        if span is not None:
            lines = {self._drawn[sample] for sample in group}
            for pair in combinations_with_replacement(lines, 2):
                self._add(_pair(*pair), span)

    def note_alike(self, form: LinearForm, other: LinearForm) -> None:
        """Remember that a form is compared with 0 wherever another one is: in another turn."""
        places = self._places.get(self._key(form))
        if places is not None:
            self._places.setdefault(self._key(other), places)

    def of(self, form: LinearForm) -> list[int]:
        """Return the lines of a guard, ascending; none if it was not noted."""
        return sorted({span.line for span in self._places.get(self._key(form), {}).values()})

    def _add(self, key: Hashable, span: Span) -> None:
        known = self._places.get(key)
        if known is None:
            self._places[key] = {span.start: span}
        elif span.start not in known:
            known[span.start] = span

    def _key(self, form: LinearForm) -> Hashable:
        samples = form.samples()
        if len(samples) <= 2:
            return _pair(self._drawn[samples[0]], self._drawn[samples[-1]])
        return form if form.terms[0][1] > 0 else -form


def _pair(first: int | None, second: int | None) -> tuple[int, int]:
    a, b = first or 0, second or 0
    return (a, b) if a <= b else (b, a)


class LoneGuard(Record, eq=False):
    """A guard about a sample that nothing else is about, and at most one other."""

    guard: Guard
    sample: int


class FinalState(Record, eq=False):
    outputs: Valuation  # values of the output cells, in the order of `Program.outputs`
    conditions: tuple[InputCondition, ...]  # the state exists only for inputs that meet all of them
    path: Path | None  # guards on the samples; None when there are none
    # The conditions that were decided on the way, as written: numbers of the `If` or `While` and
    # which branch was taken; an outcome of a random choice has a number of its own, and is taken. A
    # compound condition is one decision. Finite-domain conditions that were constant are not
    # decisions. Empty on merged states.
    decisions: tuple[tuple[int, bool], ...] = ()
    # The state needs choices to have outcomes of this set, an index in `FinalStates.sets`. Which
    # these are may depend on the input, where the caller looks at that: see `Reading`.
    chosen: int = ALWAYS
    # Of each of `Program.real_outputs`, a form over samples and input cells. States are merged only
    # where these are equal.
    reals: tuple[LinearForm, ...] = ()
    # The state needs comparisons to come out as one of this set says, likewise; what comes out are
    # the choices in it, by their numbers in `FinalStates.comparisons`.
    compared: int = ALWAYS


class FinalStates(Record, eq=False):
    """All final states of a program: for each input, disjoint and of total probability 1."""

    program: Program
    samples: tuple[Sample, ...]  # guards refer to them by index
    # In the order of execution, then-branches first. States with equal outputs share one valuation
    # object, so outputs may be told apart by identity.
    states: tuple[FinalState, ...]
    outputs: tuple[Valuation, ...]  # their distinct outputs, in order of first appearance
    merged: bool  # whether states were merged at join points (else: the paper's states)
    # Independent of the samples and each other; sets of outcomes refer to them by index. Readings
    # are among them for those only who look at inputs in `FinalState.chosen`.
    choices: tuple[Choice | Reading, ...] = ()
    # Sets of outcomes, see `outcomes`; states refer to them by index.
    sets: tuple[Node, ...] = NO_CHOICES
    # What must be a probability distribution for the program to make sense at an eps: the weights
    # of every choice as they are written, and where every loop ends. More than `choices`: outcomes
    # may be merged, or matter to no state.
    laws: tuple[Choice, ...] = ()
    # Where the guards are written, for people.
    lines: GuardLines = field(default_factory=GuardLines)
    # Guards, with outcome 0 if they hold, else 1; see `spent_samples`. Empty but for those who look
    # at `FinalState.compared`.
    comparisons: tuple[LoneGuard, ...] = ()

    @property
    def sizes(self) -> tuple[int, int]:
        """How many distinct outputs and final states there are."""
        return len(self.outputs), len(self.states)


def refusal_of_reals(program: Program) -> UserError:
    """Return the error of asking about finite outputs where a program has real ones."""
    name = program.real_outputs[0].variable
    return UserError(
        f"the output '{name}' may be any real number, but this needs finite outputs",
        "for real outputs ask verify, also about an interval of eps, profile, calibrate, "
        "probability or prove",
    )
