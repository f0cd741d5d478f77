"""Sequences of calls of a service as people write them: "data 1, sum"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import UserError, did_you_mean, shorten
from dipapprox.language import core
from dipapprox.language.domains import AllReals, admits
from dipapprox.language.services import DATA, Change, Service
from dipapprox.language.values import parse_rational

_CALL = re.compile(r"\s*(\+?)\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\)|([^(),]*))\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call of a sequence.

    Attributes:
        name: "data", or of the query.
        values: What it carries.
        other: What it carries instead, if it is the call that may be another.
        differs: Whether it is the one that may not be made, or carry `other`.
    """

    name: str
    values: tuple[core.Value, ...]
    other: tuple[core.Value, ...] | None = None
    differs: bool = False


def read_calls(text: str, service: Service) -> tuple[PlannedCall, ...]:
    """Read a sequence of calls: "data 1, sum", "data 0, +data 1, near(3)", "data 0~1, sum".

    The data call with a plus, else the first one, is the one that may not be made; under `adjacent
    replace` it has two values.

    Raises:
        UserError: If it is none, or a call does not suit the service.
    """
    calls: list[PlannedCall] = []
    place = 0
    while place < len(text):
        match = _CALL.match(text, place)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise UserError(
                f"cannot read the calls '{shorten(text)}' at '{shorten(text[place:].strip())}'",
                "calls are written 'data 1, sum, near(3)'",
            )
        calls.append(_planned(match, service))
        place = match.end() + 1
    marked = [k for k, call in enumerate(calls) if call.differs]
    data = [k for k, call in enumerate(calls) if call.name == DATA]
    if len(marked) > 1:
        raise UserError("two calls have a plus", "one call is made or not")
    if not data:
        raise UserError("no data call: nothing differs", "calls are written 'data 1, sum'")
    chosen = (marked or [k for k in data if calls[k].other is not None] or data)[0]
    calls[chosen] = replace(calls[chosen], differs=True)
    _check_difference(calls, service)
    return tuple(calls)


def _planned(match: re.Match[str], service: Service) -> PlannedCall:
    plus, name, inside, after = match.groups()
    handlers = {handler.name: handler for handler in service.handlers}
    if name not in handlers:
        hint = did_you_mean(name, handlers, f"calls are {', '.join(handlers)}")
        raise UserError(f"the service has no call '{name}'", hint)
    if plus and name != DATA:
        raise UserError(f"'+{name}' is no data call", "only a data call may be made or not")
    arguments = handlers[name].arguments
    words = (inside if inside is not None else after).split("~")
    if len(words) > 1 and name != DATA:
        raise UserError(f"the query '{name}' has one value", "only data may differ")
    rows = []
    for word in words:
        given = [each.strip() for each in word.split(",") if each.strip()]
        if len(given) != len(arguments):
            wanted = ", ".join(cell.name for cell in arguments) or "nothing"
            raise UserError(f"'{name}' carries {wanted}, got '{shorten(word.strip())}'")
        rows.append(tuple(_value(t, c) for t, c in zip(given, arguments, strict=True)))
    if len(rows) > 2:
        raise UserError(f"'{name}' has {len(rows)} values", "two are compared: 'data 0~1'")
    return PlannedCall(name, rows[0], rows[1] if len(rows) == 2 else None, bool(plus))


def _value(text: str, cell: core.Cell) -> core.Value:
    value: core.Value = text
    if not isinstance(cell.domain, AllReals) and text not in cell.domain:
        value = parse_rational(text, f"'{cell.name}'")
    if not admits(cell.domain, value):
        raise UserError(f"{value} is not in the domain of '{cell.name}'")
    return value


def _check_difference(calls: Sequence[PlannedCall], service: Service) -> None:
    for call in calls:
        if call.other is not None and not call.differs:
            raise UserError("two calls have two values", "one call differs")
        if call.differs and (call.other is not None) != (service.change is Change.REPLACE):
            if service.change is Change.REPLACE:
                raise UserError("adjacent is replace: the data call has one value", "e.g. data 0~1")
            raise UserError("adjacent is insert: the data call has two values", "e.g. +data 1")
