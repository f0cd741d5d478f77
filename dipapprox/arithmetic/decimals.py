"""Enclosures as decimal text, rounded outward: what is printed still encloses the number."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dipapprox.digits import exact_text

_MOST_PLACES = 4_000
"""No end is printed with more decimal places; ends closer to 0 are rounded to it or away."""


class HasEnds(Protocol):
    """An enclosure."""

    @property
    def lower(self) -> Fraction:
        """Its lower end."""

    @property
    def upper(self) -> Fraction:
        """Its upper end."""

    @property
    def width(self) -> Fraction:
        """upper - lower."""


def outward(enclosure: HasEnds, places: int = 0) -> tuple[str, str]:
    """Write the ends as decimals: lower rounded down, upper rounded up.

    Enough places are used that rounding widens the interval by less than a thousandth. Ends that
    are short decimals are written exactly.

    Args:
        enclosure: What to write.
        places: Round to at least this many decimal places.

    Returns:
        (lower, upper), each plain ("0.0245") or, when tiny or huge, scientific ("1.7e-9").
    """
    width = enclosure.width
    places = max(places, _places_below(width) + 5 if width else 30)
    places = min(places, _MOST_PLACES)
    return rounded_down(enclosure.lower, places), rounded_up(enclosure.upper, places)


def short(enclosure: HasEnds, digits: int = 10) -> tuple[str, str]:
    """Write the ends for people: outward, to about `digits` significant digits of the larger end.

    A wide enclosure gets fewer digits: those after the first one or two that differ say nothing.
    """
    size = max(abs(enclosure.lower), abs(enclosure.upper))
    places = _places_below(size) + digits if size else digits
    if enclosure.width:
        places = min(places, _places_below(enclosure.width) + 3)
    places = min(max(places, 0), _MOST_PLACES)
    return rounded_down(enclosure.lower, places), rounded_up(enclosure.upper, places)


def rounded_down(value: Fraction, places: int) -> str:
    """Write the largest multiple of 10**-places that is <= value."""
    return _text(value.numerator * 10**places // value.denominator, places)


def rounded_up(value: Fraction, places: int) -> str:
    """Write the smallest multiple of 10**-places that is >= value."""
    return _text(-(-value.numerator * 10**places // value.denominator), places)


def exact_decimal(value: Fraction) -> str:
    """Write a number exactly: as a decimal if it is a short one, else as "p/q"."""
    places = 0
    while value.denominator > 1 and (10**places) % value.denominator and places < 60:
        places += 1
    return _text(int(value * 10**places), places) if places < 60 else exact_text(value)


def rational(value: Fraction, longest: int = 40) -> str:
    """Write a number exactly if that is short, else as a decimal that "…" cuts off."""
    text = exact_text(value)
    if len(text) <= longest:
        return text
    places = _places_below(abs(value)) + 10
    scaled = value * Fraction(10) ** places
    number, e, exponent = _text(int(scaled), places).partition("e")
    rest = "" if scaled.denominator == 1 else "…"
    return f"{number}{rest}{e}{exponent}"


def _places_below(size: Fraction) -> int:
    """Return about -log10(size) for size > 0: size / 2 < 10**-result < 20 * size."""
    bits = size.denominator.bit_length() - size.numerator.bit_length()
    return bits * 30_103 // 100_000


def _text(scaled: int, places: int) -> str:
    """Write scaled * 10**-places exactly, without trailing zeros."""
    if scaled == 0:
        return "0"
    sign = "-" if scaled < 0 else ""
    digits = exact_text(abs(scaled))
    stripped = digits.rstrip("0")
    exponent = len(digits) - 1 - places  # of the leading digit
    places -= len(digits) - len(stripped)
    if -5 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{stripped}"
    if 0 <= exponent < 20:
        whole = stripped[: exponent + 1].ljust(exponent + 1, "0")
        return (
            f"{sign}{whole}.{stripped[exponent + 1 :]}".rstrip(".") if places > 0 else sign + whole
        )
    fraction = f".{stripped[1:]}" if len(stripped) > 1 else ""
    return f"{sign}{stripped[0]}{fraction}e{exponent}"
