"""What is found for rational scales, said of the irrational ones that they stand for.

The laws of the two programs are at most `error` apart in total variation, for every input
(`language.constants`). So a probability p of one is in p ± error for the other, and with the
`slack` s, by how much Pr[S | u] - e^eps_prv Pr[S | u'] differs at most (there),

    the other is (eps_prv, delta)-private        if the one is (eps_prv, delta - s)-private
    the other is not (eps_prv, delta)-private    if the one is not (eps_prv, delta + s)-private
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import replace
from dipapprox.language.core import Program
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy.run import Witness, WitnessRow

_BITS = 64
_TAIL = 512  # far samples have a share of 4 n e^-this in the slack
_SMALL = Fraction(1, 100)


def error_of(program: Program) -> Fraction:
    """Return how far the laws are apart, at most; 0 if all scales are as written."""
    return Fraction(0) if program.rounding is None else program.rounding.error


def slack(program: Program, growth: Growth) -> Fraction:
    """Return how much a delta is off, at most: by the better one of both lemmas of `constants`."""
    rounding = program.rounding
    if rounding is None:
        return Fraction(0)
    found = Fraction(1)
    # e^(3η) - 1 + τ (1 + α) with K = 3 (a + 512), α <= e^a; e^x - 1 <= x + x² for x <= 1, and
    # τ (1 + α) <= 2 n e^(-a - 512) 2 e^a.
    size = max(growth.rate, Fraction(0)) + ceil(growth.multiple).bit_length()
    eta = (1 + 3 * (size + _TAIL)) * rounding.error
    if rounding.error <= _SMALL and eta <= _SMALL:
        found = min(found, 4 * eta + Fraction(4 * rounding.samples, 2**_TAIL))
    upper = growth.bounds(_BITS).upper
    return found if upper is None else min(found, rounding.error * (1 + upper))


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
            row.output, widened(row.probability, error), widened(row.adjacent_probability, error)
        )
        for row in witness.rows
    )
    return replace(witness, rows=rows, delta_enclosure=widened(witness.delta_enclosure, by))
