"""Files of Python: `module.py:name` names a mechanism in a file.

Loading such a file runs it, as importing it would.
"""

from __future__ import annotations

import linecache
import sys
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from dipapprox.errors import LimitReached, SourceError, UserError, did_you_mean
from dipapprox.language.functions import outside, places
from dipapprox.language.functions.equivalents import with_hints
from dipapprox.language.functions.mechanism import Mechanism
from dipapprox.language.functions.surroundings import has_changed, surround, surroundings_of
from dipapprox.source import Diagnostic, SourceFile, Span


def read_mechanism(path: Path, text: str, name: str) -> Mechanism[Any, Any]:
    """Run a Python file and return one of its mechanisms.

    Args:
        path: Of the file.
        text: What stands in it.
        name: Of the mechanism; empty if it is the only one.

    Raises:
        SourceError: If the file fails, at the line where it does.
        UserError: If there is no such mechanism.
    """
    defined = mechanisms_in(path, text)
    if not name and len(defined) == 1:
        return next(iter(defined.values()))
    listed = f"the mechanisms are {', '.join(defined)}"
    if name in defined:
        return defined[name]
    if not defined:
        hint = '@dipapprox.mechanism(adjacent="linf 1") makes a function one'
        raise UserError(f"'{path}' defines no mechanism", hint)
    if not name:
        raise UserError(f"'{path}' defines several mechanisms", f"{listed}: {path}:NAME")
    raise UserError(f"'{path}' has no mechanism '{name}'", did_you_mean(name, defined, listed))


def mechanisms_in(path: Path, text: str) -> dict[str, Mechanism[Any, Any]]:
    """Run a Python file and return its mechanisms by name.

    Raises:
        SourceError: If the file fails, at the line where it does.
    """
    found = vars(_run(str(path), text))
    return {name: value for name, value in found.items() if isinstance(value, Mechanism)}


def _run(path: str, text: str) -> ModuleType:
    """Run a file, as a module of its own that finds what stands beside it.

    It runs once, until it or a module that it imports from its folder changes.
    """
    found = _run_once(path, text)
    if has_changed(vars(found)):
        _run_once.cache_clear()
        found = _run_once(path, text)
    return found


@lru_cache(maxsize=32)
def _run_once(path: str, text: str) -> ModuleType:
    """Run a file once. No other file finds its surroundings: names may occur in two folders."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        code = compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _syntax_error(SourceFile(path, text), error) from None
    except ValueError as error:
        raise UserError(f"'{path}' is no Python file: {error}") from None
    if (ending := outside.ends_process(code)) is not None:
        raise UserError(f"'{path}' calls '{ending}', which ends the process without an answer")
    module = ModuleType(f"mechanisms of {Path(path).stem}")
    module.__file__ = path
    surround(vars(module), Path(path).resolve().parent)
    sys.modules[module.__name__] = module  # where data classes and pickles look for it
    try:
        with surroundings_of(vars(module)), redirect_stdout(sys.stderr):
            exec(code, vars(module))
    except (SourceError, LimitReached, KeyboardInterrupt):
        raise
    except UserError as error:
        span = places.span_behind(error.__traceback__)
        raise SourceError([Diagnostic("error", error.message, span, error.hint)]) from None
    except (Exception, SystemExit) as error:
        message = f"the file fails: {type(error).__name__}: {error}"
        span = places.span_behind(error.__traceback__)
        raise with_hints(SourceError([Diagnostic("error", message, span)])) from None
    return module


def _syntax_error(source: SourceFile, error: SyntaxError) -> SourceError:
    lines = source.text.split("\n")
    line = min(max(error.lineno or 1, 1), len(lines))
    start = sum(len(each) + 1 for each in lines[: line - 1]) + max((error.offset or 1) - 1, 0)
    span = Span(source, start, start + 1)
    return SourceError([Diagnostic("syntax error", str(error.msg), span, "this is read as Python")])
