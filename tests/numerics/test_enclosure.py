"""Enclosures as people read them: rounded outwards, never inwards."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure

NUMBERS = st.fractions() | st.builds(
    lambda digits, power: digits * Fraction(10) ** power,
    st.fractions(max_denominator=10**6),
    st.integers(-400, 400),
)


@given(NUMBERS, NUMBERS, st.integers(0, 12), st.sampled_from("efg"))
def test_what_is_written_contains_the_enclosure_and_is_as_narrow_as_its_digits(
    first: Fraction, second: Fraction, places: int, kind: str
) -> None:
    enclosure = Enclosure(min(first, second), max(first, second))
    low, high = (Fraction(end) for end in f"{enclosure:.{places}{kind}}".strip("[]").split(", "))
    assert low <= enclosure.lower
    assert enclosure.upper <= high
    for written, true in ((low, enclosure.lower), (high, enclosure.upper)):
        digits = places if kind == "e" else max(places, 1) - 1
        unit = Fraction(1, 10**places) if kind == "f" else abs(true) / 10**digits
        assert abs(written - true) <= unit


def test_formats_that_people_use() -> None:
    third = Enclosure(Fraction(1, 3), Fraction(2, 3))
    assert (
        f"{third:.3f} {third:.2e} {third:.4g}"
        == "[0.333, 0.667] [3.33e-1, 6.67e-1] [0.3333, 0.6667]"
    )
    assert f"{Enclosure.exact(0):.2e}" == "[0.00e+0, 0.00e+0]"
    assert f"{third}" == str(third)


@pytest.mark.parametrize("spec", ["d", ".f", "10.3f", "%", ".3", ".99999f"])
def test_other_formats_are_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="an enclosure has no format"):
        format(Enclosure.exact(1), spec)
