"""Services: state cells and handlers of calls, each handler a core program of its own.

In: a parsed program with handlers. Out: a `Service`, whose handlers read and assign state cells,
the arguments of the call and the cells of the reply. Each is checked and elaborated like a program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.errors import Diagnosis, check_visible, did_you_mean
from dipapprox.language import ast, core, traversal
from dipapprox.language.calls import FRESH
from dipapprox.language.cells import cells_of, reached, read, statements_in, written_out
from dipapprox.language.checker import check
from dipapprox.language.constants import Wrong
from dipapprox.language.declarations import Declarations, elaborate_declarations, evaluate_value
from dipapprox.language.domains import AS_DECLARED, AllIntegers, admits, describe_domain
from dipapprox.language.elaborate import elaborate_block
from dipapprox.language.piecewise import CLAMPED, Clamp
from dipapprox.source import Located, Span

DATA = "data"  # the name of the call that brings a data point


class Change(Enum):
    """Which two sequences of calls are adjacent; the value is the spelling in programs.

    INSERT: one has one data call more.
    REPLACE: one data call carries another value.
    """

    INSERT = "insert"
    REPLACE = "replace"


class StateCell(Record):
    """A cell that lasts from call to call, with its first value; additive ones hold any integer."""

    cell: core.Cell
    initial: core.Value

    @property
    def name(self) -> str:
        return self.cell.name

    @property
    def is_additive(self) -> bool:
        """Whether it is only added to, reset, and used in means of published samples."""
        return isinstance(self.cell.domain, AllIntegers)


class Handler(Located):
    """What is done at one kind of call."""

    name: str  # "data", or of the query
    arguments: tuple[core.Cell, ...]  # what a call carries
    # Who sees the call and its reply; empty: everybody. Nobody sees data calls.
    users: tuple[str, ...]
    body: core.Block  # reads and assigns state cells, arguments and cells of the reply
    # What is to be assigned at the end of an assignment to these fresh variables.
    clamps: Mapping[str, Clamp] = field(hash=False)

    @property
    def is_data(self) -> bool:
        return self.name == DATA

    def is_seen_by(self, users: Collection[str]) -> bool:
        """Whether some users together see a call and its reply; none: everybody."""
        seen = not users or not self.users or not set(users).isdisjoint(self.users)
        return seen and not self.is_data


class Service(Record):
    """A system that answers calls for ever."""

    name: str
    parameters: Mapping[str, Fraction] = field(hash=False)
    states: tuple[StateCell, ...]  # what it remembers between calls
    replies: tuple[core.Cell, ...]  # the cells that queries answer with; perhaps any number
    handlers: tuple[Handler, ...]  # the data handler first
    change: Change  # which sequences of calls are adjacent

    @property
    def data(self) -> Handler:
        return self.handlers[0]

    @property
    def queries(self) -> tuple[Handler, ...]:
        return self.handlers[1:]


def is_service(program: ast.Program) -> bool:
    """Whether a program is a service, whole or not."""
    return bool(program.handlers) or any(isinstance(d, ast.State) for d in program.declarations)


def elaborate_service(
    program: ast.Program, parameters: Mapping[str, Fraction], name: str
) -> Service:
    """Check and elaborate a service.

    Raises:
        UserError: If `parameters` names one that it does not have, or its name would not be seen as
            it is.
    """
    check_visible(name, "the service's name")
    _check_parts(program)
    handlers = []
    whole = elaborate_declarations(
        _program_of(program, None), parameters, AS_DECLARED, in_service=True
    )
    for handler in sorted(program.handlers, key=lambda each: each.name is not None):
        own = _program_of(program, handler)
        symbols = check(own, in_service=True)
        declarations = elaborate_declarations(own, parameters, AS_DECLARED, in_service=True)
        body, calls, _ = elaborate_block(handler.body, symbols, declarations, publishes=True)
        if calls.rounding is not None:
            raise core.irrational(calls.rounding)
        called, arguments = handler.name or DATA, declarations.inputs
        block, users = written_out(body), handler.users
        published = {*calls.clamps, *(cell.name for cell in declarations.outputs)}
        _check_additive_cells(block, published, declarations)
        handlers.append(Handler(called, arguments, users, block, calls.clamps, span=handler.span))
    rules = (d.rule for d in program.declarations if isinstance(d, ast.AdjacentRule))
    return Service(
        name=name,
        parameters=dict(whole.parameters),
        states=_state_cells(program, whole.states, whole.parameters),
        replies=whole.outputs,
        handlers=tuple(handlers),
        change=next((Change(rule) for rule in rules), Change.INSERT),
    )


def _program_of(program: ast.Program, handler: ast.Handler | None) -> ast.Program:
    """Return one handler as a program, its arguments as inputs; without one, declarations only."""
    kept = tuple(d for d in program.declarations if not isinstance(d, ast.AdjacentRule))
    inputs, body = ((), ()) if handler is None else (handler.arguments, handler.body)
    return ast.Program((*kept, *inputs), body, span=program.span)


def _state_cells(
    program: ast.Program, cells: tuple[core.Cell, ...], parameters: Mapping[str, Fraction]
) -> tuple[StateCell, ...]:
    diagnosis = Diagnosis()
    domains = {cell.variable: cell.domain for cell in cells}
    values: dict[str, core.Value] = {}
    for declared, declaration in traversal.declared_in(program, ast.State):
        name, node = declared.name, declaration.initial
        try:
            values[name] = value = evaluate_value(node, parameters)
        except Wrong as wrong:
            wrong.report(diagnosis)
            continue
        if not admits(domains[name], value):
            allowed = "whole numbers"
            if not isinstance(domains[name], AllIntegers):
                allowed = describe_domain(domains[name])
            message = f"{value} is not in the domain of state cell '{name}'"
            diagnosis.report("value error", message, node.span, f"allowed are {allowed}")
    diagnosis.finish()
    return tuple(StateCell(cell, values[cell.variable]) for cell in cells)


# --- what a service is made of --------------------------------------------------------------------


def _check_parts(program: ast.Program) -> None:
    diagnosis = Diagnosis()
    for statement in program.body:
        diagnosis.report(
            "syntax error", "a statement outside the handlers of a service", statement.span,
            "put it into a handler, 'on data … do' or 'on query … do'; cells begin with the "
            "value in their declaration",
        )  # fmt: skip
    for declaration in program.declarations:
        _check_declaration(declaration, diagnosis)
    _check_calls(program, diagnosis)
    outputs = {declared.name for declared, _ in traversal.declared_in(program, ast.Output)}
    for handler in program.handlers:
        _check_reply(handler, outputs, diagnosis)
    diagnosis.finish()


def _check_declaration(node: ast.Declaration, diagnosis: Diagnosis) -> None:
    match node:
        case ast.Input():
            hint = "data comes with calls: 'on data d in 0..1 do'; what lasts is a 'state'"
            diagnosis.report("syntax error", "a service has no inputs", node.span, hint)
        case ast.AdjacentPairs() | ast.AdjacentWhere():
            hint = "write 'adjacent insert' (one data call more) or 'adjacent replace'"
            diagnosis.report("syntax error", "services have no pairs of inputs", node.span, hint)
        case ast.AdjacentRule(rule, radius) if rule not in _CHANGES or radius is not None:
            diagnosis.report(
                "name error", f"unknown adjacency '{rule}' of a service", node.span,
                did_you_mean(rule, _CHANGES, "write 'adjacent insert' (one data call more) or "
                "'adjacent replace' (one data call carries another value)"),
            )  # fmt: skip
        case ast.State(domain=(ast.Reals() as reals, *_)):
            hint = "write 'int' for a cell that is only added to, or list its values"
            diagnosis.report("type error", "state cells hold no reals", reals.span, hint)
        case ast.Output(domain=(ast.Reals(bounds=ast.Range()) as reals, *_)):
            message = "a reply is any real number, or one of finitely many values"
            diagnosis.report("type error", message, reals.span, "write 'real'; noise has no bounds")


_CHANGES = tuple(change.value for change in Change)


def _check_calls(program: ast.Program, diagnosis: Diagnosis) -> None:
    names = [handler.name or DATA for handler in program.handlers]
    for place, (name, handler) in enumerate(zip(names, program.handlers, strict=True)):
        if name == handler.name == DATA:
            message = f"'{DATA}' is the name of data calls"
            diagnosis.report("name error", message, handler.span, "choose another name")
        elif name in names[:place]:
            what = "data calls have" if name == DATA else f"query '{name}' has"
            hint = "join them into one"
            diagnosis.report("name error", f"{what} two handlers", handler.span, hint)
        for argument in handler.arguments:
            if isinstance(argument.domain[0], ast.Integers | ast.Reals):
                what = f"'{argument.variables[0].name}' has no bounds"
                message = f"calls carry one of finitely many values, {what}"
                diagnosis.report("type error", message, argument.span, "e.g. '-100..100'")
    last = program.declarations[-1] if program.declarations else program
    span = (program.handlers[0] if program.handlers else last).span
    if DATA not in names:
        hint = "declare what is done with a data point, e.g. 'on data d in 0..1 do … end'"
        diagnosis.report("name error", "no handler of data calls", span, hint)
    if not any(handler.name for handler in program.handlers):
        hint = "declare what is answered, e.g. 'on query sum do … end'"
        diagnosis.report("name error", "no handler of a query", span, hint)


def _check_reply(handler: ast.Handler, outputs: set[str], diagnosis: Diagnosis) -> None:
    assigned = [target for target in traversal.targets_in(handler.body) if target.name in outputs]
    if handler.name is None:
        for target in assigned:
            message = f"data calls have no reply, but '{target.name}' is assigned"
            hint = "keep it in a state cell, and answer with it at a query"
            diagnosis.report("type error", message, target.span, hint)
    elif not assigned:
        declared = ", ".join(sorted(outputs)) or "e.g. 'output reply in 0..5'"
        hint = f"assign to an output ({declared})"
        diagnosis.report("type error", f"query '{handler.name}' has no reply", handler.span, hint)


def expanded(
    block: core.Block,
    clamps: Mapping[str, Clamp],
    write: Callable[[Clamp, core.Variable, Span | None], core.Statement],
) -> core.Block:
    """Return a block of a handler in which its clamps are spelled out: `write` returns the
    statement that clamps a variable, as `piecewise.clamped` does."""

    def change(node: Located) -> tuple[core.Statement, ...] | None:
        match node:
            case core.Assign(core.Variable(name) as held) if name in clamps:
                return node, write(clamps[name], held, node.span)
            case _:
                return None

    return traversal.rewrite(block, change)


# --- additive cells ------------------------------------------------------------------------------

_FINITE = (
    "additive cells are only added to, reset, and used in the means of published samples; "
    "give it a finite domain, e.g. '0..100'"
)


def _check_additive_cells(
    block: core.Block, published: Collection[str], declared: Declarations
) -> None:
    """Check that additive cells, `int`, are only added to, reset, and used in means in a handler.

    What a cell holds is followed through assignments; wherever it decides something, that is an
    error. So two runs of a service differ in such a cell by a number that does not depend on what
    it holds.

    Args:
        published: Cells of the reply, and the fresh ones that are clamped to it.
    """
    additive = {cell.name for cell in declared.states if isinstance(cell.domain, AllIntegers)}
    if not additive:
        return
    diagnosis = Diagnosis()
    finite = {cell.name for cell in declared.states} - additive
    ways = (lambda _: False, lambda name: FRESH not in name, lambda _: True)
    held, named, sampled = (reached(_passing_on(block, way), additive) for way in ways)
    for statement in statements_in(_passing_on(block, ways[0])):
        parts: tuple[Located, ...] = ()
        match statement:
            case core.If(condition=condition) | core.While(condition=condition):
                parts = (condition,)
            case core.Assign(target, value) | core.Draw(target, _, value):
                indexed = traversal.nodes_in((target, value))
                parts = tuple(each.index for each in indexed if isinstance(each, core.Element))
            case core.Choose():
                parts = (statement,)
        for part in parts:
            names = set(read(part))
            if names & held:
                _report("an additive cell decides what is done", part.span, diagnosis)
            elif names & sampled:
                message = "a sample around an additive cell decides what is done"
                _report(f"{message}: it can only be published", part.span, diagnosis)
        if isinstance(statement, core.Assign):
            names, targets = set(read(statement.value)), set(cells_of(statement.target))
            if names & named and (cells := targets & finite):
                message = f"the finite cell '{min(cells)}' gets what an additive cell holds"
                _report(message, statement.span, diagnosis)
            elif names & held and not targets.isdisjoint(published):
                message = "an additive cell is published without noise"
                _report(message, statement.span, diagnosis)
    diagnosis.finish()


def _passing_on(block: core.Block, draws: Callable[[str], bool]) -> core.Block:
    """Return a block in which clamps, and draws of some cells, assign what they are of."""

    def change(node: Located) -> core.Assign | None:
        match node:
            case core.Draw(target, _, mean) if draws(next(cells_of(target))):
                return core.Assign(target, mean, span=node.span)
            case core.If(core.Comparison(core.Variable(name)), then) if name.startswith(
                CLAMPED + FRESH
            ):
                first = next(each for each in statements_in(then) if isinstance(each, core.Assign))
                return core.Assign(first.target, core.Variable(name), span=node.span)
            case _:
                return None

    return traversal.rewrite(block, change)


def _report(message: str, span: Span | None, diagnosis: Diagnosis) -> None:
    diagnosis.report("type error", message, span, _FINITE)
