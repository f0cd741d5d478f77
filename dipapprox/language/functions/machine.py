"""What evaluation shares: values, scopes, the signals by which statements end, refusals.

A value is

    known       int, bool, Fraction, str, None, an infinity, a range, or a list, tuple, dictionary
                or set of values, by exact type
    a symbol    an input, a sample, or what follows from them (`symbols`)
    of the file a `Function`, `Bound` method, `Class`, `Object` or `Module`
    a `Word`    what is imported or built in: `library` knows what some of them do
    a `Stream`  of values, read once
    a `Text`    with inputs or samples in it: for the messages of exceptions
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
from dipapprox.language.functions.hints import hint_for
from dipapprox.language.functions.run import PathRun
from dipapprox.source import Diagnostic

SCALARS = frozenset((int, bool, Fraction, str, type(None), float))
"""Of floats there are the infinities alone."""

CONTAINERS = frozenset((list, tuple, dict, set))
MOST_STEPS = 5_000_000
"""Expressions and statements that one path looks at."""
MOST_CALLS = 100
"""Calls inside each other: fewer than Python allows, so that a recursion without end is refused."""
MOST_CELLS = 1_000_000
"""Of a list that is made at once."""


@dataclass(eq=False, slots=True)
class Scope:
    """The variables of a function call, a comprehension, a class or a module.

    Attributes:
        local: The names that belong to it, as the text says.
        outer: Where it was defined.
        fixed: Whether nothing changes it any more: what modules hold.
        enclosed: Whether functions in it see it: not what classes hold.
        comprehends: Whether it is a comprehension: `:=` assigns outside.
        is_module: Whether names that it has no value for are Python's own.
        method: Of a method: the class that it stands in, and its object.
    """

    local: Set[str]
    outer: Scope | None
    values: dict[str, Any] = field(default_factory=dict)
    fixed: bool = False
    enclosed: bool = True
    comprehends: bool = False
    is_module: bool = False
    method: tuple[Class, Any] | None = None

    def holder(self, name: str, *, inside: bool = True) -> Scope | None:
        """Return the scope that a name belongs to, as Python decides it: by the text alone.

        Args:
            name: The name.
            inside: Whether it stands in this scope, and not in a function of it.
        """
        seen = self.enclosed or (inside and name in self.values)
        if seen and name in self.local:
            return self
        return None if self.outer is None else self.outer.holder(name, inside=False)


@dataclass(eq=False, slots=True)
class Function:
    """A function of a file, with its defaults computed where it was defined.

    Attributes:
        kind: "" or one of staticmethod, classmethod, property.
        standard: Whether the prelude defines it.
        owner: The class that it was defined in.
        adjacent: The decorator that makes it a mechanism.
    """

    name: str
    node: ast.FunctionDef | ast.Lambda
    scope: Scope
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
        whole: Of an enumeration: whether its members are their values (`IntEnum`, `StrEnum`).
    """

    name: str
    kind: str
    bases: tuple[Class, ...]
    values: dict[str, Any]
    fields: tuple[str, ...] = ()
    frozen: bool = False
    whole: bool = False
    slots: tuple[str, ...] | None = None

    def line(self) -> Iterator[Class]:
        """Yield it and what it is derived from: one class each."""
        yield self
        for base in self.bases:
            yield from base.line()

    def found(self, name: str) -> tuple[Class, Any] | None:
        """Return what a name means in it, and the class that says so."""
        return next(
            ((each, each.values[name]) for each in self.line() if name in each.values), None
        )

    def is_a(self, other: Class) -> bool:
        """Whether it is a class, or derived from it."""
        return any(each is other for each in self.line())


@dataclass(eq=False, slots=True)
class Object:
    """An object of a class."""

    kind: Class
    values: dict[str, Any]


@dataclass(eq=False, slots=True)
class Bound:
    """A method with its object."""

    function: Any
    receiver: Any


@dataclass(frozen=True, slots=True)
class Word:
    """What is built in or imported, by its whole name: "len", "math.sqrt", "dipapprox.laplace"."""

    name: str


@dataclass(eq=False, slots=True)
class Module:
    """A file that is imported."""

    name: str
    scope: Scope


@dataclass(eq=False, slots=True)
class Stream:
    """Values that are read once."""

    values: Iterator[Any]


@dataclass(frozen=True, slots=True)
class Annotation:
    """A type with what stands in its brackets: Annotated[int, "in {0, 1}"], Literal["a", "b"]."""

    name: str
    arguments: tuple[Any, ...]


class Text:
    """A text with inputs or samples in it."""


class Returned(Exception):
    """`return`."""

    def __init__(self, value: Any, node: ast.AST) -> None:
        super().__init__()
        self.value = value
        self.node = node


class Broke(Exception):
    """`break`."""


class Continued(Exception):
    """`continue`."""


