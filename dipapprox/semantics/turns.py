"""Turns of a loop of equal turns, executed once for all that begin in the same configuration.

In: a state at the head of a turn, and what the turn before did. Out: the same state at the head of
a later turn, and the states that ended in between, without any statement being looked at.

A turn's course depends on its *configuration* only: on the values of the cells that it reads before
it assigns them, on what the path knows of the inputs, and of what it knows of samples on the closed
order of the samples in these values and of fixed points (a closure under one more pair of points of
a set is, restricted to that set, the closure of the restriction) and on the other guards that are
about these samples alone, for a guard is compared with parallel ones only. If a turn reads no
output, leaves a configuration as it found it, so that no sample drawn in it is in the next one, and
goes on with one state, the next turn does the same with new samples in place of its own and the
next elements in place of its own, if the same values are left for these: the same guards, the same
values, the same ends. By induction so
do all turns. What a turn assigns is seen by comparing values; a cell with the value that it had
keeps it in later turns if it has that value there, too.

Merging depends on which cells matter later, which is the same at the ends of all turns of a
`Repeat`: those read before they are assigned, and those that matter after the loop and are not
assigned in a turn. Not merging is always right, so it does not matter if a merge would be found in
a later turn alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import getrandbits
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.graphs import bits
from dipapprox.language import core
from dipapprox.language.cells import use_of
from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import StoredValue, shared
from dipapprox.semantics.run import SHARE_BITS, Execution, State
from dipapprox.semantics.state import Extreme, Guard, Path, Sample, SampleComparison, Step
from dipapprox.semantics.statements import new_sample

_Rename = Callable[[Any], Any]  # from samples and input cells of one turn to those of another


class TurnHead(Record, eq=False):
    """A state at the head of a turn, and how much there was of everything by then."""

    state: State  # as it was there
    values: tuple[StoredValue | None, ...]  # of the cells that the turn reads
    # For each point that may be compared, the mask of the smaller ones among them.
    below: Mapping[int, int]
    fixed: int  # the mask of the fixed points that the order knows
    others: Collection[Guard]  # guards on these values that are no comparisons
    samples: int  # how many had been drawn
    ended: int  # states that had ended
    refused: tuple[int, int]  # `Execution.refused`, and the number of faults

    def is_like(self, other: TurnHead) -> bool:
        """Whether two states are in the same configuration."""
        return (
            all(a is b for a, b in zip(self.values, other.values, strict=True))
            and self.state.knowledge is other.state.knowledge
            and self.state.outcomes == other.state.outcomes
            and self.fixed == other.fixed
            and self.below == other.below
            and self.others == other.others
            and self.refused == other.refused
        )


_MOST_TRIES = 3
"""Turns that are compared with the ones before them; then the rest is run as it is written."""


class RepeatedTurns:
    """What is known of the turns of a loop."""

    def __init__(self, run: Execution, loop: core.Repeat) -> None:
        reads = use_of(loop.body).reads
        inputs, outputs = run.inputs.keys(), run.outputs.keys()
        self._run, self._loop = run, loop
        # The variables that a turn reads before it assigns them; arrays of the loop that are inputs
        # and those that are outputs.
        self._reads = sorted(reads - inputs)
        self._read, self._written = (
            [array for array in loop.arrays if f"{array}[{loop.first}]" in cells]
            for cells in (inputs, outputs)
        )
        may_repeat = run.merge and reads.isdisjoint(outputs) and not run.reals
        self._tries = _MOST_TRIES if may_repeat else 0
        self._before: TurnHead | None = None  # of the last turn, if that may be repeated

    def skip(self, turn: int, states: list[State]) -> int:
        """Take the turns that do the same as the one before, of a single state, which is changed;
        return the turn to go on with."""
        before, self._before = self._before, None
        if turn >= self._loop.turns or not self._tries or len(states) > 1:
            return turn
        (state,) = states
        after = self._head(state)
        if before is not None and after is not None:
            self._tries -= 1
            repeat = self._learnt(turn - 1, before, after) if before.is_like(after) else None
            if repeat is not None:
                return repeat(state, turn)
        self._before = after
        return turn

    def _head(self, state: State) -> TurnHead | None:
        """Describe a state at the head of a turn; None if no turn that begins so is repeated."""
        run, cone = self._run, state.settle(self._run.points)
        if cone is None:
            return None
        values = tuple([state.store.get(name) for name in self._reads])
        samples = {s for v in values if isinstance(v, LinearForm) for s in v.samples()}
        scope = run.points.mask(samples) | cone.order.fixed
        return TurnHead(
            state.copy(),
            values,
            {point: cone.order.below.get(point, 0) & scope for point in bits(scope)},
            cone.order.fixed,
            frozenset(g for g in cone.others.values() if samples.issuperset(g.form.samples())),
            len(run.drawn_on),
            len(run.ended),
            (run.refused, len(run.diagnostics)),
        )

    def _learnt(
        self, learnt: int, before: TurnHead, after: TurnHead
    ) -> Callable[[State, int], int] | None:
        """Read what a turn did that began and ended in the same configuration.

        Returns:
            What takes the turns from one on that do the same, given the state at its head, which is
            changed, and returns the first turn that may do something else; None if it is not one
            that can be repeated.
        """
        run, first, last = self._run, before.state, after.state
        ended = run.ended[before.ended :]
        if ended and len(first.outputs) < len(run.outputs):
            return None
        if first.path is None and last.path is not None:
            return None  # a path that a merge made anew could not be told from one that went on
        if any(s.knowledge is not first.knowledge or s.outcomes != first.outcomes for s in ended):
            return None
        ends = (*ended, last)
        nodes = _guards_since(first.path, [state.path for state in ends])
        if nodes is None:
            return None
        own = self._index(learnt)
        elements = {array + own: array for array in self._written}
        if any(name not in elements for name, _ in last.outputs.changes(first.outputs)):
            return None
        told = {array: first.knowledge.values_left(array + own) for array in self._read}
        if None in told.values():
            return None
        values = {array: first.outputs.get(array + own) for array in self._written}
        places = {id(node): place for place, node in enumerate((first.path, *nodes))}
        steps = [(places[id(node.parent)], node.step) for node in nodes]
        results = [
            (places[id(end.path)], [(elements.get(name), name, v) for name, v in changes])
            for end in ends
            for changes in [end.outputs.changes(first.outputs)]
        ]
        stored = list(last.store.changes(first.store))
        samples = tuple(run.samples.values())[before.samples :]

        def repeat(state: State, turn: int) -> int:
            start, store = turn, state.store.fork()
            while turn < self._loop.turns:
                index = self._index(turn)
                if any(state.outputs.get(a + index) is not value for a, value in values.items()):
                    break
                if any(state.knowledge.values_left(a + index) != each for a, each in told.items()):
                    break
                check_limits()
                rename = self._renaming(own, index, before.samples)
                later = (turn - learnt) * self._loop.sites
                for s in samples:
                    mean = _form(run, s.mean, rename)
                    site = s.site + later
                    new_sample(run, Sample(s.family, mean, s.scale, site, s.label, s.line))
                paths = [state.path]
                for place, step in steps:
                    parent = paths[place]
                    length = 1 if parent is None else parent.length + 1
                    paths.append(Path(parent, _renamed(run, step, rename), length))
                for place, changes in results[:-1]:
                    share = getrandbits(SHARE_BITS)
                    state.share ^= share
                    part = state.copy(share)
                    part.store, part.cone, part.settled, part.path = store, None, None, paths[place]
                    run.ended.append(part)
                    for array, name, value in changes:
                        part.set_output(name if array is None else array + index, value)
                place, changes = results[-1]
                state.path = paths[place]
                for array, name, value in changes:
                    state.set_output(name if array is None else array + index, value)
                turn += 1
            for name, held in stored if turn > start else ():
                state.store[name] = held if isinstance(held, str) else _form(run, held, rename)
            return turn

        return repeat

    def _index(self, turn: int) -> str:
        """What follows the name of an array in that of a turn's element."""
        return f"[{self._loop.first + turn}]"

    def _renaming(self, own: str, index: str, first: int) -> _Rename:
        """Return what renames the elements of a turn, and its samples, the `first` and all after,
        to those of the turn that is going to draw now."""
        elements = {array + own: array + index for array in self._read}
        shift = len(self._run.drawn_on) - first

        def rename(symbol: int | str) -> int | str:
            if isinstance(symbol, str):
                return elements.get(symbol, symbol)
            return symbol + shift if symbol >= first else symbol

        return rename


