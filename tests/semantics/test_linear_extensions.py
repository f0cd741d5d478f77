"""Shares of linear extensions against brute force over all permutations."""

from fractions import Fraction
from itertools import permutations
from math import factorial

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.order import Order, Points, bits, extension_share

_FREE = Points(Knowledge.of(()))  # no fixed points


def order_of(pairs: list[tuple[int, int]]) -> Order:
    """The closure of pairs that do not contradict each other."""
    order = Order()
    for pair in pairs:
        if order.decides(pair, _FREE) is None:
            order = order.assume(pair, _FREE)
    return order


def brute_force(order: Order, size: int) -> Fraction:
    pairs = [(small, large) for large, mask in order.below.items() for small in bits(mask)]
    count = sum(
        all(places[small] < places[large] for small, large in pairs)
        for places in permutations(range(size))
    )
    return Fraction(count, factorial(size))


_POINTS = st.integers(0, 5)
_PAIRS = st.lists(st.tuples(_POINTS, _POINTS).filter(lambda p: p[0] != p[1]), max_size=9)


@given(_PAIRS)
def test_shares_of_small_orders(pairs: list[tuple[int, int]]) -> None:
    order = order_of(pairs)
    assert extension_share(order) == brute_force(order, 6)


@given(_PAIRS)
def test_order_is_the_transitive_closure(pairs: list[tuple[int, int]]) -> None:
    order = order_of(pairs)
    for large, mask in order.below.items():
        assert mask and not mask >> large & 1
        for small in bits(mask):
            assert order.below.get(small, 0) & ~mask == 0
    assert order_of([(s, p) for p, m in order.covers().items() for s in bits(m)]) == order


def test_large_forests_by_hook_lengths() -> None:
    star = [(i, 50) for i in range(50)]
    assert extension_share(order_of(star)) == Fraction(1, 51)
    assert extension_share(order_of([(b, a) for a, b in star])) == Fraction(1, 51)
    chain = [(i, i + 1) for i in range(29)]
    assert extension_share(order_of(chain)) == Fraction(1, factorial(30))


def test_zigzags() -> None:
    """Alternating permutations: the zigzag of n points has E_n extensions (OEIS A000111)."""
    euler = {7: 272, 10: 50521, 15: 1903757312}
    for size, count in euler.items():
        pairs = [(i, i + 1) if i % 2 else (i + 1, i) for i in range(size - 1)]
        assert extension_share(order_of(pairs)) == Fraction(count, factorial(size))


def test_wide_orders_are_given_up() -> None:
    """Two layers of 12, all 4-cycles: no tree, and thousands of down-sets."""
    pairs = [(i, 20 + (i + k) % 12) for i in range(12) for k in range(3)]
    assert extension_share(order_of(pairs)) is None
