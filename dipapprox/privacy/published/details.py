"""What the questions ask of single pairs of a program with real outputs: see `PairDetails`.

The least factor of a pair is found by Newton's method from below. The divergence at E, the
supremum over sets S of p(S) - E q(S), is convex and falls; a set S found at E demands the factor
(p(S) - delta) / q(S), which no smaller one meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.events.marginals import Outcome
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.real_outputs.signs import Interval
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.attempt import Attempt
from dipapprox.pairs.divergence import difference_over
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.published.divergences import Excess, PublishedDivergences
from dipapprox.privacy.notation import Published
from dipapprox.privacy.numbers import ANY_NUMBER, NumberSet
from dipapprox.privacy.profiles.details import ExcessSet
from dipapprox.privacy.profiles.least_factor import LeastFactor
from dipapprox.privacy.verdict import Witness, WitnessRow

_MOST_STEPS = 60

_LIKELIER = NumberSet(((None, None),), "of a likelihood ratio above e^ε_prv")
"""Where several numbers are published together."""


class PublishedDetails:
    """The details of pairs by what they publish; see `PairDetails`."""

    def __init__(self, divergences: PublishedDivergences) -> None:
        self._divergences = divergences

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """See `PairDetails`."""
        terms = self._divergences.terms(pair)
        place = Fraction(1)
        upper: Fraction | None = None
        slack = Fraction(1, 2 ** max(bits - 8, 8))
        for _ in range(_MOST_STEPS):
            factor = Factor(place, place)
            excess = self._divergences.excess(pair, factor, bits)
            if isinstance(excess, NotEnclosed):
                return excess
            first = sum((each.first.lower for each in excess), Fraction(0))
            second = sum((each.second.upper for each in excess), Fraction(0))
            if not second and first > delta:
                return LeastFactor(None, None, None)
            demanded = (first - delta) / second if second else Fraction(0)
            if demanded > place * (1 + slack):
                place = _shortened(demanded, bits)
                continue
            if not isinstance(terms, tuple):
                break
            trial = place * (1 + 4 * slack)
            found = self._divergences.divergence(terms, Factor(trial, trial), bits)
            if isinstance(found, Enclosure) and found.upper <= delta:
                upper = trial
            break
        return LeastFactor(place, upper, None if place != 1 else ())

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """See `PairDetails`."""
        found = self._divergences.excess(pair, factor, bits)
        if isinstance(found, NotEnclosed):
            return None
        first = sum((each.first.lower for each in found), Fraction(0))
        second = sum((each.second.upper for each in found), Fraction(0))
        possible = factor.upper is not None and first - factor.lower * second > 0
        outputs = tuple(map(published_text, found))
        return ExcessSet(first, second, outputs, None, possible)

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairDetails`. The outputs are always those that exceed."""
        found = self._divergences.excess(pair, factor, bits)
        if isinstance(found, NotEnclosed) or not found:
            return None
        rows = tuple(WitnessRow(published_text(e), e.first, e.second) for e in found)
        first = [row.probability for row in rows]
        second = [row.adjacent_probability for row in rows]
        if factor.upper is None and any(each.upper for each in second):
            factor = Factor(factor.lower, factor.lower)
        difference = difference_over(range(len(rows)), first, second, factor)
        return Witness(*pair, rows, difference)

    def describe(self, attempt: Attempt, certain: bool) -> Witness | None:
        """Say what tells the pair of an attempt apart."""
        return self.witness(attempt.pair, attempt.factor, None, attempt.bits)


def published_text(excess: Excess) -> tuple[Published, ...]:
    """Return the values of all output cells: finite ones, then numbers and sets of numbers."""
    reals = published_numbers(excess.outcome, excess.place, excess.intervals)
    return (*excess.outcome.outputs, *reals)


def published_numbers(
    outcome: Outcome, place: int | None, intervals: tuple[Interval, ...] | None
) -> tuple[Published, ...]:
    """Return what the real outputs of an outcome are, one coordinate being in some intervals.

    Args:
        outcome: The outcome.
        place: The coordinate; None for none.
        intervals: Where it is; None: where the likelihood ratio is large.
    """
    found: list[Published] = []
    for form in outcome.reals:
        if form.is_constant:
            found.append(form.constant)
        elif place is None or place not in form.samples():
            found.append(ANY_NUMBER)
        elif intervals is None or len(form.terms) > 1:
            found.append(_LIKELIER)
        else:
            found.append(NumberSet(intervals).mapped(form.coefficient(place), form.constant))
    return tuple(found)


def _shortened(value: Fraction, bits: int) -> Fraction:
    """Round down to a short fraction: what is demanded stays demanded."""
    unit = 2 ** (bits + 16)
    return Fraction(value.numerator * unit // value.denominator, unit)
