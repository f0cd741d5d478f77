"""Every path of a core program for one input: the checker's own executor.

In: a core program and an input. Out: for every path its outputs, the laws of the samples it
drew, the linear inequalities under which it is taken and the chances of the choices it made. Paths
are never merged: nothing of `semantics` or `events` is used.

Inputs are numbers, or the first symbols of all lines (`symbolic_paths`): then samples around such
inputs are noise around 0, and the inequalities tell the rest.

A loop that neither draws nor compares samples is a Markov chain over stores: it gives one path for
each store in which it may end (`chains`). Other loops are followed round by round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.checking.chains import Absorbed, Chain, Products, Random
from dipapprox.checking.chances import Chance
from dipapprox.checking.conditions import ANY_NUMBER, outcomes
from dipapprox.checking.facts import Facts, Line
from dipapprox.checking.values import Datum, Stuck, closed, datum_of, place_of, value_of
from dipapprox.checking.weights import is_nothing
from dipapprox.data_classes import dataclass, replace
from dipapprox.digits import brief_text
from dipapprox.distributions import Distribution, Family
from dipapprox.language import core
from dipapprox.language.equal_turns import written_out
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
        chances: Of its choices and loops, independent of each other and of the samples.
        reals: The real outputs as forms over the samples, in order; see `publishing_paths`.
    """

    outputs: tuple[core.Value, ...]
    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]
    chances: tuple[Random, ...]
    reals: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Rest:
    """What is still to be executed: a block from a position on, then what follows it."""

    block: core.Block
    position: int
    after: Rest | None


@dataclass(frozen=True, slots=True)
class _State:
    rest: Rest | None
    store: Mapping[str, Datum]
    laws: tuple[Distribution, ...]
    facts: Facts
    symbols: int  # that are inputs
    chances: tuple[Random, ...] = ()
    rounds: int = 0  # of loops that are followed
    ended: bool = False  # by `exit`


def paths(program: core.Program, eps: Fraction, row: core.Input, limits: Limits) -> Iterator[Path]:
    """Yield every path that the facts seen do not exclude.

    Raises:
        Stuck: If a cell is read before it is assigned, an index is out of range, or the like; if
            an output may be any real number.
        LimitReached: If `limits` run out.
    """
    if program.real_outputs:
        raise Stuck("an output that may be any real number")
    yield from publishing_paths(program, eps, row, limits)


def publishing_paths(
    program: core.Program, eps: Fraction, row: core.Input, limits: Limits
) -> Iterator[Path]:
    """Yield every path that the facts seen do not exclude, with the real outputs, if there are any.

    Raises:
        Stuck, LimitReached: See `paths`.
    """
    store = {cell.name: datum_of(value) for cell, value in zip(program.inputs, row, strict=True)}
    yield from _all_paths(program, store, (), eps, limits)


def symbolic_paths(
    program: core.Program, eps: Fraction, row: Sequence[core.Value | None], limits: Limits
) -> Iterator[Path]:
    """Yield every path that the facts seen do not exclude; inputs without a value are symbols.

    The k-th of them is number k in lines, and the k-th law, which says nothing.

    Raises:
        Stuck: As `publishing_paths`; if such inputs are compared without noise.
        LimitReached: If `limits` run out.
    """
    store: dict[str, Datum] = {}
    count = 0
    for cell, value in zip(program.inputs, row, strict=True):
        if value is None:
            store[cell.name] = Line(Fraction(0), ((count, Fraction(1)),))
            count += 1
        else:
            store[cell.name] = datum_of(value)
    yield from _all_paths(program, store, (ANY_NUMBER,) * count, eps, limits)


def _all_paths(
    program: core.Program,
    store: Mapping[str, Datum],
    symbols: tuple[Distribution, ...],
    eps: Fraction,
    limits: Limits,
) -> Iterator[Path]:
    start = _State(Rest(written_out(program.body), 0, None), store, symbols, Facts(), len(symbols))
    for state in _run(start, eps, limits):
        outputs = _outputs(program, state.store)
        reals = _reals(program, state.store)
        yield Path(outputs, state.laws, state.facts.lines, state.chances, reals)


def _run(start: _State, eps: Fraction, limits: Limits) -> Iterator[_State]:
    """Yield the states in which a state may end."""
    states = [start]
    count = 0
    while states:
        state = states.pop()
        while state.rest is not None:
            forked = _step(state, state.rest, eps, limits)
            state = forked[0]
            states += forked[1:]
            limits.check_states(len(states))
        count += 1
        if count % 16 == 1:
            limits.check()
        limits.check_states(count)
        yield state


