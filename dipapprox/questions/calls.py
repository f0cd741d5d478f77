"""Calls that do not fit a function's signature become `UserError`s that say how it is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import ParamSpec, TypeVar

from dipapprox.errors import UserError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def explained(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a public function answer a wrong call with an example of a right one.

    Python's own `TypeError` counts arguments, which tells nobody that numbers need their names.

    Args:
        example: A right call.

    Returns:
        A decorator of functions without *args and **kwargs.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if isinstance(function, FunctionType):
                _check(function, args, kwargs, example)
            return function(*args, **kwargs)

        return call

    return decorate


def _check(
    function: FunctionType, given: tuple[object, ...], named: dict[str, object], example: str
) -> None:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    called = function.__name__
    hint = f"for example {example}"
    if len(given) > len(positional):
        extra = " and ".join(f"'{value!s:.40}'" for value in given[len(positional) :])
        raise UserError(f"{called} takes {extra} by name only", hint)
    filled = positional[: len(given)]
    for name in named:
        if name not in names:
            raise UserError(f"{called} has no argument '{name}'", did_you_mean(name, names, hint))
        if name in filled:
            raise UserError(f"{called} was given '{name}' twice", hint)
    optional = (*positional[len(positional) - len(function.__defaults__ or ()) :],)
    optional += tuple(function.__kwdefaults__ or ())
    missing = [name for name in names if name not in {*filled, *named, *optional}]
    if missing:
        raise UserError(f"{called} needs {' and '.join(missing)}", hint)
