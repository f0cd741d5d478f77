"""Draws, choices, selections, discretisations and clamps to core statements.

The exponential mechanism is a choice, disc becomes nested ifs. argmax and its kin become the
if-chain of the DiPApprox benchmark programs (spec section 7.3):

    best <- v[1];  out <- 1
    for i in 2..N do if v[i] > best then best <- v[i]; out <- i end end
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import assert_never

from dipapprox.data_classes import Record
from dipapprox.language import ast, core, emitted, symbols
from dipapprox.language.constants import (
    Wrong,
    evaluate,
    evaluate_integer,
    evaluate_rate,
    truth_name,
)
from dipapprox.language.emitted import FALSE, TRUE, Emitter, Place, Range
from dipapprox.language.expressions import Expressions
from dipapprox.language.symbols import Kind, Role, kind_of
from dipapprox.laws.families import FAMILIES
from dipapprox.source import Span

_MOST_STEPS = 10_000
_MOST_OPTIONS = 10_000
_FRESH = "#"
"""In the names of fresh variables, and no others."""


class Clamp(Record):
    """place <- the number in low..high that is nearest to something: if `is_finite` to a finite
    number, else to a whole one."""

    place: Place
    low: int
    high: int
    is_finite: bool

    @property
    def width(self) -> int:
        """How many ifs it takes."""
        return 2 if self.is_finite else self.high - self.low


def clamped(clamp: Clamp, value: core.Variable, span: Span | None) -> core.Statement:
    """Return place <- clamp(value, low, high) as nested ifs."""
    if clamp.is_finite:
        low, high = Fraction(clamp.low), Fraction(clamp.high)
        return emitted.held_between(clamp.place, value, low, high, span)
    if clamp.width >= _MOST_STEPS:
        message = f"'clamp' to more than {_MOST_STEPS} values"
        raise Wrong("limit", message, span, "only replies of services may have more")
    steps = emitted.steps_to(map(Fraction, range(clamp.low, clamp.high + 1)))
    return emitted.bisected(clamp.place, value, steps, span)


class Calls:
    """Emits calls and the like; numbers the draws, the choices and the fresh variables.

    Args:
        publishes: Whether clamped samples that are assigned to outputs stay what they are.
        ranges: What is known of inputs by their names; fresh variables are added.

    Attributes:
        discretises: Whether any `disc` was emitted.
        rounding: Of the scales of all draws.
        clamps: Such clamps by the fresh variable that holds what is clamped.
    """

    def __init__(
        self, expressions: Expressions, emitter: Emitter, publishes: bool, ranges: dict[str, Range]
    ) -> None:
        self._expressions = expressions
        self._ranges = ranges
        self._emitter = emitter
        self._publishes = publishes
        self.clamps: dict[str, Clamp] = {}
        self.sites = 0
        self.named = 0
        self.discretises = False
        self.rounding: core.Rounding | None = None

    def take(self, node: ast.Expression) -> core.Variable:
        """Emit what computes an expression and return the fresh variable with its value."""
        match node:
            case ast.Call(name):
                place = self.fresh("sample" if name in symbols.DISTRIBUTIONS else name, node.span)
                self.compute(node, place, None)
            case ast.Choose() | ast.Disc():
                place = self.fresh("choice" if isinstance(node, ast.Choose) else "disc", node.span)
                self.compute(node, place, None)
            case _:
                place = self.fresh("truth", node.span)
                self.hold(node, place, True)
        return place

    def decide(self, node: ast.Expression, assign: Callable[[bool], None]) -> None:
        """Emit what `assign` emits for the truth value of a condition."""
        condition = self._expressions.condition(node)
        if condition in (TRUE, FALSE):
            assign(condition == TRUE)
            return
        with self._emitter.inner() as then:
            assign(True)
        with self._emitter.inner() as otherwise:
            assign(False)
        self._emitter.emit(core.If(condition, tuple(then), tuple(otherwise), span=node.span))

    def hold(self, node: ast.Expression, place: core.Variable, boolean: bool) -> None:
        """Emit an assignment of a condition to a place that no program declares."""

        def assign(value: bool) -> None:
            self._emitter.store(place, truth_value(value, boolean, node), None, node.span)

        self.decide(node, assign)

    def compute(self, node: ast.Computed, place: Place, target: ast.Target | None) -> None:
        """Emit place <- node; `target` is how the program wrote the place, if it did."""
        match node:
            case ast.Choose():
                self._choose(node, place, target)
            case ast.Disc(value, points):
                self._disc(self._expressions.value(value), points, place, target)
            case ast.Call(symbols.MECHANISM):
                self._mechanism(node, place, target)
            case ast.Call(name) if name in symbols.DISTRIBUTIONS:
                self._draw(node, place)
            case ast.Call(symbols.CLAMP):
                self._clamp(node, place, target)
            case ast.Call(symbols.ABSOLUTE):
                self._absolute(node, place, target)
            case ast.Call(name) if name in symbols.ROUNDINGS:
                self._round(node, place, target, None)
            case ast.Call():
                self._select(node, place, target)
            case _:
                assert_never(node)

    def _site(self) -> int:
        self.sites += 1
        return self.sites - 1

    def _draw(self, call: ast.Call, place: Place) -> None:
        mean, written = call.arguments
        scale = self._expressions.scale(written)
        if scale.error:
            before = self.rounding or core.Rounding(Fraction(0), 0, span=written.span)
            self.rounding = core.Rounding(
                before.error + scale.error, before.samples + 1, span=before.span
            )
        draw = core.Draw(
            target=place,
            family=FAMILIES[call.name],
            mean=self._expressions.value(mean),
            scale=scale.scale,
            site=self._site(),
            span=call.span,
        )
        self._emitter.emit(draw)

    def _choose(self, node: ast.Choose, place: Place, target: ast.Target | None) -> None:
        boolean = self._expressions.is_boolean(node)
        options: list[tuple[core.Expression, core.Weight | None]] = []
        for option in node.options:
            for value, weight in self._options_of(option, boolean):
                if len(options) >= _MOST_OPTIONS:
                    message = f"'choose' among more than {_MOST_OPTIONS} values"
                    raise Wrong("limit", message, node.span)
                self._emitter.admit(value, target, option.value.span)
                options.append((value, weight))
        if not options:
            message = "'choose' among no values"
            raise Wrong("value error", message, node.span, "write the smaller end of a range first")
        self._emitter.count(len(options), node.span)
        alike = core.Constant(Fraction(1, len(options)), span=node.span)
        weighted = tuple((v, alike if weight is None else weight) for v, weight in options)
        self._emitter.emit(core.Choose(place, weighted, False, self._site(), span=node.span))

    def _options_of(
        self, option: ast.Option, boolean: bool
    ) -> Iterator[tuple[core.Expression, core.Weight | None]]:
        """Yield the values that an option stands for, with their weights if it has one."""
        expressions = self._expressions
        constants = expressions.constants
        if isinstance(option.value, ast.Range):
            for number in _numbers(option.value, constants):
                yield core.Constant(Fraction(number), span=option.span), None
            return
        turns = option.turns
        for number in (0,) if turns is None else _numbers(turns, constants):
            if turns is not None:
                constants[turns.variable] = Fraction(number)
            try:
                value = self._option(option.value, boolean)
                weight = option.weight
                yield value, None if weight is None else expressions.weight(weight)
            finally:
                if turns is not None:
                    constants.pop(turns.variable, None)

    def _option(self, node: ast.Expression, boolean: bool) -> core.Expression:
        """Elaborate a value; among numbers, truth values are 1 and 0."""
        if boolean or not self._expressions.is_boolean(node):
            return self._expressions.value(node)
        place = self.fresh("truth", node.span)
        self.hold(node, place, False)
        return place

    def _mechanism(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """Exp(a*eps, scores): index i with probability proportional to e^{a eps scores[i]}."""
        rate = evaluate_rate(call.arguments[0], self._expressions.constants)
        options = []
        for position, score in enumerate(self._candidates(call, call.arguments[1:])):
            number = core.Constant(Fraction(position + 1), span=call.span)
            self._emitter.admit(number, target, call.span)
            exponent = emitted.balanced(
                [emitted.scaled(rate, score, call), core.Epsilon()], core.Product, call.span
            )
            options.append((number, core.Exponential(exponent, span=call.span)))
        self._emitter.emit(core.Choose(place, tuple(options), True, self._site(), span=call.span))

    def _disc(
        self,
        value: core.Expression,
        points: tuple[ast.Expression, ...],
        place: Place,
        target: ast.Target | None,
    ) -> None:
        """The first label that is >= value, else the last one, which is no cut point."""
        self.discretises = True
        labels = [evaluate(point, self._expressions.constants) for point in points]
        for (left, right), point in zip(pairwise(labels), points[1:], strict=True):
            if left >= right:
                message = f"the points of 'disc' must ascend: {left} < {right} is wrong"
                raise Wrong("value error", message, point.span)
        for label, point in zip(labels, points, strict=True):
            self._emitter.admit(core.Constant(label), target, point.span)
        span = points[0].span
        self._know(place, (labels[0], labels[-1]))
        self._emitter.count(len(labels), span)
        self._emitter.emit(emitted.bisected(place, value, emitted.steps_to(labels), span))

    def _clamp(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """clamp(x, low, high): the nearest number in between."""
        value, *written = call.arguments
        known = self._expressions.symbols
        constants = self._expressions.constants
        is_rounded = isinstance(value, ast.Call) and value.name in symbols.ROUNDINGS
        kind = kind_of(value, known)
        is_whole = not is_rounded and (
            Kind.INTEGER in kind or (self._publishes and Kind.REAL not in kind)
        )
        low, high = (
            Fraction(evaluate_integer(end, constants, "an end of 'clamp'"))
            if is_whole
            else evaluate(end, constants)
            for end in written
        )
        if high < low:
            message = f"'clamp' between {low} and {high}: nothing is there"
            raise Wrong("value error", message, call.span, "write the smaller end first")
        if not kind & Kind.REAL:
            self._know(place, (low, high))
        if isinstance(value, ast.Call) and is_rounded:
            self._round(value, place, target, (low, high))
            return
        # A random value has to be whole, which assignments are checked for.
        held = self._held(self._expressions.value(value), symbols.CLAMP, call.span)
        for end in (low, high):
            self._emitter.admit(core.Constant(end, span=call.span), target, call.span)
        if not is_whole:
            self._emitter.count(2, call.span)
            self._emitter.emit(emitted.held_between(place, held, low, high, call.span))
            return
        clamp = Clamp(place, int(low), int(high), kind == Kind.NUMBER)
        if self._publishes and target is not None and known[target.name].role is Role.OUTPUT:
            self.clamps[held.name] = clamp
            return
        self._emitter.count(clamp.width, call.span)
        self._emitter.emit(clamped(clamp, held, call.span))

    def _absolute(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        value = self._expressions.value(call.arguments[0])
        ends = emitted.range_of(value, self._ranges)
        if ends is not None:
            least = max(Fraction(0), ends[0], -ends[1])
            self._know(place, (least, max(map(abs, ends))))
        if isinstance(value, core.Constant):
            number = core.Constant(abs(emitted.as_number(value)), span=call.span)
            self._emitter.store(place, number, target, call.span)
            return
        held = self._held(value, symbols.ABSOLUTE, call.span)
        self._emitter.count(1, call.span)
        self._emitter.emit(emitted.absolute(place, held, call.span))

    def _round(
        self, call: ast.Call, place: Place, target: ast.Target | None, ends: Range | None
    ) -> None:
        """round(x, step) and its kin; `ends` is what the value is clamped to."""
        word, (node, *steps) = call.name, call.arguments
        step = evaluate(steps[0], self._expressions.constants) if steps else Fraction(1)
        if step <= 0:
            raise Wrong("value error", f"a step must be > 0, got {step}", steps[0].span)
        value = self._expressions.value(node)
        between = ends or emitted.range_of(value, self._ranges)
        if between is None:
            message = f"it is not known how large the argument of '{word}' can be"
            hint = (
                f"clamp it: '{symbols.CLAMP}({word}(x), -5, 5)', or use the inputs themselves in it"
            )
            raise Wrong("type error", message, node.span, hint)
        numbers = emitted.step_numbers(word, step, between, ends is not None)
        if len(numbers) > _MOST_STEPS:
            raise Wrong("limit", f"'{word}' to more than {_MOST_STEPS} values", call.span)
        factor = 1
        if Kind.INTEGER in kind_of(node, self._expressions.symbols):
            factor, value = emitted.with_whole_factors(value)
        pieces = tuple(emitted.rounding_steps(word, step, numbers, ends, factor))
        self._know(place, (pieces[0].value, pieces[-1].value))
        for piece in pieces:
            self._emitter.admit(core.Constant(piece.value, span=call.span), target, call.span)
        held = self._held(value, word, call.span)
        self._emitter.count(len(pieces), call.span)
        self._emitter.emit(emitted.bisected(place, held, pieces, call.span))

    def _held(self, value: core.Expression, stem: str, span: Span | None) -> core.Variable:
        """Emit an assignment of a value to a fresh variable."""
        held = self.fresh(stem, span)
        self._emitter.store(held, value, None, span)
        return held

    def _know(self, place: Place, ends: Range) -> None:
        """Note what a fresh variable, which is assigned once, is between."""
        if isinstance(place, core.Variable) and _FRESH in place.name:
            self._ranges[place.name] = ends

    def fresh(self, stem: str, span: Span | None) -> core.Variable:
        """Name a variable as no program can: '#' begins a comment."""
        self.named += 1
        return core.Variable(f"{stem}{_FRESH}{self.named}", span=span)

    def _select(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        values = self._candidates(call, call.arguments)
        better = core.Relation.GREATER if call.name.endswith("max") else core.Relation.LESS
        returns_index = call.name.startswith("arg")
        best = self.fresh("best", call.span) if returns_index else place

        def take(position: int) -> None:
            value = values[position]
            self._emitter.store(best, value, None if returns_index else target, call.span)
            if returns_index:
                number = core.Constant(Fraction(position + 1), span=call.span)
                self._emitter.store(place, number, target, call.span)

        take(0)
        for position in range(1, len(values)):
            with self._emitter.inner() as taken:
                take(position)
            condition = core.Comparison(values[position], better, best, span=call.span)
            self._emitter.emit(core.If(condition, tuple(taken), (), span=call.span))

    def _candidates(
        self, call: ast.Call, arguments: tuple[ast.Expression, ...]
    ) -> list[core.Expression]:
        """Return the values that a selection chooses from, at least one."""
        values = [value for node in arguments for value in self._expressions.elements(node)]
        if len(values) > len(arguments):
            self._emitter.count(len(values), call.span)
        return values


def _numbers(ends: ast.Range | ast.Turns, constants: Mapping[str, Fraction]) -> range:
    first = evaluate_integer(ends.first, constants, "an end of a range")
    last = evaluate_integer(ends.last, constants, "an end of a range")
    return range(first, last + 1)


def truth_value(value: bool, boolean: bool, node: ast.Expression) -> core.Constant:
    """Return a truth value as Boolean variables hold it, or else as the number 1 or 0."""
    return core.Constant(truth_name(value) if boolean else Fraction(value), span=node.span)
