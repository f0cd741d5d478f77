"""All runs of a program whose inputs are symbols: what is assumed of noise and inputs, the output.

A draw is its mean plus noise around 0 that was drawn before the program began: one number for each
site. So a run is a set of noises and inputs, bounded by half spaces, and the sets of all runs are a
partition of all noises and inputs, up to where two numbers with noise are equal. Of finite choices
it is told in advance how they go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.checking.conditions import outcomes
from dipapprox.checking.facts import Facts, Line
from dipapprox.checking.paths import Rest
from dipapprox.checking.values import Datum, Stuck, place_of, value_of
from dipapprox.data_classes import dataclass, replace
from dipapprox.digits import brief_text
from dipapprox.distributions import Decay, Distribution, Family
from dipapprox.language import core
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits

_MOST_ROUNDS = 1000
"""Of all loops of a run."""

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Run:
    """One way through the program: where every line is <= 0; symbols are those of a `Tape`.

    Attributes:
        output: The values of the finite outputs.
        shown: The real outputs.
        lines: What is assumed.
    """

    output: tuple[core.Value, ...]
    shown: tuple[Line, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Tape:
    """The symbols of a program: inputs first, by their numbers, then noise, site by site.

    Attributes:
        inputs: How many inputs there are.
        draws: By their sites, in order of symbols.
        laws: Of all symbols, as far as comparisons ask: integers, or one side of 0.
    """

    inputs: int
    draws: Mapping[int, core.Draw]
    laws: tuple[Distribution, ...]

    @property
    def symbols(self) -> dict[int, int]:
        """The symbol of each site's noise."""
        return {site: self.inputs + k for k, site in enumerate(self.draws)}

    @property
    def supports(self) -> Iterator[Line]:
        """Yield what always holds of one-sided noise, as lines <= 0."""
        for symbol, law in enumerate(self.laws):
            if -1 not in law.family.sides:
                yield Line(_ZERO, ((symbol, -_ONE),))
            if 1 not in law.family.sides:
                yield Line(_ZERO, ((symbol, _ONE),))


def tape_of(program: core.Program) -> Tape:
    """Return the symbols of a program.

    Raises:
        Stuck: If it draws integers beside real numbers, or chooses in a loop.
    """
    draws = {each.site: each for each in _draws(written_out(program.body))}
    kinds = {each.family.is_discrete for each in draws.values()}
    if len(kinds) > 1:
        raise Stuck("integer noise beside real noise")
    input = Family.DISCRETE_LAPLACE if True in kinds else Family.LAPLACE
    laws = [Distribution(input, _ZERO, _ONE) for _ in program.inputs]
    laws += [Distribution(each.family, _ZERO, _ONE) for each in draws.values()]
    return Tape(len(program.inputs), draws, tuple(laws))


def rate_of(draw: core.Draw) -> Fraction | None:
    """Return what a shift by 1 costs, in multiples of eps; None: no finite budget pays for it."""
    decay = draw.family.decay
    match decay:
        case Decay.SQUARED:
            return None
        case Decay.LINEAR:
            return 1 / draw.scale.coefficient if draw.scale.power == -1 else None
        case _:
            assert_never(decay)


def is_outside(draw: core.Draw, noise: Fraction) -> bool:
    """Whether noise is never on this side of its mean."""
    return (noise < 0 and -1 not in draw.family.sides) or (noise > 0 and 1 not in draw.family.sides)


def _draws(block: core.Block) -> Iterator[core.Draw]:
    for statement in block:
        match statement:
            case core.Draw():
                yield statement
            case core.If(then=then, otherwise=otherwise):
                yield from _draws(then)
                yield from _draws(otherwise)
            case core.While(body=body):
                if choices_of(body):
                    raise Stuck("a random choice among finitely many values in a loop")
                yield from _draws(body)
            case core.Assign() | core.Exit() | core.Choose():
                pass
            case _:
                assert_never(statement)


def choices_of(block: core.Block) -> tuple[core.Choose, ...]:
    """Return the finite choices in a block."""
    found = list[core.Choose]()
    for statement in block:
        match statement:
            case core.Choose():
                found.append(statement)
            case core.If(then=then, otherwise=otherwise):
                found += [*choices_of(then), *choices_of(otherwise)]
            case core.While(body=body):
                found += choices_of(body)
            case core.Assign() | core.Exit() | core.Draw():
                pass
            case _:
                assert_never(statement)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _State:
    rest: Rest | None
    store: Mapping[str, Datum]
    facts: Facts
    drawn: frozenset[int] = frozenset()
    rounds: int = 0


