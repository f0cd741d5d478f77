"""Arrays of numpy, into which inputs and samples may be put without anybody seeing it.

In: the code of a function, and its globals. Out: where it uses numpy for more than functions of
single numbers, which refuse symbols.
"""

from __future__ import annotations

import ast
import dis
import linecache
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from types import CodeType, ModuleType
from typing import Any

from dipapprox.language.functions import places
from dipapprox.source import Span

MESSAGE = "the function uses arrays of numpy: what happens to inputs and samples there is not seen"
HINT = "lists hold inputs and samples; arrays of numbers may be made outside the function"

_FUNCTIONS = """
    abs absolute ceil e exp expm1 fabs floor hypot inf isfinite isinf isnan log log10 log1p log2
    maximum minimum mod nan pi power random rint sign sqrt square trunc
    bool_ float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64
"""
_ALLOWED = frozenset(_FUNCTIONS.split())
"""Of single numbers that are known: neither they nor what they return meets a symbol.

Other randomness has an error of its own.
"""

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def arrays_in(code: CodeType, named: Mapping[str, Any]) -> Iterator[Span | None]:
    """Yield where a function uses numpy so."""
    for name, attribute, offset in _uses(code):
        value = named.get(name)
        if not name:
            yield places.span_of(code, offset)
        elif _taken(value, attribute) not in _ALLOWED:
            yield _call_at(code, offset)


def _taken(value: object, attribute: str) -> str:
    """Return what of numpy a name takes; something harmless if nothing."""
    if type(value) is ModuleType and _is_numpy(value.__name__):
        return attribute
    if callable(value) and _is_numpy(getattr(value, "__module__", None) or type(value).__module__):
        return str(getattr(value, "__name__", ""))
    return "pi"


def _is_numpy(module: object) -> bool:
    return str(module).partition(".")[0] == "numpy"


@lru_cache(maxsize=1024)
def _uses(code: CodeType) -> tuple[tuple[str, str, int], ...]:
    """Return the names of globals that a function reads, with what it reads of them, and where.

    An import of numpy stands there as a name that is empty.
    """
    found: list[tuple[str, str, int]] = []
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for step, after in pairwise(steps):
        if step.opname == "IMPORT_NAME" and _is_numpy(step.argval):
            found.append(("", "", step.offset))
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            is_attribute = after.opname in _ATTRIBUTES
            where = after.offset if is_attribute else step.offset
            found.append((str(step.argval), str(after.argval) if is_attribute else "", where))
    return tuple(found)


def _call_at(code: CodeType, offset: int) -> Span | None:
    """Return the call of what an instruction reads, or else that."""
    line, last, column, end = list(code.co_positions())[offset // 2]
    for call in _calls("".join(linecache.getlines(code.co_filename))):
        at = call.func.lineno, call.func.end_lineno, call.func.col_offset, call.func.end_col_offset
        if at == (line, last, column, end):
            return places.span_of_node(code.co_filename, call)
    return places.span_of(code, offset)


@lru_cache(maxsize=16)
def _calls(text: str) -> tuple[ast.Call, ...]:
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the source of a cell, or of nothing
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))
