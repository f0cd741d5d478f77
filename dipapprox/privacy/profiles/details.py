"""Two output distributions of a privacy profile: their largest difference, and what shows it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.language.core import Value
from dipapprox.numerics.bulk import ProbabilitySource
from dipapprox.pairs.divergence import difference_over, likely_outputs
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.notation import Published
from dipapprox.privacy.profiles.least_factor import LeastFactor, least_factor
from dipapprox.privacy.verdict import Witness, WitnessRow


@dataclass(frozen=True, slots=True)
class ExcessSet:
    """A set S of outputs that are likely to be more than e^eps_prv times as likely under u.

    Attributes:
        first: At most p(S).
        second: At least q(S).
        outputs: The outputs in S, or examples of them.
        at_least: None if these are all; else how many there are, at least.
        possible: Whether p(S) may exceed e^eps_prv q(S).
    """

    first: Fraction
    second: Fraction
    outputs: tuple[tuple[Published, ...], ...]
    at_least: int | None
    possible: bool


class PairDetails(Protocol):
    """Answers about single pairs of a program."""

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """Bound the least factor of one pair."""

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """Return a set that nearly attains the delta of a pair; None if nothing is known."""

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """Say what tells a pair apart at a budget; by the given outputs, if any are."""


class ListedDetails:
    """The details of pairs whose outputs are gone through one by one; see `PairDetails`.

    Args:
        source: Gives distributions.
        outputs: In the order of the source.
    """

    def __init__(self, source: ProbabilitySource, outputs: Sequence[Sequence[Value]]) -> None:
        self._source = source
        self._outputs = outputs

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        """See `PairDetails`."""
        first, second = self._source.distributions(pair, bits)
        if isinstance(first, NotEnclosed):
            return first
        if isinstance(second, NotEnclosed):
            return second
        return least_factor(first, second, delta)

    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet | None:
        """See `PairDetails`."""
        first, second = self._source.distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            return None
        chosen = likely_outputs(first, second, factor)
        return ExcessSet(
            sum((first[k].lower for k in chosen), Fraction(0)),
            sum((second[k].upper for k in chosen), Fraction(0)),
            tuple(tuple(self._outputs[k]) for k in chosen),
            None,
            difference_over(chosen, first, second, factor).upper > 0,
        )

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairDetails`."""
        first, second = self._source.distributions(pair, bits)
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            return None
        chosen = likely_outputs(first, second, factor) if outputs is None else tuple(outputs)
        rows = tuple(WitnessRow(tuple(self._outputs[k]), first[k], second[k]) for k in chosen)
        return Witness(*pair, rows, difference_over(chosen, first, second, factor))
