"""What tells a pair of a product apart: outputs, all of them or as many as a claim needs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from dipapprox.data_classes import replace
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.attempt import Attempt
from dipapprox.pairs.divergence import difference_over
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.products.losses import Losses
from dipapprox.pairs.products.source import MOST_LISTED
from dipapprox.privacy.conclusion import witness_over
from dipapprox.privacy.verdict import Witness, WitnessRow


def product_witness(
    losses: Losses, attempt: Attempt, delta: Fraction | None = None
) -> Witness | None:
    """Say what tells the pair of an attempt apart; None if nothing is known to.

    Where there are few outputs, all that exceed are listed. Otherwise likely ones that together
    violate the claim, if a few thousand do; else an example.

    Args:
        losses: Of the program.
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
        total = _difference(rows[-1:], attempt.factor) + total
        if total > delta:
            return _witness(attempt, rows)
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
        if _difference([row], factor) > 0:
            yield row


def _listed(losses: Losses, attempt: Attempt, delta: Fraction | None) -> Witness | None:
    first, second = losses.source.distributions(attempt.pair, attempt.bits)
    if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
        return None
    whole = replace(attempt, first=first, second=second, proof=None)
    claimed = Fraction(0) if delta is None else delta
    found = witness_over(losses.source.outputs(), claimed, whole, delta is not None)
    if found is None or (delta is not None and found.delta_enclosure.lower <= delta):
        return None  # the roundings are not those of the attempt
    return found


def _difference(rows: list[WitnessRow], factor: Factor) -> Fraction:
    first = [row.probability for row in rows]
    second = [row.adjacent_probability for row in rows]
    return difference_over(range(len(rows)), first, second, factor).lower


def _witness(attempt: Attempt, rows: list[WitnessRow]) -> Witness:
    first = [row.probability for row in rows]
    second = [row.adjacent_probability for row in rows]
    difference = difference_over(range(len(rows)), first, second, attempt.factor)
    return Witness(*attempt.pair, tuple(rows), difference)
