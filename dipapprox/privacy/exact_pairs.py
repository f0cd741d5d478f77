"""The delta of one pair in closed form, compared exactly with the claim: where bounds never tell.

At one rational ε the probabilities of Laplace and discrete programs are sums of c e^q, c and q
rational, and ratios of such sums. So are p - e^eps_prv p' and Lemma 2's sum of the positive ones;
their signs are decidable (Lindemann and Weierstrass; `exact.signs.values`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side
from dipapprox.arithmetic.extended import EXACTLY
from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.values import compare_at, enclose_at, sign_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.pairs.divergence import Attempt, ExactSide, Growth, Probabilities, divergence
from dipapprox.pairs.search import ExactPairs, precisions
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.decisions.divergences import Distributions, Functions, Obstacle

_LARGEST_PRECISION = 2**17
"""Bits of enclosures in which an exact violation is looked for; it stays one without them."""

_ONE = Fraction(1)
_ARGUMENT = "the signs of closed forms say so, however small the difference is"


class ExactDeltas(ExactPairs):
    """Decides pairs by exact forms; what was computed is remembered.

    Args:
        source: Exact distributions at the claim's eps, as functions to be taken at 1.
    """

    def __init__(
        self, source: Distributions, growth: Growth, delta: Fraction, limits: Limits
    ) -> None:
        self._functions = Functions(source, growth.at_one(), _ONE)
        self._growth = growth
        self._delta = ExponentialRatio.constant(delta)
        self._bound = delta
        self._limits = limits
        self._signs: dict[tuple[int, int], bool] = {}
        self._sides: dict[tuple[tuple[int, int], ...], int] = {}
        self._values: dict[tuple[int, int], Enclosure] = {}

    def decide(self, pair: Pair, bits: int) -> Attempt | NotEnclosed:
        """Compare delta_{u,u'} with the claimed delta; see `ExactPairs`."""
        try:
            return self._decide(pair, bits)
        except Obstacle as obstacle:
            return NotEnclosed(obstacle.reason)
        except LimitReached as limit:
            # Pieces, degrees or bits of this pair: enclosures may still decide it. Time ends all.
            self._limits.check()
            return NotEnclosed(limit.reason)

    def _decide(self, pair: Pair, bits: int) -> Attempt:
        first, second = map(self._functions.for_input, pair)
        terms = tuple(zip(first, second, strict=True))
        positive = tuple(o for o, term in enumerate(terms) if self._is_positive(term))
        exceeds = self._side(tuple(sorted(terms[o] for o in positive))) > 0
        proof = ExactSide(Side.ABOVE if exceeds else Side.BELOW, positive, _ARGUMENT)
        delta = Enclosure(self._bound, _ONE) if exceeds else Enclosure(Fraction(0), self._bound)
        unknown = (UNIT,) * len(terms)
        factor = self._growth.bounds(bits)
        found = Attempt(pair, bits, delta, factor, unknown, unknown, proof=proof)
        # The side is proved. What follows describes the pair as well as limits allow.
        for more in precisions(bits, max(bits, _LARGEST_PRECISION)):
            try:
                found = self._enclosed(found, first, second, more)
            except LimitReached:
                break
            if not exceeds or found.delta.lower > self._bound:
                break
        return found

    def _enclosed(
        self, found: Attempt, first: tuple[int, ...], second: tuple[int, ...], bits: int
    ) -> Attempt:
        """Enclose the distributions of a decided pair."""
        factor = self._growth.bounds(bits)
        ours, theirs = self._enclosures(first, bits), self._enclosures(second, bits)
        # delta_{u,u'} is on its side of the claimed one, and so is an end of its enclosure.
        own, by = divergence(ours, theirs, factor), f"enclosures of {bits} bits"
        delta = found.delta.intersect(own, by, EXACTLY, "the δ of one pair")
        return replace(found, bits=bits, delta=delta, factor=factor, first=ours, second=theirs)

    def _is_positive(self, term: tuple[int, int]) -> bool:
        if term not in self._signs:
            difference = self._functions.difference(*term)
            self._signs[term] = sign_at(difference, _ONE, self._limits) > 0
        return self._signs[term]

    def _side(self, terms: tuple[tuple[int, int], ...]) -> int:
        """Return the sign of delta_{u,u'} - delta."""
        if terms not in self._sides:
            parts = [self._functions.difference(*term) for term in terms]
            total = reduce(add, parts, ExponentialRatio.constant(0)).at(_ONE)
            self._sides[terms] = compare_at(total, self._delta, _ONE, self._limits)
        return self._sides[terms]

    def _enclosures(self, numbers: tuple[int, ...], bits: int) -> Probabilities:
        return tuple(self._enclosure(number, bits) for number in numbers)

    def _enclosure(self, number: int, bits: int) -> Enclosure:
        key = number, bits
        if key not in self._values:
            value = enclose_at(self._functions.known[number], _ONE, bits, self._limits)
            found = UNIT
            if not isinstance(value, NotEnclosed):
                found = value.intersect(UNIT, "the exact form of a probability")
            self._values[key] = found
        return self._values[key]
