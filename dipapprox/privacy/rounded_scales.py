"""What is found for rational scales, said of the irrational ones that they stand for.

The laws of the two programs are at most `error` apart in total variation (`language.scales`), for
every input. So a probability p of one is in p ± error for the other, and with s the `slack`,
error · (1 + e^eps_prv),

    the other is (eps_prv, delta)-private        if the one is (eps_prv, delta - s)-private
    the other is not (eps_prv, delta)-private    if the one is not (eps_prv, delta + s)-private

and what is computed of Pr[S | u] - e^eps_prv Pr[S | u'] is off by at most s.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.language.core import Program
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.growth import Growth
from dipapprox.privacy.verdict import Witness, WitnessRow

_BITS = 64


def error_of(program: Program) -> Fraction:
    """Return how far the laws are apart, at most; 0 if all scales are as written."""
    return Fraction(0) if program.rounding is None else program.rounding.error


def slack(error: Fraction, growth: Growth) -> Fraction:
    """Return how much a delta is off, at most."""
    if not error:
        return error
    upper = growth.bounds(_BITS).upper
    return Fraction(1) if upper is None else min(error * (1 + upper), Fraction(1))


def widened(enclosure: Enclosure, by: Fraction) -> Enclosure:
    """Widen the enclosure of a probability, or of a difference that is at most 1."""
    if not by:
        return enclosure
    low, high = enclosure.lower - by, enclosure.upper + by
    return Enclosure(max(low, min(enclosure.lower, Fraction(0))), min(high, Fraction(1)))


def widened_witness(witness: Witness | None, error: Fraction, by: Fraction) -> Witness | None:
    """Widen what a witness says: its probabilities by `error`, its delta by the slack."""
    if witness is None or not (error or by):
        return witness
    rows = tuple(
        WitnessRow(
            row.output,
            widened(row.probability, error),
            widened(row.adjacent_probability, error),
        )
        for row in witness.rows
    )
    return replace(witness, rows=rows, delta_enclosure=widened(witness.delta_enclosure, by))