def runs(
    program: core.Program, tape: Tape, chosen: Mapping[int, int], limits: Limits
) -> Iterator[Run]:
    """Yield every run that the lines seen do not exclude.

    Args:
        program: The program.
        tape: Its symbols.
        chosen: For each site of a choice the number of the option that it takes.
        limits: Asked again and again.

    Raises:
        Stuck: If inputs are compared without noise, or a value is missing.
        LimitReached: If `limits` run out.
    """
    store: dict[str, Datum] = {
        cell.name: Line(_ZERO, ((symbol, _ONE),)) for symbol, cell in enumerate(program.inputs)
    }
    facts = Facts()
    for line in tape.supports:
        facts = facts.knowing(line)
    symbols = tape.symbols
    states = [_State(Rest(written_out(program.body), 0, None), store, facts)]
    while states:
        limits.check()
        limits.check_states(len(states))
        state = states.pop()
        while state.rest is not None:
            state, *others = _step(state, state.rest, tape, symbols, chosen)
            states += others
        yield Run(_output(program, state.store), _shown(program, state.store), state.facts.lines)


def _step(
    state: _State,
    rest: Rest,
    tape: Tape,
    symbols: Mapping[int, int],
    chosen: Mapping[int, int],
) -> list[_State]:
    if rest.position == len(rest.block):
        return [replace(state, rest=rest.after)]
    statement = rest.block[rest.position]
    after = Rest(rest.block, rest.position + 1, rest.after)
    store = state.store
    match statement:
        case core.Assign(target, value):
            changed = {**store, place_of(target, store): value_of(value, store)}
            return [replace(state, rest=after, store=changed)]
        case core.Draw(target=target, mean=mean, site=site):
            centre, symbol = value_of(mean, store), symbols[site]
            if not isinstance(centre, Line) or site in state.drawn:
                raise Stuck("a draw without a number for its mean, or one that is made twice")
            if any(each >= tape.inputs for each, _ in centre.terms):
                raise Stuck("the mean of a draw is random")
            if tape.laws[symbol].family.is_discrete and not _is_whole(centre):
                raise Stuck("the mean of integer noise is not an integer")
            sample = centre + Line(_ZERO, ((symbol, _ONE),))
            changed = {**store, place_of(target, store): sample}
            return [replace(state, rest=after, store=changed, drawn=state.drawn | {site})]
        case core.If(condition, then, otherwise):
            return [
                replace(state, rest=Rest(then if truth else otherwise, 0, after), facts=facts)
                for truth, facts in _cases(condition, state, tape)
            ]
        case core.While(condition, body):
            if state.rounds == _MOST_ROUNDS:
                raise Stuck(f"loops of more than {_MOST_ROUNDS} rounds")
            again = Rest(body, 0, rest)
            return [
                replace(state, rest=again, facts=facts, rounds=state.rounds + 1)
                if truth
                else replace(state, rest=after, facts=facts)
                for truth, facts in _cases(condition, state, tape)
            ]
        case core.Exit():
            return [replace(state, rest=None)]
        case core.Choose(target=target, options=options, site=site):
            taken, _ = options[chosen[site]]
            changed = {**store, place_of(target, store): value_of(taken, store)}
            return [replace(state, rest=after, store=changed)]
        case _:
            assert_never(statement)


def _is_whole(line: Line) -> bool:
    return all(each.denominator == 1 for each in (line.constant, *(c for _, c in line.terms)))


def _cases(condition: core.Condition, state: _State, tape: Tape) -> list[tuple[bool, Facts]]:
    """Split what is assumed; comparisons of inputs without noise are no matter of chance."""
    for comparison in _comparisons(condition):
        left, right = (value_of(side, state.store) for side in (comparison.left, comparison.right))
        if isinstance(left, Line) and isinstance(right, Line):
            line = left.minus(right)
            if line.terms and all(symbol < tape.inputs for symbol, _ in line.terms):
                raise Stuck("inputs are compared without noise")
    return outcomes(condition, state.store, tape.laws, state.facts)


def _comparisons(condition: core.Condition) -> Iterator[core.Comparison]:
    match condition:
        case core.Comparison():
            yield condition
        case core.All(parts) | core.Any(parts):
            for part in parts:
                yield from _comparisons(part)
        case _:
            assert_never(condition)


def _output(program: core.Program, store: Mapping[str, Datum]) -> tuple[core.Value, ...]:
    values = list[core.Value]()
    for cell in program.outputs:
        found = store.get(cell.name)
        if found is None or (isinstance(found, Line) and found.terms):
            raise Stuck(f"the output '{cell.name}' has no value that is known")
        value: core.Value = found.constant if isinstance(found, Line) else found
        if value not in cell.domain:
            raise Stuck(f"{brief_text(value)} is not in the domain of '{cell.name}'")
        values.append(value)
    return tuple(values)


def _shown(program: core.Program, store: Mapping[str, Datum]) -> tuple[Line, ...]:
    values = list[Line]()
    for cell in program.real_outputs:
        found = store.get(cell.name)
        if not isinstance(found, Line):
            raise Stuck(f"the output '{cell.name}' has no value that is known")
        values.append(found)
    return tuple(values)
