"""Probabilities of choices and of where loops end, at one ε, in balls."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dipapprox.checking.chains import Chain, Random, absorption
from dipapprox.checking.chances import Chance
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_ATTEMPTS = 6


class Balls:
    """Arithmetic with balls, at the precision of the enclosing block."""

    one = arb(1)

    def plus(self, left: arb, right: arb) -> arb:
        """left + right."""
        return left + right

    def times(self, left: arb, right: arb) -> arb:
        """left * right."""
        return left * right

    def over(self, left: arb, right: arb) -> arb:
        """left / right."""
        return left / right


class RandomValues:
    """Enclosures at one ε; chains are solved once at a precision.

    Args:
        eps: The ε.
        possible: Whether an outcome of a choice has a probability above 0.
        limits: Asked throughout.
    """

    def __init__(self, eps: Fraction, possible: Callable[[Chance], bool], limits: Limits) -> None:
        self._eps = eps
        self._possible = possible
        self._limits = limits
        self._solved: dict[tuple[Chain, int], dict[int, arb]] = {}

    def enclose(self, happening: Random, bits: int) -> Enclosure | NotEnclosed:
        """Enclose a probability to about 2**-bits; choices are lawful, and loops end."""
        if isinstance(happening, Chance):
            return happening.enclose(self._eps, bits)
        found: Enclosure | NotEnclosed = UNIT
        for attempt in range(_ATTEMPTS):
            working = bits + 32 << attempt
            with precision(working):
                found = to_enclosure(self._ball(happening, working))
            if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
                break
        return found.intersect(UNIT) if isinstance(found, Enclosure) else found

    def _ball(self, happening: Random, working: int) -> arb:
        if isinstance(happening, Chance):
            found = happening.enclose(self._eps, working)
            if isinstance(found, NotEnclosed):
                return arb.nan()
            return to_ball(found.lower).union(to_ball(found.upper))
        key = happening.chain, working
        if key not in self._solved:
            self._solved[key] = absorption(
                happening.chain,
                lambda each: self._ball(each, working),
                self._possible,
                Balls(),
                self._limits,
            )
        return self._solved[key].get(happening.state, arb(0))
