"""Draws and selections to core statements.

argmax and its kin become the if-chain of the DiPApprox benchmark programs (spec section 7.3):

    best <- v[1];  out <- 1
    for i in 2..N do if v[i] > best then best <- v[i]; out <- i end end
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.distributions import Family
from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong, evaluate_scale
from dipapprox.language.emitter import Emitter, Place
from dipapprox.language.expressions import Expressions
from dipapprox.language.symbols import DISTRIBUTIONS
from dipapprox.source import Span


class Calls:
    """Emits calls; numbers the draws and the fresh variables."""

    def __init__(self, expressions: Expressions, emitter: Emitter) -> None:
        self._expressions = expressions
        self._emitter = emitter
        self._draws = 0
        self._fresh = 0

    def take(self, call: ast.Call) -> core.Variable:
        """Emit a call inside an expression and return the fresh variable with its value."""
        place = self.fresh("sample" if call.name in DISTRIBUTIONS else call.name, call.span)
        self.call(call, place, None)
        return place

    def call(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        """Emit place <- call; `target` is how the program wrote the place, if it did.

        Raises:
            Wrong: If the call makes no sense with the current constants.
        """
        if call.name not in DISTRIBUTIONS:
            self._select(call, place, target)
            return
        mean, scale = call.arguments
        draw = core.Draw(
            target=place,
            family=Family(call.name),
            mean=self._expressions.value(mean),
            scale=evaluate_scale(scale, self._expressions.constants),
            site=self._draws,
            span=call.span,
        )
        self._draws += 1
        self._emitter.emit(draw)

    def fresh(self, stem: str, span: Span | None) -> core.Variable:
        """Name a variable as no program can: '#' begins a comment."""
        self._fresh += 1
        return core.Variable(f"{stem}#{self._fresh}", span=span)

    def _select(self, call: ast.Call, place: Place, target: ast.Target | None) -> None:
        values = self._candidates(call)
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

    def _candidates(self, call: ast.Call) -> list[core.Expression]:
        """Return the values that a selection chooses from, at least one."""
        argument = call.arguments[0]
        if not isinstance(argument, ast.Name) or not self._expressions.is_array(argument.name):
            return [self._expressions.value(node) for node in call.arguments]
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
