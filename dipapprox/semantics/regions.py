"""Consecutive statements that choose at random and draw no samples, to be run as one choice.

Such a run of statements is a finite Markov chain, as a loop is: where its courses meet with equal
live cells they become one, and their weights add up. So the sum of twenty coins has twenty-one
outcomes, not a million.

Statements that see nothing of each other's assignments are regions of their own: what does not meet
is better left apart. A comparison of samples with what the run itself assigns ends it: after the
choices each outcome makes that comparison alone, inside the run all would have to know all of its
answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from dipapprox.data_classes import dataclass, replace
from dipapprox.language import core
from dipapprox.semantics.cells import assigned, compared, statements_in, tainted
from dipapprox.semantics.dataflow import sources_of, uses_of


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A loop, or statements that stand one after another, at least two of which choose.

    Attributes:
        statements: Without samples; the first one and the last one choose.
        stops: Positions of the statements that choose: where courses meet.
    """

    statements: core.Block
    stops: frozenset[int]

    @property
    def loop(self) -> core.While | None:
        """The loop that this is, if it is one."""
        first, *others = self.statements
        return first if isinstance(first, core.While) and not others else None

    @property
    def has_loops(self) -> bool:
        """Whether there is a loop in it."""
        return any(isinstance(each, core.While) for each in statements_in(self.statements))

    def choices(self) -> Iterator[core.Choose]:
        """Yield the random choices in the order of the text."""
        for statement in self.statements:
            yield from choices_in(statement)


Piece = core.Statement | Region


class Regions:
    """Finds the regions of a program; each block is looked at once.

    Args:
        program: Lives as long as this object.
        wanted: Whether to look for regions other than loops.
    """

    def __init__(self, program: core.Program, wanted: bool) -> None:
        choices = (each for each in statements_in(program.body) if isinstance(each, core.Choose))
        next(choices, None)
        self._wanted = wanted and next(choices, None) is not None
        self._samples = tainted(program.body) if self._wanted else frozenset[str]()
        self._known: dict[int, tuple[Piece, ...]] = {}
        self._loops: dict[int, Region] = {}

    def pieces(self, block: core.Block) -> tuple[Piece, ...]:
        """Return the statements of a block in order, with its regions in place of theirs."""
        if not self._wanted:
            return block
        found = self._known.get(id(block))
        if found is None:
            found = self._known[id(block)] = tuple(self._cut(block))
        return found

    def loop(self, loop: core.While) -> Region:
        """Return the region that a loop is."""
        found = self._loops.get(id(loop))
        if found is None:
            found = self._loops[id(loop)] = Region((loop,), frozenset({0}))
        return found

    def _cut(self, block: core.Block) -> Iterator[Piece]:
        run: list[core.Statement] = []
        written = set[str]()
        for statement in block:
            own = written.union(assigned((statement,)))
            if _draws(statement) or self._compares(statement, own):
                yield from _pieces(run)
                yield statement
                run, written = [], set()
            else:
                run.append(statement)
                written = own
        yield from _pieces(run)

    def _compares(self, statement: core.Statement, written: Set[str]) -> bool:
        """Whether a statement compares samples with cells of which some are written."""
        conditions = (
            set(compared(each.condition))
            for each in statements_in((statement,))
            if isinstance(each, core.If | core.While)
        )
        return any(
            not cells.isdisjoint(self._samples) and not cells.isdisjoint(written)
            for cells in conditions
        )


def _pieces(run: list[core.Statement]) -> Iterator[Piece]:
    for group in _tied(run):
        chosen = [k for k, each in enumerate(group) if chooses(each)]
        if len(chosen) < 2:
            yield from group
            continue
        first, after = chosen[0], chosen[-1] + 1
        yield from group[:first]
        yield Region(tuple(group[first:after]), frozenset(k - first for k in chosen))
        yield from group[after:]


def _tied(run: list[core.Statement]) -> Iterator[list[core.Statement]]:
    """Cut statements where nothing after the cut sees what was assigned before it.

    What is assigned on some paths only sees what was there.
    """
    uses = [
        replace(use, reads=use.reads | use.writes - use.overwrites) for use in uses_of(tuple(run))
    ]
    last = list(range(len(run)))  # that sees an assignment of this statement
    for reader, found in enumerate(sources_of(uses, ())):
        for source in found:
            last[source] = reader
    group: list[core.Statement] = []
    end = 0
    for number, statement in enumerate(run):
        group.append(statement)
        end = max(end, last[number])
        if end == number:
            yield group
            group = []
            end = number + 1


def choices_in(statement: core.Statement) -> Iterator[core.Choose]:
    """Yield the random choices in a statement."""
    return (each for each in statements_in((statement,)) if isinstance(each, core.Choose))


def chooses(statement: core.Statement) -> bool:
    """Whether a statement may choose at random."""
    return next(choices_in(statement), None) is not None


def _draws(statement: core.Statement) -> bool:
    return any(isinstance(each, core.Draw) for each in statements_in((statement,)))
