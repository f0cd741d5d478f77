"""What a running function reaches outside itself: other randomness, threads, its module's globals.

In: the frame of each function that is called while a mechanism runs. Out: why no mechanism calls
it. Modules may draw while they are imported: an import runs once, and what it leaves is fixed.
"""

from __future__ import annotations

import _random
import dis
import sys
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

RANDOMNESS = "the function uses another source of randomness"

_RANDOM_MODULES = frozenset(("random", "secrets", "uuid"))
_RANDOM_BUILTINS = frozenset(("urandom", "getrandom"))
_THREADS = frozenset(("start_new_thread", "start_new", "start_joinable_thread"))


def wrong_with(frame: FrameType, mechanism: CodeType) -> str | None:
    """Say why no mechanism calls a function; None if one may."""
    module, code = frame.f_globals.get("__name__", ""), frame.f_code
    found: str | None = None
    if module in _RANDOM_MODULES:
        found = RANDOMNESS
    elif not _THREADS.isdisjoint(code.co_names) or (module, code.co_name) == ("threading", "start"):
        found = "the function starts a thread"
    elif not _is_library(module):
        found = _wrong_with_code(frame, mechanism)
    return None if found is None or _is_importing(frame) else found


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame that is no library's."""
    while frame is not None and _is_library(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def _wrong_with_code(frame: FrameType, mechanism: CodeType) -> str | None:
    code, named = frame.f_code, frame.f_globals
    if not _RANDOM_BUILTINS.isdisjoint(code.co_names):
        return RANDOMNESS
    if _asks_types(code) and "type" not in named and _folder(code) == _folder(mechanism):
        return f"'{code.co_name}' calls 'type', which tells quantities from numbers"
    values = [named[name] for name in code.co_names if name in named]
    if any(_draws(type(value)) for value in values):
        return RANDOMNESS
    stored = _assigned_global(code)
    if stored is not None and _folder(code) == _folder(mechanism):
        return f"'{code.co_name}', which is called, assigns the global '{stored}'"
    return None


def _draws(kind: type) -> bool:
    """Whether objects of a type are generators of random numbers."""
    names = ("Generator", "RandomState", "BitGenerator")
    return any(
        base is _random.Random
        or (base.__module__.startswith("numpy.random") and base.__name__ in names)
        for base in kind.__mro__
    )


@lru_cache(maxsize=1024)
def _assigned_global(code: CodeType) -> str | None:
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return str(step.argval)
    return None


@lru_cache(maxsize=1024)
def _asks_types(code: CodeType) -> bool:
    return any(
        step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval == "type"
        for step in dis.get_instructions(code)
    )


@lru_cache(maxsize=1024)
def _folder(code: CodeType) -> Path:
    return Path(code.co_filename).parent


@lru_cache(maxsize=1024)
def _is_library(module: str) -> bool:
    top = module.partition(".")[0]
    is_ours = module.startswith("dipapprox.")
    return is_ours or top == "numpy" or (top in sys.stdlib_module_names and top != "__main__")


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
