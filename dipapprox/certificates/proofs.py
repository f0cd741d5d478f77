"""Recorded reasons why a function is >= 0 on an interval of ε.

    no negative term    every coefficient is > 0
    derivatives at 0    f and repeated derivatives, each times an exponential that makes the
                        smallest rate 0, are >= 0 at 0 until all coefficients are
    point               the interval is one ε; the sign there
    factors             f = positive * sign * Π (ε - a)^m * Π factor^exponent; none with an odd
                        exponent changes its sign, as their covers show

A cover of G = Σ c ε^n e^(-j rate ε) says what its sign is on (0, upper] ("near zero"), on boxes
that follow each other, and on [lower, ∞) ("far away").
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dipapprox.certificates.statement import Count, Statement

Power = Annotated[int, Meta(ge=0, le=10_000)]
Exponent = Annotated[int, Meta(ge=1, le=10_000)]
Sign = Literal[-1, 1]


class Argument(Enum):
    """What is said of a box; the value is the word in the file."""

    CONSTANT = "constant"
    MONOTONE = "monotone"
    CROSSING = "crossing"


class NearZero(Statement, frozen=True):
    """The first derivative that is not 0 at 0, `order`, has no zero in [0, upper]."""

    upper: Fraction
    order: Count
    sign: Sign


class FarAway(Statement, frozen=True):
    """From `lower` on the leading term outweighs all terms of the other sign."""

    lower: Fraction
    sign: Sign


class Box(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """[lower, upper]; `sign` is that of G at `lower`."""

    lower: Fraction
    upper: Fraction
    argument: Argument
    sign: Sign


class Cover(Statement, frozen=True):
    """All three; `near_zero` if the interval begins at 0, `far_away` if it has no upper end."""

    near_zero: NearZero | None
    boxes: tuple[Box, ...]
    far_away: FarAway | None


class Factor(Statement, frozen=True):
    """G^exponent; `terms` are [c, n, j]: c ε^n e^(-j rate ε) with a whole c."""

    rate: Fraction
    terms: tuple[tuple[Fraction, Power, Count], ...]
    exponent: Exponent
    cover: Cover | None

    def __post_init__(self) -> None:
        if any(c.denominator > 1 for c, _, _ in self.terms):
            raise ValueError("expected terms with whole coefficients")


class NoNegativeTerm(Statement, frozen=True, tag_field="kind", tag="no negative term"):
    """See above."""


class DerivativesAtZero(Statement, frozen=True, tag_field="kind", tag="derivatives at 0"):
    """See above."""


class Point(Statement, frozen=True, tag_field="kind", tag="point"):
    """See above."""

    eps: Fraction
    sign: Literal[0, 1]


class Factors(Statement, frozen=True, tag_field="kind", tag="factors"):
    """See above; `rational_zeros` are [a, m]."""

    sign: Sign
    rational_zeros: tuple[tuple[Fraction, Exponent], ...]
    factors: tuple[Factor, ...]


Proof = NoNegativeTerm | DerivativesAtZero | Point | Factors
