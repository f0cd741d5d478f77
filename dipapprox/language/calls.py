"""Draws, choices, selections, discretisations and clamps to core statements.

The exponential mechanism is a choice, disc becomes nested ifs. argmax and its kin become the
if-chain of the DiPApprox benchmark programs (spec section 7.3):

    best <- v[1];  out <- 1
    for i in 2..N do if v[i] > best then best <- v[i]; out <- i end end
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice, pairwise
from typing import assert_never

from dipapprox.errors import Diagnosis
from dipapprox.language import ast, constants, core, piecewise, symbols
from dipapprox.language.constants import Wrong
from dipapprox.language.declarations import Declarations
from dipapprox.language.domains import AllReals, admits, bounds_of, describe_domain
from dipapprox.language.expression_checker import kind_of
from dipapprox.language.expressions import (
    FALSE,
    TRUE,
    Expressions,
    Place,
    as_number,
    balanced,
    scaled,
)
from dipapprox.language.symbols import Kind, Role, Symbol
from dipapprox.laws.families import FAMILIES
from dipapprox.source import Span

MOST_STATEMENTS = 500_000
_MOST_OPTIONS = 10_000
_End = Fraction | None
FRESH = "#"
"""In the names of fresh variables, and no others."""


class Calls(Expressions):
    """Collects core statements into `block`; counts them, and turns of loops. Emits calls and the
    like; numbers the draws, the choices and the fresh variables.

    Args:
        publishes: Whether clamped samples that are assigned to outputs stay what they are.

    Attributes:
        discretises: Whether any `disc` was emitted.
        rounding: Of the scales of all draws.
        clamps: Such clamps by the fresh variable that holds what is clamped.
    """

    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        declarations: Declarations,
        local_sizes: Mapping[str, int],
        publishes: bool,
    ) -> None:
        declared = (*declarations.inputs, *declarations.outputs, *declarations.states)
        sizes = {c.variable: c.index for c in declared if c.index is not None} | dict(local_sizes)
        super().__init__(symbols, dict(declarations.parameters), sizes, self.take_fresh)
        self.diagnosis = Diagnosis()
        self.block: list[core.Statement] = []
        self.counted = 0
        inputs, outputs, states = (
            {cell.variable: cell.domain for cell in cells}
            for cells in (declarations.inputs, declarations.outputs, declarations.states)
        )
        # What is declared, with what messages call it, and what is known of inputs and of fresh
        # variables.
        self._domains = {
            name: (word, domain if isinstance(domain, AllReals) else dict.fromkeys(domain))
            for word, domains in (("output", outputs), ("state cell", states))
            for name, domain in domains.items()
        }
        ranges = {name: bounds_of(domain) for name, domain in inputs.items()}
        self._ranges = {name: ends for name, ends in ranges.items() if ends is not None}
        numbers = (
            cell.name
            for cell in declarations.inputs
            if isinstance(cell.domain, AllReals) or cell.variable in self._ranges
        )
        cells = (*declarations.inputs, *declarations.states)
        self._is_finite = not any(isinstance(cell.domain, AllReals) for cell in cells)
        self._numbers = frozenset() if publishes else frozenset(numbers)
        self._publishes = publishes
        self.clamps: dict[str, piecewise.Clamp] = {}
        self.sites = 0
        self.named = 0
        self.discretises = False
        self.rounding: core.Rounding | None = None

    @contextmanager
    def inner(self, block: list[core.Statement] | None = None) -> Iterator[list[core.Statement]]:
        """Collect into `block`, by default a new one, then go back to the current one."""
        outer, self.block = self.block, [] if block is None else block
        try:
            yield self.block
        finally:
            self.block = outer

    def emit(self, statement: core.Statement) -> None:
        self.count(1, statement.span)
        self.block.append(statement)

    def count(self, steps: int, span: Span | None) -> None:
        """Count statements or turns of loops; `SourceError` if there are too many of them."""
        self.counted += steps
        if self.counted > MOST_STATEMENTS:
            message = f"the program unrolls to more than {MOST_STATEMENTS} statements"
            raise self.diagnosis.abort("limit", message, span, "use smaller parameters")

    def store(
        self, place: Place, value: core.Expression, target: ast.Target | None, span: Span | None
    ) -> None:
        """Add place <- value; a constant must be in the domain of `target`, if that is declared."""
        self.admit(value, target, span)
        self.emit(core.Assign(place, value, span=span))

    def admit(self, value: core.Expression, target: ast.Target | None, span: Span | None) -> None:
        """Check that a constant is in the domain of `target`, if that is declared."""
        declared = None if target is None else self._domains.get(target.name)
        if target is None or declared is None or not isinstance(value, core.Constant):
            return
        word, domain = declared
        if not admits(domain, value.value):
            message = f"{value.value} is not in the domain of {word} '{target.name}'"
            raise Wrong("value error", message, span, f"allowed are {describe_domain(domain)}")

    def take_fresh(self, node: ast.Expression) -> core.Variable:
        """Emit what computes an expression and return the fresh variable with its value."""
        if not isinstance(node, ast.Computed):
            return self._held_truth(node, True)
        stem = "choice" if isinstance(node, ast.Choose) else "disc"
        if isinstance(node, ast.Call):
            stem = "sample" if node.name in symbols.DISTRIBUTIONS else node.name
        place = self.fresh(stem, node.span)
        self.compute(node, place, None)
        return place

    def _held_truth(self, node: ast.Expression, boolean: bool) -> core.Variable:
        place = self.fresh("truth", node.span)
        self.hold(node, place, boolean)
        return place

    def decide(self, node: ast.Expression, assign: Callable[[bool], None]) -> None:
        """Emit what `assign` emits for the truth value of a condition."""
        condition = self.condition(node)
        if condition in (TRUE, FALSE):
            assign(condition == TRUE)
            return
        with self.inner() as then:
            assign(True)
        with self.inner() as otherwise:
            assign(False)
        self.emit(core.If(condition, tuple(then), tuple(otherwise), span=node.span))

    def hold(self, node: ast.Expression, place: core.Variable, boolean: bool) -> None:
        """Emit an assignment of a condition to a place that no program declares."""

        def assign(value: bool) -> None:
            self.store(place, truth_value(value, boolean, node), None, node.span)

        self.decide(node, assign)

    def compute(self, node: ast.Computed, place: Place, target: ast.Target | None) -> None:
        """Emit place <- node; `target` is how the program wrote the place, if it did."""
        match node:
            case ast.Choose():
                self._choose(node, place, target)
            case ast.Disc(value, points):
                self._disc(self.value(value), points, place, target)
            case ast.Call(symbols.MECHANISM):
                self._mechanism(node, place, target)
            case ast.Call(name) if name in symbols.DISTRIBUTIONS:
                self._draw(node, place)
            case ast.Call("max" | "min") if found := self._input_between(node):
                self._hold_between(place, *found, node.span)
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
        scale = self.scale(written)
        if scale.error:
            before = self.rounding or core.Rounding(Fraction(0), 0, span=written.span)
            self.rounding = core.Rounding(
                before.error + scale.error, before.samples + 1, span=before.span
            )
        draw = core.Draw(
            target=place,
            family=FAMILIES[call.name],
            mean=self.value(mean),
            scale=scale.scale,
            site=self._site(),
            span=call.span,
        )
        self.emit(draw)

    def _choose(self, node: ast.Choose, place: Place, target: ast.Target | None) -> None:
        boolean = self.is_boolean(node)
        options: list[tuple[core.Expression, core.Weight | None]] = []
        for option in node.options:
            for value, weight in self._options_of(option, boolean):
                if len(options) >= _MOST_OPTIONS:
                    message = f"'choose' among more than {_MOST_OPTIONS} values"
                    raise Wrong("limit", message, node.span)
                self.admit(value, target, option.value.span)
                options.append((value, weight))
        if not options:
            message = "'choose' among no values"
            raise Wrong("value error", message, node.span, "write the smaller end of a range first")
        self.count(len(options), node.span)
        alike = core.Constant(Fraction(1, len(options)), span=node.span)
        weighted = tuple((v, alike if weight is None else weight) for v, weight in options)
        self.emit(core.Choose(place, weighted, False, self._site(), span=node.span))

    def _options_of(
        self, option: ast.Option, boolean: bool
    ) -> Iterator[tuple[core.Expression, core.Weight | None]]:
        """Yield the values that an option stands for, with their weights if it has one."""
        if isinstance(option.value, ast.Range):
            for number in constants.evaluate_range(option.value, self.constants):
                yield core.Constant(Fraction(number), span=option.span), None
            return
        for _ in self.turns(option.turns):
            among_numbers = not boolean and self.is_boolean(option.value)  # 1 and 0
            value = (
                self._held_truth(option.value, False) if among_numbers else self.value(option.value)
            )
            yield value, None if option.weight is None else self.weight(option.weight)

    def _mechanism(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """Exp(a*eps, scores): index i with probability proportional to e^{a eps scores[i]}."""
        written = call.arguments[0]
        rate, degree = constants.monomial(written, self.constants)
        if degree != 1 or not isinstance(rate, Fraction) or rate <= 0:
            message = "a rate must be a*eps with a number a > 0"
            hint = "e.g. 'Exp(eps/2, score)'; to prefer small scores, negate them"
            raise Wrong("value error", message, written.span, hint)
        options = []
        for position, score in enumerate(self._candidates(call, call.arguments[1:])):
            number = core.Constant(Fraction(position + 1), span=call.span)
            self.admit(number, target, call.span)
            exponent = balanced(
                [scaled(rate, score, call), core.Epsilon()], core.Product, call.span
            )
            options.append((number, core.Exponential(exponent, span=call.span)))
        self.emit(core.Choose(place, tuple(options), True, self._site(), span=call.span))

    def _disc(
        self,
        value: core.Expression,
        points: tuple[ast.Expression, ...],
        place: Place,
        target: ast.Target | None,
    ) -> None:
        """The first label that is >= value, else the last one, which is no cut point."""
        self.discretises = True
        labels = [constants.evaluate(point, self.constants) for point in points]
        for (left, right), point in zip(pairwise(labels), points[1:], strict=True):
            if left >= right:
                message = f"the points of 'disc' must ascend: {left} < {right} is wrong"
                raise Wrong("value error", message, point.span)
        for label, point in zip(labels, points, strict=True):
            self.admit(core.Constant(label), target, point.span)
        span = points[0].span
        self._know(place, (labels[0], labels[-1]))
        self.count(len(labels), span)
        self.emit(piecewise.bisected(place, value, piecewise.steps_to(labels), span))

    def _clamp(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """clamp(x, low, high): the nearest number in between."""
        value, *written = call.arguments
        known = self.symbols
        is_rounded = isinstance(value, ast.Call) and value.name in symbols.ROUNDINGS
        kind = kind_of(value, known)
        is_whole = not is_rounded and (
            Kind.INTEGER in kind or (self._publishes and Kind.REAL not in kind)
        )
        low, high = (
            Fraction(constants.evaluate_integer(end, self.constants, "an end of 'clamp'"))
            if is_whole
            else constants.evaluate(end, self.constants)
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
        held = self._held(self.value(value), piecewise.CLAMPED, call.span)
        for end in (low, high):
            self.admit(core.Constant(end, span=call.span), target, call.span)
        if not is_whole:
            self._hold_between(place, held, low, high, call.span)
            return
        clamp = piecewise.Clamp(place, int(low), int(high), kind == Kind.NUMBER)
        if self._publishes and target is not None and known[target.name].role is Role.OUTPUT:
            self.clamps[held.name] = clamp
            return
        self.count(clamp.width, call.span)
        self.emit(piecewise.clamped(clamp, held, call.span))

    def _input_between(self, node: ast.Call) -> tuple[core.Variable, _End, _End] | None:
        """Return a real input and the ends that all of a node clamps it to; None for another."""
        try:
            inner, *ends = piecewise.between(node, self.constants)
        except Wrong:
            return None
        match self.elements(inner) if isinstance(inner, ast.Name | ast.Index) else ():
            case [core.Variable(name) as held] if name in self._numbers:
                low, high = (end if isinstance(end, Fraction) else None for end in ends)
                return held, low, high
        return None

    def _hold_between(
        self, place: Place, held: core.Variable, low: _End, high: _End, span: Span | None
    ) -> None:
        """Emit place <- clamp(held, low, high); of an input, no ends that it never passes."""
        ends = self._ranges.get(held.name.partition("[")[0]) if held.name in self._numbers else None
        if ends is not None:
            low = None if low is not None and low <= ends[0] else low
            high = None if high is not None and high >= ends[1] else high
        self.count(2, span)
        self.emit(piecewise.held_between(place, held, low, high, span))

    def _absolute(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        value = self.value(call.arguments[0])
        ends = piecewise.range_of(value, self._ranges)
        if ends is not None:
            least = max(Fraction(0), ends[0], -ends[1])
            self._know(place, (least, max(map(abs, ends))))
        if isinstance(value, core.Constant):
            number = core.Constant(abs(as_number(value)), span=call.span)
            self.store(place, number, target, call.span)
            return
        held = self._held(value, symbols.ABSOLUTE, call.span)
        if held is value and ends is not None and ends[0] >= 0:
            self.store(place, value, target, call.span)
            return
        self.count(1, call.span)
        self.emit(piecewise.absolute(place, held, call.span))

    def _round(
        self, call: ast.Call, place: Place, target: ast.Target | None, ends: piecewise.Range | None
    ) -> None:
        """round(x, step) and its kin; `ends` is what the value is clamped to."""
        word, (node, *steps) = call.name, call.arguments
        step = constants.evaluate(steps[0], self.constants) if steps else Fraction(1)
        if step <= 0:
            raise Wrong("value error", f"a step must be > 0, got {step}", steps[0].span)
        value = self.value(node)
        between = ends or piecewise.range_of(value, self._ranges)
        if between is None and (not self._is_finite or kind_of(node, self.symbols) & Kind.RANDOM):
            message = f"it is not known how large the argument of '{word}' can be"
            hint = f"clamp it: '{symbols.CLAMP}({word}(x), -5, 5)', or use inputs themselves in it"
            raise Wrong("type error", message, node.span, hint)
        if between is None:
            found, held = self.fresh(word, call.span), self._held(value, word, call.span)
            for each in piecewise.counted(word, step, found, held, call.span):
                self.emit(each)
            self.store(place, found, target, call.span)
            return
        factor, most = 1, piecewise.MOST_STEPS
        if Kind.INTEGER in kind_of(node, self.symbols):
            factor, value = piecewise.with_whole_factors(value)
        steps_of = piecewise.rounding_steps(word, step, between, ends is not None, factor)
        pieces = tuple(islice(steps_of, most + 1))
        if len(pieces) > most:
            raise Wrong("limit", f"'{word}' to more than {most} values", call.span)
        self._know(place, (pieces[0].value, pieces[-1].value))
        for piece in pieces:
            self.admit(core.Constant(piece.value, span=call.span), target, call.span)
        held = self._held(value, word, call.span)
        self.count(len(pieces), call.span)
        self.emit(piecewise.bisected(place, held, pieces, call.span))

    def _held(self, value: core.Expression, stem: str, span: Span | None) -> core.Variable:
        if isinstance(value, core.Variable) and value.name in self._numbers:
            return value  # its own value stays
        held = self.fresh(stem, span)
        self.store(held, value, None, span)
        return held

    def _know(self, place: Place, ends: piecewise.Range) -> None:
        """Note what a fresh variable, which is assigned once, is between."""
        if isinstance(place, core.Variable) and FRESH in place.name:
            self._ranges[place.name] = ends

    def fresh(self, stem: str, span: Span | None) -> core.Variable:
        """Name a variable as no program can: '#' begins a comment."""
        self.named += 1
        return core.Variable(f"{stem}{FRESH}{self.named}", span=span)

    def _select(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        values = self._candidates(call, call.arguments)
        better = core.Relation.GREATER if call.name.endswith("max") else core.Relation.LESS
        returns_index = call.name.startswith("arg")
        best = self.fresh("best", call.span) if returns_index else place

        def take(position: int) -> None:
            value = values[position]
            self.store(best, value, None if returns_index else target, call.span)
            if returns_index:
                number = core.Constant(Fraction(position + 1), span=call.span)
                self.store(place, number, target, call.span)

        take(0)
        for position in range(1, len(values)):
            with self.inner() as taken:
                take(position)
            condition = core.Comparison(values[position], better, best, span=call.span)
            self.emit(core.If(condition, tuple(taken), (), span=call.span))

    def _candidates(
        self, call: ast.Call, arguments: tuple[ast.Expression, ...]
    ) -> list[core.Expression]:
        """Return the values that a selection chooses from, at least one."""
        values = [value for node in arguments for value in self.elements(node)]
        if len(values) > len(arguments):
            self.count(len(values), call.span)
        return values


def truth_value(value: bool, boolean: bool, node: ast.Expression) -> core.Constant:
    """Return a truth value as Boolean variables hold it, or else as the number 1 or 0."""
    held = constants.truth_name(value) if boolean else Fraction(value)
    return core.Constant(held, span=node.span)
