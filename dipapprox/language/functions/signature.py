"""The signature of a Python function as declarations, and as what it is called with.

What stands after the name in a declaration of the language is the annotation of an input, and of
the result: Annotated[list[int], "[N] in {0, 1}"]. Literal["low", "high"] and bool are domains
as well. `eps` is the privacy parameter, `delta` that of the claim; other arguments with numbers are
parameters, and the rest keep their defaults.
"""

from __future__ import annotations

import ast as python
import re
from collections.abc import Container
from fractions import Fraction
from pathlib import Path
from typing import Any

from dipapprox.language import ast, core
from dipapprox.language.core import Cell
from dipapprox.language.declarations import Declarations, Variable, cells_of
from dipapprox.language.domains import AllIntegers, AllReals, Domain
from dipapprox.language.functions import places
from dipapprox.language.functions.machine import Annotation, Function, Machine, Word
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.run import PathRun
from dipapprox.language.functions.symbols import is_number, number_node, refusal
from dipapprox.language.functions.weights import Weight
from dipapprox.language.parser import parse
from dipapprox.language.symbols import DELTA, EPSILON
from dipapprox.language.traversal import with_names
from dipapprox.source import Span

_LONGEST_LIST = 3
"""Longer domains of consecutive numbers are written as ranges."""

_OUTPUT = "out"
"""The name of an output that the annotation gives none."""


class Head:
    """The signature of a function as declarations."""

    def __init__(
        self,
        machine: Machine,
        function: Function,
        adjacent: str,
        given: Container[str] = frozenset(),
    ) -> None:
        """Read a signature.

        Args:
            machine: Evaluates annotations.
            function: The function.
            adjacent: Which inputs are neighbours.
            given: The parameters that replace defaults.

        Raises:
            SourceError: If it says too little.
        """
        self.fixed: dict[str, object] = {}
        self.parameters: list[str] = []
        self.needed: set[str] = set()
        self.weights: list[str] = []
        self.placed: list[str] = []
        lines: list[str] = []
        parameters: list[str] = []
        node = function.node
        span = places.span_of(node)
        several = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        taken = [each.arg for each in several]
        self.placed = [each.arg for each in node.args.posonlyargs]
        for starred in (node.args.vararg, node.args.kwarg):
            if starred is not None and _domain_text(_hint(machine, function, starred.annotation)):
                name = starred.arg
                hint = f'a list: {name}: Annotated[list[Quantity], "[N] in {{0, 1}}"]'
                message = f"'*{name}' cannot be an input: how many there are is not known"
                raise refusal("type error", message, hint, span)
        for each in several:
            name = each.arg
            annotation = _hint(machine, function, each.annotation)
            empty = name not in function.defaults
            default: Any = function.defaults.get(name)
            domain = _domain_text(annotation)
            if empty and not domain:
                domain = _domain_of_type(annotation, taken, f"'{name}'", span)
            claimed = name == DELTA and empty and name not in given
            if name == EPSILON or (claimed and not domain):
                self.weights.append(name)
            elif domain:
                _check_domain(domain[0], name, span, _DOMAIN)
                lines.append(f"input {name}{_spaced(domain[0])}")
            elif empty:
                self.parameters.append(name)
                self.needed.add(name)
                parameters.append(f"param {name}")
            elif type(default) is not bool and is_number(default):
                self.parameters.append(name)
                parameters.append(f"param {name} = {Fraction(default)}")
            else:
                self.fixed[name] = default
        result = _hint(machine, function, getattr(node, "returns", None))
        outputs = _domain_text(result) or _domain_of_type(result, taken, "the result", span)
        if not outputs:
            raise refusal(
                "type error",
                f"the result of '{function.name}' has no domain",
                '-> Annotated[int, "in {0, 1}"] says what it may return',
                span,
            )
        self.several = len(outputs) > 1
        for text in outputs:
            _check_domain(text, "the result", span, _NAMED_DOMAIN)
            named = text.strip() and not text.strip().startswith(("[", "in ", "in{"))
            lines.append(f"output {text if named else _OUTPUT + _spaced(text)}")
        lines.append(f"adjacent {' '.join(adjacent.split())}")
        file = "" if span is None else Path(span.source.name).name
        self.program = parse(
            "\n".join((*parameters, *lines)), f"{file}: declarations of {function.name}"
        )
        if self.program.body or len(self.program.declarations) > len(parameters) + len(lines):
            message = "an annotation, or the rule of adjacency, declares more than one thing"
            raise refusal("syntax error", message, "", span)

    def arguments(
        self, run: PathRun, declarations: Declarations
    ) -> tuple[list[object], dict[str, object]]:
        """Return what the function is called with in a run: by place, and by name."""
        given = dict(self.fixed)
        for name in self.parameters:
            value = declarations.parameters[name]
            given[name] = int(value) if value.denominator == 1 else value
        for name in self.weights:
            given[name] = Weight(run, ast.Name(name), frozenset(), None)
        for variable in declarations.inputs:
            cells = [_input(run, cell) for cell in cells_of((variable,))]
            given[variable.name] = cells[0] if variable.size is None else cells
        return [given.pop(name) for name in self.placed], given


