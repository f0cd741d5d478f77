"""Where in a Python file something stands: nodes of its tree as spans.

A tree is read by `tree_of`, which tells every node its file.
"""

from __future__ import annotations

import ast
from itertools import accumulate
from typing import Any

from dipapprox.errors import SourceError, UserError
from dipapprox.source import Diagnostic, SourceFile, Span


class _Text:
    """A file, with the offsets of its lines."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.lines = source.text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a column, which counts bytes of UTF-8."""
        text = self.lines[line - 1]
        before = column if text.isascii() else len(text.encode()[:column].decode())
        return self.starts[line - 1] + before


def tree_of(source: SourceFile) -> ast.Module:
    """Read a file.

    Raises:
        SourceError: If it is no Python.
        UserError: If it has what no file of Python has.
    """
    try:
        tree = ast.parse(source.text)
        compile(source.text, source.name, "exec", dont_inherit=True)  # says more, runs nothing
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), source.text.count("\n") + 1)
        start = sum(len(each) + 1 for each in source.text.split("\n")[: line - 1])
        start += max((error.offset or 1) - 1, 0)
        span = Span(source, start, start + 1)
        hint = "this is read as Python"
        raise SourceError([Diagnostic("syntax error", str(error.msg), span, hint)]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"'{source.name}' is no Python file: {error}") from None
    text = _Text(source)
    for node in ast.walk(tree):
        node.text = text  # type: ignore[attr-defined]  # ours
    return tree


def span_of(node: Any) -> Span | None:
    """Return where a node stands; None for no node. A function stands where its `def` does."""
    if node is None:
        return None
    known: Span | None = getattr(node, "span", None)
    if known is None:
        text: _Text = node.text
        start = text.offset(node.lineno, node.col_offset)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            end = text.starts[node.lineno] - 1
        else:
            end = text.offset(node.end_lineno, node.end_col_offset)
        known = node.span = Span(text.source, start, end)
    return known


def note_name(target: ast.expr, value: ast.AST) -> None:
    """Note that the value of an expression gets a name."""
    if isinstance(target, ast.Name):
        value.assigned = target.id  # type: ignore[attr-defined]  # ours


def name_of(node: Any) -> str | None:
    """Return the variable that the value of an expression is assigned to."""
    return getattr(node, "assigned", None)
