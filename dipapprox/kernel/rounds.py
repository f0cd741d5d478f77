"""Machines that read real numbers or work round after round: what claims of budgets are about.

    machine    {"inputs": [cell, …], "whole": boolean, "adjacency": adjacency,
                "body": block, "round": null | block, "published": published}
    published  {"whenever": [name, …], "first": [name, …], "each": [name, …], "ends": boolean,
                "padding": null | [value, …]}

Cells, blocks and adjacency are those of `machine`. An input is any number of a domain {"low": end,
"high": end}; if `whole`, an integer. Without a round the inputs are cells, and the program ends
after its body or at an `exit`, which nobody sees. With one it goes round for ever or to an `exit`,
and every `set` of a cell to an input reads the next number of that stream. Whoever compares two
runs sees what is assigned to the cells `whenever`, the cells `first` once the body has ended and
`each` once a round has, be it by an `exit`, and that the program `exit`s. If not `ends`, runs that
`exit` are not seen at all; if they are, and there is padding, these values are seen in every round
after an `exit`, and not it itself. Adjacent are runs whose inputs, all of them one after another,
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import ceil, floor
from operator import itemgetter

from dipapprox.kernel.errors import BadProof, NotProved, Refused, Refuted, spend
from dipapprox.kernel.forms import Form, Stored
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import (
    Adjacency,
    Block,
    Machine,
    Number,
    Range,
    Tree,
    Value,
    compares,
    read_adjacency,
    read_block,
    read_cell,
    read_value,
)
from dipapprox.kernel.paths import Changes, Path, Read, Ways
from dipapprox.kernel.proofs import named
from dipapprox.kernel.reading import as_flag, as_list, as_name, as_record
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.walk import Noise, Where


@dataclass(frozen=True)
class Rounds:
    """Such a machine; its inputs by name."""

    inputs: dict[str, Range]
    whole: bool
    adjacency: Adjacency
    body: Block
    round: Block | None
    whenever: tuple[str, ...]
    first: tuple[str, ...]
    each: tuple[str, ...]
    ends: bool
    padding: tuple[Value, ...] | None

    @cached_property
    def follower(self) -> Follower:
        """What follows its blocks: every part of a run once, whoever asks."""
        return Follower(self)

    def change(self, name: str) -> tuple[Number, Number] | None:
        """Return the least and the largest change of an input between adjacent runs.

        None if it may change by any amount.
        """
        low, high = self.inputs[name].low, self.inputs[name].high
        width = None if low is None or high is None else high - low
        if width is None and self.adjacency.is_free:
            return None
        least, most = self.adjacency.change(width, self.adjacency.radius)
        return (ceil(least), floor(most)) if self.whole else (least, most)

    def changes(self, path: Path) -> Changes:
        """Return between what the changes of the inputs lie that a path reads, by atom."""
        reads = ((k, self.change(a.name)) for k, a in enumerate(path.atoms) if isinstance(a, Read))
        return {k: change for k, change in reads if change is not None}

    def extremes(self, change: tuple[Number, Number]) -> list[Number]:
        """Return the changes of an input that all others are averages of; of integers, all."""
        low, high = change
        spend(10 * int(high - low) if self.whole else 10)
        return [low + k for k in range(int(high - low) + 1)] if self.whole else [low, high]

    @property
    def is_alone(self) -> bool:
        """Whether changes of one input at a time, within its range, have all in their hull.

        Of integers: whether there are no others.
        """
        norm, radius = self.adjacency.norm, self.adjacency.radius
        if self.round is not None or norm not in ("l1", "l0"):
            return False
        if norm == "l0" or self.whole:
            return radius < 2
        return all(self.change(name) == (-radius, radius) for name in self.inputs)


def read_rounds(json: object) -> Rounds:
    """Read such a machine."""
    fields = "inputs", "whole", "adjacency", "body", "round", "published"
    record = as_record(json, "machine", fields)
    inputs: dict[str, Range] = {}
    for name, domain in map(read_cell, as_list(record["inputs"], "inputs")):
        if name in inputs or not isinstance(domain, Range):
            raise BadProof("two inputs of one name, or an input that is no range of numbers")
        low, high = domain.low, domain.high
        if record["whole"] is True:
            low = None if low is None else Fraction(ceil(low))
            high = None if high is None else Fraction(floor(high))
        if low is not None and high is not None and low > high:
            raise BadProof("an input without values")
        inputs[name] = Range(low, high)
    adjacency = read_adjacency(record["adjacency"], ())
    if adjacency.norm == "pairs":
        raise BadProof("pairs of real numbers are not listed")
    seen = "whenever", "first", "each"
    cells = as_record(record["published"], "what is published", (*seen, "ends", "padding"))
    whole, ends = as_flag(record["whole"], "'whole'"), as_flag(cells["ends"], "'ends'")
    names = ([as_name(n, "a cell") for n in as_list(cells[own], "cells")] for own in seen)
    whenever, first, each = map(tuple, names)
    body, turn, told = read_block(record["body"]), record["round"], cells["padding"]
    if told is not None and not ends:
        raise BadProof("runs that end are not seen, and what they are followed by is")
    padding = None if told is None else tuple(map(read_value, as_list(told, "padding")))
    turn = None if turn is None else read_block(turn)
    are_read = inputs.keys() & {*whenever, *first, *each}
    if turn is None and not (whole or are_read) and compares(body, frozenset(inputs)):
        machine = Machine(tuple(inputs.items()), (), (), adjacency, body)
        held = named("clamps.without_clamps")(machine)
        inputs = {name: own for name, own in held.inputs if isinstance(own, Range)}
        body = held.body
    return Rounds(inputs, whole, adjacency, body, turn, whenever, first, each, ends, padding)


Cells = tuple[tuple[tuple[str, Stored], ...], tuple[str, ...]]
"""Values of cells, and others that are held: they hold something random."""


class Follower(Ways):
    """Follows the blocks of a machine; every part of a run once.

    `turns` returns the paths that may follow one, those of the body if that is None; `round` those
    of a round from a store.
    """

    def __init__(self, machine: Rounds) -> None:
        super().__init__()
        self.machine, self._whenever = machine, frozenset(machine.whenever)
        self._signs: Signs = Signs.at(None)
        self.turns, self.round = cache(self._turns), cache(self._round)

    def _turns(self, before: Path | None) -> list[Path]:
        if before is None:
            path = Path({}, ())
            if self.machine.round is None:
                for name in self.machine.inputs:
                    path.store[name] = path.fresh(Read(name))
            return self._whole(self.machine.body, path, self.machine.first)
        if self.machine.round is None:
            raise Refuted("there are no rounds")
        if before.ended:
            return [Path({}, (), (), self.machine.padding or (), True)]
        spend(4 * len(before.store))
        store = sorted(before.store.items(), key=itemgetter(0))
        values = tuple([own for own in store if not isinstance(own[1], Form)])
        return self.round((values, tuple([n for n, v in store if isinstance(v, Form)])))

    def _round(self, cells: Cells) -> list[Path]:
        start = self.unchanged(dict(cells[0]), cells[1])
        return self._whole(self.machine.round or (), start, self.machine.each)

    def _whole(self, block: Block, path: Path, published: Sequence[str]) -> list[Path]:
        found = self.through(block, path)
        for path in found:
            spend(len(published))
            if not set(published) <= path.store.keys():
                raise NotProved("what is published has no value")
            path.said += tuple([path.store[name] for name in published])
        return found

    def _statement(self, statement: Tree, states: list[Path], where: Where) -> list[Path]:
        match statement:
            case "set", target, ("cell", name) if name in self.machine.inputs and (
                self.machine.round is not None
            ):
                for path in states:
                    self._assign(path, self._name(target, path), path.fresh(Read(name)))
                return states
        return super()._statement(statement, states, where)

    def _assign(self, state: Path, name: str, value: Stored) -> None:
        state.store[name] = value
        if name in self._whenever:
            spend(len(state.said) // 64)
            state.said += (value,)

    def _sample(self, state: Path, noise: Noise, mean: Number | Form, where: Where) -> Form:
        if isinstance(FAMILIES[noise[0]], IntegerFamily) and not self.machine.whole:
            raise Refused("integer noise beside inputs that are no integers")
        return super()._sample(state, noise, mean, where)
