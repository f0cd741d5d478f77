"""Every path of a core program for one concrete input: the checker's own executor.

In: a core program and an input row. Out: for every path its outputs, the laws of the samples it
drew, the linear inequalities under which it is taken and the chances of the choices it made. Inputs
are numbers here, never symbols, and paths are never merged: nothing of `semantics` or `events` is
used. Loops are followed round by round.

For continuous samples `<` and `<=` need no distinction, and an equation has probability 0. Sums of
integer samples are at most m or at least m + 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from dipapprox.checking.chances import Chance
from dipapprox.checking.facts import Facts, Line
from dipapprox.checking.integer_facts import Outcome, compared_integers
from dipapprox.checking.values import Datum, Stuck, closed, datum_of, place_of, value_of
from dipapprox.distributions import Distribution, Family
from dipapprox.language import core
from dipapprox.limits import Limits

_MOST_ROUNDS = 1000
"""Of all loops of a path: a loop that ends by chance only has paths of every length."""


@dataclass(frozen=True, slots=True)
class Path:
    """One way through the program.

    Attributes:
        outputs: Values of the output cells, in order.
        laws: The laws of the samples drawn.
        lines: The path is taken where every line is <= 0.
        chances: Of its choices, independent of each other and of the samples.
    """

    outputs: tuple[core.Value, ...]
    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]
    chances: tuple[Chance, ...]


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is still to be executed: a block from a position on, then what follows it."""

    block: core.Block
    position: int
    after: _Rest | None


@dataclass(frozen=True, slots=True)
class _State:
    rest: _Rest | None
    store: Mapping[str, Datum]
    laws: tuple[Distribution, ...]
    facts: Facts
    chances: tuple[Chance, ...] = ()
    rounds: int = 0  # of loops


def paths(
    program: core.Program, epsilon: Fraction, row: core.InputRow, limits: Limits
) -> Iterator[Path]:
    """Yield every path that the facts seen do not exclude.

    Raises:
        Stuck: If a cell is read before it is assigned, an index is out of range, or the like.
        LimitReached: If `limits` run out.
    """
    store = {cell.name: datum_of(value) for cell, value in zip(program.inputs, row, strict=True)}
    states = [_State(_Rest(program.body, 0, None), store, (), Facts())]
    count = 0
    while states:
        state = states.pop()
        while state.rest is not None:
            forked = _step(state, state.rest, epsilon)
            state = forked[0]
            states += forked[1:]
            limits.check_states(len(states))
        count += 1
        if count % 16 == 1:
            limits.check()
        limits.check_states(count)
        outputs = _outputs(program, state.store)
        yield Path(outputs, state.laws, state.facts.lines, state.chances)


def _step(state: _State, rest: _Rest, epsilon: Fraction) -> list[_State]:
    """Execute one statement; an `if` on samples and a choice give one state for each outcome."""
    if rest.position == len(rest.block):
        return [replace(state, rest=rest.after)]
    statement = rest.block[rest.position]
    after = _Rest(rest.block, rest.position + 1, rest.after)
    store = state.store
    match statement:
        case core.Assign(target, value):
            changed = {**store, place_of(target, store): value_of(value, store)}
            return [replace(state, rest=after, store=changed)]
        case core.Draw(target, family, mean, scale):
            centre = value_of(mean, store)
            if not isinstance(centre, Line) or centre.terms:
                raise Stuck("the mean of a draw is not a number")
            if family.is_discrete and centre.constant.denominator > 1:
                raise Stuck("the mean of integer noise is not an integer")
            law = Distribution(family, centre.constant, scale.at(epsilon))
            sample = Line(Fraction(0), ((len(state.laws), Fraction(1)),))
            changed = {**store, place_of(target, store): sample}
            facts = _with_support(state.facts, sample, law)
            laws = (*state.laws, law)
            return [replace(state, rest=after, store=changed, laws=laws, facts=facts)]
        case core.Choose():
            return _chosen(statement, replace(state, rest=after))
        case core.If(condition, then, otherwise):
            return [
                replace(state, rest=_Rest(then if truth else otherwise, 0, after), facts=facts)
                for truth, facts in _outcomes(condition, state, state.facts)
            ]
        case core.While(condition, body):
            if state.rounds == _MOST_ROUNDS:
                raise Stuck(f"a loop that may go on after {_MOST_ROUNDS} rounds")
            again = _Rest(body, 0, rest)
            return [
                replace(state, rest=again, facts=facts, rounds=state.rounds + 1)
                if truth
                else replace(state, rest=after, facts=facts)
                for truth, facts in _outcomes(condition, state, state.facts)
            ]
        case core.Exit():
            return [replace(state, rest=None)]
        case _:
            assert_never(statement)


