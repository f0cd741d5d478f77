"""Which variables are random: the least solution of "assigned a real, hence real"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from dipapprox.language import ast
from dipapprox.language.symbols import (
    ABSOLUTE,
    CLAMP,
    DISTRIBUTIONS,
    INTEGER_DISTRIBUTIONS,
    ROUNDINGS,
    Kind,
    Role,
    Symbol,
)
from dipapprox.language.traversal import statements_of

_COPY = Kind.NUMBER | Kind.NAMED | Kind.TRUTH | Kind.RANDOM


def kind_of(node: ast.Expression, symbols: Mapping[str, Symbol]) -> Kind:
    """Return the kinds of an expression from the kinds of its names."""
    own, sources = _sources(node)
    for name, mask in sources:
        if name in symbols:
            own |= symbols[name].kind & mask
    return own.settled()


def infer_kinds(
    program: ast.Program, symbols: dict[str, Symbol], real_outputs: bool = False
) -> None:
    """Set the kinds of the local variables; those of inputs and outputs are their domains'.

    Args:
        program: As parsed.
        symbols: What its names stand for; changed.
        real_outputs: Whether outputs that may be any real number are like local variables.
    """
    flows: dict[str, list[tuple[str, Kind]]] = defaultdict(list)
    pending: list[str] = [s.name for s in symbols.values() if s.kind]
    for statement in statements_of(program.body):
        if not isinstance(statement, ast.Assign):
            continue
        own, sources = _sources(statement.value)
        for target in statement.targets:
            symbol = symbols[target.name]
            if symbol.role is not Role.LOCAL and not (real_outputs and symbol.is_real_output):
                continue
            for name, mask in sources:
                flows[name].append((target.name, mask))
            symbol.kind |= own
            pending.append(target.name)
    while pending:
        name = pending.pop()
        if name not in symbols:
            continue
        for target_name, mask in flows[name]:
            reached = symbols[target_name]
            grown = reached.kind | (symbols[name].kind & mask)
            if grown != reached.kind:
                reached.kind = grown
                pending.append(target_name)


def _sources(node: ast.Expression) -> tuple[Kind, list[tuple[str, Kind]]]:
    """Return the kinds that `node` has by itself and the names that it takes kinds from."""
    match node:
        case ast.Number():
            return Kind.NUMBER, []
        case ast.Name(name) | ast.Index(name):
            return Kind.NOTHING, [(name, _COPY)]
        case ast.Call(function, arguments):
            if function in DISTRIBUTIONS:
                return (Kind.INTEGER if function in INTEGER_DISTRIBUTIONS else Kind.REAL), []
            if function == CLAMP and arguments:
                return _clamped_sources(arguments[0])
            if function not in ("max", "min", ABSOLUTE):
                return Kind.NUMBER, []
            return _joined(arguments, Kind.NUMBER)
        case ast.Disc():
            return Kind.NUMBER, []
        case ast.Choose(options):
            own, sources = Kind.NOTHING, []
            for option in options:
                kind, inner = _option_sources(option)
                own |= kind
                sources.extend(inner)
            return own, sources
        case ast.Power(base, _):
            return _joined((base,), Kind.NUMBER)
        case ast.Negative(operand):
            return _joined((operand,), Kind.NUMBER)
        case ast.Sum(operands) | ast.Product(operands):
            return _joined(operands, Kind.NUMBER)
        case _:
            return Kind.TRUTH, []


def _option_sources(option: ast.Option) -> tuple[Kind, list[tuple[str, Kind]]]:
    if isinstance(option.value, ast.Range):
        return Kind.NUMBER, []
    own, sources = _sources(option.value)
    variable = None if option.turns is None else option.turns.variable
    if any(name == variable for name, _ in sources):
        own |= Kind.NUMBER
    return own, [(name, mask) for name, mask in sources if name != variable]


def _clamped_sources(value: ast.Expression) -> tuple[Kind, list[tuple[str, Kind]]]:
    """A clamped real is still one; a clamped integer, or rounded real, is a finite number."""
    if isinstance(value, ast.Call) and value.name in ROUNDINGS:
        return Kind.NUMBER, []
    kind, sources = _joined((value,), Kind.NUMBER)
    return kind & ~Kind.INTEGER, [(name, mask & Kind.REAL) for name, mask in sources]


def _joined(operands: tuple[ast.Expression, ...], own: Kind) -> tuple[Kind, list[tuple[str, Kind]]]:
    """Arithmetic is random when an operand is, and a number otherwise."""
    sources: list[tuple[str, Kind]] = []
    for operand in operands:
        kind, inner = _sources(operand)
        own |= kind & Kind.RANDOM
        sources.extend((name, mask & Kind.RANDOM) for name, mask in inner)
    return own, sources
