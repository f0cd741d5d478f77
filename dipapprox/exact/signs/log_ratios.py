"""What the logarithm of a quotient p / q of functions of ε does as ε vanishes.

There p / q tends to a number, the jump, or grows beyond all bounds; where it tends to 1,
ln(p / q) / ε tends to what (p / q - 1) / ε does, the slope.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.supremum import Infinity, limit_at_zero
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio


@dataclass(frozen=True, slots=True)
class LimitAtZero:
    """The limits for ε -> 0.

    Attributes:
        jump: Of p / q; None if it is infinite.
        slope: Of ln(p / q) / ε if the jump is 1; None else.
    """

    jump: Fraction | None
    slope: Fraction | None


def near_zero(above: ExponentialPolynomial, below: ExponentialPolynomial) -> LimitAtZero:
    """Return the limits of above / below, a quotient that is >= 0 close to 0.

    Args:
        above: p, maybe times a function; it may be the zero function.
        below: q, times the same; no zero function.
    """
    jump = limit_at_zero(ExponentialRatio(above, ((below, 1),)))
    if isinstance(jump, Infinity):
        return LimitAtZero(None, None)
    if jump != 1:
        return LimitAtZero(jump, None)
    eps = ExponentialPolynomial.monomial(1, 1)
    slope = limit_at_zero(ExponentialRatio(above - below, ((below, 1), (eps, 1))))
    return LimitAtZero(jump, None if isinstance(slope, Infinity) else slope)


def without_common(
    p: ExponentialRatio, q: ExponentialRatio
) -> tuple[ExponentialPolynomial, ExponentialPolynomial]:
    """Return polynomials whose quotient is p / q."""
    above, below = p.numerator, q.numerator
    ours, theirs = dict(p.denominator), dict(q.denominator)
    for factor in {**ours, **theirs}:
        power = theirs.get(factor, 0) - ours.get(factor, 0)
        if power > 0:
            above = above * factor**power
        elif power < 0:
            below = below * factor**-power
    return above, below