def _hint(machine: Machine, function: Function, node: python.expr | None) -> Any:
    """Evaluate an annotation; one that is a text holds an expression."""
    if isinstance(node, python.Constant) and type(node.value) is str:
        try:
            inner = python.parse(node.value, mode="eval").body
        except SyntaxError:
            raise machine.refusal(node, "an annotation cannot be read") from None
        for each in python.walk(inner):
            python.copy_location(each, node)
            each.text = node.text  # type: ignore[attr-defined]  # ours
        node = inner
    return None if node is None else machine.evaluate(node, function.scope)


def _domain_text(hint: Any) -> list[str]:
    """Return the texts in Annotated[…, "in {0, 1}"]."""
    if not isinstance(hint, Annotation) or hint.name != "typing.Annotated":
        return []
    return [each for each in hint.arguments[1:] if isinstance(each, str)]


def _domain_of_type(hint: Any, taken: Container[str], whose: str, span: Span | None) -> list[str]:
    """Return the text for bool and Literal["low", "high"]; nothing for other types.

    Texts must be names that mean themselves: no numbers, truth values or arguments (`taken`).

    Raises:
        SourceError: If it is a Literal with other values.
    """
    if hint == Word("bool"):
        return ["in bool"]
    if not isinstance(hint, Annotation) or hint.name != "typing.Literal":
        return []
    values = [each for _, each in dict.fromkeys((type(v), v) for v in hint.arguments)]
    kinds = set(map(type, values))
    if kinds == {bool} and len(set(values)) == 2:
        return ["in bool"]
    wrong = next(filter(None, (_wrong_value(value, taken) for value in values)), None)
    if wrong is None and len(kinds) > 1:
        wrong = "numbers and names are no values of one domain"
    if wrong is not None:
        message = f"the values of {whose} are no domain: {wrong}"
        raise refusal("type error", message, _LITERALS, span)
    return [f"in {{{', '.join(map(str, values))}}}"]


def _wrong_value(value: Any, taken: Container[str]) -> str | None:
    """Say why a value cannot stand in a domain; None if it can."""
    if type(value) is int:
        return None
    if type(value) is not str:
        return "a truth value alone" if type(value) is bool else f"{value!r}"
    if not value.isidentifier():
        return f"{value!r} is no name"
    if value in taken:
        return f"{value!r} is an argument, too"
    return f"{value!r} means something else" if value.lower() in _MEANT else None


_LITERALS = 'Literal[…] has whole numbers, or names as in Literal["low", "high"], or True and False'

_MEANT = ("true", "false", "real", "int", "bool", "eps", "delta")
"""What a declaration takes for something else."""


_DOMAIN = re.compile(r"\s*(\[[^\]]*\])?\s*in\b")
_NAMED_DOMAIN = re.compile(rf"\s*((?!in\b)\w+)?{_DOMAIN.pattern}")


