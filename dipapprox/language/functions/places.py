"""Where in a Python file something happens: spans of running frames and of tracebacks.

In: the stack, as it is while a function runs. Out: the `Span` of the expression that is being
computed there, so that messages about Python functions point as those about programs do.
"""

from __future__ import annotations

import ast
import dis
import linecache
import os
import sys
import sysconfig
from functools import lru_cache
from itertools import accumulate, pairwise
from types import CodeType, FrameType, TracebackType

from dipapprox.data_classes import dataclass
from dipapprox.source import SourceFile, Span

_OWN = "dipapprox"
_LIBRARIES = (_OWN, "numpy")
"""Frames of their modules are not the user's."""

_MOST_DECORATORS = 50  # lines

_STORES = ("STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL")


def here() -> Span | None:
    """Return the expression of the user's that is being computed; None without its source."""
    frame = user_frame()
    if frame is None:
        return None
    key = id(frame.f_code), frame.f_lasti
    known = _SPANS.get(key)
    if known is None:
        if len(_SPANS) >= _MOST_SPANS:
            _SPANS.clear()
        known = _SPANS[key] = frame.f_code, span_of(frame.f_code, frame.f_lasti)
    return known[1]


_MOST_SPANS = 10_000
_SPANS: dict[tuple[int, int], tuple[CodeType, Span | None]] = {}
"""Places by instructions; the code is kept, so that its identity is no other's."""


def user_frame() -> FrameType | None:
    """Return the innermost frame that is no library's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library(frame):
        frame = frame.f_back
    return frame


def line_of_user(frame: FrameType | None) -> Span | None:
    """Return the line of the innermost frame, from one on, that is no library's."""
    while frame is not None and is_library(frame):
        frame = frame.f_back
    return None if frame is None else span_of_line(frame.f_code, frame.f_lineno)


@lru_cache(maxsize=1024)
def package_of(file: str) -> str | None:
    """Return the installed package that a file belongs to; None if it is the user's own."""
    for folder in _INSTALLED:
        if file.startswith(folder):
            return file[len(folder) :].partition(os.sep)[0].removesuffix(".py")
    return None


_INSTALLED = tuple({sysconfig.get_path(kind) + os.sep for kind in ("purelib", "platlib")})


def is_own(frame: FrameType) -> bool:
    """Whether a frame runs code of this package."""
    return _root(frame.f_globals.get("__name__", "")) == _OWN


def is_library(frame: FrameType) -> bool:
    """Whether a frame runs code of this package, numpy or the standard library."""
    return _is_library(frame.f_globals.get("__name__", ""))


@lru_cache(maxsize=1024)
def _is_library(module: object) -> bool:
    root = _root(module)
    return root in _LIBRARIES or (root in sys.stdlib_module_names and root != "__main__")


@lru_cache(maxsize=1024)
def _root(module: object) -> str:
    return str(module).partition(".")[0]


def span_of(code: CodeType, offset: int) -> Span | None:
    """Return the expression of an instruction; None if the source cannot be read."""
    places = _positions(code)
    line, end_line, column, end_column = places[min(offset // 2, len(places) - 1)]
    if line is None:
        return None
    if end_line is None or column is None or end_column is None:
        return span_of_line(code, line)
    return _span(code.co_filename, line, column, end_line, end_column)


def span_of_line(code: CodeType, line: int) -> Span | None:
    """Return the text of a line of a function's file."""
    return _span(code.co_filename, line, None, line, None)


def span_of_node(file: str, node: ast.expr) -> Span | None:
    """Return the place of an expression of a file's tree."""
    end_line = node.end_lineno or node.lineno
    return _span(file, node.lineno, node.col_offset, end_line, node.end_col_offset)


def span_of_definition(code: CodeType) -> Span | None:
    """Return the line of `def`; the first line of a function is that of its first decorator."""
    first = code.co_firstlineno
    for line in range(first, first + _MOST_DECORATORS):
        span = span_of_line(code, line)
        if span is not None and span.text.startswith(("def ", "async def ")):
            return span
    return span_of_line(code, first)


def span_behind(trace: TracebackType | None) -> Span | None:
    """Return where an exception was raised: the innermost place that is no library's."""
    found: Span | None = None
    while trace is not None:
        if not is_library(trace.tb_frame):
            found = span_of(trace.tb_frame.f_code, trace.tb_lasti) or found
        trace = trace.tb_next
    return found


def assigned_name() -> str | None:
    """Return the variable that the user's running expression is about to be assigned to."""
    frame = user_frame()
    return None if frame is None else _targets(frame.f_code).get(frame.f_lasti)


@lru_cache(maxsize=256)
def _targets(code: CodeType) -> dict[int, str]:
    """Map the instructions that are followed by a store to the name that is stored."""
    instructions = list(dis.get_instructions(code))
    found: dict[int, str] = {}
    for before, after in pairwise(instructions):
        if after.opname.startswith(_STORES):  # newer versions join two instructions in one
            name = after.argval[0] if isinstance(after.argval, tuple) else after.argval
            # While a call runs, some versions point at the cache behind its instruction.
            found |= dict.fromkeys(range(before.offset, after.offset), str(name))
    return found


@lru_cache(maxsize=256)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def _span(
    file: str, line: int, column: int | None, end_line: int, end_column: int | None
) -> Span | None:
    """Return a span; columns count bytes of UTF-8, None for the line without its indentation."""
    text = _text_of(file)
    if text is None or not 1 <= line <= end_line <= len(text.lines):
        return None
    first, last = text.lines[line - 1], text.lines[end_line - 1]
    start, end = text.starts[line - 1], text.starts[end_line - 1]
    if column is None or end_column is None:
        indentation = len(first) - len(first.lstrip())
        return Span(text.source, start + indentation, start + len(first.rstrip()))
    begin, stop = _characters(first, column), _characters(last, end_column)
    return Span(text.source, start + begin, end + stop)


def _characters(line: str, count: int) -> int:
    return count if line.isascii() else len(line.encode()[:count].decode(errors="ignore"))


@dataclass(frozen=True, slots=True)
class _Text:
    """A file: its lines as `linecache` has them, without their ends, and where they begin."""

    given: list[str]
    source: SourceFile
    lines: list[str]
    starts: list[int]


_TEXTS: dict[str, _Text] = {}


def _text_of(file: str) -> _Text | None:
    given = linecache.getlines(file)
    known = _TEXTS.get(file)
    if known is not None and known.given is given:
        return known
    if not given:
        return None
    starts = [0, *accumulate(map(len, given))]
    lines = [line.rstrip("\n") for line in given]
    _TEXTS[file] = _Text(given, SourceFile(file, "".join(given)), lines, starts)
    return _TEXTS[file]
