"""What a service does at a call where samples are only published, derived by the check.

In: a handler and what cells hold; cells that are kept by differences and the data point may be
symbols. Out: all ways in which the call may end, each with its probability, the reply, and what the
cells hold then, in ranges of the symbols that make up everything.

A sample is *published* if one reply cell shows it, perhaps moved, mirrored and clamped, and nothing
else depends on it. Whatever else happens to a sample, and whatever does not fit into a domain, is
not followed here. Nothing of `services` or `semantics` is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import assert_never

from dipapprox.checking.chances import Chance
from dipapprox.checking.decisions.known_signs import KnownSigns
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.facts import Line
from dipapprox.checking.services.transitions import ALL, UNASSIGNED, Call
from dipapprox.checking.values import Datum, Stuck, closed, datum_of, number_of, place_of, value_of
from dipapprox.checking.weights import chance_form
from dipapprox.data_classes import dataclass
from dipapprox.digits import brief_text
from dipapprox.distributions import Family
from dipapprox.language import core
from dipapprox.language.calls import Clamp
from dipapprox.language.domains import AllIntegers, AllReals, admits
from dipapprox.language.services import Handler, Service
from dipapprox.limits import Limits

Range = tuple[int, int]
"""Whole numbers, from the first to the last."""

Values = tuple[core.Value | None, ...]
"""What cells hold; None for a state cell that is a symbol, and for a reply that is a sample."""

_MOST_ROUNDS = 1000
_FAMILIES = (Family.LAPLACE, Family.DISCRETE_LAPLACE)


@dataclass(frozen=True, slots=True)
class Shown:
    """A sample of its own that a reply cell shows.

    Attributes:
        cell: Index of the reply cell.
        family: Laplace, discrete or not.
        scale: g of the scale g / eps.
        ends: What it is clamped to; None for no clamp.
        mean: Over symbols.
    """

    cell: int
    family: Family
    scale: Fraction
    ends: Range | None
    mean: Line


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a call may end.

    Attributes:
        reply: Values of the reply cells, UNASSIGNED where there is none.
        shown: The samples in the reply.
        state: Values of the state cells.
        kept: What the cells that are symbols hold then, over what they held.
        ranges: What these held, where it ends so; None: anything.
        probability: A function of eps that is not 0.
    """

    reply: Values
    shown: tuple[Shown, ...]
    state: Values
    kept: tuple[Line, ...]
    ranges: tuple[Range | None, ...]
    probability: Quotient


@dataclass(slots=True)
class _Run:
    """A course of a handler up to some statement; the rest is a stack of blocks and places."""

    rest: list[tuple[core.Block, int]]
    store: dict[str, Datum]
    ranges: list[Range | None]
    probability: Quotient
    samples: list[tuple[Family, Fraction, Line]]
    clamped: dict[str, tuple[Line, Range]]
    rounds: int = 0

    def copy(self, ranges: list[Range | None]) -> _Run:
        return _Run(
            list(self.rest), dict(self.store), ranges, self.probability, list(self.samples),
            dict(self.clamped), self.rounds,
        )  # fmt: skip


