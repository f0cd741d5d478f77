"""How likely it is what a run shows, in closed form.

A block is run from a store that holds values (`forward`). Its ends are disjoint and leave nothing
out; where what is seen is so, of a sample an inequality, is a part of each, and its measure one of
samples that nobody looks at any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import chain

from dipapprox.kernel.adjacency import Adjacency, Domain, Range, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.expressions import form_of
from dipapprox.kernel.forward import Ended, Run
from dipapprox.kernel.machine import Block, Machine, read_value
from dipapprox.kernel.measures import Form, Measure
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.paths import IMPOSSIBLE
from dipapprox.kernel.reading import as_number, as_record
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.states import State, Stored

NOTHING = ""
"""What a cell shows that is not assigned; no value has this name."""

Condition = tuple[str, Value]
"""A relation, and what something is compared with."""

_NOTHING_RUN = Machine((), (), (), Adjacency("all"), ())


class Shown(Run):
    """Runs blocks, for what some cells show in the end.

    Args:
        cells: These cells, and what they may hold.
        signs: Of weights.
    """

    def __init__(self, cells: Sequence[tuple[str, Domain]], signs: Signs) -> None:
        super().__init__(_NOTHING_RUN, signs, Graph())
        self._cells = cells
        self._seen: Sequence[Condition | None] = ()
        self._kept: Sequence[str] = ()
        self._unknown: Collection[str] = ()

    def chances(
        self,
        block: Block,
        store: Mapping[str, Value],
        seen: Sequence[Condition | None],
        kept: Sequence[str] = (),
        unknown: Collection[str] = (),
    ) -> dict[tuple[Value, ...], Ratio]:
        """Return how likely it is that the first cells show what is seen.

        Args:
            block: What is run.
            store: Where it begins.
            seen: None for what is not known: it is told, of samples each value of the domain.
            kept: Cells that hold values in the end: these are told behind what cells show.
            unknown: Cells that are neither read nor assigned.
        """
        self._ended, self._seen, self._kept, self._unknown = [], seen, kept, unknown
        self._block((*block, ("exit",)), [State(dict(store), Measure(self.graph.one))])
        sums: dict[tuple[Value, ...], list[Node]] = {}
        for end in self._ended:
            sums.setdefault(end.finite, []).append(end.measure.scalar)
        values = exact_values(self.graph, chain(*sums.values()), self._signs)
        return {told: sum((values[n] for n in own), IMPOSSIBLE) for told, own in sums.items()}

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
            shown = store.get(name, NOTHING)
            ways: list[tuple[tuple[Value, ...], Condition]] = [((), wanted)] if wanted else []
            if wanted is None:
                ways = [((value,), ("=", value)) for value in _values(shown, domain)]
            parts = [
                ((*told, *own), part)
                for told, measure in parts
                for own, condition in ways
                for part in self._where(measure, shown, *condition)
            ]
            spend(20 * len(parts))
        for told, part in parts:
            scalar = self._without(part, frozenset()).scalar
            self._ended.append(Ended((*told, *kept), (), Measure(scalar)))

    def _where(self, measure: Measure, shown: Stored, relation: str, value: Value) -> list[Measure]:
        """Return the parts of a measure where what is shown is in a relation to a value."""
        if isinstance(shown, str) or isinstance(value, str):
            return [measure] if relation == "=" and shown == value else []
        return self._assume(measure, form_of(shown).plus(Form(-Fraction(value))), relation)


def _values(shown: Stored, domain: Domain) -> Sequence[Value]:
    """What a cell may show."""
    if not isinstance(shown, Form):
        return [shown]
    if isinstance(domain, Range):
        raise Refused("a reply is a sample that has no bounds")
    return domain


def read_seen(json: object) -> Condition:
    """Read null for what holds nothing, a value, or {"least": number}, {"most": number}."""
    if json is None or not isinstance(json, dict) or "name" in json:
        return "=", NOTHING if json is None else read_value(json)
    word = "least" if "least" in json else "most"
    record = as_record(json, "what is seen", (word,))
    return {"least": ">=", "most": "<="}[word], as_number(record[word], "what is seen")
