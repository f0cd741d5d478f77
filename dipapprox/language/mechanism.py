"""Mechanisms as Python functions.

    @dipapprox.mechanism(adjacent="linf 1")
    def svt(
        q: Annotated[list[Quantity], "[N] in {0, 1}"], eps: Weight, N: int = 2, T: int = 0
    ) -> Annotated[list[int], "[N] in {0, 1}"]:
        threshold = gauss(T, 2 / eps)
        for i in range(N):
            if gauss(q[i], 4 / eps) >= threshold:
                return [0] * i + [1] + [0] * (N - i - 1)
        return [0] * N

In: a function of a file, whose annotations are declarations (`signature`). Out: a program of the
language with the same final states, found by evaluating the function's text once for every path
(`paths`); the function itself is never run. It is a program for the values of the parameters that
it was made with, and has none itself.
"""

from __future__ import annotations

import ast as python
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, Never, ParamSpec, TypeVar

from dipapprox.data_classes import Record
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import ast, core
from dipapprox.language.checker import check_declarations
from dipapprox.language.declarations import elaborate_declarations
from dipapprox.language.domains import AS_DECLARED, AllReals, exact_rational, names_in
from dipapprox.language.elaborate import elaborate
from dipapprox.language.functions import places
from dipapprox.language.functions.files import Files, LiveScope, reached
from dipapprox.language.functions.machine import Function, Machine, Unread
from dipapprox.language.functions.paths import End, Exploration, with_defaults
from dipapprox.language.functions.run import PathRun
from dipapprox.language.functions.signature import (
    SignatureHead,
    closed_declarations,
    end_of,
    place_of,
)
from dipapprox.language.functions.symbols import refusal, running_as
from dipapprox.language.printer import print_program
from dipapprox.language.symbols import DELTA, needs_delta

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


class Executed(Record):
    """What a function is for some values of its parameters, named with these: "svt(N=2, T=0)".

    The program is without parameters; its spans are in the Python file.
    """

    name: str
    program: ast.Program

    @property
    def text(self) -> str:
        return f"# {self.name}, a Python function as a program\n\n{print_program(self.program)}"


_CALLED = '@dipapprox.mechanism(adjacent="linf 1")'
Read = tuple[Function, Files, str]
"""A function of a file, the files that it needs, and the rule which inputs are neighbours."""


def _execute(read: Read, parameters: Mapping[str, Fraction]) -> Executed:
    function, files, adjacent = read
    span = places.span_of(function.node)
    if (found := places.facts_of(function.node).yields) is not None:
        message = "the mechanism yields: it must return all that it publishes at once, as a list"
        raise refusal("type error", message, "", places.span_of(found))
    head = SignatureHead(Machine(files.load), function, adjacent, parameters)
    for name in head.needed - parameters.keys():
        hint = "the privacy parameter is called eps"
        if name.lower() not in _NAMES_OF_EPS:
            hint = f'an input is written {name}: Annotated[Quantity, "in {{0, 1}}"]; a parameter '
            hint += f"is set with {name}=VALUE"
        message = f"'{name}' is no input, and has no value as a parameter"
        raise refusal("type error", message, hint, span)
    check_declarations(head.program)
    declarations = elaborate_declarations(head.program, parameters, AS_DECLARED)
    declared = (*declarations.inputs, *declarations.outputs)
    finite = {c.variable: c.domain for c in declared if not isinstance(c.domain, AllReals)}
    domains = {c.name: c.domain for c in declarations.inputs if c.variable in finite}
    texts = frozenset(name for domain in finite.values() for name in names_in(domain))
    names = texts.union(cell.variable for cell in declared)
    cells = [
        (place_of(c), frozenset(names_in(c.domain)) if c.variable in finite else None)
        for c in declarations.outputs
    ]

    def call(run: PathRun) -> Any:
        run.node = function.node
        given = head.arguments(run, declarations)
        return run.call(function, *given.args, **given.kwargs)

    def finish(run: PathRun, value: Any) -> End:
        return end_of(value, declarations.outputs, head.several, run.here, shared)

    shared: dict[Any, ast.Expression] = {}
    begin = partial(PathRun, files.load, reached([function]), domains, names, texts)
    course = Exploration(begin, finish, span, cells).course(call)
    closed = closed_declarations(declarations, head.program)
    program = ast.Program(closed, with_defaults(course, cells), span=span)
    shown = ", ".join(f"{name}={value}" for name, value in declarations.parameters.items())
    return Executed(f"{function.name}({shown})" if shown else function.name, program)


