"""Ranges of ε as people read them and as JSON has them: no digit that may be false, no end lost."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.digits import exact_text
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.numerics.decimals import rounded_down, short
from dipapprox.numerics.enclosure import Enclosure

_PLACES = 9

RangeFields = dict[str, str | bool]
"""{"lower": "2", "upper": "3" or "inf", "lower_closed": false, "upper_closed": true}."""


def ranges_text(ranges: Sequence[NegativeRange]) -> str:
    """Write ranges of ε for people: "0 < ε < 2.0319…, ε >= 5"."""
    return ", ".join(map(_range, ranges)) or "no ε"


def inner_fields(ranges: Sequence[NegativeRange]) -> list[RangeFields]:
    """Return sets of ε that are inside the ranges for certain."""
    return [
        _fields(each, each.lower.upper, None if each.upper is None else each.upper.lower)
        for each in ranges
    ]


def outer_fields(ranges: Sequence[NegativeRange]) -> list[RangeFields]:
    """Return sets of ε that hold the ranges for certain."""
    return [
        _fields(each, each.lower.lower, None if each.upper is None else each.upper.upper)
        for each in ranges
    ]


def _fields(each: NegativeRange, lower: Fraction, upper: Fraction | None) -> RangeFields:
    return {
        "lower": exact_text(lower),
        "upper": "inf" if upper is None else exact_text(upper),
        "lower_closed": each.lower_included,
        "upper_closed": each.upper_included,
    }


def _range(each: NegativeRange) -> str:
    lower = _end(each.lower)
    if each.upper is None:
        return f"ε {'>=' if each.lower_included else '>'} {lower}"
    if each.lower == each.upper:
        return f"ε = {lower}"
    below, above = (
        "<=" if included else "<" for included in (each.lower_included, each.upper_included)
    )
    return f"{lower} {below} ε {above} {_end(each.upper)}"


def _end(end: Enclosure) -> str:
    """Write an exact end as it is, another one as the decimals that are certain, if there are."""
    if not end.width:
        return exact_text(end.lower)
    for places in range(_PLACES, 0, -1):
        digits = rounded_down(end.lower, places)
        if digits != "0" and digits == rounded_down(end.upper, places):
            return f"{digits}…"
    lower, upper = short(end)
    return f"[{lower}, {upper}]"
