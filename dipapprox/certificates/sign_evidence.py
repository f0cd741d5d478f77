"""Why functions are >= 0: what the exact engine finds, as certificates have it."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.certificates import proofs
from dipapprox.errors import BrokenInvariant
from dipapprox.exact.signs import cover
from dipapprox.exact.signs.evidence import DerivativeChain, Evidence, NoNegativeTerm, SignAtPoint
from dipapprox.exact.signs.zeros import Factors, Part


def proof_of(evidence: Evidence) -> proofs.Proof:
    """Record why a function is >= 0."""
    match evidence:
        case NoNegativeTerm():
            return proofs.NoNegativeTerm()
        case DerivativeChain():
            return proofs.DerivativesAtZero()
        case SignAtPoint(eps, sign):
            return proofs.Point(eps=eps, sign=1 if sign > 0 else 0)
        case Factors(sign, rational_zeros, parts):
            factors = tuple([_factor(part) for part in parts])
            return proofs.Factors(
                sign=_sign(sign), rational_zeros=tuple(rational_zeros), factors=factors
            )
        case _:
            assert_never(evidence)


def _factor(part: Part) -> proofs.Factor:
    terms = [
        (Fraction(c), n, j)
        for j, coefficients in part.form.groups
        for n, c in enumerate(coefficients)
        if c
    ]
    return proofs.Factor(
        rate=part.form.rate,
        terms=tuple(terms),
        exponent=part.exponent,
        cover=None if part.cover is None else _cover(part.cover),
    )


def _cover(found: cover.Cover) -> proofs.Cover:
    near, far = found.near, found.far
    boxes = [
        proofs.Box(box.lower, box.upper, proofs.Argument(box.argument.value), _sign(box.sign))
        for box in found.boxes
    ]
    near_zero, far_away = None, None
    if near is not None:
        near_zero = proofs.NearZero(upper=near.upper, order=near.order, sign=_sign(near.sign))
    if far is not None:
        far_away = proofs.FarAway(lower=far.lower, sign=_sign(far.sign))
    return proofs.Cover(near_zero=near_zero, boxes=tuple(boxes), far_away=far_away)


def _sign(value: int) -> proofs.Sign:
    if not value:
        raise BrokenInvariant("a sign in a proof is 0")
    return 1 if value > 0 else -1
