"""Modules of this package are loaded when something in them is first used: starting takes a while.

    from dipapprox.exact import methods as exact        finds it
    exact.Exact()                                       loads it, if nobody has
    from dipapprox.exact.methods import Exact           loads it at once

So it is once this module is loaded: the command line and the public names see to that. Without it,
as for the kernel alone, all is loaded at once. A folder is no more than its modules: what its
`__init__.py` says is for people.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import RLock
from types import ModuleType

_loading: set[str] = set()
_ALWAYS = frozenset(("__class__", "__dict__", "__file__", "__name__", "__path__", "__spec__"))
"""What is known of a module that is not loaded."""


class Unloaded(ModuleType):
    """A module that is loaded, and then is one as any other, when something in it is used.

    Who asks while another thread loads it waits: imports have no cycles, so nobody does for ever.
    """

    def __getattribute__(self, name: str) -> object:
        known = ModuleType.__getattribute__  # another thread may have made it a plain module
        if _is_known(known(self, "__dict__"), name):
            return known(self, name)
        spec = known(self, "__spec__")
        with spec.loader_state:
            if spec.name in _loading:  # it asks itself
                return known(self, name)
            if type(self) is Unloaded:
                _loading.add(spec.name)
                try:
                    spec.loader.load(self)
                    self.__class__ = ModuleType  # type: ignore[assignment]  # a plain one
                finally:
                    _loading.remove(spec.name)
        return getattr(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not _is_known(self.__dict__, name):
            _ = self.__doc__  # loads it
        ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        _ = self.__doc__
        return [*ModuleType.__dir__(self)]


def _is_known(known: dict[str, object], name: str) -> bool:
    """Whether a module need not be loaded for an attribute, nor a folder for its modules."""
    return name in _ALWAYS or ("__path__" in known and not name.startswith("__"))


class LateImports(SourceFileLoader):
    """Finds modules for the import system (`sys.meta_path`), which are loaded late."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.startswith("dipapprox.") else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader.__class__ = cls
        return spec

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader_state = RLock()
        module.__class__ = Unloaded

    def load(self, module: ModuleType) -> None:
        super().exec_module(module)


def _place() -> int:
    """Return where to stand: before pytest, which loads what has assertions to rewrite at once."""
    found = (k for k, each in enumerate(sys.meta_path) if type(each).__module__[:7] == "_pytest")
    return next(found, sys.meta_path.index(PathFinder))


sys.meta_path.insert(_place(), LateImports)