class Raised(Exception):
    """An exception of the function's."""

    def __init__(self, value: Object, node: ast.AST) -> None:
        super().__init__()
        self.value = value
        self.node = node


Rules = Mapping[type[ast.AST], Callable[..., Any]]
"""What is done with each kind of node: (machine, node, scope)."""

_NO_RULE: dict[type[ast.AST], str] = {
    ast.Yield: "the mechanism yields: it must return all that it publishes at once, as a list",
    ast.YieldFrom: "the mechanism yields: it must return all that it publishes at once, as a list",
    ast.Await: "the mechanism is async: it must return when it is called",
    ast.AsyncFunctionDef: "the mechanism is async: it must return when it is called",
    ast.With: "'with' is not followed in a mechanism",
}


class Machine:
    """One evaluation: its path, or None where a file is read, and how much it may still do.

    Attributes:
        outside: Identities of lists, objects and the like that were there before: what a function
            changes must be its own.
        active: The functions that are being called, with how often.
        handled: Exceptions that are being handled, for `raise` alone.
        last: Where the function that ended last returned.
        endless: Whether there are iterators without end.
        site: Where the user calls what the prelude defines: its own nodes stand in no file.
    """

    def __init__(
        self,
        rules: Rules,
        caller: Callable[..., Any],
        loader: Callable[[Machine, ast.AST, str], Module | None],
        run: PathRun | None,
        outside: frozenset[int] = frozenset(),
    ) -> None:
        """Begin; see the class. `rules`, `caller` and `loader`: nodes, calls, imports."""
        self.rules = rules
        self.caller = caller
        self.loader = loader
        self.run = run
        self.outside = outside
        self.left = MOST_STEPS
        self.depth = 0
        self.active: dict[ast.AST, int] = {}
        self.handled: list[Raised] = []
        self.last: ast.AST | None = None
        self.endless = False
        self.site: ast.AST | None = None

    def evaluate(self, node: ast.AST, scope: Scope) -> Any:
        """Return the value of an expression, or do what a statement says.

        Raises:
            SourceError: At what is refused.
        """
        self.step(node)
        rule = self.rules.get(type(node))
        if rule is None:
            raise self.refusal(
                node, _NO_RULE.get(type(node), "this is not followed in a mechanism")
            )
        return rule(self, node, scope)

    def call(self, node: ast.AST, function: Any, placed: list[Any], named: dict[str, Any]) -> Any:
        """Call whatever may be called."""
        return self.caller(self, node, function, placed, named)

    def load(self, node: ast.AST, name: str) -> Module | None:
        """Return the file that a name imports; None if it is none of the user's."""
        return self.loader(self, node, name)

    def step(self, node: ast.AST) -> None:
        """Count a step, and remember where it is.

        Raises:
            SourceError: If there were too many.
        """
        self.left -= 1
        if self.left < 0:
            raise self.refusal(
                node, f"more than {MOST_STEPS} steps: a loop without end?", kind="limit"
            )

    def spend(self, value: Any) -> Any:
        """Count the size of a value that was made; return it."""
        if type(value) in (list, tuple, str, dict, set):
            self.left -= len(value)
        elif type(value) in (int, Fraction):
            self.left -= (value.numerator.bit_length() + value.denominator.bit_length()) // 64
        return value

    def at(self, node: ast.AST) -> PathRun:
        """Return the path, for what is computed at a node.

        Raises:
            SourceError: If there is none.
        """
        if self.run is None:
            hint = "@dipapprox.mechanism makes a function one that may"
            raise self.refusal(node, "noise is drawn in a mechanism, and not by the file", hint)
        self.run.at = self.place(node)
        return self.run

    def place(self, node: Any) -> Any:
        """Return a node of the user's: the call, if it is one of the prelude."""
        return node if node is None or hasattr(node, "text") else self.site

    def change(self, node: ast.AST, thing: Any) -> None:
        """Refuse changes of what was there before the function began.

        Raises:
            SourceError: If it was.
        """
        if id(thing) in self.outside:
            raise self.refusal(
                node,
                "the function changes what it finds again when it runs again",
                "lists, attributes and defaults that it changes belong inside it",
                kind="error",
            )

    def refusal(
        self, node: Any, message: str, hint: str = "", kind: str = "type error"
    ) -> SourceError:
        """Return the error that ends the evaluation at a node."""
        span = places.span_of(self.place(node))
        if not hint and span is not None:
            hint = hint_for(span.text)
        return SourceError([Diagnostic(kind, message, span, hint)])


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


def raised(node: ast.AST, name: str, *arguments: Any) -> Raised:
    """Return an exception of Python's own."""
    return Raised(Object(ERRORS[name], {"args": arguments}), node)


def native(node: ast.AST, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function of Python's with known values: what it raises is the user's exception.

    Raises:
        Raised: As Python raises it.
    """
    try:
        return function(*given, **named)
    except (IndexError, KeyError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise raised(node, type(error).__name__, *error.args) from None
