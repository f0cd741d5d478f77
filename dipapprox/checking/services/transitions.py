"""What a service does at a call, derived by the check: closed forms of its replies and states.

One call in one state is a program without inputs: cells are assigned their values, clamps are
spelled out as comparisons, and the outputs are the reply and the next state. It is followed path
by path and integrated as programs of decisions are (`checking.decisions.forms`): nothing of
`services`, `semantics` or `events` is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from dipapprox.checking.claims import Interval
from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.decisions.known_signs import KnownSigns
from dipapprox.checking.decisions.quotients import Quotient
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass, replace
from dipapprox.language import core
from dipapprox.language.calls import Clamp
from dipapprox.language.domains import AllReals
from dipapprox.language.services import Handler, Service
from dipapprox.limits import Limits

UNASSIGNED = "no_reply"
"""What a reply cell holds that a query does not assign."""

ALL = Interval(Fraction(0), None)
"""Every ε > 0."""

Row = tuple[core.Value, ...]
"""Values of the state cells, or of the reply cells."""

MOST_VALUES = 2_000
"""Most values of a clamp that is spelled out."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call: its handler and what it carries."""

    handler: Handler
    values: Row


class Transitions:
    """The outcomes of calls, each derived once.

    Args:
        service: Its cells are finite.
        limits: Asked throughout.

    Raises:
        Stuck: If a cell is not finite.
    """

    def __init__(self, service: Service, limits: Limits) -> None:
        self._service = service
        self._limits = limits
        self._signs = KnownSigns(ALL, limits)
        self._known: dict[tuple[Row, str, Row], dict[tuple[Row, Row], Quotient]] = {}
        cells = [*(cell.cell for cell in service.states), *service.replies]
        if any(isinstance(cell.domain, AllReals) for cell in cells):
            raise Stuck("a cell of the service is not finite")

    def calls(self) -> Iterator[Call]:
        """Yield all calls that can be made."""
        for handler in self._service.handlers:
            for values in product(*(cell.domain for cell in handler.arguments)):
                yield Call(handler, values)

    def outcomes(self, state: Row, call: Call) -> dict[tuple[Row, Row], Quotient]:
        """Return the probabilities of (reply, next state), functions of ε that are not 0.

        Raises:
            Stuck: If they cannot be derived.
            LimitReached: If the limits run out.
        """
        key = state, call.handler.name, call.values
        if key not in self._known:
            self._limits.check()
            program = self._program(state, call)
            forms = Forms(program, [()], self._limits)
            for chance in forms.chances:
                self._signs.require_choice(chance)
            found = forms.for_input(())
            size = len(self._service.replies)
            self._known[key] = {
                (tuple(row[:size]), tuple(row[size:])): probability
                for row, probability in found.items()
                if probability.top
            }
        return self._known[key]

    def _program(self, state: Row, call: Call) -> core.Program:
        body: list[core.Statement] = []
        outputs = []
        for cell in self._service.replies:
            body.append(_hold(cell.name, UNASSIGNED))
            outputs.append(replace(cell, domain=(*cell.domain, UNASSIGNED)))
        for each, value in zip(self._service.states, state, strict=True):
            body.append(_hold(each.name, value))
            outputs.append(each.cell)
        for argument, value in zip(call.handler.arguments, call.values, strict=True):
            body.append(_hold(argument.name, value))
        body += _spelled_out(call.handler.body, call.handler)
        return core.Program(
            name=self._service.name,
            parameters=self._service.parameters,
            inputs=(),
            outputs=tuple(outputs),
            body=tuple(body),
            adjacency=core.Everyone(),
        )


def _hold(name: str, value: core.Value) -> core.Statement:
    return core.Assign(core.Variable(name), core.Constant(value))


def _spelled_out(block: core.Block, handler: Handler) -> core.Block:
    result: list[core.Statement] = []
    for statement in block:
        match statement:
            case core.If(condition, then, otherwise):
                parts = _spelled_out(then, handler), _spelled_out(otherwise, handler)
                result.append(core.If(condition, *parts))
            case core.While(condition, body):
                result.append(core.While(condition, _spelled_out(body, handler)))
            case core.Assign(core.Variable(name) as held) if name in handler.clamps:
                result += [statement, *_clamp(handler.clamps[name], held)]
            case _:
                result.append(statement)
    return tuple(result)


def _clamp(clamp: Clamp, held: core.Variable) -> Iterator[core.Statement]:
    """One comparison for each value, from the largest down; then those beyond the ends."""
    if clamp.high - clamp.low >= MOST_VALUES:
        raise Stuck(f"a clamp to more than {MOST_VALUES} values")
    low, high = (core.Constant(Fraction(end)) for end in (clamp.low, clamp.high))
    if clamp.is_finite:
        chain: core.Statement = core.Assign(clamp.place, held)
        beyond = core.Comparison(held, core.Relation.GREATER, high)
        chain = core.If(beyond, (core.Assign(clamp.place, high),), (chain,))
    else:
        chain = core.Assign(clamp.place, high)
        for number in range(clamp.high - 1, clamp.low, -1):
            here = core.Constant(Fraction(number))
            at_most = core.Comparison(held, core.Relation.LESS_EQUAL, here)
            chain = core.If(at_most, (core.Assign(clamp.place, here),), (chain,))
    if clamp.low < clamp.high:
        below = core.Comparison(held, core.Relation.LESS_EQUAL, low)
        chain = core.If(below, (core.Assign(clamp.place, low),), (chain,))
    yield chain