def _form(run: Execution, form: LinearForm, rename: _Rename) -> LinearForm:
    """Rename the symbols of a form; the result is the object that stands for equal forms."""
    name = form.terms[0][0] if form.terms else ""
    own = run.inputs.get(rename(name)) if run.inputs.get(str(name)) is form else None
    return shared(run, form.renamed(rename)) if own is None else own


def _renamed(run: Execution, step: Step, rename: _Rename) -> Step:
    if isinstance(step, SampleComparison):
        return SampleComparison(rename(step.small), rename(step.large), step.strict)
    assert isinstance(step, Guard), "a selection inside a turn is not repeated"
    form = step.form.renamed(rename)
    run.lines.note_alike(step.form, form)
    return Guard(form, step.strict)


def _guards_since(start: Path | None, paths: Iterable[Path | None]) -> list[Path] | None:
    """Return the nodes of paths after one of them, older ones first; None if some of them has
    nothing of it, or holds a selection."""
    found: dict[int, Path] = {}
    for node in paths:
        waiting: list[Path] = []
        while node is not start and id(node) not in found:
            if node is None or isinstance(node.step, Extreme):
                return None
            waiting.append(node)
            node = node.parent
        found.update((id(each), each) for each in reversed(waiting))
    return list(found.values())


@contextmanager
def in_turn(run: Execution, loop: core.Repeat, turn: int) -> Iterator[None]:
    """Let the body of a loop stand for one of its turns."""
    first, now = loop.first, loop.first + turn
    run.loop, run.turn, run.sites = loop, turn, turn * loop.sites
    run.cells = {f"{array}[{first}]": f"{array}[{now}]" for array in loop.arrays}
    try:
        yield
    finally:
        run.loop, run.turn, run.sites, run.cells = None, 0, 0, {}
