"""Surface programs to core programs: parameters bound, loops unrolled, sugar expanded.

The expansion of argmax is the if-chain of the DiPApprox benchmark programs (spec section 7.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.distributions import Family
from dipapprox.language import ast, core
from dipapprox.language.checker import check
from dipapprox.language.constants import Wrong, evaluate_integer, evaluate_scale
from dipapprox.language.declarations import (
    Declarations,
    describe_domain,
    elaborate_declarations,
)
from dipapprox.language.diagnosis import Diagnosis
from dipapprox.language.expressions import FALSE, TRUE, Expressions
from dipapprox.language.symbols import DISTRIBUTIONS, Role, Symbol

MOST_STATEMENTS = 100_000

Place = core.Variable | core.Element


def elaborate(
    program: ast.Program, parameters: Mapping[str, Fraction], program_name: str
) -> core.Program:
    """Check and elaborate a program.

    Args:
        program: As parsed.
        parameters: Values that replace the defaults of the program's parameters.
        program_name: The name of the result.

    Raises:
        UserError: If `parameters` names one that the program does not have.
        SourceError: With everything the failing phase found, in source order.
    """
    symbols = check(program)
    declarations = elaborate_declarations(program, parameters)
    sizes: dict[str, int] = {}
    if any(s.role is Role.LOCAL and s.is_array for s in symbols.values()):
        # The size of a local array is its largest constant index; a dry run finds it.
        sizes = _Unrolling(symbols, declarations, sizes, dry=True).measure(program.body)
    unrolling = _Unrolling(symbols, declarations, sizes, dry=False)
    body = unrolling.run(program.body)
    return core.Program(
        name=program_name,
        parameters=dict(declarations.parameters),
        inputs=tuple(cell for v in declarations.inputs for cell in v.cells()),
        outputs=tuple(cell for v in declarations.outputs for cell in v.cells()),
        body=body,
        adjacency=declarations.adjacency,
    )


class _Unrolling:
    """One run over the statements; `block` is where new statements go."""

    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        declarations: Declarations,
        local_sizes: Mapping[str, int],
        dry: bool,
    ) -> None:
        declared = (*declarations.inputs, *declarations.outputs)
        sizes = {v.name: v.size for v in declared if v.size is not None}
        self.constants = dict(declarations.parameters)
        self.expressions = Expressions(
            symbols, self.constants, {**sizes, **local_sizes}, self._take
        )
        self.domains = {v.name: dict.fromkeys(v.domain) for v in declarations.outputs}
        self.diagnosis = Diagnosis()
        self.block: list[core.Statement] = []
        self.dry = dry
        self.largest: dict[str, int] = {}
        self.count = 0
        self.draws = 0
        self.fresh = 0

    def run(self, block: ast.Block) -> core.Block:
        """Return the core statements.

        Raises:
            SourceError: With everything found.
        """
        self._statements(block)
        self.diagnosis.finish()
        return tuple(self.block)

    def measure(self, block: ast.Block) -> dict[str, int]:
        """Return the largest constant index assigned to each local array."""
        self._statements(block)
        return self.largest

    # --- statements ---------------------------------------------------------------------------

    def _statements(self, block: ast.Block) -> None:
        for statement in block:
            try:
                self._statement(statement)
            except Wrong as wrong:
                if not self.dry:
                    wrong.report(self.diagnosis)

    def _inner(self, block: ast.Block) -> core.Block:
        """Elaborate a block of its own."""
        outer, self.block = self.block, []
        self._statements(block)
        inner, self.block = self.block, outer
        return tuple(inner)

    def _emit(self, statement: core.Statement) -> None:
        self._tick(1, statement)
        self.block.append(statement)

    def _tick(self, steps: int, where: core.Statement | ast.Statement) -> None:
        self.count += steps
        if self.count > MOST_STATEMENTS:
            raise self.diagnosis.abort(
                "limit",
                f"the program unrolls to more than {MOST_STATEMENTS} statements",
                where.span,
                "use smaller parameters",
            )

    def _statement(self, statement: ast.Statement) -> None:
        match statement:
            case ast.Assign():
                self._assign(statement)
            case ast.If(branches, otherwise):
                self._if(branches, otherwise, statement)
            case ast.For():
                self._loop(statement)
            case ast.Skip():
                pass
            case ast.Exit():
                self._emit(core.Exit(span=statement.span))
            case _:
                assert_never(statement)

    def _loop(self, loop: ast.For) -> None:
        first = evaluate_integer(loop.first, self.constants, "the start of a loop")
        last = evaluate_integer(loop.last, self.constants, "the end of a loop")
        self._tick(max(0, last - first + 1), loop)
        for i in range(first, last + 1):
            self.constants[loop.variable] = Fraction(i)
            self._statements(loop.body)
        self.constants.pop(loop.variable, None)

    def _if(
        self, branches: tuple[ast.Branch, ...], otherwise: ast.Block, statement: ast.If
    ) -> None:
        """Elaborate branch by branch: `elif` is an `if` in the else block."""
        outer = self.block
        opened: list[tuple[core.Condition, core.Block, ast.Branch, list[core.Statement]]] = []
        try:
            for branch in branches:
                condition = self.expressions.condition(branch.condition)
                if condition == TRUE:
                    self._statements(branch.body)
                    break
                if condition != FALSE:
                    opened.append((condition, self._inner(branch.body), branch, self.block))
                    self.block = []
            else:
                self._statements(otherwise)
            for condition, body, branch, around in reversed(opened):
                rest, self.block = tuple(self.block), around
                self._emit(core.If(condition, body, rest, span=branch.span))
        finally:
            self.block = outer

    def _assign(self, statement: ast.Assign) -> None:
        first, *others = statement.targets
        value = statement.value
        place = self._place(first)
        if self.expressions.is_condition(value):
            self._truth(place, first, statement)
        elif isinstance(value, ast.Call) and _may_target(place, first, value):
            self._call(value, place, first)
        else:
            self._store(place, self.expressions.value(value), first, value)
        for other in others:
            self._store(self._place(other), place, other, value)

    def _truth(self, place: Place, target: ast.Target, statement: ast.Assign) -> None:
        """x <- condition: 1 if it holds, else 0."""
        condition = self.expressions.condition(statement.value)
        outer = self.block
        branches: list[core.Block] = []
        for truth in (TRUE, FALSE):
            self.block = []
            try:
                value = core.Constant(Fraction(truth == TRUE), span=statement.value.span)
                if condition not in (TRUE, FALSE) or condition == truth:
                    self._store(place, value, target, statement.value)
                branches.append(tuple(self.block))
            finally:
                self.block = outer
        if condition in (TRUE, FALSE):
            self.block.extend((*branches[0], *branches[1]))
        else:
            self._emit(core.If(condition, branches[0], branches[1], span=statement.span))

    def _place(self, target: ast.Target) -> Place:
        place = self.expressions.place(target)
        if self.dry and isinstance(target, ast.Index) and isinstance(place, core.Variable):
            index = int(place.name[len(target.name) + 1 : -1])
            self.largest[target.name] = max(index, self.largest.get(target.name, 0))
        return place

    def _store(
        self,
        place: Place,
        value: core.Expression,
        target: ast.Target | None,
        source: ast.Expression,
    ) -> None:
        """Emit place <- value; a constant must be in the domain of the output `target`."""
        domain = None if target is None else self.domains.get(target.name)
        if domain is not None and isinstance(value, core.Constant) and value.value not in domain:
            assert target is not None
            raise Wrong(
                "value error",
                f"{value.value} is not in the domain of output '{target.name}'",
                source.span,
                f"allowed are {describe_domain(tuple(domain))}",
            )
        self._emit(core.Assign(place, value, span=source.span))

    # --- calls --------------------------------------------------------------------------------

    def _take(self, call: ast.Call) -> core.Expression:
        """Emit a call inside an expression and return the fresh variable with its value."""
        target = self._new("sample" if call.name in DISTRIBUTIONS else call.name, call)
        self._call(call, target, None)
        return target

    def _new(self, stem: str, call: ast.Call) -> core.Variable:
        self.fresh += 1
        return core.Variable(f"{stem}#{self.fresh}", span=call.span)

    def _call(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        if call.name not in DISTRIBUTIONS:
            self._select(call, place, target)
            return
        mean, scale = call.arguments
        elaborated = self.expressions.value(mean)
        exact_scale = evaluate_scale(scale, self.constants)
        self.draws += 1
        family = Family(call.name)
        self._emit(
            core.Draw(place, family, elaborated, exact_scale, self.draws - 1, span=call.span)
        )

    def _select(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """argmax, argmin, max, min: keep the best so far and compare it with each in turn."""
        values = self._candidates(call)
        if not values:
            return
        returns_index = call.name.startswith("arg")
        better = core.Relation.GREATER if call.name.endswith("max") else core.Relation.LESS
        best = self._new("best", call) if returns_index else place

        def take(position: int) -> None:
            if returns_index:
                number = core.Constant(Fraction(position + 1), span=call.span)
                self._emit(core.Assign(best, values[position], span=call.span))
                self._store(place, number, target, call)
            else:
                self._store(best, values[position], target, call)

        take(0)
        outer = self.block
        for position in range(1, len(values)):
            condition = core.Comparison(values[position], better, best, span=call.span)
            self.block = []
            try:
                take(position)
                taken = tuple(self.block)
            finally:
                self.block = outer
            self._emit(core.If(condition, taken, (), span=call.span))

    def _candidates(self, call: ast.Call) -> list[core.Expression]:
        """The values that a selection chooses from; in a dry run of local arrays none."""
        argument = call.arguments[0]
        if not isinstance(argument, ast.Name) or not self.expressions.is_array(argument.name):
            return [self.expressions.value(node) for node in call.arguments]
        name, span = argument.name, argument.span
        size = self.expressions.sizes.get(name)
        if size is None:
            raise Wrong(
                "value error", f"no element of '{name}' is assigned by a constant index", span,
                "assign its elements in a loop first",
            )  # fmt: skip
        return [core.Variable(f"{name}[{i}]", span=span) for i in range(1, size + 1)]


def _may_target(place: Place, target: ast.Target, call: ast.Call) -> bool:
    """Whether a call can write its target at once: it must not read it afterwards."""
    return call.name in DISTRIBUTIONS or (
        isinstance(place, core.Variable)
        and all(isinstance(a, ast.Name) and a.name != target.name for a in call.arguments)
    )
