"""Modules that are loaded late: every name that is asked of one is there, as type checkers see it.

Type checkers read the import under TYPE_CHECKING, a run reads the text in `Deferred("…")`: both
must name one module, and what the code takes from it must exist when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = Path(__file__).parent.parent / "dipapprox"


def deferred_in(tree: ast.Module) -> dict[str, str]:
    """The names of deferred modules, with the modules that they load."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(name)],
                value=ast.Call(func=ast.Name("Deferred"), args=[ast.Constant(str() as module)]),
            ):
                found[name] = module
    return found


def imported_for_types(tree: ast.Module) -> dict[str, str]:
    """The names that are imported under TYPE_CHECKING, with what they stand for."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
            for each in node.body:
                match each:
                    case ast.Import(names):
                        found |= {a.asname or a.name: a.name for a in names}
                    case ast.ImportFrom(module, names):
                        found |= {a.asname or a.name: f"{module}.{a.name}" for a in names}
    return found


def taken_from(tree: ast.Module, names: set[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Line, name and attributes of every `name.attribute…`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            attributes, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                attributes.insert(0, inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id in names:
                yield node.lineno, inner.id, attributes


DEFERRING = [path for path in PACKAGE.rglob("*.py") if "Deferred(" in path.read_text("utf-8")]


def test_every_module_that_defers_is_read() -> None:
    assert len(DEFERRING) > 10
    assert [path.name for path in DEFERRING if not deferred_in(ast.parse(path.read_text()))] == [
        "deferred.py"
    ]


LIBRARIES = PACKAGE / "laws" / "libraries.py"
"""Defers for the other laws."""

READ = DEFERRING + [path for path in LIBRARIES.parent.glob("*.py") if path not in DEFERRING]


@pytest.mark.parametrize("path", READ, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_deferred_name_is_there(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    deferred, typed = deferred_in(tree), imported_for_types(tree)
    assert {name: typed.get(name) for name in deferred} == deferred
    if any(
        isinstance(n, ast.ImportFrom) and n.module == "dipapprox.laws.libraries" for n in tree.body
    ):
        deferred = deferred_in(ast.parse(LIBRARIES.read_text("utf-8")))
    for line, name, attributes in taken_from(tree, set(deferred)):
        found: object = import_module(deferred[name])
        for attribute in attributes:
            assert hasattr(found, attribute), f"{path}:{line}: {name} has no {attribute}"
            found = getattr(found, attribute)
            if not isinstance(found, ModuleType | type):
                break  # what objects have, types say
