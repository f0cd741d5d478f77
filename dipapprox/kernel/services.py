"""Services: machines that answer calls for ever, and what a call may end with.

    service    {"cells": [[name, value], …], "replies": [cell, …], "calls": [call, …],
                "change": "insert" | "replace"}
    call       {"name": name, "arguments": [cell, …], "seen": boolean, "body": block}

Cells, blocks and values are those of `machine`; the domain of a reply may be any number, that of an
argument is finite. `cells` last from call to call and begin with these values. Every call begins
with its arguments assigned and with replies that hold nothing, runs its body to the end or to an
`exit`, and keeps the `cells` only. Whoever compares two runs chooses the next call after all that
was seen before, and sees of a call that is `seen` what the replies hold, if anything; of others,
nothing. The first call brings data, unseen. Two runs are adjacent if one has one such call more
("insert"), or one such call has other arguments ("replace"); all else is called alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from dipapprox.kernel.errors import BadProof, NotProved, Refused, spend
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.forms import Form, Stored
from dipapprox.kernel.forward import Ended, Run, State
from dipapprox.kernel.machine import (
    Adjacency,
    Block,
    Domain,
    Machine,
    Range,
    Value,
    read_block,
    read_cell,
    read_value,
)
from dipapprox.kernel.measures import Measure
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.paths import CERTAIN, IMPOSSIBLE, Path, Read, Ways
from dipapprox.kernel.reading import as_flag, as_list, as_name, as_number, as_record, as_word
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.walk import form_of

MOST_CALLS = 20_000  # with their arguments
Arguments = tuple[Value | None, ...]  # None stands for any integer of a range
NOTHING = ""  # what a cell shows that is not assigned; no value has this name
Condition = tuple[str, Value]  # a relation, and what something is compared with


class Call(NamedTuple):
    """One kind of call; its arguments have finite domains."""

    name: str
    arguments: tuple[tuple[str, tuple[Value, ...]], ...]
    seen: bool
    body: Block


class Service(NamedTuple):
    """Such a machine; `inserts` if one of two adjacent runs has one call more."""

    cells: tuple[tuple[str, Value], ...]
    replies: tuple[tuple[str, Domain], ...]
    calls: tuple[Call, ...]
    inserts: bool


def read_service(json: object) -> Service:
    """Read a service."""
    record = as_record(json, "service", ("cells", "replies", "calls", "change"))
    cells = []
    for each in as_list(record["cells"], "cells"):
        name, value = as_list(each, "a cell", 2)
        cells.append((as_name(name, "a cell"), read_value(value)))
    replies = [read_cell(each) for each in as_list(record["replies"], "replies")]
    if any(isinstance(domain, Range) and domain != Range(None, None) for _, domain in replies):
        raise BadProof("a reply is any number, or has finitely many values")
    names = [name for name, _ in (*cells, *replies)]
    calls = [_call(each, names) for each in as_list(record["calls"], "calls")]
    if not calls or calls[0].seen or len({call.name for call in calls}) < len(calls):
        raise BadProof("the first call brings data, and is not seen; or a name twice")
    inserts = as_word(record["change"], "a change", ("insert", "replace")) == "insert"
    return Service(tuple(cells), tuple(replies), tuple(calls), inserts)


def _call(json: object, names: Sequence[str]) -> Call:
    record = as_record(json, "a call", ("name", "arguments", "seen", "body"))
    arguments, ways = [], 1
    for name, domain in map(read_cell, as_list(record["arguments"], "arguments")):
        if isinstance(domain, Range):
            raise BadProof("an argument is any number")
        arguments.append((name, domain))
        ways *= len(domain)
    own = [*names, *(name for name, _ in arguments)]
    if len(set(own)) < len(own) or ways > MOST_CALLS:
        raise BadProof("a name twice, or too many arguments")
    name, body = as_name(record["name"], "a call"), read_block(record["body"])
    return Call(name, tuple(arguments), as_flag(record["seen"], "'seen'"), body)


class Shown(Run):
    """Runs blocks forward, for how likely it is what some cells show in the end.

    Ends of runs are disjoint and leave nothing out (`forward`). Where what is seen is so, of a
    sample an inequality, is a part of each; all samples are integrated out.

    Args:
        cells: These cells, and what they may hold.
        kept: Cells that hold values in the end.
        unknown: Cells that are neither read, assigned nor forgotten.
        signs: Of weights.
        silent: What a cell shows that holds nothing; None: each holds something.
    """

    def __init__(
        self,
        cells: Sequence[tuple[str, Domain]],
        kept: Sequence[str],
        unknown: Sequence[str],
        signs: Signs,
        silent: str | None = NOTHING,
    ) -> None:
        super().__init__(Machine((), (), (), Adjacency("all"), ()), signs, Graph())
        self._cells, self._kept, self._unknown = cells, kept, frozenset(unknown)
        self._silent = silent
        self._seen: Sequence[Condition | None] = ()

    def chances(
        self, block: Block, store: Mapping[str, Value], seen: Sequence[Condition | None]
    ) -> dict[tuple[Value, ...], Ratio]:
        """Return how likely it is that the first cells show what is seen; and what is kept.

        If it is None what a cell shows, it is told, first: of samples each value of the domain.
        """
        self._ended, self._seen = [], seen
        start = State(dict(store), Measure(self.graph.one), ((),))
        self._block((*block, ("exit",)), [start])
        sums: dict[tuple[Value, ...], list[Node]] = {}
        for end in self._ended:
            sums.setdefault(end.finite, []).append(end.measure.scalar)
        values = exact_values(self.graph, chain(*sums.values()), self._signs)
        return {told: sum((values[n] for n in own), IMPOSSIBLE) for told, own in sums.items()}

    def _forget(self, state: State, names: Sequence[str]) -> None:
        if any(name in self._unknown for name in names):
            raise NotProved("a cell that has no value is forgotten")
        super()._forget(state, names)

    def _end(self, state: State) -> None:
        store, kept = state.store, list[Value]()
        for name in self._kept:
            value = store.get(name)
            if value is None or isinstance(value, Form):
                raise NotProved(f"a call leaves nothing in '{name}', or it keeps a sample")
            kept.append(value)
        if any(name in store for name in self._unknown):
            raise NotProved("a cell that has no value is assigned")
        parts: list[tuple[tuple[Value, ...], Measure]] = [((), state.measure)]
        for (name, domain), wanted in zip(self._cells, self._seen, strict=False):
            shown, ways = store.get(name, self._silent), list[tuple[tuple[Value, ...], Condition]]()
            if shown is None:
                raise NotProved("what is published has no value")
            if wanted is not None:
                ways.append(((), wanted))
            elif not isinstance(shown, Form):
                ways.append(((shown,), ("=", shown)))
            elif isinstance(domain, Range):
                raise Refused("a reply is a sample that has no bounds")
            else:
                ways += [((value,), ("=", value)) for value in domain]
            parts = [
                ((*told, *own), part)
                for told, measure in parts
                for own, condition in ways
                for part in self._where(measure, shown, *condition)
            ]
            spend(20 * len(parts))
        for told, part in parts:
            scalar = self._without(part, frozenset()).scalar
            self._ended.append(Ended((*told, *kept), (), Measure(scalar), state.inputs))

    def _where(self, measure: Measure, shown: Stored, relation: str, value: Value) -> list[Measure]:
        """Return the parts of a measure where what is shown is in a relation to a value."""
        if isinstance(shown, str) or isinstance(value, str):
            return [measure] if relation == "=" and shown == value else []
        return self._assume(measure, form_of(shown).plus(Form(-Fraction(value))), relation)


def read_seen(json: object) -> Condition:
    """Read null for what holds nothing, a value, or {"least": number}, {"most": number}."""
    if not isinstance(json, dict) or "name" in json:
        return "=", NOTHING if json is None else read_value(json)
    word = "least" if "least" in json else "most"
    record = as_record(json, "what is seen", (word,))
    return {"least": ">=", "most": "<="}[word], as_number(record[word], "what is seen")


class Calls(Ways):
    """Follows calls, where signs are known; the other cells have values, some are `held`."""

    def __init__(self, service: Service, held: Sequence[str], signs: Signs) -> None:
        super().__init__()
        self._service, self._held = service, held
        self._signs: Signs = signs
        self._open = [name for name, _ in service.cells if name not in held]
        self._shown = Shown(service.replies, self._open, held, signs)

    def paths(self, call: Call, store: Sequence[Value], given: Arguments) -> list[Path]:
        """Return the paths of a call; atoms 0, 1, … are what cells held, then the arguments."""
        start = self.nothing_done(store)
        for (name, _), value in zip(call.arguments, given, strict=True):
            start.store[name] = start.fresh(Read(name)) if value is None else value
        found = self.through(call.body, start)
        for path in found:
            after = path.store
            if call.seen:
                path.said = tuple([after.get(name, NOTHING) for name, _ in self._service.replies])
            if any(name not in after for name, _ in self._service.cells):
                raise NotProved("a call leaves nothing in a cell")
            path.store = {name: after[name] for name, _ in self._service.cells}
        return found

    def exactly(self, call: Call, store: Sequence[Value], given: Arguments) -> list[Path]:
        """Return paths without samples, one for all that ends with the same values.

        Their weights are probabilities, exactly: samples are integrated out. What is held is
        neither read nor assigned.
        """
        found, total = [], CERTAIN.scaled(Fraction(-1))
        size = len(self._service.replies) * call.seen
        pairs = [*zip(self._open, store, strict=True)]
        pairs += [(n, v) for (n, _), v in zip(call.arguments, given, strict=True) if v is not None]
        chances = self._shown.chances(call.body, dict(pairs), [None] * size)
        for told, weight in chances.items():
            found.append(replace(self.nothing_done(told[size:]), said=told[:size], weight=weight))
            total = total + weight
        if not self._signs.is_zero(total.numerator):
            raise NotProved("a reply is none of its values")
        return found

    def nothing_done(self, store: Sequence[Value]) -> Path:
        """Return the path on which nothing is done."""
        return self.unchanged(dict(zip(self._open, store, strict=True)), self._held)
