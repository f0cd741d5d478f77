"""Sign patterns: every set that is positive somewhere is among them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.errors import LimitReached
from dipapprox.privacy.decisions.patterns import SignChanges, sign_patterns

PLACES = st.lists(st.integers(1, 12), unique=True, max_size=4).map(sorted)
FUNCTIONS = st.lists(st.tuples(st.booleans(), PLACES), min_size=1, max_size=6)


def _isolated(positive: bool, places: list[int], width: Fraction) -> SignChanges:
    """Boxes that are lopsided, so that those of one place may overlap but need not agree."""
    return SignChanges(positive, tuple((p - width / 3, p + width / 2) for p in places))


@settings(deadline=None, max_examples=150)
@given(FUNCTIONS, st.sampled_from([Fraction(1, 10), Fraction(1, 3)]))
def test_every_positive_set_is_found(
    functions: list[tuple[bool, list[int]]], first: Fraction
) -> None:
    found = set(
        sign_patterns(
            range(len(functions)), lambda k, width: _isolated(*functions[k], min(width, first))
        )
    )
    # Between the integers all signs are constant.
    for middle in range(13):
        positive = frozenset(
            k
            for k, (start, places) in enumerate(functions)
            if start ^ (sum(p <= middle for p in places) % 2 == 1)
        )
        assert positive in found
    # Changes at one place may come in any order, and nothing else is added.
    most = 1
    for place in range(1, 13):
        most += 2 ** sum(place in places for _, places in functions)
    assert len(found) <= most


def test_no_more_sets_than_sign_changes_and_one() -> None:
    functions = [(False, [1, 4]), (True, [2]), (False, [3])]
    found = list(sign_patterns(range(3), lambda k, width: _isolated(*functions[k], width)))
    assert found == [{1}, {0, 1}, {0}, {0, 2}, {2}]


def test_boxes_are_narrowed_before_all_orders_are_taken() -> None:
    asked: list[Fraction] = []

    def isolate(k: int, width: Fraction) -> SignChanges:
        asked.append(width)
        centre = 1 + Fraction(k, 10**9)
        return SignChanges(False, ((centre - width, centre + width),))

    found = list(sign_patterns(range(12), isolate))
    assert len(set(asked)) > 1
    assert found == [frozenset(range(k)) for k in range(13)]


def test_changes_that_stay_together_are_given_up() -> None:
    def isolate(k: int, width: Fraction) -> SignChanges:
        return SignChanges(False, ((1 - width, 1 + width),))

    with pytest.raises(LimitReached, match="cannot be told apart"):
        list(sign_patterns(range(12), isolate))
