"""Imports: files beside the one that imports are read, all else is a name that tables may know."""

from __future__ import annotations

import ast
import sys

from dipapprox.language.functions import library, objects
from dipapprox.language.functions.machine import Machine, Module, Scope
from dipapprox.language.functions.variables import bind


def import_module(machine: Machine, node: ast.Import, scope: Scope) -> None:
    """Do `import a.b as c`."""
    for each in node.names:
        top = each.name if each.asname else each.name.partition(".")[0]
        found = machine.load(node, top)
        if isinstance(found, Module) and "." in each.name:
            raise machine.refusal(node, "a file is imported by one name: from a import b")
        value = library.word(top) if found is None else found
        bind(machine, node, each.asname or top, value, scope)


def import_from(machine: Machine, node: ast.ImportFrom, scope: Scope) -> None:
    """Do `from a import b`."""
    name = node.module or ""
    module = machine.load(node, name) if name else None
    if module is None and node.level:
        if name:
            raise machine.refusal(node, f"there is no file '{name}.py' beside this one")
        for each in node.names:
            found = machine.load(node, each.name)
            if found is None:
                raise machine.refusal(node, f"there is no file '{each.name}.py' beside this one")
            bind(machine, node, each.asname or each.name, found, scope)
        return
    for each in node.names:
        if each.name == "*":
            if not scope.is_module:
                raise machine.refusal(node, "'import *' stands at the top of a file")
            names = library.names_in(name) if module is None else dict(module.scope.values)
            if not names:
                raise machine.refusal(node, f"what 'from {name} import *' brings is not known")
            names = {key: value for key, value in names.items() if not key.startswith("_")}
            scope.local |= names.keys()
            scope.values.update(names)
        elif module is not None:
            value = objects.attribute(machine, node, module, each.name)
            bind(machine, node, each.asname or each.name, value, scope)
        else:
            if name == "dipapprox" and not hasattr(sys.modules["dipapprox"], each.name):
                hint = library.hint_for_name(each.name)
                message = f"cannot import name '{each.name}' from 'dipapprox' into a mechanism"
                raise machine.refusal(node, message, hint)
            word = library.word(f"{name}.{each.name}")
            bind(machine, node, each.asname or each.name, word, scope)
