"""Names and kinds: everything that can be said about a program before its parameters are known.

Reals are affine combinations of samples; finite values are numbers and named values. A finite
number may stand where a real is expected, never the other way round.
"""

from __future__ import annotations

from typing import assert_never

from dipapprox.language import ast
from dipapprox.language.diagnosis import Diagnosis, did_you_mean
from dipapprox.language.kinds import infer_kinds, kind_of
from dipapprox.language.symbols import (
    DISTRIBUTIONS,
    EPSILON,
    SELECTIONS,
    Kind,
    Role,
    Symbol,
    collect_symbols,
)
from dipapprox.source import Span


def check(program: ast.Program) -> dict[str, Symbol]:
    """Check names and kinds.

    Returns:
        The symbols, with the kinds of the variables.

    Raises:
        SourceError: With everything found, in source order.
    """
    checker = _Checker(program)
    checker.check_declarations(program)
    checker.check_block(program.body)
    checker.diagnosis.finish()
    return checker.symbols


class _Checker:
    def __init__(self, program: ast.Program) -> None:
        self.diagnosis = Diagnosis()
        self.symbols = collect_symbols(program, self.diagnosis)
        infer_kinds(program, self.symbols)

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
                        self._number(default, static=True)
                case ast.Input() | ast.Output():
                    outputs = outputs or isinstance(declaration, ast.Output)
                    for variable in declaration.variables:
                        if variable.size is not None:
                            self._number(variable.size, static=True)
                    for element in declaration.domain:
                        self._element(element)
                case ast.AdjacentRule() | ast.AdjacentPairs():
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

    def _element(self, element: ast.Expression | ast.Range) -> None:
        if isinstance(element, ast.Range):
            self._number(element.first, static=True)
            self._number(element.last, static=True)
        elif not isinstance(element, ast.Name):
            self._number(element, static=True)
        elif element.name == EPSILON:
            self._expression(element)

    def _adjacency(self, declaration: ast.AdjacentRule | ast.AdjacentPairs) -> None:
        if isinstance(declaration, ast.AdjacentPairs):
            for pair in declaration.pairs:
                for value in (*pair.left, *pair.right):
                    kind = self._expression(value)
                    if kind & ~(Kind.NUMBER | Kind.NAMED) or not self._is_static(value):
                        self._error("type error", "rows are made of constant values", value.span)
            return
        rules = ("all", "linf", "l1", "l0")
        if declaration.rule not in rules:
            self._error(
                "name error", f"unknown adjacency '{declaration.rule}'", declaration.span,
                did_you_mean(declaration.rule, rules, "allowed are all, linf, l1, l0 and { … }"),
            )  # fmt: skip
        elif (declaration.radius is None) != (declaration.rule == "all"):
            message = "takes no radius" if declaration.rule == "all" else "needs a radius"
            hint = "" if declaration.rule == "all" else f"e.g. 'adjacent {declaration.rule} 1'"
            self._error("syntax error", f"'{declaration.rule}' {message}", declaration.span, hint)
        elif declaration.radius is not None:
            self._number(declaration.radius, static=True)

    # --- statements ---------------------------------------------------------------------------

    def check_block(self, block: ast.Block) -> None:
        for statement in block:
            match statement:
                case ast.Assign():
                    self._assign(statement)
                case ast.If(branches, otherwise):
                    for branch in branches:
                        self._condition(branch.condition)
                        self.check_block(branch.body)
                    self.check_block(otherwise)
                case ast.For():
                    self._loop(statement)
                case ast.Skip() | ast.Exit():
                    pass
                case _:
                    assert_never(statement)

    def _loop(self, loop: ast.For) -> None:
        self._number(loop.first, static=True)
        self._number(loop.last, static=True)
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

    def _assign(self, statement: ast.Assign) -> None:
        kind = self._expression(statement.value, wanted=True)
        for target in statement.targets:
            symbol = self.symbols[target.name]
            if symbol.role in (Role.INPUT, Role.PARAMETER, Role.LOOP, Role.VALUE):
                self._error(
                    "name error", f"cannot assign to {symbol.role.value} '{target.name}'",
                    target.span, "copy it to a variable of another name",
                )  # fmt: skip
                continue
            self._shape(target, symbol)
            if symbol.role is Role.OUTPUT and kind & Kind.REAL:
                self._error(
                    "type error",
                    f"output '{target.name}' is finite, but a real is assigned",
                    statement.value.span or statement.span,
                    "compare the real and assign a value of the domain in each branch",
                )
            elif Kind.REAL in symbol.kind and kind & Kind.NAMED:
                self._error(
                    "type error", f"'{target.name}' holds reals, but a named value is assigned",
                    statement.value.span, "use a number, or another variable",
                )  # fmt: skip

    def _shape(self, place: ast.Target, symbol: Symbol) -> None:
        """Check that an array is indexed and a scalar is not."""
        if isinstance(place, ast.Index):
            self._number(place.index, where="an index")
            if not symbol.is_array:
                self._error(
                    "type error", f"'{place.name}' is no array", place.span,
                    f"write '{place.name}', or use another name for the array",
                )  # fmt: skip
        elif symbol.is_array:
            self._error(
                "type error", f"'{place.name}' is an array", place.span,
                f"write '{place.name}[i]' for one of its elements",
            )  # fmt: skip

    # --- expressions --------------------------------------------------------------------------

    def _number(self, node: ast.Expression, where: str = "a number", static: bool = False) -> None:
        """Check an expression that must be a finite number."""
        kind = self._expression(node)
        if kind & ~Kind.NUMBER:
            hint = "reals cannot be used here" if kind & Kind.REAL else ""
            self._error("type error", f"{where} is needed, but this is a {kind.describe()}",
                        node.span, hint)  # fmt: skip
        elif static and not self._is_static(node):
            self._error(
                "type error", "a constant is needed here", node.span,
                "only numbers, parameters and loop variables are constant",
            )  # fmt: skip

    def _is_static(self, node: ast.Expression) -> bool:
        match node:
            case ast.Number() | ast.Truth():
                return True
            case ast.Name(name):
                symbol = self.symbols.get(name)
                return symbol is None or symbol.role in (Role.PARAMETER, Role.LOOP, Role.VALUE)
            case ast.Negative(operand) | ast.Not(operand):
                return self._is_static(operand)
            case ast.Index() | ast.Call():
                return False
            case _:
                return all(self._is_static(operand) for operand in node.operands)

    def _operand(self, node: ast.Expression, purpose: str) -> Kind:
        """Check an operand of arithmetic or of an ordered comparison: a number or a real."""
        kind = self._expression(node)
        if kind & (Kind.NAMED | Kind.TRUTH):
            hint = "named values can only be compared with = and !="
            if kind & Kind.TRUTH:
                hint = "conditions are combined with 'and', 'or', 'not'"
            self._error(
                "type error", f"{purpose} needs numbers or reals, but this is a {kind.describe()}",
                node.span, hint,
            )  # fmt: skip
        return kind

    def _expression(self, node: ast.Expression, wanted: bool = False) -> Kind:
        """Check an expression of any kind and return its kind.

        Args:
            node: The expression.
            wanted: Whether it is the whole right-hand side of an assignment.
        """
        match node:
            case ast.Number():
                pass
            case ast.Name(name) | ast.Index(name):
                self._name(node, name)
            case ast.Call():
                self._call(node)
            case ast.Negative(operand):
                self._operand(operand, "'-'")
            case ast.Sum(operands, operators):
                for operand in operands:
                    self._operand(operand, f"'{operators[0]}'")
            case ast.Product():
                self._product(node)
            case _:
                self._condition(node)
        return kind_of(node, self.symbols)

    def _name(self, node: ast.Name | ast.Index, name: str) -> None:
        symbol = self.symbols.get(name)
        if symbol is not None:
            self._shape(node, symbol)
        elif name == EPSILON:
            self._error(
                "type error", "'eps' can only be used in the scale of a distribution", node.span,
                "e.g. 'Gauss(q, 2/eps)'; use a parameter for other constants",
            )  # fmt: skip
        else:
            known = [*self.symbols, EPSILON]
            hint = did_you_mean(name, known, "variables are assigned with 'name <- value'")
            self._error("name error", f"unknown name '{name}'", node.span, hint)

    def _product(self, node: ast.Product) -> None:
        reals = 0
        for position, operand in enumerate(node.operands):
            operator = node.operators[max(0, position - 1)]
            kind = self._operand(operand, f"'{operator}'")
            if position and operator == "/" and not self._is_static(operand):
                self._error(
                    "type error", "division by something that is not constant", operand.span,
                    "divide by numbers, parameters and loop variables only",
                )  # fmt: skip
            elif kind & Kind.REAL:
                reals += 1
        if reals > 1:
            self._error(
                "type error", "product of two reals", node.span,
                "real expressions must be linear: a constant times a real",
            )  # fmt: skip

    def _call(self, node: ast.Call) -> None:
        if node.name in DISTRIBUTIONS:
            if len(node.arguments) != 2:
                self._error(
                    "type error", f"'{node.name}' takes 2 arguments, got {len(node.arguments)}",
                    node.span, f"write '{node.name}(mean, scale)', e.g. '{node.name}(q, 2/eps)'",
                )  # fmt: skip
                return
            mean, scale = node.arguments
            kind = self._expression(mean)
            if kind & ~Kind.NUMBER:
                self._error(
                    "type error", f"the mean must be a finite number, but this is a "
                    f"{kind.describe()}", mean.span,
                    "draw with mean 0 and add the real" if kind & Kind.REAL else "",
                )  # fmt: skip
            self._scale(scale)
        elif node.name in SELECTIONS:
            whole_array = len(node.arguments) == 1 and isinstance(node.arguments[0], ast.Name)
            argument = node.arguments[0]
            if whole_array and isinstance(argument, ast.Name):
                symbol = self.symbols.get(argument.name)
                if symbol is not None and symbol.is_array:
                    if symbol.kind & (Kind.NAMED | Kind.TRUTH):
                        self._error("type error", f"'{node.name}' needs numbers or reals",
                                    argument.span)  # fmt: skip
                    return
            for value in node.arguments:
                self._operand(value, f"'{node.name}'")
        else:
            known = (*DISTRIBUTIONS, *SELECTIONS)
            hint = did_you_mean(node.name, known, f"functions are {', '.join(known)}")
            symbol = self.symbols.get(node.name)
            if symbol is not None and symbol.is_array:
                hint = f"array elements are written '{node.name}[i]'"
            self._error("name error", f"unknown function '{node.name}'", node.span, hint)

    def _scale(self, node: ast.Expression) -> None:
        """Check the names of a scale; its form is checked when the parameters are known."""
        match node:
            case ast.Name(name) if name == EPSILON:
                pass
            case ast.Sum(operands) | ast.Product(operands):
                for operand in operands:
                    self._scale(operand)
            case ast.Negative(operand):
                self._scale(operand)
            case _:
                self._number(node, where="a scale", static=True)

    # --- conditions ---------------------------------------------------------------------------

    def _condition(self, node: ast.Expression) -> None:
        match node:
            case ast.Truth():
                pass
            case ast.Not(operand):
                self._condition(operand)
            case ast.And(operands) | ast.Or(operands):
                for operand in operands:
                    self._condition(operand)
            case ast.Comparison():
                self._comparison(node)
            case _:
                kind = self._expression(node)
                if kind & ~Kind.TRUTH:
                    self._error(
                        "type error", f"a condition is needed, but this is a {kind.describe()}",
                        node.span, "compare it with something, e.g. 'x >= 1'",
                    )  # fmt: skip

    def _comparison(self, node: ast.Comparison) -> None:
        ordered = [operator not in ("=", "!=") for operator in node.operators]
        kinds = []
        for position, operand in enumerate(node.operands):
            if any(ordered[max(0, position - 1) : position + 1]):
                operator = node.operators[max(0, position - 1)]
                kinds.append(self._operand(operand, f"'{operator}'"))
                continue
            kinds.append(self._expression(operand))
            if kinds[-1] & Kind.TRUTH:
                self._error(
                    "type error", "conditions cannot be compared", operand.span,
                    "write 'b' or 'not b', and combine conditions with 'and', 'or'",
                )  # fmt: skip
        for left, right in zip(kinds, kinds[1:], strict=False):
            if (left | right) & Kind.REAL and (left | right) & Kind.NAMED:
                self._error("type error", "a real is compared with a named value", node.span)
