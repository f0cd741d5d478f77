"""What evaluation computes with, its place in the text, how much it may still do, refusals.

A value is

    known       int, bool, Fraction, str, None, an infinity, a range, or a list, tuple, dictionary
                or set of values, by exact type
    a symbol    an input, a sample, or what follows from them (`symbols`)
    of the file a `Function`, a method of one, a class, its objects, a module
    a `ImportedName`    what is imported and not known: it is refused when it is used
    a `Stream`  of values, read once
    an `Array`  of numpy's: of numbers
    a `Text`    with inputs or samples in it: for the messages of exceptions

Classes of the file are classes of Python's, with `Function`s for methods, so Python says what they
are derived from, what their objects have, and how data classes and enumerations are made.

`RULES` says what is done with each kind of node, `perform` what with each kind of value that is
called; `expressions`, `statements` and `objects` fill them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping, Set
from enum import Enum
from fractions import Fraction
from functools import reduce, singledispatch
from importlib import import_module
from inspect import Signature, getattr_static
from types import MethodType
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.errors import SourceError
from dipapprox.language.functions import places
from dipapprox.language.functions.symbols import Symbolic, Uncopied, refusal, running
from dipapprox.language.functions.words import NO_RULE, hint_for
from dipapprox.source import Span

SCALARS = frozenset((int, bool, Fraction, str, type(None), float))
"""Of floats there are the infinities alone."""

CONTAINERS = frozenset((list, tuple, dict, set))
HOME = "the file"  # the module of all classes that files define

ERRORS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
"""The exceptions of Python, by name."""


class NameScope(Uncopied, Record, frozen=False, eq=False):
    """The variables of a function call, comprehension, class or file: as a value, a module."""

    local: Set[str]  # the names that belong to it, as the text says
    outer: NameScope | None  # where it was defined
    values: dict[str, Any] = field(default_factory=dict)
    fixed: bool = False  # whether nothing changes it any more: what modules hold
    # "" or one of class (functions in it do not see it), comprehension (`:=` assigns outside) and
    # module (names that it has no value for are Python's own).
    kind: str = ""
    # Of a method: the class that it stands in, and its object.
    method: tuple[type, Any] | None = None
    tree: ast.AST | None = None

    def holder(self, name: str, *, inside: bool = True) -> NameScope | None:
        """Return the scope that a name belongs to, as Python decides it: by the text alone. If not
        `inside`, it stands in a function of this scope."""
        seen = self.kind != "class" or (inside and name in self.values)
        if seen and name in self.local:
            return self
        return None if self.outer is None else self.outer.holder(name, inside=False)


class Function(Uncopied, Record, frozen=False, eq=False):
    """A function of a file or of the prelude, with its defaults computed where it was defined."""

    name: str
    node: Any
    scope: NameScope
    # With the annotations of user's functions as nodes; those of the prelude say how arguments are
    # taken.
    signature: Signature
    owner: type | None = None
    adjacent: ast.expr | None = None  # the decorator that makes it a mechanism
    standard: bool = False  # whether the prelude defines it

    def __call__(self, *placed: Any, **named: Any) -> Any:
        return running().call(self, *placed, **named)

    def __get__(self, receiver: Any, kind: type | None = None) -> Any:
        if self.standard and receiver is not None:
            raise running().refusal("whether this function takes its object is not known")
        return self if receiver is None else MethodType(self, receiver)


class ImportedName(Uncopied, Record):
    """What is imported, by its whole name: "math", "numpy.random.normal", "|" of a
    union; `arguments` are what stands in the brackets of a type."""

    name: str
    arguments: tuple[Any, ...] = ()


class Unread(Record):
    """A name of a file whose statement is not followed, perhaps a mechanism: whoever uses it hears
    why."""

    error: SourceError
    mechanism: bool = False


class Stream(Record, frozen=False, eq=False):
    """Values that are read once; `age`: see `Machine`."""

    values: Iterator[Any]
    age: int

    def __reduce__(self) -> Any:
        raise TypeError("an iterator is not copied here")

    __copy__ = __reduce__


class Array(Record):
    """What functions of numpy return: its cells are read; of operators, which go by cells there,
    it has none."""

    cells: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.cells)


class Text(Uncopied, Record, eq=False):
    """A text that is for messages alone: with inputs or samples in it, or one of Python's own."""

    said: Any = "…"


