"""Loops that choose at random, as finite Markov chains.

In: a loop and a state that reaches it. Out: the ways in which the loop is left, and the law by
which one of them comes about. The chain's states are situations at the tests of loops and at the
choices in them: values of live cells and outputs. Its transitions are the courses from one such
place to the next, with the weights of the outcomes:

    test of a loop -- the path decides the condition --> run to the next places, one transition each
         |         -- it does not --> `OpenCondition`: the caller splits the path and explores again
         `-> no end can be reached from here --> the loop never ends

DiPC paper, section 3.6 and appendix F.

Comparisons of samples have one answer on all of a path, so once the path decides them the chain is
an ordinary finite one. Whether the weights are probabilities for the eps of a run is not looked at
here; where they are, and none that is not the zero function is 0, the loop ends with probability 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.language.traversal import reaching
from dipapprox.laws.distribution import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.limits import check_limits, current
from dipapprox.semantics import statements
from dipapprox.semantics.evaluation import Frame, NeedsValue, PathFault, into
from dipapprox.semantics.order import cone_of
from dipapprox.semantics.path_ends import finish, refuse
from dipapprox.semantics.run import Execution, State, Trail, check_count, live_values, number_of
from dipapprox.semantics.splitting import Refused, decide, split, split_on_input
from dipapprox.semantics.state import Store, guards_of
from dipapprox.source import Span

CERTAINLY = ExponentialRatio.constant(1)
Transitions = Sequence[Mapping[int, ExponentialRatio]]
"""For every node the nodes that follow it, with functions other than 0; none for ends."""


def law_of_end(
    transitions: Transitions, ends: Collection[int]
) -> tuple[ChoiceLaw, tuple[int, ...]]:
    """Return the law of the end that is reached from node 0, as simple as it gets.

    Nodes that only go on to one other are left out; the rest is numbered breadth first, so that
    chains that do the same mostly look the same. A chain with one end stays a chain: that it gets
    there has to be proved.

    Args:
        transitions: A chain in which every node reaches an end.

    Returns:
        The law, and the node that outcome k means, for every k.
    """

    def target(node: int) -> int:
        while len(transitions[node]) == 1:
            ((following, weight),) = transitions[node].items()
            if weight != CERTAINLY:
                break
            node = following
        return node

    order = {target(0): 0}
    rows: list[tuple[tuple[int, ExponentialRatio], ...]] = []
    waiting = deque(order)
    while waiting:
        row: dict[int, ExponentialRatio] = {}
        for following, weight in transitions[waiting.popleft()].items():
            node = target(following)
            if node not in order:
                order[node] = len(order)
                waiting.append(node)
            number = order[node]
            row[number] = row[number] + weight if number in row else weight
        rows.append(tuple(row.items()))
    outcomes = {number: node for node, number in order.items() if node in ends}
    if 0 in outcomes:
        law: ChoiceLaw = FiniteLaw((CERTAINLY,))
    elif len(rows[0]) == len(outcomes) == len(rows) - 1:
        law = FiniteLaw(tuple(weight for _, weight in rows[0]))
    else:
        law = ChainLaw(tuple(rows), tuple(outcomes))
    return law, tuple(outcomes.values())


class ChainEnd(Record, eq=False):
    """A way in which a loop is left."""

    state: State  # store and outputs; only live cells are in the store
    by_exit: bool = False
    span: Span | None = None


class OpenCondition(Exception):
    """A path does not decide a condition in a loop; `state` is what it looked like there."""

    def __init__(self, statement: core.If | core.While, state: State) -> None:
        super().__init__()
        self.statement = statement
        self.state = state


_Node = tuple[Frame, State] | ChainEnd


def leave(run: Execution, loop: core.While, states: list[State]) -> list[State]:
    """Run a loop from states that reach it, until each part has one chain; all are one choice.

    Raises:
        LimitReached: If there are too many situations.
    """
    pruned = all(state.cone is not None for state in states)
    left = list[State]()
    waiting = states[::-1]
    while waiting:
        state = waiting.pop()
        if state.cone is None:
            state.cone, _ = cone_of(guards_of(state.path), run.points)
            state.settled = state.path
        try:
            law, ends = _chain(run, loop, state)
        except OpenCondition as condition:
            waiting += _settled(run, condition, state)[::-1]
        except NeedsValue as need:
            waiting += split_on_input(run, state, need.cell)[::-1]
        except PathFault as fault:
            refuse(run, state, fault)
        else:
            state.cone = state.cone if pruned else None
            left += _taken(run, loop, state, law, ends)
            check_count(run, len(left))
    return left


def _chain(
    run: Execution, loop: core.While, entry: State
) -> tuple[ChoiceLaw, tuple[ChainEnd, ...]]:
    """Follow a loop from a state, which stays as it is.

    Returns:
        A law, and its outcomes. With one end the law has one outcome.

    Raises:
        NeedsValue: If a choice needs an input that the path does not know.
        OpenCondition: If a condition is not decided by the path.
        PathFault: If a course goes wrong, or the loop may never end.
    """
    nodes: list[_Node] = [(Frame((loop,)), entry.copy())]
    numbers = {_key(run, loop, nodes[0]): 0}
    transitions: list[dict[int, ExponentialRatio]] = []
    for node in nodes:  # grows
        _count(run)
        found: dict[int, ExponentialRatio] = {}
        if not isinstance(node, ChainEnd):
            for weight, following in _courses(run, *node):
                number = numbers.setdefault(_key(run, loop, following), len(nodes))
                if number == len(nodes):
                    nodes.append(following)
                found[number] = found[number] + weight if number in found else weight
        transitions.append({k: weight for k, weight in found.items() if weight.numerator})
    ends = {k: node for k, node in enumerate(nodes) if isinstance(node, ChainEnd)}
    terminating = reaching(dict(enumerate(transitions)), ends)
    if len(terminating) < len(nodes):
        raise statements.endless(_loop_of(nodes, terminating))
    law, outcomes = law_of_end(transitions, ends)
    return law, tuple(ends[node] for node in outcomes)


def _settled(run: Execution, condition: OpenCondition, state: State) -> list[State]:
    """Split a state that reaches a loop on a condition in it."""
    before = state.copy()
    state.take_values(condition.state)
    held, failed = decide(run, condition.statement, state)
    for part in (*held, *failed):
        part.take_values(before)
    return held + failed


def _count(run: Execution) -> None:
    check_limits()
    run.explored += 1
    if run.explored > current().states:
        raise LimitReached(f"loop limit: more than {current().states} states in loops")


def _key(run: Execution, loop: core.While, node: _Node) -> object:
    """Equal for equal situations. Forgets the cells that are not live."""
    if isinstance(node, ChainEnd):
        live = run.live.at_end if node.by_exit else run.live.after[id(loop)]
        place: tuple[int, ...] = (node.by_exit,)
        state = node.state
    else:
        frame, state = node
        live, place = run.live.before[id(frame.statement)], frame.key()
    state.store = Store(dict(live_values(run, state, live)))
    return place, statements.situation(run, state, live)


def _courses(
    run: Execution, frame: Frame, state: State
) -> Iterator[tuple[ExponentialRatio, _Node]]:
    """Yield the courses from a place where courses meet to the next one, or the end."""
    match frame.statement:
        case core.Choose() as choice:
            _count(run)
            name = statements.target_name(run, state, choice.target)
            law, values = statements.weighed(run, choice, name, state)
            for value, weight in zip(values, law.weights, strict=True):
                part = state.copy()
                statements.assign_value(run, part, name, value, choice.span)
                yield weight, _course(run, frame.after(), part)
        case core.While() as loop:
            start = into(loop.body, frame) if _decide(run, loop, state) else frame.after()
            yield CERTAINLY, _course(run, start, state.copy())
        case _:
            raise BrokenInvariant("courses meet at loops and choices only")


def _course(run: Execution, here: Frame | None, state: State) -> _Node:
    """Return where the course from a place, of which the state is used up, meets others, or ends.

    Courses meet at loops and choices, and end at an exit.
    """
    while here is not None:
        match here.statement:
            case core.Assign() as assignment:
                statements.assign(run, assignment, state)
                here = here.after()
            case core.If(_, then, otherwise) as branch:
                here = into(then if _decide(run, branch, state) else otherwise, here.after())
            case core.Exit(span=span):
                return ChainEnd(state, True, span)
            case core.Draw():
                raise BrokenInvariant("a sample drawn in a loop was not refused")
            case _:
                return here, state
    return ChainEnd(state)


def _decide(run: Execution, statement: core.If | core.While, state: State) -> bool:
    """Whether a condition holds on all of the path; it may also be a fault on all of it."""
    refused: list[Refused] = []
    held, failed = split(run, state.copy(), statement.condition, refused)
    first, *others = [*held, *failed, *(part for part, _ in refused)]
    if others or first.path is not state.path or first.knowledge is not state.knowledge:
        raise OpenCondition(statement, state)
    if refused:
        raise refused[0][1]
    return bool(held)


def _loop_of(nodes: Sequence[_Node], terminating: Collection[int]) -> core.While:
    """Return a loop among the nodes from which no end is reached: they go round in one."""
    for number, node in enumerate(nodes):
        if number not in terminating and not isinstance(node, ChainEnd):
            frame, _ = node
            if isinstance(frame.statement, core.While):
                return frame.statement
    raise BrokenInvariant("what has no loop in it ends")


def _taken(
    run: Execution, loop: core.While, state: State, law: ChoiceLaw, ends: Sequence[ChainEnd]
) -> list[State]:
    """Split a state, which is used up, into the ways in which a loop is left."""
    site = next(statements.choices_in((loop,))).site
    statements.require_law(run, law, site, "while", loop.condition.span)
    parts = statements.split_by_outcome(run, state, law, site, "while")
    left = list[State]()
    for outcome, (part, end) in enumerate(zip(parts, ends, strict=True)):
        if len(parts) > 1:
            part.trail = Trail(part.trail, loop, number_of(run, loop, outcome + 1), True)
        part.take_values(end.state)
        if end.by_exit:
            finish(run, [part], end.span)
        else:
            left.append(part)
    return left
