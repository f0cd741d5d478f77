"""Upper bounds: one cost vector a node, the largest that walks to it can cost.

A vector has the least cost so far for every shift, in {-1, 0, 1}, of the values that count; joined
are all walks and all changes of inputs, entry by entry. A step adds rate·|s - c| for the sample's
shift s and the change c, at most m(x) for `sample >= x`, at least m(x) for `sample < x`, 0 if the
sample is shown (whose price is then |c| times the rate, whatever s is). It takes larger vectors to
larger ones, so the least vectors that contain what every step makes of them bound the cheapest
shift of every walk, whose values' shifts are chosen in the end. Costs above the bound that is
claimed count as ∞: what is at most the bound rests on such costs alone.

These vectors are computed again, and compared with those of the file: every number is what the
check finds.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from dipapprox.certificates.budgets import JoinedCells
from dipapprox.checking.budgets.graph import GraphNode
from dipapprox.checking.budgets.machine import Machine
from dipapprox.checking.budgets.vectors import common_denominator, read_family
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.digits import brief_text
from dipapprox.language.automata import INSAMPLE
from dipapprox.limits import Limits

_MOST_FREE = 8
_SHIFTS = (-1, 0, 1)

Vector = list[int]


@dataclass(frozen=True, slots=True)
class _Way:
    """What a step makes of one entry: the entry after it, and its price for each change."""

    before: int
    after: int
    prices: tuple[int, ...]


def examine_joined(
    machine: Machine, family: JoinedCells, bound: Fraction, limits: Limits
) -> str | None:
    """Say why joined vectors do not prove that `bound` is a budget, or what in them is false.

    Raises:
        Stuck: If there are too many shifts, or costs are too large.
        LimitReached: If `limits` run out.
    """
    scale = common_denominator(machine)
    graph = read_family(machine, family, Fraction(1, scale), bound, limits)
    if isinstance(graph, str):
        return graph
    if any(node.pinned for node in graph):
        return "nodes: a shift is fixed"
    if max(len(node.free) for node in graph) > _MOST_FREE:
        raise Stuck(f"more than {_MOST_FREE} values whose shifts are left open")
    most = int(bound * scale)
    found = _Joining(machine, graph, scale, most).vectors(limits)
    recorded = [tuple([most + 1 if c is None else c for c in each]) for each in family.vectors]
    if len(recorded) != len(graph):
        return "vectors: expected one for each node"
    for number, (vector, each) in enumerate(zip(found, recorded, strict=True)):
        if tuple(vector) != each:
            return f"vectors[{number}]: other costs are found"
    largest = max(map(min, found))
    if largest > most:
        return "vectors: a walk costs more than the upper bound"
    return (
        None if largest == most else f"vectors: they prove {brief_text(Fraction(largest, scale))}"
    )


class _Joining:
    """The vectors of all nodes, in whole units, while they grow."""

    def __init__(
        self, machine: Machine, graph: tuple[GraphNode, ...], scale: int, most: int
    ) -> None:
        self.machine, self.graph = machine, graph
        self.infinite = most + 1
        self.rates = [int(machine.rate(move) * scale) for move in machine.moves]
        self.fresh = [int(machine.fresh_cost(move) * scale) for move in machine.moves]
        self._ways: dict[object, list[_Way]] = {}

    def vectors(self, limits: Limits) -> list[Vector]:
        """Let them grow until no step leads beyond them."""
        found: list[Vector | None] = [None] * len(self.graph)
        found[0] = [0]
        waiting = [0]
        while waiting:
            limits.check()
            number = waiting.pop()
            vector = found[number]
            if vector is None:
                continue
            for step, target in self.graph[number].leaving.items():
                made = self._after(vector, number, step, target)
                known = found[target]
                joined = made if known is None else list(map(max, known, made))
                if joined != known:
                    found[target] = joined
                    waiting.append(target)
        return [vector for vector in found if vector is not None]  # walks lead to all nodes

    def _after(self, vector: Vector, number: int, step: int, target: int) -> Vector:
        """Return what a step makes of a vector, for the worst change."""
        ways = self._ways_of(number, step, target)
        size = 3 ** len(self.graph[target].free)
        columns = [[self.infinite] * size for _ in ways[0].prices] if ways else [[self.infinite]]
        for way in ways:
            cost = vector[way.before]
            for column, price in zip(columns, way.prices, strict=True):
                if cost + price < column[way.after]:
                    column[way.after] = cost + price
        return columns[0] if len(columns) == 1 else list(map(max, *columns))

    def _ways_of(self, number: int, step: int, target: int) -> list[_Way]:
        machine, move = self.machine, self.machine.moves[step]
        before, after = self.graph[number].free, self.graph[target].free
        kind = (move.at_least, move.less, move.stored, move.shows == INSAMPLE)
        costs = (self.rates[step], self.fresh[step], machine.reads(move))
        key = (before, after, *kind, *costs)
        if key not in self._ways:
            self._ways[key] = list(self._new_ways(before, after, step))
        return self._ways[key]

    def _new_ways(self, before: tuple[int, ...], after: tuple[int, ...], step: int) -> list[_Way]:
        machine, move = self.machine, self.machine.moves[step]
        changes = machine.changes if machine.reads(move) else (0,)
        rate, fresh = self.rates[step], self.fresh[step]
        ways = []
        for number, shifts in enumerate(product(_SHIFTS, repeat=len(before))):
            held = dict(zip(reversed(before), shifts, strict=True))  # the first digit turns fastest
            most = min([held[x] for x in move.at_least], default=1)
            least = max([held[x] for x in move.less], default=-1)
            for shift in _SHIFTS:
                if not least <= shift <= most or (move.shows == INSAMPLE and shift):
                    continue
                held_then = {**held, **dict.fromkeys(move.stored, shift)}
                new = sum([(1 + held_then[x]) * 3**digit for digit, x in enumerate(after)])
                prices = [rate * abs(shift - change) + fresh * abs(change) for change in changes]
                ways.append(_Way(number, new, tuple(prices)))
        return ways