class Left(Exception):
    """A function is left at a node, with a value."""

    def __init__(self, value: Any, node: ast.AST | None) -> None:
        super().__init__()
        self.value, self.node = value, node


class Returned(Left):
    """`return`."""


class Raised(Left):
    """An exception of the function's."""


class Broke(Exception):
    """`break`."""


class Continued(Exception):
    """`continue`."""


class Undone(Exception):
    """A branch reads on in a stream that was there before: that cannot be undone."""


class Unjoined(Exception):
    """Two ways are not joined: one decides or draws, or they differ in what is no number."""


def followed(value: Any) -> Any:
    """Return what a name of a file stands for, if that is followed."""
    if isinstance(value, Unread):
        raise value.error
    return value


def is_object(value: Any) -> bool:
    """Whether a value is an object of a class of the file, or an exception."""
    return type(value).__module__ == HOME or isinstance(value, BaseException)


def plain(value: Any) -> Any:
    """Return a named tuple as a tuple; all else as it is."""
    return tuple(value) if isinstance(value, tuple) else value


def python_own(function: Function) -> Any:
    """Return what a function of the prelude is in Python itself; None for others."""
    home, *path = function.name.split(".")
    if not function.standard or home in ("hidden", "dipapprox"):
        return None
    held = {"Fraction": Fraction}.get(home) or getattr(builtins, home, None) or import_module(home)
    return reduce(getattr, path, held)


def are_named(*sides: Any) -> bool:
    """Whether all may be types of a union: None may, and names in quotes beside one of these."""
    quoting = {"typing.Annotated", "typing.Literal"}
    quoted = any(isinstance(v, ImportedName) and v.arguments and v.name in quoting for v in sides)
    types = type | Function | ImportedName | None
    names = (quoted and type(v) is str and v.isidentifier() for v in sides)
    return all(isinstance(v, types) or name for v, name in zip(sides, names, strict=True))


def is_type(value: Any) -> bool:
    return not isinstance(value, Function) or isinstance(python_own(value), type)


def member(value: Any) -> Any:
    """Return a member of an enumeration of numbers or texts as what it is; all else as it is."""
    return value.value if isinstance(value, Enum) and isinstance(value, int | str) else value


def refill(content: Any, values: Any) -> Any:
    """Make what a list, dictionary or set holds other values; return it."""
    content.clear()
    (content.extend if type(content) is list else content.update)(values)
    return content


def kind_of(value: Any) -> str:
    match value:
        case type():
            return f"the class {value.__name__}"
        case ImportedName() | Function(standard=True):
            return f"'{value.name}'"
        case Symbolic():
            return value.what
        case NameScope():
            return "the module"
        case Text():
            return "a text with inputs or samples in it"
        case _ if is_object(value):
            return f"an object of the class {type(value).__name__}"
        case _:
            return f"the {type(value).__name__.lower()}"


MOST_STEPS = 5_000_000  # expressions and statements that one path looks at
MOST_CALLS = 100
"""Calls inside each other: fewer than Python allows, so that a recursion without end is refused."""
MOST_CELLS = 1_000_000  # of a list that is made at once

