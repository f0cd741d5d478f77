"""What the names of a program stand for, found without knowing the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, IntFlag
from typing import Any

from dipapprox.data_classes import Record, replace
from dipapprox.errors import Diagnosis
from dipapprox.language import ast
from dipapprox.language.traversal import mention, statements_of, targets_in
from dipapprox.laws.families import FAMILIES, INTEGERS
from dipapprox.source import Span

EPSILON = "eps"
DISTRIBUTIONS = tuple(FAMILIES)
MECHANISM = "Exp"  # the exponential mechanism
EXPONENTIAL = "exp"  # the exponential function, in weights only
DISCRETISATION = "disc"
SELECTIONS = ("argmax", "argmin", "max", "min")
ROOT = "sqrt"
LOGARITHM = "log"  # functions of constants, in scales only
DELTA = "delta"  # a parameter that need not be declared: the delta of the claim, in scales
EXTREMES: dict[str, Callable[..., Any]] = {"max": max, "min": min}
"""Selections that scales may have as well, of constants."""
CLAMP = "clamp"
ABSOLUTE = "abs"
ROUNDINGS = ("round", "floor", "ceil")
IN_SCALES = (ROOT, LOGARITHM, ABSOLUTE, *EXTREMES)  # functions that scales may have
FUNCTIONS = (
    *DISTRIBUTIONS, MECHANISM, EXPONENTIAL, *SELECTIONS, CLAMP, ABSOLUTE, *ROUNDINGS, ROOT,
    LOGARITHM, DISCRETISATION,
)  # fmt: skip
_REAL = ", ".join([name for name in DISTRIBUTIONS if name not in INTEGERS])
_STUDENT = f"there is no Student-t noise; real noise is {_REAL}"
_MEAN = "sums are made in a loop, 'n <- n + x[i]', and divided: n / N"
MEANT = {
    **dict.fromkeys(("student", "studentt", "student_t"), _STUDENT),
    "cauchy": f"there is no Cauchy noise; real noise is {_REAL}",
    "normal": "write 'Gauss(mean, standard deviation)'",
    "laplace": "write 'Lap(mean, scale)'",
    **dict.fromkeys(("geometric", "geom"), "write 'DLap(mean, scale)': two-sided geometric noise"),
    "exponential": "write 'LapPlus(0, scale)' for noise, 'Exp(rate, scores)' for a position",
    "uniform": "write 'choose {1..6}' for one of finitely many values",
    "ln": "write 'log(x)', in scales",
    "sum": "sums are written out, x[1] + x[2], or made in a loop: 'n <- n + x[i]'",
    **dict.fromkeys(("mean", "average"), _MEAN),
    "count": "a count is made in a loop: 'if x[i] = 1 then n <- n + 1 end'",
    "len": "how long an array is a parameter says: 'input x[N] …'",
    "bernoulli": "write 'choose {1 : p, 0 : 1 - p}'",
}
"""What is meant by names of other libraries, in lower case."""


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

    def describe(self) -> str:
        if self & Kind.RANDOM:
            return "real" if Kind.REAL in self else "random integer"
        if Kind.NAMED in self:
            return "named value" if self == Kind.NAMED else "value that may be a named one"
        return "condition" if self == Kind.TRUTH else "number"


def settled(kind: Kind) -> Kind:
    """Return the kind of a value: among others, truth values are the numbers 1 and 0."""
    mixed = kind & Kind.TRUTH and kind != Kind.TRUTH
    return kind & ~Kind.TRUTH | Kind.NUMBER if mixed else kind


class Symbol(Record, frozen=False):
    """A name."""

    name: str
    role: Role
    is_array: bool
    span: Span | None
    kind: Kind = Kind.NOTHING  # grows while the assignments are read
    unbounded: bool = False  # whether its domain is `int` or `real`
    is_real_output: bool = False  # whether it is an output of such a domain


class Scope(Record):
    """What is known where something is checked."""

    # What names stand for; variables of the loops around it are among them.
    symbols: Mapping[str, Symbol]
    diagnosis: Diagnosis | None = None  # where mistakes go; None: nobody hears of them
    in_service: bool = False  # whether it is in a handler of a service
    is_repeated: bool = False  # whether it is inside a `while`

    def report(
        self, message: str, span: Span | None, hint: str = "", kind: str = "type error"
    ) -> None:
        if self.diagnosis is not None:
            self.diagnosis.report(kind, message, span, hint)


def with_number(scope: Scope, name: str, span: Span | None) -> Scope:
    """Return a scope in which a name is the variable of a loop."""
    loop = Symbol(name, Role.LOOP, False, span, Kind.NUMBER)
    return replace(scope, symbols={**scope.symbols, name: loop})


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
            case ast.Input() | ast.Output() | ast.State() | ast.Stream():
                role = _ROLES[type(declaration)]
                unbounded = isinstance(declaration.domain[0], ast.Integers | ast.Reals)
                for v in declaration.variables:
                    symbol = Symbol(v.name, role, v.size is not None, v.span)
                    symbol.unbounded = unbounded
                    symbol.is_real_output = unbounded and role is Role.OUTPUT
                    _declare(symbols, symbol, diagnosis)
    _collect_domains(program, symbols, diagnosis)
    for target in targets_in(program.body):
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


_ROLES = {
    ast.Input: Role.INPUT,
    ast.Stream: Role.INPUT,
    ast.Output: Role.OUTPUT,
    ast.State: Role.STATE,
}


def _declare(symbols: dict[str, Symbol], symbol: Symbol, diagnosis: Diagnosis) -> None:
    if symbol.name == EPSILON:
        _reserved(symbol.span, diagnosis)
    if symbol.name in symbols:
        hint = f"it is already a{_n(symbols[symbol.name].role)}"
        diagnosis.report("name error", f"'{symbol.name}' is declared twice", symbol.span, hint)
    symbols.setdefault(symbol.name, symbol)


def _reserved(span: Span | None, diagnosis: Diagnosis) -> None:
    message = f"'{EPSILON}' is the privacy parameter and cannot be declared or assigned"
    diagnosis.report("name error", message, span, "choose another name")


def _n(role: Role) -> str:
    return ("n " if role.value[0] in "aeiou" else " ") + role.value


def _collect_domains(
    program: ast.Program, symbols: dict[str, Symbol], diagnosis: Diagnosis
) -> None:
    """Add the named values; set the kinds of inputs and outputs from their domains."""
    for declaration in program.declarations:
        if not isinstance(declaration, ast.Variables):
            continue
        kind = Kind.NOTHING
        for element in declaration.domain:
            if isinstance(element, ast.Name) and element.name != EPSILON:
                known = symbols.setdefault(
                    element.name, Symbol(element.name, Role.VALUE, False, element.span, Kind.NAMED)
                )
                if known.role not in (Role.VALUE, Role.PARAMETER):
                    message = f"'{element.name}' is a{_n(known.role)}, not a value"
                    hint = "domains are made of numbers, parameters and named values"
                    diagnosis.report("name error", message, element.span, hint)
                kind |= known.kind
            else:
                kind |= Kind.TRUTH if isinstance(element, ast.Truth) else Kind.NUMBER
        if kind & Kind.TRUTH and kind != Kind.TRUTH:
            message = "'true' and 'false' share a domain with other values"
            hint = "write 'bool', or use named values of your own"
            diagnosis.report("type error", message, declaration.span, hint)
        for variable in declaration.variables:
            symbol = symbols[variable.name]
            symbol.kind = settled(symbol.kind | kind)


# --- the delta of the claim ----------------------------------------------------------------------


def with_delta(program: ast.Program) -> ast.Program:
    """Declare `delta` as a parameter if it is mentioned and nothing else."""
    found = mention(program, DELTA)
    if found is None or DELTA in names_given(program):
        return program
    declared = ast.Parameter(DELTA, None, span=found.span)
    return replace(program, declarations=(declared, *program.declarations))


def needs_delta(program: ast.Program) -> bool:
    """Whether a program needs a value for `delta`: it is undeclared, or has no default."""
    declared = (d for d in with_delta(program).declarations if isinstance(d, ast.Parameter))
    return any(d.name == DELTA and d.default is None for d in declared)
