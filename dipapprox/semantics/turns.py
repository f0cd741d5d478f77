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

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from random import getrandbits

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.language import core
from dipapprox.language.cells import use_of
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.semantics.configuration import SHARE_BITS, State
from dipapprox.semantics.evaluation import StoredValue, shared
from dipapprox.semantics.inputs import ValuesLeft
from dipapprox.semantics.order import bits
from dipapprox.semantics.run import Execution
from dipapprox.semantics.state import Extreme, Guard, Path, Sample, SampleComparison, Step, Store
from dipapprox.semantics.statements import new_sample

Rename = dict[Symbol, Symbol]  # samples and input cells of one turn, by those of another


@dataclass(frozen=True, slots=True, eq=False)
class TurnHead:
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
        )


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """How a state comes out of a turn."""

    node: int  # the number of its last guard, 0 for the one before the turn
    # The arrays whose element it assigns, with the values.
    elements: tuple[tuple[str, core.Value], ...]
    cells: tuple[tuple[str, core.Value], ...]  # other outputs that it assigns


@dataclass(frozen=True, slots=True, eq=False)
class TurnEffect:
    """What a turn does in a configuration."""

    turn: int  # the turn that it was learnt from
    first: int  # the first sample that it drew
    samples: tuple[Sample, ...]  # all that it drew
    # Its guards, numbered from 1: the number of the guard before it, and the guard.
    nodes: tuple[tuple[int, Step], ...]
    ends: tuple[_End, ...]  # the states that end in it
    left: _End  # the state that goes on
    stored: tuple[tuple[str, StoredValue], ...]  # the variables that it assigns
    # The values of elements of output arrays before the turn.
    before: tuple[tuple[str, core.Value | None], ...]
    known: tuple[tuple[str, ValuesLeft], ...]  # what the path knows of elements of input arrays


_MOST_TRIES = 3
"""Turns that are compared with the ones before them; then the rest is run as it is written."""


@dataclass(slots=True, eq=False)
class TurnRepetition:
    """What is known of the turns of a loop."""

    loop: core.Repeat
    reads: tuple[str, ...]  # the variables that a turn reads before it assigns them
    read: tuple[str, ...]  # the arrays of the loop that are inputs
    written: tuple[str, ...]  # those that are outputs
    tries: int  # turns that may still be compared with the ones before them
    # The state at the head of the last turn, if that turn may be repeated.
    before: TurnHead | None = None


def repetition(run: Execution, loop: core.Repeat) -> TurnRepetition:
    """Return what is known of a loop before its first turn."""
    reads = use_of(loop.body).reads
    inputs, outputs = run.inputs.keys(), run.outputs.keys()
    read, written = (
        tuple([array for array in loop.arrays if f"{array}[{loop.first}]" in cells])
        for cells in (inputs, outputs)
    )
    may_repeat = run.merge and reads.isdisjoint(outputs) and not run.reals
    tries = _MOST_TRIES if may_repeat else 0
    return TurnRepetition(loop, tuple(sorted(reads - inputs)), read, written, tries)


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


def skip_turns(run: Execution, known: TurnRepetition, turn: int, states: list[State]) -> int:
    """Take the turns that do the same as the one before.

    Args:
        known: What is known of the loop; learns.
        turn: The first of them.
        states: At its head; a single one is changed.

    Returns:
        The turn to go on with.
    """
    before, known.before = known.before, None
    if turn >= known.loop.turns or not known.tries or len(states) > 1:
        return turn
    (state,) = states
    after = _head(run, known, state)
    if before is not None and after is not None:
        known.tries -= 1
        course = _course(run, known, turn - 1, before, after)
        if course is not None:
            return _repeated(run, known, course, state, turn)
    known.before = after
    return turn


def _head(run: Execution, known: TurnRepetition, state: State) -> TurnHead | None:
    """Describe a state at the head of a turn; None if no turn that begins so is repeated."""
    cone = state.settle(run.points)
    if cone is None:
        return None
    values = tuple([state.store.get(name) for name in known.reads])
    order = cone.order
    samples = {s for v in values if isinstance(v, LinearForm) for s in v.samples()}
    scope = run.points.mask(samples) | order.fixed
    below = {point: order.below.get(point, 0) & scope for point in bits(scope)}
    return TurnHead(
        state.copy(),
        values,
        below,
        order.fixed,
        frozenset(g for g in cone.others.values() if samples.issuperset(g.form.samples())),
        len(run.drawn_on),
        len(run.ended),
        (run.refused, len(run.diagnostics)),
    )


def _course(
    run: Execution, known: TurnRepetition, turn: int, before: TurnHead, after: TurnHead
) -> TurnEffect | None:
    """Read what a turn did that began and ended in the same configuration.

    Returns:
        None if it is not one that can be repeated.
    """
    if not before.is_like(after) or before.refused != after.refused:
        return None
    first, last = before.state, after.state
    if after.ended > before.ended and len(first.outputs) < len(run.outputs):
        return None
    if first.path is None and last.path is not None:
        return None  # a path that a merge made anew could not be told from one that went on
    numbers: dict[int, int] = {id(first.path): 0}
    nodes: list[tuple[int, Step]] = []
    ends = []
    for state in run.ended[before.ended :]:
        if state.knowledge is not first.knowledge or state.outcomes != first.outcomes:
            return None
        if not _number_guards(state.path, numbers, nodes):
            return None
        ends.append(_end(known, turn, numbers[id(state.path)], first.outputs, state.outputs))
    if not _number_guards(last.path, numbers, nodes):
        return None
    left = _end(known, turn, numbers[id(last.path)], first.outputs, last.outputs)
    if left.cells:
        return None
    stored = tuple(last.store.changes(first.store))
    index = _index(known, turn)
    values = tuple([(a, first.outputs.get(a + index)) for a in known.written])
    told = [(a, first.knowledge.values_left(a + index)) for a in known.read]
    inputs = tuple([(array, own) for array, own in told if own is not None])
    if len(inputs) < len(told):
        return None
    samples = tuple(run.samples.values())[before.samples :]
    parts = tuple(nodes), tuple(ends), left, stored, values, inputs
    return TurnEffect(turn, before.samples, samples, *parts)


