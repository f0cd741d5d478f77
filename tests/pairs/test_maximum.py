"""What is alike but for the last bits of sums is named in the same way on all machines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.pairs.maximum import first_largest, largest_first, simplest_pair

HALF = Fraction(1, 2)
SIZES = st.lists(st.sampled_from([0.0, 1e-300, 2.0**-60, 0.1, 0.3, 1.0]), min_size=1, max_size=9)
BITS = st.lists(st.integers(-8, 8), min_size=9, max_size=9)


def disturbed(sizes: list[float], bits: list[int]) -> np.ndarray:
    """Change last bits, as another order of summation does."""
    return np.array([size * (1 + bit * 2.0**-52) for size, bit in zip(sizes, bits, strict=False)])


@given(SIZES, BITS)
def test_last_bits_do_not_choose(sizes: list[float], bits: list[int]) -> None:
    values = disturbed(sizes, bits)
    assert first_largest(values) == sizes.index(max(sizes))
    order = sorted(range(len(sizes)), key=lambda place: -sizes[place])
    assert largest_first(values).tolist() == order


def test_the_simplest_pair_is_named() -> None:
    third, zero = Fraction(1, 3), Fraction(0)
    little = Fraction(1, 2**60)
    wide = Fraction(1, 2**50)
    known = {
        ((third,), (zero,)): Enclosure(HALF + 2 * little, HALF + wide),
        ((HALF,), (Fraction(1),)): Enclosure(HALF + little, HALF + wide),
        ((HALF,), (zero,)): Enclosure(HALF, HALF + wide),
        ((zero,), (zero,)): Enclosure(zero, Fraction(1)),
    }
    for order in (list(known), list(known)[::-1]):
        found = simplest_pair({pair: known[pair] for pair in order})
        assert found == (((HALF,), (zero,)), known[(HALF,), (zero,)])
    known[(HALF,), (zero,)] = Enclosure.exact(HALF)  # is told apart from the largest
    found = simplest_pair(known)
    assert found is not None
    assert found[0] == ((HALF,), (Fraction(1),))
    assert simplest_pair({}) is None
