"""Two output distributions of a privacy profile: their largest difference, and what shows it.

**The least factor of a pair.** With E = e^eps_prv, p and q the distributions of u and u',

    delta_{u,u'}(E) = max over sets S of outputs of p(S) - E q(S),

and at every E a set {o : p(o) / q(o) > t} attains the maximum. So delta_{u,u'}(E) <= delta
exactly if E >= (p(S) - delta) / q(S) for each such S with q(S) > 0, and p(S) <= delta for those
with q(S) = 0; there are no more of them than outputs. The solution grows with p and falls with q:
the ends of their enclosures give its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dipapprox.arithmetic.enclosure import UNIT, NotEnclosed, enclosing, if_enclosed, sure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended
from dipapprox.data_classes import Record
from dipapprox.language.core import Value
from dipapprox.numerics.probability import ProbabilitySource
from dipapprox.pairs.divergence import (
    Attempt,
    Factor,
    Probabilities,
    certain_outputs,
    difference_over,
    likely_outputs,
)
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.notation import Published
from dipapprox.privacy.run import Witness, WitnessRow

LARGEST_FACTOR = Fraction(2) ** 14_427
"""About e^10000: where factors are searched for, no larger ones are tried."""


POSSIBLE = "possible outputs"  # the word for what shows that no factor is enough


class LeastFactor(Record):
    """Bounds of the least E >= 1 with delta_{u,u'}(E) <= delta."""

    lower: Fraction | None  # none if no E is large enough, for certain
    upper: Fraction | None  # none if no bound is known
    # Indices of the outputs of the set that demands `lower`; None where that are all outputs that
    # are more than `lower` times as likely, which are not gone through.
    outputs: tuple[int, ...] | None
    by: str = BY_ENCLOSURES[0]


def least_factor(first: Probabilities, second: Probabilities, delta: Fraction) -> LeastFactor:
    """Bound the least factor of a pair, from the distributions of u and u' in one order."""
    lower, outputs = _solve([p.lower for p in first], [q.upper for q in second], delta)
    upper, _ = _solve([p.upper for p in first], [q.lower for q in second], delta)
    return LeastFactor(lower, upper, outputs)


def _solve(
    first: Sequence[Fraction], second: Sequence[Fraction], delta: Fraction
) -> tuple[Fraction | None, tuple[int, ...]]:
    """Return the least E >= 1 for exact p and q, None for infinity; and the set that demands it."""
    possible = [k for k, p in enumerate(first) if p]
    never = [k for k in possible if not second[k]]
    ratio = {k: first[k] / second[k] for k in possible if second[k]}
    p = sum((first[k] for k in never), Fraction(0))
    if p > delta:
        return None, tuple(never)
    q = Fraction(0)
    order = sorted(ratio, key=ratio.__getitem__, reverse=True)
    best, size = Fraction(1), 0
    for count, k in enumerate(order, 1):
        if ratio[k] <= best:
            break  # (p - delta) / q cannot rise above the best by outputs of a smaller ratio
        p += first[k]
        q += second[k]
        if p - delta > best * q:
            best, size = (p - delta) / q, count
    chosen = (*never, *order[:size]) if size else ()
    return best, tuple(sorted(chosen))


class ExcessSet(Record):
    """A set S of outputs that are likely to be more than e^eps_prv times as likely under u."""

    first: Fraction  # at most p(S)
    second: Fraction  # at least q(S)
    outputs: tuple[tuple[Published, ...], ...]
    at_least: int | None  # none if these are all; else how many there are, at least
    possible: bool  # whether p(S) may exceed e^eps_prv q(S)


class PairsBounds(Record):
    """Bounds of a number that is the largest over all pairs: a least eps_prv, a divergence."""

    told: Extended
    pair: Pair | None  # one that has the lower bound; None if there are no pairs, or none needs it
    bits: int
    # Of a least eps_prv: the outputs that tell the pair apart (see `LeastFactor`), and the factor
    # e^eps_prv that it demands at least, None if none is enough.
    outputs: tuple[int, ...] | None = None
    factor: Fraction | None = None
    limit: str | None = None  # what other than precision kept bounds wide; None if nothing did


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

    def describe(self, attempt: Attempt, delta: Fraction | None) -> Witness | None:
        """Say what tells the pair of an attempt apart, by more than a `delta` if one is given."""


class ListedDetails(Record, eq=False):
    """The details of pairs whose outputs are gone through one by one; see `PairDetails`."""

    source: ProbabilitySource
    outputs: Sequence[Sequence[Value]]

    def _both(self, pair: Pair, bits: int) -> tuple[Probabilities, Probabilities]:
        first, second = map(sure, self.source.distributions(pair, bits))
        return first, second

    @enclosing
    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor:
        return least_factor(*self._both(pair, bits), delta)

    @if_enclosed
    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet:
        first, second = self._both(pair, bits)
        chosen = likely_outputs(first, second, factor)
        return ExcessSet(
            sum((first[k].lower for k in chosen), Fraction(0)),
            sum((second[k].upper for k in chosen), Fraction(0)),
            tuple(tuple(self.outputs[k]) for k in chosen),
            None,
            difference_over(chosen, first, second, factor).upper > 0,
        )

    @if_enclosed
    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness:
        first, second = self._both(pair, bits)
        chosen = likely_outputs(first, second, factor) if outputs is None else tuple(outputs)
        rows = (WitnessRow(tuple(self.outputs[k]), first[k], second[k]) for k in chosen)
        return Witness.of(pair, rows, factor)

    def describe(self, attempt: Attempt, delta: Fraction | None) -> Witness | None:
        return witness_over(self.outputs, attempt, delta)


def witness_over(
    outputs: Sequence[Sequence[Value]], attempt: Attempt, delta: Fraction | None = None
) -> Witness | None:
    """Return outputs that tell a pair apart, by more than a `delta` if one is given; or None."""
    first, second, factor = attempt.first, attempt.second, attempt.factor
    proof = None if delta is None else attempt.proof
    if proof is not None:
        first, second = (each or (UNIT,) * len(outputs) for each in (first, second))
        chosen = proof.outputs
    elif not first:
        return None
    else:
        chosen = (likely_outputs if delta is None else certain_outputs)(first, second, factor)
    if not chosen:
        return None
    rows = tuple(WitnessRow(tuple(outputs[i]), first[i], second[i]) for i in chosen)
    if proof is None or delta is None:
        return Witness.of(attempt.pair, rows, factor)
    # Over these outputs the difference is at least that of all, or exceeds the claim as that does.
    shown = attempt.delta.lower > delta
    argument = None if shown else proof.argument
    return Witness(*attempt.pair, rows, attempt.delta, argument)
