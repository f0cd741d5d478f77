"""Services as the machines that proofs are about: the JSON that `kernel.services` reads."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from dipapprox.kernel.services import read_service
from dipapprox.language import core
from dipapprox.language.domains import AllIntegers, AllReals
from dipapprox.language.piecewise import Clamp, held_between
from dipapprox.language.services import Service, expanded
from dipapprox.proof_steps.machines import Json, block_json, cell_json, read_by, value_json
from dipapprox.source import Span


def service_json(service: Service, users: Collection[str]) -> dict[str, Json]:
    """Return a service as it is seen by some users together; none: by everybody."""
    cells: list[Json] = [[cell.name, value_json(cell.initial)] for cell in service.states]
    machine: dict[str, Json] = {
        "cells": cells,
        "replies": [_reply_json(cell) for cell in service.replies],
        "calls": [
            {
                "name": handler.name,
                "arguments": [cell_json(cell) for cell in handler.arguments],
                "seen": handler.is_seen_by(users),
                "body": block_json(expanded(handler.body, handler.clamps, _held)),
            }
            for handler in service.handlers
        ],
        "change": service.change.value,
    }
    read_by(read_service, machine, "service")
    return machine


def _reply_json(cell: core.Cell) -> Json:
    is_free = isinstance(cell.domain, AllIntegers | AllReals)
    return [cell.name, {"low": None, "high": None}] if is_free else cell_json(cell)


def _held(clamp: Clamp, value: core.Variable, span: Span | None) -> core.Statement:
    return held_between(clamp.place, value, Fraction(clamp.low), Fraction(clamp.high), span)
