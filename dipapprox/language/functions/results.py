"""What a Python function returned, as the values of output cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dipapprox.errors import shorten
from dipapprox.language import ast
from dipapprox.language.declarations import Variable
from dipapprox.language.domains import AllReals, domain_text
from dipapprox.language.functions.machine import SCALARS, Object
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.symbols import number_node, refusal
from dipapprox.language.functions.trees import End
from dipapprox.language.functions.values import kind_of
from dipapprox.source import Span


def end_of(
    returned: object, outputs: tuple[Variable, ...], several: bool, span: Span | None
) -> End:
    """Return the values of the output cells."""
    if isinstance(returned, Object) and returned.kind.kind == "named":
        returned = tuple(returned.values[name] for name in returned.kind.fields)
    if not several:
        parts: Sequence[object] = (returned,)
    elif isinstance(returned, tuple) and len(returned) == len(outputs):
        parts = returned
    else:
        names = ", ".join(v.name for v in outputs)
        message = f"the function must return a tuple ({names}), got {_shown(returned)}"
        raise refusal("type error", message, "", span)
    end: dict[ast.Target, ast.Expression] = {}
    for variable, part in zip(outputs, parts, strict=True):
        for place, value in _places(variable, part, span):
            end[place] = _returned(value, variable, span)
    return end


def _places(
    variable: Variable, part: object, span: Span | None
) -> Iterator[tuple[ast.Target, object]]:
    if variable.size is None:
        yield ast.Name(variable.name, span=span), part
        return
    if type(part) not in (list, tuple, range) or not isinstance(part, Sequence):
        message = f"'{variable.name}' must be a list of {variable.size}, got {_shown(part)}"
        raise refusal("type error", message, "", span)
    if len(part) != variable.size:
        message = f"'{variable.name}' must have {variable.size} elements, got {len(part)}"
        raise refusal("value error", message, "", span)
    for i, value in enumerate(part, start=1):
        yield ast.Index(variable.name, ast.Number(Fraction(i)), span=span), value


def _returned(value: object, variable: Variable, span: Span | None) -> ast.Expression:
    is_truth = not isinstance(variable.domain, AllReals) and set(variable.domain) <= {
        "true",
        "false",
    }
    if type(value) is Condition and value.known is not None:
        value = value.known
    if type(value) in (Quantity, Condition):
        symbol: Quantity | Condition = value  # type: ignore[assignment]  # exactly these
        return symbol.node
    if type(value) is bool and is_truth:
        return ast.Truth(value, span=span)
    domain = () if isinstance(variable.domain, AllReals) else variable.domain
    if type(value) is str and value in domain:
        return ast.Name(value, span=span)
    if isinstance(value, int | Fraction):
        return number_node(Fraction(value), span)
    hint = ""
    if isinstance(value, str) and domain:
        hint = f"allowed are {domain_text(domain)}"
    raise refusal("type error", f"'{variable.name}' is returned as {_shown(value)}", hint, span)


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if type(value) in SCALARS:
        return f"the {type(value).__name__} {shorten(repr(value))}"
    return kind_of(value)
