"""Draws, choices, selections, discretisations and clamps to core statements.

The exponential mechanism is a choice, disc becomes nested ifs. argmax and its kin become the
if-chain of the DiPApprox benchmark programs (spec section 7.3):

    best <- v[1];  out <- 1
    for i in 2..N do if v[i] > best then best <- v[i]; out <- i end end
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.language import ast, core
from dipapprox.language.constants import (
    Wrong,
    evaluate,
    evaluate_integer,
    evaluate_rate,
    truth_name,
)
from dipapprox.language.emitter import Emitter, Place
from dipapprox.language.expressions import Expressions
from dipapprox.language.folding import FALSE, TRUE, scaled
from dipapprox.language.kinds import kind_of
from dipapprox.language.symbols import CLAMP, DISTRIBUTIONS, MECHANISM, Kind, Role
from dipapprox.language.weights import elaborate_weight
from dipapprox.source import Span

_MOST_POINTS = 100
_WIDEST_CLAMP = 10_000


@dataclass(frozen=True, slots=True)
class Clamp:
    """place <- the number in low..high that is nearest to something.

    Attributes:
        is_finite: Whether that is a finite number, else it is a whole one.
    """

    place: Place
    low: int
    high: int
    is_finite: bool

    @property
    def width(self) -> int:
        """How many ifs it takes."""
        return 2 if self.is_finite else self.high - self.low


def clamped(clamp: Clamp, value: core.Variable, span: Span | None) -> core.Statement:
    """Return place <- clamp(value, low, high) as nested ifs.

    Raises:
        Wrong: If that takes too many.
    """
    if not clamp.is_finite:
        if clamp.width >= _WIDEST_CLAMP:
            message = f"'clamp' to more than {_WIDEST_CLAMP} values"
            raise Wrong("limit", message, span, "only replies of services may have more")
        return _bisected(clamp.place, value, clamp.low, clamp.high, span)
    low, high = (core.Constant(Fraction(end), span=span) for end in (clamp.low, clamp.high))
    inside: core.Statement = core.Assign(clamp.place, value, span=span)
    for end, relation in ((high, core.Relation.GREATER), (low, core.Relation.LESS)):
        beyond = core.Comparison(value, relation, end, span=span)
        there = core.Assign(clamp.place, end, span=span)
        inside = core.If(beyond, (there,), (inside,), span=span)
    return inside


def _bisected(
    place: Place, value: core.Variable, low: int, high: int, span: Span | None
) -> core.Statement:
    if low == high:
        return core.Assign(place, core.Constant(Fraction(low), span=span), span=span)
    middle = (low + high) // 2
    condition = core.Comparison(
        value, core.Relation.LESS_EQUAL, core.Constant(Fraction(middle), span=span), span=span
    )
    below = _bisected(place, value, low, middle, span)
    above = _bisected(place, value, middle + 1, high, span)
    return core.If(condition, (below,), (above,), span=span)


class Calls:
    """Emits calls and the like; numbers the draws, the choices and the fresh variables.

    Args:
        expressions: Elaborates their parts.
        emitter: Where the statements go.
        publishes: Whether clamped samples that are assigned to outputs stay what they are.

    Attributes:
        sites: How many draws and choices were emitted.
        named: How many fresh variables were named.
        discretises: Whether any `disc` was emitted.
        clamps: Such clamps by the fresh variable that holds what is clamped.
    """

    def __init__(self, expressions: Expressions, emitter: Emitter, publishes: bool) -> None:
        self._expressions = expressions
        self._emitter = emitter
        self._publishes = publishes
        self.clamps: dict[str, Clamp] = {}
        self.sites = 0
        self.named = 0
        self.discretises = False

    def take(self, node: ast.Expression) -> core.Variable:
        """Emit what computes an expression and return the fresh variable with its value."""
        match node:
            case ast.Call(name):
                place = self.fresh("sample" if name in DISTRIBUTIONS else name, node.span)
                self.compute(node, place, None)
            case ast.Choose() | ast.Disc():
                place = self.fresh("choice" if isinstance(node, ast.Choose) else "disc", node.span)
                self.compute(node, place, None)
            case _:
                place = self.fresh("truth", node.span)
                self._hold(node, place, True)
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

    def _hold(self, node: ast.Expression, place: core.Variable, boolean: bool) -> None:
        """Emit an assignment of a condition to a fresh variable."""

        def assign(value: bool) -> None:
            self._emitter.store(place, truth_value(value, boolean, node), None, node.span)

        self.decide(node, assign)

    def compute(self, node: ast.Computed, place: Place, target: ast.Target | None) -> None:
        """Emit place <- node; `target` is how the program wrote the place, if it did.

        Raises:
            Wrong: If it makes no sense with the current constants.
        """
        match node:
            case ast.Choose():
                self._choose(node, place, target)
            case ast.Disc(value, points):
                labels = self._labels(points)
                self._disc(self._expressions.value(value), labels, place, target)
            case ast.Call(name) if name == MECHANISM:
                self._mechanism(node, place, target)
            case ast.Call(name) if name in DISTRIBUTIONS:
                self._draw(node, place)
            case ast.Call(name) if name == CLAMP:
                self._clamp(node, place, target)
            case ast.Call():
                self._select(node, place, target)
            case _:
                assert_never(node)

    def _site(self) -> int:
        self.sites += 1
        return self.sites - 1

    def _draw(self, call: ast.Call, place: Place) -> None:
        mean, scale = call.arguments
        draw = core.Draw(
            target=place,
            family=Family(call.name),
            mean=self._expressions.value(mean),
            scale=self._expressions.scale(scale),
            site=self._site(),
            span=call.span,
        )
        self._emitter.emit(draw)

    def _choose(self, node: ast.Choose, place: Place, target: ast.Target | None) -> None:
        self._emitter.count(len(node.options), node.span)
        boolean = self._expressions.is_boolean(node)
        options = []
        for option in node.options:
            value = self._option(option.value, boolean)
            self._emitter.admit(value, target, option.value.span)
            options.append((value, elaborate_weight(option.weight, self._expressions)))
        self._emitter.emit(core.Choose(place, tuple(options), False, self._site(), span=node.span))

    def _option(self, node: ast.Expression, boolean: bool) -> core.Expression:
        """Elaborate a value; among numbers, truth values are 1 and 0."""
        if boolean or not self._expressions.is_boolean(node):
            return self._expressions.value(node)
        place = self.fresh("truth", node.span)
        self._hold(node, place, False)
        return place

    def _mechanism(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """Exp(a*eps, scores): index i with probability proportional to e^{a eps scores[i]}."""
        rate = evaluate_rate(call.arguments[0], self._expressions.constants)
        options = []
        for position, score in enumerate(self._candidates(call, call.arguments[1:])):
            number = core.Constant(Fraction(position + 1), span=call.span)
            self._emitter.admit(number, target, call.span)
            exponent = core.WeightProduct(scaled(rate, score, call), core.Epsilon())
            options.append((number, core.Exponential(exponent, span=call.span)))
        self._emitter.emit(core.Choose(place, tuple(options), True, self._site(), span=call.span))

    def _labels(self, points: tuple[ast.Expression, ...]) -> list[core.Constant]:
        if len(points) > _MOST_POINTS:
            message = f"'disc' with more than {_MOST_POINTS} points"
            raise Wrong("limit", message, points[_MOST_POINTS].span)
        values = [evaluate(point, self._expressions.constants) for point in points]
        for left, right, point in zip(values, values[1:], points[1:], strict=False):
            if left >= right:
                raise Wrong(
                    "value error", f"the points of 'disc' must ascend: {left} < {right} is wrong",
                    point.span,
                )  # fmt: skip
        return [core.Constant(v, span=p.span) for v, p in zip(values, points, strict=True)]

    def _disc(
        self,
        value: core.Expression,
        labels: list[core.Constant],
        place: Place,
        target: ast.Target | None,
    ) -> None:
        """The first label that is >= value, else the last one, which is no cut point."""
        self.discretises = True
        *cuts, last = labels
        with self._emitter.inner() as above:
            self._emitter.store(place, last, target, last.span)
        rest = tuple(above)
        for label in reversed(cuts):
            with self._emitter.inner() as below:
                self._emitter.store(place, label, target, label.span)
            condition = core.Comparison(value, core.Relation.LESS_EQUAL, label, span=label.span)
            rest = (core.If(condition, tuple(below), rest, span=label.span),)
        self._emitter.emit(*rest)

    def _clamp(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """clamp(x, low, high): the nearest number in between."""
        low, high = (
            evaluate_integer(end, self._expressions.constants, "an end of 'clamp'")
            for end in call.arguments[1:]
        )
        if high < low:
            raise Wrong(
                "value error", f"'clamp' between {low} and {high}: nothing is there", call.span,
                "write the smaller end first",
            )  # fmt: skip
        symbols = self._expressions.symbols
        # A random value has to be whole, which assignments are checked for.
        held = self.fresh(CLAMP, call.span)
        self._emitter.store(held, self._expressions.value(call.arguments[0]), None, call.span)
        for end in (low, high):
            self._emitter.admit(core.Constant(Fraction(end), span=call.span), target, call.span)
        clamp = Clamp(place, low, high, kind_of(call.arguments[0], symbols) == Kind.NUMBER)
        if self._publishes and target is not None and symbols[target.name].role is Role.OUTPUT:
            self.clamps[held.name] = clamp
            return
        self._emitter.count(clamp.width, call.span)
        self._emitter.emit(clamped(clamp, held, call.span))

    def fresh(self, stem: str, span: Span | None) -> core.Variable:
        """Name a variable as no program can: '#' begins a comment."""
        self.named += 1
        return core.Variable(f"{stem}#{self.named}", span=span)

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
        argument = arguments[0]
        if not isinstance(argument, ast.Name) or not self._expressions.is_array(argument.name):
            return [self._expressions.value(node) for node in arguments]
        name, span = argument.name, argument.span
        size = self._expressions.sizes.get(name)
        if size is None:
            raise Wrong(
                "value error",
                f"no element of '{name}' is assigned by a constant index",
                span,
                "assign its elements in a loop first",
            )
        self._emitter.count(size, call.span)
        return [core.Variable(f"{name}[{i}]", span=span) for i in range(1, size + 1)]


def truth_value(value: bool, boolean: bool, node: ast.Expression) -> core.Constant:
    """Return a truth value as Boolean variables hold it, or else as the number 1 or 0."""
    return core.Constant(truth_name(value) if boolean else Fraction(value), span=node.span)