class Ways:
    """The ways of calls, each derived once.

    Args:
        service: Elaborated.
        kept: State cells that are symbols: additive ones, or of ranges of whole numbers.
        limits: Asked throughout.

    Raises:
        Stuck: If a cell cannot be kept so.
    """

    def __init__(self, service: Service, kept: tuple[str, ...], limits: Limits) -> None:
        self._service = service
        self._limits = limits
        self._signs = KnownSigns(ALL, limits)
        self._number = {name: number for number, name in enumerate(kept)}
        self.data = len(kept)
        """The symbol of the data point; those of samples follow."""
        domains = {each.name: each.cell.domain for each in service.states}
        self.ranges = tuple(_range(name, domains[name]) for name in kept)
        """All that the symbols may hold; None: any whole number."""
        self._replies = [
            (c.name, c.domain if isinstance(c.domain, AllReals) else frozenset(c.domain))
            for c in service.replies
        ]
        self._known: dict[tuple[Values, Call], tuple[Way, ...]] = {}

    def of(self, state: Values, call: Call) -> tuple[Way, ...]:
        """Return the ways in which a call may end.

        Args:
            state: Of the cells; None for symbols.
            call: Without values, if the data point is a symbol.

        Raises:
            Stuck: If it cannot be followed.
            LimitReached: If the limits run out.
        """
        key = state, call
        if key not in self._known:
            self._known[key] = tuple(self._merged(state, call))
        return self._known[key]

    def _merged(self, state: Values, call: Call) -> Iterator[Way]:
        found: dict[tuple[object, ...], Way] = {}
        for way in self._ends(state, call):
            key = way.reply, way.shown, way.state, way.kept, way.ranges
            known = found.get(key)
            total = way.probability.plus(known.probability) if known else way.probability
            found[key] = Way(*key, total)
        yield from found.values()

    def _ends(self, state: Values, call: Call) -> Iterator[Way]:
        handler = call.handler
        store: dict[str, Datum] = {}
        for cell, value in zip(self._service.states, state, strict=True):
            held = _symbol(self._number[cell.name]) if value is None else datum_of(value)
            store[cell.name] = held
        if handler.is_data and not call.values:
            store[handler.arguments[0].name] = _symbol(self.data)
        for argument, value in zip(handler.arguments, call.values, strict=False):
            store[argument.name] = datum_of(value)
        begin = [(handler.body, 0)]
        waiting = [_Run(begin, store, list(self.ranges), constant(1), [], {})]
        while waiting:
            self._limits.check()
            self._limits.check_states(len(waiting))
            run = waiting.pop()
            while run.rest:
                run, *others = self._step(run, handler)
                waiting += reversed(others)
            yield self._end(run, handler)

    def _step(self, run: _Run, handler: Handler) -> list[_Run]:
        """Execute one statement; the first of what comes out may be the same run."""
        block, place = run.rest.pop()
        if place == len(block):
            return [run]
        run.rest.append((block, place + 1))
        statement = block[place]
        match statement:
            case core.Assign(target, value):
                self._assign(run, handler, target, value_of(value, run.store))
            case core.Draw():
                self._draw(run, handler, statement)
            case core.Choose():
                return self._choose(run, handler, statement)
            case core.If(condition, then, otherwise):
                cases = self._cases(condition, run.store, run.ranges)
                found = self._split(run, [ranges for _, ranges in cases])
                for each, (truth, _) in zip(found, cases, strict=True):
                    each.rest.append((then if truth else otherwise, 0))
                return found
            case core.While(condition, body):
                if run.rounds == _MOST_ROUNDS:
                    raise Stuck(f"a loop that may go on after {_MOST_ROUNDS} rounds")
                run.rounds += 1
                cases = self._cases(condition, run.store, run.ranges)
                found = self._split(run, [ranges for _, ranges in cases])
                for each, (truth, _) in zip(found, cases, strict=True):
                    if truth:
                        each.rest[-1] = block, place
                        each.rest.append((body, 0))
                return found
            case core.Exit():
                run.rest.clear()
            case _:
                assert_never(statement)
        return [run]

    @staticmethod
    def _split(run: _Run, cases: list[list[Range | None]]) -> list[_Run]:
        if len(cases) == 1:
            run.ranges = cases[0]
            return [run]
        return [run.copy(ranges) for ranges in cases]

    def _assign(
        self, run: _Run, handler: Handler, target: core.Variable | core.Element, value: Datum
    ) -> None:
        name = place_of(target, run.store)
        clamp = handler.clamps.get(name)
        if clamp is None:
            run.store[name] = value
            run.clamped.pop(name, None)
            return
        reply = place_of(clamp.place, run.store)
        if isinstance(value, str):
            raise Stuck("a clamped name")
        run.store.pop(reply, None)
        run.clamped.pop(reply, None)
        if value.terms:
            run.clamped[reply] = value, (clamp.low, clamp.high)
        else:
            run.store[reply] = Line(_nearest(value.constant, clamp))

    def _draw(self, run: _Run, handler: Handler, draw: core.Draw) -> None:
        mean = number_of(draw.mean, run.store)
        if draw.family not in _FAMILIES or draw.scale.power != -1:
            raise Stuck("noise other than Laplace noise of a scale a / eps")
        if any(symbol > self.data for symbol, _ in mean.terms):
            raise Stuck("noise around a sample")
        if draw.family.is_discrete and not _is_whole(mean):
            raise Stuck("the mean of integer noise is not an integer")
        run.samples.append((draw.family, draw.scale.coefficient, mean))
        self._assign(run, handler, draw.target, _symbol(self.data + len(run.samples)))

    def _choose(self, run: _Run, handler: Handler, choice: core.Choose) -> list[_Run]:
        weights = tuple(closed(weight, run.store) for _, weight in choice.options)
        found = []
        for k, (value, _) in enumerate(choice.options):
            chance = Chance(weights, k, choice.proportional)
            if not k:
                self._signs.require_choice(chance)
            probability = chance_form(chance)
            if probability.top:
                taken = run.copy(list(run.ranges))
                taken.probability = run.probability.times(probability)
                self._assign(taken, handler, choice.target, value_of(value, run.store))
                found.append(taken)
        if not found:
            raise Stuck("a choice without possible outcome")
        return found

    # --- conditions -----------------------------------------------------------------------------

    def _cases(
        self, condition: core.Condition, store: Mapping[str, Datum], ranges: list[Range | None]
    ) -> list[tuple[bool, list[Range | None]]]:
        """Split what symbols hold by whether a condition is true."""
        match condition:
            case core.Comparison():
                return self._compared(condition, store, ranges)
            case core.All(parts) | core.Any(parts):
                going = isinstance(condition, core.All)
                open_, done = [ranges], list[tuple[bool, list[Range | None]]]()
                for part in parts:
                    after = [case for each in open_ for case in self._cases(part, store, each)]
                    done += [case for case in after if case[0] != going]
                    open_ = [each for truth, each in after if truth == going]
                return [*done, *((going, each) for each in open_)]
            case _:
                assert_never(condition)

    def _compared(
        self, comparison: core.Comparison, store: Mapping[str, Datum], ranges: list[Range | None]
    ) -> list[tuple[bool, list[Range | None]]]:
        left, right = (value_of(e, store) for e in (comparison.left, comparison.right))
        relation = comparison.relation
        if isinstance(left, str) or isinstance(right, str):
            values = [v if isinstance(v, str) else _number(v) for v in (left, right)]
            if relation not in (core.Relation.EQUAL, core.Relation.NOT_EQUAL):
                raise Stuck("a name is compared by size")
            return [(relation.holds(*values), ranges)]
        line = left.minus(right)
        zero = Fraction(0)
        if not line.terms:
            return [(relation.holds(line.constant, zero), ranges)]
        (symbol, factor), *others = line.terms
        held = ranges[symbol] if symbol < self.data else None
        if others or held is None:
            raise Stuck("what is kept by differences, or a sample, decides something")
        root, (low, high) = -line.constant / factor, held
        found = []
        for first, last, sign in (
            (low, min(high, ceil(root) - 1), -factor),
            (max(low, ceil(root)), min(high, floor(root)), zero),
            (max(low, floor(root) + 1), high, factor),
        ):
            if first <= last:
                narrowed = list(ranges)
                narrowed[symbol] = first, last
                found.append((relation.holds(sign, zero), narrowed))
        return found

    # --- ends -----------------------------------------------------------------------------------

    def _end(self, run: _Run, handler: Handler) -> Way:
        state: list[core.Value | None] = []
        kept: list[Line] = []
        for each in self._service.states:
            held = run.store[each.name]
            if each.name in self._number:
                kept.append(self._fitting(held, self._number[each.name], run.ranges))
                state.append(None)
                continue
            value = _value(held)
            if not admits(each.cell.domain, value):
                raise Stuck(f"{brief_text(value)} is not in the domain of '{each.name}'")
            state.append(value)
        reply: list[core.Value | None] = []
        shown: list[Shown] = []
        used = []
        for place, (name, domain) in enumerate(self._replies):
            line, ends = run.clamped.get(name, (run.store.get(name), None))
            if isinstance(line, Line) and line.terms:
                sample, published = self._published(run, place, line, ends)
                _require_room(published, domain, name)
                used.append(sample)
                shown.append(published)
                reply.append(None)
                continue
            value = UNASSIGNED if line is None else _value(line)
            if line is not None and not admits(domain, value):
                raise Stuck(f"{brief_text(value)} is not in the domain of '{name}'")
            reply.append(value)
        if len(set(used)) < len(used):
            raise Stuck("a sample is shown twice")
        if not handler.is_data and all(value == UNASSIGNED for value in reply):
            raise Stuck(f"query '{handler.name}' may end without a reply")
        ranges = tuple(
            None if now == whole else now
            for now, whole in zip(run.ranges, self.ranges, strict=True)
        )
        return Way(tuple(reply), tuple(shown), tuple(state), tuple(kept), ranges, run.probability)

    def _fitting(self, held: Datum, number: int, ranges: list[Range | None]) -> Line:
        """Return what a symbol holds afterwards: certainly a whole number that it may hold."""
        if isinstance(held, str) or any(symbol > self.data for symbol, _ in held.terms):
            raise Stuck("what is kept by differences holds a name or a sample")
        if not _is_whole(held):
            raise Stuck("what is kept by differences may be no whole number")
        allowed = self.ranges[number]
        if allowed is None:
            return held
        low = high = held.constant
        for symbol, factor in held.terms:
            values = ranges[symbol] if symbol < self.data else None
            if values is None:
                raise Stuck("a counter holds something without bounds")
            ends = sorted(factor * end for end in values)
            low, high = low + ends[0], high + ends[1]
        if not allowed[0] <= low <= high <= allowed[1]:
            raise Stuck("a counter may leave its range")
        return held

    def _published(
        self, run: _Run, place: int, line: Line, ends: Range | None
    ) -> tuple[int, Shown]:
        samples = [(s, c) for s, c in line.terms if s > self.data]
        if len(samples) != 1 or abs(samples[0][1]) != 1:
            raise Stuck("a reply is not one sample")
        symbol, sign = samples[0]
        family, scale, mean = run.samples[symbol - self.data - 1]
        moved = mean.times(sign) + line.minus(_symbol(symbol).times(sign))
        if family.is_discrete and not _is_whole(moved):
            raise Stuck("a reply of integer noise is not an integer")
        if ends is not None and not family.is_discrete:
            raise Stuck("a sample that is no integer is clamped")
        return symbol, Shown(place, family, scale, ends, moved)


