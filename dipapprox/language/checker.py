"""Names and kinds: everything that can be said about a program before its parameters are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dipapprox.deferred import Deferred
from dipapprox.errors import Diagnosis, did_you_mean
from dipapprox.language import ast
from dipapprox.language.adjacency_where import primed
from dipapprox.language.call_checker import REPEATED
from dipapprox.language.core import Norm
from dipapprox.language.expression_checker import ExpressionChecker
from dipapprox.language.symbols import (
    CLAMP,
    EPSILON,
    Kind,
    Role,
    Symbol,
    collect_symbols,
    infer_kinds,
)
from dipapprox.language.traversal import computed_in, nodes_in, statements_of
from dipapprox.source import Span

if TYPE_CHECKING:
    from dipapprox.language import stream_checker
else:
    stream_checker = Deferred("dipapprox.language.stream_checker")


def check(
    program: ast.Program, in_service: bool = False, in_rounds: bool = False
) -> dict[str, Symbol]:
    """Check names and kinds.

    Args:
        program: As parsed.
        in_service: Whether it is one handler of a service, which may have cells without bounds.
        in_rounds: Whether it has rounds that `any_number` made of a loop: these assign outputs.

    Returns:
        The symbols, with the kinds of the variables.

    Raises:
        SourceError: With everything found, in source order.
    """
    checker = _Checker(program, in_service)
    checker.check_declarations(program)
    if not in_service and not in_rounds:
        if _has_streams(program):
            stream_checker.check_streams(program, checker.diagnosis)
        else:
            checker.check_outputs()
    checker.check_block(program.body)
    checker.diagnosis.finish()
    return checker.symbols


def _has_streams(program: ast.Program) -> bool:
    """Whether a program has a stream, publishes something or goes on for ever."""
    return any(
        isinstance(each, ast.Stream | ast.Publishes) for each in program.declarations
    ) or any(
        isinstance(each, ast.Read | ast.Publish | ast.Forever)
        for each in statements_of(program.body)
    )


_FINITE = (Role.OUTPUT, Role.STATE)


class _Checker:
    def __init__(self, program: ast.Program, in_service: bool) -> None:
        self.program = program
        self.in_service = in_service
        self.diagnosis = Diagnosis()
        self.symbols = collect_symbols(program, self.diagnosis)
        infer_kinds(program, self.symbols, real_outputs=not in_service)
        self.expressions = ExpressionChecker(self.symbols, self.diagnosis)

    def _error(self, kind: str, message: str, span: Span | None, hint: str = "") -> None:
        self.diagnosis.report(kind, message, span, hint)

    # --- declarations -------------------------------------------------------------------------

    def check_declarations(self, program: ast.Program) -> None:
        outputs = False
        adjacency: ast.Declaration | None = None
        for declaration in program.declarations:
            match declaration:
                case ast.Parameter(_, default):
                    if default is not None:
                        self.expressions.number(default, static=True)
                case ast.Input() | ast.Output() | ast.State():
                    outputs = outputs or isinstance(declaration, ast.Output)
                    for variable in declaration.variables:
                        if variable.size is not None:
                            self.expressions.number(variable.size, static=True)
                    for element in declaration.domain:
                        self._element(element)
                    if isinstance(declaration, ast.State):
                        self._element(declaration.initial)
                case ast.Stream(domain=domain) | ast.Publishes(domain=domain):
                    outputs = True
                    for element in domain:
                        self._element(element)
                case ast.AdjacentRule() | ast.AdjacentWhere() | ast.AdjacentPairs():
                    if adjacency is not None:
                        self._error(
                            "name error", "adjacency is declared twice", declaration.span,
                            "put all pairs into one declaration",
                        )  # fmt: skip
                    adjacency = declaration
                    self._adjacency(declaration)
                case _:
                    assert_never(declaration)
        if not outputs:
            where = program.declarations[-1] if program.declarations else program
            self._error(
                "name error", "no output is declared", where.span,
                "declare what the mechanism publishes, e.g. 'output out in {0, 1}'",
            )  # fmt: skip

    def check_outputs(self) -> None:
        for declaration in self.program.declarations:
            match declaration:
                case ast.Output(domain=(ast.Reals(bounds),)) if bounds is not None:
                    self._error(
                        "type error", "a real output has no bounds", bounds.span,
                        "write 'real': noise goes beyond all bounds",
                    )  # fmt: skip
                case _:
                    pass

    def _element(self, element: ast.Element) -> None:
        if isinstance(element, ast.Integers):
            if not self.in_service:
                self._error(
                    "type error", "'int' is the domain of state cells of services only",
                    element.span, "list the values, e.g. '-5..5', or write 'real'",
                )  # fmt: skip
        elif isinstance(element, ast.Reals):
            if element.bounds is not None:
                self._element(element.bounds)
        elif isinstance(element, ast.Range):
            self.expressions.number(element.first, static=True)
            self.expressions.number(element.last, static=True)
        elif isinstance(element, ast.Name):
            if element.name == EPSILON:
                self.expressions.expression(element)
        elif not isinstance(element, ast.Truth):
            self.expressions.number(element, static=True)

    def _condition(self, declaration: ast.AdjacentWhere) -> None:
        """Check a condition on pairs, in the inputs and what stands for the second ones."""
        self._adjacency(declaration.rule)
        before, turns = dict(self.symbols), declaration.turns
        self.symbols.update(primed(self.symbols))
        if turns is not None:
            self.expressions.number(turns.first, "an end of a range", static=True)
            self.expressions.number(turns.last, "an end of a range", static=True)
            if turns.variable in self.symbols or turns.variable == EPSILON:
                self._error(
                    "name error", f"'{turns.variable}' is the name of something else", turns.span,
                    "choose another name",
                )  # fmt: skip
            else:
                loop = Symbol(turns.variable, Role.LOOP, False, turns.span, Kind.NUMBER)
                self.symbols[turns.variable] = loop
        for each in nodes_in(declaration.condition):
            if isinstance(each, ast.Name | ast.Index):
                found = self.symbols.get(each.name)
                if found is not None and found.role in (Role.OUTPUT, Role.LOCAL, Role.STATE):
                    self._error(
                        "type error", f"'{each.name}' is no input", each.span,
                        "a condition on pairs is about inputs: q of the first, q' of the second",
                    )  # fmt: skip
        for call in computed_in(declaration.condition):
            self._error(
                "type error", "a condition on pairs is made of inputs and numbers", call.span
            )
        self.expressions.condition(declaration.condition)
        self.symbols.clear()
        self.symbols.update(before)

    def _adjacency(
        self, declaration: ast.AdjacentRule | ast.AdjacentWhere | ast.AdjacentPairs
    ) -> None:
        if isinstance(declaration, ast.AdjacentWhere):
            self._condition(declaration)
            return
        if isinstance(declaration, ast.AdjacentPairs):
            for pair in declaration.pairs:
                for value in (*pair.left, *pair.right):
                    kind = self.expressions.expression(value)
                    if kind & Kind.RANDOM or not self.expressions.is_static(value):
                        self._error("type error", "pairs are made of constant values", value.span)
            return
        rules = ("all", *(norm.value for norm in Norm))
        if declaration.rule not in rules:
            allowed = f"allowed are {', '.join(rules)} and {{ … }}"
            self._error(
                "name error", f"unknown adjacency '{declaration.rule}'", declaration.span,
                did_you_mean(declaration.rule, rules, allowed),
            )  # fmt: skip
        elif (declaration.radius is None) != (declaration.rule == "all"):
            message = "takes no radius" if declaration.rule == "all" else "needs a radius"
            hint = "" if declaration.rule == "all" else f"e.g. 'adjacent {declaration.rule} 1'"
            self._error("syntax error", f"'{declaration.rule}' {message}", declaration.span, hint)
        elif declaration.radius is not None:
            self.expressions.number(declaration.radius, static=True)

    # --- statements ---------------------------------------------------------------------------

    def check_block(self, block: ast.Block) -> None:
        for statement in block:
            match statement:
                case ast.Assign():
                    self._assign(statement)
                case ast.If(branches, otherwise):
                    for branch in branches:
                        self.expressions.condition(branch.condition)
                        self.check_block(branch.body)
                    self.check_block(otherwise)
                case ast.For():
                    self._loop(statement)
                case ast.While():
                    self._while(statement)
                case ast.Forever(body):
                    self.check_block(body)
                case ast.Read() | ast.Publish():
                    stream_checker.check_statement(
                        statement, self.program, self.symbols, self.expressions, self.diagnosis
                    )
                case ast.Skip() | ast.Exit():
                    pass
                case _:
                    assert_never(statement)

    def _loop(self, loop: ast.For) -> None:
        self.expressions.number(loop.first, static=True)
        self.expressions.number(loop.last, static=True)
        if loop.variable == EPSILON or loop.variable in self.symbols:
            role = "the privacy parameter"
            if loop.variable in self.symbols:
                role = f"used as {self.symbols[loop.variable].role.value} as well"
            self._error(
                "name error", f"loop variable '{loop.variable}' is {role}", loop.span,
                "choose another name for the loop variable",
            )  # fmt: skip
            return  # its body is checked as if it named the other thing: false alarms
        self.symbols[loop.variable] = Symbol(
            loop.variable, Role.LOOP, False, loop.span, Kind.NUMBER
        )
        self.check_block(loop.body)
        del self.symbols[loop.variable]

    def _while(self, loop: ast.While) -> None:
        """Check a loop; it may not draw samples nor assign to them (DiPC paper, section 2.3)."""
        for call in computed_in(loop.condition):
            self._error(
                "type error", "the condition of a 'while' is evaluated again on every turn",
                call.span, "assign this to a variable, before the loop and at the end of its body",
            )  # fmt: skip
        outer, self.expressions.calls.repeated = self.expressions.calls.repeated, True
        self.expressions.condition(loop.condition)
        self.check_block(loop.body)
        self.expressions.calls.repeated = outer

    def _assign(self, statement: ast.Assign) -> None:
        kind = self.expressions.expression(statement.value, wanted=True)
        for target in statement.targets:
            symbol = self.symbols[target.name]
            if symbol.role in (Role.INPUT, Role.PARAMETER, Role.LOOP, Role.VALUE):
                self._error(
                    "name error", f"cannot assign to {symbol.role.value} '{target.name}'",
                    target.span, "copy it to a variable of another name",
                )  # fmt: skip
                continue
            self.expressions.shape(target, symbol)
            self._fits(target, symbol, statement.value, kind)

    def _fits(self, target: ast.Target, symbol: Symbol, value: ast.Expression, kind: Kind) -> None:
        """Check that a variable can hold a value."""
        name = f"'{target.name}'"
        if symbol.is_real_output and not self.in_service and kind & (Kind.NAMED | Kind.INTEGER):
            integer = Kind.INTEGER in kind
            self._error(
                "type error",
                f"output {name} is real, but a {kind.describe()} is assigned",
                value.span,
                "declare a finite domain, and 'clamp' the integer to it"
                if integer
                else "assign a number",
            )
        elif symbol.role in _FINITE and kind & Kind.RANDOM and not symbol.unbounded:
            self._error(
                "type error",
                f"{symbol.role.value} {name} is finite, but a {kind.describe()} is assigned",
                value.span, _finite_hint(value, kind),
            )  # fmt: skip
        elif symbol.role in _FINITE and symbol.kind == Kind.TRUTH and kind & ~Kind.TRUTH:
            self._error(
                "type error",
                f"{symbol.role.value} {name} is Boolean, but a {kind.describe()} is assigned",
                value.span, "assign a condition, e.g. a comparison",
            )  # fmt: skip
        elif symbol.kind & Kind.RANDOM and kind & Kind.NAMED:
            self._error(
                "type error", f"{name} holds reals, but a named value is assigned", value.span,
                "use a number, or another variable",
            )  # fmt: skip
        elif Kind.RANDOM in symbol.kind and kind & Kind.RANDOM:
            self._error(
                "type error", f"{name} holds both reals and random integers", value.span,
                "use a variable for each; they cannot be combined",
            )  # fmt: skip
        elif (
            self.expressions.calls.repeated
            and symbol.kind & Kind.RANDOM
            and not isinstance(value, ast.Call)
        ):
            self._error(
                "type error", f"{name} is random and assigned inside 'while'", target.span,
                REPEATED,
            )  # fmt: skip


def _finite_hint(value: ast.Expression, kind: Kind) -> str:
    """Say how a random number becomes a finite one."""
    if isinstance(value, ast.Call) and value.name == CLAMP:
        return f"round it: '{CLAMP}(round(x), -5, 5)', or cut the reals into ranges with 'disc'"
    if Kind.INTEGER in kind:
        return f"'{CLAMP}' it to the domain, or compare it and assign a value in each branch"
    return "compare it and assign a value of the domain in each branch"
