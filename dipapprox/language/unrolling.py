"""One sequence of calls of a service as a program without loops over calls.

In: a service, a sequence of calls of which one may be made or not (or carries one of two values).
Out: a program whose only input is that, and whose outputs are the replies. State cells become
variables, `exit` ends a handler only, variables of a handler are its own. People write sequences of
calls as "data 1, sum".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record, replace
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import ast, core, traversal
from dipapprox.language.constants import literal
from dipapprox.language.domains import AllReals, admits, parse_rational
from dipapprox.language.services import DATA, Change, Service
from dipapprox.language.symbols import names_given

_CALL = re.compile(r"\s*(\+?)\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\)|([^(),]*))\s*", re.ASCII)


class PlannedCall(Record):
    """One call of a sequence."""

    name: str  # "data", or of the query
    values: tuple[core.Value, ...]  # what it carries
    # What it carries instead, if it is the call that may be another.
    other: tuple[core.Value, ...] | None = None
    differs: bool = False  # whether it is the one that may not be made, or carry `other`


def read_calls(text: str, service: Service) -> tuple[PlannedCall, ...]:
    """Read a sequence of calls: "data 1, sum", "data 0, +data 1, near(3)", "data 0~1, sum".

    The data call with a plus, else the first one, is the one that may not be made; under `adjacent
    replace` it has two values.

    Raises:
        UserError: If it is none, or a call does not suit the service.
    """
    calls: list[PlannedCall] = []
    place = 0
    while place < len(text):
        match = _CALL.match(text, place)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise UserError(
                f"cannot read the calls '{shorten(text)}' at '{shorten(text[place:].strip())}'",
                "calls are written 'data 1, sum, near(3)'",
            )
        calls.append(_planned(match, service))
        place = match.end() + 1
    marked = [k for k, call in enumerate(calls) if call.differs]
    data = [k for k, call in enumerate(calls) if call.name == DATA]
    if len(marked) > 1:
        raise UserError("two calls have a plus", "one call is made or not")
    if not data:
        raise UserError("no data call: nothing differs", "calls are written 'data 1, sum'")
    chosen = (marked or [k for k in data if calls[k].other is not None] or data)[0]
    calls[chosen] = replace(calls[chosen], differs=True)
    for call in calls:
        if call.other is not None and not call.differs:
            raise UserError("two calls have two values", "one call differs")
        if call.differs and (call.other is not None) != (service.change is Change.REPLACE):
            if service.change is Change.REPLACE:
                raise UserError("adjacent is replace: the data call has one value", "e.g. data 0~1")
            raise UserError("adjacent is insert: the data call has two values", "e.g. +data 1")
    return tuple(calls)


def _planned(match: re.Match[str], service: Service) -> PlannedCall:
    plus, name, inside, after = match.groups()
    handlers = {handler.name: handler for handler in service.handlers}
    if name not in handlers:
        hint = did_you_mean(name, handlers, f"calls are {', '.join(handlers)}")
        raise UserError(f"the service has no call '{name}'", hint)
    if plus and name != DATA:
        raise UserError(f"'+{name}' is no data call", "only a data call may be made or not")
    arguments = handlers[name].arguments
    words = (inside if inside is not None else after).split("~")
    if len(words) > 1 and name != DATA:
        raise UserError(f"the query '{name}' has one value", "only data may differ")
    rows = []
    for word in words:
        given = [each.strip() for each in word.split(",") if each.strip()]
        if len(given) != len(arguments):
            wanted = ", ".join(cell.name for cell in arguments) or "nothing"
            raise UserError(f"'{name}' carries {wanted}, got '{shorten(word.strip())}'")
        rows.append(tuple(_value(t, c) for t, c in zip(given, arguments, strict=True)))
    if len(rows) > 2:
        raise UserError(f"'{name}' has {len(rows)} values", "two are compared: 'data 0~1'")
    return PlannedCall(name, rows[0], rows[1] if len(rows) == 2 else None, bool(plus))


def _value(text: str, cell: core.Cell) -> core.Value:
    value: core.Value = text
    if not isinstance(cell.domain, AllReals) and text not in cell.domain:
        value = parse_rational(text, f"'{cell.name}'")
    if not admits(cell.domain, value):
        raise UserError(f"{value} is not in the domain of '{cell.name}'")
    return value


MADE = "made"
"""The input, if nothing else has the name: was the call made, or with the first value?"""

NO_REPLY = "no_reply"  # what an output is that a query does not assign
_VALUES = "named_values"
"""An output that says nothing, and declares the named values of state cells."""


# --- the program ----------------------------------------------------------------------------------


def unroll(
    program: ast.Program,
    service: Service,
    calls: Sequence[PlannedCall],
    users: frozenset[str] | None = None,
) -> ast.Program:
    """Return the program of one sequence of calls.

    Args:
        service: The same, elaborated.
        users: Whose replies are outputs; None: all.

    Raises:
        UserError: If a reply has no bounds, or its name would stand for two things.
    """
    return _Unrolled(program, service, users).program(calls)


class _Unrolled:
    def __init__(
        self, program: ast.Program, service: Service, users: frozenset[str] | None
    ) -> None:
        self.text = program
        self.service = service
        self.users = users
        self.handlers = {handler.name or DATA: handler for handler in program.handlers}
        self.outputs = {
            v.name: (v, d.domain) for v, d in traversal.declared_in(program, ast.Output)
        }
        self.states = {v.name: (v, d.initial) for v, d in traversal.declared_in(program, ast.State)}
        arguments = (each for handler in program.handlers for each in handler.arguments)
        declared = (d for d in program.declarations if isinstance(d, ast.State | ast.Output))
        named = [name for each in (*declared, *arguments) for name in _named(each.domain)]
        parameters = {d.name for d in program.declarations if isinstance(d, ast.Parameter)}
        self.shared = {*self.states, *parameters, *named}
        self.named = [name for name in dict.fromkeys(named) if name not in parameters]
        taken = {*self.shared, *self.outputs}
        for each in program.handlers:
            taken |= names_given(ast.Program(each.arguments, each.body))
        self.made, self.index, self.values = (
            traversal.free_name(stem, taken) for stem in (MADE, "k", _VALUES)
        )
        self.mark = "_"
        while any(re.search(rf"{self.mark}\d+$", name) for name in taken):
            self.mark += "_"

    def program(self, calls: Sequence[PlannedCall]) -> ast.Program:
        declared: list[ast.Declaration] = [
            ast.Parameter(name, literal(value)) for name, value in self.service.parameters.items()
        ]
        truth: ast.Domain = (ast.Truth(False), ast.Truth(True))
        declared.append(ast.Input((ast.Declared(self.made, None),), truth))
        body: list[ast.Statement] = []
        outputs: list[ast.Output] = []
        for name, (variable, initial) in self.states.items():
            body += self.filled(name, variable, initial)
        for number, call in enumerate(calls, 1):
            handler = self.handlers[call.name]
            made = self.body(handler, call.values, number)
            if call.differs:
                other = () if call.other is None else self.body(handler, call.other, number)
                body.append(ast.If((ast.Branch(ast.Name(self.made), made),), other))
                continue
            if self.sees(handler):
                for output, first in self.replies(handler, number):
                    outputs.append(output)
                    body += first
            body += made
        listed = {name for output in outputs for name in _named(output.domain)}
        names = tuple(ast.Name(name) for name in self.named if name not in listed)
        declared += outputs
        if names:
            declared.append(ast.Output((ast.Declared(self.values, None),), names))
            body.insert(0, ast.Assign((ast.Name(self.values),), names[0]))
        declared.append(ast.AdjacentRule("all", None))
        return ast.Program(tuple(declared), tuple(body))

    def sees(self, handler: ast.Handler) -> bool:
        seen = self.users is None or not handler.users or bool(self.users & set(handler.users))
        return seen and handler.name is not None

    def replies(
        self, handler: ast.Handler, number: int
    ) -> Iterator[tuple[ast.Output, list[ast.Statement]]]:
        """Yield the outputs of one query, and what they begin with."""
        for name in dict.fromkeys(target.name for target in traversal.targets_in(handler.body)):
            if name not in self.outputs:
                continue
            variable, domain = self.outputs[name]
            if isinstance(domain[0], ast.Integers | ast.Reals):
                message = f"the reply '{name}' may be any number: a program has finite outputs"
                raise UserError(message, "clamp it: 'reply <- clamp(z, -100, 100)'")
            renamed = ast.Declared(f"{name}{self.mark}{number}", variable.size)
            if variable.size is None and _surely_assigns(handler.body, name):
                yield ast.Output((renamed,), domain), []
                continue
            if any(isinstance(element, ast.Truth) for element in domain):
                message = f"'{name}' is a truth value that query '{handler.name}' may leave open"
                raise UserError(message, "assign it on every path, or use named values")
            nothing = ast.Name(NO_REPLY)
            yield (
                ast.Output((renamed,), (*domain, nothing)),
                self.filled(renamed.name, renamed, nothing),
            )

    def filled(
        self, name: str, variable: ast.Declared, value: ast.Expression
    ) -> list[ast.Statement]:
        if variable.size is None:
            return [ast.Assign((ast.Name(name),), value)]
        element = ast.Index(name, ast.Name(self.index))
        one = ast.Number(Fraction(1))
        return [ast.For(self.index, one, variable.size, (ast.Assign((element,), value),))]

    def body(self, handler: ast.Handler, values: tuple[core.Value, ...], number: int) -> ast.Block:
        names: dict[str, ast.Expression] = {
            target.name: ast.Name(f"{target.name}{self.mark}{number}")
            for target in traversal.targets_in(handler.body)
            if target.name not in self.shared
        }
        arguments = (v.name for each in handler.arguments for v in each.variables)
        names.update(zip(arguments, map(literal, values), strict=True))
        flag = f"ended{self.mark}{number}"
        block, exits = _without_exit(traversal.with_names(handler.body, names), ast.Name(flag))
        if not exits:
            return block
        return (ast.Assign((ast.Name(flag),), ast.Truth(False)), *block)


def _named(domain: ast.Domain) -> Iterator[str]:
    for element in domain:
        if isinstance(element, ast.Name):
            yield element.name


def _surely_assigns(block: ast.Block, name: str) -> bool:
    for statement in block:
        match statement:
            case ast.Assign(targets):
                if any(target.name == name for target in targets):
                    return True
            case ast.If(branches, otherwise):
                blocks = [*(branch.body for branch in branches), otherwise]
                if all(_surely_assigns(each, name) for each in blocks):
                    return True
        if any(isinstance(each, ast.Exit) for each in traversal.statements_of((statement,))):
            return False
    return False


def _without_exit(block: ast.Block, flag: ast.Name) -> tuple[ast.Block, bool]:
    """Return a block that sets a flag and skips what follows instead of an exit."""
    result: list[ast.Statement] = []
    for place, statement in enumerate(block):
        match statement:
            case ast.Exit():
                result.append(ast.Assign((flag,), ast.Truth(True)))
                return tuple(result), True
            case ast.If(branches, otherwise):
                parts = [_without_exit(branch.body, flag) for branch in branches]
                last, exits = _without_exit(otherwise, flag)
                exits = exits or any(found for _, found in parts)
                inner = tuple(
                    replace(branch, body=body)
                    for branch, (body, _) in zip(branches, parts, strict=True)
                )
                statement = replace(statement, branches=inner, otherwise=last)
            case ast.For():
                body, exits = _without_exit(statement.body, flag)
                if exits:
                    body = _unless(flag, body)
                statement = replace(statement, body=body)
            case ast.While():
                body, exits = _without_exit(statement.body, flag)
                condition = statement.condition
                if exits:
                    condition = ast.And((ast.Not(flag), condition), ("and",))
                statement = replace(statement, condition=condition, body=body)
            case _:
                exits = False
        result.append(statement)
        if exits:
            rest, _ = _without_exit(block[place + 1 :], flag)
            return (*result, *_unless(flag, rest)), True
    return tuple(result), False


def _unless(flag: ast.Name, block: ast.Block) -> ast.Block:
    return (ast.If((ast.Branch(ast.Not(flag), block),), ()),) if block else ()
