"""The selected pairs of a program, and ways through all of them: equal in result, not in cost.

    few pairs, or listed ones            no steps: pairs as they are listed
    outputs that depend on few counters  all pairs at once, however many (`largest`)
    few enough inputs for one table      in blocks: all inputs are tabulated once
    anything else                        in portions, each with a table of its own inputs

So a function of pairs is bounded for very many of them by a few array operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice

import numpy as np

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import Array
from dipapprox.data_classes import Record
from dipapprox.events.symmetry import symmetry_of
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.numerics.probability import BulkSource
from dipapprox.pairs.adjacency import rule_of
from dipapprox.pairs.counters import CounterPlan, plan_counters
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.hockey_stick import (
    DOUBLE_BITS,
    HockeyStickBounds,
    bounds_in_doubles,
    bounds_in_integers,
)
from dipapprox.pairs.largest import MOST_EXPANSIONS
from dipapprox.pairs.likely import likely_first
from dipapprox.pairs.selections import FEW_PAIRS, Pair, PairSelection, numbered_inputs
from dipapprox.pairs.walk import Block, InputNumbers, pair_blocks, plan_walk
from dipapprox.semantics.state import FinalStates

LARGEST_TABLE = 2_000_000  # most probabilities in a table of all inputs; each takes up to 32 bytes
_BLOCK = 2**17
"""Most terms (pairs x outputs) of a block: a few arrays of this size stay in the cache."""

_INPUTS_AT_A_TIME = 4096


class TabledPairs(Record, eq=False):
    """Some pairs, and certified probabilities (inputs x outputs) of the inputs they are made of."""

    lower: Array
    upper: Array
    blocks: Callable[[], Iterator[Block]]
    input: Callable[[int], Input]

    def pair(self, block: Block, place: int) -> Pair:
        return self.input(int(block.first[place])), self.input(int(block.second[place]))

    def bounds(self, factor: Factor) -> HockeyStickBounds:
        """Return what enters the sums of pairs at an eps_prv."""
        return bounds_in_doubles(self.lower, self.upper, factor)


class SelectedPairs:
    """The selected pairs of a program, with the probabilities of their inputs.

    Args:
        total: Their number, if known.
        bits: First asked for.

    Attributes:
        outputs: How many there are.
        rule: Of adjacency; None for listed pairs.
        walk: The steps of the cells; None if pairs are few, listed, or have too many steps.
        in_one_table: Whether one table in doubles serves all pairs.
        probabilities: How many it has; None if there are several tables.
        obstacle: Why some probability could not be enclosed, the first reason met; else None.
    """

    def __init__(
        self,
        states: FinalStates,
        selection: PairSelection,
        total: int | None,
        source: BulkSource,
        bits: int,
    ) -> None:
        self.states, self.program, self.total = states, states.program, total
        self.bits = bits
        self.outputs = len(states.outputs)
        self.obstacle: str | None = None
        self._selection, self._source = selection, source
        few = total is not None and total <= FEW_PAIRS
        self.rule = rule_of(self.program, selection)
        self.walk = None
        if self.rule is not None and not few:
            self.walk = plan_walk(self.program.inputs, self.rule)
        self._numbers = InputNumbers(self.program.inputs)
        self._size = max(_BLOCK // max(self.outputs, 1), 1)
        self._whole: TabledPairs | None = None
        size = self._numbers.count * self.outputs
        self.in_one_table = self.walk is not None and size <= LARGEST_TABLE and bits <= DOUBLE_BITS
        self.probabilities = size if self.in_one_table else None

    @cached_property
    def plan(self) -> CounterPlan | None:
        """Counters for all pairs; None if there are none, or a table of all inputs is cheaper."""
        symmetry = None if self.walk is None else symmetry_of(self.states)
        if self.walk is None or symmetry is None:
            return None
        found = plan_counters(symmetry, self.program.inputs, self.walk, MOST_EXPANSIONS)
        if found is None or not self.in_one_table or self.total is None:
            return found
        return found if 2 * found.expansions <= self.total else None

    def __iter__(self) -> Iterator[TabledPairs]:
        """Yield all pairs, each once, in doubles; the likely ones come early."""
        if self._whole is None and self.walk is not None and self.in_one_table:
            lower, upper = self._table(list(map(self._numbers.input, range(self._numbers.count))))
            blocks = partial(pair_blocks, self.program.inputs, self.walk, self._size)
            self._whole = TabledPairs(lower, upper, blocks, self._numbers.input)
        if self._whole is not None:
            yield self._whole
            return
        pairs = likely_first(self.program, self._selection, self.total)
        for own in iter(lambda: tuple(islice(pairs, self._size)), ()):
            found = self.portion(own)
            if len(own) == self.total:
                self._whole = found
            yield found

    def portion(self, pairs: Sequence[Pair]) -> TabledPairs:
        """Tabulate the inputs of some pairs, which are one block."""
        numbers, inputs = numbered_inputs(pairs)
        first, second = np.array(numbers, np.int64).reshape(-1, 2).T
        block = Block(first, second)
        lower, upper = self._table(inputs)
        return TabledPairs(lower, upper, lambda: iter((block,)), inputs.__getitem__)

    def _table(self, inputs: Sequence[Input]) -> tuple[Array, Array]:
        found = []
        for start in range(0, len(inputs), _INPUTS_AT_A_TIME):
            check_limits()
            found.append(self._source.table(inputs[start : start + _INPUTS_AT_A_TIME], self.bits))
            self.obstacle = self.obstacle or found[-1].obstacle
        lower = np.concatenate([each.lower for each in found])
        return lower, np.concatenate([each.upper for each in found])

    def cells(
        self, outputs: Sequence[int], inputs: Sequence[Input], bits: int, factor: Factor
    ) -> HockeyStickBounds:
        """Bound the probability of outputs[k] under inputs[k] for every k.

        In doubles if they carry `bits` bits, else in integers.
        """
        if bits <= DOUBLE_BITS:
            bounds = self._source.cells(outputs, inputs, bits)
            self.obstacle = self.obstacle or bounds.obstacle
            return bounds_in_doubles(bounds.lower, bounds.upper, factor)
        known: dict[Input, Sequence[Enclosure]] = {}
        distinct = list(dict.fromkeys(inputs))
        for input, own in zip(distinct, self._source.distributions(distinct, bits), strict=True):
            if isinstance(own, NotEnclosed):
                self.obstacle = self.obstacle or own.reason
                own = (UNIT,) * self.outputs
            known[input] = own
        found = [known[input][output] for output, input in zip(outputs, inputs, strict=True)]
        return bounds_in_integers(found, factor, bits)
