"""Machines: what claims are about, read from JSON, which has one canonical form.

    machine      {"inputs": [cell, …], "outputs": [cell, …], "reals": [name, …],
                  "adjacency": adjacency, "body": block}
    cell         [name, domain]
    domain       [value, …] | {"from": integer, "to": integer} | {"low": end, "high": end}
    end          number | null
    value        integer | "p/q" | {"name": word}
    adjacency    {"norm": norm, "radius": number} | {"norm": "all"}
                 | {"pairs": [[input, input], …], "one way": boolean}
    norm         "linf" | "l1" | "l0" | "increasing" | "decreasing"
    block        [statement, …]
    options      [[expression, weight], …]
    scale        [coefficient, power]

Statements, conditions, expressions and weights are lists of a word and parts, as in `FORMS`; a
value is an expression and a weight, too, and "and" and "or" have any number of conditions. A
program starts with its inputs assigned, runs the body, and ends there or at an `exit`; then every
output is assigned. Numbers are exact. `draw` is a fresh sample of the family with this mean and the
scale coefficient * eps ** power. `choose` takes a value with the probability of its weight; if the
flag is set, weights are divided by their sum first. In turn k = 0, 1, … of a `repeat`, `moving` is
the element `first` + k of an array; else k is 0. The index of an `element`, from 1 to the size, is
computed. `reals` are outputs that hold any real number. `forget` lets cells hold nothing, which
changes no run that does not read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from dipapprox.kernel.errors import BadProof, Refused, spend
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.reading import (
    as_exact,
    as_flag,
    as_integer,
    as_list,
    as_name,
    as_number,
    as_record,
    as_word,
)

Number = int | Fraction
"""Exact. Whole numbers that are read are `int`: they are compared by the million."""

Value = Number | str
Input = tuple[Value, ...]
Output = tuple[Value, ...]
Inputs = tuple[Input, Input]  # two, in this order


@dataclass(frozen=True, slots=True)
class Range:
    """All real numbers between two ends, both included; None is no end."""

    low: Fraction | None
    high: Fraction | None

    def __contains__(self, value: Value) -> bool:
        if isinstance(value, str):
            return False
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


Domain = tuple[Value, ...] | Range
NORMS = ("linf", "l1", "l0", "increasing", "decreasing")


class Adjacency(NamedTuple):
    """Which ordered pairs of different inputs are adjacent."""

    norm: str  # one of `NORMS`, "all", or "pairs"
    radius: Number = 0  # of the norm
    # Those that are listed, in both orders unless they are meant one way.
    pairs: frozenset[tuple[Input, Input]] = frozenset()

    @property
    def symmetric(self) -> bool:
        """Whether it holds in either order."""
        if self.norm == "pairs":
            return all((second, first) in self.pairs for first, second in self.pairs)
        return self.norm in ("linf", "l1", "l0", "all")

    @property
    def is_free(self) -> bool:
        """Whether what changes may do so by any amount."""
        return self.norm in ("all", "l0")

    def holds(self, first: Input, second: Input) -> bool:
        """Whether a pair of different inputs is adjacent."""
        if first == second:
            return False
        if self.norm == "pairs":
            return (first, second) in self.pairs
        return self.total(zip(first, second, strict=True)) is not None

    def total(self, changes: Iterable[tuple[Value, Value]]) -> Number | None:
        """Return what changes take of the radius together; None if they are not allowed."""
        prices = [self.price(u, v) for u, v in changes]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) and self.allows(sum(known)) else None

    def change(self, width: Fraction | None, left: Number) -> tuple[Number, Number]:
        """Return the least and the largest change of a number of a range, where others leave so
        much of the radius; None is the width of an endless range.
        """
        if self.norm == "pairs" or (self.is_free and width is None):
            raise Refused("inputs may change by any amount")
        most = left if width is None else width if self.is_free else min(left, width)
        return -most * (self.norm != "increasing"), most * (self.norm != "decreasing")

    def allows(self, price: Number) -> bool:
        """Whether all changes together may have this price."""
        return not price or price <= self.radius

    def price(self, before: Value, after: Value) -> Number | None:
        """Return what a change of one cell takes of the radius; None if no pair may have it."""
        if self.norm == "all":
            return 0
        if self.norm == "l0":
            return int(before != after)
        if isinstance(before, str) or isinstance(after, str):
            raise BadProof("named values have no distance")
        change: Number = after - before
        if self.norm == "l1":
            return max(change, -change)
        least = -self.radius * (self.norm != "increasing")
        most = self.radius * (self.norm != "decreasing")
        return 0 if least <= change <= most else None


def all_inputs(domains: Sequence[Domain]) -> Iterator[Input]:
    """Yield every input once."""
    return product(*map(_listed, domains))


def _listed(domain: Domain) -> tuple[Value, ...]:
    if isinstance(domain, Range):
        raise Refused("inputs are real numbers: nobody goes through them one by one")
    return domain


def adjacent_pairs(
    adjacency: Adjacency, domains: Sequence[Domain], by_difference: bool = False
) -> Iterator[Inputs]:
    """Yield every ordered pair of different adjacent inputs once; of numbers one of each difference
    if that is enough: what a change of a number takes of the radius depends on it alone.

    None is left out: every cell goes through all changes with a price, as long as the prices so far
    are allowed; they are >= 0.
    """
    if adjacency.norm == "pairs":
        yield from ((u, v) for u, v in sorted(adjacency.pairs, key=repr) if u != v)
        return
    changes = [changes_of(adjacency, _listed(domain), by_difference) for domain in domains]
    pending: list[tuple[Input, Input, Number]] = [((), (), 0)]
    while pending:
        first, second, spent = pending.pop()
        spend(1 + len(first) // 8)
        if len(first) < len(changes):
            for u, v, price in reversed(changes[len(first)]):
                if adjacency.allows(spent + price):
                    pending.append(((*first, u), (*second, v), spent + price))
        elif first != second:
            yield first, second


def changes_of(
    adjacency: Adjacency, domain: tuple[Value, ...], by_difference: bool = False
) -> list[tuple[Value, Value, Number]]:
    """How values may change, each time with the price of the change."""
    found: dict[object, tuple[Value, Value, Number]] = {}
    for before in domain:
        spend(2 * len(domain))
        prices = [(after, adjacency.price(before, after)) for after in domain]
        near = [(after, p) for after, p in prices if p is not None and adjacency.allows(p)]
        # They are kept.
        spend(40 * len(near))
        for after, price in near:
            key: object = before, after
            if by_difference and not (isinstance(before, str) or isinstance(after, str)):
                key = after - before
            found.setdefault(key, (before, after, price))
    return list(found.values())


DEEPEST = 400  # how deep expressions, conditions and statements may stand in each other
LARGEST_DOMAIN = 20_000
_CELLS = {"cell": ("name",), "moving": ("name", "first"), "element": ("name", "size", "expression")}

FORMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "target": _CELLS,
    "expression": {**_CELLS, **dict.fromkeys(("+", "*"), ("expression", "expression"))},
    "weight": {
        **dict.fromkeys(("+", "*"), ("weight", "weight")),
        **dict.fromkeys(("inverse", "exp", "sqrt", "log"), ("weight",)),
        **{"eps": ()} | _CELLS,
    },
    "condition": {
        **dict.fromkeys(("<", "<=", ">", ">=", "=", "!="), ("expression", "expression")),
        "and": ("conditions",),
        "or": ("conditions",),
    },
    "statement": {
        "set": ("target", "expression"),
        "draw": ("target", "family", "expression", "scale"),
        "if": ("condition", "block", "block"),
        "exit": (),
        "choose": ("target", "options", "flag"),
        "while": ("condition", "block"),
        "repeat": ("turns", "block"),
        "forget": ("names",),
    },
}
"""The words of each kind of tree, with what their parts are."""

Tree = Any  # a tuple (word, part, …), or a value
Block = tuple[Tree, ...]


class Machine(NamedTuple):
    """A program, as far as its claims are concerned; inputs have the order of their cells."""

    inputs: tuple[tuple[str, Domain], ...]
    outputs: tuple[tuple[str, tuple[Value, ...]], ...]
    reals: tuple[str, ...]
    adjacency: Adjacency
    body: Block

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Of the inputs."""
        return tuple([domain for _, domain in self.inputs])

    @property
    def finite(self) -> tuple[tuple[Value, ...], ...]:
        """Those of the inputs that are no real numbers."""
        return tuple([domain for domain in self.domains if not isinstance(domain, Range)])


