"""Draws as noise that an automaton has; what has no finite budget is refused with its place."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.language import core
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm
from dipapprox.rounds.paths import refusal
from dipapprox.rounds.steps import Noise


def read_noise(draw: core.Draw, mean: LinearForm) -> Noise:
    """Read the noise of a draw.

    Args:
        mean: Its mean, a form over inputs and samples.

    Raises:
        SourceError: If it has no finite budget, or the mean is random.
    """
    _check_family(draw)
    inputs = mean.inputs()
    if mean.samples():
        raise refusal("the mean is a random number", draw.mean.span or draw.span)
    if len(inputs) > 1:
        message = "a mean with several inputs: with any number of rounds a sample has one"
        raise refusal(message, draw.mean.span or draw.span)
    reads = mean.coefficient(inputs[0]) if inputs else Fraction(0)
    only = inputs[0] if inputs else None
    return Noise(draw, 1 / draw.scale.coefficient, mean.constant, reads, only)


def _check_family(draw: core.Draw) -> None:
    if not draw.family.shifts:
        hint = "'profile' gives the least delta for some rounds and finitely many values"
        raise refusal(f"{draw.family.title} noise has no finite pure budget", draw.span, hint)
    if draw.family.shifts != BOTH_SIDES or not draw.family.is_exponential:
        message = f"{draw.family.title} noise: with any number of rounds all noise is Laplace"
        raise refusal(message, draw.span, "'prove --reals' answers for a fixed number of inputs")
    if draw.scale.power != -1:
        raise refusal("the scale is no multiple of 1/eps: no budget serves every eps", draw.span)