def _symbol(number: int) -> Line:
    return Line(Fraction(0), ((number, Fraction(1)),))


def _range(name: str, domain: tuple[core.Value, ...]) -> Range | None:
    if isinstance(domain, AllReals):
        if isinstance(domain, AllIntegers) and domain.bounds is None:
            return None
        raise Stuck(f"'{name}' is not kept by differences")
    numbers = [v for v in domain if isinstance(v, Fraction) and v.denominator == 1]
    low, high = int(min(numbers, default=Fraction(1))), int(max(numbers, default=Fraction(0)))
    if not len(domain) == len(set(numbers)) == high - low + 1:
        raise Stuck(f"'{name}' holds no range of whole numbers")
    return low, high


def _is_whole(line: Line) -> bool:
    return line.constant.denominator == 1 and all(c.denominator == 1 for _, c in line.terms)


def _number(line: Line) -> Fraction:
    if line.terms:
        raise Stuck("what is kept by differences, or a sample, decides something")
    return line.constant


def _value(held: Datum) -> core.Value:
    return held if isinstance(held, str) else _number(held)


def _nearest(number: Fraction, clamp: Clamp) -> Fraction:
    if number.denominator != 1 and not clamp.is_finite:
        raise Stuck("a clamped value is no whole number")
    return min(max(number, Fraction(clamp.low)), Fraction(clamp.high))


def _require_room(
    shown: Shown, domain: frozenset[core.Value] | tuple[core.Value, ...], name: str
) -> None:
    """Make sure that all that a sample may show is in the domain of the reply cell."""
    if isinstance(domain, AllReals):
        bounds = domain.bounds
        if isinstance(domain, AllIntegers) and not shown.family.is_discrete:
            fits = False
        elif bounds is None:
            fits = True
        else:
            ends = shown.ends
            fits = ends is not None and bounds[0] <= ends[0] and ends[1] <= bounds[1]
    else:
        ends = shown.ends
        fits = ends is not None and all(Fraction(k) in domain for k in range(ends[0], ends[1] + 1))
    if not fits:
        raise Stuck(f"a sample may not be in the domain of '{name}'")
