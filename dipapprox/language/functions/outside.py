"""What a running function reaches outside itself: other randomness, threads, its module's globals.

In: the frame of each function that is called while a mechanism runs. Out: why no mechanism calls
it. Modules may draw while they are imported: an import runs once, and what it leaves is fixed.

What tells the symbols of a run from numbers is refused as well: types, identity with anything but
None, an ellipsis, a class or a sentinel, and errors of Python's own that name a class of symbols.
"""

from __future__ import annotations

import _random
import dis
import gc
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType

from dipapprox.data_classes import dataclass
from dipapprox.language.functions import arrays, identities, orders, places
from dipapprox.language.functions.endless import endless_in
from dipapprox.source import Span

RANDOMNESS = "the function uses another source of randomness"
DRAW = "draw with dipapprox.gauss, laplace or choose: their laws are known exactly"

_RANDOM_MODULES = frozenset(("random", "secrets", "uuid"))
_RANDOM_LIBRARIES = frozenset(
    [
        "opendp",
        "diffprivlib",
        "pydp",
        "snsql",
        "opacus",
        "tmlt",
        "pipelinedp",
        "torch",
        "jax",
        "tensorflow",
    ]
)
_RANDOM_BUILTINS = frozenset(("urandom", "getrandom"))
_THREADS = frozenset(("start_new_thread", "start_new", "start_joinable_thread"))


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why no mechanism calls a function.

    Attributes:
        message: What it does.
        span: Where.
        hint: What to do instead.
    """

    message: str
    span: Span | None
    hint: str = ""


def wrong_with(frame: FrameType, mechanism: CodeType) -> Wrong | None:
    """Say why no mechanism calls a function; None if one may."""
    module, code = frame.f_globals.get("__name__", ""), frame.f_code
    found: Wrong | None = None
    if module in _RANDOM_MODULES:
        found = Wrong(RANDOMNESS, _place(frame), DRAW)
    elif module.partition(".")[0] in _RANDOM_LIBRARIES:
        message = f"the function calls '{module.partition('.')[0]}', whose noise is not seen"
        found = Wrong(message, _place(frame), DRAW)
    elif not _THREADS.isdisjoint(code.co_names) or (module, code.co_name) == ("threading", "start"):
        found = Wrong("the function starts a thread", _place(frame))
    elif (package := _foreign_package(frame, mechanism)) is not None:
        message = f"the function calls '{package}', whose code is not followed"
        found = Wrong(message, _place(frame.f_back), "write what it computes in the function")
    elif not places.is_library(frame):
        found = _wrong_with_code(frame, mechanism)
    return None if found is None or _is_incidental(frame, mechanism) else found


def tells_symbols(frame: FrameType, error: BaseException, trace: TracebackType) -> bool:
    """Whether an error may be there because of symbols: by catching it, a function knows them.

    Numbers have other operations than symbols, and symbols need more of the stack. What the
    user's code raises itself is none.
    """
    if not isinstance(error, _OF_SYMBOLS) or places.is_library(frame):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    raised = _opcode(trace.tb_frame.f_code, trace.tb_lasti) == "RAISE_VARARGS"
    return not raised or places.is_library(trace.tb_frame)


_OF_SYMBOLS = (TypeError, RecursionError, MemoryError)


def _opcode(code: CodeType, offset: int) -> str:
    return dis.opname[code.co_code[offset]]


def _place(frame: FrameType | None) -> Span | None:
    """Return the place of the innermost call that no library makes, and whose source is there."""
    while frame is not None:
        found = None
        if not places.is_library(frame):
            found = places.span_of(frame.f_code, frame.f_lasti)
        if found is not None:
            return found
        frame = frame.f_back
    return None


def _wrong_with_code(frame: FrameType, mechanism: CodeType) -> Wrong | None:
    code, named = frame.f_code, frame.f_globals
    if not _RANDOM_BUILTINS.isdisjoint(code.co_names):
        return Wrong(RANDOMNESS, _place(frame), DRAW)
    if (ending := ends_process(code)) is not None:
        return Wrong(
            f"the function calls '{ending}', which ends or doubles the process", _place(frame)
        )
    values = [named[name] for name in code.co_names if name in named]
    for module in filter(None, map(_of_machine, values)):
        message = f"the function uses '{module}', which depends on more than its arguments"
        return Wrong(message, _place(frame), _ALONE)
    if any(_draws(type(value)) for value in values):
        return Wrong(RANDOMNESS, _place(frame), DRAW)
    asked = next(identities.asked_in(code, named), None)
    if asked is not None:
        return Wrong(asked.message, places.span_of(code, asked.offset), asked.hint)
    for place in orders.orders_asked_in(code, named):
        return Wrong(orders.MESSAGE, place or _place(frame), orders.HINT)
    for place in arrays.arrays_in(code, named):
        return Wrong(arrays.MESSAGE, place or _place(frame), arrays.HINT)
    if _folder(code) != _folder(mechanism):
        return None
    if (place := endless_in(code)) is not None:
        return Wrong("this goes on for ever: nothing inside it is counted", place)
    stored = _assigned_global(code)
    if stored is not None:
        message = f"'{code.co_name}', which is called, assigns the global '{stored}'"
        return Wrong(message, _place(frame))
    return None


def _foreign_package(frame: FrameType, mechanism: CodeType) -> str | None:
    """Return the installed package that a frame's code is from; None if it may be followed."""
    found = places.package_of(frame.f_code.co_filename)
    is_known = places.is_library(frame) or found == places.package_of(mechanism.co_filename)
    return None if is_known else found


def ends_process(code: CodeType) -> str | None:
    """Return what a function names that ends the process without an answer; None for nothing."""
    return next((name for name in code.co_names if name in _ENDS), None)


_ENDS = frozenset(
    ["_exit", "abort", "execl", "execle", "execlp", "execv", "execve", "execvp", "fork", "forkpty"]
)


def _draws(kind: type) -> bool:
    """Whether objects of a type are generators of random numbers."""
    names = ("Generator", "RandomState", "BitGenerator")
    return any(
        base is _random.Random
        or (base.__module__.startswith("numpy.random") and base.__name__ in names)
        for base in kind.__mro__
    )


def _of_machine(value: object) -> str | None:
    """Return the module that a value is, or is from, if it looks at the machine or the run."""
    is_module = type(value) is ModuleType
    name = getattr(value, "__name__" if is_module else "__module__", None)
    root = str(name).partition(".")[0]
    return root if root in _OF_MACHINE and (is_module or callable(value)) else None


_LOOKING = """
    ctypes gc inspect multiprocessing platform resource select signal socket subprocess time
    traceback tracemalloc weakref
"""
_OF_MACHINE = frozenset(_LOOKING.split())
_ALONE = "a mechanism depends on its arguments and draws alone"


@lru_cache(maxsize=1024)
def _assigned_global(code: CodeType) -> str | None:
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return str(step.argval)
    return None


@lru_cache(maxsize=1024)
def _folder(code: CodeType) -> Path:
    return Path(code.co_filename).parent


def _is_incidental(frame: FrameType | None, mechanism: CodeType) -> bool:
    """Whether a call is part of an import, or of the end of an object from elsewhere.

    Python ends objects whenever it likes, also those that only others knew, and tells who listens.
    """
    listening = [getattr(each, "__code__", None) for each in gc.callbacks]
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        is_end = frame.f_code.co_name == "__del__" or frame.f_code in listening
        if is_end and _folder(frame.f_code) != _folder(mechanism):
            return True
        frame = frame.f_back
    return False
