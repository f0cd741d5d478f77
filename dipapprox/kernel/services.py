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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dipapprox.kernel.adjacency import Adjacency, Domain, Range, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, NotProved, Refused
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import form_of, probabilities
from dipapprox.kernel.integration import chance
from dipapprox.kernel.laws import Law
from dipapprox.kernel.loops import Head, absorbed
from dipapprox.kernel.machine import Block, Tree, read_block, read_cell, read_value
from dipapprox.kernel.measures import HOLDS, Form
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.paths import CERTAIN, IMPOSSIBLE, Follower, Path, Read, Sample
from dipapprox.kernel.reading import as_list, as_name, as_record, as_word
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.states import Stored, copied
from dipapprox.kernel.walk import Guard, Where, guards_of

MOST_CALLS = 20_000
"""With their arguments."""

Arguments = tuple[Value | None, ...]
"""None stands for any integer of a range."""

NOTHING = ""
"""What a reply holds that a call does not assign; no value has this name."""

Condition = tuple[str, Value]
"""A relation, and what something is compared with."""

Said = tuple[Condition, ...]

_End = tuple[Said, tuple[Value, ...]]
"""What is seen of a call, and what cells hold behind it."""

_NOTHING_READ = Rounds({}, True, Adjacency("all"), (), None, (), (), (), True, None)


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


class Calls(Follower):
    """Follows calls, where signs are known."""

    def __init__(self, service: Service, signs: Signs) -> None:
        super().__init__(_NOTHING_READ)
        self._service = service
        self._signs = signs
        self._graph = Graph()

    def paths(
        self, call: Call, store: Mapping[str, Value], held: Sequence[str], given: Arguments
    ) -> list[Path]:
        """Return the paths of a call; atoms 0, 1, … are what cells held, then the arguments."""
        start, names = self.unchanged(store, held), [*store, *held]
        for (name, _), value in zip(call.arguments, given, strict=True):
            start.store[name] = start.fresh(Read(name)) if value is None else value
        self._ended = []
        found = self._block(call.body, [start]) + self._ended
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
        shown = [None for _ in self._service.replies] if call.seen else []
        for (said, after), weight in self.ends(call, store, given, shown, held).items():
            path = self.unchanged(dict(zip(store, after, strict=True)), held)
            found.append(replace(path, said=tuple([value for _, value in said]), weight=weight))
            total = total + weight
        if not total.numerator.is_zero():
            raise NotProved("a reply is none of its values")
        return found

    def ends(
        self,
        call: Call,
        store: Mapping[str, Value],
        given: Arguments,
        shown: Sequence[Condition | None],
        held: Sequence[str] = (),
    ) -> dict[tuple[Said, tuple[Value, ...]], Ratio]:
        """Return with which probabilities replies are as is shown, and cells hold which values.

        If it is None what a reply is, it is told: a value, or of samples those of its domain.
        """
        start, sums = self.unchanged(store, held), dict[_End, list[tuple[Ratio, Node]]]()
        for path in self.paths(call, store, held, given):
            after = tuple([v for name in store if not isinstance(v := path.store[name], Form)])
            if len(after) < len(store):
                raise NotProved("a cell keeps a sample")
            if any(path.store[name] != start.store[name] for name in held):
                raise NotProved("a cell that has no value is assigned")
            parts: list[tuple[Said, tuple[Guard, ...]]] = [((), path.guards)]
            for value, (_, domain), wanted in zip(
                path.said, self._service.replies, shown, strict=False
            ):
                ways = [wanted] if wanted is not None else _conditions(value, domain)
                parts = [
                    ((*said, way), (*guards, *own))
                    for said, guards in parts
                    for way in ways
                    for own in _where(value, *way)
                ]
                spend(20 * len(parts))
            laws = {k: _law(atom) for k, atom in enumerate(path.atoms) if isinstance(atom, Sample)}
            for said, guards in parts:
                part = path.weight, chance(self._graph, laws, guards)
                sums.setdefault((said, after), []).append(part)
        nodes = {node for own in sums.values() for _, node in own}
        values = exact_values(self._graph, nodes, self._signs)
        return {key: sum((w * values[n] for w, n in own), IMPOSSIBLE) for key, own in sums.items()}

    def _loop(self, condition: Tree, body: Block, states: list[Path]) -> list[Path]:
        def head(path: Path) -> Head[Path]:
            key = frozenset(path.store.items()), path.atoms, path.guards
            return key, replace(path, weight=CERTAIN), self._graph.weight(path.weight)

        def turn(path: Path) -> tuple[Iterable[Head[Path]], list[tuple[Path, Node]]]:
            self._ended = []
            holds, fails = self._divided(condition, [path])
            going = map(head, self._block(body, holds))
            return going, [(end, head(end)[2]) for end in [*fails, *self._ended]]

        before = self._ended
        left = absorbed(self._graph, map(head, states), turn)
        values = exact_values(self._graph, [weight for _, weight in left], self._signs)
        found = [replace(path, weight=values[weight]) for path, weight in left]
        self._ended = before + [path for path in found if path.ended]
        return [path for path in found if not path.ended]

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


def _conditions(value: Stored, domain: Domain) -> list[Condition]:
    """The values that a reply may have."""
    if not isinstance(value, Form):
        return [("=", value)]
    if isinstance(domain, Range):
        raise Refused("a reply is a sample that has no bounds")
    return [("=", each) for each in domain]


def _where(value: Stored, relation: str, wanted: Value) -> list[tuple[Guard, ...]]:
    """The ways in which a value relation another one may hold."""
    if isinstance(wanted, str) or isinstance(value, str):
        return [()] if relation == "=" and value == wanted else []
    form = form_of(value).plus(Form(-Fraction(wanted)))
    if form.terms:
        return guards_of(relation, form)
    return [()] if HOLDS[relation](form.constant, 0) else []


def _law(sample: Sample) -> Law:
    if sample.mean.terms:
        raise NotProved("a mean that is random")
    return Law(sample.family, sample.mean.constant, sample.size, -1)
