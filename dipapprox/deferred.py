"""Modules that are loaded when something in them is first used: starting takes a while.

    __getattr__ = late_modules(__name__, "methods")     in dipapprox/exact/__init__.py

    from dipapprox.exact import methods as exact        loads nothing
    exact.Exact()                                       loads it, if nobody has

For what most runs never need. Who imports names from such a module, annotates with them or not,
loads it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


class Deferred:
    """A module by name; its attributes are those of the module.

    Args:
        name: Dotted, absolute.
    """

    __slots__ = ("_name",)

    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> object:
        found: object = getattr(import_module(self._name), attribute)
        return found

    def __setattr__(self, attribute: str, value: object) -> None:
        setattr(import_module(self._name), attribute, value)


def late_modules(package: str, *names: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that defers some of its modules (PEP 562).

    Once one of them is loaded, the package has the module itself.
    """

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return Deferred(f"{package}.{name}")

    return find
