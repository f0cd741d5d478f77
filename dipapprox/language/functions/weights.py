"""Expressions in eps: scales of noise and probabilities of choices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dipapprox.errors import SourceError
from dipapprox.language import ast
from dipapprox.language.functions.quantities import OPERATIONS, Condition, Quantity
from dipapprox.language.functions.symbols import (
    OFFERED,
    Run,
    Symbolic,
    chained,
    exact,
    is_number,
    number_node,
)


class Weight(Symbolic):
    """An expression in eps, the privacy parameter: the function is one for all its values."""

    __slots__ = ()

    WHAT = "eps"

    @property
    def known(self) -> Fraction | None:
        """Its value, if it depends on nothing."""
        return None if self.compute is None or self.cells else self.compute({})

    def unknown(self) -> SourceError:
        """Return the error for a question about its size, which is not known here."""
        return self.run.refusal(
            "type error",
            "eps is not known while the function runs, so nothing can depend on its size",
            "it stands in scales and probabilities: gauss(q, 2 / eps)",
        )

    def __bool__(self) -> bool:
        raise self.unknown()

    def value(self) -> int | Fraction:
        """Refuse: its size is not known while the function runs."""
        raise self.unknown()

    def __add__(self, other: Any) -> Weight:
        return _weighed(self, "+", other)

    def __radd__(self, other: Any) -> Weight:
        return _weighed(other, "+", self)

    def __sub__(self, other: Any) -> Weight:
        return _weighed(self, "-", other)

    def __rsub__(self, other: Any) -> Weight:
        return _weighed(other, "-", self)

    def __mul__(self, other: Any) -> Weight:
        return _weighed(self, "*", other)

    def __rmul__(self, other: Any) -> Weight:
        return _weighed(other, "*", self)

    def __truediv__(self, other: Any) -> Weight:
        return _weighed(self, "/", other)

    def __rtruediv__(self, other: Any) -> Weight:
        return _weighed(other, "/", self)

    def __neg__(self) -> Weight:
        return Weight(self.run, ast.Negative(self.node, span=self.run.here), self.cells, None)

    def __pow__(self, other: Any) -> Weight:
        exponent = exact(self.run, other, "an exponent")
        node = ast.Power(self.node, number_node(exponent), span=self.run.here)
        return Weight(self.run, node, self.cells, None)


def _weighed(left: Any, operator: str, right: Any) -> Weight:
    run = left.run if isinstance(left, Weight) else right.run
    first, second = weight(run, left), weight(run, right)
    if first is None or second is None:
        kind = type(left if first is None else right).__name__
        message = f"'{operator}' with what is no number: {kind}"
        raise run.refusal("type error", message, OFFERED)
    known = first.known, second.known
    if operator == "/" and known[1] == 0:
        raise run.refusal("value error", "division by zero")
    if known[0] is not None and known[1] is not None:
        return constant_weight(run, OPERATIONS[operator](*known))
    if operator == "*" and 0 in known:
        return constant_weight(run, Fraction(0))
    node = chained(first.node, operator, second.node, run.here)
    return Weight(run, node, first.cells | second.cells, None)


def constant_weight(run: Run, value: Fraction) -> Weight:
    """Return a number as a weight."""
    return Weight(run, number_node(value, run.here), frozenset(), lambda _: value)


def weight(run: Run, value: Any) -> Weight | None:
    """Return an expression in eps; None if it can be none.

    Raises:
        SourceError: If it is random, or no exact number.
    """
    if type(value) is Weight:
        return value
    if type(value) is Condition:
        value = value.number()
    if type(value) is Quantity:
        if run.is_text(value):
            raise run.refusal("type error", "a scale or a probability is a named value")
        if not value.is_finite:
            raise run.refusal("type error", "a scale or a probability depends on a sample")
        return Weight(run, value.node, value.cells, None if value.cells else value.compute)
    return (
        constant_weight(run, exact(run, value, "a scale or a weight")) if is_number(value) else None
    )
