"""Modules that are loaded when something in them is first used: starting takes a while.

    if TYPE_CHECKING:
        from dipapprox.exact import methods as exact
    else:
        exact = Deferred("dipapprox.exact.methods")

    exact.Exact()        # loads it, if nobody has

For what most runs never need. Who annotates with a deferred class or matches on one needs the
first branch alone, or the module itself.
"""

from __future__ import annotations

from importlib import import_module


class Deferred:
    """A module by name; its attributes are those of the module.

    Args:
        name: Dotted, absolute.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        found: object = getattr(import_module(self._name), attribute)
        return found
