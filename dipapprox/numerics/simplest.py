"""The shortest number in an interval: short witnesses, quick arithmetic."""

from __future__ import annotations

from fractions import Fraction


def simplest(lower: Fraction, upper: Fraction) -> Fraction:
    """Return the fraction of least denominator in [lower, upper], lower <= upper.

    Continued fractions: an integer, the one nearest to 0, if there is one; else the common whole
    part plus the reciprocal of the simplest fraction between the reciprocals of what is left.
    """
    if lower <= 0 <= upper:
        return Fraction(0)
    if upper < 0:
        return -simplest(-upper, -lower)
    whole = lower.__ceil__()
    if whole <= upper:
        return Fraction(whole)
    whole -= 1
    return whole + 1 / simplest(1 / (upper - whole), 1 / (lower - whole))


_PLACES = 15
_SHORT = 1_000


def shortest(lower: Fraction, upper: Fraction) -> Fraction:
    """Return a number in [lower, upper] that is short when it is written down.

    A fraction of small numbers if there is one; else a decimal of up to 15 places, as few as
    possible; else the simplest fraction.
    """
    plain = simplest(lower, upper)
    if max(abs(plain.numerator), plain.denominator) < _SHORT:
        return plain
    for places in range(_PLACES + 1):
        unit = 10**places
        found = Fraction((lower * unit).__ceil__(), unit)
        if found <= upper:
            return found
    return plain
