"""Walks over trees, of texts and of the core, trees with parts replaced; and walks over graphs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dipapprox.data_classes import replace
from dipapprox.language import ast
from dipapprox.source import Located

Change = Callable[[Any], Any]
"""Returns what stands for a node, or nodes; None: the node with its parts changed."""

Tree = TypeVar("Tree")
V = TypeVar("V", bound=Hashable)
T = TypeVar("T")


def nodes_in(tree: Any) -> Iterator[Any]:
    """Yield the nodes of a tree, or of a tuple of trees, outer ones first, in source order."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Located):
            yield part
            waiting += [p for p in _parts_of(part) if isinstance(p, Located | tuple)]
        elif isinstance(part, tuple):
            waiting += reversed(part)


def mention(tree: object, name: str) -> ast.Name | None:
    """Return where a name stands first in a tree, or in a tuple of trees; None if nowhere."""
    names = (node for node in nodes_in(tree) if isinstance(node, ast.Name))
    return next((node for node in names if node.name == name), None)


def _parts_of(node: Any) -> Iterator[Any]:
    """Yield what a node itself says, besides its place, last things first."""
    return (getattr(node, name) for name in reversed(type(node).__match_args__))


def statements_of(block: ast.Block) -> Iterator[ast.Statement]:
    """Yield all statements of a block, outer ones before inner ones, in source order."""
    for statement in block:
        yield statement
        match statement:
            case ast.If(branches, otherwise):
                for inner in (*(branch.body for branch in branches), otherwise):
                    yield from statements_of(inner)
            case ast.For() | ast.While() | ast.Forever():
                yield from statements_of(statement.body)


def targets_in(block: ast.Block) -> Iterator[ast.Target]:
    """Yield the targets of all assignments of a block, in source order."""
    for statement in statements_of(block):
        if isinstance(statement, ast.Assign):
            yield from statement.targets


def declared_in(program: ast.Program, kind: type[Any]) -> Iterator[tuple[ast.Declared, Any]]:
    """Yield the variables that declarations of a kind declare, each with its declaration."""
    for declaration in program.declarations:
        if isinstance(declaration, kind):
            yield from ((variable, declaration) for variable in declaration.variables)


def computed_in(node: ast.Expression) -> Iterator[ast.Computed]:
    """Yield the outermost calls and choices of an expression, from left to right."""
    match node:
        case ast.Call() | ast.Choose() | ast.Disc():
            yield node
        case _:
            for operand in operands_of(node):
                yield from computed_in(operand)


_HELD = (ast.Branch, ast.Option, ast.Range, ast.Turns)
"""Nodes that are no expressions: their parts are those of what they stand in."""


def operands_of(node: ast.Expression | ast.Statement) -> tuple[ast.Expression, ...]:
    """Return the direct parts of an expression, or those of a statement outside its blocks."""
    found: list[ast.Expression] = []
    waiting = list(_parts_of(node))
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += reversed(part)
        elif isinstance(part, _HELD):
            waiting += _parts_of(part)
        elif isinstance(part, ast.Node) and not isinstance(part, ast.Statement):
            found.append(part)  # type: ignore[arg-type]  # nothing else is left
    return tuple(found)


def rewrite(tree: Tree, change: Change) -> Tree:
    """Return a tree, or a tuple of trees, with nodes replaced from the outside in.

    A node of a tuple may be replaced by any number of nodes, a tuple.
    """
    if isinstance(tree, tuple):
        parts: list[Any] = []
        for part in tree:
            made = rewrite(part, change)
            several = isinstance(made, tuple) and not isinstance(part, tuple)
            parts += made if several else (made,)
        same = len(parts) == len(tree) and all(map(operator.is_, parts, tree))
        return tree if same else tuple(parts)  # type: ignore[return-value]  # of the same type
    if not isinstance(tree, Located):
        return tree
    found = change(tree)
    if found is not None:
        return found  # type: ignore[no-any-return]  # the caller's
    node: Any = tree
    changed: dict[str, Any] = {}
    for name in type(node).__match_args__:
        old = getattr(node, name)
        new = rewrite(old, change)
        if new is not old:
            changed[name] = new
    return replace(node, **changed) if changed else tree


def with_names(tree: Tree, values: Mapping[str, ast.Expression]) -> Tree:
    """Return a tree with expressions in the place of some names; the variables of loops hide them.

    An array is renamed if a name is in its place.
    """

    def change(node: ast.Node) -> ast.Node | None:
        match node:
            case ast.Name(name):
                return values.get(name)
            case ast.Index(name, index):
                renamed = values.get(name)
                if not isinstance(renamed, ast.Name):
                    return None
                return replace(node, name=renamed.name, index=with_names(index, values))
            case ast.For(variable, first, last, body) if variable in values:
                ends = with_names((first, last), values)
                body = with_names(body, _without(variable, values))
                return replace(node, first=ends[0], last=ends[1], body=body)
            case ast.Option(value, weight, ast.Turns(variable) as turns) if variable in values:
                inner = with_names((value, weight), _without(variable, values))
                return ast.Option(*inner, with_names(turns, values), span=node.span)
            case _:
                return None

    return rewrite(tree, change)


def _without(name: str, values: Mapping[str, ast.Expression]) -> dict[str, ast.Expression]:
    return {each: value for each, value in values.items() if each != name}


def free_name(name: str, taken: Container[object]) -> str:
    """Return a name that is not taken: one with underscores, if need be."""
    while name in taken:
        name += "_"
    return name


def reachable(starts: Iterable[V], following: Callable[[V], Iterable[V]]) -> set[V]:
    """Return the vertices, whatever they are, that some of them lead to; these are among them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        new = set(following(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def reaching(successors: Mapping[int, Iterable[int]], ends: Iterable[int]) -> set[int]:
    """Return the vertices from which one of some ends can be reached."""
    before: dict[int, list[int]] = {}
    for vertex, heads in successors.items():
        for head in heads:
            before.setdefault(head, []).append(vertex)
    return reachable(ends, lambda vertex: before.get(vertex, ()))


def solved(
    wanted: V,
    known: dict[V, T],
    parts: Callable[[V], Sequence[V]],
    joined: Callable[[V, list[T]], T],
) -> T:
    """Solve a problem, joining the solutions of its parts, which are remembered."""
    waiting = [wanted]
    while waiting:
        key = waiting[-1]
        if key in known:
            waiting.pop()
            continue
        own = parts(key)
        missing = [each for each in own if each not in known]
        if missing:
            waiting += missing
            continue
        known[key] = joined(key, [known[each] for each in own])
    return known[wanted]
