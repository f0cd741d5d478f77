"""Ranges of ε as they are printed: no digit that may be false, no end left out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.privacy.decisions.decision import inner_fields, outer_fields, ranges_text

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)


def _end(lower: str, upper: str) -> Enclosure:
    return Enclosure(Fraction(lower), Fraction(upper))


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (_end("2.0319164987", "2.0319164996"), "2.03191649…"),
        (_end("2.03191649911", "2.03191649992"), "2.031916499…"),
        (_end("2.5790001e-6", "2.5799e-6"), "2.579e-6…"),
        (_end("1.9999999996", "2.0000000004"), "[1.999999999, 2.000000001]"),
        (_end("1e-11", "9e-10"), "[1e-11, 9e-10]"),
        (_end("2/3", "2/3"), "2/3"),
    ],
)
def test_only_digits_that_are_certain(end: Enclosure, text: str) -> None:
    assert ranges_text((NegativeRange(ZERO, end),)) == f"0 < ε < {text}"
    assert ranges_text((NegativeRange(end, None),)) == f"ε > {text}"


def test_ends_that_belong_to_the_range() -> None:
    two = Enclosure.exact(2)
    assert ranges_text((NegativeRange(ZERO, ONE, upper_included=True),)) == "0 < ε <= 1"
    assert ranges_text((NegativeRange(ONE, two, lower_included=True),)) == "1 <= ε < 2"
    assert ranges_text((NegativeRange(ONE, None, lower_included=True),)) == "ε >= 1"
    assert ranges_text((NegativeRange(ONE, ONE, True, True),)) == "ε = 1"
    assert ranges_text(()) == "no ε"


def test_ends_in_json_say_whether_they_belong() -> None:
    end = _end("2.5", "2.6")
    ranges = (NegativeRange(ZERO, end), NegativeRange(Enclosure.exact(3), None, True))
    closed = {"lower": "3", "upper": "inf", "lower_closed": True, "upper_closed": False}
    free = {"lower": "0", "lower_closed": False, "upper_closed": False}
    assert inner_fields(ranges) == [{**free, "upper": "5/2"}, closed]
    assert outer_fields(ranges) == [{**free, "upper": "13/5"}, closed]