def _step(state: _State, rest: Rest, eps: Fraction, limits: Limits) -> list[_State]:
    """Execute one statement; an `if` on samples and a choice give one state for each outcome."""
    if rest.position == len(rest.block):
        return [replace(state, rest=rest.after)]
    statement = rest.block[rest.position]
    after = Rest(rest.block, rest.position + 1, rest.after)
    store = state.store
    match statement:
        case core.Assign(target, value):
            changed = {**store, place_of(target, store): value_of(value, store)}
            return [replace(state, rest=after, store=changed)]
        case core.Draw(target, family, around, scale):
            centre = value_of(around, store)
            if not isinstance(centre, Line) or any(s >= state.symbols for s, _ in centre.terms):
                raise Stuck("the mean of a draw is not a number")
            if family.is_discrete and (centre.terms or centre.constant.denominator > 1):
                raise Stuck("the mean of integer noise is not an integer")
            mean, shift = centre.constant, Line(Fraction(0))
            if centre.terms:
                mean, shift = Fraction(0), centre
            law = Distribution(family, mean, scale.at(eps))
            sample = Line(Fraction(0), ((len(state.laws), Fraction(1)),))
            changed = {**store, place_of(target, store): sample + shift}
            facts = _with_support(state.facts, sample, law)
            laws = (*state.laws, law)
            return [replace(state, rest=after, store=changed, laws=laws, facts=facts)]
        case core.Choose():
            return _chosen(statement, replace(state, rest=after))
        case core.If(condition, then, otherwise):
            return [
                replace(state, rest=Rest(then if truth else otherwise, 0, after), facts=facts)
                for truth, facts in outcomes(condition, store, state.laws, state.facts)
            ]
        case core.While(condition, body):
            ends = _absorbed(statement, state, after, eps, limits)
            if ends is not None:
                return ends
            if state.rounds == _MOST_ROUNDS:
                raise Stuck(f"a loop that may go on after {_MOST_ROUNDS} rounds")
            again = Rest(body, 0, rest)
            return [
                replace(state, rest=again, facts=facts, rounds=state.rounds + 1)
                if truth
                else replace(state, rest=after, facts=facts)
                for truth, facts in outcomes(condition, store, state.laws, state.facts)
            ]
        case core.Exit():
            return [replace(state, rest=None, ended=True)]
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
        case Family.GAUSSIAN | Family.LAPLACE | Family.DISCRETE_LAPLACE | Family.DISCRETE_GAUSSIAN:
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
        if not is_nothing(chance):
            changed = {**store, place: value_of(value, store)}
            found.append(replace(state, store=changed, chances=(*state.chances, chance)))
    if not found:
        raise Stuck("a choice without possible outcome")
    return found


def _absorbed(
    loop: core.While, start: _State, after: Rest, eps: Fraction, limits: Limits
) -> list[_State] | None:
    """Execute a loop as a Markov chain over stores; None if it is about samples."""
    places = {(False, frozenset(start.store.items())): 0}
    states = [replace(start, chances=())]
    rows: list[tuple[tuple[int, Products], ...]] = []
    for state in states:  # which grows
        limits.check()
        row: dict[int, list[tuple[Random, ...]]] = {}
        for end in _rounds(loop, state, eps, limits):
            if end.facts != start.facts or end.laws != start.laws:
                return None
            key = end.ended, frozenset(end.store.items())
            place = places.setdefault(key, len(states))
            if place == len(states):
                states.append(replace(end, chances=()))
                limits.check_states(len(states))
            row.setdefault(place, []).append(end.chances)
        rows.append(tuple((place, tuple(products)) for place, products in row.items()))
    ends = [place for place, row in enumerate(rows) if not row]
    if not ends:
        raise Stuck("a loop that never ends")
    chain = Chain(tuple(rows))
    by_chance = any(product for row in rows for _, products in row for product in products)
    return [
        replace(
            states[place],
            rest=None if states[place].ended else after,
            chances=(*start.chances, *([Absorbed(chain, place)] if by_chance else [])),
        )
        for place in ends
    ]


def _rounds(loop: core.While, state: _State, eps: Fraction, limits: Limits) -> Iterator[_State]:
    """Yield the states after one more round; none if the loop is left."""
    if state.ended:
        return
    for truth, facts in outcomes(loop.condition, state.store, state.laws, state.facts):
        if facts != state.facts:
            yield replace(state, facts=facts)
        elif truth:
            yield from _run(replace(state, rest=Rest(loop.body, 0, None)), eps, limits)


def _outputs(program: core.Program, store: Mapping[str, Datum]) -> tuple[core.Value, ...]:
    values: list[core.Value] = []
    for cell in program.outputs:
        value: Datum | core.Value | None = store.get(cell.name)
        if value is None:
            raise Stuck(f"the output '{cell.name}' is never assigned")
        if isinstance(value, Line):
            if value.terms:
                raise Stuck(f"the output '{cell.name}' is a sample")
            value = value.constant
        if value not in cell.domain:
            raise Stuck(f"{brief_text(value)} is not in the domain of '{cell.name}'")
        values.append(value)
    return tuple(values)


def _reals(program: core.Program, store: Mapping[str, Datum]) -> tuple[Line, ...]:
    found: list[Line] = []
    for cell in program.real_outputs:
        value = store.get(cell.name)
        if value is None:
            raise Stuck(f"the output '{cell.name}' is never assigned")
        if not isinstance(value, Line):
            raise Stuck(f"the output '{cell.name}' is the named value '{value}'")
        found.append(value)
    return tuple(found)
