"""Declarations with the parameters known: parameter values, cells with domains, adjacency."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant, Diagnosis, UserError, did_you_mean
from dipapprox.language import adjacency_where, ast, core, domains
from dipapprox.language.constants import (
    Wrong,
    evaluate,
    evaluate_integer,
    evaluate_range,
    truth_name,
)
from dipapprox.language.domains import AllIntegers, AllReals, Domain, Widening
from dipapprox.language.symbols import collect_symbols
from dipapprox.source import Span


class Declarations(Record):
    """What the declarations of a program amount to.

    `declared` are the domains of inputs that have wider ones, `published` is what a program with a
    stream may publish besides numbers of noise.
    """

    parameters: Mapping[str, Fraction]
    inputs: tuple[core.Cell, ...]
    outputs: tuple[core.Cell, ...]
    states: tuple[core.Cell, ...]
    adjacency: core.Adjacency
    declared: Mapping[str, Domain]
    published: Domain = ()


def elaborate_declarations(
    program: ast.Program,
    overrides: Mapping[str, Fraction],
    widening: Widening,
    in_service: bool = False,
) -> Declarations:
    """Bind the parameters and evaluate the declarations.

    Args:
        overrides: Parameter values from outside, by name.
        in_service: Whether outputs are replies of a service, which nobody lists: long ranges are
            `AllIntegers` between two bounds.

    Raises:
        UserError: If an override names no parameter, or `widening` does not suit the inputs.
    """
    diagnosis = Diagnosis()
    parameters = _bind(program, overrides, diagnosis)
    diagnosis.finish()  # sizes and domains built on wrong parameters would be wrong, too
    inputs: list[core.Cell] = []
    outputs: list[core.Cell] = []
    states: list[core.Cell] = []
    kinds = {ast.Input: inputs, ast.Stream: inputs, ast.Output: outputs, ast.State: states}
    published: Domain = ()
    room = domains.MOST_CELLS
    for declaration in program.declarations:
        try:
            match declaration:
                case ast.Publishes():
                    domain = _domain(declaration.domain, declaration.span, parameters)
                    published = () if isinstance(domain, AllReals) else domain
                case ast.Input() | ast.Stream() | ast.Output() | ast.State():
                    known = kinds[type(declaration)]
                    listed = not (in_service and isinstance(declaration, ast.Output))
                    domain = _domain(declaration.domain, declaration.span, parameters, listed)
                    for each in declaration.variables:
                        cells = _cells(each, domain, parameters, room)
                        room -= len(cells)
                        known += cells
        except Wrong as wrong:
            wrong.report(diagnosis)
    adjacency: core.Adjacency = core.Everyone()
    narrower: dict[str, Domain] = {}
    if not diagnosis:
        declared = {cell.variable: cell.domain for cell in inputs}
        wider = domains.wider_domains(widening, declared)
        narrower = {name: declared[name] for name in wider}
        inputs = [replace(c, domain=wider.get(c.variable, c.domain)) for c in inputs]
        adjacency = adjacency_of(program, parameters, inputs, diagnosis)
    diagnosis.finish()
    if narrower and isinstance(adjacency, core.Listed) and adjacency.text is None:
        message = "cannot widen: the program lists its adjacent pairs, and a wider domain adds none"
        raise UserError(message)
    return Declarations(
        parameters, tuple(inputs), tuple(outputs), tuple(states), adjacency, narrower, published
    )


def adjacency_of(
    program: ast.Program,
    parameters: Mapping[str, Fraction],
    cells: Sequence[core.Cell],
    diagnosis: Diagnosis,
) -> core.Adjacency:
    """Return which inputs, of some cells, a program calls adjacent."""
    adjacency: core.Adjacency = core.Everyone()
    for declaration in program.declarations:
        try:
            match declaration:
                case (ast.AdjacentRule() as rule) | ast.AdjacentWhere(rule):
                    base = _rule(rule, parameters, cells)
                    if rule is declaration and not isinstance(base, core.Euclidean):
                        adjacency = base
                        continue
                    symbols = collect_symbols(program, Diagnosis())
                    adjacency = adjacency_where.listed_pairs(
                        declaration, base, parameters, cells, symbols
                    )
                case ast.AdjacentPairs(pairs):
                    adjacency = core.Listed(
                        tuple(_pair(pair, parameters, cells, diagnosis) for pair in pairs)
                    )
        except Wrong as wrong:
            wrong.report(diagnosis)
    return adjacency


def declared_parameters(program: ast.Program, wanted: Iterable[str]) -> list[ast.Parameter]:
    """Return the parameters of a program; `UserError` if one that is wanted is not among them."""
    declared = [d for d in program.declarations if isinstance(d, ast.Parameter)]
    names = [d.name for d in declared]
    for name in wanted:
        if name not in names:
            known = f"the parameters are {', '.join(names)}" if names else "it has none"
            message = f"the program has no parameter '{name}'"
            raise UserError(message, did_you_mean(name, names, known))
    return declared


def _bind(
    program: ast.Program, overrides: Mapping[str, Fraction], diagnosis: Diagnosis
) -> dict[str, Fraction]:
    declared = declared_parameters(program, overrides)
    values: dict[str, Fraction] = {}
    for parameter in declared:
        if parameter.name in overrides:
            values[parameter.name] = Fraction(overrides[parameter.name])
        elif parameter.default is None:
            message = f"parameter '{parameter.name}' has no value"
            hint = f"give it one with -p {parameter.name}=VALUE, or a default here"
            diagnosis.report("value error", message, parameter.span, hint)
            values[parameter.name] = Fraction(1)
        else:
            try:
                values[parameter.name] = evaluate(parameter.default, values)
            except Wrong as wrong:
                wrong.report(diagnosis)
                values[parameter.name] = Fraction(1)
    return values


def _cells(
    declared: ast.Declared, domain: Domain, parameters: Mapping[str, Fraction], room: int
) -> list[core.Cell]:
    name, node, span = declared.name, declared.size, declared.span
    if node is None:
        return [core.Cell(name, name, None, domain, span=span)]
    size = evaluate_integer(node, parameters, "the size of an array")
    if size < 1:
        raise Wrong("value error", f"an array needs at least 1 element, got {size}", node.span)
    if size > room:
        hint = f"at most {domains.MOST_CELLS} input and output cells are allowed"
        raise Wrong("limit", f"{size} elements are too many", node.span, hint)
    return [core.Cell(f"{name}[{i}]", name, i, domain, span=span) for i in range(1, size + 1)]


def _domain(
    written: ast.Domain, span: Span | None, parameters: Mapping[str, Fraction], listed: bool = True
) -> Domain:
    values: dict[core.Value, None] = {}
    for element in written:
        if isinstance(element, ast.Integers):
            return AllIntegers()
        if isinstance(element, ast.Reals):
            return _reals(element, parameters)
        if not isinstance(element, ast.Range):
            values[evaluate_value(element, parameters)] = None
            continue
        hint = "all numbers between two bounds are 'real 0.5..2.5'"
        numbers = evaluate_range(element, parameters, hint)
        first, last = numbers.start, numbers.stop - 1
        if last < first:
            hint = "write the smaller end first"
            raise Wrong("value error", f"the range {first}..{last} is empty", element.span, hint)
        if last - first >= domains.LARGEST_DOMAIN and not listed and len(written) == 1:
            return AllIntegers((Fraction(first), Fraction(last)))
        if last - first >= domains.LARGEST_DOMAIN:
            raise _too_large(element.span)
        if len(written) == 1:
            return tuple(map(Fraction, numbers))
        values.update(dict.fromkeys(map(Fraction, numbers)))
    if len(values) > domains.LARGEST_DOMAIN:
        raise _too_large(span)
    return tuple(values)


def _reals(node: ast.Reals, parameters: Mapping[str, Fraction]) -> AllReals:
    if node.bounds is None:
        return AllReals()
    first = evaluate(node.bounds.first, parameters)
    last = evaluate(node.bounds.last, parameters)
    if last < first:
        message = f"there is nothing between {first} and {last}"
        raise Wrong("value error", message, node.bounds.span, "write the smaller end first")
    return AllReals((first, last))


def _too_large(span: Span | None) -> Wrong:
    return Wrong(
        "limit", f"a domain of more than {domains.LARGEST_DOMAIN} values is too large", span
    )


def evaluate_value(node: ast.Expression, constants: Mapping[str, Fraction]) -> core.Value:
    """Evaluate a constant: a named value stays its name, truth values have theirs."""
    if isinstance(node, ast.Truth):
        return truth_name(node.value)
    if isinstance(node, ast.Name) and node.name not in constants:
        return node.name
    return evaluate(node, constants)


def _rule(
    declaration: ast.AdjacentRule, parameters: Mapping[str, Fraction], cells: Sequence[core.Cell]
) -> core.Rule:
    if declaration.radius is None:
        if declaration.rule != "all":
            raise BrokenInvariant("the checker let an unknown adjacency pass")
        return core.Everyone()
    radius = evaluate(declaration.radius, parameters)
    if radius < 0:
        message = f"the radius must be >= 0, got {radius}"
        raise Wrong("value error", message, declaration.radius.span)
    if declaration.rule != core.Norm.L0.value:
        for cell in cells:
            if domains.has_names(cell.domain):
                raise Wrong(
                    "type error",
                    f"'{declaration.rule}' needs numbers, but '{cell.variable}' has named values",
                    declaration.span,
                    "use 'adjacent l0 k', 'adjacent all' or explicit pairs",
                )
    if declaration.rule == core.EUCLIDEAN:
        return core.Euclidean(radius)
    return core.Within(core.Norm(declaration.rule), radius)


def _pair(
    pair: ast.Pair,
    parameters: Mapping[str, Fraction],
    cells: Sequence[core.Cell],
    diagnosis: Diagnosis,
) -> tuple[core.Input, core.Input]:
    inputs = []
    for given in (pair.left, pair.right):
        values: list[core.Value] = []
        if len(given) != len(cells):
            message = f"an input of {len(given)} values, but the program has {len(cells)} inputs"
            diagnosis.report("value error", message, pair.span)
        for node, cell in zip(given, cells, strict=False):
            value = evaluate_value(node, parameters)
            values.append(value)
            if isinstance(cell.domain, AllReals):
                message = f"pairs of inputs are listed, but '{cell.name}' is any real"
                raise Wrong("type error", message, pair.span, "write 'adjacent linf 1'")
            if value not in cell.domain:
                message = f"{value} is not in the domain of '{cell.name}'"
                hint = f"allowed are {domains.describe_domain(cell.domain)}"
                diagnosis.report("value error", message, node.span, hint)
        inputs.append(tuple(values))
    return inputs[0], inputs[1]
