"""Why a function is >= 0, or > 0, on an interval: what a reader needs to see it again.

Every kind is a short list of exact numbers. What a reader has to check of each is said with it, in
`cover` and in `chain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dipapprox.digits import exact_text
from dipapprox.exact.signs.cover import Cover
from dipapprox.exact.signs.zeros import Factors, Part


@dataclass(frozen=True, slots=True)
class NoNegativeTerm:
    """Every coefficient of the function is > 0, or there are no terms."""


@dataclass(frozen=True, slots=True)
class DerivativeChain:
    """`chain.chain_sign` proves it from exact values at 0: > 0 for all ε > 0."""


@dataclass(frozen=True, slots=True)
class SignAtPoint:
    """The interval is this point; the sign there is exact."""

    epsilon: Fraction
    sign: int


Evidence = NoNegativeTerm | DerivativeChain | SignAtPoint | Factors
"""`Factors`: the function is their product up to a positive function, and going through the
interval from the left the signs of the covers and rational zeros never multiply to -1."""


def evidence_json(evidence: Evidence) -> dict[str, object]:
    """The evidence for JSON; rationals and coefficients are strings."""
    match evidence:
        case NoNegativeTerm():
            return {"kind": "no negative term"}
        case DerivativeChain():
            return {"kind": "derivatives at 0"}
        case SignAtPoint(epsilon, sign):
            return {"kind": "point", "eps": exact_text(epsilon), "sign": sign}
        case Factors(sign, rational_zeros, parts):
            return {
                "kind": "factors",
                "sign": sign,
                "rational_zeros": [[exact_text(place), power] for place, power in rational_zeros],
                "factors": [_part_json(part) for part in parts],
            }
        case _:
            assert_never(evidence)


def _part_json(part: Part) -> dict[str, object]:
    return {
        "rate": exact_text(part.form.rate),
        "terms": [
            [exact_text(c), n, j]
            for j, coefficients in part.form.groups
            for n, c in enumerate(coefficients)
            if c
        ],
        "exponent": part.exponent,
        "cover": None if part.cover is None else _cover_json(part.cover),
    }


def _cover_json(cover: Cover) -> dict[str, object]:
    near, far = cover.near, cover.far
    return {
        "near_zero": near
        and {"upper": exact_text(near.upper), "order": near.order, "sign": near.sign},
        "boxes": [
            [exact_text(box.lower), exact_text(box.upper), box.argument.value, box.sign]
            for box in cover.boxes
        ],
        "far_away": far and {"lower": exact_text(far.lower), "sign": far.sign},
    }
