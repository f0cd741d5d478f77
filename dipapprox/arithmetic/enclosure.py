"""Enclosures: closed rational intervals proved to contain a number.

This is the only numerical type that leaves `numerics`: it compares exactly and can be pickled.

Decimals. Enclosures as decimal text, rounded outward: what is printed still encloses the number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from fractions import Fraction
from functools import wraps
from math import ceil, floor
from typing import ParamSpec, TypeVar

from dipapprox.data_classes import Record
from dipapprox.digits import exact_repr, exact_text
from dipapprox.errors import Contradiction

_EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
_MOST_PLACES = 4_000
"""No end is printed with more decimal places; ends closer to 0 are rounded to it or away."""


def outward(enclosure: Enclosure, places: int = 0) -> tuple[str, str]:
    """Write the ends as decimals: lower rounded down, upper rounded up, to at least so many places.

    Enough are used that rounding widens the interval by less than a thousandth. Ends that are short
    decimals are written exactly. They are plain ("0.0245") or, tiny or huge, scientific ("1.7e-9").
    """
    width = enclosure.width
    places = max(places, _places_below(width) + 5 if width else 30)
    places = min(places, _MOST_PLACES)
    return rounded_down(enclosure.lower, places), rounded_up(enclosure.upper, places)


def short(enclosure: Enclosure, digits: int = 10) -> tuple[str, str]:
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
    number = Decimal(exact_text(scaled)).scaleb(-places, _EXACT).normalize(_EXACT)
    plain = -5 <= number.adjusted() < 20 or not number
    return f"{number:f}" if plain else f"{number:e}".replace("e+", "e")


class Enclosure(Record):
    """A proved interval: lower <= true value <= upper; a ValueError if that is empty."""

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if not _at_most(self.lower, self.upper):
            raise ValueError(f"empty enclosure: {self.lower} > {self.upper}")

    def __repr__(self) -> str:
        return f"Enclosure(lower={exact_repr(self.lower)}, upper={exact_repr(self.upper)})"

    @classmethod
    def exact(cls, value: Fraction | int) -> Enclosure:
        return cls(Fraction(value), Fraction(value))

    @property
    def width(self) -> Fraction:
        """upper - lower, exact."""
        return self.upper - self.lower

    def __float__(self) -> float:
        """About its middle: for people and plots, no bound."""
        return float((self.lower + self.upper) / 2)

    def __str__(self) -> str:
        """Write it for people: "[0.1622570001, 0.1622570002]", rounded outwards, or the number."""
        lower, upper = short(self)
        return lower if lower == upper else f"[{lower}, {upper}]"

    def __format__(self, spec: str) -> str:
        """Write both ends, rounded outwards: f"{e:.4f}" is "[0.1622, 0.1623]".

        The format is ".4f", decimal places, ".4e" or ".4g", significant digits as for a float, or
        "" as `str` does; else a ValueError says so.
        """
        if not spec:
            return str(self)
        return f"[{rounded_to(self.lower, spec, ROUND_FLOOR)}, {rounded_to(self.upper, spec)}]"

    def __contains__(self, value: Fraction | int) -> bool:
        return self.lower <= value <= self.upper

    def __add__(self, other: Enclosure) -> Enclosure:
        return Enclosure(self.lower + other.lower, self.upper + other.upper)

    def __mul__(self, other: Enclosure) -> Enclosure:
        """The product, exact: `numerics.intervals` has one that does not grow without bound."""
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Enclosure(min(ends), max(ends))

    def positive(self) -> Enclosure:
        """Return the greater of the number and 0."""
        return Enclosure(max(self.lower, Fraction(0)), max(self.upper, Fraction(0)))

    def meets(self, other: Enclosure) -> bool:
        """Whether the two intervals share a point."""
        return _at_most(self.lower, other.upper) and _at_most(other.lower, self.upper)

    def intersect(
        self, other: Enclosure, by: str = "", known_by: str = "", of: str = "one number"
    ) -> Enclosure:
        """Return the common part of what `known_by` and then `by` say of one number, called `of`.

        Raises:
            Contradiction: If they share no point: then one of them is wrong.
        """
        lower = self.lower if _at_most(other.lower, self.lower) else other.lower
        upper = self.upper if _at_most(self.upper, other.upper) else other.upper
        if lower is self.lower and upper is self.upper:
            return self
        if not _at_most(lower, upper):
            known, new = (f"[{float(e.lower)}, {float(e.upper)}]" for e in (self, other))
            raise Contradiction(of, (known_by, known), (by, new))
        return Enclosure(lower, upper)


_SPEC = re.compile(r"\.(\d{1,4})([efg])", re.ASCII)


def rounded_to(value: Fraction, spec: str, rounding: str = ROUND_CEILING) -> str:
    """Write a number as `format` writes a float, rounded up or down: ".4f", ".4e" or ".4g"."""
    wanted = _SPEC.fullmatch(spec)
    if wanted is None:
        raise ValueError(f"an enclosure has no format {spec!r}: write '.6f', '.6e' or '.6g'")
    places = int(wanted[1])
    if wanted[2] == "f":
        whole = (ceil if rounding == ROUND_CEILING else floor)(value * 10**places)
        return f"{Decimal(whole).scaleb(-places, _EXACT):{spec}}"
    digits = places + 1 if wanted[2] == "e" else max(places, 1)
    return f"{_rounded(value, digits, rounding):{spec}}"


def _rounded(value: Fraction, digits: int, rounding: str) -> Decimal:
    context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    if not value:
        return Decimal(0).scaleb(1 - digits, _EXACT)  # written as 0.00e+0
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _at_most(left: Fraction, right: Fraction) -> bool:
    """left <= right, in integers: `Fraction` takes several times longer to compare."""
    return left.numerator * right.denominator <= right.numerator * left.denominator


UNIT = Enclosure(Fraction(0), Fraction(1))  # what is known of any probability


class Side(Enum):
    """Where a number lies, as far as its enclosure tells."""

    BELOW = "below"  # value <= bound for certain
    ABOVE = "above"  # value > bound for certain
    UNDECIDED = "undecided"


def compare(enclosure: Enclosure, bound: Fraction) -> Side:
    """Compare a number with a bound through its enclosure; UNDECIDED means "more bits"."""
    if enclosure.upper <= bound:
        return Side.BELOW
    if enclosure.lower > bound:
        return Side.ABOVE
    return Side.UNDECIDED


class NotEnclosed(Record):
    """No enclosure could be computed; `reason` is a phrase for people."""

    reason: str


P = ParamSpec("P")
T = TypeVar("T")


class Missing(Exception):
    """Something that is needed is not enclosed: `sure` raises it, `enclosing` tells of it."""

    def __init__(self, why: NotEnclosed) -> None:
        super().__init__(why.reason)
        self.why = why


def sure(found: T | NotEnclosed) -> T:
    """Return what was found, in a function that is `enclosing`; that ends where nothing was."""
    if isinstance(found, NotEnclosed):
        raise Missing(found)
    return found


def enclosing(work: Callable[P, T]) -> Callable[P, T | NotEnclosed]:
    """Let a function answer why, where something that it needs is not enclosed."""

    @wraps(work)
    def told(*given: P.args, **named: P.kwargs) -> T | NotEnclosed:
        try:
            return work(*given, **named)
        except Missing as missing:
            return missing.why

    return told


def if_enclosed(work: Callable[P, T]) -> Callable[P, T | None]:
    """Let a function answer None there."""

    @wraps(work)
    def told(*given: P.args, **named: P.kwargs) -> T | None:
        try:
            return work(*given, **named)
        except Missing:
            return None

    return told


def better(
    known: Enclosure | NotEnclosed | None, found: Enclosure | NotEnclosed, by: str = ""
) -> Enclosure | NotEnclosed:
    """Return what two attempts, the second made `by` somebody, say of one number together."""
    if isinstance(found, NotEnclosed):
        return found if known is None else known
    return known.intersect(found, by) if isinstance(known, Enclosure) else found


# --- short numbers in an interval: short witnesses, quick arithmetic ------------------------------


def simplest(lower: Fraction, upper: Fraction | None, *, inside: bool = False) -> Fraction:
    """Return the fraction of least denominator in [lower, upper], or strictly between two >= 0.

    Continued fractions: an integer, the one nearest to 0, if there is one; else the common whole
    part plus the reciprocal of the simplest fraction between the reciprocals of what is left.

    Args:
        upper: None if there is no upper end.
    """
    if upper is not None and lower <= 0 <= upper and not inside:
        return Fraction(0)
    if upper is not None and upper < 0:
        return -simplest(-upper, -lower)
    whole = lower.__floor__() + 1 if inside else lower.__ceil__()
    if upper is None or whole < upper or (whole == upper and not inside):
        return Fraction(whole)
    whole -= 1
    left = 1 / (lower - whole) if lower > whole else None
    return whole + 1 / simplest(1 / (upper - whole), left, inside=inside)


_DECIMALS, _SHORT = 15, 1_000  # places of a short decimal, and numbers of a short fraction


def shortest(lower: Fraction, upper: Fraction) -> Fraction:
    """Return a number in [lower, upper] that is short when it is written down.

    A fraction of small numbers if there is one; else a decimal of up to 15 places, as few as
    possible; else the simplest fraction.
    """
    plain = simplest(lower, upper)
    if max(abs(plain.numerator), plain.denominator) < _SHORT:
        return plain
    for places in range(_DECIMALS + 1):
        unit = 10**places
        found = Fraction((lower * unit).__ceil__(), unit)
        if found <= upper:
            return found
    return plain
