"""Surface trees with some of their parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dipapprox.data_classes import replace
from dipapprox.language import ast
from dipapprox.source import SourceFile, Span

Change = Callable[[Any], Any]
"""Returns what stands for a node; None: the node with its parts changed."""

Node = TypeVar("Node")

_LEAVES = (str, Span, SourceFile, int)


def rewrite(node: Node, change: Change) -> Node:
    """Return a tree, or a tuple of trees, with nodes replaced from the outside in."""
    if isinstance(node, tuple):
        parts = tuple(rewrite(part, change) for part in node)
        same = all(new is old for new, old in zip(parts, node, strict=True))
        return node if same else parts  # type: ignore[return-value]  # of the same type
    slots: tuple[str, ...] | None = getattr(node, "__slots__", None)
    if isinstance(node, _LEAVES) or not slots or not _is_tree(node):
        return node
    found = change(node)
    if found is not None:
        return found  # type: ignore[no-any-return]  # the caller's
    changed = {}
    for name in slots:
        old = getattr(node, name)
        new = rewrite(old, change)
        if new is not old:
            changed[name] = new
    return replace(node, **changed) if changed else node  # type: ignore[type-var]  # data classes


def nodes_in(tree: Any) -> Iterator[Any]:
    """Yield the nodes of a tree, or of a tuple of trees, outer ones first, in source order."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from nodes_in(part)
    elif _is_tree(tree):
        yield tree
        for name in tree.__slots__:
            yield from nodes_in(getattr(tree, name))


def with_names(tree: Node, values: dict[str, ast.Expression]) -> Node:
    """Return a tree with expressions in the place of some names."""
    return rewrite(tree, lambda node: values.get(node.name) if isinstance(node, ast.Name) else None)


def _is_tree(node: object) -> bool:
    return type(node).__module__ in _MODULES


_MODULES = (ast.__name__, ast.Number.__module__)
