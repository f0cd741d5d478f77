"""What is alike but for the last bits of sums is named in the same way on all machines."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.pairs.maximum import simplest_pair

HALF = Fraction(1, 2)


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
    assert found[0] == ((HALF,), (Fraction(1),))
    assert simplest_pair({}) is None
