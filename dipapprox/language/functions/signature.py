"""The signature of a Python function as declarations, and as what it is called with.

What stands after the name in a declaration of the language is the annotation of an input, and of
the result: Annotated[list[int], "[N] in {0, 1}"]. Literal["low", "high"] and bool are domains
as well. `eps` is the privacy parameter, `delta` that of the claim; other arguments with numbers are
parameters, and the rest keep their defaults.
"""

from __future__ import annotations

import ast as python
import re
from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from inspect import BoundArguments
from itertools import groupby
from pathlib import Path
from typing import Any

from dipapprox.data_classes import replace
from dipapprox.errors import shorten
from dipapprox.language import ast
from dipapprox.language.constants import literal
from dipapprox.language.core import Cell
from dipapprox.language.declarations import Declarations
from dipapprox.language.domains import AllReals, domain_text
from dipapprox.language.functions import places
from dipapprox.language.functions.machine import (
    SCALARS,
    Array,
    Function,
    ImportedName,
    Machine,
    kind_of,
    plain,
)
from dipapprox.language.functions.paths import End
from dipapprox.language.functions.run import PathRun
from dipapprox.language.functions.symbols import (
    Condition,
    Quantity,
    Weight,
    constant,
    is_number,
    refusal,
    running_as,
)
from dipapprox.language.parser import parse
from dipapprox.language.symbols import DELTA, EPSILON
from dipapprox.language.traversal import with_names
from dipapprox.source import Span

_OUTPUT = "out"  # the name of an output that the annotation gives none


class SignatureHead:
    """The signature of a function as declarations."""

    def __init__(
        self,
        machine: Machine,
        function: Function,
        adjacent: str,
        given: Container[str] = frozenset(),
    ) -> None:
        """Read a signature; parameters that are `given` replace defaults."""
        self.parameters: list[str] = []
        self.needed: set[str] = set()
        self.weights: list[str] = []
        self._signature = function.signature
        lines: list[str] = []
        parameters: list[str] = []
        node = function.node
        span = places.span_of(node)
        taken = list(function.signature.parameters)
        for each in function.signature.parameters.values():
            name = each.name
            annotation = _hint(machine, function, each.annotation)
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                if not _domain_text(annotation):
                    continue
                hint = f'a list: {name}: Annotated[list[Quantity], "[N] in {{0, 1}}"]'
                message = f"'*{name}' cannot be an input: how many there are is not known"
                raise refusal("type error", message, hint, span)
            default: Any = each.default
            empty = default is each.empty
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
        result = _hint(machine, function, getattr(node, "returns", None))
        outputs = _domain_text(result) or _domain_of_type(result, taken, "the result", span)
        if not outputs:
            hint = '-> Annotated[int, "in {0, 1}"] says what it may return'
            if node.returns is not None and python.unparse(node.returns).startswith("tuple["):
                hint = '-> Annotated[tuple, "a in {0, 1}", "b in real"] names what it returns'
            message = f"the result of '{function.name}' has no domain"
            raise refusal("type error", message, hint, span)
        self.several = len(outputs) > 1
        for text in outputs:
            _check_domain(text, "the result", span, _NAMED_DOMAIN)
            named = text.strip() and not text.strip().startswith(("[", "in ", "in{"))
            lines.append(f"output {text if named else _OUTPUT + _spaced(text)}")
        lines.append(f"adjacent {' '.join(adjacent.split())}")
        file = "" if span is None else Path(span.source.name).name
        title = f"{file}: declarations of {function.name}"
        self.program = parse("\n".join((*parameters, *lines)), title)
        if self.program.body or len(self.program.declarations) > len(parameters) + len(lines):
            message = "an annotation, or the rule of adjacency, declares more than one thing"
            raise refusal("syntax error", message, "", span)

    def arguments(self, run: PathRun, declarations: Declarations) -> BoundArguments:
        """Return what the function is called with in a run."""
        given: dict[str, Any] = {name: Weight(ast.Name(name)) for name in self.weights}
        for name in self.parameters:
            value = declarations.parameters[name]
            given[name] = int(value) if value.denominator == 1 else value
        for name, cells in _by_variable(declarations.inputs).items():
            targets, domain = map(place_of, cells), cells[0].domain
            if isinstance(domain, AllReals):
                held: list[Any] = [Quantity(place) for place in targets]
            elif set(domain) <= {"true", "false"}:
                held = [run.truth(place) for place in targets]
            else:
                held = [run.variable(place, domain) for place in targets]
            given[name] = held[0] if cells[0].index is None else held
        found = BoundArguments(self._signature, OrderedDict(given))
        found.apply_defaults()
        return found


def _hint(machine: Machine, function: Function, node: python.expr | None) -> Any:
    """Evaluate an annotation; one that is a text holds an expression."""
    if isinstance(node, python.Constant) and type(node.value) is str:
        try:
            inner = python.parse(node.value, mode="eval").body
        except SyntaxError:
            raise machine.refusal("an annotation cannot be read") from None
        for each in python.walk(inner):
            python.copy_location(each, node)
            each.text = node.text  # type: ignore[attr-defined]  # nodes know their text
        node = inner
    with running_as(machine):
        return None if node is None else machine.evaluate(node, function.scope)


