"""Spans of forms: what is a sum of others is told as that sum, and nothing else is."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.span import FormSpan

halves = st.sampled_from([Fraction(k, 2) for k in range(-3, 4)])
forms = st.builds(LinearForm.of, st.dictionaries(st.integers(0, 3), halves), halves)


@given(st.lists(forms, max_size=6))
def test_told_sums_are_right(listed: list[LinearForm]) -> None:
    span = FormSpan()
    names: dict[Symbol, LinearForm] = {}
    for number, form in enumerate(listed):
        name = f"y{number}"
        told = span.put(form, name)
        names[name] = form
        if told is not None:
            assert told.substitute(names) == form
    leading = list(span.rows)
    for sample, (row, own) in span.rows.items():
        assert [row.coefficient(other) for other in leading] == [int(k == sample) for k in leading]
        assert own.substitute(names) == row
