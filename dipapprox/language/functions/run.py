"""One path of a Python function: which way its conditions go, and what it does, recorded.

A run follows the ways that it is given; where they end, it takes every condition to hold. A
condition that the path decides already (it, its opposite, another comparison of the same two
sides, or of one side with another number) is no fork. One that holds for all values that inputs can
have is one with an impossible way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import SourceError
from dipapprox.language import ast, symbols
from dipapprox.language.core import Relation, Value
from dipapprox.language.functions.knowledge import MOST_VALUATIONS, PathKnowledge
from dipapprox.language.functions.machine import (
    SCALARS,
    Broke,
    Continued,
    Left,
    Machine,
    Undone,
    Unjoined,
    refill,
)
from dipapprox.language.functions.symbols import (
    Condition,
    Quantity,
    as_number,
    compared,
    constant,
    exact,
    kind_of_all,
    of_numpy,
    truth,
)
from dipapprox.language.functions.words import hint_for
from dipapprox.language.lexer import KEYWORDS, SOFT_WORDS
from dipapprox.language.traversal import nodes_in
from dipapprox.source import Span

MOST_FORKS = 2_000  # on one path
MOST_TURNS = 100  # of them at one place that is in no loop with a known bound
MOST_STEPS = 100_000  # statements of the program

_RESERVED = (
    KEYWORDS
    | SOFT_WORDS.keys()
    | {symbols.EPSILON, symbols.EXPONENTIAL, symbols.CLAMP, symbols.ABSOLUTE}
    | {symbols.DISCRETISATION, *symbols.SELECTIONS, *symbols.ROUNDINGS}
)


class TooManyApart(Exception):
    """A path has more conditions than are followed apart."""


class Fork(Record):
    """A condition was decided; `other` is what happens if it is decided the other way, where that
    is known: a `Course` (`paths`), or NOWHERE."""

    condition: ast.Expression
    holds: bool
    other: Any = None


NOWHERE = "nowhere"
"""What happens where no input of the domains leads."""

Event = ast.Statement | Fork


class SavedRun(Record):
    """What a run is at some place of its path, to go on there again; `events`: how many."""

    events: int
    values: Mapping[str, Any]


class PathRun(Machine):
    """One path of a function; `split` follows branches that return: (condition, branches); see
    `paths`."""

    draws = True

    def __init__(
        self,
        load: Callable[..., Any],
        outside: frozenset[int],
        domains: Mapping[str, tuple[Value, ...]],
        names: frozenset[str],
        texts: frozenset[str],
    ) -> None:
        """Make a run.

        Args:
            domains: The values of the input cells that have finitely many.
            names: Taken by declarations; `texts` are the named values among them.
        """
        super().__init__(load, outside)
        self.ways: list[bool] = []
        self.expected: list[Event] = []
        self.events: list[Event] = []
        self.split: Callable[..., Fork | None] = lambda *_: None
        self.joins = self.have_joined = self.joining = False
        self.most_apart = MOST_FORKS
        self._first = 0
        self._taken = 0
        self._decided = 0
        self._forks = Counter[Span | None]()
        self.knowledge = PathKnowledge(domains)
        self._used = set(names)
        self._counts = Counter[tuple[str, str]]()
        self._texts = texts
        self._kinds: dict[str, str] = {}

    # --- going on from a place again

    def state(self) -> SavedRun:
        copied = {name: getattr(self, name).copy() for name in _COPIED}
        return SavedRun(len(self.events), copied | {name: getattr(self, name) for name in _HELD})

    def restore(self, state: SavedRun) -> None:
        self.undo()
        del self.events[state.events :]
        for name, value in state.values.items():
            setattr(self, name, value.copy() if name in _COPIED else value)

    def restart(self, state: SavedRun, ways: list[bool], expected: list[Event]) -> None:
        """Begin a path at a place: go `ways` at the first forks, which led to what is `expected`
        before."""
        self.restore(state)
        self.kept = None if self.kept is None else {}
        self.ways, self.expected = list(ways), expected
        self._taken, self._first = 0, state.events

    # --- what quantities ask

    def declares(self, text: str) -> bool:
        """Say whether a text is a value of an input or an output: others are Python's alone."""
        return text in self._texts

    def is_text(self, quantity: Quantity) -> bool:
        """Say whether a quantity is a named value: nothing is computed with these."""
        if not isinstance(quantity.node, ast.Name | ast.Index):
            return False
        values = [self.knowledge.domains[cell] for cell in quantity.cells]
        return isinstance(quantity.known, str) or any(
            isinstance(value, str) for domain in values for value in domain
        )

    def largest(self, node: ast.Expression) -> Fraction | None:
        """Bound the absolute value of a whole number; None for what may be another number."""
        match node:
            case ast.Number(value):
                return abs(value)
            case ast.Name() | ast.Index():
                values = self.knowledge.domains.get(cell_name(node), ())
                return max((abs(v) for v in values if isinstance(v, Fraction)), default=None)
            case ast.Negative(operand):
                return self.largest(operand)
            case ast.Sum(operands, operators) | ast.Product(operands, operators):
                sizes = [self.largest(each) for each in operands]
                known = [size for size in sizes if size is not None]
                if "/" in operators or len(known) < len(sizes):
                    return None
                if isinstance(node, ast.Sum):
                    return sum(known, Fraction())
                return prod(known, start=Fraction(1))
            case _:
                return None

    def decide(self, condition: Condition) -> bool:
        """Say whether a condition holds on the path."""
        branches, self.branches = self.branches, {}
        known = self.known(condition)
        if known is not None:
            return known
        forced = self.knowledge.forced(condition)
        if forced is not None:
            self.record(Fork(condition.node, forced, NOWHERE))
            self.knowledge.learn_forced(condition, forced)
            return forced
        if self.joining:
            raise Unjoined
        self._check_forks()
        place = len(self.events) - self._first
        again = self.expected[place] if place < len(self.expected) else None
        if not isinstance(again, Fork):
            again = self.split(condition, branches)
        if again is not None and again.other is not None:
            self.record(again)
            self.knowledge.learn(condition, again.holds)
            return again.holds
        if self._taken == len(self.ways):
            if len(self.ways) >= self.most_apart:
                raise TooManyApart
            self.ways.append(True)
        holds = self.ways[self._taken]
        self._taken += 1
        self.learn(condition, holds)
        return holds

    def known(self, condition: Condition) -> bool | None:
        """Say whether a condition holds, as far as it or the path says, whatever inputs may be."""
        known = condition.known
        return self.knowledge.implied(condition.node) if known is None else bool(known)

    def joined(self, condition: Any, ways: Mapping[bool, Callable[[], Any]]) -> tuple[Any] | None:
        """Take both ways of a condition as one, if the run `joins` any: each is followed, then
        undone; where they differ in numbers, variables choose between these."""
        undecided = type(condition) is Condition and self.known(condition) is None
        if not self.joins or self.joining or not undecided:
            return None
        if self.knowledge.forced(condition) is not None:
            return None  # no input goes the other way
        state, found = self.state(), list[tuple[Any, dict[int, Any]]]()
        try:
            for way, follow in ways.items():
                self.kept, self.age, self.joining = {}, self.age + 1, True
                self.knowledge.learn(condition, way)
                value = follow()
                after = {key: (t, held, held.copy()) for key, (t, held, _) in self.kept.items()}
                found.append((value, after))
                self.restore(state)
            self.kept, self.expected = {}, []  # if the ways are not joined, no choice was recorded
            (yes, ours), (no, theirs) = found
            value, changes = self._either(condition, yes, no), list[tuple[Any, Any, Any]]()
            for key, (thing, held, _) in {**ours, **theirs}.items():
                sides = (side[key][2] if key in side else held for side in (ours, theirs))
                changes.append((thing, held, self._both(condition, *sides)))
        except (Unjoined, Undone, Left, Broke, Continued, SourceError):
            self.restore(state)
            return None
        self.have_joined = True
        self.kept, self.expected = state.values["kept"], state.values["expected"]
        for thing, held, content in changes:
            self.change(thing)
            refill(held, content)
        return (value,)

    def _both(self, condition: Condition, ours: Any, theirs: Any) -> Any:
        """Return the content of a list, dictionary or set, whichever way is taken."""
        if type(ours) is list and len(ours) == len(theirs):
            return [self._either(condition, *both) for both in zip(ours, theirs, strict=True)]
        if isinstance(ours, dict) and list(ours) == list(theirs):
            return {name: self._either(condition, ours[name], theirs[name]) for name in ours}
        if type(ours) is not set or ours != theirs:
            raise Unjoined
        return ours

    def _either(self, condition: Condition, yes: Any, no: Any) -> Any:
        same = yes is no or (type(yes) is type(no) and type(yes) in SCALARS and yes == no)
        if same:
            return yes
        for each in (yes, no):
            plain = type(each) in (Quantity, Condition) and not each.numpy and each.kind is int
            if not plain and type(each) not in (int, bool):
                raise Unjoined
        return self.where(condition, yes, no)

    def learn(self, condition: Condition, holds: bool) -> None:
        self.record(Fork(condition.node, holds))
        self.knowledge.learn(condition, holds)

    def _check_forks(self) -> None:
        self._decided += 1
        self._forks[place := self.here] += 1
        if self._forks[place] > MOST_TURNS and self.unbounded:
            message = f"this is decided more than {MOST_TURNS} times on one path"
            bound = "a loop needs a bound that is known: for i in range(N)"
            raise self.limit(f"{message}: a loop without end?", bound)
        if self._decided > MOST_FORKS:
            message = f"more than {MOST_FORKS} conditions are decided on one path"
            raise self.limit(message, "where(condition, a, b) decides nothing")

    def value_of(self, quantity: Quantity) -> Value:
        """Say which value a quantity with finitely many has on the path."""
        if quantity.compute is None:
            message = "what depends on samples, or may be any number, has no value to compute with"
            hint = "rounded(x, 0, 9), and clamp(z, 0, 9) of integer noise, have finitely many"
            raise self.refusal(message, hint_for(self.here.text if self.here else "") or hint)
        values = self.knowledge.possible(quantity)
        if values is None:
            raise self.limit(f"this may have more than {MOST_VALUATIONS} values")
        if not values:
            raise self.refusal("no input leads here", kind="error")
        for value in values[:-1]:
            if truth(compared(Relation.EQUAL, quantity, value)):
                return value
        # Asked as well, so that no other value leads here.
        if not truth(compared(Relation.EQUAL, quantity, values[-1])):
            raise self.refusal("no input leads here", kind="error")
        return values[-1]

    def where(self, condition: Condition, yes: object, no: object) -> Any:
        """Make a variable that has one value or the other."""
        (first, second), values = self.alike((yes, no))
        found: Any = self.drawn(second.node, "w", values)
        body = (ast.Assign((found.node,), first.node, span=self.here),)
        branch = ast.Branch(condition.node, body, span=self.here)
        self.record(ast.If((branch,), (), span=self.here))
        return of_numpy(found, False, kind_of_either(yes, no))

    def alike(self, given: Iterable[Any]) -> tuple[list[Any], list[tuple[Value, ...] | None]]:
        """Return values of one kind, and what each may be, unless all are truth values."""
        ways = [self.quantity(each, "a value") for each in given]
        if not all(isinstance(way, Condition) for way in ways):
            ways = [as_number(way) for way in ways]
        return ways, [self.knowledge.possible(way) for way in ways if isinstance(way, Quantity)]

    # --- what is made

    def drawn(
        self,
        value: ast.Expression,
        otherwise: str,
        values: Sequence[tuple[Value, ...] | None],
        kind: str = "",
    ) -> Quantity:
        """Assign an expression to a new variable, and return that.

        Args:
            otherwise: See `fresh`; `kind`, too, if `values` do not say it.
            values: What it may be: one of some; None where these are not finitely many; nothing
                for a truth value.
            kind: Of noise.
        """
        kind = kind or ("truth" if not values else "mixed" if None in values else "number")
        place = ast.Name(self.fresh(otherwise, kind), span=self.here)
        self.record(ast.Assign((place,), value, span=self.here))
        if not values:
            return self.truth(place)  # type: ignore[return-value]  # of conditions
        if None in values:
            return Quantity(place)
        return self.variable(place, tuple(dict.fromkeys(v for each in values for v in each or ())))

    def fresh(self, otherwise: str, kind: str) -> str:
        """Return a new name: that of the Python variable it is assigned to, if there is one.

        Args:
            otherwise: For values that are assigned to none.
            kind: What the variable holds: in programs that is the same on all paths.
        """
        wish = getattr(self.node, "assigned", None) or otherwise
        if not (wish.isidentifier() and wish.isascii() and len(wish) <= 40):
            wish = otherwise
        if wish in _RESERVED:
            wish += "_"
        count = self._counts[wish, kind]  # names before are taken, or of another kind, for good
        name = f"{wish}_{count}" if count else wish
        while name in self._used or self._kinds.get(name, kind) != kind:
            count = max(count + 1, 2)
            name = f"{wish}_{count}"
        self._counts[wish, kind] = count
        self._used.add(name)
        self._kinds[name] = kind
        return name

    def variable(self, place: ast.Target, domain: tuple[Value, ...]) -> Quantity:
        """Return a variable with finitely many values as a quantity."""
        if len({isinstance(value, str) for value in domain}) > 1:
            message = "one variable holds numbers and named values"
            raise self.refusal(message, "choose numbers, or named values")
        key = cell_name(place)
        self.knowledge.domains[key] = domain
        return Quantity(place, frozenset((key,)), lambda given: given[key])

    def truth(self, place: ast.Target) -> Condition:
        """Return a Boolean variable as a condition."""
        key = cell_name(place)
        self.knowledge.domains[key] = ("false", "true")
        return Condition(place, frozenset((key,)), lambda given: given[key] == "true")

    def is_integer(self, quantity: Quantity) -> bool:
        """Whether a random quantity is surely made of integer noise."""
        known = self.knowledge.domains
        places = (n for n in nodes_in(quantity.node) if isinstance(n, ast.Name | ast.Index))
        random = [each for each in places if cell_name(each) not in known]
        return {self._kinds.get(each.name) for each in random} == {"integer"}

    def is_input(self, value: object) -> bool:
        """Whether a value is made of real inputs, and of nothing that is drawn."""
        if not isinstance(value, Quantity) or value.compute is not None:
            return False
        names = {n.name for n in nodes_in(value.node) if isinstance(n, ast.Name | ast.Index)}
        return names.isdisjoint(self._kinds)

    def quantity(self, value: object, what: str) -> Quantity | Condition:
        """Take a number, a named value, a truth value, or what is one already."""
        if type(value) in (Quantity, Condition):
            return value  # type: ignore[return-value]  # exactly these
        if type(value) is str and not self.declares(value):
            hint = 'choose a number, and look the text up: ["a", "b"][choose([0, 1])]'
            raise self.refusal(f"'{value}' is no value of an input or output", hint)
        known: Any = value if type(value) in (bool, str) else exact(value, what)
        found: Quantity | Condition = constant(known)
        return found

    # --- the record

    def record(self, event: Event) -> None:
        if self.joining:
            raise Unjoined
        place = len(self.events) - self._first
        if place < len(self.expected) and self.expected[place] != event:
            raise AssertionError("a path went another way when it was followed again")
        if len(self.events) >= MOST_STEPS:
            raise self.limit(f"more than {MOST_STEPS} draws and conditions on one path")
        self.events.append(event)


def kind_of_either(*values: Any) -> type:
    """Return the kind of one of some numbers: what is no whole number tells itself."""
    kinds = {kind_of_all(v) for v in values if type(v) is not Fraction or v.denominator == 1}
    return kinds.pop() if len(kinds) == 1 else float if kinds else int


def cell_name(place: ast.Target) -> str:
    match place:
        case ast.Index(name, ast.Number(index)):
            return f"{name}[{index}]"
        case _:
            return place.name


_COPIED = ("knowledge", "_used", "_counts", "_forks")
_HELD = ("joining", "ways", "expected", "_first", "_taken", "_decided", "left", "kept", "node")
