"""Certificates of programs with irrational scales: their numbers are those of rational ones.

The text is elaborated again, with rational scales next to the irrational ones. With the slack s by
the lemmas of `language.scales`, (eps_prv, delta - s)-privacy of that program proves the claim, and
that it is not (eps_prv, delta + s)-private refutes it. Between the two nothing is false, and
nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

from dipapprox.certificates.verdicts import (
    CertificateOfDP,
    CertificateOfNotDP,
    with_claimed_delta,
)
from dipapprox.checking.partial_result import PartialResult
from dipapprox.language.core import Program
from dipapprox.numerics.enclosure import Enclosure

Record = CertificateOfDP | CertificateOfNotDP

Examine = Callable[[Record, Program, PartialResult], None]

_LARGEST = 50
"""Budget beyond which e^eps_prv times the distance is more than need be: 3 for e, rounded up."""

_SHARED = "the rational scales next to irrational ones, with their distance: elaboration"


def examine_rounded(
    record: Record, program: Program, partial: PartialResult, examine: Examine
) -> None:
    """Examine a certificate of a program that has a `rounding`, through its rational scales.

    Args:
        record: The certificate.
        program: As elaborated.
        partial: What is found.
        examine: Examines certificates of programs whose scales are as written.
    """
    slack = _slack(program, record.claim.eps_prv)
    private = isinstance(record, CertificateOfDP)
    least, most = record.claim.delta - slack, record.claim.delta + slack
    strict, lenient = (least, most) if private else (most, least)
    rational = program.with_rational_scales()
    if not 0 <= strict <= 1:
        partial.reason = "the claimed delta is next to 0 or 1, and a scale is irrational"
        return
    found = PartialResult()
    examine(with_claimed_delta(record, strict), rational, found)
    if found.differences:
        # What is false of the stricter claim need not be of this one.
        again = PartialResult()
        lenient = min(max(lenient, Fraction(0)), Fraction(1))
        examine(with_claimed_delta(record, lenient), rational, again)
        if not again.differences:
            found = again
            found.reason = "delta is next to the claimed one, and a scale is irrational"
    partial.take(found)
    partial.shared.append(_SHARED)
    if partial.delta is not None:
        low, high = partial.delta.lower - slack, partial.delta.upper + slack
        partial.delta = Enclosure(max(low, Fraction(0)), min(high, Fraction(1)))


def _slack(program: Program, eps_prv: Fraction) -> Fraction:
    """Bound what a δ is off by: error · (1 + e^eps_prv), or by ratios where that is a long number.

    With K = 3 (eps_prv + 400): e^(3η) - 1 <= 4 η, and 2 n e^(-K/3) (1 + e^eps_prv) <= 4 n / 2^400.
    """
    rounding = program.rounding
    if rounding is None:
        return Fraction(0)
    if eps_prv <= _LARGEST:
        return rounding.error * (1 + Fraction(3) ** max(0, ceil(eps_prv)))
    eta = rounding.error * (1 + 3 * (eps_prv + 400))
    if max(eta, rounding.error) > Fraction(1, 100):
        return Fraction(1)
    return 4 * eta + Fraction(4 * rounding.samples, 2**400)
