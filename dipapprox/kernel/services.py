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
from dataclasses import dataclass, replace
from fractions import Fraction

from dipapprox.kernel.adjacency import Domain, Range, Value
from dipapprox.kernel.errors import BadProof, NotProved
from dipapprox.kernel.expressions import probabilities
from dipapprox.kernel.machine import Block, Tree, read_block, read_cell, read_value
from dipapprox.kernel.paths import CERTAIN, Path, Read, Ways
from dipapprox.kernel.reading import as_list, as_name, as_record, as_word
from dipapprox.kernel.shown import NOTHING, Shown
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.states import copied
from dipapprox.kernel.walk import Where

MOST_CALLS = 20_000
"""With their arguments."""

Arguments = tuple[Value | None, ...]
"""None stands for any integer of a range."""


@dataclass(frozen=True, slots=True)
class Call:
    """One kind of call; its arguments have finite domains."""

    name: str
    arguments: tuple[tuple[str, tuple[Value, ...]], ...]
    seen: bool
    body: Block


@dataclass(frozen=True, slots=True)
class Service:
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
    if len(set(own)) < len(own) or ways > MOST_CALLS or not isinstance(record["seen"], bool):
        raise BadProof("a name twice, too many arguments, or a call that is not seen or unseen")
    name, body = as_name(record["name"], "a call"), read_block(record["body"])
    return Call(name, tuple(arguments), record["seen"], body)


class Calls(Ways):
    """Follows calls, where signs are known."""

    def __init__(self, service: Service, signs: Signs) -> None:
        super().__init__()
        self._service = service
        self._signs = signs
        self._shown = Shown(service.replies, signs)

    def paths(
        self, call: Call, store: Mapping[str, Value], held: Sequence[str], given: Arguments
    ) -> list[Path]:
        """Return the paths of a call; atoms 0, 1, … are what cells held, then the arguments."""
        start, names = self.unchanged(store, held), [*store, *held]
        for (name, _), value in zip(call.arguments, given, strict=True):
            start.store[name] = start.fresh(Read(name)) if value is None else value
        found = self.through(call.body, start)
        for path in found:
            after = path.store
            if call.seen:
                path.said = tuple([after.get(name, NOTHING) for name, _ in self._service.replies])
            if not after.keys() >= set(names):
                raise NotProved("a call leaves nothing in a cell")
            path.store = {name: after[name] for name in names}
        return found

    def exactly(
        self, call: Call, store: Mapping[str, Value], held: Sequence[str], given: Arguments
    ) -> list[Path]:
        """Return paths without samples, one for all that ends with the same values.

        Their weights are probabilities, exactly: samples are integrated out. What is held is
        neither read nor assigned.
        """
        found, total = [], CERTAIN.scaled(Fraction(-1))
        size = len(self._service.replies) * call.seen
        begun = dict(store)
        begun |= {n: v for (n, _), v in zip(call.arguments, given, strict=True) if v is not None}
        chances = self._shown.chances(call.body, begun, [None] * size, [*store], held)
        for told, weight in chances.items():
            path = self.unchanged(dict(zip(store, told[size:], strict=True)), held)
            found.append(replace(path, said=told[:size], weight=weight))
            total = total + weight
        if not total.numerator.is_zero():
            raise NotProved("a reply is none of its values")
        return found

    def _choose(
        self, state: Path, target: Tree, options: Sequence[Tree], proportional: bool, where: Where
    ) -> list[Path]:
        found = []
        weights = probabilities(options, proportional, self._signs, state.store, self._turn)
        for (_, tree, _), weight in zip(options, weights, strict=True):
            if not self._signs.is_zero(weight.numerator):
                after = replace(state, store=copied(state.store), weight=state.weight * weight)
                self._assign(after, self._name(target, state), self._value(tree, state))
                found.append(after)
        return found
