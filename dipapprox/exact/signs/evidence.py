"""Why a function is >= 0, or > 0, on an interval: what a reader needs to see it again.

Every kind is a short list of exact numbers. What a reader has to check of each is said with it, in
`cover` and in `chain`.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.zeros import Factors


@dataclass(frozen=True, slots=True)
class NoNegativeTerm:
    """Every coefficient of the function is > 0, or there are no terms."""


@dataclass(frozen=True, slots=True)
class DerivativeChain:
    """`chain.chain_sign` proves it from exact values at 0: > 0 for all ε > 0."""


@dataclass(frozen=True, slots=True)
class SignAtPoint:
    """The interval is this point; the sign there is exact."""

    eps: Fraction
    sign: int


Evidence = NoNegativeTerm | DerivativeChain | SignAtPoint | Factors
"""`Factors`: the function is their product up to a positive function, and going through the
interval from the left the signs of the covers and rational zeros never multiply to -1."""