def _domain_text(hint: Any) -> list[str]:
    """Return the texts in Annotated[…, "in {0, 1}"]."""
    if not isinstance(hint, ImportedName) or hint.name != "typing.Annotated":
        return []
    return [each for each in hint.arguments[1:] if isinstance(each, str)]


def _domain_of_type(hint: Any, taken: Container[str], whose: str, span: Span | None) -> list[str]:
    """Return the text for bool and Literal["low", "high"]; nothing for other types. Texts must be
    names that mean themselves: no numbers, truth values or arguments (`taken`)."""
    if isinstance(hint, Function) and hint.standard and hint.name == "bool":
        return ["in bool"]
    if not isinstance(hint, ImportedName) or hint.name != "typing.Literal" or not hint.arguments:
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
    """Refuse what is no domain, before it is parsed as a declaration."""
    if not form.match(text):
        called = name if name.startswith("the ") else f"'{name}'"
        hint = 'for example "in {0, 1}", "in -1..1", "in real", "[N] in bool"'
        raise refusal("syntax error", f'"{text}" is no domain of {called}', hint, span)


def _spaced(text: str) -> str:
    return text if text.lstrip().startswith("[") else f" {text}"


def place_of(cell: Cell) -> ast.Target:
    if cell.index is None:
        return ast.Name(cell.variable)
    return ast.Index(cell.variable, ast.Number(Fraction(cell.index)))


# --- declarations without parameters --------------------------------------------------------------


def closed_declarations(
    declarations: Declarations, written: ast.Program
) -> tuple[ast.Declaration, ...]:
    """Return declarations without parameters: these are known."""
    values = {name: literal(value) for name, value in declarations.parameters.items()}
    others = (each for each in written.declarations if not isinstance(each, ast.Parameter))
    return tuple(with_names(each, values) for each in others)


# --- what is returned ----------------------------------------------------------------------------


def end_of(
    returned: object,
    outputs: Iterable[Cell],
    several: bool,
    span: Span | None,
    shared: dict[Any, ast.Expression],
) -> End:
    """Return the values of the output cells; equal constants are shared by all ends at a place."""
    returned, variables = plain(returned), _by_variable(outputs)
    if not several:
        parts: Sequence[object] = (returned,)
    elif isinstance(returned, tuple) and len(returned) == len(variables):
        parts = returned
    else:
        names = ", ".join(variables)
        message = f"the function must return a tuple ({names}), got {_shown(returned)}"
        raise refusal("type error", message, "", span)
    found: list[ast.Expression] = []
    for (name, cells), part in zip(variables.items(), parts, strict=True):
        known: dict[Any, ast.Expression] = {}  # many cells hold the same
        for value in _values(cells, part, span):
            key = (type(value), value) if type(value) in SCALARS else id(value)
            if key not in known:
                node = _returned(value, cells[0], span)
                scalar = type(value) in SCALARS
                known[key] = shared.setdefault((key, name, span), node) if scalar else node
            found.append(known[key])
    return dict(enumerate(found))


def _by_variable(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    return {name: list(several) for name, several in groupby(cells, lambda cell: cell.variable)}


def _values(cells: list[Cell], part: Any, span: Span | None) -> Sequence[object]:
    name, size = cells[0].variable, len(cells)
    if cells[0].index is None:
        return (part,)
    if type(part) not in (list, tuple, range, Array):
        message = f"'{name}' must be a list of {size}, got {_shown(part)}"
        raise refusal("type error", message, "", span)
    if len(part) != size:
        message = f"'{name}' must have {size} elements, got {len(part)}"
        raise refusal("value error", message, "", span)
    return part.cells if isinstance(part, Array) else part


def _returned(value: object, cell: Cell, span: Span | None) -> ast.Expression:
    domain = () if isinstance(cell.domain, AllReals) else cell.domain
    is_truth = bool(domain) and all(each in ("true", "false") for each in domain)
    if type(value) is Condition and value.known is not None:
        value = value.known
    if type(value) in (Quantity, Condition):
        symbol: Quantity | Condition = value  # type: ignore[assignment]  # exactly these
        return symbol.node if symbol.node.span else replace(symbol.node, span=span)
    if type(value) is bool and is_truth:
        return ast.Truth(value, span=span)
    if type(value) is str and value in domain:
        return ast.Name(value, span=span)
    if isinstance(value, int | Fraction):
        found: ast.Expression = constant(Fraction(value)).node
        return found
    hint = ""
    if isinstance(value, str) and domain:
        hint = f"allowed are {domain_text(domain)}"
    raise refusal("type error", f"'{cell.variable}' is returned as {_shown(value)}", hint, span)


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if type(value) in SCALARS:
        return f"the {type(value).__name__} {shorten(repr(value))}"
    return kind_of(value)
