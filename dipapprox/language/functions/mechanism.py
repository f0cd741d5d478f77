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

In: a function, whose annotations are declarations (`signature`). Out: a program of the language
with the same final states, found by running the function once for every path (`exploration`). It is
a program for the values of the parameters that it was made with, and has none itself.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial, update_wrapper
from types import CodeType, FunctionType
from typing import Generic, Never, ParamSpec, TypeVar

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError, shorten
from dipapprox.language import ast, core
from dipapprox.language.checker import check_declarations
from dipapprox.language.declarations import cells_of, elaborate_declarations
from dipapprox.language.domains import AS_DECLARED, AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.functions import places, twins
from dipapprox.language.functions.exploration import execute, explore
from dipapprox.language.functions.memory import picture_of
from dipapprox.language.functions.results import end_of
from dipapprox.language.functions.run import PathRun
from dipapprox.language.functions.signature import Head, closed_declarations, names_in, texts_in
from dipapprox.language.functions.surroundings import surroundings_of
from dipapprox.language.functions.symbolic import refusal
from dipapprox.language.functions.trees import End, with_defaults
from dipapprox.language.printer import print_program
from dipapprox.language.symbols import DELTA, needs_delta
from dipapprox.language.values import exact_rational

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True)
class Executed:
    """What a function is for some values of its parameters.

    Attributes:
        name: With the values: "svt(N=2, T=0)".
        program: Without parameters; its spans are in the Python file.
    """

    name: str
    program: ast.Program

    @property
    def text(self) -> str:
        """The program as `.dpg` text."""
        return f"# {self.name}, a Python function as a program\n\n{print_program(self.program)}"


_CALLED = '@dipapprox.mechanism(adjacent="linf 1")'
_REMEMBERS = "the function changes what it finds again when it runs again"
_FORGET = (
    "lists, attributes, generators and defaults that it changes belong inside it; functools.cache "
    "keeps the results of a function of numbers"
)


class Mechanism(Generic[Arguments, Returned]):
    """A Python function that is a program of the language; made by `mechanism`."""

    def __init__(self, function: Callable[Arguments, Returned], adjacent: str) -> None:
        """Wrap a function; it is not run yet.

        Raises:
            UserError: If it is no Python function, or its annotations cannot be read.
        """
        if not isinstance(function, FunctionType):
            raise UserError(f"a mechanism must be a function, got {shorten(repr(function))}")
        if not isinstance(adjacent, str):
            raise UserError(f"adjacent must be a text, got {shorten(repr(adjacent))}", _CALLED)
        update_wrapper(self, function)
        self.name = function.__name__
        self._function = function
        self._adjacent = adjacent

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Returned:
        """Call the function as it is: from another mechanism, as a part of it."""
        returned: Returned = self._function(*arguments, **named)
        return returned

    def __repr__(self) -> str:
        return f"<mechanism {self.name}>"

    def program(self, **parameters: int | Fraction | Decimal | str) -> core.Program:
        """Execute the function for some values of its parameters.

        Raises:
            SourceError: If the function is no program, at the line where it leaves the language.
            UserError: If it has no such parameter.
        """
        exact = {name: exact_rational(value, name) for name, value in parameters.items()}
        executed = self.execute(exact)
        return elaborate(executed.program, {}, executed.name, irrational=True)

    def program_for(self, delta: Fraction) -> core.Program:
        """Execute the function with its default parameters, and with `delta` that of a claim.

        Raises:
            SourceError: As for `program`.
            UserError: As for `program`.
        """
        executed = self.execute({})
        claimed = {DELTA: delta} if needs_delta(executed.program) else {}
        return elaborate(executed.program, claimed, executed.name, irrational=True)

    def text(self, **parameters: int | Fraction | Decimal | str) -> str:
        """Return the same as the text of a `.dpg` file.

        Raises:
            SourceError: As for `program`.
            UserError: As for `program`.
        """
        exact = {name: exact_rational(value, name) for name, value in parameters.items()}
        return self.execute(exact).text

    def execute(self, parameters: Mapping[str, Fraction]) -> Executed:
        """Execute the function symbolically, along every path.

        Args:
            parameters: Values that replace defaults.

        Raises:
            SourceError: If the function is no program, at the line where it leaves the language.
            UserError: If it has no such parameter.
        """
        code = self._function.__code__
        _refuse_other_functions(code)
        _refuse_assignments_outside(code)
        head = Head(self._function, self._adjacent, parameters)
        for name in head.needed - parameters.keys():
            raise refusal(
                "type error",
                f"'{name}' is no input, and has no value as a parameter",
                "the privacy parameter is called eps"
                if name.lower() in _NAMES_OF_EPS
                else f'an input is written {name}: Annotated[Quantity, "in {{0, 1}}"]; a parameter '
                f"is set with {name}=VALUE",
                places.span_of_definition(code),
            )
        check_declarations(head.program)
        declarations = elaborate_declarations(head.program, parameters, AS_DECLARED)
        inputs = cells_of(declarations.inputs)
        domains = {c.name: c.domain for c in inputs if not isinstance(c.domain, AllReals)}
        names, texts = names_in(declarations), texts_in(declarations)

        before = picture_of(self._function)

        def run_once(run: PathRun) -> End:
            placed, named = head.arguments(run, declarations)
            found = self._function(*placed, **named)
            if picture_of(self._function) != before:
                raise refusal("error", _REMEMBERS, _FORGET, places.span_of_definition(code))
            return end_of(run, found, declarations.outputs, head.several, code)

        finite = {
            v.name: frozenset(value for value in v.domain if isinstance(value, str))
            for v in declarations.outputs
            if not isinstance(v.domain, AllReals)
        }
        with surroundings_of(self._function.__globals__):
            course = explore(run_once, code, domains, names, texts, finite)
            span = places.span_of_definition(code)
            body = with_defaults(course, finite)
            once = partial(execute, function=run_once, code=code)
            twins.check(once, body, inputs, names, texts, span)
        declared = closed_declarations(declarations, head.program, span)
        program = ast.Program(declared, body, span=span)
        shown = ", ".join(f"{name}={value}" for name, value in declarations.parameters.items())
        return Executed(f"{self.name}({shown})" if shown else self.name, program)


