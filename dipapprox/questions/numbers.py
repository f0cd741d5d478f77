"""Numbers and switches that a question asks with, one reader each; see `kinds`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from dipapprox.digits import exact_text
from dipapprox.errors import UserError, shorten
from dipapprox.language.values import exact_rational

Value = TypeVar("Value")
Reader = Callable[[Any, str], Value]
"""Takes what was given and its name; returns the value or raises `UserError`."""

_LONGEST = 10**7  # in seconds


def number(given: object, name: str) -> Fraction:
    """Read an exact number."""
    return exact_rational(given, name)


def _such(holds: Callable[[Fraction], bool], said: str) -> Reader[Fraction]:
    def read(given: object, name: str) -> Fraction:
        value = number(given, name)
        if not holds(value):
            raise UserError(f"{name} must be {said}, got {exact_text(value)}")
        return value

    return read


positive = _such(lambda value: value > 0, "> 0")
nonnegative = _such(lambda value: value >= 0, ">= 0")
probability = _such(lambda value: 0 <= value <= 1, "in [0, 1]")
share = _such(lambda value: 0 < value < 1, "in (0, 1)")


def whole(least: int, most: int | None = None, unit: str = "") -> Reader[int]:
    """Return a reader of whole numbers from `least` to `most`."""
    allowed = f">= {least}" if most is None else f"in [{least}, {most}]"
    allowed, of = (f"{allowed} {unit}", f" of {unit}") if unit else (allowed, "")

    def read(given: object, name: str) -> int:
        value = number(given, name)
        if value.denominator != 1:
            raise UserError(f"{name} must be a whole number{of}, got {exact_text(value)}")
        if value < least or (most is not None and value > most):
            raise UserError(f"{name} must be {allowed}, got {exact_text(value)}")
        return int(value)

    return read


def seconds(given: object, name: str) -> float:
    """Read a time, at most a season."""
    value = positive(given, name)
    if value > _LONGEST:
        raise UserError(f"{name} is at most {_LONGEST} seconds, got {exact_text(value)}")
    return float(value)


def flag(given: object, name: str) -> bool:
    """Read whether something is wanted."""
    match given:
        case bool():
            return given
        case "true" | "false":
            return given == "true"
        case _:
            raise UserError(f"{name} must be true or false, got {shorten(repr(given))}")
