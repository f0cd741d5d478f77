"""What tells a pair of a product apart: for a claim, or for its privacy profile.

Outputs, all of them or as many as are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice

from dipapprox.arithmetic.enclosure import NotEnclosed, enclosing, if_enclosed, sure
from dipapprox.data_classes import dataclass, replace
from dipapprox.pairs.divergence import Attempt, Factor
from dipapprox.pairs.products.losses import Losses
from dipapprox.pairs.products.measures import ProductAtoms
from dipapprox.pairs.products.source import MOST_LISTED
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.conclusion import witness_over
from dipapprox.privacy.profiles.details import ExcessSet, LeastFactor
from dipapprox.privacy.run import Witness, WitnessRow, difference_of


def product_witness(
    losses: Losses, attempt: Attempt, delta: Fraction | None = None
) -> Witness | None:
    """Say what tells the pair of an attempt apart; None if nothing is known to.

    Where there are few outputs, all that exceed are listed. Otherwise likely ones that together
    violate the claim, if a few thousand do; else an example.

    Args:
        attempt: Its delta encloses that of the set of all outputs of a ratio above e^eps_prv.
        delta: What is claimed, if a violation is to be shown.
    """
    listed = _listed(losses, attempt, delta)
    if listed is not None:
        return listed
    loss = losses.of(attempt.pair, attempt.bits)
    if isinstance(loss, NotEnclosed):
        return None
    number = loss.certain(attempt.factor).outputs
    rows: list[WitnessRow] = []
    total = Fraction(0)
    for row in exceeding(losses, attempt.pair, attempt.factor, attempt.bits):
        rows.append(row)
        if delta is None:
            break
        total += difference_of([row], attempt.factor).lower
        if total > delta:
            return Witness.of(attempt.pair, rows, attempt.factor)
    argument = None
    if attempt.proof is not None and delta is not None and attempt.delta.lower <= delta:
        argument = attempt.proof.argument
    return Witness(*attempt.pair, tuple(rows[:1]), attempt.delta, argument, number)


def exceeding(losses: Losses, pair: Pair, factor: Factor, bits: int) -> Iterator[WitnessRow]:
    """Yield outputs that are certainly more than e^eps_prv times as likely, likely ones first."""
    for each in islice(losses.source.likeliest(*pair, bits), MOST_LISTED):
        row = WitnessRow(*each)
        if factor.upper is None and row.adjacent_probability.upper:
            continue
        if difference_of([row], factor).lower > 0:
            yield row


@if_enclosed
def _listed(losses: Losses, attempt: Attempt, delta: Fraction | None) -> Witness | None:
    first, second = map(sure, losses.source.distributions(attempt.pair, attempt.bits))
    whole = replace(attempt, first=first, second=second, proof=None)
    claimed = Fraction(0) if delta is None else delta
    found = witness_over(losses.source.outputs, claimed, whole, delta is not None)
    if found is None or (delta is not None and found.delta_enclosure.lower <= delta):
        return None  # the roundings are not those of the attempt
    return found


@dataclass(frozen=True, slots=True, eq=False)
class ProductDetails:
    """The details of pairs by their losses; see `PairDetails`."""

    losses: Losses

    @enclosing
    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor:
        """See `PairDetails`."""
        loss = sure(self.losses.of(pair, bits))
        lower = _solved(loss.below, delta)
        return LeastFactor(lower, _solved(loss.above, delta), None if lower != 1 else ())

    @if_enclosed
    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet:
        """See `PairDetails`."""
        found = sure(self.losses.of(pair, bits)).certain(factor)
        examples = islice(exceeding(self.losses, pair, factor, bits), 1)
        outputs = tuple(row.output for row in examples)
        return ExcessSet(found.first, found.second, outputs, found.outputs, found.outputs > 0)

    @if_enclosed
    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairDetails`. The outputs are always all that exceed."""
        delta = sure(self.losses.of(pair, bits)).delta(factor)
        return product_witness(self.losses, Attempt(pair, bits, delta, factor))


def _solved(atoms: ProductAtoms, delta: Fraction) -> Fraction | None:
    """Return the least x >= 1 with sum max(P - x Q, 0) <= delta; None if there is none.

    Newton's method from below on a convex function of finitely many pieces: every step but the
    last enters another piece, so it ends, with the exact solution.
    """
    if atoms.excess(None).first > delta:
        return None
    x = Fraction(1)
    while True:
        excess = atoms.excess(x)
        if excess.at(x) <= delta or not excess.second:
            return x
        x = (excess.first - delta) / excess.second
