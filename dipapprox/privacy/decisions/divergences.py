"""Pairs in, the hockey-stick divergences that a claim is about out, each only once.

Over a set of outputs O it is G = Σ_{o in O} (Pr[P(u) = o] - e^{tε} Pr[P(u') = o]), a function of ε;
the claim is G <= δ for every pair and every O. For δ = 0 single outputs suffice; for δ > 0 see
`search`.

Probabilities are numbered as functions of ε. Divergences over the same functions are made once,
whatever the pairs; those that differ in a positive factor only are recognised later, by their
numerators.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import Protocol

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.data_classes import Record, field
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.pairs.selections import Pair

Terms = tuple[tuple[int, int], ...]
"""The outputs of a divergence as numbers of (Pr[P(u) = o], Pr[P(u') = o]), ascending."""


class Divergence(Record):
    """G over the outputs at some positions, with the first pair that it was met at."""

    pair: Pair
    outputs: tuple[int, ...]
    function: ExponentialRatio


class Distributions(Protocol):
    """Where exact distributions come from."""

    def distribution(self, input: Input) -> tuple[ExponentialRatio, ...] | NotEnclosed:
        """The probability of every output as a function of ε, or why there is none."""


class Obstacle(Exception):
    """Some distribution has no exact form. `reason` is for the verdict."""

    def __init__(self, reason: str, input: Input) -> None:
        super().__init__(reason)
        self.reason = reason
        self.input = input


class Functions(Record, frozen=False):
    """The distinct probabilities met so far, numbered; and their differences, by the factor
    e^{tε}. At a `point` functions with one value there are equal."""

    source: Distributions
    factor: ExponentialPolynomial
    point: Fraction | None = None
    known: list[ExponentialRatio] = field(default_factory=list)
    _numbers: dict[ExponentialRatio, int] = field(default_factory=dict)
    _inputs: dict[Input, tuple[int, ...]] = field(default_factory=dict)
    _differences: dict[tuple[int, int], ExponentialRatio] = field(default_factory=dict)

    def for_input(self, input: Input) -> tuple[int, ...]:
        """Number the probabilities of one input.

        Raises:
            Obstacle: If they have no exact form.
        """
        known = self._inputs.get(input)
        if known is None:
            found = self.source.distribution(input)
            if isinstance(found, NotEnclosed):
                raise Obstacle(found.reason, input)
            if self.point is not None:
                found = tuple(each.at(self.point) for each in found)
            known = self._inputs[input] = tuple(map(self._number, found))
        return known

    def _number(self, function: ExponentialRatio) -> int:
        number = self._numbers.setdefault(function, len(self.known))
        if number == len(self.known):
            self.known.append(function)
        return number

    def difference(self, first: int, second: int) -> ExponentialRatio:
        key = first, second
        if key not in self._differences:
            p, q = self.known[first], self.known[second]
            self._differences[key] = p - ExponentialRatio(self.factor * q.numerator, q.denominator)
        return self._differences[key]

    def divergence(self, terms: Terms) -> ExponentialRatio:
        parts = [self.difference(*term) for term in terms]
        return reduce(add, parts) if parts else ExponentialRatio.constant(0)


def probability(value: Enclosure | NotEnclosed) -> Enclosure:
    """Return what is known of a probability whose exact form was enclosed, or was not."""
    if isinstance(value, NotEnclosed):
        return UNIT
    return value.intersect(UNIT, "the exact form of a probability")


class Count(Record, frozen=False):
    """How many ordered pairs were looked at, and how many with their sets of outputs."""

    pairs: int = 0
    inequalities: int = 0
