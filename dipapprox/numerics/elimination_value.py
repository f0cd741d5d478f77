"""The value of an elimination plan in a function algebra.

In: an `Elimination`. Out: an `Enclosure` of its value, for the restricted laws of the algebra's
grid.
"""

from __future__ import annotations

from itertools import groupby
from typing import Generic, TypeVar

from dipapprox.limits import Limits
from dipapprox.numerics.algebra import FunctionAlgebra
from dipapprox.numerics.elimination_plan import (
    Elimination,
    Factors,
    Function,
    Restricted,
    Running,
)
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed

F = TypeVar("F")


class Evaluation(Generic[F]):
    """Functions of plans on one grid, each computed once; equal powers and products are shared."""

    def __init__(self, algebra: FunctionAlgebra[F]) -> None:
        self._algebra = algebra
        self._functions: list[Function] = []
        self._single: list[F] = []
        self._powers: dict[tuple[int, int], F] = {}
        self._products: dict[Factors, F] = {}

    @property
    def remembered(self) -> int:
        """The number of powers and products in memory."""
        return len(self._powers) + len(self._products)

    def value(self, plan: Elimination, limits: Limits) -> Enclosure | NotEnclosed:
        """Enclose the sum of the plan's terms.

        Args:
            plan: Its functions begin with those of all earlier plans, in the same order.
            limits: Asked before every function.
        """
        for function in plan.functions[len(self._functions) :]:
            limits.check()
            self._single.append(self._function(function))
            self._functions.append(function)
        if not plan.terms:
            return Enclosure.exact(0)
        terms = [(c, self._product(factors)) for c, factors in plan.terms]
        summed = terms[0][1] if plan.terms[0][0] == 1 == len(terms) else None
        if summed is None:
            summed = self._algebra.combine(terms)
        return self._algebra.totals([summed])[0]

    def _function(self, function: Function) -> F:
        match function:
            case Restricted(sample):
                density = self._algebra.density(sample.law)
                if sample.lower is None and sample.upper is None:
                    return density
                return self._algebra.restrict(density, sample.lower, sample.upper)
            case Running(factors, from_left):
                plain = self._plain_law(factors, from_left)
                if plain is not None:
                    return plain
                inner = self._product(factors)
                if from_left:
                    return self._algebra.from_left(inner)
                return self._algebra.from_right(inner)

    def _plain_law(self, factors: Factors, from_left: bool) -> F | None:
        """The distribution function of a sample without constants or earlier messages."""
        first = self._functions[factors[0]]
        if len(factors) > 1 or not isinstance(first, Restricted):
            return None
        sample = first.sample
        if sample.lower is not None or sample.upper is not None:
            return None
        return self._algebra.cdf(sample.law) if from_left else self._algebra.survival(sample.law)

    def _power(self, index: int, count: int) -> F:
        """A power of a function; neighbouring exponents differ by one product."""
        single = self._single[index]
        if count == 1:
            return single
        known = self._powers.get((index, count))
        if known is None:
            smaller = single if count == 2 else self._powers.get((index, count - 1))
            known = (
                self._algebra.power(single, count)
                if smaller is None
                else self._algebra.product(smaller, single)
            )
            self._powers[index, count] = known
        return known

    def _product(self, factors: Factors) -> F:
        known = self._products.get(factors)
        if known is not None:
            return known
        result: F | None = None
        for index, run in groupby(factors):
            count = sum(1 for _ in run)
            step = self._power(index, count)
            result = step if result is None else self._algebra.product(result, step)
        assert result is not None
        self._products[factors] = result
        return result