def _with_support(facts: Facts, sample: Line, law: Distribution) -> Facts:
    """One-sided noise is never on the other side of its mean: what needs it there is impossible."""
    beyond = sample + Line(-law.mean)
    match law.family:
        case Family.EXPONENTIAL:
            return facts.knowing(beyond.times(Fraction(-1)))
        case Family.REFLECTED_EXPONENTIAL:
            return facts.knowing(beyond)
        case Family.GAUSSIAN | Family.LAPLACE | Family.DISCRETE_LAPLACE:
            return facts
        case _:
            assert_never(law.family)


def _chosen(choice: core.Choose, state: _State) -> list[_State]:
    store = state.store
    place = place_of(choice.target, store)
    weights = tuple(closed(weight, store) for _, weight in choice.options)
    found = []
    for k, (value, _) in enumerate(choice.options):
        chance = Chance(weights, k, choice.proportional)
        if not chance.is_nothing:
            changed = {**store, place: value_of(value, store)}
            found.append(replace(state, store=changed, chances=(*state.chances, chance)))
    if not found:
        raise Stuck("a choice without possible outcome")
    return found


def _outcomes(condition: core.Condition, state: _State, facts: Facts) -> list[Outcome]:
    """Split the facts into disjoint cases in each of which the condition is true or false."""
    match condition:
        case core.Comparison():
            return _compared(condition, state, facts)
        case core.All(parts) | core.Any(parts):
            # `and` goes on while everything was true, `or` while everything was false.
            going = isinstance(condition, core.All)
            open_cases, decided = [facts], list[Outcome]()
            for part in parts:
                cases = [o for each in open_cases for o in _outcomes(part, state, each)]
                open_cases = [case for truth, case in cases if truth == going]
                decided += [(truth, case) for truth, case in cases if truth != going]
            return decided + [(going, case) for case in open_cases]
        case _:
            assert_never(condition)


def _compared(comparison: core.Comparison, state: _State, facts: Facts) -> list[Outcome]:
    left, right = (value_of(side, state.store) for side in (comparison.left, comparison.right))
    relation = comparison.relation
    if isinstance(left, str) or isinstance(right, str):
        return [(_related(left == right, relation), facts)]
    line = left.minus(right)
    if not line.terms:
        return [(_ordered(line.constant, relation), facts)]
    integers = {state.laws[sample].family.is_discrete for sample, _ in line.terms}
    if len(integers) > 1:
        raise Stuck("a comparison of discrete with continuous samples")
    if integers == {True}:
        return compared_integers(line, relation, facts)
    match relation:
        case core.Relation.EQUAL | core.Relation.NOT_EQUAL:
            return [(relation is core.Relation.NOT_EQUAL, facts)]
        case core.Relation.GREATER | core.Relation.GREATER_EQUAL:
            line = line.times(Fraction(-1))
        case core.Relation.LESS | core.Relation.LESS_EQUAL:
            pass
        case _:
            assert_never(relation)
    opposite = line.times(Fraction(-1))
    if facts.implies(line):
        return [(True, facts)]
    if facts.implies(opposite):
        return [(False, facts)]
    return [(True, facts.plus(line)), (False, facts.plus(opposite))]


def _related(equal: bool, relation: core.Relation) -> bool:
    if relation not in (core.Relation.EQUAL, core.Relation.NOT_EQUAL):
        raise Stuck("named values are compared by size")
    return equal == (relation is core.Relation.EQUAL)


def _ordered(difference: Fraction, relation: core.Relation) -> bool:
    match relation:
        case core.Relation.LESS:
            return difference < 0
        case core.Relation.LESS_EQUAL:
            return difference <= 0
        case core.Relation.GREATER:
            return difference > 0
        case core.Relation.GREATER_EQUAL:
            return difference >= 0
        case core.Relation.EQUAL:
            return difference == 0
        case core.Relation.NOT_EQUAL:
            return difference != 0
        case _:
            assert_never(relation)


def _outputs(program: core.Program, store: Mapping[str, Datum]) -> tuple[core.Value, ...]:
    values: list[core.Value] = []
    for cell in program.outputs:
        value = store.get(cell.name)
        if value is None:
            raise Stuck(f"the output '{cell.name}' is never assigned")
        if isinstance(value, Line):
            if value.terms:
                raise Stuck(f"the output '{cell.name}' is a sample")
            values.append(value.constant)
        else:
            values.append(value)
    return tuple(values)