def _repeated(
    run: Execution, known: TurnRepetition, course: TurnEffect, state: State, turn: int
) -> int:
    """Take turns that do the same.

    Args:
        state: Is at the head of one of them, and is changed.
        turn: The first of them.

    Returns:
        The first turn that may do something else, or the number of all turns.
    """
    start, ended, store = turn, run.ended, state.store.fork()
    rename: Rename = {}
    while turn < known.loop.turns:
        index = _index(known, turn)
        outputs = state.outputs
        if any(outputs.get(array + index) is not value for array, value in course.before):
            break
        if any(state.knowledge.values_left(a + index) != own for a, own in course.known):
            break
        run.limits.check()
        rename = _renaming(run, known, course, index)
        later = (turn - course.turn) * known.loop.sites
        for s in course.samples:
            mean = _form(run, s.mean, rename)
            new_sample(run, Sample(s.family, mean, s.scale, s.site + later, s.label, s.line))
        nodes = [state.path]
        for parent, step in course.nodes:
            path = nodes[parent]
            length = 1 if path is None else path.length + 1
            renamed = _renamed(step, rename)
            if isinstance(step, Guard) and isinstance(renamed, Guard):
                run.lines.note_alike(step.form, renamed.form)
            nodes.append(Path(path, renamed, length))
        for end in course.ends:
            share = getrandbits(SHARE_BITS)
            state.share ^= share
            own, path = state.outputs.fork(), nodes[end.node]
            part = State(store, own, state.knowledge, None, None, path, state.trail)
            part.outcomes, part.fingerprint, part.share = state.outcomes, state.fingerprint, share
            _assign(part, end, index)
            ended.append(part)
        state.path = nodes[course.left.node]
        _assign(state, course.left, index)
        turn += 1
    for name, value in course.stored if turn > start else ():
        kept = value if isinstance(value, str) else _form(run, value, rename)
        state.store[name] = kept
    return turn


def _index(known: TurnRepetition, turn: int) -> str:
    """What follows the name of an array in that of a turn's element."""
    return f"[{known.loop.first + turn}]"


def _end(
    known: TurnRepetition, turn: int, node: int, before: Store[core.Value], after: Store[core.Value]
) -> _End:
    """Compare the outputs before and after a turn."""
    elements = {array + _index(known, turn): array for array in known.written}
    changed = list(after.changes(before))
    return _End(
        node,
        tuple([(elements[name], value) for name, value in changed if name in elements]),
        tuple([(name, value) for name, value in changed if name not in elements]),
    )


def _renaming(run: Execution, known: TurnRepetition, course: TurnEffect, index: str) -> Rename:
    """The samples and elements of a turn, by those of the turn that was learnt."""
    own = _index(known, course.turn)
    rename: Rename = {array + own: array + index for array in known.read}
    first = len(run.drawn_on)
    for place in range(len(course.samples)):
        rename[course.first + place] = first + place
    return rename


def _form(run: Execution, form: LinearForm, rename: Rename) -> LinearForm:
    """Rename the symbols of a form; the result is the object that stands for equal forms."""
    terms = form.terms
    if len(terms) == 1 and isinstance(terms[0][0], str):
        name = terms[0][0]
        if run.inputs.get(name) is form:
            renamed = run.inputs.get(str(rename.get(name, name)))
            assert renamed is not None
            return renamed
    return shared(run, _renamed_form(form, rename))


def _assign(state: State, end: _End, index: str) -> None:
    for array, value in end.elements:
        state.set_output(array + index, value)
    for name, value in end.cells:
        state.set_output(name, value)


def _number_guards(
    path: Path | None, numbers: dict[int, int], nodes: list[tuple[int, Step]]
) -> bool:
    """Number the guards of a path that are not numbered yet; False if they cannot be repeated.

    Args:
        path: Its guards before the turn are the ones that number 0 stands for.
        numbers: By the identity of a node of a path; grows.
        nodes: For the numbers from 1 on the number of the guard before, and the guard; grows.
    """
    waiting: list[Path] = []
    node = path
    while id(node) not in numbers:
        if node is None or isinstance(node.step, Extreme):
            return False
        waiting.append(node)
        node = node.parent
    number = numbers[id(node)]
    for each in reversed(waiting):
        nodes.append((number, each.step))
        number = numbers[id(each)] = len(nodes)
    return True


def _renamed(step: Step, rename: Rename) -> Step:
    if isinstance(step, SampleComparison):
        small, large, strict = step
        return SampleComparison(_number(small, rename), _number(large, rename), strict)
    if isinstance(step, Guard):
        return Guard(_renamed_form(step.form, rename), step.strict)
    raise BrokenInvariant("a selection inside a turn was to be repeated")


def _number(sample: int, rename: Rename) -> int:
    found = rename.get(sample, sample)
    assert isinstance(found, int), "samples are renamed to samples"
    return found


def _renamed_form(form: LinearForm, rename: Rename) -> LinearForm:
    if not any(symbol in rename for symbol, _ in form.terms):
        return form
    return form.renamed(lambda symbol: rename.get(symbol, symbol))
