"""What the text of a Python file says by itself: where its nodes stand, which names they bind.

A tree is read by `tree_of`, which tells every node its file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import SourceError, UserError
from dipapprox.source import Diagnostic, SourceFile, Span


class _Text:
    """A file, with the offsets of its lines; `late`: annotations are not computed."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.late = sys.version_info >= (3, 14)
        self.lines = source.text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a column, which counts bytes of UTF-8."""
        text = self.lines[line - 1]
        before = column if text.isascii() else len(text.encode()[:column].decode())
        return self.starts[line - 1] + before


def tree_of(source: SourceFile) -> ast.Module:
    """Read a file; `SourceError` if it is no Python, `UserError` if it has what no file of Python
    has."""
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
        node.text = text  # type: ignore[attr-defined]  # nodes know their text
        if isinstance(node, ast.Assign):
            _note_name(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            _note_name(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            _note_name(node.target, node)
        elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
            text.late = text.late or any(each.name == "annotations" for each in node.names)
    return tree


def _note_name(target: ast.expr, value: Any) -> None:
    """Note that the value of an expression gets a name: what is drawn there may have it, too."""
    if isinstance(target, ast.Name):
        value.assigned = target.id


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


# --- which names it binds -------------------------------------------------------------------------


class Facts(Record):
    """What the text of a function says, wherever in it: the names that it binds, a `global`, and a
    `yield`, with which it makes an iterator."""

    local: frozenset[str]
    refused: ast.AST | None
    yields: ast.AST | None


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def facts_of(node: Any) -> Facts:
    """Return what the text of a function, a class or a module says; computed once."""
    known: Facts | None = getattr(node, "facts", None)
    if known is not None:
        return known
    bound, outer = set[str](), set[str]()
    refused: ast.AST | None = None
    yields: ast.AST | None = None
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        given = node.args
        several = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        bound.update(each.arg for each in several if each is not None)
    waiting = [(each, False) for each in (node.body if type(node.body) is list else [node.body])]
    while waiting:
        each, comprehends = waiting.pop()
        if isinstance(each, ast.Yield | ast.YieldFrom):
            yields = yields or each
        if isinstance(each, ast.Global):
            refused = refused or each
        if isinstance(each, ast.Global | ast.Nonlocal):
            outer.update(each.names)
        if isinstance(each, ast.NamedExpr):
            bound.add(each.target.id)
        if not comprehends:
            bound.update(_bound_by(each))
        inside = comprehends or isinstance(each, _COMPREHENSIONS)
        waiting += [(child, inside) for child in seen_in(each)]
    node.facts = known = Facts(frozenset(bound - outer), refused, yields)
    return known


def seen_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that belong to the scope that it stands in."""
    match node:
        case (
            ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given) | ast.Lambda(args=given)
        ):
            yield from given.defaults
            yield from filter(None, given.kw_defaults)
            yield from getattr(node, "decorator_list", ())
            yield from filter(acts, annotations_of(node))
        case ast.ClassDef(bases=bases, decorator_list=decorators):
            yield from (*bases, *decorators)
        case _:
            yield from ast.iter_child_nodes(node)


_NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.Load)
_TYPES = (*_NAMES, ast.BinOp, ast.BitOr)


def acts(annotation: ast.expr) -> bool:
    """Whether an annotation is no plain type: it may call, assign or yield something."""
    return not all(isinstance(part, _TYPES) for part in ast.walk(annotation))


def annotations_of(node: ast.AST) -> Iterator[ast.expr]:
    """Return the annotations that are computed where a statement is reached, in CPython's order:
    of arguments by place alone after the others."""
    given: list[Any] = []
    match node:
        case ast.AnnAssign(annotation=annotation):
            given = [annotation]
        case ast.FunctionDef(args=of, returns=returns):
            placed = (*of.args, *of.posonlyargs, of.vararg, *of.kwonlyargs, of.kwarg)
            given = [*(getattr(each, "annotation", None) for each in placed), returns]
    return (each for each in given if each is not None and not each.text.late)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.alias(name=name, asname=short):
            yield short or name.partition(".")[0]
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _ if isinstance(own := getattr(node, "name", None), str):
            yield own  # of a definition, a handler or a pattern


def returns(body: list[ast.stmt]) -> bool:
    """Whether what follows statements is never reached: they return, or raise, at their end."""
    match body:
        case [*_, ast.Return() | ast.Raise()]:
            return True
        case [*_, ast.If(body=yes, orelse=no)]:
            return returns(yes) and returns(no)
        case _:
            return False
