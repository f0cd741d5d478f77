"""Surface programs to core programs: parameters bound, loops unrolled, sugar expanded.

Conditions that are assigned become ifs: a Boolean variable, one that is assigned nothing but
conditions, gets the named values `true` and `false`, every other target the number 1 or 0.

A loop whose variable is nothing but an index of input and output arrays has equal turns: each is
the first one with its own elements in place of the first ones, but for the numbers of draws. Their
statements are elaborated once, as a `Repeat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import replace
from dipapprox.errors import Diagnosis, check_visible
from dipapprox.language import any_number, ast, core, finite_rounds, whole_numbers
from dipapprox.language.calls import Calls, truth_value
from dipapprox.language.cells import statements_in
from dipapprox.language.checker import check
from dipapprox.language.constants import Wrong, evaluate_integer
from dipapprox.language.declarations import Declarations, adjacency_of, elaborate_declarations
from dipapprox.language.domains import AS_DECLARED, AllReals, FiniteRounds, Widening
from dipapprox.language.expressions import FALSE, TRUE, Place
from dipapprox.language.symbols import (
    DISTRIBUTIONS,
    LOGARITHM,
    ROOT,
    SELECTIONS,
    Role,
    Symbol,
    with_delta,
)
from dipapprox.language.traversal import operands_of, statements_of

_MANY_TURNS = 4  # A loop of no more turns, the last one apart, is unrolled
_LISTED = (Role.INPUT, Role.OUTPUT)


def elaborate(
    program: ast.Program,
    parameters: Mapping[str, Fraction],
    program_name: str,
    widening: Widening = AS_DECLARED,
    for_all: str | None = None,
    *,
    irrational: bool = False,
    finite: FiniteRounds | None = None,
) -> core.Program:
    """Check and elaborate a program.

    Args:
        parameters: Values that replace the defaults of the program's parameters.
        for_all: A parameter that may be any number: the loop up to it becomes rounds without end.
        irrational: Whether scales may be irrational: the result has a `rounding` then.
        finite: How many rounds are taken of a program with streams; None for no end.

    Raises:
        UserError: If `parameters` names one that the program does not have, `widening` does not
            suit its inputs, or the name would not be seen as it is.
    """
    check_visible(program_name, "the program's name")
    states = (d for d in program.declarations if isinstance(d, ast.State))
    for part in (*program.handlers, *states):
        message = "a service answers calls for ever: it is no program that ends"
        hint = "'prove' answers for services; 'unroll' makes a program of one sequence of calls"
        raise Diagnosis().abort("type error", message, part.span, hint)
    program = with_delta(program)
    symbols = check(program)
    cells: core.Rounds | None = None
    if for_all is not None:
        program, cells = any_number.with_any_number(program, for_all, parameters)
        symbols = check(program, in_rounds=True)
    whole = program
    if finite is not None:  # what is adjacent is said of the inputs that rounds read
        named = ast.AdjacentRule | ast.AdjacentWhere | ast.AdjacentPairs
        kept = tuple(d for d in program.declarations if not isinstance(d, named))
        program = replace(program, declarations=kept)
    declarations = elaborate_declarations(program, parameters, widening)
    body, calls, rounds = elaborate_block(program.body, symbols, declarations)
    if rounds is not None and cells is not None:
        rounds = replace(cells, body=rounds.body, symbols=rounds.symbols)
    endless = rounds is not None and finite is None
    if calls.rounding is not None and (endless or not irrational):
        raise core.irrational(calls.rounding)
    outputs = declarations.outputs
    reals = tuple(cell for cell in outputs if isinstance(cell.domain, AllReals))
    found = core.Program(
        name=program_name,
        parameters=dict(declarations.parameters),
        inputs=declarations.inputs,
        outputs=tuple(cell for cell in outputs if not isinstance(cell.domain, AllReals)),
        body=body,
        adjacency=declarations.adjacency,
        declared=declarations.declared,
        discretises=calls.discretises,
        rounds=rounds,
        real_outputs=reals,
        rounding=calls.rounding,
    )
    if finite is None:
        return found
    found = finite_rounds.some_rounds(found, finite.rounds, finite.values)
    diagnosis = Diagnosis()
    adjacency = adjacency_of(whole, found.parameters, found.inputs, diagnosis)
    diagnosis.finish()
    return replace(found, adjacency=adjacency)


def elaborate_block(
    block: ast.Block,
    symbols: Mapping[str, Symbol],
    declarations: Declarations,
    publishes: bool = False,
) -> tuple[core.Body, Calls, core.Rounds | None]:
    """Elaborate the statements of a checked program.

    Returns:
        The core statements, what there is to know of the calls in them, and rounds without end.
    """
    sizes: dict[str, int] = {}
    if any(s.role is Role.LOCAL and s.is_array for s in symbols.values()):
        # The size of a local array is its largest constant index; a dry run finds it.
        sizes = _Unrolling(symbols, declarations, sizes, dry=True).measure(block)
    unrolling = _Unrolling(symbols, declarations, sizes, dry=False, publishes=publishes)
    return unrolling.run(block), unrolling, unrolling.rounds


class _Unrolling(Calls):
    """One run over the statements: a dry one reports nothing."""

    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        declarations: Declarations,
        local_sizes: Mapping[str, int],
        dry: bool,
        publishes: bool = False,
    ) -> None:
        super().__init__(symbols, declarations, local_sizes, publishes)
        self.declarations = declarations
        self.dry = dry
        self.body: list[core.Statement | core.Repeat] = []  # before what is collected
        self.top = self.block
        self.rounds: core.Rounds | None = None
        self.largest: dict[str, int] = {}

    def run(self, block: ast.Block) -> core.Body:
        self._statements(block)
        self.diagnosis.finish()
        rounds = () if self.rounds is None else self.rounds.body
        whole, declared = (*self.body, *self.top, *rounds), self.declarations
        statements = list(statements_in(whole))
        if any(isinstance(s, core.Draw) and s.family.is_discrete for s in statements):
            inputs = {c.variable: c.domain for c in declared.inputs}
            others = {c.variable: c.domain for c in (*declared.outputs, *declared.states)}
            whole_numbers.check(statements, inputs, others, self.diagnosis)
            self.diagnosis.finish()
        return (*self.body, *self.top)

    def measure(self, block: ast.Block) -> dict[str, int]:
        """Return the largest constant index assigned to each local array."""
        self._statements(block)
        return self.largest

    def _statements(self, block: ast.Block) -> None:
        for statement in block:
            try:
                self._statement(statement)
            except Wrong as wrong:
                if not self.dry:
                    wrong.report(self.diagnosis)

    def _statement(self, statement: ast.Statement) -> None:
        match statement:
            case ast.Assign():
                self._assign(statement)
            case ast.If(branches, otherwise):
                self._if(branches, otherwise)
            case ast.For():
                self._loop(statement)
            case ast.While():
                condition = self.condition(statement.condition)
                with self.inner() as made:
                    self._statements(statement.body)
                if condition != FALSE:
                    self.emit(core.While(condition, tuple(made), span=statement.span))
            case ast.Forever(body):
                with self.inner() as made:
                    self._statements(body)
                self.rounds = core.Rounds(tuple(made), self.declarations.published)
            case ast.Read(name):
                following = core.Variable(core.NEXT + name, span=statement.span)
                place = core.Variable(name, span=statement.span)
                self.emit(core.Assign(place, following, span=statement.span))
            case ast.Publish(value):
                published = core.Variable(core.PUBLISHED, span=statement.span)
                if self.is_boolean(value) and not isinstance(value, ast.Name | ast.Index):
                    self.hold(value, published, True)
                else:
                    self._store(published, None, value)
            case ast.Skip():
                pass
            case ast.Exit():
                self.emit(core.Exit(span=statement.span))
            case _:
                assert_never(statement)

    def _loop(self, loop: ast.For) -> None:
        first = evaluate_integer(loop.first, self.constants, "the start of a loop")
        last = evaluate_integer(loop.last, self.constants, "the end of a loop")
        self.count(max(0, last - first + 1), loop.span)
        turns, arrays = range(first, last + 1), None
        if not self.dry and self.block is self.top and last - first >= _MANY_TURNS:
            arrays = arrays_of_equal_turns(loop, self.symbols)
        if arrays is not None and all(first >= 1 and last <= self.sizes[a] for a in arrays):
            # What matters after the last turn may matter less after the others: it stays apart.
            self._repeat(loop, first, last - first, arrays)
            turns = range(last, last + 1)
        for i in turns:
            self._turn(loop, i)
        self.constants.pop(loop.variable, None)

    def _turn(self, loop: ast.For, index: int) -> None:
        self.constants[loop.variable] = Fraction(index)
        self._statements(loop.body)

    def _repeat(self, loop: ast.For, first: int, turns: int, arrays: tuple[str, ...]) -> None:
        """Elaborate the first of equal turns for all of them."""
        sites, rounding = self.sites, self.rounding
        counted = self.counted
        with self.inner() as body:
            self._turn(loop, first)
        self.count((turns - 1) * (self.counted - counted), loop.span)
        drawn = self.sites - sites
        self.sites = sites + turns * drawn
        if self.rounding is not None:
            once = self.rounding
            before = rounding or core.Rounding(Fraction(0), 0, span=once.span)
            self.rounding = replace(
                once,
                error=before.error + turns * (once.error - before.error),
                samples=before.samples + turns * (once.samples - before.samples),
            )
        if body:
            repeat = core.Repeat(tuple(body), turns, first, arrays, drawn, span=loop.span)
            self.body += (*self.top, repeat)
            self.top.clear()

    def _if(self, branches: tuple[ast.Branch, ...], otherwise: ast.Block) -> None:
        """Elaborate the first branch; `elif` is an `if` in the else block."""
        first, *others = branches
        condition = self.condition(first.condition)
        if condition == TRUE:
            self._statements(first.body)
            return
        with self.inner() as then:
            if condition != FALSE:
                self._statements(first.body)
        rest: list[core.Statement] = self.block
        with self.inner(rest if condition == FALSE else None) as rest:
            if others:
                self._if(tuple(others), otherwise)
            else:
                self._statements(otherwise)
        if condition != FALSE:
            node = core.If(condition, tuple(then), tuple(rest), span=first.span)
            self.emit(node)

    def _assign(self, statement: ast.Assign) -> None:
        """x, y, … <- value: evaluated once; the targets are assigned from left to right.

        An index in a target is evaluated when its turn comes: `k, v[k] <- 2` assigns v[2].
        """
        first, *others = statement.targets
        value = statement.value
        if self.is_boolean(value) and not (
            isinstance(value, ast.Name | ast.Index | ast.Choose)
            and all(self.is_boolean(target) for target in statement.targets)
        ):

            def assign(truth: bool) -> None:
                for target in statement.targets:
                    constant = truth_value(truth, self.is_boolean(target), value)
                    self.store(self._place(target), constant, target, value.span)

            self.decide(value, assign)
            return
        place = self._place(first)
        if others and isinstance(place, core.Element):
            # A later target may change the index, so the first one cannot lend its value.
            fresh = self.fresh("value", statement.span)
            self._store(fresh, None, value)
            self.store(place, fresh, first, value.span)
            place = fresh
        else:
            self._store(place, first, value)
        for other in others:
            self.store(self._place(other), place, other, value.span)

    def _store(self, place: Place, target: ast.Target | None, value: ast.Expression) -> None:
        """Emit place <- value; `target` is how the program wrote the place, if it did.

        A selection writes its target at once if it does not read it afterwards, and not if it is a
        real output: noise is published once.
        """
        at_once = True
        if target is not None and isinstance(value, ast.Call) and value.name in SELECTIONS:
            at_once = (
                isinstance(place, core.Variable)
                and all(isinstance(a, ast.Name) and a.name != target.name for a in value.arguments)
                and not self.symbols[target.name].is_real_output
            )
        if isinstance(value, ast.Computed) and at_once:
            self.compute(value, place, target)
        else:
            self.store(place, self.value(value), target, value.span)

    def _place(self, target: ast.Target) -> Place:
        place = self.place(target)
        if self.dry and isinstance(target, ast.Index) and isinstance(place, core.Variable):
            index = int(place.name[len(target.name) + 1 : -1])
            self.largest[target.name] = max(index, self.largest.get(target.name, 0))
        return place


def arrays_of_equal_turns(loop: ast.For, symbols: Mapping[str, Symbol]) -> tuple[str, ...] | None:
    """Return the arrays that a loop goes through element by element; None if its turns are not
    equal but for these elements, or do more than assign, draw, branch and exit."""
    statements = list(statements_of(loop.body))
    if not all(isinstance(s, ast.Assign | ast.If | ast.Exit | ast.Skip) for s in statements):
        return None
    indexed, others = set[str](), set[str]()
    waiting = [part for statement in statements for part in operands_of(statement)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Index(name, ast.Name(variable)) if variable == loop.variable:
                indexed.add(name)
            case ast.Name(name) | ast.Index(name) if name != loop.variable:
                others.add(name)
                waiting += operands_of(node)
            case ast.Call(name) if name in (*DISTRIBUTIONS, ROOT, LOGARITHM):
                waiting += operands_of(node)
            case ast.Name() | ast.Index() | ast.Call() | ast.Choose() | ast.Disc():
                return None
            case _:
                waiting += operands_of(node)
    known = [symbols[name] for name in indexed]
    if indexed & others or any(s.role not in _LISTED or s.is_real_output for s in known):
        return None
    return tuple(sorted(indexed))
