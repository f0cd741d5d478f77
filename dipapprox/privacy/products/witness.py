"""What tells a pair of a product apart: outputs, listed where they are few."""

from __future__ import annotations

from dataclasses import replace

from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.privacy.conclusion import witness_over
from dipapprox.privacy.products.losses import Losses
from dipapprox.privacy.search import Attempt
from dipapprox.privacy.verdict import Witness, WitnessRow


def product_witness(losses: Losses, attempt: Attempt, certain: bool) -> Witness | None:
    """Say what tells the pair of an attempt apart; None if nothing is known to.

    Args:
        losses: Of the program.
        attempt: Its delta encloses that of the set of all outputs of a ratio above e^budget.
        certain: Whether outputs that are listed must be in that set for certain.
    """
    listed = _listed(losses, attempt, certain)
    # What is listed may be certain by less than the attempt, whose bounds have other roundings.
    if listed is not None and (not certain or listed.delta_enclosure.lower >= attempt.delta.lower):
        return listed
    loss = losses.of(attempt.pair, attempt.bits)
    example = losses.source.likeliest(*attempt.pair, attempt.bits)
    if isinstance(loss, NotEnclosed) or isinstance(example, NotEnclosed):
        return None
    number = loss.certain(attempt.factor).outputs
    return Witness(*attempt.pair, (WitnessRow(*example),), attempt.delta, number)


def _listed(losses: Losses, attempt: Attempt, certain: bool) -> Witness | None:
    first, second = losses.source.distributions(attempt.pair, attempt.bits)
    if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
        return None
    whole = replace(attempt, first=first, second=second)
    return witness_over(losses.source.outputs(), whole, certain)