class Mechanism(Generic[Arguments, Returned]):
    """A Python function that is a program of the language; made by `mechanism`, or of a file."""

    def __init__(self, name: str, doc: str | None, read: Read | Callable[[], Read]) -> None:
        """Hold a function, or what reads it when it is asked about."""
        self.name = name
        self.__name__ = name
        self.__doc__ = doc
        self._read = read

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Returned:
        """Raise `UserError`: a mechanism is read, and not called; another mechanism may call it."""
        message = "noise is drawn in a mechanism that dipapprox executes, not by calling it"
        raise UserError(message, "dipapprox.verify(function, …) asks about it")

    def __repr__(self) -> str:
        return f"<mechanism {self.name}>"

    def program(self, **parameters: int | Fraction | Decimal | str) -> core.Program:
        """Return the program that the function is for some values of its parameters.

        Raises:
            SourceError: If the function is no program, at the line where it leaves the language.
            UserError: If it has no such parameter.
        """
        executed = self.execute(parameters)
        return elaborate(executed.program, {}, executed.name, irrational=True)

    def program_for(self, delta: Fraction) -> core.Program:
        """Return the program for the default parameters, and with `delta` that of a claim."""
        executed = self.execute({})
        claimed = {DELTA: delta} if needs_delta(executed.program) else {}
        return elaborate(executed.program, claimed, executed.name, irrational=True)

    def text(self, **parameters: int | Fraction | Decimal | str) -> str:
        """Return the same as the text of a `.dpg` file."""
        return self.execute(parameters).text

    def execute(self, parameters: Mapping[str, int | Fraction | Decimal | str]) -> Executed:
        """Evaluate the function along every path, with the errors of `program`."""
        exact = {name: exact_rational(value, name) for name, value in parameters.items()}
        return _execute(self._read() if callable(self._read) else self._read, exact)


def mechanism(
    *misplaced: Never, adjacent: str = ""
) -> Callable[[Callable[Arguments, Returned]], Mechanism[Arguments, Returned]]:
    """Make a function a mechanism that dipapprox can ask about.

        @mechanism(adjacent="linf 1")
        def noisy(q: Annotated[Quantity, "in -5..5"], eps: Weight) -> Annotated[bool, "in bool"]:
            return laplace(q, 1 / eps) >= 0

    Args:
        adjacent: Which inputs are neighbours, as in a program: "all", "linf 1", "l1 2", "l0 1",
            "{ (0, 0) ~ (0, 1) }".

    Raises:
        UserError: If it is not called so.
    """
    if misplaced or not adjacent:
        raise UserError("a mechanism needs the rule which inputs are neighbours", _CALLED)
    if not isinstance(adjacent, str):
        raise UserError(f"adjacent must be a text, got {shorten(repr(adjacent))}", _CALLED)

    def wrap(function: Callable[Arguments, Returned]) -> Mechanism[Arguments, Returned]:
        if not isinstance(function, FunctionType):
            raise UserError(f"a mechanism must be a function, got {shorten(repr(function))}")
        folder = Path(function.__code__.co_filename).parent
        made: Mechanism[Arguments, Returned] = Mechanism(
            *(function.__name__, function.__doc__),
            lambda: (LiveScope(frozenset(), None, function=function).read, Files(folder), adjacent),
        )
        update_wrapper(made, function)
        return made

    return wrap


_NAMES_OF_EPS = ("epsilon", "e", "epsilon0", "eps0", "ε", "privacy_budget")


# --- files ----------------------------------------------------------------------------------------


def mechanisms_in(path: Path, text: str) -> dict[str, Mechanism[Any, Any]]:
    """Read a Python file and return its mechanisms by name.

    Raises:
        SourceError: If it is no Python, or a mechanism has no rule of adjacency.
    """
    files = Files(path.resolve().parent)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    module = files.read(path, plain)
    asking = Machine(files.load)
    found: dict[str, Mechanism[Any, Any]] = {}
    for name, value in module.values.items():
        if isinstance(value, Unread) and value.mechanism:
            raise value.error
        if isinstance(value, Function) and value.adjacent is not None:
            doc = python.get_docstring(value.node, clean=False)
            read = value, files, _adjacency(asking, value)
            found[name] = Mechanism(name, doc, read)
    return found


def _adjacency(machine: Machine, function: Function) -> str:
    """Return the rule that the decorator of a function gives."""
    node = function.adjacent
    named = node.keywords if isinstance(node, python.Call) and not node.args else []
    with running_as(machine):
        rules = [machine.evaluate(each.value, function.scope) for each in named]
    if [each.arg for each in named] != ["adjacent"] or type(rules[0]) is not str or not rules[0]:
        machine.node = node
        raise machine.refusal("a mechanism needs the rule which inputs are neighbours", _CALLED)
    return str(rules[0])


def read_mechanism(path: Path, text: str, name: str) -> Mechanism[Any, Any]:
    """Read a Python file and return one of its mechanisms.

    Args:
        name: Of the mechanism; empty if it is the only one.

    Raises:
        SourceError: If the file cannot be read as Python, at its line.
        UserError: If there is no such mechanism.
    """
    defined = mechanisms_in(path, text)
    if not name and len(defined) == 1:
        return next(iter(defined.values()))
    listed = f"the mechanisms are {', '.join(defined)}"
    if name in defined:
        return defined[name]
    if not defined:
        hint = '@dipapprox.mechanism(adjacent="linf 1") makes a function one'
        raise UserError(f"'{path}' defines no mechanism", hint)
    if not name:
        raise UserError(f"'{path}' defines several mechanisms", f"{listed}: {path}:NAME")
    raise UserError(f"'{path}' has no mechanism '{name}'", did_you_mean(name, defined, listed))
