"""What the names of a program stand for, found without knowing the parameters."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, IntFlag

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.errors import Diagnosis
from dipapprox.language import ast
from dipapprox.language.traversal import statements_of
from dipapprox.source import Span

EPSILON = "eps"
DISTRIBUTIONS = tuple(family.value for family in Family)
INTEGER_DISTRIBUTIONS = tuple(family.value for family in Family if family.is_discrete)
MECHANISM = "Exp"
"""The exponential mechanism."""
EXPONENTIAL = "exp"
"""The exponential function, in weights only."""
DISCRETISATION = "disc"
SELECTIONS = ("argmax", "argmin", "max", "min")
ROOT = "sqrt"
LOGARITHM = "log"
"""Functions of constants, in scales only."""
DELTA = "delta"
"""A parameter that need not be declared: the delta of the claim, in scales."""
CLAMP = "clamp"
ABSOLUTE = "abs"
ROUNDINGS = ("round", "floor", "ceil")


class Role(Enum):
    """What a name is; the value is what messages call it."""

    PARAMETER = "parameter"
    INPUT = "input"
    OUTPUT = "output"
    STATE = "state cell"
    LOCAL = "variable"
    LOOP = "loop variable"
    VALUE = "named value"


class Kind(IntFlag):
    """What an expression may evaluate to; a variable has the kinds of all it is assigned.

    A variable of kind TRUTH alone is Boolean: it holds the named values `true` and `false`, like
    cells of the domain `bool`. A condition that is assigned to any other variable is the number 1
    or 0, so `out <- r >= t` does what one expects for an output in {0, 1}.
    """

    NOTHING = 0
    NUMBER = 1
    NAMED = 2
    TRUTH = 4
    REAL = 8
    INTEGER = 16  # an integer sample, or a sum of such
    RANDOM = REAL | INTEGER

    def settled(self) -> Kind:
        """Return the kind of a value: among others, truth values are the numbers 1 and 0."""
        if self & Kind.TRUTH and self != Kind.TRUTH:
            return self & ~Kind.TRUTH | Kind.NUMBER
        return self

    def describe(self) -> str:
        """Say it for people."""
        if self & Kind.RANDOM:
            return "real" if Kind.REAL in self else "random integer"
        if Kind.NAMED in self:
            return "named value" if self == Kind.NAMED else "value that may be a named one"
        return "condition" if self == Kind.TRUTH else "number"


@dataclass(slots=True)
class Symbol:
    """A name. `kind` grows while the assignments are read."""

    name: str
    role: Role
    is_array: bool
    span: Span | None
    kind: Kind = Kind.NOTHING
    unbounded: bool = False  # whether its domain is `int` or `real`

    @property
    def is_real_output(self) -> bool:
        """Whether it is an output that may be any number."""
        return self.role is Role.OUTPUT and self.unbounded


def collect_symbols(program: ast.Program, diagnosis: Diagnosis) -> dict[str, Symbol]:
    """Collect parameters, inputs, outputs, named values and assigned variables.

    Loop variables are scoped and not among them.
    """
    symbols: dict[str, Symbol] = {}
    for declaration in program.declarations:
        match declaration:
            case ast.Parameter(name):
                _declare(symbols, Symbol(name, Role.PARAMETER, False, declaration.span), diagnosis)
                symbols[name].kind |= Kind.NUMBER
            case ast.Stream(name):
                symbol = Symbol(name, Role.INPUT, False, declaration.span)
                _declare(symbols, symbol, diagnosis)
            case ast.Input(variables) | ast.Output(variables) | ast.State(variables):
                role = _ROLES[type(declaration)]
                unbounded = isinstance(declaration.domain[0], ast.Integers | ast.Reals)
                for v in variables:
                    symbol = Symbol(v.name, role, v.size is not None, v.span, unbounded=unbounded)
                    _declare(symbols, symbol, diagnosis)
            case _:
                pass
    _collect_domains(program, symbols, diagnosis)
    for target in _targets(program.body):
        is_array = isinstance(target, ast.Index)
        symbol = symbols.setdefault(
            target.name, Symbol(target.name, Role.LOCAL, is_array, target.span)
        )
        if symbol.role is Role.LOCAL and target.name == EPSILON:
            _reserved(target.span, diagnosis)
    return symbols


def names_given(program: ast.Program) -> set[str]:
    """Return the names that a program declares or assigns, loop variables too."""
    symbols = collect_symbols(program, Diagnosis())
    loops = {s.variable for s in statements_of(program.body) if isinstance(s, ast.For)}
    return {*symbols, *loops}


_ROLES = {ast.Input: Role.INPUT, ast.Output: Role.OUTPUT, ast.State: Role.STATE}


def _declare(symbols: dict[str, Symbol], symbol: Symbol, diagnosis: Diagnosis) -> None:
    if symbol.name == EPSILON:
        _reserved(symbol.span, diagnosis)
    if symbol.name in symbols:
        diagnosis.report(
            "name error",
            f"'{symbol.name}' is declared twice",
            symbol.span,
            f"it is already a{_n(symbols[symbol.name].role)}",
        )
    symbols.setdefault(symbol.name, symbol)


def _reserved(span: Span | None, diagnosis: Diagnosis) -> None:
    diagnosis.report(
        "name error",
        f"'{EPSILON}' is the privacy parameter and cannot be declared or assigned",
        span,
        "choose another name",
    )


def _n(role: Role) -> str:
    return ("n " if role.value[0] in "aeiou" else " ") + role.value


def _collect_domains(
    program: ast.Program, symbols: dict[str, Symbol], diagnosis: Diagnosis
) -> None:
    """Add the named values; set the kinds of inputs and outputs from their domains."""
    for declaration in program.declarations:
        if not isinstance(
            declaration, ast.Input | ast.Output | ast.State | ast.Stream | ast.Publishes
        ):
            continue
        kind = Kind.NOTHING
        for element in declaration.domain:
            if isinstance(element, ast.Name) and element.name != EPSILON:
                known = symbols.setdefault(
                    element.name, Symbol(element.name, Role.VALUE, False, element.span, Kind.NAMED)
                )
                if known.role not in (Role.VALUE, Role.PARAMETER):
                    diagnosis.report(
                        "name error",
                        f"'{element.name}' is a{_n(known.role)}, not a value",
                        element.span,
                        "domains are made of numbers, parameters and named values",
                    )
                kind |= known.kind
            else:
                kind |= Kind.TRUTH if isinstance(element, ast.Truth) else Kind.NUMBER
        if kind & Kind.TRUTH and kind != Kind.TRUTH:
            diagnosis.report(
                "type error",
                "'true' and 'false' share a domain with other values",
                declaration.span,
                "write 'bool', or use named values of your own",
            )
        match declaration:
            case ast.Stream(name):
                names = [name]
            case ast.Publishes():
                names = []
            case _:
                names = [variable.name for variable in declaration.variables]
        for name in names:
            if name in symbols:
                symbols[name].kind |= kind


def _targets(block: ast.Block) -> Iterator[ast.Target]:
    for statement in statements_of(block):
        if isinstance(statement, ast.Assign):
            yield from statement.targets
