"""Programs for any number of rounds: a loop up to a parameter becomes rounds without end.

    for i in 1..N do                         forever do
        r <- Lap(q[i], 4 / eps)                  read q[i]
        if r >= rT then                          out[i] <- 0
            out[i] <- 1; exit                    r <- Lap(q[i], 4 / eps)
        end                              →       if r >= rT then
    end                                              out[i] <- 1; exit
                                                 end
                                             end                         # publishes out[i]

The loop is one over rounds if a round reads entries of inputs and writes entries of outputs that no
other round has anything to do with, and knows its number for nothing else. What is written before
the loop to all entries of an output is what a round begins with, and what the entries remain after
`exit`. For a number of rounds N the output of the program is what the first N rounds publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.errors import Diagnosis, UserError
from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong, evaluate, evaluate_integer
from dipapprox.language.declarations import declared_parameters, evaluate_value
from dipapprox.language.expressions import Expressions, terms_of
from dipapprox.language.printer import print_expression
from dipapprox.language.symbols import Role, Symbol
from dipapprox.language.traversal import declared_in, mention, nodes_in, rewrite, with_names
from dipapprox.source import Span

_MOST_TURNS = 1_000  # of loops that do not depend on the parameter, altogether


def with_any_number(
    program: ast.Program, parameter: str, overrides: Mapping[str, Fraction]
) -> tuple[ast.Program, core.Rounds]:
    """Return a program whose loop up to a parameter goes on for ever, and its cells: rounds, empty.

    Args:
        parameter: The number of rounds, or what it depends on; `overrides` are of the others.

    Raises:
        UserError: If there is no such parameter, or it has a value.
        SourceError: If it is no program of which rounds can be made; the place says why.
    """
    declared_parameters(program, (parameter,))
    if parameter in overrides:
        raise UserError(f"'{parameter}' is any number, and cannot have a value as well")
    try:
        return _Rounds(program, parameter, overrides).made()
    except Wrong as wrong:
        raise Diagnosis().abort(wrong.kind, wrong.message, wrong.span, wrong.hint) from None


class _Entries(Record, frozen=False):
    """The entries of one array that the rounds have to do with."""

    # How far the entries of a round are from those of the round before; 0 for none yet.
    slope: int = 0
    # Of entries slope · i + start, with the names of the cells that stand for them.
    starts: dict[int, str] = field(default_factory=dict)
    # Entries that do not depend on the round, with their names.
    fixed: dict[int, str] = field(default_factory=dict)


class _Rounds:
    def __init__(
        self, program: ast.Program, parameter: str, overrides: Mapping[str, Fraction]
    ) -> None:
        self._program, self._parameter = program, parameter
        self._constants = dict[str, Fraction]()  # values of the other parameters
        self._turns = 0
        self._inputs, self._outputs = (
            {each.name: each.size for each, _ in declared_in(program, kind)}
            for kind in (ast.Input, ast.Output)
        )
        sizes = {**self._inputs, **self._outputs}
        self._scalars = {name for name, size in sizes.items() if size is None}
        self._long = {name for name, size in sizes.items() if mention(size, parameter)}
        self._entries = {name: _Entries() for name in sizes}
        self._initial: dict[str, ast.Expression] = {}
        for declaration in program.declarations:
            match declaration:
                case ast.Parameter(name) if name in overrides:
                    self._constants[name] = overrides[name]
                case ast.Parameter(name, default) if name != parameter and default is not None:
                    self._no_parameter(default, f"'{name}'")
                    self._constants[name] = evaluate(default, self._constants)
                case ast.Input(domain=domain) | ast.Output(domain=domain):
                    self._no_parameter(domain, "a domain")
                case ast.AdjacentRule(radius=radius):
                    self._no_parameter(radius, "the adjacency")

    def made(self) -> tuple[ast.Program, core.Rounds]:
        prelude, loop = self._split()
        before = self._unrolled(tuple(prelude))
        body = self._unrolled(loop.body)
        first = evaluate_integer(loop.first, self._constants, "the start of a loop")
        body = self._with_cells(body, loop.variable)
        before = self._with_cells(before, None)
        known = mention(body, loop.variable)
        if known is not None:
            uses = [self._allowed(array) for array in self._entries if array in self._long]
            raise self._wrong(
                f"a round knows its number '{loop.variable}'", known.span,
                f"with any {self._parameter} a round may use '{loop.variable}' in "
                f"{' and '.join(uses) or 'its entries'} only",
            )  # fmt: skip
        self._no_parameter((before, body), "this")
        self._apart(first, loop)
        return self._with_rounds(before, body, loop)

    # --- the loop -----------------------------------------------------------------------------

    def _split(self) -> tuple[list[ast.Statement], ast.For]:
        loop: ast.For | None = None
        before: list[ast.Statement] = []
        for statement in self._program.body:
            if loop is not None:
                hint = "with any number of rounds nothing comes after them"
                raise self._wrong("something follows the loop over rounds", statement.span, hint)
            if isinstance(statement, ast.For) and mention(statement.last, self._parameter):
                initial = self._first_values(statement, before)
                if initial is not None:
                    self._initial |= initial
                    continue
                if mention(statement.first, self._parameter):
                    message = f"the loop begins where '{self._parameter}' says"
                    raise self._wrong(message, statement.first.span)
                loop = statement
            else:
                before.append(statement)
        if loop is None:
            message = f"there is no loop up to '{self._parameter}'"
            hint = f"rounds are written 'for i in 1..{self._parameter} do … end'"
            raise self._wrong(message, self._program.span, hint)
        return before, loop

    def _first_values(
        self, loop: ast.For, before: Sequence[ast.Statement]
    ) -> dict[str, ast.Expression] | None:
        """Return the outputs that a loop gives first values, and these; None if it does more.

        All their entries have them before anything else is done with them, and nothing ended.
        """
        found = dict[str, ast.Expression]()
        for statement in loop.body:
            if not isinstance(statement, ast.Assign):
                return None
            for target in statement.targets:
                if not isinstance(target, ast.Index) or target.index != ast.Name(loop.variable):
                    return None
                size = self._outputs.get(target.name)
                if size is None:
                    return None
                parts = (loop.first, loop.last, size)
                first, last, whole = (self._affine(each, self._parameter) for each in parts)
                if first != (Fraction(0), Fraction(1)) or last is None or last != whole:
                    return None
                found[target.name] = statement.value
            try:
                evaluate_value(statement.value, self._constants)
            except Wrong:
                return None
        for node in nodes_in(tuple(before)):
            if isinstance(node, ast.Exit) or getattr(node, "name", None) in found:
                return None
        return found

    def _unrolled(self, block: ast.Block) -> ast.Block:
        def change(node: object) -> ast.Block | None:
            match node:
                case ast.For(variable, first, last, body):
                    self._no_parameter((first, last), "an inner loop")
                    low = evaluate_integer(first, self._constants, "the start of a loop")
                    high = evaluate_integer(last, self._constants, "the end of a loop")
                    self._turns += max(0, high - low + 1)
                    if self._turns > _MOST_TURNS:
                        raise Wrong("limit", f"more than {_MOST_TURNS} turns", node.span)
                    values = (
                        ast.Number(Fraction(k), span=first.span) for k in range(low, high + 1)
                    )
                    turns = tuple(with_names(body, {variable: value}) for value in values)
                    return tuple(each for turn in turns for each in self._unrolled(turn))
                case _:
                    return None

        return rewrite(block, change)

    # --- entries ------------------------------------------------------------------------------

    def _with_cells(self, block: ast.Block, variable: str | None) -> ast.Block:
        """Put cells in the place of entries of inputs and outputs.

        Args:
            variable: That counts the rounds; None before them.
        """

        def change(node: object) -> object:
            match node:
                case ast.Index(name, index) if name in self._entries:
                    place = self._affine(index, variable)
                    if place is None:
                        message = f"an entry of '{name}' that depends on more than the round"
                        raise self._wrong(message, node.span, self._only(name))
                    if place[0] == 0 and variable is not None and name in self._outputs:
                        raise self._one_value(f"{name}[{place[1]}]", node.span)
                    return ast.Name(self._cell(name, *place, node), span=node.span)
                case ast.Name(name) if name in self._scalars and variable is not None:
                    if name in self._outputs:
                        raise self._one_value(name, node.span)
                    return None
                case ast.Name(name) if name in self._long:
                    raise self._wrong(f"'{name}' is used as a whole", node.span, self._only(name))
                case _:
                    return None

        return rewrite(block, change)

    def _affine(
        self, node: ast.Expression, variable: str | None
    ) -> tuple[Fraction, Fraction] | None:
        """Read an expression as slope · variable + start; None if it is not of that form."""

        def known(part: ast.Expression) -> core.Expression:
            return core.Constant(evaluate(part, self._constants))

        names = (each.name for each in nodes_in(node) if isinstance(each, ast.Name | ast.Index))
        symbols = {name: Symbol(name, Role.LOOP, False, None) for name in names}
        try:
            form = Expressions(symbols, self._constants, {}, known).value(node)
        except Wrong:
            return None
        slope = start = Fraction(0)
        for coefficient, of in terms_of(form):
            if of is None:
                start += coefficient
            elif isinstance(of, core.Variable) and of.name == variable:
                slope += coefficient
            else:
                return None
        return slope, start

    def _allowed(self, array: str) -> str:
        known = self._entries[array].starts
        return next(iter(known.values()), f"{array}[i]")

    def _only(self, array: str) -> str:
        return f"with any {self._parameter} a round may use {self._allowed(array)} only"

    def _one_value(self, name: str, span: Span | None) -> Wrong:
        hint = f"with any {self._parameter} every output belongs to a round: write '{name}[i]'"
        return self._wrong(f"'{name}' is one value for the whole run", span, hint)

    def _cell(self, array: str, steps: Fraction, begins: Fraction, node: ast.Index) -> str:
        """Return the cell that stands for the entry steps · round + begins."""
        if steps.denominator != 1 or begins.denominator != 1 or steps < 0:
            message = f"the entry '{print_expression(node)}' does not ascend from round to round"
            raise self._wrong(message, node.span)
        entries, slope, start = self._entries[array], int(steps), int(begins)
        if slope == 0:
            return entries.fixed.setdefault(start, f"{array}[{start}]")
        if entries.slope in (0, slope):
            entries.slope = slope
            for known, name in entries.starts.items():
                if known != start and (known - start) % slope == 0:
                    hint = f"with any {self._parameter} a round may use {name} only"
                    raise self._wrong(
                        f"'{print_expression(node)}' is used as well as {name}", node.span, hint
                    )
            shown = "i" if slope == 1 else f"{slope}*i"
            if start:
                shown += f" {'+' if start > 0 else '-'} {abs(start)}"
            return entries.starts.setdefault(start, f"{array}[{shown}]")
        message = f"'{print_expression(node)}' is used as well as {self._allowed(array)}"
        raise self._wrong(message, node.span, self._only(array))

    def _apart(self, first: int, loop: ast.For) -> None:
        for array, entries in self._entries.items():
            for fixed, name in entries.fixed.items():
                if array in self._outputs or entries.slope:
                    for start in entries.starts:
                        beyond = fixed - (entries.slope * first + start)
                        if beyond >= 0 and beyond % entries.slope == 0:
                            message = f"'{name}' is used outside of its round"
                            hint = f"with any {self._parameter} rounds share no entries"
                            raise self._wrong(message, loop.span, hint)

    def _no_parameter(self, tree: object, what: str) -> None:
        found = mention(tree, self._parameter)
        if found is not None:
            message = f"{what} depends on '{self._parameter}', which is any number"
            hint = "only sizes of arrays and the end of the loop over rounds may"
            raise self._wrong(message, found.span, hint)

    def _wrong(self, message: str, span: Span | None, hint: str = "") -> Wrong:
        return Wrong("type error", message, span, hint)

    # --- the program --------------------------------------------------------------------------

    def _with_rounds(
        self, before: ast.Block, body: ast.Block, loop: ast.For
    ) -> tuple[ast.Program, core.Rounds]:
        declarations: list[ast.Declaration] = []
        # Of what precedes the rounds, and of a round: what is read, first values, output cells.
        reads: tuple[list[ast.Statement], ...] = [], []
        resets: tuple[list[ast.Statement], ...] = [], []
        cells: tuple[list[str], ...] = [], []
        padding: list[ast.Expression | None] = []
        for each in self._program.declarations:
            match each:
                case ast.Parameter(name) if name == self._parameter:
                    pass
                case ast.Input(variables):
                    domain = self._reals(each)
                    for _, cell, in_round in self._cells_of(variables):
                        stream = ast.Declared(cell, None, span=each.span)
                        declarations.append(ast.Stream((stream,), domain, span=each.span))
                        reads[in_round].append(ast.Read(cell, span=each.span))
                case ast.Output(variables, domain):
                    for variable, cell, in_round in self._cells_of(variables):
                        single = ast.Declared(cell, None, span=variable.span)
                        declarations.append(ast.Output((single,), domain, span=each.span))
                        cells[in_round].append(cell)
                        initial = self._initial.get(variable.name)
                        if initial is not None:
                            to = (ast.Name(cell, span=initial.span),)
                            resets[in_round].append(ast.Assign(to, initial, span=initial.span))
                        if in_round:
                            padding.append(initial)
                case _:
                    declarations.append(each)
        known = [each for each in padding if each is not None]
        exits = any(isinstance(node, ast.Exit) for node in nodes_in(self._program.body))
        if exits and len(known) < len(padding):
            raise self._wrong(
                "after 'exit' some outputs have no value", self._program.body[-1].span,
                f"write one to all of them first: 'for i in 1..{self._parameter} do out[i] <- 0 "
                "end'",
            )  # fmt: skip
        if len(known) < len(padding):
            known = []
        last = tuple(evaluate_value(each, self._constants) for each in known)
        forever = ast.Forever((*reads[True], *resets[True], *body), span=loop.span)
        statements = (*reads[False], *resets[False], *before, forever)
        program = ast.Program(tuple(declarations), statements, span=self._program.span)
        published = tuple(cells[False]), tuple(cells[True])
        return program, core.Rounds((), (), *published, last, self._parameter)

    def _reals(self, declaration: ast.Input) -> tuple[ast.Element, ...]:
        """Return all reals for a domain of numbers, and what is declared of reals."""
        if isinstance(declaration.domain[0], ast.Reals):
            return declaration.domain
        for element in declaration.domain:
            named = isinstance(element, ast.Name) and element.name not in self._constants
            if named or isinstance(element, ast.Truth):
                hint = f"with any {self._parameter} inputs are real numbers"
                raise self._wrong("an input has named values", element.span, hint)
        return (ast.Reals(None, span=declaration.span),)

    def _cells_of(
        self, variables: Iterable[ast.Declared]
    ) -> Iterator[tuple[ast.Declared, str, bool]]:
        """Yield the cells of variables that are used, in order, and whether rounds use them."""
        for variable in variables:
            entries = self._entries[variable.name]
            if variable.size is None:
                yield variable, variable.name, False
            for place in sorted(entries.fixed):
                yield variable, entries.fixed[place], False
            for place in sorted(entries.starts):
                yield variable, entries.starts[place], True
