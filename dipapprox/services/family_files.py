"""Families of relations as JSON files: `prove --families`.

    {"step": 2, "steps": 1, "equal": true,
     "families": [{"state": [1, 0, 0], "data": 1, "levels": [[], [[[1, 0, 0], [1, 1, 1]]]]}]}

A state is the values of the cells in the order of their declaration; levels are rel[0], …,
rel[steps], lists of pairs of states. Without "state" and "data" a family is for all others. "equal"
adds every state with itself. Or each pair has a budget of its own, at most that of the whole:

    {"budget": 2, "equal": true, "families": [{"budgets": [[[1, 0, 0], [1, 1, 1], 2]]}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from dipapprox.errors import UserError, shorten
from dipapprox.language.core import Cell, Value
from dipapprox.language.domains import admits
from dipapprox.language.load import read_text
from dipapprox.language.services import Service
from dipapprox.language.values import exact_rational
from dipapprox.services.families import Budgets, Families
from dipapprox.services.model import State

_MOST_STEPS = 1000
_LARGEST = 50 * 2**20  # bytes


def read_families(path: Path, service: Service) -> Families:
    """Read a file of families; `UserError` if it is malformed, or does not suit the service."""
    try:
        content = json.loads(read_text(path, _LARGEST), parse_float=str)
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is not JSON: {error}") from None
    return _Reader(service, str(path)).families(content)


class _Reader:
    def __init__(self, service: Service, name: str) -> None:
        self._cells = [state.cell for state in service.states]
        self._data = service.data.arguments[0]
        self._name = name

    def _wrong(self, where: str, what: str) -> UserError:
        return UserError(f"{self._name}: {where}: {what}")

    def families(self, content: object) -> Families:
        parts = isinstance(content, dict) and "budget" in content
        sizes = {"budget"} if parts else {"step", "steps"}
        whole = self._object(content, "$", {*sizes, "equal", "families"}, {"equal"})
        size = "budget" if parts else "step"
        step = exact_rational(whole[size], f"{self._name}: $.{size}")
        steps, equal = whole.get("steps", 1), whole.get("equal", False)
        if step < 0 or (step == 0 and not parts):
            raise self._wrong(f"$.{size}", f"expected a number >{'=' if parts else ''} 0")
        if not isinstance(steps, int) or not 0 <= steps <= _MOST_STEPS or isinstance(steps, bool):
            raise self._wrong("$.steps", f"expected a whole number from 0 to {_MOST_STEPS}")
        if not isinstance(equal, bool):
            raise self._wrong("$.equal", "expected true or false")
        common: Budgets | None = None
        named: dict[tuple[State, Value], Budgets] = {}
        content_of = "budgets" if parts else "levels"
        for place, each in enumerate(self._list(whole["families"], "$.families")):
            where = f"$.families[{place}]"
            one = self._object(each, where, {"state", "data", content_of}, {"state", "data"})
            listed = self._list(one[content_of], f"{where}.{content_of}")
            if parts:
                values = self._budgets(listed, f"{where}.budgets")
            else:
                values = self._levels(listed, step, steps, f"{where}.levels")
            family = Budgets(values, equal)
            if ("state" in one) != ("data" in one):
                raise self._wrong(where, "expected both a state and data, or neither")
            if "state" in one:
                state = self._state(one["state"], f"{where}.state")
                named[state, self._value(one["data"], self._data, f"{where}.data")] = family
            elif common is None:
                common = family
            else:
                raise self._wrong(where, "there is a family for all others already")
        return Families(step, steps, common, named)

    def _levels(
        self, levels: list[object], step: Fraction, steps: int, where: str
    ) -> dict[tuple[State, State], Fraction]:
        """Return what pairs may lose: steps as of the least level that they are in."""
        if len(levels) != steps + 1:
            raise self._wrong(where, f"expected {steps + 1}, got {len(levels)}")
        values: dict[tuple[State, State], Fraction] = {}
        for level, relation in enumerate(levels):
            for place, each in enumerate(self._list(relation, f"{where}[{level}]")):
                here = f"{where}[{level}][{place}]"
                pair = self._list(each, here)
                if len(pair) != 2:
                    raise self._wrong(here, "expected two states")
                states = self._state(pair[0], here), self._state(pair[1], here)
                values.setdefault(states, step * level)
        return values

    def _budgets(self, content: list[object], where: str) -> dict[tuple[State, State], Fraction]:
        values: dict[tuple[State, State], Fraction] = {}
        for place, each in enumerate(content):
            here = f"{where}[{place}]"
            entry = self._list(each, here)
            if len(entry) != 3:
                raise self._wrong(here, "expected two states and a number")
            pair = self._state(entry[0], here), self._state(entry[1], here)
            value = exact_rational(entry[2], f"{self._name}: {here}[2]")
            if value < 0:
                raise self._wrong(f"{here}[2]", "expected a number >= 0")
            if pair in values:
                raise self._wrong(here, "this pair has a budget already")
            values[pair] = value
        return values

    def _state(self, content: object, where: str) -> State:
        values = self._list(content, where)
        if len(values) != len(self._cells):
            raise self._wrong(where, f"expected {len(self._cells)} values, got {len(values)}")
        return tuple(self._value(v, c, where) for v, c in zip(values, self._cells, strict=True))

    def _value(self, given: object, cell: Cell, where: str) -> Value:
        value: Value
        if isinstance(given, bool):
            value = "true" if given else "false"
        elif isinstance(given, str) and admits(cell.domain, given):
            value = given
        else:
            value = exact_rational(given, f"{self._name}: {where}")
        if not admits(cell.domain, value):
            raise self._wrong(where, f"{value} is not in the domain of '{cell.name}'")
        return value

    def _list(self, content: object, where: str) -> list[object]:
        if not isinstance(content, list):
            raise self._wrong(where, f"expected a list, got {shorten(repr(content))}")
        return content

    def _object(
        self, content: object, where: str, known: set[str], optional: set[str]
    ) -> Mapping[str, object]:
        if not isinstance(content, dict):
            raise self._wrong(where, "expected an object")
        for name in content:
            if name not in known:
                raise self._wrong(where, f"unknown field '{shorten(name)}'")
        for name in sorted(known - optional):
            if name not in content:
                raise self._wrong(where, f"the field '{name}' is missing")
        return content
