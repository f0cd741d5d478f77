"""The selected pairs of a program, and ways through all of them: equal in result, not in cost.

    few pairs, or listed ones            no steps: pairs as they are listed
    outputs that depend on few counters  all pairs at once, however many (`largest`)
    few enough inputs for one table      in blocks (`arrays`)
    anything else                        in portions, each with a table of its own

The ways differ in cost only.

In blocks: all inputs are tabulated once if the table fits; else pairs come in portions, each with a
table of its own inputs. So a function of pairs is bounded for very many of them by a few array
operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice

import numpy as np

from dipapprox.data_classes import dataclass
from dipapprox.events.symmetry import symmetry_of
from dipapprox.language.core import Input, Listed, Program
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import Array, BulkSource
from dipapprox.pairs.counters import CounterPlan, plan_counters
from dipapprox.pairs.largest import MOST_EXPANSIONS
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.selections import AllPairs, Pair, PairSelection, numbered_inputs
from dipapprox.pairs.walk import Block, InputNumbers, Walk, pair_blocks, plan_walk
from dipapprox.semantics.state import FinalStates

LARGEST_TABLE = 2_000_000
"""Most probabilities in a table of all inputs; each takes up to 32 bytes."""

_BLOCK = 2**17
"""Most terms (pairs x outputs) of a block: a few arrays of this size stay in the cache."""

_INPUTS_AT_A_TIME = 4096


@dataclass(frozen=True, slots=True, eq=False)
class TabledPairs:
    """Some pairs, and certified probabilities (inputs x outputs) of the inputs they are made of."""

    lower: Array
    upper: Array
    blocks: Callable[[], Iterator[Block]]
    input: Callable[[int], Input]

    def pair(self, block: Block, place: int) -> Pair:
        """Name a pair of a block."""
        return self.input(int(block.first[place])), self.input(int(block.second[place]))


class PairArrays:
    """All selected pairs, with the probabilities of their inputs in doubles.

    Args:
        program: Its inputs and adjacency are used.
        selection: Which pairs.
        total: Their number, if known.
        walk: The steps of the cells; None if pairs cannot be made from them.
        source: Gives the probabilities.
        outputs: How many there are.
        bits: Asked for, within the reach of doubles.

    Attributes:
        bits: As given.
        outputs: As given.
        in_one_table: Whether one table serves all pairs.
        probabilities: How many it has; None if there are several tables.
        obstacle: Why some probability could not be enclosed, the first reason met; else None.
    """

    def __init__(
        self,
        program: Program,
        selection: PairSelection,
        total: int | None,
        walk: Walk | None,
        source: BulkSource,
        outputs: int,
        bits: int,
        limits: Limits,
    ) -> None:
        self._program = program
        self._selection = selection
        self._total = total
        self._walk = walk
        self._source = source
        self.bits = bits
        self.outputs = outputs
        self._size = max(_BLOCK // max(outputs, 1), 1)
        self._limits = limits
        self._whole: TabledPairs | None = None
        self._numbers = InputNumbers(program.inputs)
        size = self._numbers.count * outputs
        self.in_one_table = walk is not None and size <= LARGEST_TABLE
        self.probabilities = size if self.in_one_table else None
        self.obstacle: str | None = None

    def __iter__(self) -> Iterator[TabledPairs]:
        """Yield all selected pairs, each once; those that are likely to differ most come early."""
        if self._whole is not None:
            yield self._whole
        elif self.in_one_table:
            yield self._one_table()
        else:
            pairs = likely_first(self._program, self._selection, self._total)
            portion, alone = tuple(islice(pairs, self._size)), True
            while portion:
                found = self._portion(portion)
                portion = tuple(islice(pairs, self._size))
                if alone and not portion:
                    self._whole = found
                alone = False
                yield found

    def _one_table(self) -> TabledPairs:
        numbers, walk = self._numbers, self._walk
        assert walk is not None
        lower, upper = self._table([numbers.input(k) for k in range(numbers.count)])
        blocks = partial(pair_blocks, self._program.inputs, walk, self._size)
        self._whole = TabledPairs(lower, upper, blocks, numbers.input)
        return self._whole

    def _portion(self, pairs: Sequence[Pair]) -> TabledPairs:
        block, inputs = numbered(pairs)
        lower, upper = self._table(inputs)
        return TabledPairs(lower, upper, lambda: iter((block,)), inputs.__getitem__)

    def _table(self, inputs: Sequence[Input]) -> tuple[Array, Array]:
        lower, upper = [], []
        for start in range(0, len(inputs), _INPUTS_AT_A_TIME):
            self._limits.check()
            found = self._source.table(inputs[start : start + _INPUTS_AT_A_TIME], self.bits)
            self.obstacle = self.obstacle or found.obstacle
            lower.append(found.lower)
            upper.append(found.upper)
        return np.concatenate(lower), np.concatenate(upper)


def numbered(pairs: Sequence[Pair]) -> tuple[Block, list[Input]]:
    """Number the inputs of some pairs; return the pairs as a block, and the inputs."""
    numbers, inputs = numbered_inputs(pairs)
    first, second = np.array(numbers, np.int64).reshape(-1, 2).T
    return Block(first, second), inputs


class SelectedPairs:
    """The selected pairs of a program, and what they cost.

    Args:
        selection: Which pairs.
        total: Their number, if known.

    Attributes:
        walk: The steps of the cells; None if pairs are few, listed, or have too many steps.

    Raises:
        UserError: If the program's adjacency does not suit its inputs.
    """

    def __init__(self, states: FinalStates, selection: PairSelection, total: int | None) -> None:
        self.states = states
        self.program = states.program
        self.selection = selection
        self.total = total
        self.outputs = len(states.outputs)
        few = total is not None and total <= FEW_PAIRS
        adjacency = self.program.adjacency
        listed = not isinstance(selection, AllPairs) or isinstance(adjacency, Listed)
        self.walk: Walk | None = None
        if not few and not listed:
            assert not isinstance(adjacency, Listed)
            self.walk = plan_walk(self.program.inputs, adjacency)

    def arrays(self, source: BulkSource, bits: int, limits: Limits) -> PairArrays:
        """Return the pairs as arrays."""
        return PairArrays(
            self.program, self.selection, self.total, self.walk, source, self.outputs, bits, limits
        )

    def plan(self, *, in_one_table: bool) -> CounterPlan | None:
        """Plan counters; None if there are none, or a table of all inputs is cheaper."""
        found = self._plan
        if found is None or not in_one_table or self.total is None:
            return found
        return found if 2 * found.expansions <= self.total else None

    @cached_property
    def _plan(self) -> CounterPlan | None:
        symmetry = None if self.walk is None else symmetry_of(self.states)
        if self.walk is None or symmetry is None:
            return None
        return plan_counters(symmetry, self.program.inputs, self.walk, MOST_EXPANSIONS)