def read_machine(json: object) -> Machine:
    """Read a machine that is not too large."""
    record = as_record(json, "machine", ("inputs", "outputs", "reals", "adjacency", "body"))
    inputs = tuple(read_cell(each) for each in as_list(record["inputs"], "inputs"))
    cells = [read_cell(each) for each in as_list(record["outputs"], "outputs")]
    outputs = tuple([(name, own) for name, own in cells if not isinstance(own, Range)])
    reals = tuple(as_name(each, "a real output") for each in as_list(record["reals"], "reals"))
    if len(outputs) < len(cells):
        raise BadProof("an output has a range")
    names = [name for name, _ in (*inputs, *outputs)] + list(reals)
    if len(set(names)) < len(names):
        raise BadProof("two cells of one name")
    body = read_block(record["body"])
    domains = tuple(domain for _, domain in inputs)
    return Machine(inputs, outputs, reals, read_adjacency(record["adjacency"], domains), body)


def read_input(json: object, domains: tuple[Domain, ...]) -> Input:
    """Read one value for each input cell, of its domain."""
    found = tuple(read_value(each) for each in as_list(json, "an input"))
    if len(found) != len(domains):
        raise BadProof("an input of another length")
    for value, domain in zip(found, domains, strict=True):
        spend(1 if isinstance(domain, Range) else 1 + len(domain) // 64)
        if value not in domain:
            raise BadProof(f"{value} is not in the domain of its cell")
    return found


def read_pairs(json: object, domains: tuple[Domain, ...]) -> tuple[tuple[Input, Input], ...]:
    """Read pairs of inputs."""
    pairs = [as_list(each, "a pair", 2) for each in as_list(json, "pairs")]
    return tuple([(read_input(u, domains), read_input(v, domains)) for u, v in pairs])


def read_weight(json: object) -> Tree:
    """Read a weight."""
    return _tree(json, "weight", 0)


def read_value(json: object, what: str = "a value") -> Value:
    """Read a number or a named value."""
    if isinstance(json, dict):
        return as_name(as_record(json, what, ("name",))["name"], what)
    return as_exact(json, what)


def mentions(tree: object, *words: str) -> bool:
    """Whether one of some words stands somewhere in a tree, or in several."""
    return any(word in words for word in words_in(tree))


def words_in(tree: object) -> Iterator[str]:
    """Yield all words that stand in a tree."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from words_in(part)


def compares(tree: object, names: frozenset[str]) -> bool:
    """Whether one of some words stands in a condition of a statement, or of several."""
    if not isinstance(tree, tuple):
        return False
    own = tree[:1] == ("if",) and len(tree) > 1 and not names.isdisjoint(words_in(tree[1]))
    return own or any(compares(part, names) for part in tree)


def read_cell(json: object) -> tuple[str, Domain]:
    """Read a cell with its domain."""
    name, domain = as_list(json, "a cell", 2)
    if isinstance(domain, dict) and "low" in domain:
        record = as_record(domain, "a domain", ("low", "high"))
        ends = [None if record[e] is None else as_number(record[e], e) for e in ("low", "high")]
        if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
            raise BadProof("a domain is empty")
        return as_name(name, "a cell"), Range(*ends)
    if isinstance(domain, dict):
        record = as_record(domain, "a domain", ("from", "to"))
        low, high = (as_integer(record[end], "a domain") for end in ("from", "to"))
        values: tuple[Value, ...] = tuple(range(low, min(high, low + LARGEST_DOMAIN) + 1))
    else:
        values = tuple(read_value(each) for each in as_list(domain, "a domain"))
    spend(20 * len(values))
    if not values or len(set(values)) < len(values) or len(values) > LARGEST_DOMAIN:
        raise BadProof("a domain is empty, too large, or has a value twice")
    return as_name(name, "a cell"), values


def read_block(json: object) -> Block:
    """Read statements."""
    block: Block = _part(json, "block", 1)
    return block


def read_adjacency(json: object, domains: tuple[Domain, ...]) -> Adjacency:
    """Read which inputs, with values of these domains, are adjacent."""
    if isinstance(json, dict) and "pairs" in json:
        record = as_record(json, "adjacency", ("pairs", "one way"))
        pairs = read_pairs(record["pairs"], domains)
        one_way = as_flag(record["one way"], "'one way'")
        back = () if one_way else tuple([(v, u) for u, v in pairs])
        return Adjacency("pairs", pairs=frozenset(pairs + back))
    if json == {"norm": "all"}:
        return Adjacency("all")
    record = as_record(json, "adjacency", ("norm", "radius"))
    norm = as_word(record["norm"], "a norm", NORMS)
    radius = as_exact(record["radius"], "a radius")
    if radius < 0:
        raise BadProof("a radius below 0")
    return Adjacency(norm, radius)


def _tree(json: object, kind: str, depth: int) -> Tree:
    if depth > DEEPEST:
        raise BadProof(f"a {kind} is too deep")
    if kind in ("expression", "weight") and not isinstance(json, list):
        return read_value(json)
    word, *parts = as_list(json, f"a {kind}") or [None]
    fields = FORMS[kind].get(word) if isinstance(word, str) else None
    if fields == ("conditions",):
        parts = [parts]
    if fields is None or len(parts) != len(fields) or (word == "repeat" and depth > 1):
        raise BadProof(f"not a {kind}: {word[:80] if isinstance(word, str) else 'no word'}")
    read = zip(parts, fields, strict=True)
    return (
        word,
        *[(_tree if field in FORMS else _part)(part, field, depth + 1) for part, field in read],
    )


def _part(json: object, field: str, depth: int) -> Any:
    match field:
        case "block":
            return tuple([_tree(each, "statement", depth) for each in as_list(json, "a block")])
        case "conditions":
            return tuple([_tree(each, "condition", depth) for each in as_list(json, field)])
        case "options":
            options = [as_list(each, "an option", 2) for each in as_list(json, "options")]
            if not options:
                raise BadProof("a choice without options")
            kinds, depths = ("expression", "weight"), (depth, depth)
            return tuple([("option", *map(_tree, each, kinds, depths)) for each in options])
        case "scale":
            coefficient, power = as_list(json, "a scale", 2)
            scale = as_number(coefficient, "a scale"), as_integer(power, "a power")
            if scale[0] <= 0 or abs(scale[1]) > 8:
                raise BadProof("a scale is not > 0, or its power is too large")
            return scale
        case "family":
            return as_word(json, "a family", tuple(FAMILIES))
        case "flag":
            return as_flag(json, field)
        case "names":
            return tuple([as_name(each, "a cell") for each in as_list(json, "cells")])
        case "name":
            return as_name(json, "a cell")
        case "first":
            return as_integer(json, "an index")
        case "size" if as_integer(json, "a size") > 0:
            return json
        case "turns" if as_integer(json, "turns") >= 0:
            return json
        case _:
            raise BadProof(f"no {field} is there")
