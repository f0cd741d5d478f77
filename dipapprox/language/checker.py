"""Names and kinds: everything that can be said about a program before its parameters are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeGuard, assert_never

from dipapprox.data_classes import replace
from dipapprox.errors import Diagnosis, did_you_mean
from dipapprox.language import adjacency_where, ast, expression_checker, printer, symbols
from dipapprox.language.core import EUCLIDEAN, Norm
from dipapprox.language.symbols import Kind, Role, Scope, Symbol
from dipapprox.language.traversal import (
    computed_in,
    declared_in,
    nodes_in,
    operands_of,
    statements_of,
)
from dipapprox.source import Diagnostic


def check(
    program: ast.Program, in_service: bool = False, in_rounds: bool = False
) -> dict[str, Symbol]:
    """Check names and kinds.

    Args:
        in_service: Whether it is one handler of a service, which may have cells without bounds.
        in_rounds: Whether it has rounds that `any_number` made of a loop: these assign outputs.

    Returns:
        The symbols, with the kinds of the variables.
    """
    diagnosis = Diagnosis()
    known = symbols.collect_symbols(program, diagnosis)
    _infer_kinds(program, known, real_outputs=not in_service)
    scope = Scope(known, diagnosis, in_service)
    _declarations(scope, program)
    if not in_service and not in_rounds:
        has = ast.Stream | ast.Publishes | ast.Read | ast.Publish | ast.Forever
        if any(isinstance(node, has) for node in nodes_in(program)):
            _streams(scope, program)
        else:
            for _, output in declared_in(program, ast.Output):
                match output.domain:
                    case (ast.Reals(ast.Range() as bounds),):
                        hint = "write 'real': noise goes beyond all bounds"
                        scope.report("a real output has no bounds", bounds.span, hint)
    _reads(scope, program)
    _block(scope, program.body)
    diagnosis.finish()
    return known


def check_declarations(program: ast.Program) -> None:
    diagnosis = Diagnosis()
    scope = Scope(symbols.collect_symbols(program, diagnosis), diagnosis)
    _declarations(scope, program)
    diagnosis.finish()


def _infer_kinds(
    program: ast.Program, known: Mapping[str, Symbol], real_outputs: bool = False
) -> None:
    """Set the kinds of the local variables; those of inputs and outputs are their domains'.

    Args:
        real_outputs: Whether outputs that may be any real number are like local variables.
    """
    waiting = [each for each in statements_of(program.body) if isinstance(each, ast.Assign)]
    readers: dict[str, list[ast.Assign]] = defaultdict(list)
    for statement in waiting:
        for node in nodes_in(statement.value):
            if isinstance(node, ast.Name | ast.Index):
                readers[node.name].append(statement)
    while waiting:
        grown = set[str]()
        for statement in waiting:
            kind = expression_checker.kind_of(statement.value, known)
            for symbol in (known[target.name] for target in statement.targets):
                local = symbol.role is Role.LOCAL or (real_outputs and symbol.is_real_output)
                together = symbols.settled(symbol.kind | kind)
                if local and together != symbol.kind:
                    symbol.kind = together
                    grown.add(symbol.name)
        waiting = list({id(each): each for name in grown for each in readers[name]}.values())


_FINITE = (Role.OUTPUT, Role.STATE)

# --- declarations -------------------------------------------------------------------------


def _declarations(scope: Scope, program: ast.Program) -> None:
    outputs = False
    adjacency: ast.Declaration | None = None
    for declaration in program.declarations:
        match declaration:
            case ast.Parameter(_, default):
                if default is not None:
                    expression_checker.check_number(scope, default, static=True)
            case ast.Variables():
                outputs = outputs or not isinstance(declaration, ast.Input | ast.State)
                for variable in declaration.variables:
                    if variable.size is not None:
                        expression_checker.check_number(scope, variable.size, static=True)
                for element in declaration.domain:
                    _element(scope, element)
                if isinstance(declaration, ast.State):
                    _element(scope, declaration.initial)
            case ast.AdjacentRule() | ast.AdjacentWhere() | ast.AdjacentPairs():
                if adjacency is not None:
                    message = "adjacency is declared twice"
                    hint = "put all pairs into one declaration"
                    scope.report(message, declaration.span, hint, "name error")
                adjacency = declaration
                _adjacency(scope, declaration)
            case _:
                assert_never(declaration)
    if not outputs:
        where = program.declarations[-1] if program.declarations else program
        hint = "declare what the mechanism publishes, e.g. 'output out in {0, 1}'"
        scope.report("no output is declared", where.span, hint, "name error")


def _element(scope: Scope, element: ast.Element) -> None:
    if isinstance(element, ast.Integers):
        if not scope.in_service:
            hint = "list the values, e.g. '-5..5', and clamp integer noise to them"
            scope.report("'int' is the domain of state cells of services only", element.span, hint)
    elif isinstance(element, ast.Reals):
        if element.bounds is not None:
            _element(scope, element.bounds)
    elif isinstance(element, ast.Range):
        expression_checker.check_number(scope, element.first, static=True)
        expression_checker.check_number(scope, element.last, static=True)
    elif isinstance(element, ast.Name):
        if element.name == symbols.EPSILON:
            expression_checker.check_expression(scope, element)
    elif not isinstance(element, ast.Truth):
        expression_checker.check_number(scope, element, static=True)


def _condition(scope: Scope, declaration: ast.AdjacentWhere) -> None:
    """Check a condition on pairs, in the inputs and what stands for the second ones."""
    _adjacency(scope, declaration.rule)
    turns = declaration.turns
    scope = replace(scope, symbols={**scope.symbols, **adjacency_where.primed(scope.symbols)})
    if turns is not None:
        scope = expression_checker.with_turns(scope, turns) or scope
    for each in nodes_in(declaration.condition):
        if isinstance(each, ast.Name | ast.Index):
            found = scope.symbols.get(each.name)
            if found is not None and found.role in (Role.OUTPUT, Role.LOCAL, Role.STATE):
                hint = "a condition on pairs is about inputs: q of the first, q' of the second"
                scope.report(f"'{each.name}' is no input", each.span, hint)
    for call in computed_in(declaration.condition):
        if not isinstance(call, ast.Call) or call.name not in adjacency_where.FUNCTIONS_OF_PAIRS:
            scope.report(adjacency_where.PARTS, call.span, adjacency_where.PARTS_HINT)
    expression_checker.check_condition(scope, declaration.condition)


def _adjacency(
    scope: Scope, declaration: ast.AdjacentRule | ast.AdjacentWhere | ast.AdjacentPairs
) -> None:
    if isinstance(declaration, ast.AdjacentWhere):
        _condition(scope, declaration)
        return
    if isinstance(declaration, ast.AdjacentPairs):
        for pair in declaration.pairs:
            for value in (*pair.left, *pair.right):
                kind = expression_checker.check_expression(scope, value)
                if kind & Kind.RANDOM or not expression_checker.is_static(scope, value):
                    scope.report("pairs are made of constant values", value.span)
        return
    rules = ("all", *(norm.value for norm in Norm), EUCLIDEAN)
    if declaration.rule not in rules:
        allowed = f"allowed are {', '.join(rules)} and {{ … }}; l0 counts the cells that differ"
        hint = did_you_mean(declaration.rule, rules, allowed)
        message = f"unknown adjacency '{declaration.rule}'"
        scope.report(message, declaration.span, hint, "name error")
    elif (declaration.radius is None) != (declaration.rule == "all"):
        message = "takes no radius" if declaration.rule == "all" else "needs a radius"
        hint = "" if declaration.rule == "all" else f"e.g. 'adjacent {declaration.rule} 1'"
        scope.report(f"'{declaration.rule}' {message}", declaration.span, hint, "syntax error")
    elif declaration.radius is not None:
        expression_checker.check_number(scope, declaration.radius, static=True)


# --- streams -------------------------------------------------------------------------------------

_LAST = "streams are read in 'forever do … end', the last statement of a program"


def _streams(scope: Scope, program: ast.Program) -> None:
    *before, last = program.body or (None,)
    for loop in statements_of(program.body):
        if isinstance(loop, ast.Forever) and loop is not last:
            where = "is the last statement" if loop in before else "stands in no other block"
            scope.report(f"'forever' {where}", loop.span, _LAST)
    if not isinstance(last, ast.Forever):
        place = None if last is None else last.span
        first = program.declarations[0] if program.declarations else program
        scope.report("a program with a stream needs a 'forever'", place or first.span, _LAST)
    listed = False
    for declaration in program.declarations:
        match declaration:
            case ast.Input() | ast.Output():
                word = "input" if isinstance(declaration, ast.Input) else "output"
                instead = "stream q in real" if word == "input" else "publishes {bot, top}"
                scope.report(
                    f"a program with a stream has no '{word}'",
                    declaration.span,
                    f"declare '{instead}'",
                )
            case ast.Stream(domain=domain):
                if not isinstance(domain[0], ast.Reals):
                    hint = f"write 'stream {declaration.variables[0].name} in real'"
                    scope.report("a stream is one of real numbers", declaration.span, hint)
            case ast.Publishes():
                if listed:
                    message = "what is published is declared twice"
                    scope.report(message, declaration.span, "put it into one list")
                listed = True


def _reads(scope: Scope, program: ast.Program) -> None:
    streams = [variable.name for variable, _ in declared_in(program, ast.Stream)]
    for statement in statements_of(program.body):
        if isinstance(statement, ast.Read) and statement.name not in streams:
            name = statement.name
            hint = did_you_mean(name, streams, f"declare 'stream {name} in real'")
            scope.report(f"'{name}' is no stream", statement.span, hint)


# --- statements ---------------------------------------------------------------------------


def _block(scope: Scope, block: ast.Block) -> None:
    for statement in block:
        match statement:
            case ast.Assign():
                _assign(scope, statement)
            case ast.If(branches, otherwise):
                for branch in branches:
                    expression_checker.check_condition(scope, branch.condition)
                    _block(scope, branch.body)
                _block(scope, otherwise)
            case ast.For():
                _loop(scope, statement)
            case ast.While(condition, body):
                # It may not draw samples nor assign to them (DiPC paper, section 2.3).
                for call in computed_in(condition):
                    message = "the condition of a 'while' is evaluated again on every turn"
                    hint = "assign this to a variable, before the loop and at the end of its body"
                    scope.report(message, call.span, hint)
                inside = replace(scope, is_repeated=True)
                expression_checker.check_condition(inside, condition)
                _block(inside, body)
            case ast.Forever(body):
                _block(scope, body)
            case ast.Publish(value):
                expression_checker.check_expression(scope, value)
                name = value.name if isinstance(value, ast.Name | ast.Index) else ""
                if name in scope.symbols and scope.symbols[name].role is Role.INPUT:
                    message = f"the input '{name}' is published without noise"
                    scope.report(message, value.span, f"write 'publish Lap({name}, 1 / eps)'")
            case ast.Read() | ast.Skip() | ast.Exit():
                pass
            case _:
                assert_never(statement)


def _loop(scope: Scope, loop: ast.For) -> None:
    expression_checker.check_number(scope, loop.first, static=True)
    expression_checker.check_number(scope, loop.last, static=True)
    if loop.variable == symbols.EPSILON or loop.variable in scope.symbols:
        role = "the privacy parameter"
        if loop.variable in scope.symbols:
            role = f"used as {scope.symbols[loop.variable].role.value} as well"
        hint = "choose another name for the loop variable"
        scope.report(f"loop variable '{loop.variable}' is {role}", loop.span, hint, "name error")
        return  # its body is checked as if it named the other thing: false alarms
    _block(symbols.with_number(scope, loop.variable, loop.span), loop.body)


def _assign(scope: Scope, statement: ast.Assign) -> None:
    kind = expression_checker.check_expression(scope, statement.value)
    for target in statement.targets:
        symbol = scope.symbols[target.name]
        if symbol.role in (Role.INPUT, Role.PARAMETER, Role.LOOP, Role.VALUE):
            message = f"cannot assign to {symbol.role.value} '{target.name}'"
            hint = "copy it to a variable of another name"
            scope.report(message, target.span, hint, "name error")
            continue
        expression_checker.check_shape(scope, target, symbol)
        _fits(scope, target, symbol, statement.value, kind)


def _fits(
    scope: Scope, target: ast.Target, symbol: Symbol, value: ast.Expression, kind: Kind
) -> None:
    name = f"'{target.name}'"
    if symbol.is_real_output and not scope.in_service and kind & (Kind.NAMED | Kind.INTEGER):
        hint = "assign a number"
        if Kind.INTEGER in kind:
            hint = "declare a finite domain, and 'clamp' the integer to it"
        scope.report(
            f"output {name} is real, but a {kind.describe()} is assigned", value.span, hint
        )
    elif symbol.role in _FINITE and kind & Kind.RANDOM and not symbol.unbounded:
        message = f"{symbol.role.value} {name} is finite, but a {kind.describe()} is assigned"
        scope.report(message, value.span, _finite_hint(value, kind))
    elif symbol.role in _FINITE and symbol.kind == Kind.TRUTH and kind & ~Kind.TRUTH:
        message = f"{symbol.role.value} {name} is Boolean, but a {kind.describe()} is assigned"
        scope.report(message, value.span, "assign a condition, e.g. a comparison")
    elif symbol.kind & Kind.RANDOM and kind & Kind.NAMED:
        hint = "use a number, or another variable"
        scope.report(f"{name} holds reals, but a named value is assigned", value.span, hint)
    elif Kind.RANDOM in symbol.kind and kind & Kind.RANDOM:
        hint = "use a variable for each; they cannot be combined"
        scope.report(f"{name} holds both reals and random integers", value.span, hint)
    elif scope.is_repeated and symbol.kind & Kind.RANDOM and not isinstance(value, ast.Call):
        scope.report(
            f"{name} is random and assigned inside 'while'",
            target.span,
            expression_checker.REPEATED,
        )


def _finite_hint(value: ast.Expression, kind: Kind) -> str:
    """Say how a random number becomes a finite one."""
    word = symbols.CLAMP
    if isinstance(value, ast.Call) and value.name == word:
        return f"round it: '{word}(round(x), -5, 5)', or cut the reals into ranges with 'disc'"
    if Kind.INTEGER in kind:
        return f"'{word}' it to the domain, or compare it and assign a value in each branch"
    return "compare it and assign a value of the domain in each branch"


# --- what is declared and not used ---------------------------------------------------------------

_KIND = "warning"


def unused(program: ast.Program) -> tuple[Diagnostic, ...]:
    """Return warnings, in source order, of parameters and inputs that occur nowhere, and of values
    of outputs that no assignment can give, where all assigned values are constants."""
    if program.handlers:  # arguments and states are used in ways of their own
        return ()
    given = [
        (target, each.value)
        for each in statements_of(program.body)
        if isinstance(each, ast.Assign)
        for target in each.targets
    ]
    others = (s for s in statements_of(program.body) if not isinstance(s, ast.Assign))
    read: list[object] = [*program.declarations, *map(operands_of, others)]
    for target, value in given:
        read += [value, *([target.index] if isinstance(target, ast.Index) else [])]
    nodes = nodes_in(tuple(read))
    names = {node.name for node in nodes if isinstance(node, ast.Name | ast.Index)}
    parameters = {d.name for d in program.declarations if isinstance(d, ast.Parameter)}
    found: list[Diagnostic] = []
    for declaration in program.declarations:
        match declaration:
            case ast.Parameter(name) if name not in names:
                message = f"the parameter '{name}' is not used"
                found.append(Diagnostic(_KIND, message, declaration.span))
            case ast.Input(variables):
                for each in variables:
                    if each.name not in names:
                        message = f"the input '{each.name}' is not used"
                        found.append(Diagnostic(_KIND, message, each.span))
            case ast.Output(variables, domain):
                for each in variables:
                    values = [value for target, value in given if target.name == each.name]
                    known = all(_is_constant(value, parameters) for value in (*domain, *values))
                    # What is in no domain is a local variable, or a mistake that others find.
                    if values and known and all(value in domain for value in values):
                        for one in domain:
                            if one not in values and _is_constant(one, parameters):
                                shown = printer.print_expression(one)
                                message = f"the output '{each.name}' is never {shown}"
                                found.append(Diagnostic(_KIND, message, each.span))
    return tuple(found)


def _is_constant(node: object, parameters: set[str]) -> TypeGuard[ast.Expression]:
    match node:
        case ast.Number() | ast.Truth() | ast.Negative(ast.Number()):
            return True
        case ast.Name(name):
            return name not in parameters
        case _:
            return False
