"""Linear programmes: both solutions prove each other, and so does what shows that there is none."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.limits import Limits
from dipapprox.linear.programme import LinearProgramme, Optimum, UnknownSide

UNKNOWNS = "xyz"

numbers = st.sampled_from([Fraction(k, 6) for k in range(-12, 13)])
rows = st.lists(st.dictionaries(st.sampled_from(UNKNOWNS), numbers, min_size=1), max_size=5)
prices = st.sampled_from([None, *(Fraction(k, 3) for k in range(5))])
rates = st.lists(prices, min_size=3, max_size=3)
sides = st.lists(st.sampled_from(UnknownSide), min_size=3, max_size=3)


@given(rows, rates, sides, st.lists(numbers, min_size=10, max_size=10))
def test_solutions_prove_each_other(
    given_rows: list[dict[str, Fraction]],
    given_rates: list[Fraction | None],
    given_sides: list[UnknownSide],
    right: list[Fraction],
) -> None:
    rate = dict(zip(UNKNOWNS, given_rates, strict=True))
    side = dict(zip(UNKNOWNS, given_sides, strict=True))
    programme = LinearProgramme([row.items() for row in given_rows], rate, side, Limits())
    for start in (0, 5):  # the second solution begins where the first one ended
        bounds = right[start : start + len(given_rows)]
        found = programme.solve(bounds)
        assert all(y >= 0 for y in found.flow)
        for unknown, most in rate.items():
            if most is None:
                continue
            flows = zip(found.flow, given_rows, strict=True)
            total = sum((y * row.get(unknown, 0) for y, row in flows), Fraction(0))
            limit = most if isinstance(found, Optimum) else Fraction(0)
            assert side[unknown] is UnknownSide.AT_LEAST_ZERO or total <= limit
            assert side[unknown] is UnknownSide.AT_MOST_ZERO or -total <= limit
        gained = -sum((y * h for y, h in zip(found.flow, bounds, strict=True)), Fraction(0))
        if not isinstance(found, Optimum):
            assert gained > 0
            continue
        assert gained == found.value
        for row, h in zip(given_rows, bounds, strict=True):
            assert sum((a * found.shift[unknown] for unknown, a in row.items()), Fraction(0)) <= h
        assert found.value == sum(abs(x) * (rate[k] or 0) for k, x in found.shift.items())
        for unknown, x in found.shift.items():
            assert rate[unknown] is not None or not x
            assert side[unknown] is not UnknownSide.AT_LEAST_ZERO or x >= 0
            assert side[unknown] is not UnknownSide.AT_MOST_ZERO or x <= 0
