"""A service as a probabilistic transition system: its calls, and what each does in a state.

The handlers are executed on values. Where all they do with samples is to publish them, `handlers`
reads the outcomes off the ends of paths; else they become programs for the engine that all other
commands use, whose final states and closed forms are the outcomes, for all eps at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import inf

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import replace
from dipapprox.errors import SourceError
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.language.cells import assigned, cells_of, read, statements_in, used
from dipapprox.language.constants import Wrong
from dipapprox.language.domains import AllReals
from dipapprox.language.piecewise import clamped
from dipapprox.language.services import Handler, Service, expanded
from dipapprox.limits import check_limits, check_states
from dipapprox.semantics.execution import execute
from dipapprox.services.handlers import PlainHandlers
from dipapprox.services.model import (
    NOTHING,
    Arrival,
    AskedService,
    Call,
    CallOutcome,
    Gain,
    Inexpressible,
    NotPlain,
    State,
    Step,
    Untracked,
    gain_of,
)
from dipapprox.source import Diagnostic

BY_VALUE: frozenset[str] = frozenset()
"""No cell is kept by differences."""

Moves = tuple[Step, tuple[int, ...], tuple[int, ...]]
"""The outcomes of a call, the numbers of the states that they lead to, and of what they show."""


class System:
    """The transitions of a service, found when they are asked for.

    Args:
        kept: Cells that are kept by differences: additive ones, or of ranges of whole numbers.
        any_data: Whether data of all values is one call, the value a symbol.

    Attributes:
        calls: All that can be made.
        seen: Whether they and their replies are seen.
        plain: What runs handlers whose samples decide nothing.
        decided: The handlers whose samples decided something, by number.
    """

    def __init__(
        self, asked: AskedService, kept: frozenset[str] = BY_VALUE, any_data: bool = False
    ) -> None:
        self.asked, self.service = asked, asked.service
        self.eps = asked.eps
        self.epsilons = ALL_EPSILONS
        if self.eps is not None:
            self.epsilons = EpsilonInterval(self.eps, self.eps, True, True)
        self.kept = kept
        self.any_data = any_data
        self.plain = PlainHandlers(self.service, kept, self.epsilons)
        self._steps: dict[tuple[Call, tuple[core.Value | None, ...]], Step] = {}
        self._known: list[dict[int, Moves]] = []
        self._numbers: dict[State, int] = {}
        self._shown: dict[object, int] = {}
        self.states: list[State] = []
        self.decided: set[int] = set()
        self._names = [cell.name for cell in self.service.states]
        self._used = [_used(self.service, handler) for handler in self.service.handlers]
        self.calls = tuple(self._calls())
        self._places = {call: place for place, call in enumerate(self.calls)}
        self.seen = tuple(map(self.sees, self.calls))

    @property
    def initial(self) -> State:
        return tuple(
            None if cell.name in self.kept else cell.initial for cell in self.service.states
        )

    def _calls(self) -> Iterator[Call]:
        for number, handler in enumerate(self.service.handlers):
            if handler.is_data and self.any_data:
                yield Call(number, handler.name, ())
                continue
            for values in product(*(cell.domain for cell in handler.arguments)):
                yield Call(number, handler.name, values)

    def sees(self, call: Call) -> bool:
        return self.service.handlers[call.handler].is_seen_by(self.asked.users)

    def reachable(self, most: float = inf) -> dict[State, Arrival | None]:
        """Return the states that calls lead to, each with how it was first come to."""
        begin = self.number(self.initial)
        found: dict[int, Arrival | None] = {begin: None}
        waiting = [begin]
        for number in waiting:
            if len(found) > most:
                break
            check_limits()
            for place, call in enumerate(self.calls):
                outcomes, targets, _ = self.moves(number, place)
                for outcome, target in zip(outcomes, targets, strict=True):
                    if target not in found:
                        found[target] = Arrival(self.states[number], call, outcome)
                        waiting.append(target)
            check_states(len(found))
        return {self.states[number]: arrival for number, arrival in found.items()}

    def number(self, state: State) -> int:
        """Number a state: pairs of numbers are looked up much faster."""
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self._known.append({})
        return number

    def moves(self, state: int, call: int) -> Moves:
        """Return the outcomes of a call in a state, both by their numbers; see `step`."""
        known = self._known[state].get(call)
        if known is None:
            outcomes = self._followed(self.states[state], self.calls[call])
            shown = self._shown
            known = self._known[state][call] = (
                outcomes,
                tuple([self.number(each.state) for each in outcomes]),
                tuple([shown.setdefault(o.reply, len(shown)) for o in outcomes]),
            )
        return known

    def step(self, state: State, call: Call) -> Step:
        """Return the outcomes of a call: `Untracked` if it needs the values of cells that have
        none, or of data, `Inexpressible` if there are no closed forms."""
        return self.moves(self.number(state), self._places[call])[0]

    def gain(self, p: ExponentialRatio, q: ExponentialRatio) -> Gain:
        """Return how much a probability exceeds another; see `gain_of`."""
        return gain_of(p, q, self.eps)

    def _followed(self, state: State, call: Call) -> Step:
        # What a handler does depends on the cells that it names, and changes only these.
        places = self._used[call.handler]
        if len(places) == len(state):
            return merged(self._outcomes(state, call))
        key = call, tuple([state[place] for place in places])
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = merged(self._outcomes(state, call))
        outcomes = []
        for each in found:
            after = list(state)
            for place in places:
                after[place] = each.state[place]
            outcomes.append(replace(each, state=tuple(after)))
        return tuple(outcomes)

    def _outcomes(self, state: State, call: Call) -> list[CallOutcome]:
        handler = self.service.handlers[call.handler]
        held = dict(zip(self._names, state, strict=True))
        values = call.values or [None] * len(handler.arguments)
        held.update(zip([each.name for each in handler.arguments], values, strict=True))
        try:
            return self.plain.outcomes(call.handler, held)
        except NotPlain as needs:
            if self.kept or self.any_data:
                raise Untracked(needs.cells) from None
            return self._decided(state, call)

    def _decided(self, state: State, call: Call) -> list[CallOutcome]:
        handler = self.service.handlers[call.handler]
        self.decided.add(call.handler)
        for statement in statements_in(handler.body):
            if isinstance(statement, core.Draw) and not statement.family.is_exponential:
                line = "" if statement.span is None else f"line {statement.span.line}: "
                known = "budgets are for noise of Laplace type"
                if not statement.family.shifts:
                    known = "no pure budget is finite"
                what = f"{statement.family.title} noise: {known}; 'unroll' calls, and ask 'profile'"
                raise Inexpressible(f"{line}{what}")
        program = handler_program(self.service, handler, state, call)
        states = execute(program, True)
        for cell in self.service.states:
            if cell.is_additive and cell.name in _assigned(handler):
                message = f"'{cell.name}' changes where samples decide something"
                raise Inexpressible(f"{message} (at '{call.text()}')")
        check_choices(states.laws, self.epsilons)
        found = ExactDistributions(states, None).distribution(())
        if isinstance(found, NotEnclosed):
            raise Inexpressible(f"{found.reason} (at '{call.text()}')")
        size = len(self.service.replies)
        outcomes = []
        for values, probability in zip(states.outputs, found, strict=True):
            if not probability.numerator:
                continue
            reply, after = tuple(values[:size]), tuple(values[size:])
            if not handler.is_data and all(value == NOTHING for value in reply):
                message = f"query '{call.text()}' may end without a reply"
                hint = "assign to an output on every path; 'no answer' can be a value of its domain"
                raise SourceError([Diagnostic("value error", message, handler.span, hint)])
            outcomes.append(CallOutcome(probability, reply, after))
        return outcomes


def merged(outcomes: Sequence[CallOutcome]) -> Step:
    """Join outcomes with equal replies and states, of the same values of cells."""
    if len(outcomes) == 1:
        return tuple(outcomes)
    found: dict[tuple[object, ...], CallOutcome] = {}
    for each in outcomes:
        key = each.reply, each.state, each.forms, each.where
        known = found.get(key)
        if known is not None:
            each = replace(known, probability=known.probability + each.probability)
        found[key] = each
    return tuple(found.values())


def unseen(outcomes: Step) -> Step:
    """Join outcomes with equal states: nobody who looks sees their replies."""
    return merged([replace(each, reply=()) for each in outcomes])


# --- which cells matter ---------------------------------------------------------------------------


def _used(service: Service, handler: Handler) -> tuple[int, ...]:
    """Return the state cells that a handler may read or assign, in order."""
    names = {name for statement in statements_in(handler.body) for name in used(statement)}
    names.update(_assigned(handler))
    return tuple(place for place, cell in enumerate(service.states) if cell.name in names)


def _assigned(handler: Handler) -> set[str]:
    names = set(assigned(handler.body))
    for clamp in handler.clamps.values():
        names.update(cells_of(clamp.place))
        if isinstance(clamp.place, core.Element):
            names.update(read(clamp.place.index))
    return names


def handler_program(service: Service, handler: Handler, state: State, call: Call) -> core.Program:
    """Return one call in one state as a program without inputs.

    Its outputs are the reply cells, `NOTHING` where none is assigned, then the state cells, without
    additive ones that change.
    """
    body: list[core.Statement] = []
    changed = _assigned(handler)

    def hold(name: str, value: core.Value) -> None:
        body.append(core.Assign(core.Variable(name), core.Constant(value)))

    outputs = []
    for cell in service.replies:
        hold(cell.name, NOTHING)
        if isinstance(cell.domain, AllReals):
            if cell.name in changed:
                message = f"'{cell.name}' may be any number, and is not one sample alone"
                raise Inexpressible(f"{message} (at '{call.text()}')")
            outputs.append(replace(cell, domain=(NOTHING,)))
        else:
            outputs.append(replace(cell, domain=(*cell.domain, NOTHING)))
    for each, value in zip(service.states, state, strict=True):
        if value is None:
            raise Untracked
        hold(each.name, value)
        if not each.is_additive:
            outputs.append(each.cell)
        elif each.name not in changed:
            outputs.append(replace(each.cell, domain=(value,)))
    for argument, value in zip(handler.arguments, call.values, strict=True):
        hold(argument.name, value)
    try:
        body += expanded(handler.body, handler.clamps, clamped)
    except Wrong as wrong:
        raise Inexpressible(f"{wrong.message} (at '{call.text()}')") from None
    shown, everyone = tuple(outputs), core.Everyone()
    return core.Program(service.name, service.parameters, (), shown, tuple(body), everyone)
