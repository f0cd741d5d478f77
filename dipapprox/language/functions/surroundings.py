"""What a file of Python finds beside it, when it is run and when its functions are.

In: the global names of a file, and its folder. Out: a context in which the modules of that folder
are imported, and no others of the same names: two folders may have modules of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

_NAME = "__dipapprox_surroundings__"
_LASTING = {*sys.stdlib_module_names, "dipapprox", "__main__"}
"""Modules that are the same for all files."""


def surround(names: dict[str, Any], folder: Path) -> None:
    """Give a file its surroundings.

    Args:
        names: The global names of the file.
        folder: Where it stands, resolved.
    """
    names[_NAME] = _Surroundings(folder)


def surroundings_of(names: dict[str, Any]) -> AbstractContextManager[None]:
    """Return the context in which a file with these global names runs.

    It changes nothing for a file that was imported as modules are.
    """
    found = names.get(_NAME)
    return found.entered() if isinstance(found, _Surroundings) else nullcontext()


def has_changed(names: dict[str, Any]) -> bool:
    """Whether a module that a file imported from its folder is another one by now.

    If so, they are forgotten: the file must run again.
    """
    found = names.get(_NAME)
    return isinstance(found, _Surroundings) and found.changed()


class _Surroundings:
    """The modules of a folder that a file imported."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own: dict[str, ModuleType] = {}
        self._read: dict[str, tuple[Path, bytes]] = {}

    def changed(self) -> bool:
        """Whether a file has another text than when it was imported; all are forgotten then."""
        if all(_content(file) == content for file, content in self._read.values()):
            return False
        for name in self._read:
            sys.modules.pop(name, None)
        invalidate_caches()
        return True

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let the modules of the folder be imported, and put them away again.

        Modules of the same names that were imported from elsewhere are set aside meanwhile.
        """
        folder = self._folder
        searched = {Path(each).resolve() for each in sys.path}
        shadowed = {
            name
            for name in _modules_in(folder) - _LASTING
            if name in sys.modules and not _is_from(folder, sys.modules[name])
        }
        hidden = {name: found for name, found in sys.modules.items() if _root(name) in shadowed}
        for name in hidden:
            del sys.modules[name]
        before = set(sys.modules)
        sys.modules.update(self._own)
        sys.path.insert(0, str(folder))
        try:
            yield
        finally:
            if str(folder) in sys.path:
                sys.path.remove(str(folder))
            found = [name for name in sys.modules if name not in before]
            roots = {_root(name) for name in found} - _LASTING
            own = {root for root in roots if _is_from(folder, sys.modules.get(root))}
            if folder in searched:  # what all files find there is nobody's in particular
                own &= shadowed
            for name in found:
                file = getattr(sys.modules[name], "__file__", None)
                if file and folder in Path(file).resolve().parents:
                    self._read[name] = Path(file), _content(Path(file))
            self._own = {name: sys.modules.pop(name) for name in found if _root(name) in own}
            sys.modules.update(hidden)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # it is gone


def _modules_in(folder: Path) -> set[str]:
    packages = {each.parent.name for each in folder.glob("*/__init__.py")}
    return packages | {each.stem for each in folder.glob("*.py")}


def _root(name: str) -> str:
    return name.partition(".")[0]


def _is_from(folder: Path, module: ModuleType | None) -> bool:
    """Tell whether a module that is in no package was found in a folder."""
    file = getattr(module, "__file__", None)
    places = [Path(file)] if file else [Path(each) for each in getattr(module, "__path__", ())]
    return any(
        folder in (place.resolve().parent, place.resolve().parent.parent) for place in places
    )