RULES: dict[type[ast.AST], Callable[[Any, Any, NameScope], Any]] = {}
"""What is done with a node: (machine, node, scope)."""

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
        leave: Leaves unread what a part of a file changes that is not followed: (part, error).
        tries: How many `try` statements the path is in.
        branches: Of an `if` that is being decided in the mechanism itself: the ways that return.
        kept: What is changed since a branch began, as it was before; None outside branches.
        age: How many branches have begun.
    """

    draws = False
    """Whether noise may be drawn: on the paths of a mechanism."""

    def __init__(
        self, load: Callable[..., NameScope | None], outside: frozenset[int] = frozenset()
    ) -> None:
        self.load = load
        self.leave: Callable[[ast.AST, SourceError], None]
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
        self.branches: dict[bool, Callable[[], Any]] = {}

    @property
    def here(self) -> Span | None:
        """Where in the file something is being computed."""
        return places.span_of(self.node)

    def evaluate(
        self, node: ast.AST, scope: NameScope, then: Callable[[Any, Any], Any] | None = None
    ) -> Any:
        """Return the value of an expression, or do what a statement says, then with the value what
        `then` does of (machine, value), at the same place."""
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
        self.step()
        return perform(function, self, placed, named)

    def enter(self) -> None:
        """Go into a call; who leaves it counts `depth` down."""
        if self.depth >= MOST_CALLS:
            message = f"more than {MOST_CALLS} calls inside each other: a recursion without end?"
            raise self.limit(message)
        self.depth += 1

    def step(self) -> None:
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
            message = "the function changes what it finds again when it runs again"
            hint = "lists, attributes and defaults that it changes belong inside it"
            raise self.refusal(message, hint, "error")
        self.keep(thing)
        return thing

    def joined(self, condition: Any, ways: Mapping[bool, Callable[[], Any]]) -> tuple[Any] | None:
        """Take both ways of a condition as one; return their value, or None if they are not."""
        return None

    # A file computes with known numbers alone, some of which are symbols (`Symbolic.kind`).

    def declares(self, text: str) -> bool:
        return False

    def is_text(self, quantity: Any) -> bool:
        return False

    def value_of(self, quantity: Any) -> Any:
        return quantity.known

    def decide(self, condition: Any) -> bool:
        return bool(condition.known)

    def keep(self, thing: Any) -> None:
        """Note what is going to be changed, for the other branch: see `undo`."""
        if self.kept is not None and id(thing) not in self.kept:
            if isinstance(thing, Stream):
                if thing.age < self.age:
                    raise Undone
                return
            content = thing.values if isinstance(thing, NameScope) else thing
            content = vars(thing) if is_object(thing) else content
            if not hasattr(content, "copy"):
                return  # it has no items: what changes them is refused
            self.kept[id(thing)] = thing, content, content.copy()

    def undo(self) -> None:
        """Make all as it was when the branch began."""
        for _, content, before in (self.kept or {}).values():
            refill(content, before)

    def refusal(self, message: str, hint: str = "", kind: str = "type error") -> SourceError:
        """Return the error that ends the evaluation here: no function can catch it."""
        span = self.here
        if not hint and span is not None:
            hint = hint_for(span.text)
        return refusal(kind, message, hint, span)

    def limit(self, message: str, hint: str = "") -> SourceError:
        """Return the error for what goes on too long, or becomes too large."""
        return self.refusal(message, hint, "limit")

    def raised(self, error: BaseException) -> Raised:
        """Return an exception of Python's own, here: what it says is for messages alone."""
        if not isinstance(error, KeyError):
            error.args = tuple(map(Text, error.args))
        return Raised(error, self.node)

    def unended(self, error: Raised) -> Exception:
        """Return an exception that leaves a function or stream: not that another has ended."""
        if not isinstance(error.value, StopIteration):
            return error
        self.node = error.node
        return self.refusal("an iterator has ended: next(values, default)")

    def native(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Call a function of Python's with known values: what it raises is the user's exception."""
        try:
            return function(*given, **named)
        except (IndexError, KeyError, ValueError, ArithmeticError) as error:
            raise self.raised(error) from None
        except TypeError as error:
            raise self.refusal(f"TypeError: {error}", kind="error") from None


@singledispatch
def perform(function: Any, machine: Machine, placed: tuple[Any, ...], named: dict[str, Any]) -> Any:
    called = getattr_static(type(function), "__call__", None)
    if isinstance(called, Function):
        return machine.call(called, function, *placed, **named)
    if isinstance(function, Symbolic):
        raise function.refusal("is nothing to call")
    raise machine.refusal(f"{kind_of(function)} is nothing to call")
