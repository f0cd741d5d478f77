"""What evaluation computes with, its place in the text, how much it may still do, refusals.

A value is

    known       int, bool, Fraction, str, None, an infinity, a range, or a list, tuple, dictionary
                or set of values, by exact type
    a symbol    an input, a sample, or what follows from them (`symbols`)
    of the file a `Function`, `BoundMethod` method, `Class`, `Object` or `Module`
    a `ImportedName`    what is imported and not known: it is refused when it is used
    a `Stream`  of values, read once
    a `Text`    with inputs or samples in it: for the messages of exceptions

`RULES` and `CALLS` say what is done with each kind of node, and with each kind of value that is
called; `expressions`, `statements` and `objects` fill them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping, Set
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import dataclass, field
from dipapprox.errors import SourceError
from dipapprox.language.functions import places
from dipapprox.language.functions.symbols import Symbolic, refusal
from dipapprox.language.functions.words import NO_RULE, hint_for
from dipapprox.source import Span

SCALARS = frozenset((int, bool, Fraction, str, type(None), float))
"""Of floats there are the infinities alone."""

CONTAINERS = frozenset((list, tuple, dict, set))


@dataclass(eq=False, slots=True)
class NameScope:
    """The variables of a function call, a comprehension, a class or a module.

    Attributes:
        local: The names that belong to it, as the text says.
        outer: Where it was defined.
        fixed: Whether nothing changes it any more: what modules hold.
        kind: "" or one of class (functions in it do not see it), comprehension (`:=` assigns
            outside) and module (names that it has no value for are Python's own).
        method: Of a method: the class that it stands in, and its object.
    """

    local: Set[str]
    outer: NameScope | None
    values: dict[str, Any] = field(default_factory=dict)
    fixed: bool = False
    kind: str = ""
    method: tuple[Class, Any] | None = None

    def holder(self, name: str, *, inside: bool = True) -> NameScope | None:
        """Return the scope that a name belongs to, as Python decides it: by the text alone.

        Args:
            name: The name.
            inside: Whether it stands in this scope, and not in a function of it.
        """
        seen = self.kind != "class" or (inside and name in self.values)
        if seen and name in self.local:
            return self
        return None if self.outer is None else self.outer.holder(name, inside=False)


@dataclass(eq=False, slots=True)
class Function:
    """A function of a file or of the prelude, with its defaults computed where it was defined.

    Attributes:
        kind: "" or one of staticmethod, classmethod, property.
        standard: Whether the prelude defines it.
        owner: The class that it was defined in.
        adjacent: The decorator that makes it a mechanism.
    """

    name: str
    node: Any
    scope: NameScope
    defaults: Mapping[str, Any]
    kind: str = ""
    owner: Class | None = None
    adjacent: ast.expr | None = None
    standard: bool = False


@dataclass(eq=False, slots=True)
class Class:
    """A class of a file, or an exception of Python's own.

    Attributes:
        kind: "plain", "data", "named" (a named tuple), "enum" or "error".
        values: What its body assigned.
        fields: The names of a data class or named tuple, in order.
        options: Of a data class: those of eq, order and frozen that are on; "whole" of an
            enumeration whose members are their values (`IntEnum`, `StrEnum`).
    """

    name: str
    kind: str
    bases: tuple[Class, ...]
    values: dict[str, Any]
    fields: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    slots: tuple[str, ...] | None = None

    def line(self) -> Iterator[Class]:
        """Yield it and what it is derived from: one class each."""
        yield self
        for base in self.bases:
            yield from base.line()

    def found(self, name: str) -> tuple[Class, Any] | None:
        """Return what a name means in it, and the class that says so."""
        return next(((c, c.values[name]) for c in self.line() if name in c.values), None)

    def is_a(self, other: Class) -> bool:
        """Whether it is a class, or derived from it."""
        return any(each is other for each in self.line())

    def members(self) -> dict[str, Object]:
        """Return the members of an enumeration, each once."""
        own = self.values.items()
        return {n: v for n, v in own if isinstance(v, Object) and v.values["name"] == n}


@dataclass(eq=False, slots=True)
class Object:
    """An object of a class."""

    kind: Class
    values: dict[str, Any]


@dataclass(eq=False, slots=True)
class BoundMethod:
    """A method with its object."""

    function: Any
    receiver: Any


@dataclass(frozen=True, slots=True)
class Super:
    """`super()`: an object, looked at from behind a class."""

    kind: Class
    receiver: Any


@dataclass(frozen=True, slots=True)
class ImportedName:
    """What is imported, by its whole name: "math", "numpy.random.normal"."""

    name: str


@dataclass(eq=False, slots=True)
class Module:
    """A file that is imported."""

    name: str
    scope: NameScope


@dataclass(eq=False, slots=True)
class Stream:
    """Values that are read once; `age`: see `Machine`."""

    values: Iterator[Any]
    age: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """A type with what stands in its brackets: Annotated[int, "in {0, 1}"], Literal["a", "b"]."""

    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """`dataclasses.field(default_factory=…)`."""

    factory: Any


class Text:
    """A text with inputs or samples in it."""


class Returned(Exception):
    """`return`, at a node."""

    def __init__(self, value: Any, node: ast.AST | None) -> None:
        super().__init__()
        self.value, self.node = value, node


class Broke(Exception):
    """`break`."""


class Continued(Exception):
    """`continue`."""


class Undone(Exception):
    """A branch reads on in a stream that was there before: that cannot be undone."""


class Raised(Exception):
    """An exception of the function's, at a node."""

    def __init__(self, value: Object, node: ast.AST | None) -> None:
        super().__init__()
        self.value, self.node = value, node


def _errors() -> dict[str, Class]:
    """Return the exceptions of Python, by name."""
    found: dict[str, Class] = {}

    def add(kind: type[BaseException]) -> Class:
        if kind.__name__ not in found:
            bases = tuple(add(b) for b in kind.__bases__ if issubclass(b, BaseException))
            found[kind.__name__] = Class(kind.__name__, "error", bases[:1], {})
        return found[kind.__name__]

    for value in vars(builtins).values():
        if isinstance(value, type) and issubclass(value, BaseException):
            add(value)
    return found


ERRORS = _errors()
"""Of several classes that one is derived from, the first is known."""


def plain(value: Any) -> Any:
    """Return a named tuple as a tuple; all else as it is."""
    return fields_of(value) if isinstance(value, Object) and value.kind.kind == "named" else value


def fields_of(value: Object) -> tuple[Any, ...]:
    """Return the values of the fields of a data class or named tuple."""
    return tuple(value.values[name] for name in value.kind.fields)


def kind_of(value: Any) -> str:
    """Say what a value is."""
    match value:
        case Object():
            return f"an object of the class {value.kind.name}"
        case Class():
            return f"the class {value.name}"
        case ImportedName() | Function(standard=True):
            return f"'{value.name}'"
        case Symbolic():
            return value.WHAT
        case _:
            return f"the {type(value).__name__.lower()}"


MOST_STEPS = 5_000_000
"""Expressions and statements that one path looks at."""
MOST_CALLS = 100
"""Calls inside each other: fewer than Python allows, so that a recursion without end is refused."""
MOST_CELLS = 1_000_000
"""Of a list that is made at once."""

RULES: dict[type[ast.AST], Callable[[Any, Any, NameScope], Any]] = {}
"""What is done with a node: (machine, node, scope)."""

CALLS: dict[type, Callable[[Any, Any, list[Any], dict[str, Any]], Any]] = {}
"""What is done where a value is called: (machine, value, arguments by place, and by name)."""

Rule = Callable[[Any, Any, NameScope], Any]


def rule(*kinds: type[ast.AST]) -> Callable[[Rule], Rule]:
    """Make a function what is done with some kinds of nodes."""

    def note(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(kinds, function))
        return function

    return note


class Machine:
    """One evaluation.

    Attributes:
        node: What is being computed: all that is made or refused stands there. What the prelude
            computes stands at the user's call.
        load: Returns the file that a name imports: (machine, name); None if it is none of the
            user's.
        outside: Identities of lists, objects and the like that were there before: what a function
            changes must be its own.
        unbounded: How many loops and recursions without a known bound are going on.
        endless: Whether there are iterators without end.
        handled: Exceptions that are being handled, for `raise` alone.
        last: Where the function that ended last returned.
        tries: How many `try` statements the path is in.
        branches: Of an `if` that is being decided in the mechanism itself: the ways that return.
        kept: What is changed since a branch began, as it was before; None outside branches.
        age: How many branches have begun.
    """

    draws = False
    """Whether noise may be drawn: on the paths of a mechanism."""

    def __init__(
        self, load: Callable[[Machine, str], Module | None], outside: frozenset[int] = frozenset()
    ) -> None:
        """Begin; see the class."""
        self.load = load
        self.outside = outside
        self.node: Any = None
        self.unbounded = 0
        self.endless = False
        self.left = MOST_STEPS
        self.depth = 0
        self.active: dict[ast.AST, int] = {}
        self.handled: list[Raised] = []
        self.last: ast.AST | None = None
        self.kept: dict[int, tuple[Any, Any, Any]] | None = None
        self.age = 0
        self.tries = 0
        self.branches: dict[bool, Callable[[], None]] = {}

    @property
    def here(self) -> Span | None:
        """Where in the file something is being computed."""
        return places.span_of(self.node)

    def evaluate(
        self, node: ast.AST, scope: NameScope, then: Callable[[Any, Any], Any] | None = None
    ) -> Any:
        """Return the value of an expression, or do what a statement says.

        Args:
            node: The expression or statement.
            scope: Its variables.
            then: What is done with the value at the same place: (machine, value).
        """
        self.step()
        before = self.node
        if hasattr(node, "text"):
            self.node = node
        known = RULES.get(type(node))
        if known is None:
            raise self.refusal(NO_RULE.get(type(node), "this is not followed in a mechanism"))
        value = known(self, node, scope)
        if then is not None:
            value = then(self, value)
        self.node = before
        return value

    def call(self, function: Any, /, *placed: Any, **named: Any) -> Any:
        """Call whatever may be called."""
        self.step()
        return CALLS.get(type(function), CALLS[object])(self, function, list(placed), named)

    def step(self) -> None:
        """Count a step."""
        self.left -= 1
        if self.left < 0:
            raise self.limit(f"more than {MOST_STEPS} steps: a loop without end?")

    def spend(self, value: Any) -> Any:
        """Count the size of a value that was made; return it."""
        if type(value) in (list, tuple, str, dict, set):
            self.left -= len(value)
        elif type(value) in (int, Fraction):
            self.left -= (value.numerator.bit_length() + value.denominator.bit_length()) // 64
        return value

    def change(self, thing: Any) -> Any:
        """Return what is going to be changed: not what was there before the function began."""
        if id(thing) in self.outside:
            raise self.refusal(
                "the function changes what it finds again when it runs again",
                "lists, attributes and defaults that it changes belong inside it",
                "error",
            )
        self.keep(thing)
        return thing

    def keep(self, thing: Any) -> None:
        """Note what is going to be changed, for the other branch: see `undo`."""
        if self.kept is not None and id(thing) not in self.kept:
            if isinstance(thing, Stream):
                if thing.age < self.age:
                    raise Undone
                return
            content = thing.values if isinstance(thing, Object | NameScope) else thing
            self.kept[id(thing)] = thing, content, content.copy()

    def undo(self) -> None:
        """Make all as it was when the branch began.

        A dictionary that has other keys is not: a loop over it would go on elsewhere.
        """
        for thing, content, before in (self.kept or {}).values():
            if type(thing) is dict and list(content) != list(before):
                raise Undone
            if type(thing) is not dict:
                content.clear()
            (content.extend if type(content) is list else content.update)(before)

    def refusal(self, message: str, hint: str = "", kind: str = "type error") -> SourceError:
        """Return the error that ends the evaluation here: no function can catch it."""
        span = self.here
        if not hint and span is not None:
            hint = hint_for(span.text)
        return refusal(kind, message, hint, span)

    def limit(self, message: str, hint: str = "") -> SourceError:
        """Return the error for what goes on too long, or becomes too large."""
        return self.refusal(message, hint, "limit")

    def raised(self, name: str, *arguments: Any) -> Raised:
        """Return an exception of Python's own."""
        return Raised(Object(ERRORS[name], {"args": arguments}), self.node)

    def unended(self, error: Raised) -> Exception:
        """Return an exception that leaves a function or stream: not that another has ended."""
        if error.value.kind is not ERRORS["StopIteration"]:
            return error
        self.node = error.node
        return self.refusal("an iterator has ended: next(values, default)")

    def native(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Call a function of Python's with known values: what it raises is the user's exception."""
        try:
            return function(*given, **named)
        except (IndexError, KeyError, ValueError, ArithmeticError) as error:
            raise self.raised(type(error).__name__, *error.args) from None