def _check_domain(text: str, name: str, span: Span | None, form: re.Pattern[str]) -> None:
    """Refuse what is no domain, before it is parsed as a declaration.

    Raises:
        SourceError: If it has no 'in'.
    """
    if not form.match(text):
        called = name if name.startswith("the ") else f"'{name}'"
        hint = 'for example "in {0, 1}", "in -1..1", "in real", "[N] in bool"'
        raise refusal("syntax error", f'"{text}" is no domain of {called}', hint, span)


def _spaced(text: str) -> str:
    return text if text.lstrip().startswith("[") else f" {text}"


def _input(run: PathRun, cell: Cell) -> Quantity | Condition:
    place: ast.Target = ast.Name(cell.variable)
    if cell.index is not None:
        place = ast.Index(cell.variable, ast.Number(Fraction(cell.index)))
    if isinstance(cell.domain, AllReals):
        return run.random(place)
    if set(cell.domain) <= {"true", "false"}:
        return run.truth(place)
    return run.variable(place, cell.domain)


# --- declarations without parameters --------------------------------------------------------------


def closed_declarations(
    declarations: Declarations, written: ast.Program, span: Span | None
) -> tuple[ast.Declaration, ...]:
    """Return declarations without parameters.

    Args:
        declarations: With their values.
        written: The same, as written.
        span: Where they stand.
    """
    found: list[ast.Declaration] = []
    for variable in declarations.inputs:
        found.append(
            ast.Input((_variable(variable, span),), _domain(variable.domain, span), span=span)
        )
    for variable in declarations.outputs:
        found.append(
            ast.Output((_variable(variable, span),), _domain(variable.domain, span), span=span)
        )
    match declarations.adjacency:
        case core.Everyone():
            found.append(ast.AdjacentRule("all", None, span=span))
        case core.Within(norm, radius):
            found.append(ast.AdjacentRule(norm.value, number_node(radius), span=span))
        case core.Listed(text=str()):
            values = {n: number_node(v) for n, v in declarations.parameters.items()}
            rules = (ast.AdjacentWhere, ast.AdjacentRule)
            listed = [each for each in written.declarations if isinstance(each, rules)]
            found += with_names(tuple(listed), values)
        case core.Listed(pairs):
            rows = (ast.Pair(_row(left), _row(right), span=span) for left, right in pairs)
            found.append(ast.AdjacentPairs(tuple(rows), span=span))
    return tuple(found)


def _variable(variable: Variable, span: Span | None) -> ast.Declared:
    size = None if variable.size is None else ast.Number(Fraction(variable.size))
    return ast.Declared(variable.name, size, span=span)


def _domain(domain: Domain, span: Span | None) -> ast.Domain:
    if isinstance(domain, AllReals):
        bounds = None
        if domain.bounds is not None:
            bounds = ast.Range(*map(number_node, domain.bounds), span=span)
        if isinstance(domain, AllIntegers):
            return (ast.Integers(span=span),)
        return (ast.Reals(bounds, span=span),)
    first, last = domain[0], domain[-1]
    if (
        len(domain) > _LONGEST_LIST
        and isinstance(first, Fraction)
        and first.denominator == 1
        and domain == tuple(first + k for k in range(len(domain)))
    ):
        return (ast.Range(number_node(first), _value(last), span=span),)
    return tuple(map(_value, domain))


def _row(row: core.Input) -> tuple[ast.Expression, ...]:
    return tuple(map(_value, row))


def _value(value: core.Value) -> ast.Expression:
    if isinstance(value, str):
        return ast.Truth(value == "true") if value in ("true", "false") else ast.Name(value)
    return number_node(value)


def names_in(declarations: Declarations) -> frozenset[str]:
    """Return the names that declarations take."""
    variables = (*declarations.inputs, *declarations.outputs)
    return frozenset(variable.name for variable in variables) | texts_in(declarations)


def texts_in(declarations: Declarations) -> frozenset[str]:
    """Return the named values of inputs and outputs."""
    variables = (*declarations.inputs, *declarations.outputs)
    return frozenset(
        value
        for variable in variables
        if not isinstance(variable.domain, AllReals)
        for value in variable.domain
        if isinstance(value, str)
    )
