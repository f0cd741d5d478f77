"""Axes of a grid: the values in a spec, as a list of texts whatever way they were written.

    value  |  [value, …]  |  { from = a, to = b, step = s }  |  { from = a, to = b, count = n }

Numbers are exact: TOML's 0.1 is 1/10 here. Ranges include both ends.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError, did_you_mean
from dipapprox.language.values import parse_rational

MOST_VALUES = 100_000
"""Most values of one range."""

_RANGE = ("from", "to", "step", "count")


@dataclass(frozen=True, slots=True)
class Axis:
    """One field of the cases, and the values that it takes, as texts, none twice."""

    name: str
    values: tuple[str, ...]


def read_axis(name: str, value: object, where: str) -> Axis:
    """Read the values of one axis.

    Args:
        name: The field.
        value: From TOML, floats as `Fraction`.
        where: Where in the spec, for messages: "grid 1: eps".

    Raises:
        UserError: If it is empty, of a wrong type, or a value comes twice.
    """
    if isinstance(value, dict):
        values = _range(value, where)
    elif isinstance(value, list):
        values = [_text(each, where) for each in value]
    else:
        values = [_text(value, where)]
    if not values:
        raise UserError(f"{where} has no values", "leave the key out, or give it at least one")
    twice = (
        next((v for k, v in enumerate(values) if v in values[:k]), None)
        if len(set(values)) < len(values)
        else None
    )
    if twice is not None:
        raise UserError(f"{where}: the value {twice} comes twice")
    return Axis(name, tuple(values))


def _text(value: object, where: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Fraction():
            return str(value)
        case str():
            if not value.strip():
                raise UserError(f"{where}: a value is empty")
            return value.strip()
        case _:
            raise UserError(
                f"{where} must be a number, a text, a list of those or a range, got {_kind(value)}",
                'a range is { from = 1, to = 5, step = 1 } or { from = "0", to = "1", count = 11 }',
            )


def _range(table: dict[str, object], where: str) -> list[str]:
    for key in table:
        if key not in _RANGE:
            hint = did_you_mean(key, _RANGE, f"a range has the keys {', '.join(_RANGE)}")
            raise UserError(f"{where}: unknown key '{key}'", hint)
    if "from" not in table or "to" not in table:
        raise UserError(f"{where}: a range needs 'from' and 'to'")
    if "step" in table and "count" in table:
        raise UserError(f"{where}: a range has either 'step' or 'count', not both")
    first, last = _number(table["from"], where), _number(table["to"], where)
    if last < first:
        raise UserError(f"{where}: the range ends at {last}, before its start {first}")
    if "count" in table:
        points = _number(table["count"], where)
        if points.denominator != 1 or points < 1 or (points == 1 and first != last):
            raise UserError(f"{where}: 'count' must be a whole number >= 2, got {points}")
        count = int(points)
        step = (last - first) / (count - 1) if count > 1 else Fraction(0)
    else:
        step = _number(table.get("step", 1), where)
        if step <= 0:
            raise UserError(f"{where}: 'step' must be > 0, got {step}")
        count = int((last - first) / step) + 1
    if count > MOST_VALUES:
        raise UserError(f"{where}: a range of {count} values; at most {MOST_VALUES} are allowed")
    return [str(first + k * step) for k in range(count)]


def _number(value: object, where: str) -> Fraction:
    match value:
        case bool():
            raise UserError(f"{where}: a range is of numbers, got a truth value")
        case int() | Fraction():
            return Fraction(value)
        case str():
            return parse_rational(value, where)
        case _:
            raise UserError(f"{where}: a range is of numbers, got {_kind(value)}")


def _kind(value: object) -> str:
    match value:
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            return f"{type(value).__name__} {value}"