def mechanism(
    *misplaced: Never, adjacent: str = ""
) -> Callable[[Callable[Arguments, Returned]], Mechanism[Arguments, Returned]]:
    """Make a function a mechanism that dipapprox can ask about.

        @mechanism(adjacent="linf 1")
        def noisy(q: Annotated[Quantity, "in -5..5"], eps: Weight) -> Annotated[bool, "in bool"]:
            return laplace(q, 1 / eps) >= 0

    Args:
        misplaced: Nothing: the decorator is called, with a name.
        adjacent: Which inputs are neighbours, as in a program: "all", "linf 1", "l1 2", "l0 1",
            "{ (0, 0) ~ (0, 1) }".

    Raises:
        UserError: If it is not called so.
    """
    if misplaced or not adjacent:
        raise UserError("a mechanism needs the rule which inputs are neighbours", _CALLED)

    def wrap(function: Callable[Arguments, Returned]) -> Mechanism[Arguments, Returned]:
        return Mechanism(function, adjacent)

    return wrap


_NAMES_OF_EPS = ("epsilon", "e", "epsilon0", "eps0", "ε", "privacy_budget")


def _refuse_other_functions(code: CodeType) -> None:
    """Refuse what does not return when it is called: generators and coroutines.

    Raises:
        SourceError: At its definition.
    """
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        what = "is async: it must return when it is called"
    elif code.co_flags & inspect.CO_GENERATOR:
        what = "yields: it must return all that it publishes at once, as a list"
    else:
        return
    message = f"the mechanism {what}"
    raise refusal("type error", message, "", places.span_of_definition(code))


def _refuse_assignments_outside(code: CodeType) -> None:
    """Refuse a function that assigns variables outside itself, where the code says so.

    Raises:
        SourceError: At the assignment.
    """
    inner = frozenset(code.co_cellvars)
    waiting = [code]
    while waiting:
        each = waiting.pop()
        waiting += [constant for constant in each.co_consts if isinstance(constant, CodeType)]
        inner |= frozenset(each.co_cellvars)
        for step in dis.get_instructions(each):
            outside = step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval not in inner
            )
            if outside:
                message = f"the mechanism assigns '{step.argval}' outside itself"
                hint = "only what a mechanism returns is published; nothing else may leave it"
                raise refusal("error", message, hint, places.span_of(each, step.offset))
